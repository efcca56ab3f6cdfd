"""kill -9 at any moment while primary-key tables are written: nothing acknowledged is lost, no write is done twice, the
rows are what the changelog adds up to, and writers go on where they were."""

import asyncio
import os
import random
import re
import time
from functools import lru_cache

import fluss
import pytest

import driver
import keyed
import kit
import rows
import wire as w

ROUNDS = int(os.environ.get("WEIR_KILL_ROUNDS", "55"))
LATEST_SNAPSHOTS = 1023

# Small files that are looked at often, so that sealing, compaction and checkpoints are among what is killed.
BUSY = '[log]\njournal_file_size = "1mb"\nmaintenance_interval = "100ms"\n'
KEYS_OF_PYTHON, PUTS_OF_PYTHON = 25, 10


class Variant:
    """What is killed. The keys of a bucket are shared by its writers; `filling` puts come first, of all of them."""

    def __init__(self, settings="", sums=False, wal=False, keys=60, row_size=10, filling=0):
        self.settings = BUSY + settings
        self.model = keyed.Model(sums, wal)
        self.keys, self.row_size, self.filling = keys, row_size, filling
        self.properties = {"table.log.arrow.compression.type": "ZSTD" if row_size > 100 else "NONE"}
        if wal:
            self.properties["table.changelog.image"] = "wal"
        if sums:
            self.properties["table.merge-engine"] = "aggregation"
        self.functions = {"a": "last_value", "b": "sum"} if sums else None

    def put(self, me: int, sequence: int) -> keyed.Put:
        """Of a native writer: any number of whole or partial writes and deletes."""
        chance = random.Random(me << 32 | sequence)
        text = f"{me}/{sequence}/".ljust(self.row_size, "x")
        if sequence < self.filling:
            step = -(-self.keys // self.filling)
            keys = range(sequence * step, min(self.keys, (sequence + 1) * step))
            return keyed.Put([(k, (k, f"{text}{k}", k)) for k in keys])
        columns = chance.choice([None, None, (0, 1), (0, 2)])
        records = []
        for i in range(chance.randrange(1, 8)):
            key, value = chance.randrange(self.keys), chance.randrange(-1000, 1000)
            values = (key, f"{text}{i}", value)
            row = tuple(v if not columns or n in columns else None for n, v in enumerate(values))
            records.append((key, None if chance.random() < 0.2 else row))
        return keyed.Put(records, columns)


VARIANTS = {
    "as it comes": Variant(),
    "small memory": Variant('[kv]\nmemory_max = "8mb"\n', keys=6_000, row_size=1_000, filling=60),
    "snapshots": Variant('[kv]\nsnapshot_interval = "200ms"\nsnapshots_kept = 1\n'),
    "sums": Variant(sums=True),
    "wal": Variant(wal=True),
}


class PythonWriter:
    """The unmodified client, with keys of its own in a table of two buckets."""

    def __init__(self, bootstrap, path, me, model):
        self.bootstrap, self.path, self.me, self.model = bootstrap, path, me, model
        self.acked = 0                          # puts
        self.is_ending = False

    def put(self, n: int) -> keyed.Put:
        columns = (None, (0, 1), None, (0, 2))[n % 4]
        first = self.me * 1000
        keys = [first + (n * PUTS_OF_PYTHON + i) % KEYS_OF_PYTHON for i in range(PUTS_OF_PYTHON)]
        def row(key):
            values = (key, f"Python {n}", n)
            return tuple(v if not columns or i in columns else None for i, v in enumerate(values))
        return keyed.Put([(k, None if n % 5 == 4 else row(k)) for k in keys], columns)

    async def run(self):
        connection = await kit.connect(self.bootstrap, writer_retries=2**31 - 1)
        table = await connection.get_table(self.path)
        writers = {columns: kit.PatientWriter(table, columns and [list(rows.COLUMNS)[i] for i in columns])
                   for columns in (None, (0, 1), (0, 2))}
        while not self.is_ending:
            put = self.put(self.acked)
            writer = writers[put.columns]
            handles = []
            for key, row in put.records:
                if row is None:
                    handles.append(await writer.delete([key]))
                    continue
                values = {n: v for i, (n, v) in enumerate(zip(rows.COLUMNS, row)) if not put.columns or i in put.columns}
                handles.append(await writer.upsert(values))
            await writer.flush()
            for handle in handles:
                await handle.wait()
            self.acked += 1
        await kit.close(connection)

    def changes_after(self, puts: int) -> dict[int, list]:
        """key -> changes, in order; each key is in one bucket."""
        state, told = {}, {}
        for n in range(puts):
            for kind, row in self.model.apply(state, self.put(n)):
                told.setdefault(row[0], []).append((kind, row))
        return told

    def check(self, told: dict[int, list], acked: int):
        """told: key -> changes that are there. All that was acknowledged before they were read, and of what was sent until
        now the beginning."""
        least, most = self.changes_after(acked), self.changes_after(self.acked + 1)
        for key in range(self.me * 1000, self.me * 1000 + KEYS_OF_PYTHON):
            mine = told.get(key, [])
            assert len(mine) >= len(least.get(key, [])), f"key {key}: {len(mine)} changes, {len(least[key])} acknowledged"
            assert mine == most.get(key, [])[:len(mine)], f"key {key}"


@pytest.fixture
def told_on_failure(workplace):
    """Its output is shown if the test fails."""
    yield
    for server in workplace.servers:
        print(server.log_tail())


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("told_on_failure")
@pytest.mark.parametrize("name", VARIANTS)
async def test_rows_survive_kills_under_load(workplace, name):
    seed = int(os.environ.get("WEIR_SEED", time.time()))
    print(f"WEIR_SEED={seed}")
    chance = random.Random(seed)
    variant = VARIANTS[name]
    server = workplace.server(settings=variant.settings).start()
    address = ("127.0.0.1", server.port)
    cluster = w.Cluster(server.bootstrap)
    made = {"disk": variant.properties, "os": {**variant.properties, "table.durability": "os"}, "python": variant.properties}
    ids = {t: cluster.new_table("fluss", t, rows.descriptor(p, variant.functions, buckets=2)) for t, p in made.items()}
    cluster.close()

    put = lru_cache(None)(variant.put)
    native = [keyed.Writer(address, ids[t], bucket, me, lambda sequence, me=me: put(me, sequence), pause=pause)
              for me, (t, bucket, pause) in enumerate(
                  [("disk", 0, 0.002), ("disk", 0, 0.005), ("disk", 1, 0.01), ("os", 0, 0.005), ("os", 1, 0.01)])]
    pythons = [PythonWriter(server.bootstrap, fluss.TablePath("fluss", "python"), me, variant.model) for me in (1, 2)]

    def put_of(writer_id, sequence):
        return next((put(d.me, sequence) for d in native if d.writer_id == writer_id), None)

    checkers = [keyed.Checker(ids[t], bucket, variant.model, put_of) for t in made for bucket in range(2)]

    def check():
        acked = {d: dict(list(d.acked.items())) for d in native}
        acked_python = {p: p.acked for p in pythons}
        wire = w.Wire(*address, timeout=60)
        told = {}
        for checker in checkers:
            replay = checker.check(wire, absent=[-1, 1 << 30])
            for driven in native:
                if (driven.table_id, driven.bucket) == (checker.table_id, checker.bucket):
                    checker.check_acked(replay, driven, acked[driven])
            assert not told.keys() & replay.told.keys(), "a key is in one bucket"
            told.update(replay.told)
        wire.close()
        for python in pythons:
            python.check(told, acked_python[python])

    for thread in native:
        thread.start()
    tasks = [asyncio.create_task(p.run()) for p in pythons]
    rounds = -(-ROUNDS // len(VARIANTS))
    for number in range(1, rounds + 1):
        await asyncio.sleep(chance.uniform(0.02, 0.5))
        for thread in native:
            thread.may_connect.clear()
        server.kill()
        if number % 4 == 0:
            server.start_and_kill(chance.uniform(0, 0.1))
        server.start()
        await asyncio.to_thread(check)
        for thread in native:
            thread.may_connect.set()
        for task in tasks:
            assert not task.done(), f"a client's writer gave up: {task.exception()!r}"
    for python in pythons:
        python.is_ending = True
    await asyncio.wait_for(asyncio.gather(*tasks), 60)
    for thread in native:
        await asyncio.to_thread(thread.finish)
    server.restart()
    await asyncio.to_thread(check)
    for thread in native:
        assert len(thread.acked) > 2 * rounds, f"writer {thread.me} wrote {len(thread.acked)} batches only"
    for python in pythons:
        assert python.acked > rounds, f"the client wrote {python.acked} times only"
    if "snapshot" in variant.settings:
        assert any((server.data_dir / "remote").rglob("snap-*/_METADATA")), "no kv snapshot was taken"
    if variant.filling:
        tables = (server.data_dir / "kv").rglob("*.sst")
        assert sum(f.stat().st_size for f in tables) > 100_000, "rows were not driven out of memory"
    assert server.stop() == 0
    assert replayed_by_start(server) == 0
    await asyncio.to_thread(check)


def replayed_by_start(server) -> int:
    """Starts it; the records that it took from changelogs again."""
    before = server.log.stat().st_size
    server.start()
    told = server.log.read_bytes()[before:].decode()
    return sum(int(n) for n in re.findall(r"replayed changelogs: .*records=(\d+)", told))


class Place:
    """A server with a table of one bucket, and what a plain dict has of it."""

    def __init__(self, workplace, settings="", **properties):
        self.server = workplace.server(settings=settings).start()
        cluster = w.Cluster(self.server.bootstrap)
        properties["table.log.arrow.compression.type"] = "NONE"
        self.table_id = cluster.new_table("fluss", "t", rows.descriptor(properties))
        cluster.close()
        self.model, self.state = keyed.Model(), {}

    def put(self, count, keys=range(100), size=0):
        """Single writes; each takes an offset or two."""
        cluster = w.Cluster(self.server.bootstrap)
        for n in range(count):
            key = keys[n % len(keys)]
            put = keyed.Put([(key, (key, f"write {n}".ljust(size, "x"), n))])
            assert cluster.put_kv(self.table_id, 0, put.encode())["error"] is None
            self.model.apply(self.state, put)
        end = cluster.list_offsets(self.table_id, [0], 1)[0][1]
        cluster.close()
        return end

    def check(self):
        wire = w.Wire("127.0.0.1", self.server.port)
        replay = keyed.Checker(self.table_id, 0, self.model).check(wire)
        wire.close()
        assert replay.state == self.state


def test_what_is_on_the_disk_is_not_replayed(workplace):
    """A scan writes all rows to the disk; so does a stop."""
    place = Place(workplace)
    end = place.put(300)
    place.server.kill()
    assert replayed_by_start(place.server) == end
    place.check()                                # it scans
    place.server.kill()
    assert replayed_by_start(place.server) == 0
    further = place.put(37) - end
    for _ in range(2):                           # nothing is written to the disk by a start
        place.server.kill()
        assert replayed_by_start(place.server) == further
    assert place.server.stop() == 0
    assert replayed_by_start(place.server) == 0
    place.check()


def test_snapshots_keep_replays_short(workplace):
    place = Place(workplace, '[kv]\nsnapshot_interval = "100ms"\n')
    end = place.put(1_000)
    wire = w.Wire("127.0.0.1", place.server.port)
    patience = time.monotonic() + 20
    while True:
        reply = w.decode(wire.call(LATEST_SNAPSHOTS, w.msg((1, w.table_path("fluss", "t")))))
        if w.one(w.decode(w.one(reply, 3)), 3) == end:
            break
        assert time.monotonic() < patience, "no kv snapshot of all rows was taken"
        time.sleep(0.02)
    wire.close()
    further = place.put(5) - end
    place.server.kill()
    assert replayed_by_start(place.server) <= further
    place.check()


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_rows_outlive_their_changelog(workplace, ending):
    """What is too old goes, but not before the rows and their kv snapshot are on the disk; what follows is replayed."""
    place = Place(workplace, BUSY + '[kv]\nsnapshot_interval = "100ms"\nsnapshots_kept = 1\n', **{"table.log.ttl": "500ms"})
    place.put(1_000, size=5_000)
    changing = range(100, 105)
    for _ in range(2):
        cluster = w.Cluster(place.server.bootstrap)
        patience = time.monotonic() + 30
        start = 0
        while start < 1_500:
            place.put(5, changing)               # so that there are newer snapshots
            assert time.monotonic() < patience, f"the changelog still begins at {start}"
            start = cluster.list_offsets(place.table_id, [0], 0)[0][1]
        cluster.close()
        getattr(place.server, ending)()
        place.server.start()
        wire = w.Wire("127.0.0.1", place.server.port)
        keys = list(range(110))
        assert keyed.lookup(wire, place.table_id, 0, keys) == {k: place.state.get(k) for k in keys}
        offset, scanned = keyed.scan(wire, place.table_id, 0)
        assert {r[0]: r for r in scanned} == {r[0]: r for r in keyed.first_rows(wire, place.table_id, 0, 1000)} == place.state
        assert keyed.count_of(wire, place.table_id, 0) == len(place.state)
        # The snapshot and the changelog behind it are the state, too.
        reply = w.decode(w.one(w.decode(wire.call(LATEST_SNAPSHOTS, w.msg((1, w.table_path("fluss", "t"))))), 3))
        behind = [b.base_offset for b in driver.read_log(wire, place.table_id, 0, w.one(reply, 3))[0]]
        assert not behind or behind[0] == w.one(reply, 3)
        wire.close()


def test_a_table_dropped_just_before_a_kill_leaves_no_rows_behind(workplace):
    place = Place(workplace, '[kv]\nsnapshot_interval = "100ms"\n')
    folders = [place.server.data_dir / "kv", place.server.data_dir / "remote/kv"]

    def left():
        return [p for folder in folders if folder.exists() for p in folder.iterdir()]

    for is_killed in (True, False):
        place.put(200)
        patience = time.monotonic() + 20
        while len(left()) < 2:
            assert time.monotonic() < patience, "no kv snapshot was taken"
            time.sleep(0.02)
        cluster = w.Cluster(place.server.bootstrap)
        cluster.coordinator.call(w.DROP_TABLE, w.msg((1, w.table_path("fluss", "t")), (2, False)))
        if is_killed:
            place.server.restart()
        patience = time.monotonic() + 20
        while left():
            assert time.monotonic() < patience, f"still there: {left()}"
            time.sleep(0.02)
        cluster = w.Cluster(place.server.bootstrap)
        place.table_id = cluster.new_table("fluss", "t", rows.descriptor({"table.log.arrow.compression.type": "NONE"}))
        place.state = {}
        cluster.close()
        place.put(10)
        place.check()


def test_a_stop_on_a_busy_server_keeps_all(workplace):
    """SIGTERM under load: the process ends by itself with status 0, and the next start replays nothing."""
    place = Place(workplace)
    address = ("127.0.0.1", place.server.port)
    variant = VARIANTS["as it comes"]
    writers = [keyed.Writer(address, place.table_id, 0, me, lambda sequence, me=me: variant.put(me, sequence), pause=0.001)
               for me in range(4)]
    checker = keyed.Checker(place.table_id, 0, keyed.Model(), lambda writer_id, sequence: next(
        variant.put(d.me, sequence) for d in writers if d.writer_id == writer_id))
    for writer in writers:
        writer.start()
    for _ in range(5):
        time.sleep(0.2)
        for writer in writers:
            writer.may_connect.clear()
        assert place.server.stop() == 0, place.server.log_tail()
        acked = {writer: dict(writer.acked) for writer in writers}
        assert replayed_by_start(place.server) == 0
        wire = w.Wire(*address)
        replay = checker.check(wire)
        wire.close()
        for writer in writers:
            checker.check_acked(replay, writer, acked[writer])
            writer.may_connect.set()
    for writer in writers:
        writer.finish()
        assert len(writer.acked) > 50
