"""Batches that are not as clients usually send them: damaged, empty, repeated, out of order, of other formats."""

import json
import struct
from pathlib import Path

import fluss
import pyarrow as pa
import pytest

import batches
import driver
import wire as w
from kit import fields, read_all

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
CORRUPT_RECORD, OUT_OF_ORDER, OUT_OF_RANGE, INVALID_PROJECTION = 14, 31, 19, 34


@pytest.fixture
def log(wire, db):
    """(cluster, table id) of a table of driver.SCHEMA."""
    wire.create_table_json(db, "t", driver.descriptor())
    return wire, wire.table_info(db, "t")["table_id"]


def batch(first=0, count=3, writer_id=-1, sequence=-1, **more):
    return batches.encode(driver.rows(1, first, count), writer_id, sequence, **more)


def empty_batch(writer_id=-1, sequence=-1):
    """A batch without records; it takes one offset."""
    return batches.encode_payload(b"", 0, writer_id, sequence)


def numbers(wire, table_id):
    told, end = driver.read_log(wire.tablet, table_id, 0)
    return [n for b in told if b.count for n in b.rows(driver.SCHEMA).column("n").to_pylist()], end


# --- damage -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("position", [25, 27, 30, 40, 44, 60, 200, -1])
def test_a_batch_whose_bytes_changed_behind_its_checksum_is_refused(log, position):
    wire, table_id = log
    bad = bytearray(batch())
    bad[position] ^= 0x10
    assert wire.produce(table_id, 0, bytes(bad))["error"] == CORRUPT_RECORD
    assert wire.produce(table_id, 0, batch())["base_offset"] == 0
    assert numbers(wire, table_id) == ([0, 1, 2], 3)


def test_one_damaged_batch_refuses_all_of_its_request(log):
    wire, table_id = log
    bad = bytearray(batch(3))
    bad[-1] ^= 1
    assert wire.produce(table_id, 0, batch(0) + bytes(bad) + batch(6))["error"] == CORRUPT_RECORD
    assert numbers(wire, table_id) == ([], 0)


@pytest.mark.parametrize("length", [0, 3, -1, -13, 35, 2**31 - 1, -2**31])
def test_a_batch_with_a_length_that_cannot_be_is_refused(log, length):
    wire, table_id = log
    bad = bytearray(batch())
    struct.pack_into("<i", bad, 8, length)
    assert wire.produce(table_id, 0, bytes(bad))["error"] == CORRUPT_RECORD
    assert numbers(wire, table_id) == ([], 0)


def test_a_record_count_that_is_not_that_of_the_rows_is_refused(log):
    """Its checksum is right: whoever wrote it, readers would count offsets wrongly."""
    wire, table_id = log
    good = driver.rows(1, 0, 3)
    lie = batches.encode_payload(bytes(good.serialize()), 5)
    assert wire.produce(table_id, 0, lie)["error"] == CORRUPT_RECORD


def test_a_request_of_several_batches_is_appended_whole(log):
    wire, table_id = log
    assert wire.produce(table_id, 0, batch(0, 2) + batch(2, 3) + batch(5, 1))["base_offset"] == 0
    assert numbers(wire, table_id) == ([0, 1, 2, 3, 4, 5], 6)


# --- empty batches ------------------------------------------------------------------------------------------------------

async def test_projection_goes_over_batches_without_records(conn, log, db):
    wire, table_id = log
    for records in (empty_batch(), batch(0, 2), empty_batch(), empty_batch(), batch(2, 2), empty_batch()):
        assert wire.produce(table_id, 0, records)["error"] is None
    assert wire.list_offsets(table_id, [0], 1) == {0: ("offset", 8)}
    table = await conn.get_table(fluss.TablePath(db, "t"))
    for project in (None, ["n"], ["n", "pad"]):
        told = await read_all(table, 4, project=project)
        assert [(o, r["n"]) for _, o, _, r in told] == [(1, 0), (2, 1), (5, 2), (6, 3)]
    # Also where a read begins with one, or finds nothing but one.
    for offset in (0, 3, 4, 7):
        first = next(batches.decode(wire.fetch(table_id, 0, offset, projected=[1])["records"]))
        assert first.base_offset == offset and first.count == 0


# --- order and repeats --------------------------------------------------------------------------------------------------

def test_a_repeated_batch_is_answered_with_its_first_offset(log):
    wire, table_id = log
    me = driver.init_writer(wire.tablet)
    for s in range(6):
        assert wire.produce(table_id, 0, batch(s * 3, 3, me, s))["base_offset"] == s * 3
    for s in range(1, 6):
        again = wire.produce(table_id, 0, batch(s * 3, 3, me, s))
        assert (again["error"], again["base_offset"]) == (None, s * 3)
    assert numbers(wire, table_id) == (list(range(18)), 18)


@pytest.mark.parametrize("sequence", [0, 31, 100, 2**31 - 1, -1, -7])
def test_a_batch_that_does_not_follow_is_refused_and_the_right_one_goes_on(log, sequence):
    """0 was written too long ago to be known as a repeat."""
    wire, table_id = log
    me = driver.init_writer(wire.tablet)
    for s in range(30):
        wire.produce(table_id, 0, batch(s, 1, me, s))
    assert wire.produce(table_id, 0, batch(99, 1, me, sequence))["error"] == OUT_OF_ORDER
    assert wire.produce(table_id, 0, batch(30, 1, me, 30))["base_offset"] == 30


