"""Files in a report are named as the person who started the run would name them."""

from __future__ import annotations

import dataclasses
import os

from whygrad.finding import Label
from whygrad.report.model import Report
from whygrad.trace import Site


def relative(report: Report, base: str) -> None:
    """Name files below `base` relative to it, everywhere in the report."""
    for finding in report.findings:
        finding.site = _site(finding.site, base)
        finding.labels = [Label(_site(label.site, base) or label.site, label.text) for label in finding.labels]
    for row in report.losses:
        row.site = _site(row.site, base)
    for line in report.matrix:
        line.site = _site(line.site, base)
    for chain in report.chains:
        chain.stops = [dataclasses.replace(stop, site=_site(stop.site, base)) for stop in chain.stops]
    for found in report.rounds:
        found.events = [dataclasses.replace(event, site=_site(event.site, base)) for event in found.events]
    report.listings = {_name(file, base): listing for file, listing in report.listings.items()}
    report.source = {_name(file, base): rows for file, rows in report.source.items()}


def _site(site: Site | None, base: str) -> Site | None:
    return dataclasses.replace(site, file=_name(site.file, base)) if site is not None else None


def _name(file: str, base: str) -> str:
    return os.path.normpath(file[len(base) + 1 :]) if file.startswith(base + os.sep) else file
