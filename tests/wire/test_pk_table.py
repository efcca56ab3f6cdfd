"""Primary-key tables: current rows, changelog, merge engines.

Where a test states a whole changelog, every write went out alone and was acknowledged before the next one.  Offsets are
part of the contract: a write that changes nothing still takes one offset (an empty batch), which no reader sees."""

import datetime as dt
from decimal import Decimal

import fluss
import pyarrow as pa
import pytest

from kit import (D, EARLIEST, I, UA, UB, changelog, code_of, delete, fields, fold, limit_rows, lookup_many, read,
                 read_all, ready, scanner_of, upsert)
from values import KEY_TYPES, VALUES, plain

KAB = fields(k=pa.int32(), a=pa.string(), b=pa.int32())
differs = pytest.mark.fluss_differs


async def get(table, *key):
    row = await table.new_lookup().create_lookuper().lookup(list(key))
    return None if row is None else tuple(plain(v) for v in row.values())


async def end(admin, table, bucket=0):
    return (await admin.list_offsets(table.get_table_path(), [bucket], fluss.OffsetSpec.latest()))[bucket]


# --- upsert, delete, lookup -----------------------------------------------------------------------------------------

async def test_insert_update_delete(make, admin):
    table = await make("t", KAB, pk=["k"])
    assert await get(table, 1) is None
    await upsert(table, [{"k": 1, "a": "x", "b": 1}])
    assert await get(table, 1) == (1, "x", 1)
    await upsert(table, [(1, "y", None)])
    assert await get(table, 1) == (1, "y", None)
    await upsert(table, [[2, None, 2]])
    await delete(table, [{"k": 1}])
    assert await get(table, 1) is None
    assert await get(table, 2) == (2, None, 2)
    await upsert(table, [[1, "z", 3]])
    assert await get(table, 1) == (1, "z", 3)
    assert await changelog(table, 6) == [
        (0, I, (1, "x", 1)), (1, UB, (1, "x", 1)), (2, UA, (1, "y", None)), (3, I, (2, None, 2)),
        (4, D, (1, "y", None)), (5, I, (1, "z", 3))]
    assert await end(admin, table) == 6


async def test_the_same_row_again_is_still_an_update(make):
    table = await make("t", KAB, pk=["k"])
    await upsert(table, [[1, "x", 1], [1, "x", 1]])
    assert await changelog(table, 3) == [(0, I, (1, "x", 1)), (1, UB, (1, "x", 1)), (2, UA, (1, "x", 1))]


async def test_delete_of_a_missing_key_takes_one_offset(make, admin):
    table = await make("t", KAB, pk=["k"])
    await delete(table, [[9]])
    assert await end(admin, table) == 1
    await upsert(table, [[1, "x", 1]])
    await delete(table, [[1], [1], [9]])
    await upsert(table, [[1, "y", 2]])
    assert await changelog(table, 3) == [(1, I, (1, "x", 1)), (2, D, (1, "x", 1)), (5, I, (1, "y", 2))]
    assert await end(admin, table) == 6


async def test_changes_of_one_batch(make, admin, connector):
    path = (await make("t", KAB, pk=["k"])).get_table_path()
    table = await (await connector(writer_batch_timeout_ms=500)).get_table(path)
    writer = table.new_upsert().create_writer()
    for row in ([1, "a", 1], [1, "b", 2], [2, "c", 3]):
        writer.upsert(row)
    writer.delete([1])
    writer.delete([7])
    writer.upsert([1, "d", 4])
    await writer.flush()
    assert await changelog(table, 6) == [
        (0, I, (1, "a", 1)), (1, UB, (1, "a", 1)), (2, UA, (1, "b", 2)), (3, I, (2, "c", 3)),
        (4, D, (1, "b", 2)), (5, I, (1, "d", 4))]
    assert await end(admin, table) == 6
    assert await get(table, 1) == (1, "d", 4)


async def test_many_keys(make):
    table = await make("t", KAB, pk=["k"], bucket_count=3)
    writer = table.new_upsert().create_writer()
    for i in range(3000):
        writer.upsert([i % 1000, f"v{i}", i])
    for i in range(0, 1000, 10):
        writer.delete([i])
    await writer.flush()
    rows = await lookup_many(table, ([k] for k in range(1000)))
    assert rows == [None if k % 10 == 0 else {"k": k, "a": f"v{2000 + k}", "b": 2000 + k} for k in range(1000)]


async def test_lookup_by_dict_list_and_tuple(make):
    table = await make("t", fields(v=pa.string(), k2=pa.string(), k1=pa.int32()), pk=["k1", "k2"])
    await upsert(table, [{"k1": 1, "k2": "x", "v": "one"}, {"k1": 1, "k2": "", "v": None}])
    lookuper = table.new_lookup().create_lookuper()
    one = {"v": "one", "k2": "x", "k1": 1}
    assert await lookuper.lookup({"k1": 1, "k2": "x"}) == one
    assert await lookuper.lookup({"k2": "x", "k1": 1}) == one
    assert await lookuper.lookup([1, "x"]) == one
    assert await lookuper.lookup((1, "")) == {"v": None, "k2": "", "k1": 1}
    assert await lookuper.lookup([1, "y"]) is None
    assert await lookuper.lookup([2, "x"]) is None


