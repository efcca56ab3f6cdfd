"""What other servers forgot, or stumbled over, when they were started again."""

import time

import pytest

import batches
import driver
import wire as w

QUICK = '[log]\njournal_file_size = "1mb"\nmaintenance_interval = "100ms"\n'


def batch(first, count, writer_id, sequence, pad="x"):
    return batches.encode(driver.rows(1, first, count, pad), writer_id, sequence)


def size_of(folder) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("ending", ["kill", "stop"])
@pytest.mark.parametrize("settings", ["", QUICK], ids=["defaults", "small files"])
def test_a_writers_order_is_known_again(workplace, ending, settings):
    server = workplace.server(settings=settings).start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor(4))
    table_id = cluster.table_info("fluss", "t")["table_id"]
    writers = [driver.init_writer(cluster.tablet) for _ in range(3)]
    for s in range(40):
        for me in writers:
            assert cluster.produce(table_id, 2, batch(s, 1, me, s, "y" * 20_000))["error"] is None
    for restart in range(3):
        getattr(server, ending)()
        server.start()
        cluster = w.Cluster(server.bootstrap)
        end = 120 + 3 * restart
        assert cluster.list_offsets(table_id, [2], 1) == {2: ("offset", end)}
        for i, me in enumerate(writers):
            last = 39 + restart
            assert cluster.produce(table_id, 2, batch(0, 1, me, last + 2))["error"] == 31
            repeated = cluster.produce(table_id, 2, batch(0, 1, me, last))
            assert repeated["error"] is None and repeated["base_offset"] < end
            assert cluster.produce(table_id, 2, batch(last + 1, 1, me, last + 1))["base_offset"] == end + i
        newer = driver.init_writer(cluster.tablet)
        assert newer not in writers, "writer ids are never given twice"
        cluster.close()


def test_a_forgotten_writer_does_not_stop_the_next_start(workplace):
    """Its batches stay in the log, and their sequences begin anew in the middle of it."""
    server = workplace.server(settings=QUICK + 'writer_idle_max = "300ms"\n').start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor())
    table_id = cluster.table_info("fluss", "t")["table_id"]
    me = driver.init_writer(cluster.tablet)
    for s in range(5):
        assert cluster.produce(table_id, 0, batch(s, 1, me, s))["error"] is None
    patience = time.monotonic() + 20
    while True:                                                  # until sequence 0 is a new beginning
        time.sleep(0.5)
        answer = cluster.produce(table_id, 0, batch(5, 1, me, 0))
        if answer["error"] is None and answer["base_offset"] == 5:
            break
        assert time.monotonic() < patience, f"the writer was not forgotten: {answer}"
    cluster.close()
    for _ in range(2):
        server.restart()
        cluster = w.Cluster(server.bootstrap)
        told, end = driver.read_log(cluster.tablet, table_id, 0)
        assert [b.sequence for b in told] == [0, 1, 2, 3, 4, 0] and end == 6
        cluster.close()


def test_a_table_dropped_just_before_a_kill_leaves_nothing_behind(workplace):
    server = workplace.server(settings=QUICK).start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "stays", driver.descriptor())
    stays = cluster.table_info("fluss", "stays")["table_id"]
    assert cluster.produce(stays, 0, batches.encode(driver.rows(1, 0, 1)))["error"] is None
    for round_ in range(3):
        cluster.create_table_json("fluss", "goes", driver.descriptor(8))
        goes = cluster.table_info("fluss", "goes")["table_id"]
        for s in range(60):
            assert cluster.produce(goes, s % 8, batches.encode(driver.rows(1, 0, 10, "z" * 10_000)))["error"] is None
        assert size_of(server.data_dir) > 5_000_000
        cluster.coordinator.call(1006, w.msg((1, w.table_path("fluss", "goes")), (2, False)))
        server.restart()
        cluster = w.Cluster(server.bootstrap)
        assert cluster.list_offsets(goes, [0], 1) == {0: ("error", 21)}
        assert cluster.list_offsets(stays, [0], 1) == {0: ("offset", 1)}
    patience = time.monotonic() + 20
    while size_of(server.data_dir) > 2_500_000:
        assert time.monotonic() < patience, f"{size_of(server.data_dir):,} bytes are still there"
        time.sleep(0.2)
        cluster.produce(stays, 0, batches.encode(driver.rows(1, 0, 1)))
    cluster.close()


def test_old_rows_go_when_their_time_is_over_and_the_disk_is_freed(workplace):
    server = workplace.server(settings=QUICK).start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor(**{"table.log.ttl": "1s"}))
    table_id = cluster.table_info("fluss", "t")["table_id"]
    for s in range(60):
        assert cluster.produce(table_id, 0, batches.encode(driver.rows(1, s * 10, 10, "z" * 10_000)))["error"] is None
    patience = time.monotonic() + 20
    while cluster.list_offsets(table_id, [0], 0)[0][1] < 500 or size_of(server.data_dir) > 3_000_000:
        assert time.monotonic() < patience, (cluster.list_offsets(table_id, [0], 0), size_of(server.data_dir))
        time.sleep(0.2)
    start = cluster.list_offsets(table_id, [0], 0)[0][1]
    assert cluster.fetch(table_id, 0, 0)["error"] == 19          # gone is an error, not a silent jump
    assert cluster.list_offsets(table_id, [0], 1) == {0: ("offset", 600)}
    assert cluster.produce(table_id, 0, batches.encode(driver.rows(1, 600, 1)))["base_offset"] == 600
    cluster.close()
    server.restart()
    cluster = w.Cluster(server.bootstrap)
    assert start <= cluster.list_offsets(table_id, [0], 0)[0][1] <= 601
    assert cluster.list_offsets(table_id, [0], 1) == {0: ("offset", 601)}
    assert cluster.produce(table_id, 0, batches.encode(driver.rows(1, 601, 1)))["base_offset"] == 601
    cluster.close()


def test_a_log_keeps_to_its_size(workplace):
    server = workplace.server(settings=QUICK).start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor(**{"table.log.max-bytes": "2mb"}))
    table_id = cluster.table_info("fluss", "t")["table_id"]
    for s in range(120):
        assert cluster.produce(table_id, 0, batches.encode(driver.rows(1, s * 10, 10, "z" * 10_000)))["error"] is None
    patience = time.monotonic() + 20
    while size_of(server.data_dir) > 5_000_000:
        assert time.monotonic() < patience, f"{size_of(server.data_dir):,} bytes"
        time.sleep(0.2)
    start = cluster.list_offsets(table_id, [0], 0)[0][1]
    assert 0 < start < 1200
    told, end = driver.read_log(cluster.tablet, table_id, 0, start)
    assert end == 1200 and sum(len(b.data) for b in told) > 1_000_000
    cluster.close()
