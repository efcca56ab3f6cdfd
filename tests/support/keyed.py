"""Primary-key tables without a Fluss client: writers that go on through any crash of the server, a plain model of what their
writes do, and a check of changelog, lookups, scans and row counts against it. Tables are those of rows.descriptor, k INT,
a STRING, b BIGINT; logs are not compressed or by zstd."""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple

import pyarrow as pa

import batches
import driver
import rows
import wire as w

SCAN_KV = 1061
I, UB, UA, D = 1, 2, 3, 4                       # +I -U +U -D
SCHEMA = pa.schema([("k", pa.int32()), ("a", pa.string()), ("b", pa.int64())])
LOOKUPS_A_REQUEST = 2_000

Row = tuple[int, str | None, int | None]


class Put(NamedTuple):
    """One batch of a writer."""
    records: list[tuple[int, Row | None]]       # key, and its row or None to delete it
    columns: tuple[int, ...] | None = None      # those that are written, if not all

    def encode(self, writer_id: int = -1, sequence: int = -1) -> bytes:
        return rows.batch([(rows.key("i", k), None if r is None else rows.encode(rows.KINDS, *r)) for k, r in self.records],
                          writer_id, sequence)


class Writer(driver.Writer):
    """Puts of one writer to one bucket; `put` gives that of each batch sequence."""

    api = w.PUT_KV

    def __init__(self, address, table_id: int, bucket: int, me: int, put: Callable[[int], Put], pause: float = 0.0):
        super().__init__(address, table_id, bucket, me, rows_a_batch=1, pause=pause)
        self.put = put

    def _body(self, sequence: int) -> bytes:
        put = self.put(sequence)
        body = w.msg((1, -1), (2, self.table_id), (3, 10_000))
        if put.columns:
            body += w.packed(4, put.columns)
        return body + w.msg((5, w.msg((2, self.bucket), (3, put.encode(self.writer_id, sequence)))))


class Model:
    """What writes do to a table: of the default engine, or of sums of b and last values of a."""

    def __init__(self, sums: bool = False, wal: bool = False):
        self.sums, self.wal = sums, wal

    def apply(self, state: dict[int, Row], put: Put) -> list[tuple[int, Row]]:
        """Changes the state; the changes that are told."""
        told = []
        for key, row in put.records:
            told += self._apply(state, key, row, put.columns)
        return told

    def _apply(self, state, key, row, columns):
        old = state.get(key)
        if row is not None:
            new = self._merged(old, row, columns)
        elif old is None or self.sums:          # the default with a merge engine is to ignore deletes
            return []
        elif columns:
            new = tuple(v if i == 0 or i not in columns else None for i, v in enumerate(old))
            new = None if new[1:] == (None, None) else new
        else:
            new = None
        if new is None:
            del state[key]
            return [(D, old)]
        state[key] = new
        if self.wal and not columns and row is not None:
            return [(UA, new)]
        if old is None:
            return [(I, new)]
        return [(UA, new)] if self.wal else [(UB, old), (UA, new)]

    def _merged(self, old, row, columns):
        columns = columns or (0, 1, 2)
        values = list(old or (row[0], None, None))
        for i in columns:
            is_sum = self.sums and i == 2 and values[i] is not None
            values[i] = values[i] + row[i] if is_sum else row[i]
        return tuple(values)


def changes(batch: batches.Batch) -> list[tuple[int, Row]]:
    """What a batch of the changelog tells."""
    if batch.count == 0:
        return []
    kinds = batch.data[batches.HEADER.size:batches.HEADER.size + batch.count]
    message = pa.py_buffer(batch.data[batches.HEADER.size + batch.count:])
    columns = pa.ipc.read_record_batch(message, SCHEMA).to_pydict()
    return list(zip(kinds, zip(*columns.values()), strict=True))


