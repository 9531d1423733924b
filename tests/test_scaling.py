"""Cost grows with the work: what is visited is counted, so that no clock is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

import whygrad
from whygrad.capture.torch.naming import MOST_LOOKS, Naming
from whygrad.engine import diagnose
from whygrad.source import files, positions
from whygrad.source.covering import covering
from whygrad.trace import Backward, Graph, Kind, Op, Step, Trace, earnings
from whygrad.trace.anatomy import adds_scaled_network, heads, of_network, summands
from whygrad.trace.consumption import consumers
from whygrad.trace.deadline import Deadline, TimeUpError, within
from whygrad.trace.graph import MOST_KEPT, Input
from whygrad.trace.ledger import Optimizer, Parameter
from whygrad.trace.likeness import score_like
from whygrad.trace.opposition import opposed

MORE = 4
"""Times larger."""
ROOM = 1.5
"""What takes MORE times as much may take so many times more than that; with the square it is 4."""


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often some operation's operands are gone through."""
    counts = [0]
    operands = Graph.operands

    def counting(graph: Graph, op: Op) -> Iterator[tuple[Input, Op]]:
        counts[0] += 1
        return operands(graph, op)

    monkeypatch.setattr(Graph, "operands", counting)
    return counts


def discounted(length: int) -> Graph:
    """`last = reward + 0.99 * last`, again and again, behind a network."""
    graph = Graph()
    graph.add(Op(1, "input", Kind.PARAMETER, parameter=0, requires_grad=True))
    graph.add(Op(2, "linear", inputs=(Input(1, carries=True),), requires_grad=True, layer=True))
    last = 2
    for number in range(3, 3 + 3 * length, 3):
        graph.add(Op(number, "mul", inputs=(Input(last, carries=True),), requires_grad=True, scalar=0.99))
        graph.add(Op(number + 1, "input", Kind.INPUT))
        inputs = (Input(number + 1), Input(number, carries=True))
        last = graph.add(Op(number + 2, "add", inputs=inputs, requires_grad=True)).id
    return graph


def test_a_chain_may_be_asked_about_at_each_of_its_links(looked: list[int]) -> None:
    def visited(length: int) -> int:
        graph = discounted(length)
        looked[0] = 0
        for number in graph.ops:
            adds_scaled_network(graph, number)
        return looked[0]

    assert visited(100 * MORE) <= ROOM * MORE * visited(100)


def scored(length: int) -> Graph:
    """An episode: every log-probability is weighed by a return, which holds all the later rewards."""
    graph = Graph()
    graph.add(Op(1, "input", Kind.PARAMETER, parameter=0, requires_grad=True))
    graph.add(Op(2, "linear", inputs=(Input(1, carries=True),), requires_grad=True, layer=True))
    last, terms, number = graph.add(Op(3, "input", Kind.INPUT)).id, [], 4
    for _ in range(length):
        graph.add(Op(number, "input", Kind.INPUT))
        last = graph.add(Op(number + 1, "add", inputs=(Input(number), Input(last)))).id
        factors = (Input(2, carries=True), Input(last))
        terms.append(graph.add(Op(number + 2, "mul", inputs=factors, requires_grad=True)).id)
        number += 3
    graph.add(Op(number, "stack", inputs=tuple(Input(n, carries=True) for n in terms), requires_grad=True))
    return graph


