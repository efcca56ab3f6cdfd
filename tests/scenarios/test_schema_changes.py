"""A column is added while writers with the old schema go on: old rows show null, new rows the value."""

import asyncio

import fluss
import pyarrow as pa

import wire as wire_protocol
from kit import append, arrow_of, connect, eventually, fields, limit_rows, read_all, ready, scanner_of

OLD = fields(id=pa.int32(), name=pa.string())


async def read_new(table, count):
    """With the columns of the table as it is now."""
    scanner = await table.new_scan().with_fixed_schema(True).create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    told = []
    while len(told) < count:
        told.extend((r.offset, tuple(r.row.values())) for r in await scanner.poll(1000))
    return told


async def test_old_writers_go_on_while_a_column_is_added(make, connector, wire, db):
    old = await make("t", OLD)
    path = old.get_table_path()
    stop, written = asyncio.Event(), []

    async def write_old(me):
        table = await (await connector()).get_table(path)
        writer = table.new_append().create_writer()
        while not stop.is_set():
            number = len(written)
            written.append(number)
            handle = writer.append([number, f"old {me}"])
            await writer.flush()
            await handle.wait()
        await writer.flush()

    writers = [asyncio.create_task(write_old(me)) for me in range(3)]
    reader = await scanner_of(old)
    await asyncio.sleep(0.3)
    wire.add_column(db, "t", "score", {"type": "DOUBLE"})
    new = await (await connector()).get_table(path)
    await append(new, [[-1, "new", 0.5], [-2, "new", None]])
    before = len(written)

    async def further():
        return len(written) > before + 20

    await eventually(further)                                    # the old writers did go on
    stop.set()
    await asyncio.gather(*writers)
    count = len(written) + 2

    told = await read_new(new, count)
    assert [o for o, _ in told] == list(range(count))
    rows = [r for _, r in told]
    assert sorted(r[0] for r in rows if r[0] >= 0) == list(range(len(written)))
    assert {r for r in rows if r[0] < 0} == {(-1, "new", 0.5), (-2, "new", None)}
    assert all(r[2] is None for r in rows if r[0] >= 0)
    # The old reader keeps its two columns.
    seen = []
    while len(seen) < count:
        for _, records in (await reader.poll(1000)).items():
            seen.extend(tuple(r.row.values()) for r in records)
    assert seen == [r[:2] for r in rows]
    batches = await new.new_scan().with_fixed_schema(True).create_record_batch_log_scanner()
    batches.subscribe(0, fluss.EARLIEST_OFFSET)
    assert [tuple(r.values()) for r in (await batches.to_arrow()).to_pylist()] == rows
    assert [tuple(r.values()) for r in await limit_rows(new, 0, 5)] == rows[-5:]


async def test_projection_of_columns_that_all_rows_have(make, connector, wire, db):
    old = await make("t", OLD)
    await append(old, [[1, "a"]])
    for name in ("score", "more"):
        wire.add_column(db, "t", name, {"type": "DOUBLE"})
    new = await (await connector()).get_table(old.get_table_path())
    await append(new, [[2, "b", 2.5, 3.5]])
    await append(old, [[3, "c"]])
    told = await arrow_of(new, project=["name"])
    assert told.to_pydict() == {"name": ["a", "b", "c"]}


async def test_projection_of_a_column_that_older_rows_lack(make, connector, wire, db):
    """It is null for them; Apache Fluss answers with an error here."""
    old = await make("t", OLD)
    await append(old, [[1, "a"], [2, None]])
    wire.add_column(db, "t", "score", {"type": "DOUBLE"})
    wire.add_column(db, "t", "tags", {"type": "ARRAY", "element_type": {"type": "STRING"}})
    new = await (await connector()).get_table(old.get_table_path())
    await append(new, [[3, "c", 3.5, ["x", None]]])
    told = [r for _, _, _, r in await read_all(new, 3, project=["score", "id", "tags"])]
    assert told == [{"score": None, "id": 1, "tags": None}, {"score": None, "id": 2, "tags": None},
                    {"score": 3.5, "id": 3, "tags": ["x", None]}]
    assert (await arrow_of(new, project=["tags"])).to_pydict() == {"tags": [None, None, ["x", None]]}


async def test_schema_change_and_rows_survive_a_kill(workplace):
    server = workplace.server().start()
    connection = await connect(server.bootstrap)
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "t")
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(OLD), bucket_count=1))
    old = await connection.get_table(path)
    await ready(admin, old)
    await append(old, [[1, "a"]])
    cluster = wire_protocol.Cluster(server.bootstrap)
    cluster.add_column("fluss", "t", "score", {"type": "DOUBLE"})
    cluster.close()
    new = await (await connect(server.bootstrap)).get_table(path)
    await append(new, [[2, "b", 2.5]])
    server.restart()
    await append(old, [[3, "c"]])                                # the old client, over the kill
    again = await (await connect(server.bootstrap)).get_table(path)
    await append(again, [[4, "d", 4.5]])
    assert await read_new(again, 4) == [(0, (1, "a", None)), (1, (2, "b", 2.5)), (2, (3, "c", None)), (3, (4, "d", 4.5))]
    assert again.get_table_info().schema_id == 2
