"""Writes the Parquet files beside it that want to hurt: make.py FOLDER. Needs pyarrow."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

folder = Path(sys.argv[1])


def observations(rows, **more):
    columns = {"id": ["o"] * rows, "trace_id": ["t"] * rows, "type": ["EVENT"] * rows, "start_time": ["2026-11-17T10:00:00Z"] * rows}
    return pa.table({**columns, **more})


def nested(depth):
    value, kind = "x", pa.string()
    for _ in range(depth):
        value, kind = [value], pa.list_(kind)
    return pa.array([value], kind)


# A value of 200 MB in a few kilobytes.
pq.write_table(observations(1, input=["x" * 200_000_000]), folder / "large_value.parquet", compression="zstd", use_dictionary=False)
# Half a million rows in a few hundred bytes for each column.
pq.write_table(observations(500_000), folder / "many_rows.parquet", compression="zstd")
# A list of ten million nothings in one row.
pq.write_table(observations(1, tags=pa.array([[None] * 10_000_000], pa.list_(pa.string()))), folder / "long_list.parquet", compression="zstd")
# Lists in lists.
pq.write_table(observations(1, input=nested(40)), folder / "deep.parquet")
# Encodings and compressions that are not read.
small = observations(1)
pq.write_table(small, folder / "delta.parquet", use_dictionary=False, column_encoding={"id": "DELTA_BYTE_ARRAY"})
pq.write_table(small, folder / "brotli.parquet", compression="brotli")
