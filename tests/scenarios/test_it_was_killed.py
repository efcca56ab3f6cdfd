"""At any moment: kill -9, start again, and the answer is the same. Other scenarios have such tests of their own (those of
partial writers all of them); here readers and writers go on while the server dies again and again."""

import asyncio
import io
import time

import fluss
import pandas as pd
import pytest

import flights as nycflights13
import keyed
import rows
import wire as wire_protocol
from kit import D, I, PatientWriter, UA, UB, arrow_of, connect, fold, limit_rows, lookup_many, ready
from test_current_row import SCHEMA as CUSTOMERS
from test_one_state_ten_readers import FLIGHTS_A_REQUEST, JOBS, PLANES, Job, Planes

SETTINGS = '[log]\njournal_file_size = "1mb"\nmaintenance_interval = "200ms"\n'
FOR_EVER = {"writer_retries": 2**31 - 1}


class Place:
    """A server, and a table of one bucket in it that is used from many connections."""

    def __init__(self, workplace, settings=SETTINGS):
        self.server = workplace.server(settings=settings).start()
        self.path = fluss.TablePath("fluss", "t")

    async def make(self, schema, key):
        admin = (await connect(self.server.bootstrap)).get_admin()
        descriptor = fluss.TableDescriptor(fluss.Schema(schema, primary_keys=[key]), bucket_count=1)
        await admin.create_table(self.path, descriptor)
        table = await self.table()
        await ready(admin, table)
        return table

    async def table(self):
        return await (await connect(self.server.bootstrap, **FOR_EVER)).get_table(self.path)

    async def killed_until(self, done, kills: int):
        """Kills the server some times while something is done, and waits for that."""
        done = asyncio.ensure_future(done)
        for _ in range(kills):
            await asyncio.sleep(0.2)
            await asyncio.to_thread(self.server.restart)
        return await asyncio.wait_for(done, 120)

    async def end(self):
        admin = (await connect(self.server.bootstrap)).get_admin()
        return (await admin.list_offsets(self.path, [0], fluss.OffsetSpec.latest()))[0]


async def tail(table, seen: list, end: asyncio.Future):
    """Reads the changelog as it comes, until it was read up to `end`."""
    scanner = await table.new_scan().with_fixed_schema(True).create_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    while not end.done() or len(seen) < end.result():
        for _, records in (await scanner.poll(200)).items():
            for r in records:
                assert r.offset == len(seen), "each change once and in order"
                seen.append((0, r.offset, r.change_type.short_string(), r.row))


@pytest.mark.timeout(300)
async def test_flights_are_streamed_and_read_through_ten_kills(workplace):
    data = nycflights13.load().slice(0, 100_000)
    server = workplace.server(settings=SETTINGS).start()
    path = fluss.TablePath("fluss", "flights")
    connection = await connect(server.bootstrap, writer_retries=2**31 - 1)
    admin = connection.get_admin()
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(data.schema), bucket_count=1))
    table = await connection.get_table(path)
    await ready(admin, table)

    async def write():
        writer = table.new_append().create_writer()
        for batch in data.to_batches(max_chunksize=1_000):
            writer.write_arrow_batch(batch)
            await writer.flush()
            await asyncio.sleep(0.02)

    async def tail():
        """Two columns of all rows, each once, in order, over all kills."""
        mine = await (await connect(server.bootstrap)).get_table(path)
        scanner = await mine.new_scan().project_by_name(["dest", "arr_delay"]).create_record_batch_log_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        parts, seen = [], 0
        while seen < data.num_rows:
            for batch in await scanner.poll_record_batch(500):
                assert batch.base_offset == seen
                seen = batch.last_offset + 1
                parts.append(batch.batch.to_pandas())
        return pd.concat(parts, ignore_index=True)

    writing, reading = asyncio.create_task(write()), asyncio.create_task(tail())
    for _ in range(10):
        await asyncio.sleep(0.3)
        await asyncio.to_thread(server.restart)
    await asyncio.wait_for(writing, 120)
    told = await asyncio.wait_for(reading, 60)
    expected = data.to_pandas()
    pd.testing.assert_frame_equal(told, expected[["dest", "arr_delay"]])
    server.restart()
    again = await (await connect(server.bootstrap)).get_table(path)
    pd.testing.assert_frame_equal((await arrow_of(again)).to_pandas(), expected)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("settings", ["", '[kv]\nsnapshot_interval = "100ms"\n'], ids=["", "snapshots"])
async def test_customers_are_blocked_and_deleted_through_ten_kills(workplace, settings):
    place = Place(workplace, SETTINGS + settings)
    table = await place.make(CUSTOMERS, "customer_id")
    names = [f"customer-{i}" for i in range(150)]
    expected = []

    async def write():
        writer = PatientWriter(table)
        for i, name in enumerate(names):
            active, blocked = [name, f"Name {i}", "active"], [name, f"Name {i}", "blocked"]
            await writer.upsert(active)
            await writer.flush()
            await writer.upsert(blocked)
            await writer.flush()
            expected.extend([(I, active), (UB, active), (UA, blocked)])
            if i % 2:
                await writer.delete([name])
                await writer.flush()
                expected.append((D, blocked))
            await asyncio.sleep(0.01)

    end = asyncio.get_running_loop().create_future()
    readers = [[] for _ in range(3)]
    reading = [asyncio.create_task(tail(await place.table(), seen, end)) for seen in readers]
    await place.killed_until(write(), 10)
    end.set_result(len(expected))
    await asyncio.wait_for(asyncio.gather(*reading), 60)
    for seen in readers:
        assert [(c, list(r.values())) for _, _, c, r in seen] == expected
    for _ in range(2):
        again = await place.table()
        assert await place.end() == len(expected)
        assert [r and list(r.values()) for r in await lookup_many(again, [[n] for n in names])] == [
            None if i % 2 else [n, f"Name {i}", "blocked"] for i, n in enumerate(names)]
        assert sorted(r["customer_id"] for r in await limit_rows(again, 0, 1000)) == sorted(names[::2])
        cluster = wire_protocol.Cluster(place.server.bootstrap)
        assert cluster.row_counts(table.get_table_info().table_id, [0]) == {0: ("rows", len(names[::2]))}
        cluster.close()
        place.server.restart()


