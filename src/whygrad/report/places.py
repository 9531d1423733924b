"""Files in a report are named as the person who started the run would name them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

from whygrad.finding import Label
from whygrad.report.model import Report
from whygrad.trace import Site


def relative(report: Report, base: str) -> None:
    """Name files below `base` relative to it, everywhere in the report."""
    renamed(report, lambda file: os.path.normpath(file[len(base) + 1 :]) if file.startswith(base + os.sep) else file)


def renamed(report: Report, name: Callable[[str], str]) -> None:
    """Call every file by another name, wherever the report mentions it."""

    def placed(site: Site | None) -> Site | None:
        return dataclasses.replace(site, file=name(site.file)) if site is not None else None

    for finding in report.findings:
        finding.site = placed(finding.site)
        finding.labels = [Label(placed(label.site) or label.site, label.text) for label in finding.labels]
    for loss in report.losses:
        loss.site = placed(loss.site)
    for row in report.matrix:
        row.site = placed(row.site)
    for chain in report.chains:
        chain.stops = [dataclasses.replace(stop, site=placed(stop.site)) for stop in chain.stops]
    for found in report.rounds:
        found.events = [dataclasses.replace(event, site=placed(event.site)) for event in found.events]
    shorter = {os.path.basename(file): os.path.basename(name(file)) for file in report.listings}
    for cell in (cell for row in report.matrix for cell in row.cells.values()):
        cell.discarded_by = [_renamed(place, shorter) for place in cell.discarded_by]
    report.listings = {name(file): listing for file, listing in report.listings.items()}
    report.source = {name(file): rows for file, rows in report.source.items()}


def _renamed(place: str, names: dict[str, str]) -> str:
    file, _, line = place.rpartition(":")
    return f"{names.get(file, file)}:{line}"
