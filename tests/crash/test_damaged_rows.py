"""What lies on the disk of a primary-key table's rows is damaged: that is told with the name of the file, and no row is ever
given that was not written."""

import random
import shutil

import pytest

import driver
import keyed
import rows
import server as servers
import wire as w

ROWS = 2_000
CORRUPT = 14


class Damaged:
    """A server whose rows lie on the disk only. Each damage begins with what was there."""

    def __init__(self, workplace):
        self.server = workplace.server().start()
        self.good = workplace.folder / "good"
        cluster = w.Cluster(self.server.bootstrap)
        self.table_id = cluster.new_table("fluss", "t", rows.descriptor())
        model, self.state = keyed.Model(), {}
        for first in range(0, ROWS, 500):
            put = keyed.Put([(k, (k, f"row {k} ".ljust(100, "x"), k)) for k in range(first, first + 500)])
            assert cluster.put_kv(self.table_id, 0, put.encode())["error"] is None
            model.apply(self.state, put)
        cluster.close()
        assert self.server.stop() == 0
        shutil.copytree(self.server.data_dir, self.good)

    def restore(self):
        shutil.rmtree(self.server.data_dir)
        shutil.copytree(self.good, self.server.data_dir)
        self.server.log.unlink()

    def file(self, pattern):
        found, = (self.server.data_dir / "kv").rglob(pattern)
        return found

    def flip(self, path, position):
        data = bytearray(path.read_bytes())
        data[position] ^= 1 << position % 8
        path.write_bytes(data)

    def read(self) -> list[w.WireError]:
        """All rows in all ways, each right or an error; the errors."""
        errors = []
        wire = w.Wire("127.0.0.1", self.server.port)

        def is_right(told):
            assert all(self.state.get(k) == r for k, r in told.items()), "rows that were never written"

        def lookup(keys):
            is_right(keyed.lookup(wire, self.table_id, 0, keys))

        def all_rows(told):
            assert len(told) == ROWS
            is_right({r[0]: r for r in told})

        for read in [*(lambda f=first: lookup(list(range(f, f + 50))) for first in range(0, ROWS, 50)),
                     lambda: all_rows(keyed.first_rows(wire, self.table_id, 0, 1 << 30)),
                     lambda: all_rows(keyed.scan(wire, self.table_id, 0)[1])]:
            try:
                read()
            except w.WireError as e:
                errors.append(e)
        wire.close()
        return errors


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    place = servers.Workplace()
    yield Damaged(place)
    place.close()


@pytest.fixture
def server(damaged):
    damaged.restore()
    yield damaged.server
    damaged.server.kill()


# Fractions of the file, and then what is at its end: the index, the filter, the properties, the footer.
@pytest.mark.parametrize("place", [0, 0.1, 0.35, 0.5, 0.75, 0.85, -1500, -900, -400, -60, -45, -30, -1])
def test_a_bit_flipped_in_a_table_of_rows(damaged, server, place):
    path = damaged.file("*.sst")
    size = path.stat().st_size
    position = size + place if place < 0 else int(place * size)
    damaged.flip(path, position)
    server.start()
    errors = damaged.read()
    # What is only for speed may be passed over.
    assert errors or place < 0, "the damage went by"
    assert {e.error_code for e in errors} <= {CORRUPT}
    assert all(str(path.parent) in e.message for e in errors), errors
    if place >= 0:
        assert all(path.name in e.message for e in errors), errors
    # Who runs the server hears of it, too.
    log = server.log.read_text()
    assert all("rows cannot be read or written: operation=" in log and e.message in log for e in errors)
    # A write that needs what is damaged changes nothing, and others are done.
    cluster = w.Cluster(server.bootstrap)
    for key in (0, ROWS // 2, ROWS - 1, ROWS):
        end = cluster.list_offsets(damaged.table_id, [0], 1)[0][1]
        answer = cluster.put_kv(damaged.table_id, 0, keyed.Put([(key, (key, "new", 1))]).encode())
        assert answer["error"] in (None, CORRUPT)
        told = cluster.list_offsets(damaged.table_id, [0], 1)[0][1] - end
        assert told == 0 if answer["error"] else told == (1 if key == ROWS else 2)
    cluster.close()
    # The changelog is whole.
    wire = w.Wire("127.0.0.1", server.port)
    replay = keyed.Replay(keyed.Model(), lambda writer_id, sequence: None)
    for batch in driver.read_log(wire, damaged.table_id, 0)[0]:
        replay.take(batch, keyed.changes(batch))
    wire.close()
    assert len(replay.state) >= ROWS
    assert server.is_running()


@pytest.mark.parametrize("name", ["MANIFEST-*", "CURRENT"])
def test_a_bit_flipped_in_the_list_of_tables(damaged, server, name):
    path = damaged.file(name)
    for position in (0, path.stat().st_size // 2, path.stat().st_size - 1):
        shutil.copyfile(next(damaged.good.rglob(path.name)), path)
        damaged.flip(path, position)
        server.start()
        errors = damaged.read()
        assert len(errors) == ROWS // 50 + 2 and {e.error_code for e in errors} == {CORRUPT}
        assert all(str(path.parent) in e.message and path.name in e.message for e in errors)
        server.kill()


def test_a_table_of_rows_is_gone(damaged, server):
    path = damaged.file("*.sst")
    path.unlink()
    server.start()
    errors = damaged.read()
    assert len(errors) == ROWS // 50 + 2
    assert all(f"{path.stem}." in e.message for e in errors), errors[0]


@pytest.mark.parametrize("position", [0, 9, 13, 17, 25, 33, 37])
def test_a_bit_flipped_in_the_file_that_tells_up_to_where_rows_are_there(damaged, server, position):
    """It would make a replay begin at the wrong place."""
    path = damaged.file("STATE")
    damaged.flip(path, position)
    with pytest.raises(AssertionError, match="did not become ready"):
        server.start()
    assert str(path) in server.log_tail()
    damaged.flip(path, position)
    server.start()
    assert damaged.read() == []


def test_the_tables_of_rows_are_gone(damaged, server):
    shutil.rmtree(damaged.file("db"))
    server.start()
    errors = damaged.read()
    assert len(errors) == ROWS // 50 + 2
    assert all(str(server.data_dir / "kv") in e.message for e in errors)


def test_all_that_is_on_the_disk_of_rows_can_be_made_again(damaged, server):
    """As long as the changelog goes back to the beginning."""
    shutil.rmtree(server.data_dir / "kv")
    server.start()
    assert damaged.read() == []
    wire = w.Wire("127.0.0.1", server.port)
    assert keyed.count_of(wire, damaged.table_id, 0) == ROWS
    wire.close()
