"""The whole page, and the part of it that a notebook shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from whygrad.report.html.causes import causes
from whygrad.report.html.flow import flow
from whygrad.report.html.head import contents, head
from whygrad.report.html.markup import Markup, digest, el, text
from whygrad.report.html.matrix import matrix
from whygrad.report.html.parameters import parameters
from whygrad.report.html.path import path
from whygrad.report.html.rest import rest
from whygrad.report.html.rounds import rounds
from whygrad.report.html.source import source
from whygrad.report.model import Report

SECTIONS: dict[str, Callable[[Report], Markup]] = {
    "causes": causes,
    "matrix": matrix,
    "path": path,
    "flow": flow,
    "rounds": rounds,
    "parameters": parameters,
    "source": source,
    "rest": rest,
}


PARTS = ("head", *SECTIONS)


def page(report: Report) -> str:
    """One file that asks for nothing."""
    return assembled({name: part(report, name) for name in PARTS}, report.script)


def part(report: Report, name: str, *, running: bool = False) -> Markup:
    """The head or a section."""
    return head(report, running=running) if name == "head" else SECTIONS[name](report)


def assembled(parts: Mapping[str, str], script: str, live: str = "") -> str:
    """The whole of its parts. With `live`, the address on the same host that tells of changes."""
    style, behaviour = asset("page.css"), asset("page.js")
    connect = "'self'" if live else "'none'"
    policy = (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(behaviour)}; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )
    top = [
        Markup('<meta charset="utf-8">'),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"whygrad: {script or 'report'}"),
        Markup(f"<style>{style}</style>"),
    ]
    body = [parts["head"], contents(), "<main>", *(parts[name] for name in SECTIONS), "</main>"]
    return (
        f'<!doctype html>\n<html lang="en"{_live(live)}>\n<head>\n'
        + "\n".join(top)
        + "\n</head>\n<body>\n"
        + "\n".join(body)
        + f"\n<script>{behaviour}</script>\n</body>\n</html>\n"
    )


def excerpt(report: Report) -> str:
    """Verdict, causes and matrix, for a notebook: no script, and styles that touch nothing else.

    JupyterLab has rules of its own for every table and list in an output; the name three times over outweighs them.
    """
    rules = (asset("notebook.css") + asset("page.css")).replace(":scope", "&")
    style = Markup(f"<style>.whygrad.whygrad.whygrad {{\n{rules}}}</style>")
    body = [head(report), causes(report, linked=False), matrix(report, linked=False)]
    return str(el("div", style, body, cls="whygrad"))


def _live(address: str) -> str:
    return f' data-live="{text(address)}"' if address else ""


@cache
def asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
