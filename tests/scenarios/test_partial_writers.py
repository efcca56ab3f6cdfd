"""Two writers fill different columns of one row; a sum and a greatest value are kept over a stream; the first row wins; the
highest version wins. Each gives its documented answer, also after it was killed."""

import asyncio
import random

import fluss
import pytest

import wire as wire_protocol
from kit import I, PatientWriter, UA, UB, connect, fold, limit_rows, read_all, ready

INT, STRING, BIGINT = {"type": "INTEGER"}, {"type": "STRING"}, {"type": "BIGINT"}
KEYS, WRITES, WRITERS = 20, 400, 4


def descriptor(properties, *columns):
    """columns: (name, type, aggregate function or None)"""
    made = [{"name": "k", "data_type": INT, "id": 0}]
    for i, (name, data_type, function) in enumerate(columns):
        made.append({"name": name, "data_type": data_type, "id": i + 1,
                     **({"agg_function": {"type": function}} if function else {})})
    return {"version": 1, "partition_key": [], "bucket_key": [], "bucket_count": 2, "custom_properties": {},
            "properties": properties,
            "schema": {"version": 1, "primary_key": ["k"], "columns": made, "highest_field_id": len(columns)}}


TABLES = {
    "none": descriptor({}, ("a", STRING, None), ("b", BIGINT, None)),
    "partial-update": descriptor({"table.merge-engine": "partial-update"}, ("a", STRING, None), ("b", BIGINT, None)),
    "aggregation": descriptor({"table.merge-engine": "aggregation"},
                              ("sum", BIGINT, "sum"), ("max", INT, "max"), ("last", STRING, None)),
    "first_row": descriptor({"table.merge-engine": "first_row"}, ("a", STRING, None), ("b", BIGINT, None)),
    "versioned": descriptor({"table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "b"},
                            ("a", STRING, None), ("b", BIGINT, None)),
}


async def state_of(table):
    rows = [r for b in range(2) for r in await limit_rows(table, b, 10_000)]
    return {r["k"]: tuple(r.values())[1:] for r in rows}


async def changes_of(table, admin):
    """The whole changelog; batches without rows take offsets, so it ends where nothing more comes."""
    ends = await admin.list_offsets(table.get_table_path(), [0, 1], fluss.OffsetSpec.latest())
    scanner = await table.new_scan().create_log_scanner()
    scanner.subscribe_buckets({b: fluss.EARLIEST_OFFSET for b in range(2)})
    told, quiet = [], 0
    while quiet < 5:
        records = await scanner.poll(300)
        quiet = quiet + 1 if records.is_empty() else 0
        for bucket, part in records.items():
            told.extend((bucket.bucket_id, r.offset, r.change_type.short_string(), r.row) for r in part)
    assert all(o < ends[b] for b, o, _, _ in told)
    return told


class Place:
    """A server of its own with a table, which is killed while it is written and once more after that."""

    def __init__(self, server):
        self.server = server
        self.path = fluss.TablePath("fluss", "t")

    async def table(self):
        self.connection = await connect(self.server.bootstrap, writer_retries=2**31 - 1)
        table = await self.connection.get_table(self.path)
        await ready(self.connection.get_admin(), table)
        return table

    async def write(self, *writes):
        """All at once; each write is a coroutine function that takes a table. The server is killed meanwhile."""
        tasks = [asyncio.create_task(write(await self.table())) for write in writes]
        for _ in range(3):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(self.server.restart)
        await asyncio.gather(*tasks)

    async def check(self, expected):
        """Lookups of the state, and what its changes add up to; then again after a kill."""
        before = None
        for _ in range(2):
            table = await self.table()
            assert await state_of(table) == expected
            told = await changes_of(table, self.connection.get_admin())
            folded = fold([t for t in told], ["k"])
            assert {k: tuple(r.values())[1:] for (k,), r in folded.items()} == expected
            assert before in (None, sorted(told, key=lambda t: t[:2]))
            before = sorted(told, key=lambda t: t[:2])
            await asyncio.to_thread(self.server.restart)
        return before


@pytest.fixture
def place(workplace, request):
    server = workplace.server().start()
    cluster = wire_protocol.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", TABLES[request.param])
    cluster.close()
    return Place(server)


def uses(engine):
    return pytest.mark.parametrize("place", [engine], indirect=True)


async def flushed(writer, rows):
    for i, row in enumerate(rows):
        await writer.upsert(row)
        if i % 20 == 19:
            await writer.flush()
            await asyncio.sleep(0.01)
    await writer.flush()


@uses("none")
@pytest.mark.timeout(180)
async def test_two_writers_of_different_columns(place):
    async def write_a(table):
        writer = PatientWriter(table, ["k", "a"])
        await flushed(writer, [{"k": n % KEYS, "a": f"a{n}"} for n in range(WRITES)])

    async def write_b(table):
        writer = PatientWriter(table, ["k", "b"])
        await flushed(writer, [{"k": n % KEYS, "b": n} for n in range(WRITES)])

    await place.write(write_a, write_b)
    last = WRITES - KEYS
    told = await place.check({k: (f"a{last + k}", last + k) for k in range(KEYS)})
    assert [c for _, _, c, _ in told].count(I) == KEYS
    assert [c for _, _, c, _ in told].count(UA) == 2 * WRITES - KEYS, "every write once, and none twice"


@uses("partial-update")
@pytest.mark.timeout(180)
async def test_two_writers_of_whole_rows_with_gaps(place):
    async def write_a(table):
        await flushed(PatientWriter(table), [[n % KEYS, f"a{n}", None] for n in range(WRITES)])

    async def write_b(table):
        await flushed(PatientWriter(table), [[n % KEYS, None, n] for n in range(WRITES)])

    await place.write(write_a, write_b)
    last = WRITES - KEYS
    await place.check({k: (f"a{last + k}", last + k) for k in range(KEYS)})


@uses("aggregation")
@pytest.mark.timeout(180)
async def test_a_sum_and_the_greatest_value(place):
    streams = [[(n % KEYS, random.Random(me * 1000 + n).randrange(-1000, 1000)) for n in range(WRITES)]
               for me in range(WRITERS)]

    def writing(stream):
        async def write(table):
            await flushed(PatientWriter(table), [[k, v, v, None] for k, v in stream])

        return write

    await place.write(*(writing(s) for s in streams))
    values = {k: [v for s in streams for key, v in s if key == k] for k in range(KEYS)}
    await place.check({k: (sum(vs), max(vs), None) for k, vs in values.items()})


@uses("first_row")
@pytest.mark.timeout(180)
async def test_the_first_row_wins(place):
    async def write(table):
        await flushed(PatientWriter(table), [[n % KEYS, f"a{n}", n] for n in range(WRITES)])

    await place.write(write)
    told = await place.check({k: (f"a{k}", k) for k in range(KEYS)})
    assert [c for _, _, c, _ in told] == [I] * KEYS


@uses("versioned")
@pytest.mark.timeout(180)
async def test_the_highest_version_wins(place):
    def writing(me):
        async def write(table):
            versions = list(range(me, WRITES, WRITERS))
            random.Random(me).shuffle(versions)
            await flushed(PatientWriter(table), [[n % KEYS, f"a{n}", n] for n in versions])

        return write

    await place.write(*(writing(me) for me in range(WRITERS)))
    last = WRITES - KEYS
    told = await place.check({k: (f"a{last + k}", last + k) for k in range(KEYS)})
    for k in range(KEYS):
        mine = [r["b"] for _, _, c, r in told if r["k"] == k and c in (I, UA)]
        assert mine == sorted(mine), "versions only grow"
        assert [c for _, _, c, r in told if r["k"] == k].count(UB) == len(mine) - 1


@uses("first_row")
async def test_what_is_written_again_after_all_changes_nothing(place):
    """A replay of the whole stream by a writer that does not know that it was there before."""
    table = await place.table()
    for _ in range(2):
        await flushed(PatientWriter(table), [[n % KEYS, f"a{n}", n] for n in range(WRITES)])
    assert await state_of(table) == {k: (f"a{k}", k) for k in range(KEYS)}
    assert len(await read_all(table, KEYS, buckets=2)) == KEYS