@pytest.mark.parametrize("name", VALUES)
async def test_values_of_a_type(make, name):
    kind, values = VALUES[name]
    values = values + [None]
    table = await make("t", pa.schema([pa.field("k", pa.int32()), pa.field("v", kind)]), pk=["k"])
    await upsert(table, [[i, v] for i, v in enumerate(values)])
    for i, v in enumerate(values):
        assert await get(table, i) == (i, v)
    assert [(o, c, (r["k"], plain(r["v"]))) for _, o, c, r in await read_all(table, len(values))] == [
        (i, I, (i, v)) for i, v in enumerate(values)]
    assert [(r["k"], plain(r["v"])) for r in await limit_rows(table, 0, 100)] == list(enumerate(values))


@pytest.mark.parametrize("name", KEY_TYPES)
async def test_keys_of_a_type(make, name):
    kind, values = VALUES[name]
    table = await make("t", pa.schema([pa.field("v", pa.int32()), pa.field("k", kind)]), pk=["k"], bucket_count=2)
    await upsert(table, [[i, v] for i, v in enumerate(values)])
    await upsert(table, [[100, values[0]]])
    assert await get(table, values[0]) == (100, values[0])
    for i, v in list(enumerate(values))[1:]:
        assert await get(table, v) == (i, v)
    await delete(table, [[values[0]]])
    assert await get(table, values[0]) is None
    told = fold([(b, o, c, {n: plain(x) for n, x in r.items()})
                 for b, o, c, r in await read_all(table, len(values) + 3, buckets=2)], ["k"])
    assert sorted(r["v"] for r in told.values()) == list(range(1, len(values)))


async def test_one_key_of_many_columns(make):
    names = [n for n in KEY_TYPES if n not in ("float", "double")]
    schema = pa.schema([pa.field("v", pa.string())] + [pa.field(f"k{i}", VALUES[n][0]) for i, n in enumerate(names)])
    table = await make("t", schema, pk=[f"k{i}" for i in range(len(names))])
    keys = [[VALUES[n][1][turn % len(VALUES[n][1])] for n in names] for turn in range(4)]
    await upsert(table, [[f"row {i}", *k] for i, k in enumerate(keys)])
    for i, key in enumerate(keys):
        assert await get(table, *key) == (f"row {i}", *key)
    await delete(table, [keys[2]])
    assert await get(table, *keys[2]) is None
    assert await get(table, *keys[3]) == ("row 3", *keys[3])


async def test_null_in_a_key_is_refused(make):
    table = await make("t", KAB, pk=["k"])
    with pytest.raises(fluss.FlussError):
        await upsert(table, [[None, "x", 1]])
    assert await limit_rows(table, 0, 10) == []


async def test_log_table_has_no_keys(make, wire):
    table = await make("t", KAB)
    with pytest.raises(fluss.FlussError):
        table.new_upsert().create_writer()
    with pytest.raises(fluss.FlussError):
        table.new_lookup().create_lookuper()


async def test_changelog_is_not_read_as_arrow_batches(make):
    table = await make("t", KAB, pk=["k"])
    with pytest.raises(fluss.FlussError):
        await table.new_scan().create_record_batch_log_scanner()


async def test_changelog_with_projection_and_from_an_offset(make):
    table = await make("t", KAB, pk=["k"])
    await upsert(table, [[1, "x", 1], [1, "y", 2], [2, "z", 3]])
    await delete(table, [[2]])
    assert [(o, c, r) for _, o, c, r in await read_all(table, 3, start=2, project=["b", "k"])] == [
        (2, UA, {"b": 2, "k": 1}), (3, I, {"b": 3, "k": 2}), (4, D, {"b": 3, "k": 2})]
    assert [(o, c) for _, o, c, _ in await read_all(table, 4, start=1)] == [(1, UB), (2, UA), (3, I), (4, D)]


@pytest.mark.parametrize("compression", ["NONE", "LZ4_FRAME", "ZSTD"])
async def test_changelog_compressions(make, compression):
    table = await make("t", KAB, pk=["k"], properties={"table.log.arrow.compression.type": compression})
    rows = [[i, "again and again " * 10, i] for i in range(200)]
    writer = table.new_upsert().create_writer()
    for row in rows:
        writer.upsert(row)
    await writer.flush()
    assert [list(r.values()) for _, _, _, r in await read_all(table, 200)] == rows


# --- partial update -------------------------------------------------------------------------------------------------