def lookup(wire: w.Wire, table_id: int, bucket: int, keys: list[int]) -> dict[int, Row | None]:
    found = {}
    for first in range(0, len(keys), LOOKUPS_A_REQUEST):
        part = keys[first:first + LOOKUPS_A_REQUEST]
        values = rows.lookup(wire, table_id, bucket, [rows.key("i", k) for k in part])
        found.update((k, None if v is None else rows.read_value(rows.KINDS, v)[1]) for k, v in zip(part, values, strict=True))
    return found


def first_rows(wire: w.Wire, table_id: int, bucket: int, limit: int) -> list[Row]:
    reply = w.decode(wire.call(w.LIMIT_SCAN, w.msg((2, table_id), (4, bucket), (5, limit))))
    if 1 in reply:
        raise w.WireError(w.one(reply, 1), (w.one(reply, 2) or b"").decode(errors="replace"))
    return [rows.read_value(rows.KINDS, v)[1] for v in rows.read_values(w.one(reply, 4))] if 4 in reply else []


def scan_pages(wire: w.Wire, table_id: int, bucket: int, bytes_a_page: int = 1 << 16) -> Iterator[tuple[int, list[Row]]]:
    """(the offset that all are of, rows) page by page."""
    scanner = offset = None
    call = 0
    while True:
        opening = w.msg((1, table_id), (3, bucket)) if call == 0 else None
        reply = w.decode(wire.call(SCAN_KV, w.msg((1, scanner), (2, opening), (3, call), (4, bytes_a_page))))
        if w.one(reply, 1):
            raise w.WireError(w.one(reply, 1), (w.one(reply, 2) or b"").decode(errors="replace"))
        offset = w.one(reply, 6, offset)
        values = rows.read_values(w.one(reply, 5)) if 5 in reply else []
        yield offset, [rows.read_value(rows.KINDS, v)[1] for v in values]
        if not w.one(reply, 4):
            return
        assert values, "each page of a scan that goes on has rows"
        scanner, call = w.one(reply, 3), call + 1


def scan(wire: w.Wire, table_id: int, bucket: int, bytes_a_page: int = 1 << 16) -> tuple[int, list[Row]]:
    """(offset, the rows that there were at it)"""
    pages = list(scan_pages(wire, table_id, bucket, bytes_a_page))
    return pages[0][0], [r for _, part in pages for r in part]


def count_of(wire: w.Wire, table_id: int, bucket: int):
    """Rows, or the negative code of an error."""
    reply = w.decode(w.one(w.decode(wire.call(w.GET_TABLE_STATS, w.msg((1, table_id), (2, w.msg((2, bucket)))))), 1))
    return -w.one(reply, 1) if 1 in reply else w.one(reply, 5)


class Replay:
    """A changelog, folded into a plain dict beside the model: whoever has put a batch, it must tell exactly what its writes
    do to the rows that were there."""

    def __init__(self, model: Model, put_of: Callable[[int, int], Put | None]):
        """put_of(writer id, batch sequence): what a writer put there, if that is known."""
        self.model, self.put_of = model, put_of
        self.state: dict[int, Row] = {}
        self.end = 0
        self.ends: dict[int, list[int]] = {}                     # writer id -> end offsets of its batches
        self.told: dict[int, list[tuple[int, Row]]] = {}         # key -> changes of writers that are not known

    def take(self, batch: batches.Batch, told: list[tuple[int, Row]]) -> None:
        at = f"offset {batch.base_offset}, sequence {batch.sequence} of writer {batch.writer_id}"
        assert batch.base_offset == self.end, f"{at}: follows {self.end - 1}"
        assert batch.last_offset + 1 == self.end + max(batch.count, 1) and batch.count == len(told), at
        self.end = batch.last_offset + 1
        ends = self.ends.setdefault(batch.writer_id, [])
        put = self.put_of(batch.writer_id, batch.sequence)
        if put is None:
            self._fold(told, at)
            return
        assert batch.sequence == len(ends), f"{at}: its sequence {len(ends) - 1} is before it"
        ends.append(self.end)
        expected = self.model.apply(self.state, put)
        assert told == expected, f"{at}: tells\n{told}\ninstead of\n{expected}"

    def _fold(self, told, at):
        state = self.state
        for kind, row in told:
            key = row[0]
            self.told.setdefault(key, []).append((kind, row))
            if kind in (UB, D):
                assert state.get(key) == row, f"{at}: takes back {row} where {state.get(key)} is"
            elif kind == I:
                assert key not in state, f"{at}: {row} is new where {state[key]} is"
            if kind == D:
                del state[key]
            elif kind != UB:
                state[key] = row


