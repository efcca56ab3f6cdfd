"""A full disk: appends are refused with a code that clients retry, reads go on, and writes go on once there is room."""

import re
import subprocess
import time
from pathlib import Path

import pytest

import batches
import driver
import keyed
import rows
import wire as w

RETRIABLE = {10, 26}


@pytest.fixture
def small_disk(workplace):
    """(folder as the server sees it, the same as we see it, a prefix for commands): a file system of 48 MB in a name space
    of its own, which needs no rights."""
    folder = workplace.folder / "disk"
    folder.mkdir()
    holder = subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
         f"mount -t tmpfs -o size=48m tmpfs {folder} && echo mounted && exec sleep 600"], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "mounted\n", "cannot mount a file system in a user name space"
    prefix = ("nsenter", "--target", str(holder.pid), "--user", "--mount", "--preserve-credentials")
    yield folder, Path(f"/proc/{holder.pid}/root{folder}"), prefix
    holder.kill()
    holder.wait()


def fill(seen) -> Path:
    """Something else fills the disk."""
    ballast = seen / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return ballast


def test_appends_are_refused_reads_go_on_and_room_heals(workplace, small_disk):
    folder, seen, prefix = small_disk
    server = workplace.server("disk/data", settings='[log]\njournal_file_size = "1mb"\nmaintenance_interval = "100ms"\n',
                              prefix=prefix)
    server.log = workplace.folder / "server.log"
    server.config = workplace.folder / "weir.toml"
    server.start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor())
    table_id = cluster.table_info("fluss", "t")["table_id"]
    writer_id = driver.init_writer(cluster.tablet)
    sequence = 0

    def append():
        records = batches.encode(driver.rows(1, sequence * 10, 10, "z" * 2000), writer_id, sequence)
        return cluster.produce(table_id, 0, records)

    for _ in range(20):
        assert append()["error"] is None
        sequence += 1
    ballast = fill(seen)
    refused = 0
    for _ in range(200):
        answer = append()
        if answer["error"] is None:
            sequence += 1
        else:
            assert answer["error"] in RETRIABLE
            refused += 1
            if refused == 20:
                break
    assert refused == 20, "the disk did not become full"
    told, end = driver.read_log(cluster.tablet, table_id, 0)
    assert end == sequence * 10
    assert [n for b in told for n in b.rows(driver.SCHEMA).column("n").to_pylist()] == list(range(end))
    assert cluster.table_info("fluss", "t")["table_id"] == table_id
    # A table cannot be made either, and the answer says so.
    with pytest.raises(w.WireError):
        for i in range(200):
            cluster.create_table_json("fluss", f"more{i}", driver.descriptor(64))

    ballast.unlink()
    patience = time.monotonic() + 10
    while append()["error"] is not None:
        assert time.monotonic() < patience, f"still refused 10 s after there was room\n{server.log_tail()}"
        time.sleep(0.1)
    sequence += 1
    for _ in range(20):
        assert append()["error"] is None
        sequence += 1
    cluster.close()
    server.restart()
    wire = w.Wire("127.0.0.1", server.port)
    told, end = driver.read_log(wire, table_id, 0)
    assert end == sequence * 10
    assert [n for b in told for n in b.rows(driver.SCHEMA).column("n").to_pylist()] == list(range(end))
    wire.close()
    assert server.stop() == 0


def test_a_start_on_a_full_disk_serves_reads_or_says_why_not(workplace, small_disk):
    folder, seen, prefix = small_disk
    server = workplace.server("disk/data", prefix=prefix)
    server.log = workplace.folder / "server.log"
    server.start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor())
    table_id = cluster.table_info("fluss", "t")["table_id"]
    for s in range(10):
        assert cluster.produce(table_id, 0, batches.encode(driver.rows(1, s, 1)))["error"] is None
    cluster.close()
    server.kill()
    fill(seen)
    try:
        server.start()
    except AssertionError:
        assert re.search("full|No space", server.log_tail())
        (seen / "ballast").unlink()
        server.start()
    wire = w.Wire("127.0.0.1", server.port)
    assert driver.read_log(wire, table_id, 0)[1] == 10
    wire.close()


