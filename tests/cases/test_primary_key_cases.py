"""How other servers went wrong with primary-key tables."""

import fluss
import pyarrow as pa
import pytest

import batches
import rows
import wire as w
from kit import D, I, UA, UB, changelog, delete, fields, limit_rows, lookup_many, read_all, ready, upsert
from rows import descriptor, row

SCAN_KV = 1061
KAB = fields(k=pa.int32(), a=pa.string(), b=pa.int64())
differs = pytest.mark.fluss_differs


def scan(wire, table_id, bytes_a_batch=200):
    """(rows, the offset that they are of) of bucket 0, a few rows at a time."""
    found, sequence, scanner, offset = [], 0, None, None
    while True:
        opening = w.msg((1, table_id), (3, 0)) if sequence == 0 else None
        reply = w.decode(wire.tablet.call(SCAN_KV, w.msg((1, scanner), (2, opening), (3, sequence), (4, bytes_a_batch))))
        assert 1 not in reply, w.one(reply, 2)
        offset = w.one(reply, 6, offset)
        part = rows.read_values(w.one(reply, 5)) if 5 in reply else []
        assert part or not w.one(reply, 4)
        found += [rows.read_value("isl", v)[1] for v in part]
        if not w.one(reply, 4):
            return found, offset
        scanner, sequence = w.one(reply, 3), sequence + 1


async def get(table, *key):
    found = await table.new_lookup().create_lookuper().lookup(list(key))
    return None if found is None else tuple(found.values())


async def test_a_delete_of_nothing_takes_its_place_among_a_writers_batches(make, wire, db):
    """It makes no change, and the writer's next batch was then out of order."""
    table_id = wire.new_table(db, "t", descriptor())
    me = w.one(w.decode(wire.tablet.call(w.INIT_WRITER, b"")), 1)
    puts = [[(rows.key("i", 9), None)], [row(1, "x", 1)], [(rows.key("i", 9), None)], [(rows.key("i", 1), None)]]
    for sequence, put in enumerate(puts):
        batch = rows.batch(put, me, sequence)
        for _ in range(2):                                       # each is sent again, as if its answer were lost
            answer = wire.put_kv(table_id, 0, batch)
            assert (answer["error"], answer["log_end_offset"]) == (None, sequence + 1)
    told = list(batches.decode(wire.fetch(table_id, 0, 0)["records"]))
    assert [(b.sequence, b.count) for b in told] == [(0, 0), (1, 1), (2, 0), (3, 1)]


@pytest.mark.parametrize("restart", ["kill", "stop"])
async def test_a_scan_sees_old_rows_and_new_ones(workplace, restart):
    """Rows of the snapshot, or of the tail of the log behind it, were missing elsewhere; or it ended at the first delete."""
    server = workplace.server().start()
    cluster = w.Cluster(server.bootstrap)
    table_id = cluster.new_table("fluss", "t", descriptor())
    assert cluster.put_kv(table_id, 0, rows.batch([row(k, "old", k) for k in range(1, 101)]))["error"] is None
    cluster.close()
    getattr(server, restart)()
    server.start()
    cluster = w.Cluster(server.bootstrap)
    assert cluster.put_kv(table_id, 0, rows.batch([row(k, "new", k) for k in range(101, 201)]))["error"] is None
    found, offset = scan(cluster, table_id)
    assert offset == 200 and sorted(r[0] for r in found) == list(range(1, 201))
    assert all(r == (r[0], "old" if r[0] <= 100 else "new", r[0]) for r in found)
    gone = {2, 5, 8, 105}
    assert cluster.put_kv(table_id, 0, rows.batch([(rows.key("i", k), None) for k in gone]))["error"] is None
    found, offset = scan(cluster, table_id)
    assert offset == 204 and sorted(r[0] for r in found) == [k for k in range(1, 201) if k not in gone]
    reply = w.decode(cluster.tablet.call(w.LIMIT_SCAN, w.msg((2, table_id), (4, 0), (5, 1000))))
    assert [rows.read_value("isl", v)[1] for v in rows.read_values(w.one(reply, 4))] == found
    assert cluster.row_counts(table_id, [0]) == {0: ("rows", 196)}
    cluster.close()


