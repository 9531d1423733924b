"""The whole page, and the part of it that a notebook shows."""

from __future__ import annotations

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

SECTIONS = (causes, matrix, path, flow, rounds, parameters, source, rest)


def page(report: Report, live: str = "") -> str:
    """One file that asks for nothing. With `live`, the address on the same host that tells of changes."""
    style, script = asset("page.css"), asset("page.js")
    connect = "'self'" if live else "'none'"
    policy = (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )
    top = [
        Markup('<meta charset="utf-8">'),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"whygrad: {report.script or 'report'}"),
        Markup(f"<style>{style}</style>"),
    ]
    body = [head(report), contents(), el("main", [section(report) for section in SECTIONS])]
    return (
        f'<!doctype html>\n<html lang="en"{_live(live)}>\n<head>\n'
        + "\n".join(top)
        + "\n</head>\n<body>\n"
        + "\n".join(body)
        + f"\n<script>{script}</script>\n</body>\n</html>\n"
    )


def excerpt(report: Report) -> str:
    """Verdict, causes and matrix, for a notebook: no script, and styles that touch nothing else."""
    style = Markup(f"<style>@scope (.whygrad) {{\n{asset('page.css')}}}</style>")
    body = [head(report), causes(report, linked=False), matrix(report, linked=False)]
    return str(el("div", style, body, cls="whygrad"))


def _live(address: str) -> str:
    return f' data-live="{text(address)}"' if address else ""


@cache
def asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
