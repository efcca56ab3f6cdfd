"""Requests about tables and partitions that other servers were seen to answer wrongly, slowly or not at all."""

import time

import fluss
import pyarrow as pa
import pytest

import driver
import wire as w
from kit import append, fields, ready


def code(call, *args) -> int:
    try:
        call(*args)
    except w.WireError as e:
        return e.error_code
    return 0


def test_the_default_database_cannot_be_dropped(wire):
    for ignore, cascade in ((False, False), (True, True)):
        assert code(wire.coordinator.call, w.DROP_DATABASE, w.msg((1, "fluss"), (2, ignore), (3, cascade))) != 0
    wire.create_table_json("fluss", "still_here", driver.descriptor())
    wire.coordinator.call(1006, w.msg((1, w.table_path("fluss", "still_here")), (2, False)))


def test_a_table_of_1024_buckets_takes_milliseconds(wire, db):
    times = []
    for i in range(5):
        begin = time.monotonic()
        wire.create_table_json(db, f"t{i}", driver.descriptor(1024))
        times.append(time.monotonic() - begin)
        table_id = wire.table_info(db, f"t{i}")["table_id"]
        assert wire.list_offsets(table_id, list(range(1024)), 1) == {b: ("offset", 0) for b in range(1024)}
        begin = time.monotonic()
        wire.coordinator.call(1006, w.msg((1, w.table_path(db, f"t{i}")), (2, False)))
        times.append(time.monotonic() - begin)
    assert sorted(times)[5] < 0.1, f"median of creation and drop: {sorted(times)[5] * 1000:.1f} ms"


async def test_options_that_are_not_known_are_kept_and_told_unchanged(wire, db):
    """Connectors put theirs beside the table's."""
    custom = {"connector": "other", "bucket.num": "7", "scan.startup.mode": "latest", "client.security.protocol": "sasl",
              "with spaces ": " x ", "": "empty key"}
    wire.create_table_json(db, "t", {**driver.descriptor(), "custom_properties": custom})
    told = wire.table_info(db, "t")["json"]
    assert told["custom_properties"] == custom
    assert told["bucket_count"] == 1


async def test_readers_of_dropped_partitions_are_answered_at_once(make, admin, wire, db):
    """A hundred partitions go away under a hundred readers that keep asking."""
    table = await make("t", fields(id=pa.int32(), p=pa.string()), partition_keys=["p"])
    path = table.get_table_path()
    for i in range(100):
        await admin.create_partition(path, {"p": f"p{i}"})
    ids = {i.partition_name: i.partition_id for i in await admin.list_partition_infos(path)}
    assert len(ids) == 100
    await ready(admin, table, "p99")
    table_id = table.get_table_info().table_id
    waiting = []
    for i in range(100):
        reader = w.Wire("127.0.0.1", wire.tablet.sock.getpeername()[1])
        bucket = w.msg((1, ids[f"p{i}"]), (2, 0), (3, 0), (4, 1000))
        reader.send(w.FETCH_LOG, w.msg((1, -1), (2, 1000), (3, w.msg((1, table_id), (2, False), (4, bucket))), (4, 500), (5, 1)))
        waiting.append(reader)
    for i in range(100):
        await admin.drop_partition(path, {"p": f"p{i}"})
    begin = time.monotonic()
    for reader in waiting:
        kind, _, reply = reader.receive()
        bucket = w.decode(w.one(w.decode(w.one(w.decode(reply), 1)), 2))
        assert kind == 0 and w.one(bucket, 3) == 21
    assert time.monotonic() - begin < 5
    begin = time.monotonic()
    for _ in range(20):
        for i, reader in enumerate(waiting):
            reader.send(w.GET_METADATA, w.msg((1, w.table_path(db, "t")), (2, w.msg((1, db), (2, "t"), (3, f"p{i}")))))
        for reader in waiting:
            kind, _, reply = reader.receive()
            assert kind == 1 and w.one(w.decode(reply), 1) == 36
    took = time.monotonic() - begin
    assert took < 10, f"2,000 answers took {took:.1f} s"
    for reader in waiting:
        reader.close()


async def test_a_writer_goes_on_while_partitions_are_made(make, admin):
    table = await make("t", fields(id=pa.int32(), p=pa.string()), partition_keys=["p"], bucket_count=4)
    path = table.get_table_path()
    writer = table.new_append().create_writer()
    for part in range(10):
        await admin.create_partition(path, {"p": f"p{part}"})
        await ready(admin, table, f"p{part}")
        handles = [writer.append([i, f"p{q}"]) for q in range(part + 1) for i in range(20)]
        await writer.flush()
        for handle in handles:
            await handle.wait()
    for part in range(10):
        ends = await admin.list_partition_offsets(path, f"p{part}", [0, 1, 2, 3], fluss.OffsetSpec.latest())
        assert sum(ends.values()) == 20 * (10 - part)


async def test_reads_of_a_dropped_table_end(make, admin, wire):
    table = await make("t", fields(id=pa.int32()))
    await append(table, [[1]])
    table_id = table.get_table_info().table_id
    reader = w.Wire("127.0.0.1", wire.tablet.sock.getpeername()[1])
    bucket = w.msg((2, 0), (3, 1), (4, 1000))
    reader.send(w.FETCH_LOG, w.msg((1, -1), (2, 1000), (3, w.msg((1, table_id), (2, False), (4, bucket))), (4, 1_000), (5, 1)))
    await admin.drop_table(table.get_table_path())
    begin = time.monotonic()
    _, _, reply = reader.receive()
    assert w.one(w.decode(w.one(w.decode(w.one(w.decode(reply), 1)), 2)), 3) == 21
    assert time.monotonic() - begin < 5
    reader.close()


@pytest.mark.parametrize("api", range(1000, 1070))
def test_every_request_gets_an_answer(wire, api):
    """Also those that are not served, of unknown kind, with an empty body or with bytes that mean nothing."""
    for body in (b"", b"\xff" * 20):
        wire.tablet.send(api, body)
        try:
            kind, _, _ = wire.tablet.receive()
        except ConnectionError:
            wire.tablet = w.Wire(*wire.tablet.sock.getpeername()[:2])        # closed is an answer too
            continue
        assert kind in (0, 1)
    assert wire.tablet.call(w.GET_METADATA, b"")
