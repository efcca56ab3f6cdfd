"""A table of customers: the current row by key, and every change that led to it, each seen once by every reader."""

import asyncio

import fluss
import pyarrow as pa

from kit import D, I, UA, UB, connect, delete, fields, fold, limit_rows, read, ready, scanner_of, upsert

SCHEMA = fields(customer_id=pa.string(), name=pa.string(), status=pa.string())
ALICE, BOB = "customer-123", "customer-456"
CHANGES = [(0, I, (ALICE, "Alice", "active")), (1, I, (BOB, "Bob", "active")), (2, UB, (ALICE, "Alice", "active")),
           (3, UA, (ALICE, "Alice", "blocked")), (4, D, (BOB, "Bob", "active"))]


async def lookup(table, customer):
    row = await table.new_lookup().create_lookuper().lookup([customer])
    return None if row is None else tuple(row.values())


async def rows_of(table):
    return sorted(tuple(r.values()) for r in await limit_rows(table, 0, 100))


async def told_to(scanner, count):
    return [(o, c, tuple(r.values())) for _, o, c, r in await read(scanner, count)]


async def block_alice(table):
    await upsert(table, [[ALICE, "Alice", "active"], [BOB, "Bob", "active"], [ALICE, "Alice", "blocked"]])


async def check_end(table):
    assert await lookup(table, ALICE) == (ALICE, "Alice", "blocked")
    assert await lookup(table, BOB) is None
    assert await rows_of(table) == [(ALICE, "Alice", "blocked")]


async def test_the_current_row(make, wire):
    table = await make("customers", SCHEMA, pk=["customer_id"])
    await block_alice(table)
    assert await lookup(table, ALICE) == (ALICE, "Alice", "blocked")
    assert await rows_of(table) == [(ALICE, "Alice", "blocked"), (BOB, "Bob", "active")]
    table_id = table.get_table_info().table_id
    assert wire.row_counts(table_id, [0]) == {0: ("rows", 2)}
    await delete(table, [[BOB]])
    await check_end(table)
    assert wire.row_counts(table_id, [0]) == {0: ("rows", 1)}


async def test_every_change_is_seen_once_by_readers_that_start_at_different_times(make, connector):
    table = await make("customers", SCHEMA, pk=["customer_id"])

    async def reader():
        return await scanner_of(await (await connector()).get_table(table.get_table_path()))

    first = await reader()
    seen = []
    await upsert(table, [[ALICE, "Alice", "active"], [BOB, "Bob", "active"]])
    seen += await told_to(first, 2)
    second = await reader()
    await upsert(table, [[ALICE, "Alice", "blocked"]])
    await delete(table, [[BOB]])
    seen += await told_to(first, 3)
    assert seen == CHANGES
    assert await told_to(second, 5) == CHANGES
    assert await told_to(await reader(), 5) == CHANGES


async def test_it_was_killed_after_every_change(workplace):
    server = workplace.server().start()
    connection = await connect(server.bootstrap)
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "customers")
    await admin.create_table(path, fluss.TableDescriptor(
        fluss.Schema(SCHEMA, primary_keys=["customer_id"]), bucket_count=1))
    table = await connection.get_table(path)
    await ready(admin, table)
    scanner = await scanner_of(table)
    seen = []
    for write, count in [(lambda: upsert(table, [[ALICE, "Alice", "active"]]), 1),
                         (lambda: upsert(table, [[BOB, "Bob", "active"]]), 1),
                         (lambda: upsert(table, [[ALICE, "Alice", "blocked"]]), 2),
                         (lambda: delete(table, [[BOB]]), 1)]:
        await write()
        await asyncio.to_thread(server.restart)
        seen += await told_to(scanner, count)
        again = await (await connect(server.bootstrap)).get_table(path)
        state = fold([(0, o, c, dict(zip(SCHEMA.names, r))) for o, c, r in seen], ["customer_id"])
        assert await rows_of(again) == sorted(tuple(r.values()) for r in state.values())
    assert seen == CHANGES
    await check_end(again)
