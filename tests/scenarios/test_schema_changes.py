"""A column is added while writers with the old schema go on: old rows show null, new rows the value."""

import asyncio

import fluss
import pyarrow as pa

import wire as wire_protocol
from kit import (D, I, UA, UB, append, arrow_of, connect, delete, eventually, fields, fold, limit_rows, lookup_many, read,
                 read_all, ready, scanner_of, upsert)

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


# --- primary-key tables ----------------------------------------------------------------------------------------------

async def test_old_writers_go_on_over_a_new_column_of_a_keyed_table(make, connector, wire, db):
    """Whole rows of an old writer have null in the column that it does not know, and its partial writes leave it."""
    old = await make("t", OLD, pk=["id"])
    path = old.get_table_path()
    await upsert(old, [[1, "a"], [2, "b"], [3, "c"]])
    stop, writes = asyncio.Event(), 0

    async def write_old(me):
        """Whole rows of one key, partial writes of another."""
        nonlocal writes
        table = await (await connector()).get_table(path)
        whole = table.new_upsert().create_writer()
        partial = table.new_upsert().partial_update_by_name(["id", "name"]).create_writer()
        while not stop.is_set():
            whole.upsert([100 + me, f"whole {writes}"])
            await whole.flush()                                  # the client puts them into one batch otherwise, and fails
            partial.upsert({"id": 200 + me, "name": f"partial {writes}"})
            await partial.flush()
            writes += 1

    writers = [asyncio.create_task(write_old(me)) for me in range(3)]
    await asyncio.sleep(0.3)
    wire.add_column(db, "t", "score", {"type": "DOUBLE"})
    new = await (await connector()).get_table(path)
    await upsert(new, [[2, "b", 2.5], [-1, "new", 0.5]])
    scores = new.new_upsert().partial_update_by_name(["id", "score"]).create_writer()
    for me in range(3):
        scores.upsert({"id": 200 + me, "score": float(me)})
    await scores.flush()
    await upsert(old, [[3, "cc"]])
    before = writes

    async def further():
        return writes > before + 20

    await eventually(further)                                    # the old writers did go on
    stop.set()
    await asyncio.gather(*writers)

    keys = [1, 2, 3, -1, *(100 + me for me in range(3)), *(200 + me for me in range(3))]
    found = {r["id"]: r for r in await lookup_many(new, [[k] for k in keys])}
    assert [found[k]["score"] for k in keys] == [None, 2.5, None, 0.5, None, None, None, 0.0, 1.0, 2.0]
    assert found[1]["name"] == "a" and found[3]["name"] == "cc"
    assert await lookup_many(old, [[k] for k in keys]) == [{"id": k, "name": found[k]["name"]} for k in keys]
    assert {r["id"]: r for r in await limit_rows(new, 0, 100)} == found
    # The changelog, read with three columns, adds up to the same.
    ends = await (await connector()).get_admin().list_offsets(path, [0], fluss.OffsetSpec.latest())
    scanner = await new.new_scan().with_fixed_schema(True).create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    told = []
    while not told or told[-1][1] < ends[0] - 1:
        for _, records in (await scanner.poll(1000)).items():
            told.extend((0, r.offset, r.change_type.short_string(), r.row) for r in records)
    assert {k: r for (k,), r in fold(told, ["id"]).items()} == found


async def test_rows_of_a_keyed_table_over_two_new_columns_and_a_kill(workplace):
    server = workplace.server().start()
    connection = await connect(server.bootstrap)
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "t")
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(OLD, primary_keys=["id"]), bucket_count=1))
    old = await connection.get_table(path)
    await ready(admin, old)
    await upsert(old, [[1, "a"], [2, "b"], [3, "c"]])
    cluster = wire_protocol.Cluster(server.bootstrap)
    for name in ("score", "more"):
        cluster.add_column("fluss", "t", name, {"type": "DOUBLE"})
    cluster.close()
    server.restart()
    new = await (await connect(server.bootstrap)).get_table(path)
    await upsert(new, [{"id": 2, "more": 2.5}], ["id", "more"])
    await upsert(old, [[3, "cc"]])
    await delete(new, [[1]])
    server.restart()
    again = await (await connect(server.bootstrap)).get_table(path)
    assert await lookup_many(again, [[1], [2], [3]]) == [
        None, {"id": 2, "name": "b", "score": None, "more": 2.5}, {"id": 3, "name": "cc", "score": None, "more": None}]
    scanner = await again.new_scan().with_fixed_schema(True).create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    assert [(o, c, tuple(r.values())) for _, o, c, r in await read(scanner, 8)] == [
        (0, I, (1, "a", None, None)), (1, I, (2, "b", None, None)), (2, I, (3, "c", None, None)),
        (3, UB, (2, "b", None, None)), (4, UA, (2, "b", None, 2.5)), (5, UB, (3, "c", None, None)),
        (6, UA, (3, "cc", None, None)), (7, D, (1, "a", None, None))]
