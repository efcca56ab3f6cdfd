"""Requests that the Java, Flink and Spark clients make and the Python client does not."""

import time
import uuid

import pyarrow as pa
import pytest

import wire as w
from kit import append, fields, ready

KAB = fields(k=pa.int32(), a=pa.string(), b=pa.int32())
differs = pytest.mark.fluss_differs


def code(call, *args) -> int:
    try:
        call(*args)
    except w.WireError as e:
        return e.error_code
    return 0


# --- snapshots, tokens ----------------------------------------------------------------------------------------------

async def test_latest_snapshots_name_every_bucket(make, wire, db):
    await make("t", KAB, pk=["k"], bucket_count=3)
    reply = w.decode(wire.tablet.call(1023, w.msg((1, w.table_path(db, "t")))))
    assert w.one(reply, 1) == wire.table_info(db, "t")["table_id"]
    assert 2 not in reply
    snapshots = [w.decode(s) for s in reply[3]]
    assert sorted(w.one(s, 1) for s in snapshots) == [0, 1, 2]
    assert all((2 in s) == (3 in s) for s in snapshots)


async def test_snapshots_of_other_tables(make, wire, db, admin):
    await make("log", KAB)
    assert code(wire.tablet.call, 1023, w.msg((1, w.table_path(db, "log")))) == 20
    assert code(wire.tablet.call, 1023, w.msg((1, w.table_path(db, "nope")))) == 7
    parted = await make("p", fields(k=pa.int32(), p=pa.string()), pk=["k", "p"], partition_keys=["p"])
    await admin.create_partition(parted.get_table_path(), {"p": "x"})
    await ready(admin, parted, "x")
    reply = w.decode(wire.tablet.call(1023, w.msg((1, w.table_path(db, "p")), (2, "x"))))
    ids = {i.partition_name: i.partition_id for i in await admin.list_partition_infos(parted.get_table_path())}
    assert w.one(reply, 2) == ids["x"]


@differs("-1: the exception has no code")
async def test_snapshots_of_a_missing_partition(make, wire, db):
    await make("p", fields(k=pa.int32(), p=pa.string()), pk=["k", "p"], partition_keys=["p"])
    assert code(wire.tablet.call, 1023, w.msg((1, w.table_path(db, "p")), (2, "nowhere"))) == 36


def test_file_system_token(wire):
    reply = w.decode(wire.tablet.call(1025, b""))
    assert w.one(reply, 1)
    assert 2 in reply


# --- statistics, limits ---------------------------------------------------------------------------------------------

async def test_limit_scan_of_what_does_not_exist(make, wire):
    table_id = (await make("t", KAB)).get_table_info().table_id
    for table, bucket in ((table_id, 9), (table_id + 10**6, 0)):
        try:
            answer = w.one(w.decode(wire.tablet.call(w.LIMIT_SCAN, w.msg((2, table), (4, bucket), (5, 10)))), 1)
        except w.WireError as e:
            answer = e.error_code
        assert answer == 21


# --- producer offsets -----------------------------------------------------------------------------------------------

async def test_producer_offsets(make, wire):
    table_id = (await make("t", KAB, bucket_count=2)).get_table_info().table_id
    producer = f"job-{uuid.uuid4().hex}"

    def register(offsets):
        buckets = [w.msg((2, b), (4, o)) for b, o in offsets.items()]
        return w.one(w.decode(wire.coordinator.call(1053, w.msg(
            (1, producer), (2, [w.msg((1, table_id), (2, buckets))])))), 1, 0)

    def known():
        reply = w.decode(wire.coordinator.call(1054, w.msg((1, producer))))
        return {w.one(b, 2): w.one(b, 4) for t in reply.get(3, []) for b in map(w.decode, w.decode(t)[2])}, reply

    assert known() == ({}, {})
    assert register({0: 5, 1: 7}) == 0
    assert known()[0] == {0: 5, 1: 7}
    assert w.one(known()[1], 1) == producer.encode()
    assert w.one(known()[1], 2) > time.time() * 1000
    assert register({0: 99, 1: 99}) == 1                        # the first registration stays
    assert known()[0] == {0: 5, 1: 7}
    wire.coordinator.call(1055, w.msg((1, producer)))
    assert known()[0] == {}
    wire.coordinator.call(1055, w.msg((1, producer)))


# --- security is off ------------------------------------------------------------------------------------------------

def test_access_lists_without_an_authorizer(wire):
    anything = w.msg((2, 1), (6, 1), (7, 1))
    assert code(wire.coordinator.call, 1040, w.msg((1, anything))) == 47
    entry = w.msg((1, "*"), (2, 4), (3, "alice"), (4, "User"), (5, "*"), (6, 3), (7, 2))
    assert code(wire.coordinator.call, 1039, w.msg((1, [entry]))) == 47
    assert code(wire.coordinator.call, 1041, w.msg((1, [anything]))) == 47


# --- configuration --------------------------------------------------------------------------------------------------

def test_cluster_configuration_can_be_told(wire):
    reply = w.decode(wire.coordinator.call(1045, b""))
    told = {w.one(c, 1).decode(): w.one(c, 3).decode() for c in map(w.decode, reply[1])}
    assert told
    assert set(told.values()) <= {"INITIAL_SERVER_CONFIG", "DYNAMIC_SERVER_CONFIG"}


@differs("-1: the exception has no code there; later versions answer 64")
def test_unknown_cluster_configuration_is_refused(wire):
    change = w.msg((1, "no.such.key"), (2, "1"), (3, 0))
    assert code(wire.coordinator.call, 1046, w.msg((1, [change]))) == 64


async def test_a_log_table_counts_what_was_written(make, wire):
    table = await make("t", KAB)
    await append(table, [[i, None, None] for i in range(17)])
    assert wire.row_counts(table.get_table_info().table_id, [0]) == {0: ("rows", 17)}
