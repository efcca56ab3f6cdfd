"""A full disk: appends are refused with a code that clients retry, reads go on, and writes go on once there is room."""

import re
import subprocess
import time
from pathlib import Path

import pytest

import batches
import driver
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
    # Something else fills the disk.
    ballast = seen / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            pass
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
    with (seen / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
    try:
        server.start()
    except AssertionError:
        assert re.search("full|No space", server.log_tail())
        (seen / "ballast").unlink()
        server.start()
    wire = w.Wire("127.0.0.1", server.port)
    assert driver.read_log(wire, table_id, 0)[1] == 10
    wire.close()
