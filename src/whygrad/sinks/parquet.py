"""`--log FILE.parquet`: per sampled update one row for each parameter and one for each quantity of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from whygrad.sinks.growing import Growing
from whygrad.sinks.scalars import of_update
from whygrad.telemetry.record import Gradient, ParameterSample, Record, finite

ROWS = 4096
"""Rows that are collected before they are written as a group."""
_NUMBERS = ("norm", "max", "zeros", "nonfinite")


class Parquet:
    def __init__(self, file: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        self.title = f"--log {file}"
        self._arrow = pyarrow
        number, text, whole = pyarrow.float64(), pyarrow.string(), pyarrow.int64()
        columns = [("update", whole), ("seconds", number), ("optimizer", text), ("parameter", text)]
        columns += [("module", text), ("size", whole), ("update_ratio", number), ("learning_rate", number)]
        columns += [("noise", number), ("quantity", text), ("value", number)]
        for kind in ("raw", "clipped"):
            columns += [(f"{kind}_{name}", number) for name in _NUMBERS] + [(f"{kind}_histogram", text)]
        self._schema = pyarrow.schema(columns)
        self._file = Growing(file)
        self._writer = pyarrow.parquet.ParquetWriter(self._file, self._schema)
        self._rows: list[dict[str, Any]] = []

    def write(self, record: Record) -> None:
        self._rows += [_row(record, parameter) for parameter in record.parameters]
        quantities = [(tag, value) for tag, value in of_update(record) if value is not None]
        self._rows += [{**_when(record), "quantity": tag, "value": value} for tag, value in quantities]
        if len(self._rows) >= ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._file.close()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._writer.write_table(self._arrow.Table.from_pylist(rows, schema=self._schema))


def _row(record: Record, parameter: ParameterSample) -> dict[str, Any]:
    row: dict[str, Any] = {
        **_when(record),
        "parameter": parameter.name,
        "module": parameter.module,
        "size": parameter.size,
        "update_ratio": finite(parameter.ratio),
        "learning_rate": finite(parameter.rate),
        "noise": finite(parameter.noise),
    }
    for kind, gradient in (("raw", parameter.raw), ("clipped", parameter.clipped)):
        row.update(_columns(kind, gradient))
    return row


def _when(record: Record) -> dict[str, Any]:
    return {"update": record.update, "seconds": record.seconds, "optimizer": record.optimizer}


def _columns(kind: str, gradient: Gradient | None) -> dict[str, Any]:
    if gradient is None:
        return {}
    data = gradient.to_json()
    numbers = {f"{kind}_{name}": data[name] for name in _NUMBERS}
    return {**numbers, f"{kind}_histogram": json.dumps(data["histogram"], separators=(",", ":"))}
