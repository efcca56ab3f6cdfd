"""Eight writers and four readers of one table at once, and then their history: whether there was an order of all writes in
which everything that anybody was told is true."""

import random
import threading
import time
from bisect import bisect_right
from typing import NamedTuple

import pytest

import driver
import keyed
import rows
import wire as w

WRITERS, READERS, BUCKETS = 8, 4, 2
OWN_KEYS, SHARED_KEYS = 6, 6                    # a writer has own keys, and all write the shared ones
PUTS, SETTINGS = 150, '[kv]\nmemory_max = "8mb"\nsnapshot_interval = "100ms"\n'


class Told(NamedTuple):
    """A lookup: what was asked for, the answer, and around it what the clock was and what was committed."""
    bucket: int
    begin: float
    rows: dict[int, keyed.Row | None]
    end: float
    high_watermark: int                         # after the answer


class Acked(NamedTuple):
    bucket: int
    put: keyed.Put
    end: float                                  # when the answer came
    offset: int                                 # where the writes end in the changelog


class Scanned(NamedTuple):
    bucket: int
    begin: float
    offset: int
    rows: list[keyed.Row]
    high_watermark: int


class Client(threading.Thread):
    def __init__(self, place, me):
        super().__init__(daemon=True)
        self.place, self.me = place, me
        self.chance = random.Random(me)
        self.history: list = []
        self.failure: BaseException | None = None

    def run(self):
        try:
            self.wire = w.Wire(*self.place.address, timeout=60)
            self.live()
            self.wire.close()
        except BaseException as e:
            self.failure = e

    def high_watermark(self, bucket):
        reply = w.decode(self.wire.call(w.LIST_OFFSETS, w.msg((1, -1), (2, 1), (3, self.place.table_id)) + w.packed(5, [bucket])))
        return w.one(w.decode(w.one(reply, 1)), 4)

    def lookup(self, bucket, keys):
        begin = time.monotonic()
        found = keyed.lookup(self.wire, self.place.table_id, bucket, keys)
        end = time.monotonic()
        self.history.append(Told(bucket, begin, found, end, self.high_watermark(bucket)))
        return found


class Writing(Client):
    def keys(self):
        """Own ones are negative."""
        own = [-1 - self.me * 100 - i for i in range(self.place.own_keys)]
        return own, list(range(self.place.shared_keys))

    def live(self):
        own, shared = self.keys()
        writer_id = driver.init_writer(self.wire)
        sequences = [0] * BUCKETS
        states: list[dict] = [{} for _ in range(BUCKETS)]        # of its own keys
        for n in range(self.place.puts):
            bucket = n % BUCKETS
            columns = self.chance.choice([None, None, (0, 2)])
            keys = self.chance.sample(own + shared, 3)
            put = keyed.Put([(k, self.row(k, n, columns) if self.chance.random() < 0.8 else None) for k in keys], columns)
            body = w.msg((1, -1), (2, self.place.table_id), (3, 10_000)) + (w.packed(4, columns) if columns else b"")
            records = put.encode(writer_id, sequences[bucket])
            self.place.puts_of[writer_id, bucket, sequences[bucket]] = put
            reply = self.wire.call(w.PUT_KV, body + w.msg((5, w.msg((2, bucket), (3, records)))))
            answer = w.decode(w.one(w.decode(reply), 1))
            assert 3 not in answer, w.one(answer, 4)
            self.history.append(Acked(bucket, put, time.monotonic(), w.one(answer, 5)))
            sequences[bucket] += 1
            keyed.Model().apply(states[bucket], keyed.Put([r for r in put.records if r[0] < 0], columns))
            if n % 5 < BUCKETS:                 # it reads what it wrote, where nobody else writes
                mine = {k: states[bucket].get(k) for k in own}
                assert {k: r for k, r in self.lookup(bucket, own + shared).items() if k < 0} == mine

    def row(self, key, n, columns):
        text = None if columns else f"{self.me}/{n}/".ljust(self.place.row_size, "x")
        return key, text, self.me << 32 | n


class Reading(Client):
    def live(self):
        keys = list(range(self.place.shared_keys))
        for writer in self.place.writers:
            keys += writer.keys()[0]
        while any(writer.is_alive() for writer in self.place.writers):
            bucket = self.chance.randrange(BUCKETS)
            if self.chance.random() < 0.9:
                self.lookup(bucket, self.chance.sample(keys, min(len(keys), 20)))
                continue
            begin = time.monotonic()
            offset, found = keyed.scan(self.wire, self.place.table_id, bucket, bytes_a_page=self.place.row_size * 10)
            self.history.append(Scanned(bucket, begin, offset, found, self.high_watermark(bucket)))


