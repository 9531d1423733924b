"""`whygrad plot` and `report.plot()`: a picture of gradient flow that any browser opens."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from whygrad.cli.main import main
from whygrad.report import json
from whygrad.report.flow import CLIPPED, RAW, FlowPlot, NoTelemetryError
from whygrad.report.model import Report
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.record import Gradient, ParameterSample, Record
from whygrad.telemetry.summary import Summary

SVG = "{http://www.w3.org/2000/svg}"


def gradient(norm: float) -> Gradient:
    return Gradient(norm, norm, 0.25, 0.0, 4, Histogram.of([norm] * 4))


def summary(names: list[str], raw: float = 2.0, clipped: float | None = 1.0) -> Summary:
    out = Summary()
    for update in (1, 2):
        samples = []
        for depth, name in enumerate(names):
            after = gradient(clipped / 10 ** min(depth, 9)) if clipped is not None else None
            samples.append(ParameterSample(f"{name}.weight", name, 4, gradient(raw / 10 ** min(depth, 9)), after))
        out.add(Record(update, 1.0, "adam", samples))
    return out


def stored(folder: Path, telemetry: Summary | None, script: str = "train.py") -> Path:
    report = Report(script=script, telemetry=telemetry, whygrad="0", framework="torch")
    file = folder / "report.json"
    file.write_text(json.dumps(report), encoding="utf-8")
    return file


def boxes(tree: ElementTree.Element, colour: str) -> list[dict[str, float]]:
    found = [rect.attrib for rect in tree.iter(f"{SVG}rect") if rect.get("fill") == colour]
    return [{key: float(rect[key]) for key in ("x", "y", "width", "height")} for rect in found][1:]  # not the legend


def test_layers_are_drawn_in_depth_order_raw_beside_clipped() -> None:
    tree = ElementTree.fromstring(FlowPlot(summary(["net.0", "net.2", "net.4"])).svg)
    raw, clipped = boxes(tree, RAW), boxes(tree, CLIPPED)
    assert len(raw) == len(clipped) == 6  # Magnitudes of three layers, then their zeros.
    heights = [box["height"] for box in raw[:3]]
    assert heights == sorted(heights, reverse=True)
    assert all(b["height"] < a["height"] for a, b in zip(raw[:3], clipped[:3], strict=True))
    assert all(b["x"] == pytest.approx(a["x"] + a["width"], abs=0.2) for a, b in zip(raw, clipped, strict=True))
    assert [box["height"] for box in raw[3:]] == [pytest.approx(17.5)] * 3
    words = [text.text for text in tree.iter(f"{SVG}text")]
    assert [w for w in words if w is not None and w.startswith("net.")] == ["net.0", "net.2", "net.4"]
    assert "2 sampled updates, 100% of them clipped; from the first layer to the last" in words


def test_names_and_titles_are_text_whatever_they_hold() -> None:
    evil = '<script>alert("x")</script>'
    svg = FlowPlot(summary([evil]), f"run of {evil}").svg
    tree = ElementTree.fromstring(svg)
    assert "<script" not in svg
    assert any(evil[-20:] in (text.text or "") for text in tree.iter(f"{SVG}text"))


def test_raw_gradients_alone_can_be_drawn() -> None:
    tree = ElementTree.fromstring(FlowPlot(summary(["net"], clipped=None)).svg)
    assert (len(boxes(tree, RAW)), len(boxes(tree, CLIPPED))) == (2, 0)


@pytest.mark.parametrize(("raw", "count"), [(0.0, 1), (1e-30, 2), (1e30, 3), (1.0, 300)])
def test_any_magnitude_and_depth_stays_on_the_page(raw: float, count: int) -> None:
    plot = FlowPlot(summary([f"block{n}.attention.projection.with.a.long.name" for n in range(count)], raw))
    tree = ElementTree.fromstring(plot.svg)
    width, height = float(tree.attrib["width"]), float(tree.attrib["height"])
    for box in boxes(tree, RAW):
        assert 0 <= box["x"] <= width - box["width"]
        assert 0 <= box["y"] <= height - box["height"]


def test_a_notebook_shows_the_report_s_plot() -> None:
    report = Report(telemetry=summary(["net"]), script="train.py")
    assert report.plot()._repr_svg_() == report.plot().svg
    assert "Gradient flow of train.py" in report.plot().svg
    with pytest.raises(NoTelemetryError, match="no gradients were sampled"):
        Report().plot()


def test_the_command_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "flow.svg"
    assert main(["plot", str(stored(tmp_path, summary(["net.0", "net.2"]))), "-o", str(out)]) == 0
    assert ElementTree.fromstring(out.read_text(encoding="utf-8")).tag == f"{SVG}svg"
    caught = capsys.readouterr()
    assert (caught.out, caught.err) == ("", f"whygrad: gradient flow of 2 layers in {out}\n")


@pytest.mark.parametrize(
    ("given", "out", "message"),
    [
        ("missing.json", "flow.svg", "no report at"),
        ("", "flow.pdf", "must end in .svg or .png"),
        ("", "missing/flow.svg", "not written"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    given: str, out: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / given if given else stored(tmp_path, summary(["net"]))
    assert main(["plot", str(file), "-o", str(tmp_path / out)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_run_without_samples_has_nothing_to_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(stored(tmp_path, None)), "-o", str(tmp_path / "flow.svg")]) == 2
    assert "no gradients were sampled" in capsys.readouterr().err


def test_a_png_without_matplotlib_names_svg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert main(["plot", str(stored(tmp_path, summary(["net"]))), "-o", str(tmp_path / "flow.png")]) == 2
    assert "needs matplotlib (pip install matplotlib); without it: -o flow.svg" in capsys.readouterr().err


def test_a_png_with_matplotlib(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "flow.png"
    assert main(["plot", str(stored(tmp_path, summary(["net$.0", "net.2"]))), "-o", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
