"""Kv snapshots that readers hold on to, which other servers took away from them, and what readers are told of them."""

import time
from pathlib import Path

import pytest

import rows
import wire as w
from driver import init_writer
from rows import descriptor, row

LATEST, METADATA, ACQUIRE, RELEASE = 1023, 1024, 1056, 1057
QUICK = '[kv]\nsnapshot_interval = "150ms"\nsnapshots_kept = 1\n'


class Table:
    def __init__(self, server):
        self.cluster = w.Cluster(server.bootstrap)
        self.table_id = self.cluster.new_table("fluss", "t", descriptor())
        self.writes = 0

    def put(self, count=10):
        for _ in range(count):
            self.writes += 1
            records = rows.batch([row(self.writes % 50, f"write {self.writes}", self.writes)])
            assert self.cluster.put_kv(self.table_id, 0, records)["error"] is None

    def latest(self):
        """(snapshot id, log offset), or nothing."""
        reply = w.decode(self.cluster.tablet.call(LATEST, w.msg((1, w.table_path("fluss", "t")))))
        entry = w.decode(w.one(reply, 3))
        assert (2 in entry) == (3 in entry)
        return (w.one(entry, 2), w.one(entry, 3)) if 2 in entry else None

    def newer_than(self, known):
        """Waits for a snapshot after more writes."""
        end = time.monotonic() + 15
        while self.latest() in (None, known):
            assert time.monotonic() < end, "no kv snapshot was taken"
            self.put(1)
            time.sleep(0.05)
        return self.latest()

    def metadata(self, snapshot):
        """(log offset, files), or the code of the error."""
        body = w.msg((1, self.table_id), (3, 0), (4, snapshot))
        try:
            reply = w.decode(self.cluster.tablet.call(METADATA, body))
        except w.WireError as e:
            return e.error_code
        files = [w.decode(f) for f in reply.get(2, [])]
        return w.one(reply, 1), {w.one(f, 2).decode(): w.one(f, 1).decode() for f in files}

    def lease(self, snapshot, duration_ms, name="reader"):
        """Buckets of snapshots that are not there any more."""
        bucket = w.msg((2, 0), (3, snapshot))
        body = w.msg((1, name), (2, duration_ms), (3, w.msg((1, self.table_id), (2, bucket))))
        return w.decode(self.cluster.coordinator.call(ACQUIRE, body)).get(1, [])

    def release(self, name="reader"):
        body = w.msg((1, name), (2, w.msg((1, self.table_id), (3, 0))))
        self.cluster.coordinator.call(RELEASE, body)

    def until_gone(self, snapshot, timeout=15.0):
        end = time.monotonic() + timeout
        while self.metadata(snapshot) != 41:
            assert time.monotonic() < end, "the snapshot stays"
            self.put(1)
            time.sleep(0.05)


@pytest.fixture
def table(workplace):
    made = Table(workplace.server(settings=QUICK).start())
    yield made
    made.cluster.close()


def test_a_snapshot_names_files_that_are_there(table):
    table.put()
    snapshot, offset = table.newer_than(None)
    told, files = table.metadata(snapshot)
    assert told == offset and 0 < offset <= 2 * table.writes
    assert "CURRENT" in files and any(name.startswith("MANIFEST-") for name in files)
    assert any(name.endswith(".sst") for name in files)
    for name, uri in files.items():
        assert uri.startswith("file:///") and Path(uri.removeprefix("file://")).stat().st_size > 0, name
    assert table.metadata(10**6) == 41


def test_snapshots_that_nobody_holds_go(table):
    first, _ = table.newer_than(None)
    table.until_gone(first)
    assert table.lease(first, 60_000), "it is told that it is not there"


def test_a_lease_keeps_a_snapshot_until_it_is_released(table):
    known = table.newer_than(None)
    assert table.lease(known[0], 60_000) == []
    told = table.metadata(known[0])
    newest = known
    for _ in range(4):
        newest = table.newer_than(newest)
    assert newest[1] > known[1] and table.metadata(known[0]) == told
    assert all(Path(uri.removeprefix("file://")).exists() for uri in told[1].values())
    table.release()
    table.until_gone(known[0])


def test_a_lease_ends_when_its_reader_died(table):
    known = table.newer_than(None)
    assert table.lease(known[0], 1_500) == []
    begin = time.monotonic()
    table.until_gone(known[0])
    assert time.monotonic() - begin > 1.2


def test_a_lease_and_its_snapshot_survive_a_kill(workplace):
    server = workplace.server(settings=QUICK).start()
    table = Table(server)
    known = table.newer_than(None)
    assert table.lease(known[0], 60_000) == []
    told = table.metadata(known[0])
    newest = table.newer_than(known)
    server.restart()
    table.cluster = w.Cluster(server.bootstrap)
    for _ in range(3):
        newest = table.newer_than(newest)
    assert table.metadata(known[0]) == told
    table.release()
    table.until_gone(known[0])
    table.cluster.close()


def test_a_writer_goes_on_while_snapshots_are_taken(table):
    """Its batches stay in order, and the state is what it wrote."""
    me = init_writer(table.cluster.tablet)
    end = time.monotonic() + 2
    sequence = 0
    while time.monotonic() < end:
        records = rows.batch([row(sequence % 20, f"n {sequence}", sequence)], me, sequence)
        assert table.cluster.put_kv(table.table_id, 0, records)["error"] is None
        sequence += 1
    assert table.latest() is not None
    found = rows.lookup(table.cluster.tablet, table.table_id, 0, [rows.key("i", k) for k in range(20)])
    last = {n % 20: n for n in range(sequence)}
    assert [rows.read_value("isl", v)[1] for v in found] == [(k, f"n {last[k]}", last[k]) for k in range(20)]