class Place:
    def __init__(self, workplace, settings, own_keys, shared_keys, row_size, puts):
        self.own_keys, self.shared_keys, self.row_size, self.puts = own_keys, shared_keys, row_size, puts
        self.server = workplace.server(settings=settings).start()
        self.address = ("127.0.0.1", self.server.port)
        cluster = w.Cluster(self.server.bootstrap)
        self.table_id = cluster.new_table("fluss", "t", rows.descriptor(buckets=BUCKETS))
        cluster.close()
        self.puts_of: dict[tuple[int, int, int], keyed.Put] = {}
        self.writers = [Writing(self, me) for me in range(WRITERS)]
        self.readers = [Reading(self, WRITERS + me) for me in range(READERS)]

    def run(self):
        clients = self.writers + self.readers
        for client in clients:
            client.start()
        for client in clients:
            client.join(120)
            if client.failure:
                raise client.failure
            assert not client.is_alive()
        return clients


class History:
    """Versions of a bucket's keys: after the batch that ends at an offset the key has a row. And all rows at the offsets
    at which they were scanned."""

    def __init__(self, place, bucket, scanned_at):
        self.versions: dict[int, list[tuple[int, keyed.Row | None]]] = {}
        self.ends = {0}
        self.states = {0: {}}
        wire = w.Wire(*place.address)
        checker = keyed.Checker(place.table_id, bucket, keyed.Model(),
                                lambda writer_id, sequence: place.puts_of[writer_id, bucket, sequence])
        replay = keyed.Replay(checker.model, checker.put_of)
        for batch in driver.read_log(wire, place.table_id, bucket)[0]:
            replay.take(batch, keyed.changes(batch))
            self.ends.add(replay.end)
            if replay.end in scanned_at:
                self.states[replay.end] = dict(replay.state)
            put = place.puts_of[batch.writer_id, bucket, batch.sequence]
            for key in {k for k, _ in put.records}:
                versions = self.versions.setdefault(key, [(0, None)])
                row = replay.state.get(key)
                if versions[-1][1] != row:
                    versions.append((replay.end, row))
        self.last = checker.check(wire)         # the state is the changelog's, however it is read
        assert self.last.state == replay.state
        wire.close()

    def place_of(self, key, row, offset) -> int | None:
        """The first version of the key at `offset` or after it that has this row."""
        versions = self.versions.get(key, [(0, None)])
        first = bisect_right(versions, offset, key=lambda v: v[0]) - 1
        return next((versions[i][0] for i in range(first, len(versions)) if versions[i][1] == row), None)


class Acknowledged:
    """Up to which offset writes of a bucket were acknowledged at a time."""

    def __init__(self, clients, bucket):
        acked = sorted((h.end, h.offset) for c in clients for h in c.history if isinstance(h, Acked) and h.bucket == bucket)
        self.times, self.offsets = [], []
        for at, offset in acked:
            self.times.append(at)
            self.offsets.append(max(offset, self.offsets[-1] if self.offsets else 0))

    def before(self, at: float) -> int:
        found = bisect_right(self.times, at) - 1
        return self.offsets[found] if found >= 0 else 0


@pytest.mark.timeout(180)
@pytest.mark.parametrize("how", [
    dict(settings="", own_keys=OWN_KEYS, shared_keys=SHARED_KEYS, row_size=10, puts=PUTS),
    dict(settings=SETTINGS, own_keys=50, shared_keys=1200, row_size=3500, puts=200)],
    ids=["few keys", "more than fits into memory"])
def test_there_is_one_order_of_all_that_was_told(workplace, how):
    place = Place(workplace, **how)
    clients = place.run()
    counts = {"lookups": 0, "scans": 0}
    for bucket in range(BUCKETS):
        scanned_at = {h.offset for c in clients for h in c.history if isinstance(h, Scanned) and h.bucket == bucket}
        history, acked = History(place, bucket, scanned_at), Acknowledged(clients, bucket)
        assert scanned_at <= history.ends, "a scan in the middle of a write"
        for client in clients:
            seen: dict[int, int] = {}           # key -> offset of the newest version that this client saw
            for told in client.history:
                if told.bucket != bucket:
                    continue
                if isinstance(told, Acked):
                    assert told.offset in history.ends
                    for key, _ in told.put.records:
                        seen[key] = max(seen.get(key, 0), told.offset)
                elif isinstance(told, Scanned):
                    counts["scans"] += 1
                    assert acked.before(told.begin) <= told.offset <= told.high_watermark
                    assert len(told.rows) == len({r[0] for r in told.rows})
                    assert {r[0]: r for r in told.rows} == history.states[told.offset], f"the scan at {told.offset}"
                else:
                    counts["lookups"] += 1
                    least = acked.before(told.begin)
                    for key, row in told.rows.items():
                        place_of = history.place_of(key, row, max(least, seen.get(key, 0)))
                        assert place_of is not None, (
                            f"{row} of key {key} was never written, or is older than what was seen or acknowledged: "
                            f"{least} {seen.get(key)} {[v for v in history.versions.get(key, []) if v[1] == row]}")
                        assert place_of <= told.high_watermark, f"{row} was seen before it was committed"
                        seen[key] = max(place_of, seen.get(key, 0))
    assert counts["lookups"] > WRITERS * 20 and counts["scans"] >= 10, counts
    assert place.server.stop() == 0
