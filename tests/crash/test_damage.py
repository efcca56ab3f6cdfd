"""Data files that are not as they were left: a torn tail is cut, damage is told and never passed over in silence."""

import glob
import os

import pytest

import batches
import driver
import wire as w

ROWS = 3                                        # a batch


class Log:
    """A server with one table of one bucket, written by one writer with known batches."""

    def __init__(self, workplace, settings=""):
        self.server = workplace.server(settings=settings).start()
        cluster = w.Cluster(self.server.bootstrap)
        cluster.create_table_json("fluss", "t", driver.descriptor())
        self.table_id = cluster.table_info("fluss", "t")["table_id"]
        self.writer_id = driver.init_writer(cluster.tablet)
        cluster.close()

    def cluster(self):
        return w.Cluster(self.server.bootstrap)

    def append(self, sequences, pad="x" * 20) -> list[dict]:
        cluster = self.cluster()
        answers = [cluster.produce(self.table_id, 0, batches.encode(
            driver.rows(1, s * ROWS, ROWS, pad), self.writer_id, s)) for s in sequences]
        cluster.close()
        return answers

    def read(self, offset=0):
        """(offsets, row numbers, end)"""
        wire = w.Wire("127.0.0.1", self.server.port)
        told, end = driver.read_log(wire, self.table_id, 0, offset)
        wire.close()
        assert all(b.is_intact() for b in told)
        return ([o for b in told for o in range(b.base_offset, b.last_offset + 1)],
                [n for b in told for n in b.rows(driver.SCHEMA).column("n").to_pylist()], end)

    def files(self, pattern):
        return sorted(glob.glob(str(self.server.data_dir / pattern), recursive=True), key=os.path.getmtime)

    def active_journal(self):
        """What was written last: that of the bucket's group, as nothing else was written."""
        return self.files("journals/*/*.journal")[-1]


def change(path, position, data):
    with open(path, "r+b") as file:
        file.seek(position, os.SEEK_END if position < 0 else os.SEEK_SET)
        file.write(data)


@pytest.mark.parametrize("lost", [1, 7, 60, 100, 250, 400])
def test_a_torn_tail_is_cut_at_the_last_whole_batch(workplace, lost):
    log = Log(workplace)
    assert [a["base_offset"] for a in log.append(range(10))] == [s * ROWS for s in range(10)]
    log.server.kill()
    journal = log.active_journal()
    os.truncate(journal, os.path.getsize(journal) - lost)
    log.server.start()
    offsets, rows, end = log.read()
    assert end % ROWS == 0 and 0 < end < 30
    assert offsets == rows == list(range(end))
    # The writer, which was not told so, sends what is missing again, and it lands where it was.
    assert [a["base_offset"] for a in log.append(range(end // ROWS, 12))] == list(range(end, 36, ROWS))
    log.server.restart()
    assert log.read()[1] == list(range(36))


@pytest.mark.parametrize("garbage", [b"\0" * 40, b"\0" * 5000, b"\xff" * 13, os.urandom(1000), b"WEIR" * 50],
                         ids=["40 zeros", "5000 zeros", "13 ones", "noise", "text"])
def test_garbage_behind_the_last_batch_is_cut(workplace, garbage):
    log = Log(workplace)
    log.append(range(66))
    log.server.kill()
    with open(log.active_journal(), "ab") as journal:
        journal.write(garbage)
    log.server.start()
    assert log.read()[:2] == (list(range(198)), list(range(198)))
    assert log.append([66])[0]["base_offset"] == 198
    # Offsets by time are exact for all of them.
    wire = w.Wire("127.0.0.1", log.server.port)
    told, _ = driver.read_log(wire, log.table_id, 0)
    wire.close()
    first_of = {}
    for batch in told:
        first_of.setdefault(batch.timestamp, batch.base_offset)
    cluster = log.cluster()
    for time, offset in first_of.items():
        assert cluster.list_offsets(log.table_id, [0], 2, time) == {0: ("offset", offset)}
    cluster.close()


def test_a_crash_in_the_first_file_ever(workplace):
    """A journal that was made and never written to, and one of which not even the head was written."""
    log = Log(workplace)
    log.server.kill()
    for journal in log.files("journals/*/*.journal"):
        os.truncate(journal, min(5, os.path.getsize(journal)))
    if not log.files("journals/*/*.journal"):
        folder = log.server.data_dir / "journals" / ("0" * 32)
        folder.mkdir(parents=True)
        (folder / f"{0:020}.journal").touch()
    log.server.start()
    assert log.server.is_running()


def fill(log, first, count):
    """Batches of 20 KB: some files of 1 MB are sealed."""
    assert all(a["error"] is None for a in log.append(range(first, first + count), pad="y" * 7000))


def test_damage_in_a_sealed_file_is_told_and_never_passed_over(workplace):
    log = Log(workplace, '[log]\njournal_file_size = "1mb"\nmaintenance_interval = "100ms"\n')
    fill(log, 0, 250)
    assert log.server.stop() == 0
    sealed = max((f for f in log.files("**/*") if os.path.isfile(f)), key=os.path.getsize)
    assert os.path.getsize(sealed) > 500_000
    change(sealed, os.path.getsize(sealed) // 2, b"\xde\xad\xbe\xef" * 4)
    log.server.start()
    wire = w.Wire("127.0.0.1", log.server.port)
    told, offset, refused = [], 0, None
    while refused is None and offset < 750:
        try:
            got, _ = driver.read_log(wire, log.table_id, 0, offset, bytes_a_fetch=1)
        except w.WireError as e:
            refused = e
            break
        told += got
        offset = told[-1].last_offset + 1
    assert refused is not None, "the damage went by"
    assert refused.error_code in (10, 14, 26)
    wire.close()
    # What is before the damage is right as far as it was read, and the server goes on: also with this bucket.
    assert log.append([250])[0]["base_offset"] == 750
    cluster = log.cluster()
    last = cluster.fetch(log.table_id, 0, 750)
    assert last["error"] is None and len(last["records"]) > 48
    assert "error" in log.server.log_tail(100_000).lower()
    cluster.close()


def test_damage_in_the_middle_of_the_open_file_stops_the_start(workplace):
    """Behind it lie batches that were acknowledged: cutting them off would lose them in silence."""
    log = Log(workplace)
    log.append(range(20))
    log.server.kill()
    journal = log.active_journal()
    whole = open(journal, "rb").read()
    change(journal, len(whole) // 2, b"\xde\xad\xbe\xef" * 4)
    with pytest.raises(AssertionError, match="did not become ready"):
        log.server.start()
    assert os.path.basename(journal) in log.server.log_tail(), "it says which file"
    change(journal, 0, whole)                    # brought back, say from a copy
    log.server.start()
    assert log.read()[1] == list(range(60))
