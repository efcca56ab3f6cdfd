"""The changelog of every put that vectors/changelog.json tells of, which the key-value tablet of Apache Fluss 0.9.1 wrote:
offsets, change types, rows, and what the header of each batch says."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import batches
import wire as w

CASES = json.loads((Path(__file__).parents[1] / "vectors/changelog.json").read_text())["cases"]
CODES = {"InvalidTargetColumnException": 35, "UnsupportedOperationException": 35, "DeletionDisabledException": 57,
         "OutOfOrderSequenceException": 31, "SchemaNotExistException": 9}
TYPES = {"INT": ("INTEGER", pa.int32()), "STRING": ("STRING", pa.string()), "BIGINT": ("BIGINT", pa.int64())}
CHANGES = ["+A", "+I", "-U", "+U", "-D"]
FUNCTIONS = {"b": "last_value", "c": "sum", "d": "max"}             # of the cases with aggregation
COLUMNS_OF_SCHEMA_1 = {"schema_evolution_full": 3}                  # the others have all from the start


def column(field: dict, position: int, is_aggregated: bool) -> dict:
    name, kind = field["name"], field["type"].removesuffix(" NOT NULL")
    function = {"agg_function": {"type": FUNCTIONS[name]}} if is_aggregated and name in FUNCTIONS else {}
    return {"name": name, "id": position, **function,
            "data_type": {"type": TYPES[kind][0], "nullable": not field["type"].endswith(" NOT NULL")}}


def descriptor(case: dict) -> dict:
    is_aggregated = case["table_properties"].get("table.merge-engine") == "aggregation"
    fields = case["schema"][:COLUMNS_OF_SCHEMA_1.get(case["name"])]
    return {"version": 1, "partition_key": [], "bucket_key": [], "bucket_count": 1, "custom_properties": {},
            "properties": {"table.log.arrow.compression.type": "NONE", **case["table_properties"]},
            "schema": {"version": 1, "primary_key": case["primary_key"], "highest_field_id": len(fields) - 1,
                       "columns": [column(f, i, is_aggregated) for i, f in enumerate(fields)]}}


def rows_of(batch: batches.Batch, case: dict):
    """[(change, row)]: change types, one a record, and then the Arrow message."""
    if batch.count == 0:
        assert len(batch.data) == batches.HEADER.size
        return []
    kinds = batch.data[batches.HEADER.size:batches.HEADER.size + batch.count]
    message = pa.py_buffer(batch.data[batches.HEADER.size + batch.count:])
    count = COLUMNS_OF_SCHEMA_1.get(case["name"]) if batch.schema_id == 1 else None
    schema = pa.schema([(f["name"], TYPES[f["type"].removesuffix(" NOT NULL")][1]) for f in case["schema"][:count]])
    rows = pa.ipc.read_record_batch(message, schema).to_pylist()
    return [(CHANGES[kind], list(row.values())) for kind, row in zip(kinds, rows, strict=True)]


def is_refused(case: dict) -> bool:
    """The tablet can do it, but no table can be made so."""
    properties = case["table_properties"]
    return (properties.get("table.merge-engine") == "aggregation"
            and properties.get("table.changelog.image", "").lower() == "wal")


@pytest.mark.parametrize("case", [c for c in CASES if is_refused(c)], ids=lambda c: c["name"])
def test_a_table_that_cannot_be_made(wire, db, case):
    with pytest.raises(w.WireError) as refused:
        wire.create_table_json(db, "t", descriptor(case))
    assert refused.value.error_code == 39


def with_marks(case: dict):
    marks = []
    if any(step.get("error") == "UnsupportedOperationException" for step in case["steps"]):
        marks.append(pytest.mark.fluss_differs("-1: an exception without a code"))
    if case["name"] in COLUMNS_OF_SCHEMA_1:
        marks.append(pytest.mark.fluss_differs("its tablet server learns of a new column some time after it is added"))
    return pytest.param(case, marks=marks, id=case["name"])


@pytest.mark.parametrize("case", [with_marks(c) for c in CASES if not is_refused(c)])
def test_the_changelog_of_each_put(wire, db, case):
    table = wire.new_table(db, "t", descriptor(case))
    known_schemas = 1
    for step in case["steps"]:
        at = f"{case['name']}: {step['description']}"
        batch = bytes.fromhex(step["request_batch_hex"])
        if any(b["schema_id"] > known_schemas for b in step.get("log_batches", [])):
            added = case["schema"][COLUMNS_OF_SCHEMA_1[case["name"]]]
            wire.add_column(db, "t", added["name"], {"type": TYPES[added["type"]][0]})
            known_schemas += 1
        end = step["log_end_offset_before"]
        assert wire.list_offsets(table, [0], 1) == {0: ("offset", end)}, at
        answer = wire.put_kv(table, 0, batch, target_columns=step["target_columns"] or (),
                             agg_mode=1 if step["merge_mode"] == "OVERWRITE" else None)
        assert answer["error"] == CODES.get(step.get("error")), at
        if "error" not in step:
            assert answer["log_end_offset"] == step["log_end_offset_after"], at
        told = list(batches.decode(wire.fetch(table, 0, end, max_wait_ms=0)["records"]))
        assert [{"base_offset": b.base_offset, "last_offset": b.last_offset, "record_count": b.count,
                 "schema_id": b.schema_id, "writer_id": b.writer_id, "batch_sequence": b.sequence, "magic": 0}
                for b in told] == step.get("log_batches", []), at
        for one in told:
            assert one.is_intact() and one.attributes == 0, at
        records = [(b.base_offset + i, change, row)
                   for b in told for i, (change, row) in enumerate(rows_of(b, case))]
        assert records == [(r["offset"], r["change"], r["row"]) for r in step.get("log_records", [])], at
        assert wire.list_offsets(table, [0], 1) == {0: ("offset", step["log_end_offset_after"])}, at
