"""One line per finding, for editors and logs."""

from __future__ import annotations

from whygrad.report.model import Report


def concise(report: Report) -> str:
    rows = []
    for finding in report.findings:
        if not finding.suppressed:
            site = finding.site
            place = f"{site.file}:{site.line}:{site.col + 1}: " if site is not None else ""
            rows.append(f"{place}{finding.severity}[{finding.code}] {finding.message}")
    if not report.loud:
        rows.append(f"whygrad: {report.verdict or 'healthy'}")
    return "\n".join(rows)
