"""Many writers at once: nothing lost, nothing twice, offsets dense, the order of each writer kept."""

import asyncio

import fluss
import pyarrow as pa
import pytest

from kit import fields, read_all

WRITERS = 6


def by_bucket(told):
    out = {}
    for bucket, offset, change, row in told:
        out.setdefault(bucket, []).append((offset, change, row))
    return out


@pytest.mark.parametrize("buckets", [1, 3])
async def test_many_writers_append_to_a_log(make, connector, admin, buckets):
    table = await make("t", fields(writer=pa.int32(), n=pa.int32()), bucket_keys=["writer"], bucket_count=buckets)
    path = table.get_table_path()

    async def write(me):
        conn = await connector()
        writer = (await conn.get_table(path)).new_append().create_writer()
        for n in range(500):
            writer.append([me, n])
            if n % 50 == me:
                await writer.flush()
                await asyncio.sleep(0)
        await writer.flush()
        await conn.close()

    await asyncio.gather(*(write(w) for w in range(WRITERS)))
    told = await read_all(table, WRITERS * 500, buckets=buckets)
    ends = await admin.list_offsets(path, list(range(buckets)), fluss.OffsetSpec.latest())
    parts = by_bucket(told)
    for b in range(buckets):
        assert [o for o, _, _ in parts.get(b, [])] == list(range(ends[b]))
    for me in range(WRITERS):
        assert [r["n"] for _, _, _, r in told if r["writer"] == me] == list(range(500))


async def test_many_arrow_writers(make, connector, admin):
    table = await make("t", fields(writer=pa.int32(), n=pa.int32()), bucket_count=2)
    path = table.get_table_path()

    async def write(me):
        conn = await connector()
        writer = (await conn.get_table(path)).new_append().create_writer()
        for part in range(20):
            writer.write_arrow_batch(pa.record_batch({
                "writer": pa.array([me] * 100, pa.int32()),
                "n": pa.array(range(part * 100, part * 100 + 100), pa.int32())}))
            if part % 5 == 4:
                await writer.flush()
        await writer.flush()
        await conn.close()

    await asyncio.gather(*(write(w) for w in range(WRITERS)))
    told = await read_all(table, WRITERS * 2000, buckets=2)
    ends = await admin.list_offsets(path, [0, 1], fluss.OffsetSpec.latest())
    for b, part in by_bucket(told).items():
        assert [o for o, _, _ in part] == list(range(ends[b]))
        for me in range(WRITERS):
            mine = [r["n"] for _, _, r in part if r["writer"] == me]
            assert mine == sorted(mine)
    assert sorted((r["writer"], r["n"]) for _, _, _, r in told) == [(w, n) for w in range(WRITERS) for n in range(2000)]