@differs("no such request")
async def test_a_scan_shows_one_moment(make, wire, db):
    """What is written while it goes on is not in it: the changelog from its offset on is the rest."""
    table_id = wire.new_table(db, "t", descriptor())
    wire.put_kv(table_id, 0, rows.batch([row(k, "before", k) for k in range(50)]))
    opened = w.decode(wire.tablet.call(SCAN_KV, w.msg((2, w.msg((1, table_id), (3, 0))), (3, 0), (4, 100))))
    assert w.one(opened, 6) == 50 and w.one(opened, 4)
    wire.put_kv(table_id, 0, rows.batch([row(k, "after", k) for k in range(40, 60)] + [(rows.key("i", 30), None)]))
    found = [rows.read_value("isl", v)[1] for v in rows.read_values(w.one(opened, 5))]
    sequence, reply = 0, opened
    while w.one(reply, 4):
        sequence += 1
        reply = w.decode(wire.tablet.call(SCAN_KV, w.msg((1, w.one(opened, 3)), (3, sequence), (4, 100))))
        found += [rows.read_value("isl", v)[1] for v in rows.read_values(w.one(reply, 5))]
    assert sorted(found) == [(k, "before", k) for k in range(50)]


async def test_key_columns_between_other_columns(make):
    """Keys are in the order of the key, values in that of the table."""
    table = await make("t", fields(v1=pa.string(), k2=pa.string(), v2=pa.int64(), k1=pa.int32(), v3=pa.string()),
                       pk=["k1", "k2"], bucket_count=3)
    written = [(f"v{i}", f"k{i % 7}", i, i // 7, None if i % 3 else "x") for i in range(50)]
    await upsert(table, written)
    for r in written:
        assert await get(table, r[3], r[1]) == r
    await delete(table, [{"k1": 3, "k2": "k2"}])
    assert await get(table, 3, "k2") is None
    scanned = [tuple(r.values()) for b in range(3) for r in await limit_rows(table, b, 100)]
    assert sorted(scanned) == sorted(r for r in written if (r[3], r[1]) != (3, "k2"))


@differs("its tablet server learns of a new column some time after it is added")
async def test_values_begin_with_their_schema(make, wire, db):
    """Each is of the schema with which its row was written."""
    table = await make("t", KAB, pk=["k"])
    table_id = table.get_table_info().table_id
    assert wire.put_kv(table_id, 0, rows.batch([row(1, "x", 5)]))["error"] is None
    wire.add_column(db, "t", "c", {"type": "STRING"})
    newer = (rows.key("i", 2), rows.encode("isls", 2, "y", 6, "z"))
    assert wire.put_kv(table_id, 0, rows.batch([newer], schema_id=2))["error"] is None
    old, new, none = rows.lookup(wire.tablet, table_id, 0, [rows.key("i", k) for k in (1, 2, 3)])
    assert rows.read_value("isl", old) == (1, (1, "x", 5))
    assert rows.read_value("isls", new) == (2, (2, "y", 6, "z"))
    assert none is None


@pytest.mark.parametrize("engine, functions", [
    (None, None),
    pytest.param("aggregation", {"a": "last_value", "b": "sum"}, marks=differs("it is stored")),
    pytest.param("partial-update", None, marks=differs("no such engine"))])
async def test_what_a_partial_write_has_in_other_columns_is_not_stored(wire, db, conn, engine, functions):
    """Clients may leave anything there."""
    table_id = wire.new_table(db, "t", descriptor({"table.merge-engine": engine} if engine else {}, functions))
    assert wire.put_kv(table_id, 0, rows.batch([row(1, "v1", 666)]), target_columns=[0, 1])["error"] is None
    table = await conn.get_table(fluss.TablePath(db, "t"))
    assert await get(table, 1) == (1, "v1", None)
    assert wire.put_kv(table_id, 0, rows.batch([row(1, "junk", 7)]), target_columns=[0, 2])["error"] is None
    assert await get(table, 1) == (1, "v1", 7)
    assert await changelog(table, 3) == [(0, I, (1, "v1", None)), (1, UB, (1, "v1", None)), (2, UA, (1, "v1", 7))]


async def test_projection_over_batches_without_rows(make, wire, db):
    """A reader sees no rows of them, and still gets on."""
    table = await make("t", KAB, pk=["k"], properties={"table.merge-engine": "first_row"})
    await upsert(table, [[1, "a", 1], [1, "b", 2], [1, "c", 3], [2, "d", 4], [2, "e", 5]])
    assert [(o, r) for _, o, _, r in await read_all(table, 2, project=["b"])] == [(0, {"b": 1}), (3, {"b": 4})]
    assert [(o, r) for _, o, _, r in await read_all(table, 1, start=1, project=["a", "k"])] == [(3, {"a": "d", "k": 2})]
    table_id = table.get_table_info().table_id
    answer = wire.fetch(table_id, 0, 4, projected=[1])           # nothing but a batch without rows
    told = list(batches.decode(answer["records"]))
    assert [(b.base_offset, b.last_offset, b.count) for b in told] == [(4, 4, 0)] and answer["high_watermark"] == 5


async def test_a_limit_counts_in_its_partition_only(make, admin):
    table = await make("t", fields(id=pa.int32(), p=pa.string()), pk=["id", "p"], partition_keys=["p"])
    path = table.get_table_path()
    for p in "xyz":
        await admin.create_partition(path, {"p": p})
        await ready(admin, table, p)
    await upsert(table, [[i, "xyz"[i % 3]] for i in range(30)])
    ids = {i.partition_name: i.partition_id for i in await admin.list_partition_infos(path)}
    found = await limit_rows(table, 0, 4, partition_id=ids["y"])
    assert len(found) == 4 and {r["p"] for r in found} == {"y"}
    assert len(await limit_rows(table, 0, 100, partition_id=ids["z"])) == 10


async def test_rows_that_are_not_counted_have_no_number(make, wire):
    """An error, never a wrong number."""
    table = await make("t", KAB, pk=["k"], properties={"table.changelog.image": "wal"})
    await upsert(table, [[1, "x", 1], [1, "y", 2], [2, "z", 3]])
    assert wire.row_counts(table.get_table_info().table_id, [0]) == {0: ("error", 15)}


async def test_aggregates_need_the_rows_before(admin, db, wire):
    """To take back a write, a job has to know what was there."""
    with pytest.raises(w.WireError) as refused:
        wire.create_table_json(db, "t", descriptor(
            {"table.merge-engine": "aggregation", "table.changelog.image": "WAL"}, {"b": "sum"}))
    assert refused.value.error_code == 39


async def test_sums_are_restored_and_counted_again(wire, db, conn):
    """A job that lost its memory takes back what it wrote since its checkpoint, and writes it again."""
    table_id = wire.new_table(db, "t", descriptor({"table.merge-engine": "aggregation"},
                                                  {"a": "last_value", "b": "sum"}))

    def put(*records, **how):
        answer = wire.put_kv(table_id, 0, rows.batch(list(records)), **how)
        assert answer["error"] is None
        return answer["log_end_offset"]

    checkpoint = put(row(1, "a", 10), row(2, "b", 20))
    end = put(row(1, "c", 5), row(2, "d", 7), row(3, "e", 1))
    # The job reads the changelog from its checkpoint on, and knows what was there before.
    undo, seen = [], set()
    for batch in batches.decode(wire.fetch(table_id, 0, checkpoint)["records"]):
        kinds = batch.data[batches.HEADER.size:batches.HEADER.size + batch.count]
        message = pa.py_buffer(batch.data[batches.HEADER.size + batch.count:])
        told = pa.ipc.read_record_batch(message, KAB).to_pylist()
        for kind, r in zip(kinds, told):
            if kind in (1, 2) and r["k"] not in seen:            # +I, -U
                seen.add(r["k"])
                undo.append((rows.key("i", r["k"]), None) if kind == 1 else row(*r.values()))
    assert len(undo) == 3
    put(*undo, agg_mode=1)
    table = await conn.get_table(fluss.TablePath(db, "t"))
    assert [await get(table, k) for k in (1, 2, 3)] == [(1, "a", 10), (2, "b", 20), None]
    put(row(1, "c", 5), row(2, "d", 7), row(3, "e", 1))
    assert [await get(table, k) for k in (1, 2, 3)] == [(1, "c", 15), (2, "d", 27), (3, "e", 1)]
    tail = [(c, tuple(r.values())) for _, o, c, r in await read_all(table, 10, start=end)]
    assert [t for t in tail if t[1][0] == 3] == [(D, (3, "e", 1)), (I, (3, "e", 1))]


@differs("it is taken for the default mode")
async def test_an_unknown_merge_mode_is_refused(wire, db):
    table_id = wire.new_table(db, "t", descriptor())
    with pytest.raises((w.WireError, AssertionError)):
        assert wire.put_kv(table_id, 0, rows.batch([row(1, "a", 1)]), agg_mode=2)["error"] is None
    assert rows.lookup(wire.tablet, table_id, 0, [rows.key("i", 1)]) == [None]


async def test_one_column_of_seven_is_updated(make):
    names = [f"c{i}" for i in range(6)]
    table = await make("t", pa.schema([("k", pa.int32())] + [(n, pa.string()) for n in names]), pk=["k"])
    await upsert(table, [[k, *(f"{n} {k}" for n in names)] for k in range(3)])
    await upsert(table, [{"k": 1, "c4": "new"}], ["k", "c4"])
    assert await get(table, 1) == (1, "c0 1", "c1 1", "c2 1", "c3 1", "new", "c5 1")
    assert await get(table, 2) == (2, *(f"{n} 2" for n in names))


@pytest.mark.parametrize("lake", ["paimon", "iceberg", "lance"])
@pytest.mark.parametrize("version", ["1", "2"])
async def test_prefix_lookups_in_a_table_for_a_lake(make, lake, version):
    """Writes, lookups and prefix lookups choose the same bucket and the same key."""
    properties = {"table.datalake.format": lake, "table.kv.format-version": version}
    if lake == "iceberg" and version == "1":
        pytest.skip("a key of two columns has no encoding there")
    table = await make("t", fields(a=pa.int32(), b=pa.string(), v=pa.int64()), pk=["a", "b"], bucket_keys=["a"],
                       bucket_count=5, properties=properties)
    written = [{"a": a, "b": f"b{b}", "v": 10 * a + b} for a in range(20) for b in range(3)]
    await upsert(table, [list(r.values()) for r in written])
    assert await lookup_many(table, [[r["a"], r["b"]] for r in written]) == written
    if version == "1" and lake == "paimon":
        return                                                   # its keys have no prefixes
    prefix = table.new_lookup().lookup_by(["a"]).create_lookuper()
    for a in (0, 7, 19):
        found = await prefix.lookup([a])
        assert sorted(found, key=lambda r: r["b"]) == [r for r in written if r["a"] == a]


# --- bad input: the documented code, and nothing changed -------------------------------------------------------------

@differs("checksums and keys are not checked")
async def test_bad_puts_change_nothing(wire, db):
    log = descriptor()
    del log["schema"]["primary_key"]
    log_id = wire.new_table(db, "log", log)
    table_id = wire.new_table(db, "t", descriptor())
    me = w.one(w.decode(wire.tablet.call(w.INIT_WRITER, b"")), 1)
    assert wire.put_kv(table_id, 0, rows.batch([row(1, "a", 1)], me, 0))["error"] is None
    good = rows.batch([row(1, "b", 2)])
    wrong_key = (rows.key("i", 2), row(1, "b", 2)[1])
    null_key = (rows.key("i", 2), rows.encode("isl", None, "b", 2))
    cases = {
        "a bit flipped in a row": (good[:-1] + bytes([good[-1] ^ 1]), {}, 14),
        "cut off": (good[:-3], {}, 14),
        "a row under another key": (rows.batch([wrong_key]), {}, 14),
        "null in the key": (rows.batch([null_key]), {}, 14),
        "bytes behind a row": (rows.batch([(rows.key("i", 1), row(1, "b", 2)[1] + b"\0")]), {}, 14),
        "a later record that cannot be read": (rows.batch([row(1, "b", 2), row(2, "c", 3), wrong_key]), {}, 14),
        "unknown schema": (rows.batch([row(1, "b", 2)], schema_id=2), {}, 9),
        "out of order": (rows.batch([row(1, "b", 2)], me, 2), {}, 31),
        "unknown writer in the middle": (rows.batch([row(1, "b", 2)], me + 1000, 7), {}, 31),
        "no key among the columns": (good, {"target_columns": [1]}, 35),
        "no such column": (good, {"target_columns": [0, 3]}, 35),
        "no such bucket": (good, {"bucket": 1}, 21),
        "a table of another kind": (good, {"table_id": log_id}, 20),
    }
    for name, (batch, how, code) in cases.items():
        how = {"table_id": table_id, "bucket": 0, **how}
        assert wire.put_kv(how.pop("table_id"), how.pop("bucket"), batch, **how)["error"] == code, name
        assert wire.list_offsets(table_id, [0], 1) == {0: ("offset", 1)}, name
    stored = rows.lookup(wire.tablet, table_id, 0, [rows.key("i", 1)])
    assert [rows.read_value("isl", v) for v in stored] == [(1, (1, "a", 1))]
    assert rows.lookup(wire.tablet, table_id, 0, [rows.key("i", 2)]) == [None]
    assert wire.put_kv(table_id, 0, rows.batch([row(1, "b", 2)], me, 1))["error"] is None


async def test_a_refused_delete_takes_back_the_whole_write(wire, db):
    table_id = wire.new_table(db, "t", descriptor({"table.delete.behavior": "disable"}))
    batch = rows.batch([row(1, "a", 1), row(2, "b", 2), (rows.key("i", 3), None)])
    assert wire.put_kv(table_id, 0, batch)["error"] == 57
    assert rows.lookup(wire.tablet, table_id, 0, [rows.key("i", k) for k in (1, 2)]) == [None, None]
    assert wire.put_kv(table_id, 0, rows.batch([row(1, "c", 1)]))["log_end_offset"] == 1
    told = list(batches.decode(wire.fetch(table_id, 0, 0)["records"]))
    assert told[0].data[batches.HEADER.size] == 1, "a new row, since the one before was taken back"


def test_changes_that_are_too_large_together_are_refused(workplace):
    """Each of sixty small updates tells a row of 1 MiB before and after; a batch of the changelog has room for 100 MiB."""
    server = workplace.server().start()
    cluster = w.Cluster(server.bootstrap)
    table_id = cluster.new_table("fluss", "t", descriptor({"table.log.arrow.compression.type": "none"}))
    large = "x" * (1 << 20)
    assert cluster.put_kv(table_id, 0, rows.batch([row(1, large, 0)]))["error"] is None
    updates = [row(1, None, n) for n in range(1, 61)]
    answer = cluster.put_kv(table_id, 0, rows.batch([row(2, None, 2), *updates]), target_columns=[0, 2])
    assert answer["error"] == 13
    assert cluster.list_offsets(table_id, [0], 1) == {0: ("offset", 1)}
    first, second = rows.lookup(cluster.tablet, table_id, 0, [rows.key("i", k) for k in (1, 2)])
    assert rows.read_value("isl", first)[1] == (1, large, 0) and second is None
    answer = cluster.put_kv(table_id, 0, rows.batch(updates[:40]), target_columns=[0, 2])
    assert (answer["error"], answer["log_end_offset"]) == (None, 81)
    assert rows.read_value("isl", *rows.lookup(cluster.tablet, table_id, 0, [rows.key("i", 1)]))[1] == (1, large, 40)
    cluster.close()
