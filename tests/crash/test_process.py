"""The server as a process: how it starts, what it refuses, how it ends."""

import json
import shutil
import socket
import subprocess
import time

import pytest

import driver
import server as servers
import wire as w


def run(*arguments, timeout=20):
    return subprocess.run([str(servers.BINARY), *arguments], capture_output=True, text=True, timeout=timeout)


def test_it_is_ready_in_well_under_a_second_and_says_where_it_listens(workplace):
    server = workplace.server().start()          # start() reads the line
    assert server.started_in < 1.0
    with socket.create_connection(("127.0.0.1", server.port), timeout=5):
        pass
    assert server.stop() == 0


def test_a_second_server_on_the_same_directory_is_refused(workplace):
    first = workplace.server().start()
    second = workplace.server()
    second.log = workplace.folder / "second.log"
    with pytest.raises(AssertionError, match="did not become ready"):
        second.start()
    assert str(first.data_dir) in second.log_tail()
    assert len(second.log_tail().strip().splitlines()) == 1, "one sentence"
    cluster = w.Cluster(first.bootstrap)         # the first does not mind
    cluster.close()
    assert first.stop() == 0
    second.start()
    assert second.stop() == 0


def test_a_directory_of_a_newer_version_is_refused_and_left_alone(workplace):
    server = workplace.server().start()
    assert server.stop() == 0
    root = server.data_dir / "root"
    told = json.loads(root.read_text())
    root.write_text(json.dumps({**told, "format": told["format"] + 1}))
    before = sorted((p, p.stat().st_mtime_ns) for p in server.data_dir.rglob("*") if p.is_file() and p.name != "LOCK")
    with pytest.raises(AssertionError, match="did not become ready"):
        server.start()
    assert "newer" in server.log_tail()
    assert before == sorted(
        (p, p.stat().st_mtime_ns) for p in server.data_dir.rglob("*") if p.is_file() and p.name != "LOCK")
    root.write_text(json.dumps(told))
    server.start()
    assert server.stop() == 0


def test_a_directory_of_something_else_is_refused(workplace):
    folder = workplace.folder / "data"
    folder.mkdir()
    (folder / "root").write_text("this is no data of Weir\n")
    server = workplace.server()
    with pytest.raises(AssertionError, match="did not become ready"):
        server.start()
    assert (folder / "root").read_text() == "this is no data of Weir\n"


def test_it_stops_within_seconds_while_clients_wait(workplace):
    server = workplace.server().start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor())
    table_id = cluster.table_info("fluss", "t")["table_id"]
    waiting = [w.Wire("127.0.0.1", server.port) for _ in range(20)]
    for wire in waiting:
        bucket = w.msg((2, 0), (3, 0), (4, 1000))
        wire.send(w.FETCH_LOG, w.msg((1, -1), (2, 1000), (3, w.msg((1, table_id), (2, False), (4, bucket))), (4, 60_000), (5, 1)))
    half = socket.create_connection(("127.0.0.1", server.port))
    half.sendall(b"\0\0\1")                      # a frame that never comes
    time.sleep(0.2)
    begin = time.monotonic()
    assert server.stop() == 0, server.log_tail()
    assert time.monotonic() - begin < 8
    for wire in waiting:
        wire.close()
    half.close()
    cluster.close()


def test_an_interrupt_stops_it_like_a_termination(workplace):
    server = workplace.server().start()
    server.process.send_signal(2)
    assert server.process.wait(10) == 0
    server.process.stdout.close()
    server.process = None


def test_version_and_help():
    version = run("--version")
    assert version.returncode == 0 and version.stdout.startswith("weir ")
    usage = run("serve", "--help")
    assert usage.returncode == 0
    for flag in ("--data-dir", "--listen-fluss", "--config", "--log-level"):
        assert flag in usage.stdout


@pytest.mark.parametrize("arguments", [
    ("serve",), ("serve", "--data-dir", "{dir}", "--listen-fluss", "nonsense"), ("serve", "--data-dir", "{dir}", "--no-such-flag"),
    ("serve", "--data-dir", "{dir}", "--config", "{dir}/missing.toml"), ("serve", "--data-dir", "{dir}", "--log-level", "loud"),
    ("serve", "--data-dir", "/proc/no/such/place"), ("dance",), ()], ids=" ".join)
def test_bad_arguments_end_it_with_a_sentence(tmp_path, arguments):
    told = run(*(a.replace("{dir}", str(tmp_path / "data")) for a in arguments))
    assert told.returncode not in (0, None) and told.returncode > 0, "no crash, no success"
    assert told.stderr.strip() or told.stdout.strip()


def test_bad_settings_are_all_told_at_once(workplace):
    server = workplace.server(settings='shard = 3\n[log]\njournal_file_size = "tiny"\n')
    with pytest.raises(AssertionError, match="did not become ready"):
        server.start()
    told = server.log_tail()
    assert "shard" in told and "log.journal_file_size" in told


def test_a_port_that_is_taken_is_told(workplace):
    first = workplace.server("one").start()
    second = workplace.server("two", port=first.port)
    with pytest.raises(AssertionError, match="did not become ready"):
        second.start()
    assert str(first.port) in second.log_tail()
    assert first.is_running()


def test_a_copied_directory_is_a_server_of_its_own(workplace):
    server = workplace.server("one").start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor())
    before = cluster.table_info("fluss", "t")
    cluster.close()
    assert server.stop() == 0
    shutil.copytree(server.data_dir, workplace.folder / "two")
    server.start()
    copy = workplace.server("two").start()
    cluster = w.Cluster(copy.bootstrap)
    assert cluster.table_info("fluss", "t") == before
    cluster.close()