async def test_partial_update(make, admin):
    table = await make("t", KAB, pk=["k"])
    await upsert(table, [{"k": 1, "a": "x"}], ["k", "a"])
    await upsert(table, [{"k": 1, "b": 5}], ["k", "b"])
    await upsert(table, [{"k": 1, "a": None}], ["k", "a"])
    assert await changelog(table, 5) == [
        (0, I, (1, "x", None)), (1, UB, (1, "x", None)), (2, UA, (1, "x", 5)), (3, UB, (1, "x", 5)),
        (4, UA, (1, None, 5))]
    assert await get(table, 1) == (1, None, 5)
    assert await end(admin, table) == 5


async def test_partial_update_of_nothing_but_the_key(make, admin):
    table = await make("t", KAB, pk=["k"])
    await upsert(table, [[1, "x", 1]])
    await upsert(table, [{"k": 1}], ["k"])
    assert await get(table, 1) == (1, "x", 1)
    assert await changelog(table, 1) == [(0, I, (1, "x", 1))]
    assert await end(admin, table) == 2


async def test_partial_delete(make, admin):
    table = await make("t", KAB, pk=["k"])
    await upsert(table, [[1, "x", 1]])
    await delete(table, [[1]], ["k", "a"])
    assert await get(table, 1) == (1, None, 1)
    await delete(table, [[1]], ["k", "b"])
    assert await get(table, 1) is None
    await delete(table, [[1]], ["k", "b"])
    assert await changelog(table, 4) == [
        (0, I, (1, "x", 1)), (1, UB, (1, "x", 1)), (2, UA, (1, None, 1)), (3, D, (1, None, 1))]
    assert await end(admin, table) == 5


async def test_partial_update_by_position(make):
    table = await make("t", KAB, pk=["k"])
    await upsert(table, [[1, "x", 1]])
    writer = table.new_upsert().partial_update_by_index([0, 2]).create_writer()
    writer.upsert({"k": 1, "b": 7})
    await writer.flush()
    assert await get(table, 1) == (1, "x", 7)


async def test_bad_partial_updates(make):
    table = await make("t", pa.schema([pa.field("k", pa.int32()), pa.field("a", pa.string(), nullable=False),
                                       pa.field("b", pa.int32())]), pk=["k"])
    for columns in (["a"], ["k", "nope"], ["k", "b"]):
        with pytest.raises(fluss.FlussError):
            table.new_upsert().partial_update_by_name(columns).create_writer()


# --- changelog image, delete behaviour ------------------------------------------------------------------------------

async def test_changelog_image_wal(make, admin, wire):
    table = await make("t", KAB, pk=["k"], properties={"table.changelog.image": "wal"})
    await upsert(table, [[1, "x", 1], [1, "x", 1], [1, "y", 2]])
    await delete(table, [[1], [9]])
    await upsert(table, [[2, "p", 1]])
    await upsert(table, [{"k": 2, "a": "q"}], ["k", "a"])
    assert await changelog(table, 6) == [
        (0, UA, (1, "x", 1)), (1, UA, (1, "x", 1)), (2, UA, (1, "y", 2)), (3, D, (1, "y", 2)),
        (5, UA, (2, "p", 1)), (6, UA, (2, "q", 1))]
    assert await end(admin, table) == 7
    assert await get(table, 1) is None
    assert await get(table, 2) == (2, "q", 1)
    assert wire.row_counts(table.get_table_info().table_id, [0]) == {0: ("error", 15)}     # not counted in this mode


async def test_deletes_can_be_ignored(make, admin):
    table = await make("t", KAB, pk=["k"], properties={"table.delete.behavior": "ignore"})
    await upsert(table, [[1, "x", 1]])
    await delete(table, [[1], [2]])
    await upsert(table, [[1, "y", 2]])
    assert await changelog(table, 3) == [(0, I, (1, "x", 1)), (3, UB, (1, "x", 1)), (4, UA, (1, "y", 2))]
    assert await get(table, 1) == (1, "y", 2)


async def test_deletes_can_be_refused(make, admin):
    table = await make("t", KAB, pk=["k"], properties={"table.delete.behavior": "disable"})
    await upsert(table, [[1, "x", 1]])
    assert await code_of(delete(table, [[1]])) == 57
    assert await get(table, 1) == (1, "x", 1)
    await upsert(table, [[1, "y", 2]])
    assert await changelog(table, 3) == [(0, I, (1, "x", 1)), (1, UB, (1, "x", 1)), (2, UA, (1, "y", 2))]


# --- merge engines --------------------------------------------------------------------------------------------------

async def test_first_row(make, admin):
    table = await make("t", KAB, pk=["k"], properties={"table.merge-engine": "first_row"})
    await upsert(table, [[1, "x", 1], [1, "y", 2], [2, "z", 3]])
    await delete(table, [[1]])
    await upsert(table, [[1, "w", 4], [3, None, None]])
    assert await changelog(table, 3) == [(0, I, (1, "x", 1)), (2, I, (2, "z", 3)), (5, I, (3, None, None))]
    assert await get(table, 1) == (1, "x", 1)
    assert await end(admin, table) == 6