def test_a_writer_that_is_not_known_begins_with_0(log):
    wire, table_id = log
    assert wire.produce(table_id, 0, batch(0, 1, 987_654_321, 3))["error"] == OUT_OF_ORDER
    assert wire.produce(table_id, 0, batch(0, 1, 987_654_321, 0))["base_offset"] == 0


def test_an_empty_batch_takes_a_place_in_the_writers_order(log):
    wire, table_id = log
    me = driver.init_writer(wire.tablet)
    assert wire.produce(table_id, 0, batch(0, 2, me, 0))["base_offset"] == 0
    assert wire.produce(table_id, 0, empty_batch(me, 1))["base_offset"] == 2
    assert wire.produce(table_id, 0, empty_batch(me, 1))["base_offset"] == 2
    assert wire.produce(table_id, 0, batch(2, 2, me, 2))["base_offset"] == 3


def test_a_refused_batch_leaves_the_writers_order_as_it_was(log):
    wire, table_id = log
    me = driver.init_writer(wire.tablet)
    assert wire.produce(table_id, 0, batch(0, 2, me, 0))["base_offset"] == 0
    bad = bytearray(batch(2, 2, me, 1))
    bad[-1] ^= 1
    assert wire.produce(table_id, 0, bytes(bad))["error"] == CORRUPT_RECORD
    assert wire.produce(table_id, 0, batch(2, 2, me, 1))["base_offset"] == 2


def test_five_batches_in_flight_on_one_connection_stay_in_order(log):
    wire, table_id = log
    me = driver.init_writer(wire.tablet)
    for round_ in range(40):
        for s in range(round_ * 5, round_ * 5 + 5):
            wire.tablet.send(w.PRODUCE_LOG, w.msg((1, -1), (2, table_id), (3, 10_000), (4, w.msg(
                (2, 0), (3, batch(s, 1, me, s))))))
        for _ in range(5):
            kind, _, reply = wire.tablet.receive()
            assert kind == 0 and 3 not in w.decode(w.one(w.decode(reply), 1))
    assert numbers(wire, table_id) == (list(range(200)), 200)


# --- other forms --------------------------------------------------------------------------------------------------------

def stored(vectors, name):
    told = json.loads((VECTORS / vectors).read_text())["vectors"]
    found = next(v for v in told if v["name"] == name)
    return bytes.fromhex(found.get("hex") or found["batch_hex"])


@pytest.mark.parametrize("log_format, vectors, name", [
    ("ARROW", "log_batches.json", "arrow_v0_append_only_none_no_writer"),
    ("ARROW", "log_batches.json", "arrow_v0_append_only_zstd3"), ("ARROW", "log_batches.json", "arrow_v0_append_only_lz4"),
    ("INDEXED", "log_batches.json", "indexed_v0_append_only"), ("COMPACTED", "log_batches.json", "compacted_v0_append_only")])
def test_batches_come_back_as_they_came(wire, db, log_format, vectors, name):
    """But for base offset and time, which the server sets, and which the checksum does not cover."""
    types = {"a": "INTEGER", "b": "STRING"}
    wire.create_table_json(db, "t", {
        "version": 1, "partition_key": [], "bucket_key": [], "bucket_count": 1, "custom_properties": {},
        "properties": {"table.log.format": log_format}, "schema": {"version": 1, "highest_field_id": 1, "columns": [
            {"name": n, "data_type": {"type": t}, "id": i} for i, (n, t) in enumerate(types.items())]}})
    table_id = wire.table_info(db, "t")["table_id"]
    data = stored(vectors, name)
    sent = next(batches.decode(data))
    for sequence in range(sent.sequence):                        # what this writer wrote before
        assert wire.produce(table_id, 0, empty_batch(sent.writer_id, sequence))["error"] is None
    base = wire.produce(table_id, 0, data)["base_offset"]
    assert base == max(sent.sequence, 0)
    told = next(batches.decode(wire.fetch(table_id, 0, base)["records"]))
    assert told.base_offset == base and told.timestamp > 1_600_000_000_000
    assert told.data[8:13] == data[8:13] and told.data[21:] == data[21:]
    assert told.is_intact()
    if log_format != "ARROW":
        assert wire.fetch(table_id, 0, 0, projected=[0])["error"] == INVALID_PROJECTION


async def test_nullability_may_differ_from_the_tables_if_the_data_obey(make, connector):
    strict = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("s", pa.string(), nullable=False)])
    loose = fields(id=pa.int32(), s=pa.string())
    for name, of_table, of_data in (("loose", loose, strict), ("strict", strict, loose)):
        table = await make(name, of_table)
        writer = table.new_append().create_writer()
        writer.write_arrow_batch(pa.record_batch([pa.array([1, 2], pa.int32()), pa.array(["a", "b"])], schema=of_data))
        await writer.flush()
        assert [r for _, _, _, r in await read_all(table, 2)] == [{"id": 1, "s": "a"}, {"id": 2, "s": "b"}]


def test_a_batch_of_a_schema_that_is_not_known_is_refused(log):
    wire, table_id = log
    for schema_id in (0, 2, -1, 32_000):
        assert wire.produce(table_id, 0, batch(schema_id=schema_id))["error"] is not None
    assert wire.produce(table_id, 0, batch(schema_id=1))["base_offset"] == 0


def test_acks_that_do_not_exist_are_refused(log):
    wire, table_id = log
    for acks in (2, -2, 100):
        with pytest.raises(w.WireError) as e:
            wire.produce(table_id, 0, batch(), acks=acks)
        assert e.value.error_code == 18
    assert numbers(wire, table_id) == ([], 0)