class Rows:
    """A table of one bucket on a small disk, its one writer, and what a plain dict has of it."""

    def __init__(self, workplace, prefix, settings):
        self.server = workplace.server("disk/data", settings=settings, prefix=prefix)
        self.server.log = workplace.folder / "server.log"
        self.server.config = workplace.folder / "weir.toml"
        self.server.start()
        self.cluster = w.Cluster(self.server.bootstrap)
        self.table_id = self.cluster.new_table("fluss", "t", rows.descriptor({"table.log.arrow.compression.type": "ZSTD"}))
        self.writer_id = driver.init_writer(self.cluster.tablet)
        self.model, self.state, self.puts = keyed.Model(), {}, []

    def put(self, size=20_000, keys=50, timeout_ms=10_000):
        """The code with which a put of some rows is refused; none if it is done. A refused one comes again."""
        sequence = len(self.puts)
        first = sequence * 10 % keys
        put = keyed.Put([(k, (k, f"{sequence}/".ljust(size, "x"), sequence)) for k in range(first, first + 10)])
        records = put.encode(self.writer_id, sequence)
        error = self.cluster.put_kv(self.table_id, 0, records, timeout_ms=timeout_ms)["error"]
        if error is None:
            self.model.apply(self.state, put)
            self.puts.append(put)
        return error

    def fill_up(self, seen, refusals, **how):
        """Until puts are refused again and again. They change nothing, and rows are read as before."""
        ballast = fill(seen)
        refused = 0
        for _ in range(1_000):
            error = self.put(**how)
            refused += error is not None
            assert error is None or error in RETRIABLE
            if refused == refusals:
                break
        assert refused == refusals, "the disk did not become full"
        self.check_lookups()
        return ballast

    def check_lookups(self):
        found = keyed.lookup(self.cluster.tablet, self.table_id, 0, list(range(max(self.state) + 1)))
        assert found == {k: self.state.get(k) for k in found}

    def until_done(self, **how):
        patience = time.monotonic() + 15
        while self.put(**how) is not None:
            assert time.monotonic() < patience, f"still refused 15 s after there was room\n{self.server.log_tail()}"
            time.sleep(0.1)

    def check(self):
        checker = keyed.Checker(self.table_id, 0, self.model, lambda writer_id, sequence: self.puts[sequence])
        replay = checker.check(self.cluster.tablet)
        assert replay.state == self.state and len(replay.ends[self.writer_id]) == len(self.puts)

    def restart(self):
        self.cluster.close()
        self.server.restart()
        self.cluster = w.Cluster(self.server.bootstrap)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("settings", ["", '[kv]\nsnapshot_interval = "100ms"\n'], ids=["", "snapshots"])
def test_puts_are_refused_rows_stay_and_room_heals(workplace, small_disk, settings):
    _, seen, prefix = small_disk
    table = Rows(workplace, prefix, '[log]\njournal_file_size = "1mb"\nmaintenance_interval = "100ms"\n' + settings)
    for _ in range(20):
        assert table.put() is None
    for is_killed in (False, True):
        ballast = table.fill_up(seen, 20)
        if is_killed:
            table.cluster.close()
            table.server.kill()
            try:
                table.server.start()
            except AssertionError:
                assert re.search("full|No space", table.server.log_tail())
                ballast.unlink()
                table.server.start()
            table.cluster = w.Cluster(table.server.bootstrap)
            table.check_lookups()
        ballast.unlink(missing_ok=True)
        table.until_done()
        table.check()
    assert table.put() is None
    table.check()
    table.cluster.close()
    assert table.server.stop() == 0


@pytest.mark.timeout(180)
def test_puts_wait_for_rows_that_have_no_room_on_the_disk(workplace, small_disk):
    """The changelog is small, but the rows are not, and more of them than fit into memory."""
    _, seen, prefix = small_disk
    how = {"keys": 20_000, "size": 20_000, "timeout_ms": 300}
    table = Rows(workplace, prefix, '[kv]\nmemory_max = "8mb"\n')
    for _ in range(30):
        assert table.put(**{**how, "timeout_ms": 10_000}) is None
    ballast = table.fill_up(seen, 3, **how)
    ballast.unlink()
    table.until_done(**how)
    table.check()
    table.restart()
    table.check()
    assert table.put(**how) is None
    table.cluster.close()
    assert table.server.stop() == 0
