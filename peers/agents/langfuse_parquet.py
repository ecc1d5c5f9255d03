"""Observations of Langfuse as its blob storage export writes them to Parquet.

    langfuse_parquet.py OBSERVATIONS.json OUT.parquet [--compression snappy|gzip|zstd|none] [--dictionary]
                        [--pages 1.0|2.0] [--rows-in-group N]

OBSERVATIONS.json is a list of observations with the names of the API. Langfuse streams what its database writes: names as
in exports, times as timestamps, lists and maps as those of Parquet, calls of tools without their names, which stand
beside them. Needs pyarrow. The recordings of the tests were written with

    langfuse_parquet.py crates/import/tests/recordings/langfuse/observations.json OUT --compression zstd
    langfuse_parquet.py crates/import/tests/recordings/langfuse/observations.json OUT --compression snappy --dictionary \
        --pages 2.0 --rows-in-group 2
"""

import argparse
import json
import re
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

PAIRS = pa.map_(pa.string(), pa.string())
COLUMNS = {
    "id": pa.string(),
    "trace_id": pa.string(),
    "type": pa.string(),
    "name": pa.string(),
    "parent_observation_id": pa.string(),
    "start_time": pa.timestamp("us", tz="UTC"),
    "end_time": pa.timestamp("us", tz="UTC"),
    "input": pa.string(),
    "output": pa.string(),
    "metadata": PAIRS,
    "level": pa.string(),
    "status_message": pa.string(),
    "provided_model_name": pa.string(),
    "environment": pa.string(),
    "session_id": pa.string(),
    "is_app_root": pa.bool_(),
    "usage_details": pa.map_(pa.string(), pa.uint64()),
    "total_cost": pa.decimal128(18, 12),
    "latency": pa.float64(),
    "prompt_version": pa.uint16(),
    "tool_definitions": PAIRS,
    "tool_calls": pa.list_(pa.string()),
    "tool_call_names": pa.list_(pa.string()),
}


def as_text(value):
    return value if value is None or isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def nameless(call):
    call = json.loads(call)
    call.pop("name", None)
    return json.dumps(call, separators=(",", ":"))


def exported(observation):
    row = {re.sub("[A-Z]", lambda big: "_" + big[0].lower(), key): value for key, value in observation.items()}
    row["provided_model_name"] = row.pop("model", None)
    for key in ("start_time", "end_time"):
        row[key] = datetime.fromisoformat(row[key])
    for key in ("input", "output"):
        row[key] = as_text(row.get(key))
    row["tool_calls"] = [nameless(call) for call in row.get("tool_calls") or []]
    row["is_app_root"] = row.get("parent_observation_id") is None
    row["session_id"] = row.get("session_id") or ""
    row["usage_details"] = {"input": 2**63, "output": 3}
    row["total_cost"] = Decimal("0.000012")
    row["latency"] = (row["end_time"] - row["start_time"]).total_seconds()
    return {name: row.get(name) for name in COLUMNS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("observations")
    parser.add_argument("out")
    parser.add_argument("--compression", default="zstd")
    parser.add_argument("--dictionary", action="store_true")
    parser.add_argument("--pages", default="1.0")
    parser.add_argument("--rows-in-group", type=int)
    options = parser.parse_args()
    with open(options.observations, encoding="utf-8") as file:
        observations = json.load(file)
    rows = [exported(one) for one in observations.get("data", observations)]
    table = pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS))
    pq.write_table(
        table,
        options.out,
        compression=options.compression,
        use_dictionary=options.dictionary,
        data_page_version=options.pages,
        row_group_size=options.rows_in_group,
        store_schema=False,
    )


if __name__ == "__main__":
    main()