async def test_first_row_with_deletes_refused(make):
    table = await make("t", KAB, pk=["k"], properties={
        "table.merge-engine": "first_row", "table.delete.behavior": "disable"})
    await upsert(table, [[1, "x", 1]])
    assert await code_of(delete(table, [[1]])) == 57
    assert await get(table, 1) == (1, "x", 1)


async def test_versioned(make, admin):
    table = await make("t", KAB, pk=["k"], properties={
        "table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "b"})
    await upsert(table, [[1, "a", 10], [1, "older", 9], [1, "equal", 10], [1, "null", None], [1, "newer", 11]])
    await upsert(table, [[2, "n", None], [2, "m", None], [2, "o", -5]])
    await delete(table, [[1]])
    assert await changelog(table, 10) == [
        (0, I, (1, "a", 10)), (2, UB, (1, "a", 10)), (3, UA, (1, "equal", 10)), (5, UB, (1, "equal", 10)),
        (6, UA, (1, "newer", 11)), (7, I, (2, "n", None)), (8, UB, (2, "n", None)), (9, UA, (2, "m", None)),
        (10, UB, (2, "m", None)), (11, UA, (2, "o", -5))]
    assert await get(table, 1) == (1, "newer", 11)
    assert await get(table, 2) == (2, "o", -5)
    assert await end(admin, table) == 13


@pytest.mark.parametrize("kind, old, new", [
    (pa.int64(), -2**40, 2**40), (pa.timestamp("ms"), dt.datetime(1999, 1, 1), dt.datetime(2024, 1, 1)),
    (pa.timestamp("us"), dt.datetime(2024, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 2)),
    (pa.timestamp("us", "UTC"), dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
     dt.datetime(2024, 1, 1, 0, 0, 0, 1, tzinfo=dt.timezone.utc))], ids=str)
async def test_versioned_by_other_types(make, kind, old, new):
    table = await make("t", fields(k=pa.int32(), a=pa.string(), ver=kind), pk=["k"], properties={
        "table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "ver"})
    await upsert(table, [[1, "new", new], [1, "old", old], [2, "old", old], [2, "new", new]])
    assert (await get(table, 1))[1] == "new"
    assert (await get(table, 2))[1] == "new"


@differs("-1: an exception without a code")
@pytest.mark.parametrize("engine", ["first_row", "versioned"])
async def test_partial_update_with_an_engine_that_has_none(make, engine):
    more = {"table.merge-engine.versioned.ver-column": "b"} if engine == "versioned" else {}
    table = await make("t", KAB, pk=["k"], properties={"table.merge-engine": engine, **more})
    assert await code_of(upsert(table, [{"k": 1, "a": "x"}], ["k", "a"])) == 35
    assert await get(table, 1) is None


INT, STRING, BOOL = {"type": "INTEGER"}, {"type": "STRING"}, {"type": "BOOLEAN"}
DEC = {"type": "DECIMAL", "precision": 10, "scale": 2}


@pytest.fixture
def aggregate(conn, admin, db, wire):
    """A table k -> columns with aggregate functions; the Python client cannot declare these."""

    async def create(*columns, **properties):
        schema = {"version": 1, "primary_key": ["k"], "highest_field_id": len(columns),
                  "columns": [{"name": "k", "data_type": INT, "id": 0}]}
        for i, (data_type, function, *parameters) in enumerate(columns):
            column = {"name": f"v{i}", "data_type": data_type, "id": i + 1}
            if function:
                column["agg_function"] = {"type": function, **({"parameters": parameters[0]} if parameters else {})}
            schema["columns"].append(column)
        wire.create_table_json(db, "agg", {
            "version": 1, "schema": schema, "partition_key": [], "bucket_key": [], "bucket_count": 1,
            "properties": {"table.merge-engine": "aggregation", **properties}, "custom_properties": {}})
        table = await conn.get_table(fluss.TablePath(db, "agg"))
        await ready(admin, table)
        return table

    return create


AGGREGATES = [
    # function, type, inputs, value after each input
    ("sum", INT, [1, None, 2, -10], [1, 1, 3, -7]),
    ("sum", {"type": "TINYINT"}, [100, 27, -127], [100, 127, 0]),
    ("sum", {"type": "SMALLINT"}, [30000, 2767], [30000, 32767]),
    ("sum", {"type": "BIGINT"}, [2**62, 2**61], [2**62, 2**62 + 2**61]),
    ("sum", {"type": "DOUBLE"}, [0.5, None, 0.25], [0.5, 0.5, 0.75]),
    ("sum", {"type": "FLOAT"}, [0.5, 0.25], [0.5, 0.75]),
    ("sum", DEC, [Decimal("99.99"), Decimal("0.01"), Decimal("-200.00")],
     [Decimal("99.99"), Decimal("100.00"), Decimal("-100.00")]),
    ("sum", INT, [None, None, 3], [None, None, 3]),
    ("product", INT, [2, None, -3, 7], [2, 2, -6, -42]),
    ("product", {"type": "DOUBLE"}, [0.9, 0.8], [0.9, 0.9 * 0.8]),
    ("product", {"type": "BIGINT"}, [2**20, 2**30], [2**20, 2**50]),
    ("max", INT, [3, None, 1, 7], [3, 3, 3, 7]),
    ("max", STRING, ["b", None, "abc", "c", "C"], ["b", "b", "b", "c", "c"]),
    ("max", {"type": "DATE"}, [dt.date(2024, 1, 1), dt.date(1960, 1, 1)], [dt.date(2024, 1, 1)] * 2),
    ("max", {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 3},
     [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)], [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]),
    ("min", INT, [3, None, 5, -1], [3, 3, 3, -1]),
    ("min", STRING, ["b", "ü", "a"], ["b", "b", "a"]),
    ("min", DEC, [Decimal("79.99"), Decimal("99.99"), Decimal("-0.01")],
     [Decimal("79.99"), Decimal("79.99"), Decimal("-0.01")]),
    ("last_value", INT, [1, 2, None], [1, 2, None]),
    ("last_value_ignore_nulls", INT, [1, None, 2, None], [1, 1, 2, 2]),
    ("first_value", STRING, ["a", "b", None], ["a", "a", "a"]),
    ("first_value_ignore_nulls", INT, [None, 1, 2], [None, 1, 1]),
    ("listagg", STRING, ["a", None, "b", "c"], ["a", "a", "a,b", "a,b,c"]),
    ("string_agg", STRING, ["a", "b"], ["a", "a,b"]),
    ("bool_and", BOOL, [True, None, False, True], [True, True, False, False]),
    ("bool_or", BOOL, [False, None, True, False], [False, False, True, True]),
    (None, INT, [1, None, 2], [1, 1, 2]),               # no function: last_value_ignore_nulls
]


@pytest.mark.parametrize("function, data_type, inputs, outputs", AGGREGATES,
                         ids=lambda v: v["type"].lower() if isinstance(v, dict) else None if isinstance(v, list) else v)
async def test_aggregate_functions(aggregate, admin, function, data_type, inputs, outputs):
    table = await aggregate((data_type, function))
    seen = []
    for value in inputs:
        await upsert(table, [[1, value]])
        seen.append((await get(table, 1))[1])
    assert seen == outputs
    # every merge is an update, even one that leaves the value as it was
    expected = [(0, I, (1, outputs[0]))]
    for i in range(1, len(outputs)):
        expected += [(2 * i - 1, UB, (1, outputs[i - 1])), (2 * i, UA, (1, outputs[i]))]
    assert await changelog(table, len(expected)) == expected


async def test_first_value_takes_the_first_value_that_is_not_null(aggregate):
    """As the server does it; its documentation says that a null that came first stays."""
    table = await aggregate((INT, "first_value"))
    await upsert(table, [[1, None], [1, 5], [1, 6]])
    assert await get(table, 1) == (1, 5)


async def test_listagg_with_a_delimiter(aggregate):
    table = await aggregate((STRING, "listagg", {"delimiter": "|"}), (STRING, "string_agg", {"delimiter": "; "}))
    await upsert(table, [[1, "a", "x"], [1, "b", "y"], [1, None, "z"]])
    assert await get(table, 1) == (1, "a|b", "x; y; z")


async def test_aggregates_of_one_batch_and_of_many_keys(aggregate, conn):
    table = await aggregate((INT, "sum"), (INT, "max"), (STRING, "last_value"))
    writer = table.new_upsert().create_writer()
    for i in range(1000):
        writer.upsert([i % 7, i, i % 100, f"s{i}"])
    await writer.flush()
    for k in range(7):
        mine = range(k, 1000, 7)
        assert await get(table, k) == (k, sum(mine), max(i % 100 for i in mine), f"s{mine[-1]}")


async def test_aggregation_ignores_deletes_by_default(aggregate, admin):
    table = await aggregate((INT, "sum"))
    await upsert(table, [[1, 5]])
    await delete(table, [[1]])
    await upsert(table, [[1, 6]])
    assert await get(table, 1) == (1, 11)
    assert await changelog(table, 3) == [(0, I, (1, 5)), (2, UB, (1, 5)), (3, UA, (1, 11))]


async def test_aggregation_with_deletes_and_partial_updates(aggregate):
    table = await aggregate((INT, "sum"), (INT, "max"), **{"table.delete.behavior": "allow"})
    await upsert(table, [[1, 1, 1], [1, 2, 0]])
    await upsert(table, [{"k": 1, "v0": 5}], ["k", "v0"])
    assert await get(table, 1) == (1, 8, 1)
    await delete(table, [[1]], ["k", "v0"])
    assert await get(table, 1) == (1, None, 1)
    await upsert(table, [[1, 7, 7]])
    assert await get(table, 1) == (1, 7, 7)
    await delete(table, [[1]])
    assert await get(table, 1) is None
    assert await changelog(table, 10) == [
        (0, I, (1, 1, 1)), (1, UB, (1, 1, 1)), (2, UA, (1, 3, 1)), (3, UB, (1, 3, 1)), (4, UA, (1, 8, 1)),
        (5, UB, (1, 8, 1)), (6, UA, (1, None, 1)), (7, UB, (1, None, 1)), (8, UA, (1, 7, 7)), (9, D, (1, 7, 7))]


async def test_bitmaps_are_united(aggregate):
    """{1, 2} and {2, 3}, as the RoaringBitmap library writes them; {10, 20} and {20, 30} of 64 bits."""
    small, other, both = (bytes.fromhex("3a300000 01000000 0000" + rest) for rest in (
        "0100 10000000 0100 0200", "0100 10000000 0200 0300", "0200 10000000 0100 0200 0300"))
    head = "01 0100000000000000 04 0000 00 000000000000 0000000000000000 01000000 fe 01000000 01 02"
    tail = "0100000000000000 00000000 00000000"
    wide, wider, widest = (bytes.fromhex(head + numbers + tail) for numbers in (
        "02000000 0a00 1400", "02000000 1400 1e00", "03000000 0a00 1400 1e00"))
    table = await aggregate(({"type": "BYTES"}, "rbm32"), ({"type": "BYTES"}, "rbm64"))
    await upsert(table, [[1, small, None], [1, other, wide], [1, None, wider]])
    assert await get(table, 1) == (1, both, widest)


@differs("the first bytes are taken unseen; every later write of the key then fails")
async def test_bytes_that_are_no_bitmap_are_refused(aggregate):
    table = await aggregate(({"type": "BYTES"}, "rbm32"))
    assert await code_of(upsert(table, [[1, b"none"]])) == -1
    await upsert(table, [[1, bytes.fromhex("3a30000000000000")]])
    assert await get(table, 1) == (1, bytes.fromhex("3a30000000000000"))


@pytest.mark.parametrize("precision", [5, pytest.param(20, marks=differs("the sum becomes null"))])
async def test_a_sum_with_too_many_digits_is_refused(aggregate, precision):
    most = Decimal("9" * precision)
    table = await aggregate(({"type": "DECIMAL", "precision": precision, "scale": 0}, "sum"))
    await upsert(table, [[1, most]])
    assert await code_of(upsert(table, [[1, Decimal(1)]])) == -1
    assert await get(table, 1) == (1, most)
    await upsert(table, [[1, Decimal(-9)]])
    assert await get(table, 1) == (1, most - 9)


NO_ENGINE = differs("no such merge engine")


@NO_ENGINE
async def test_partial_update_engine(make, admin):
    table = await make("t", KAB, pk=["k"], properties={"table.merge-engine": "partial-update"})
    await upsert(table, [[1, "x", None], [1, None, 5], [1, "y", None], [1, None, None], [1, "z", 6]])
    await delete(table, [[1]])
    assert await changelog(table, 9) == [
        (0, I, (1, "x", None)), (1, UB, (1, "x", None)), (2, UA, (1, "x", 5)), (3, UB, (1, "x", 5)), (4, UA, (1, "y", 5)),
        (5, UB, (1, "y", 5)), (6, UA, (1, "y", 5)), (7, UB, (1, "y", 5)), (8, UA, (1, "z", 6))]
    assert await get(table, 1) == (1, "z", 6)
    assert await end(admin, table) == 10


@NO_ENGINE
async def test_partial_update_engine_with_deletes_and_partial_writes(make):
    table = await make("t", KAB, pk=["k"], properties={
        "table.merge-engine": "partial_update", "table.delete.behavior": "allow"})
    await upsert(table, [[1, "x", 5]])
    await upsert(table, [{"k": 1, "a": None}], ["k", "a"])
    assert await get(table, 1) == (1, "x", 5)
    await delete(table, [[1]], ["k", "a"])
    assert await get(table, 1) == (1, None, 5)
    await delete(table, [[1]])
    assert await get(table, 1) is None
    assert await changelog(table, 6) == [
        (0, I, (1, "x", 5)), (1, UB, (1, "x", 5)), (2, UA, (1, "x", 5)), (3, UB, (1, "x", 5)), (4, UA, (1, None, 5)),
        (5, D, (1, None, 5))]


# --- auto-increment -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()], ids=str)
async def test_auto_increment(make, kind):
    table = await make("t", fields(k=pa.int32(), n=kind, a=pa.string()), pk=["k"], auto_increment="n")
    assert table.get_table_info().get_schema().get_auto_increment_columns() == ["n"]
    await upsert(table, [{"k": 20, "a": "b"}, {"k": 10, "a": "a"}, {"k": 20, "a": "bb"}, {"k": 30, "a": None}], ["k", "a"])
    assert await changelog(table, 5) == [
        (0, I, (20, 1, "b")), (1, I, (10, 2, "a")), (2, UB, (20, 1, "b")), (3, UA, (20, 1, "bb")), (4, I, (30, 3, None))]
    assert await get(table, 20) == (20, 1, "bb")
    with pytest.raises(fluss.FlussError):
        await upsert(table, [[40, 99, "given"]])


async def test_auto_increment_is_unique_over_buckets(make):
    table = await make("t", fields(k=pa.int32(), n=pa.int64()), pk=["k"], auto_increment="n", bucket_count=3,
                       properties={"table.auto-increment.cache-size": "10"})
    writer = table.new_upsert().partial_update_by_name(["k"]).create_writer()
    for i in range(200):
        writer.upsert({"k": i})
    await writer.flush()
    rows = [r for b in range(3) for r in await limit_rows(table, b, 1000)]
    assert sorted(r["k"] for r in rows) == list(range(200))
    numbers = [r["n"] for r in rows]
    assert len(set(numbers)) == 200
    assert 1 <= min(numbers) and max(numbers) <= 260


# --- prefix lookup, limit scan --------------------------------------------------------------------------------------

async def test_prefix_lookup(make):
    table = await make("t", fields(a=pa.int32(), b=pa.string(), c=pa.int64(), v=pa.string()), pk=["a", "b", "c"],
                       bucket_keys=["a", "b"], bucket_count=3)
    await upsert(table, [[1, "x", 3, "three"], [1, "x", 1, "one"], [1, "xy", 1, "no"], [1, "", 1, "empty"], [2, "x", 1, "no"]])
    prefix = table.new_lookup().lookup_by(["a", "b"]).create_lookuper()
    one = {"a": 1, "b": "x", "c": 1, "v": "one"}
    three = {"a": 1, "b": "x", "c": 3, "v": "three"}
    assert await prefix.lookup([1, "x"]) == [one, three]
    assert await prefix.lookup({"b": "x", "a": 1}) == [one, three]
    assert await prefix.lookup([1, ""]) == [{"a": 1, "b": "", "c": 1, "v": "empty"}]
    assert await prefix.lookup([9, "x"]) == []
    await delete(table, [[1, "x", 1]])
    assert await prefix.lookup([1, "x"]) == [three]
    with pytest.raises(fluss.FlussError):
        table.new_lookup().lookup_by(["a"]).create_lookuper()


async def test_prefix_lookup_of_many_rows(make):
    table = await make("t", fields(a=pa.int32(), c=pa.int32(), v=pa.string()), pk=["a", "c"], bucket_keys=["a"],
                       bucket_count=2)
    writer = table.new_upsert().create_writer()
    for i in range(2000):
        writer.upsert([i % 4, i, f"v{i}"])
    await writer.flush()
    prefix = table.new_lookup().lookup_by(["a"]).create_lookuper()
    for a in range(4):
        rows = await prefix.lookup([a])
        assert sorted((r["c"], r["v"]) for r in rows) == [(i, f"v{i}") for i in range(a, 2000, 4)]


async def test_limit_scan(make):
    table = await make("t", KAB, pk=["k"])
    assert await limit_rows(table, 0, 10) == []
    await upsert(table, [[k, str(k), k * 2] for k in (5, 3, 9, 7)])
    await upsert(table, [[3, "new", 0]])
    await delete(table, [[9]])
    rows = [{"k": 3, "a": "new", "b": 0}, {"k": 5, "a": "5", "b": 10}, {"k": 7, "a": "7", "b": 14}]
    assert await limit_rows(table, 0, 2) == rows[:2]                       # in the order of the encoded keys
    assert await limit_rows(table, 0, 3) == rows
    assert await limit_rows(table, 0, 100) == rows
    assert await limit_rows(table, 0, 1, project=["b", "k"]) == [{"b": 0, "k": 3}]


async def test_row_count(make, wire):
    table = await make("t", KAB, pk=["k"], bucket_count=2)
    await upsert(table, [[k, "x", k] for k in range(20)])
    await upsert(table, [[k, "y", k] for k in range(5)])
    await delete(table, [[1], [2], [77]])
    counts = wire.row_counts(table.get_table_info().table_id, [0, 1])
    assert {kind for kind, _ in counts.values()} == {"rows"}
    assert sum(n for _, n in counts.values()) == 18


# --- partitions, schema evolution, life -----------------------------------------------------------------------------

async def test_partitioned(make, admin):
    table = await make("t", fields(id=pa.int32(), p=pa.string(), v=pa.int32()), pk=["id", "p"], partition_keys=["p"])
    path = table.get_table_path()
    for p in "xy":
        await admin.create_partition(path, {"p": p})
        await ready(admin, table, p)
    await upsert(table, [[1, "x", 1], [1, "y", 2], [1, "x", 3], [2, "y", 4]])
    assert await get(table, 1, "x") == (1, "x", 3)
    assert await get(table, 1, "y") == (1, "y", 2)
    assert await get(table, 2, "x") is None
    assert await get(table, 1, "no such partition") is None
    ids = {i.partition_name: i.partition_id for i in await admin.list_partition_infos(path)}
    assert await limit_rows(table, 0, 10, partition_id=ids["x"]) == [{"id": 1, "p": "x", "v": 3}]
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe_partition(ids["x"], 0, EARLIEST)
    assert [(o, c, tuple(r.values())) for _, o, c, r in await read(scanner, 3)] == [
        (0, I, (1, "x", 1)), (1, UB, (1, "x", 1)), (2, UA, (1, "x", 3))]
    await admin.drop_partition(path, {"p": "x"})
    await admin.create_partition(path, {"p": "x"})
    await ready(admin, table, "x")
    assert await get(table, 1, "y") == (1, "y", 2)


async def test_prefix_lookup_in_a_partition(make, admin):
    table = await make("t", fields(p=pa.string(), a=pa.int32(), c=pa.int32()), pk=["p", "a", "c"], partition_keys=["p"],
                       bucket_keys=["a"], bucket_count=2)
    for p in "xy":
        await admin.create_partition(table.get_table_path(), {"p": p})
        await ready(admin, table, p)
    await upsert(table, [["x", 1, 1], ["x", 1, 2], ["x", 2, 3], ["y", 1, 4]])
    prefix = table.new_lookup().lookup_by(["p", "a"]).create_lookuper()
    assert await prefix.lookup(["x", 1]) == [{"p": "x", "a": 1, "c": 1}, {"p": "x", "a": 1, "c": 2}]
    assert await prefix.lookup(["y", 1]) == [{"p": "y", "a": 1, "c": 4}]
    assert await prefix.lookup(["y", 2]) == []


async def test_added_column(make, connector, wire, db):
    old = await make("t", KAB, pk=["k"])
    await upsert(old, [[1, "x", 1], [2, "y", 2]])
    wire.add_column(db, "t", "c", STRING)
    new = await (await connector()).get_table(old.get_table_path())
    assert await get(new, 1) == (1, "x", 1, None)
    assert await get(old, 1) == (1, "x", 1)
    await upsert(new, [[2, "yy", 22, "C"], [3, "z", 3, None]])
    await upsert(new, [{"k": 3, "c": "later"}], ["k", "c"])
    assert await get(new, 2) == (2, "yy", 22, "C")
    assert await get(new, 3) == (3, "z", 3, "later")
    assert await get(old, 3) == (3, "z", 3)
    scanner = await new.new_scan().with_fixed_schema(True).create_log_scanner()
    scanner.subscribe(0, EARLIEST)
    assert [(o, c, tuple(r.values())) for _, o, c, r in await read(scanner, 7)] == [
        (0, I, (1, "x", 1, None)), (1, I, (2, "y", 2, None)), (2, UB, (2, "y", 2, None)), (3, UA, (2, "yy", 22, "C")),
        (4, I, (3, "z", 3, None)), (5, UB, (3, "z", 3, None)), (6, UA, (3, "z", 3, "later"))]


async def test_a_table_made_again_is_empty(make, admin):
    table = await make("t", KAB, pk=["k"])
    await upsert(table, [[1, "x", 1]])
    await admin.drop_table(table.get_table_path())
    again = await make("t", KAB, pk=["k"])
    assert await get(again, 1) is None
    assert await end(admin, again) == 0
    assert await limit_rows(again, 0, 10) == []


async def test_a_reader_follows(make):
    table = await make("t", KAB, pk=["k"])
    scanner = await scanner_of(table)
    await upsert(table, [[1, "x", 1]])
    assert [(o, c) for _, o, c, _ in await read(scanner, 1)] == [(0, I)]
    await delete(table, [[5]])                       # an empty batch lies in the way
    await upsert(table, [[1, "y", 1]])
    assert [(o, c) for _, o, c, _ in await read(scanner, 2)] == [(2, UB), (3, UA)]


async def test_large_rows(make):
    table = await make("t", fields(k=pa.int32(), s=pa.string()), pk=["k"])
    big = "ü" * 700_000
    await upsert(table, [[1, big], [2, "small"], [1, big + "!"]])
    assert await get(table, 1) == (1, big + "!")
    assert [(o, c, len(r["s"])) for _, o, c, r in await read_all(table, 4)] == [
        (0, I, 700_000), (1, I, 5), (2, UB, 700_000), (3, UA, 700_001)]
