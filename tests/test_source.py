"""The user's source: exact expressions, names, and what feeds what."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from whygrad.source import expressions, files, positions
from whygrad.source.feeding import feeding
from whygrad.trace import Site


def written(folder: Path, text: str, name: str = "code.py") -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def find(file: str, part: str) -> Site:
    """The site of a piece of source text on its first occurrence."""
    for number, line in enumerate(files.lines(file), 1):
        if part in line:
            col = line.index(part)
            return Site(file, number, col, number, col + len(part))
    raise AssertionError(part)


def test_an_instruction_resolves_to_its_expression(tmp_path: Path) -> None:
    file = written(tmp_path, "def f(g):\n    größe = 1; return g(größe)\n")
    namespace: dict[str, object] = {}
    exec(compile(Path(file).read_text(encoding="utf-8"), file, "exec"), namespace)
    seen: list[Site] = []

    def g(_: int) -> None:
        frame = sys._getframe(1)
        seen.append(positions.resolve(frame.f_code, frame.f_lasti))

    namespace["f"](g)  # type: ignore[operator]
    assert expressions.text(seen[0]) == "g(größe)"
    assert seen[0].col == 22


def test_equal_code_in_two_files_is_kept_apart(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        code = compile("x = print\n", str(tmp_path / name), "exec")
        assert positions.resolve(code, 0).file.endswith(name)


def test_names_of_values(tmp_path: Path) -> None:
    file = written(tmp_path, "policy_loss = (a * b).mean()\nloss.backward()\naccelerator.backward(total)\n")
    assert expressions.name(find(file, "(a * b).mean()")) == "policy_loss"
    assert expressions.name(find(file, "a * b")) == "a * b"
    assert expressions.receiver(find(file, "loss.backward()")) == "loss"
    assert expressions.receiver(find(file, "accelerator.backward(total)")) == "total"


def test_a_statement_that_only_swaps_a_variable_for_its_copy(tmp_path: Path) -> None:
    file = written(tmp_path, "loss = torch.tensor(loss)\nother = torch.tensor(loss)\n")
    assert expressions.replaces_itself(Site(file, 1, 7, 1, 25))
    assert not expressions.replaces_itself(Site(file, 2, 8, 2, 26))


def fed(file: str, part: str) -> dict[str, bool]:
    return {expressions.text(site): inside for site, inside in feeding(find(file, part))}


def test_what_feeds_an_expression_directly(tmp_path: Path) -> None:
    file = written(tmp_path, "def f(total, logp, w):\n    total = total - logp.item() * w\n    return total\n")
    assert fed(file, "total - logp.item() * w")["logp.item()"] is True


def test_what_feeds_through_names_lists_and_functions(tmp_path: Path) -> None:
    text = (
        "class A:\n"
        "    def act(self, x):\n"
        "        self.kept.append(float(x))\n"
        "    def learn(self):\n"
        "        terms = []\n"
        "        for v in self.kept:\n"
        "            terms.append(helper(v) * 2)\n"
        "        total = sum(terms)\n"
        "        return tensor(total)\n"
        "def helper(v):\n"
        "    return v.numpy()\n"
    )
    found = fed(written(tmp_path, text), "tensor(total)")
    assert found["float(x)"] is False
    assert found["v.numpy()"] is False


def test_what_only_decides_does_not_feed(tmp_path: Path) -> None:
    text = (
        "def f(x, env, table, kept):\n"
        "    action = int(draw() < x.item())\n"
        "    obs, reward = env.step(x.tolist())\n"
        "    chosen = table[x.argmax().item()]\n"
        "    sign = 1.0 if float(x) > 0 else kept.numpy()\n"
        "    return tensor(action + reward + chosen + sign)\n"
    )
    found = fed(written(tmp_path, text), "tensor(action + reward + chosen + sign)")
    assert found.keys() >= {"env.step(x.tolist())", "kept.numpy()"}
    assert not found.keys() & {"x.item()", "x.tolist()", "x.argmax().item()", "float(x)", "draw()"}


def test_recursion_in_the_source_ends(tmp_path: Path) -> None:
    file = written(tmp_path, "def f(x):\n    y = g(x)\n    x = f(y)\n    return f(x)\n\ndef g(x):\n    return f(x)\n")
    assert "g(x)" in fed(file, "f(y)")


def test_a_cell_that_is_written_anew_is_read_anew() -> None:
    site = Site("<a cell>", 2, 0, 2, 5)
    for source in ("x = f(1)\nx + 1\n", "x = g(1)\nx + 1\n"):
        files.remember("<a cell>", source)
        (found,) = [expressions.text(call) for call, _ in feeding(site)]
        assert found == source[4:8]


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    files.remember("<some text>", text)
    site = Site("<some text>", 1, 0, 3, 2)
    assert isinstance(expressions.text(site), str)
    assert isinstance(expressions.name(site), str)
    assert isinstance(feeding(site), tuple)
