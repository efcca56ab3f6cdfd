"""A consumer reads to the end, goes back to an offset and to a time, and gets the same rows in the same order; a second
consumer is not disturbed."""

import asyncio

import fluss
import pyarrow as pa

from kit import append, connect, fields, read, read_all, ready, scanner_of

SCHEMA = fields(id=pa.int32(), text=pa.string())
PARTS = 5


async def records_of(table, count):
    scanner = await scanner_of(table)
    told = []
    while len(told) < count:
        told.extend((r.offset, r.timestamp, r.row) for r in await scanner.poll(1000))
    return told


async def write_parts(table):
    """Five parts of twenty rows, each at a later time."""
    for part in range(PARTS):
        await append(table, [[part * 20 + i, f"row {part * 20 + i}"] for i in range(20)])
        await asyncio.sleep(0.02)


async def check_rewinds(admin, table):
    everything = await records_of(table, 100)
    assert [(o, r) for o, _, r in everything] == [(i, {"id": i, "text": f"row {i}"}) for i in range(100)]
    scanner = await scanner_of(table)
    assert len(await read(scanner, 100)) == 100
    # Back to an offset, with the same scanner.
    scanner.subscribe(0, 37)
    assert [(o, r) for _, o, _, r in await read(scanner, 63)] == [(o, r) for o, _, r in everything[37:]]
    # Back to the time of the third part.
    third = everything[40][1]
    offset = (await admin.list_offsets(table.get_table_path(), [0], fluss.OffsetSpec.timestamp(third)))[0]
    assert offset == min(o for o, t, _ in everything if t >= third) == 40
    scanner.subscribe(0, offset)
    assert [(o, r) for _, o, _, r in await read(scanner, 60)] == [(o, r) for o, _, r in everything[40:]]
    assert await records_of(table, 100) == everything                 # times too


async def test_replay_and_rewind(make, admin):
    table = await make("t", SCHEMA)
    await write_parts(table)
    await check_rewinds(admin, table)


async def test_a_second_consumer_is_not_disturbed(make, connector):
    table = await make("t", SCHEMA)
    other = await (await connector()).get_table(table.get_table_path())
    steady, jumping = await scanner_of(table), await scanner_of(other)
    seen = []
    for part in range(10):
        await append(table, [[part * 10 + i, None] for i in range(10)])
        seen += [o for _, o, _, _ in await read(steady, 10, quiet=0)]
        jumping.subscribe(0, part * 5)
        assert [o for _, o, _, _ in await read(jumping, 10 + part * 5, quiet=0)] == list(range(part * 5, part * 10 + 10))
    assert seen == list(range(100))


async def test_replay_after_it_was_killed(workplace):
    server = workplace.server().start()
    connection = await connect(server.bootstrap)
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "t")
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(SCHEMA), bucket_count=1))
    table = await connection.get_table(path)
    await ready(admin, table)
    await write_parts(table)
    before = await records_of(table, 100)
    for _ in range(2):
        server.restart()
        # A client of its own, and the one that lived through it.
        fresh = await connect(server.bootstrap)
        again = await fresh.get_table(path)
        assert await records_of(again, 100) == before
        await check_rewinds(fresh.get_admin(), again)
        assert len(await read_all(table, 100)) == 100