class PatientJob(Job):
    """Asks again when the server dies meanwhile."""

    wire = None

    def run(self):
        try:
            for tails, keys in self.requests:
                self.ask(tails, keys)
        except BaseException as e:
            self.failure = e

    def ask(self, tails, keys):
        patience = time.monotonic() + 60
        while True:
            before = self.enriched.copy()
            try:
                self.wire = self.wire or wire_protocol.Wire(*self.address, timeout=60)
                return self.enrich(self.wire, tails, keys)
            except OSError:
                assert time.monotonic() < patience, "the server did not come back"
                self.wire, self.enriched = None, before
                time.sleep(0.01)


@pytest.mark.timeout(300)
async def test_ten_jobs_share_one_table_through_ten_kills(workplace):
    frame = pd.read_csv(io.BytesIO(nycflights13.file("planes.csv")))
    planes = Planes([{"tailnum": r.tailnum, "model": r.model, "seats": int(r.seats)} for r in frame.itertuples()])
    flights = [t for t in nycflights13.load()["tailnum"].to_pylist() if t is not None]
    requests = [(part, [rows.key("s", t) for t in part]) for part in (
        flights[i:i + FLIGHTS_A_REQUEST] for i in range(0, 60_000, FLIGHTS_A_REQUEST))]
    place = Place(workplace)
    table = await place.make(PLANES, "tailnum")
    writer = PatientWriter(table)
    everywhere = range(len(planes.rows))
    await planes.write(writer, 1, everywhere)
    jobs = [PatientJob(("127.0.0.1", place.server.port), table.get_table_info().table_id, planes, requests)
            for _ in range(JOBS)]

    async def change():
        revision = 1
        while any(job.is_alive() for job in jobs):
            revision += 1
            for first in range(0, len(planes.rows), 100):
                await planes.write(writer, revision, everywhere[first:first + 100])
                await asyncio.sleep(0.005)

    for job in jobs:
        job.start()
    await place.killed_until(change(), 10)
    for job in jobs:
        if job.failure:
            raise job.failure
        assert job.enriched["known"] + job.enriched["unknown"] == 60_000
    assert len({tuple(sorted(job.enriched.items())) for job in jobs}) == 1
    found = await lookup_many(await place.table(), [[r[0]] for r in planes.rows])
    assert [tuple(r.values()) for r in found] == [(*r, planes.acked[i]) for i, r in enumerate(planes.rows)]


@pytest.mark.timeout(180)
async def test_columns_are_added_while_old_writers_go_on_through_ten_kills(workplace):
    """The old writers are not of this client, which gives up when it hears of a newer schema."""
    place = Place(workplace)
    cluster = wire_protocol.Cluster(place.server.bootstrap)
    table_id = cluster.new_table("fluss", "t", rows.descriptor())
    cluster.close()

    def old_put(me, n):
        """A whole row, or a text in a row whose other columns the new writers fill."""
        key = 100 * me + n // 2 % 10
        if n % 2:
            return keyed.Put([(1000 + key, (1000 + key, f"old {n}", None))], (0, 1))
        return keyed.Put([(key, (key, f"old {n}", n))])

    old = [keyed.Writer(("127.0.0.1", place.server.port), table_id, 0, me, lambda n, me=me: old_put(me, n), pause=0.005)
           for me in (1, 2)]
    shared = [1000 + 100 * me + i for me in (1, 2) for i in range(10)]
    for writer in old:
        writer.start()
    for i in range(3):
        await asyncio.sleep(0.2)
        await asyncio.to_thread(place.server.restart)
        cluster = wire_protocol.Cluster(place.server.bootstrap)
        cluster.add_column("fluss", "t", f"c{i}", {"type": "DOUBLE"})
        cluster.close()
        await asyncio.to_thread(place.server.restart)
        table = await place.table()
        assert table.get_table_info().schema_id == i + 2
        new = PatientWriter(table, ["k", f"c{i}"])
        for key in shared:
            await new.upsert({"k": key, f"c{i}": key / (i + 1)})
        await place.killed_until(new.flush(), 1)
    end = asyncio.get_running_loop().create_future()
    seen: list = []
    reading = asyncio.create_task(tail(table, seen, end))
    await asyncio.sleep(0.2)
    await asyncio.to_thread(place.server.restart)
    for writer in old:
        await asyncio.to_thread(writer.finish)
    end.set_result(await place.end())
    await asyncio.wait_for(reading, 60)

    nothing = {name: None for name in ("a", "b", "c0", "c1", "c2")}
    expected = {key: {"k": key, **nothing, **{f"c{i}": key / (i + 1) for i in range(3)}} for key in shared}
    for writer in old:
        assert len(writer.acked) > 50
        for n in sorted(writer.acked):
            (key, row), = old_put(writer.me, n).records
            expected.setdefault(key, {"k": key, **nothing}).update(a=row[1], b=row[2])
    assert {k: r for (k,), r in fold(seen, ["k"]).items()} == expected
    for _ in range(2):
        again = await place.table()
        assert dict(zip(expected, await lookup_many(again, [[k] for k in expected]))) == expected
        assert {r["k"]: r for r in await limit_rows(again, 0, 1000)} == expected
        place.server.restart()
