"""Ten jobs enrich the flights of 2013 with one table of planes by lookup, while planes change. None keeps a copy. Each
enriched row has a value that the table had at some moment between its request and its answer, and the server needs no more
memory for ten jobs than for one."""

import asyncio
import io
import threading
import time
from collections import Counter

import fluss
import pandas as pd
import pyarrow as pa
import pytest

import flights as nycflights13
import rows
import wire as w
from kit import PatientWriter, connect, ready

PLANES = pa.schema([("tailnum", pa.string()), ("model", pa.string()), ("seats", pa.int32()), ("revision", pa.int32())])
KINDS = "ssii"
JOBS, FLIGHTS_A_REQUEST = 10, 2_000


class Planes:
    """What was written, seen from outside: the newest revision of each plane that is surely in the table, and the newest
    that may be."""

    def __init__(self, planes):
        self.known = {p["tailnum"]: i for i, p in enumerate(planes)}
        self.rows = [(p["tailnum"], p["model"], p["seats"]) for p in planes]
        self.acked = [0] * len(planes)
        self.sent = [0] * len(planes)

    async def write(self, writer, revision, places):
        for i in places:
            self.sent[i] = revision
            await writer.upsert([*self.rows[i], revision])
        await writer.flush()
        for i in places:
            self.acked[i] = revision


class Job(threading.Thread):
    """Asks for the planes of all flights, many at a time, and keeps nothing."""

    def __init__(self, address, table_id, planes, requests):
        super().__init__(daemon=True)
        self.address, self.table_id, self.planes, self.requests = address, table_id, planes, requests
        self.enriched = Counter()
        self.failure = None

    def run(self):
        try:
            wire = w.Wire(*self.address, timeout=60)
            for tails, keys in self.requests:
                self.enrich(wire, tails, keys)
            wire.close()
        except BaseException as e:
            self.failure = e

    def enrich(self, wire, tails, keys):
        least = self.planes.acked.copy()
        values = rows.lookup(wire, self.table_id, 0, keys)
        most = self.planes.sent.copy()
        assert len(values) == len(tails)
        for tail, value in zip(tails, values):
            place = self.planes.known.get(tail)
            if place is None:
                assert value is None
                self.enriched["unknown"] += 1
                continue
            schema, (told_tail, model, seats, revision) = rows.read_value(KINDS, value)
            assert (schema, told_tail, model, seats) == (1, *self.planes.rows[place])
            assert least[place] <= revision <= most[place], (
                f"{tail}: revision {revision}, but the table had {least[place]} to {most[place]} meanwhile")
            self.enriched["known"] += 1


def memory_of(server) -> int:
    """Resident bytes of its own; files that are mapped are not among them."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return sum(int(line.split()[1]) for line in status if line.startswith(("RssAnon", "RssShmem"))) << 10


@pytest.mark.timeout(600)
async def test_ten_jobs_share_one_table(workplace):
    frame = pd.read_csv(io.BytesIO(nycflights13.file("planes.csv")))
    planes = Planes([{"tailnum": r.tailnum, "model": r.model, "seats": int(r.seats)} for r in frame.itertuples()])
    flights = [t for t in nycflights13.load()["tailnum"].to_pylist() if t is not None]
    requests = [(part, [rows.key("s", t) for t in part]) for part in (
        flights[i:i + FLIGHTS_A_REQUEST] for i in range(0, len(flights), FLIGHTS_A_REQUEST))]

    server = workplace.server().start()
    connection = await connect(server.bootstrap)
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "planes")
    await admin.create_table(path, fluss.TableDescriptor(
        fluss.Schema(PLANES, primary_keys=["tailnum"]), bucket_count=1))
    table = await connection.get_table(path)
    await ready(admin, table)
    writer = PatientWriter(table)
    everywhere = range(len(planes.rows))
    await planes.write(writer, 1, everywhere)
    stop = asyncio.Event()
    revisions = 1

    async def change():
        nonlocal revisions
        while not stop.is_set():
            revisions += 1
            for first in range(0, len(planes.rows), 100):
                await planes.write(writer, revisions, everywhere[first:first + 100])
                await asyncio.sleep(0.005)

    changing = asyncio.create_task(change())
    table_id = table.get_table_info().table_id

    async def run(jobs):
        begin = time.monotonic()
        started = [Job(("127.0.0.1", server.port), table_id, planes, requests) for _ in range(jobs)]
        for job in started:
            job.start()
        most = 0
        while any(job.is_alive() for job in started):
            await asyncio.sleep(0.05)
            most = max(most, memory_of(server))
        for job in started:
            if job.failure:
                raise job.failure
            assert job.enriched["known"] + job.enriched["unknown"] == len(flights)
        assert len({tuple(sorted(job.enriched.items())) for job in started}) == 1
        print(f"{jobs} jobs: {time.monotonic() - begin:.1f} s, {most >> 20} MiB, {revisions} revisions")
        return most

    one = await run(1)
    ten = await run(JOBS)
    stop.set()
    await changing
    assert ten - one < 16 << 20, f"{one >> 20} MiB with one job, {ten >> 20} MiB with ten"
    lookuper = table.new_lookup().create_lookuper()
    for i in (0, 1000, 3321):
        found = await lookuper.lookup([planes.rows[i][0]])
        assert tuple(found.values()) == (*planes.rows[i], planes.acked[i])
