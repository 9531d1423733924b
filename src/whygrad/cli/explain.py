"""`whygrad explain CODE`: a rule's page."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import Any

from whygrad import thresholds, verdicts
from whygrad.catalogue import NAMES
from whygrad.cli.output import Voice
from whygrad.rule import Rule, rules


def add(commands: Any) -> None:
    command = commands.add_parser(
        "explain",
        help="explain a code such as WG101",
        description="What a finding means, with a broken and a repaired example.",
    )
    command.add_argument("code", metavar="CODE", help="a code (WG101) or a name (rewrapped-tensor)")
    command.set_defaults(main=main)


def main(options: argparse.Namespace) -> int:
    wanted = options.code.strip()
    code = wanted.upper() if wanted.upper() in NAMES else next((c for c, n in NAMES.items() if n == wanted.lower()), "")
    if not code:
        return Voice(sys.stderr).complain(f"there is no rule {wanted!r}; see `whygrad rules`")
    rule, page = rules().get(code), verdicts.pages().get(code)
    if page is not None:
        Voice(sys.stdout).say(f"{page.code} {page.name}\n\n{page.documentation}\n")
        return 0
    if rule is None:
        return Voice(sys.stderr).complain(f"{code} ({NAMES[code]}) is reserved and not implemented in this version")
    Voice(sys.stdout).say(f"{rule.code} {rule.name}\n\n{rule.documentation}\n{_thresholds(rule)}")
    return 0


def _thresholds(rule: Rule) -> str:
    """The numbers it decides by, and how to change them."""
    numbers = thresholds.of(rule.module).values()
    if not numbers:
        return ""
    rows = [f"  {n.name} = {n.value:g}" + (f"  {n.reason}" if n.reason else "") for n in numbers]
    wrapped = [textwrap.fill(row, 100, subsequent_indent="      ") for row in rows]
    return "\n".join(["", f"Thresholds ([tool.whygrad.thresholds.{rule.code}] in pyproject.toml):", *wrapped, ""])
