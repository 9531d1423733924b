"""One line per finding, for editors and logs."""

from __future__ import annotations

from whygrad import visible
from whygrad.report.model import Report
from whygrad.report.words import lacking
from whygrad.verdict import HEALTHY


def concise(report: Report) -> str:
    rows = []
    for finding in report.findings:
        if not finding.suppressed:
            site = finding.site
            place = f"{site.file}:{site.line}:{site.col + 1}: " if site is not None else ""
            rows.append(f"{place}{finding.severity}[{finding.code}] {finding.message}")
    rows += [f"whygrad: {lacking(gap)}" for gap in report.gaps]
    if report.verdict == HEALTHY:
        rows.append(f"whygrad: {HEALTHY}")
    return "\n".join(visible.line(row) for row in rows)