class Checker:
    """Holds one bucket to its changelog, from the beginning, while writers may go on."""

    def __init__(self, table_id: int, bucket: int, model: Model, put_of=lambda writer_id, sequence: None):
        self.table_id, self.bucket, self.model, self.put_of = table_id, bucket, model, put_of
        self.known: dict[bytes, list] = {}      # batches that were decoded before

    def _read(self, wire, offset):
        for batch in driver.read_log(wire, self.table_id, self.bucket, offset)[0]:
            if batch.data not in self.known:
                assert batch.crc % 7 or batch.is_intact(), f"the batch at {batch.base_offset} is damaged"
                self.known[batch.data] = changes(batch)
            yield batch, self.known[batch.data]

    def check(self, wire: w.Wire, absent: list[int] = ()) -> Replay:
        """Reads the changelog, then the state in every way, then what the changelog became meanwhile. absent: keys that
        nobody wrote."""
        replay = Replay(self.model, self.put_of)
        for batch, told in self._read(wire, 0):
            replay.take(batch, told)
        begin = replay.end
        keys = {r[0] for told in self.known.values() for _, r in told}
        may_be = {k: {replay.state.get(k)} for k in keys}        # the rows of each key from here on
        counts = {len(replay.state)}
        looked_up = lookup(wire, self.table_id, self.bucket, [*sorted(keys), *absent])
        listed = first_rows(wire, self.table_id, self.bucket, 1 << 30)
        count = count_of(wire, self.table_id, self.bucket)
        scanned_at, scanned = scan(wire, self.table_id, self.bucket)
        at_scan = dict(replay.state) if scanned_at == begin else None
        for batch, told in self._read(wire, begin):
            replay.take(batch, told)
            for _, row in told:
                may_be.setdefault(row[0], {None}).add(replay.state.get(row[0]))
            counts.add(len(replay.state))
            if scanned_at == replay.end:
                at_scan = dict(replay.state)

        for key in absent:
            assert looked_up.pop(key) is None
        wrong = {k: r for k, r in looked_up.items() if r not in may_be[k]}
        assert not wrong, f"lookups at {begin}: {[(r, may_be[k]) for k, r in list(wrong.items())[:5]]}, {len(wrong)} in all"
        assert [r[0] for r in listed] == sorted({r[0] for r in listed}, key=lambda k: rows.key("i", k)), "in key order, once"
        assert all(r in may_be.get(r[0], ()) for r in listed), "a row of a list is none that there was"
        gone = may_be.keys() - {r[0] for r in listed}
        assert all(None in may_be[k] for k in gone), f"rows are missing in a list: {sorted(gone)[:10]}"
        assert at_scan is not None, f"a scan of {scanned_at}, which is not between {begin} and {replay.end}"
        assert len(scanned) == len(at_scan) and {r[0]: r for r in scanned} == at_scan, f"the scan at {scanned_at}"
        assert count == -15 if self.model.wal else count in counts, f"{count} rows, not {counts}"
        return replay

    def check_acked(self, replay: Replay, writer: Writer, acked: dict[int, int]) -> None:
        """acked: what the writer was told before the check began."""
        if not acked:
            return
        ends = replay.ends.get(writer.writer_id, [])
        assert len(ends) > max(acked), f"writer {writer.me} was told of sequence {max(acked)}; {len(ends)} are there"
        wrong = {s: (e, ends[s]) for s, e in acked.items() if ends[s] != e}
        assert not wrong, f"writer {writer.me}, sequence: (end as acknowledged, as found): {wrong}"