def test_what_an_episode_earns_is_looked_up_once(looked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    met = [0]

    def counting(graph: Graph, op: Op) -> Iterator[Any]:
        met[0] += 1
        return iter(())

    monkeypatch.setattr(earnings, "_met", counting)

    def visited(length: int) -> int:
        graph = scored(length)
        looked[0] = met[0] = 0
        earnings.earnings(graph, [Backward(1, None, max(graph.ops))])
        return looked[0] + met[0]

    assert visited(100 * MORE) <= ROOM * MORE * visited(100)


@pytest.mark.parametrize("number", [2, 3, 4, 5, 8, 11])
def test_what_is_kept_along_a_chain_is_what_its_summands_say(number: int) -> None:
    graph = discounted(4)
    plainly = any(s.scaled and of_network(graph, s.op) for s in summands(graph, number))
    assert adds_scaled_network(graph, number) is plainly


def test_scores_are_found_whichever_link_is_asked_first() -> None:
    graph = discounted(50)
    graph.ops[2].name, graph.ops[2].layer = "log_softmax", False
    newest = max(graph.ops)
    assert score_like(graph, newest)
    assert score_like(graph, 2)
    assert not score_like(graph, 4)


def test_lists_that_are_kept_for_the_next_one_who_asks_are_bounded() -> None:
    graph = discounted(1000)
    for number in graph.ops:
        graph.carriers(number)
        graph.carrying(number)
    kept = sum(len(found) for key, found in graph.memo.items() if isinstance(key, tuple) and key[0].startswith("carr"))
    assert 0 < kept <= MOST_KEPT


def test_carriers_of_a_graph_that_grows_are_not_remembered() -> None:
    graph = discounted(2)
    graph.ops.pop(1)
    before = len(graph.carriers(8))
    graph.add(Op(1, "input", Kind.PARAMETER, parameter=0, requires_grad=True))
    assert len(graph.carriers(8)) == before + 1


def losses(count: int) -> Trace:
    """So many losses, each with a step of one optimizer."""
    trace = Trace(Graph(), [Parameter(0, "net.weight", "net")], [Optimizer(0, "optimizer", None, (), (0,), count)])
    trace.graph.add(Op(1, "input", Kind.PARAMETER, parameter=0, requires_grad=True))
    for number in range(1, count + 1):
        site = whygrad.trace.Site("train.py", number)
        root = trace.graph.add(Op(number + 1, "mean", inputs=(Input(1, carries=True),), requires_grad=True, site=site))
        trace.backwards.append(Backward(number, site, root.id, deposits=frozenset({0}), order=2 * number))
        trace.steps.append(Step(0, site, {0: (number,)}, order=2 * number + 1))
    return trace


class CountedSteps(list[Step]):
    """Counts how often it is gone through from the start."""

    walks = 0

    def __iter__(self) -> Iterator[Step]:
        self.walks += 1
        return super().__iter__()


def test_the_steps_that_used_a_loss_are_not_searched_for_again_with_each_loss() -> None:
    trace = losses(200)
    trace.steps = steps = CountedSteps(trace.steps)
    assert all([o.id for o in consumers(trace, b)] == [0] for b in trace.backwards)
    assert not list(opposed(trace))
    assert steps.walks < 10


def test_a_statement_in_a_long_file_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "long.py"
    file.write_text("\n".join(f"x{number} = [a{number} + 1]" for number in range(2000)) + "\n")
    module = files.tree(str(file))
    assert module is not None
    found = [type(node).__name__ for node in covering(module, 1500)]
    assert found == ["Assign", "Name", "List", "BinOp", "Name", "Constant"]
    visited = [0]
    from whygrad.source import covering as source

    inner = source._covers

    def counting(node: object, line: int) -> bool:
        visited[0] += 1
        return inner(node, line)  # type: ignore[arg-type]

    monkeypatch.setattr(source, "_covers", counting)
    assert list(covering(module, 1000))
    assert visited[0] < 30


def test_an_instruction_is_looked_up_by_the_identity_of_its_code() -> None:
    one, two = (compile("x = 1\ny = x + 1\n", name, "exec") for name in ("one.py", "two.py"))
    lasti = max(range(0, len(one.co_code), 2), key=lambda at: positions.resolve(one, at).line)
    assert (positions.resolve(one, lasti).file, positions.resolve(one, lasti).line) == ("one.py", 2)
    assert positions.resolve(two, lasti).file == "two.py"
    assert positions.resolve(one, 10_000).line == one.co_firstlineno


def test_all_parameters_of_a_module_are_one_family() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(10))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    with whygrad.watch() as watching:
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.randn(2, 2)).sum().backward()
        optimizer.step()
        families = {id(known.family) for known in watching.capture.parameters.known_list}
        numbers = {known.family.numbers() for known in watching.capture.parameters.known_list}
    assert len(families) == 1
    assert numbers == {frozenset(range(20))}


def test_a_function_with_many_losses_is_not_searched_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [0]
    look = Naming.look

    def counting(naming: Naming, frame: FrameType | None) -> None:
        looks[0] += 1
        look(naming, frame)

    monkeypatch.setattr(Naming, "look", counting)
    count = 2 * MOST_LOOKS
    lines = [f"(net(x) * {number + 2}).sum().backward()" for number in range(count)]
    net = torch.nn.Linear(2, 1)
    with whygrad.watch():
        exec(compile("\n".join(lines), "train.py", "exec"), {"net": net, "x": torch.ones(1, 2)})
    assert MOST_LOOKS / 2 < looks[0] < count


def test_constructors_are_looked_for_among_fresh_operations_only(looked: list[int]) -> None:
    net = torch.nn.Linear(2, 1)
    seen = []
    with whygrad.watch(updates=60):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        for _ in range(50):
            before = looked[0]
            net(torch.randn(4, 2)).pow(2).mean().backward()
            optimizer.step()
            seen.append(looked[0] - before)
    assert max(seen[30:50]) <= 2 * max(seen[3:6])


@pytest.mark.parametrize("walk", [lambda g: list(heads(g, [max(g.ops)])), lambda g: g.carriers(max(g.ops))])
def test_a_long_walk_ends_when_the_time_is_over(walk: Callable[[Graph], object]) -> None:
    over = Deadline(1000.0)
    with within(over):
        walk(discounted(10))
        over.expire()
        with pytest.raises(TimeUpError):
            walk(discounted(10))


def test_rules_that_had_no_time_are_named() -> None:
    over = Deadline(1000.0)
    with within(over):
        over.expire()
        trace = losses(3)
        assert diagnose(trace) == []
    assert any("the time for the report was over" in gap.what for gap in trace.gaps)
