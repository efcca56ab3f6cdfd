"""A native writer: idempotent batches with five in flight, on a socket of its own, that goes on through any crash of the
server; and a reader that checks what the log holds against what such writers were told."""

from __future__ import annotations

import threading
import time
from collections import deque

import pyarrow as pa

import batches
import wire as w

IN_FLIGHT_MAX = 5                               # as many as a server remembers for each writer
RETRIABLE = {1, 3, 10, 11, 12, 14, 21, 25, 26, 28, 29, 44, 70}

SCHEMA = pa.schema([("writer", pa.int32()), ("n", pa.int64()), ("pad", pa.string())])


def descriptor(buckets: int = 1, **properties: str) -> dict:
    """CREATE TABLE of a table of SCHEMA."""
    types = {"writer": "INTEGER", "n": "BIGINT", "pad": "STRING"}
    columns = [{"name": n, "data_type": {"type": t}, "id": i} for i, (n, t) in enumerate(types.items())]
    return {"version": 1, "schema": {"version": 1, "columns": columns, "highest_field_id": 2}, "partition_key": [],
            "bucket_key": [], "bucket_count": buckets, "custom_properties": {},
            "properties": {"table.log.arrow.compression.type": "NONE", **properties}}


def rows(writer: int, first: int, count: int, pad: str = "x" * 20) -> pa.RecordBatch:
    return pa.record_batch([pa.array([writer] * count, pa.int32()), pa.array(range(first, first + count), pa.int64()),
                            pa.array([pad] * count)], schema=SCHEMA)


def init_writer(wire: w.Wire) -> int:
    return w.one(w.decode(wire.call(w.INIT_WRITER, b"")), 1)


class Writer(threading.Thread):
    """Appends rows n = 0, 1, 2, ... of writer `me` to one bucket until `finish`."""

    api = w.PRODUCE_LOG

    def __init__(self, address: tuple[str, int], table_id: int, bucket: int, me: int, rows_a_batch: int = 10,
                 pause: float = 0.0, acks: int = -1):
        super().__init__(daemon=True)
        self.address, self.table_id, self.bucket, self.me = address, table_id, bucket, me
        self.rows_a_batch, self.pause, self.acks = rows_a_batch, pause, acks
        self.writer_id: int | None = None
        self.acked: dict[int, int] = {}         # batch sequence -> offset that the server gave it; of puts the end
        self.acked_rows = 0
        self.refused: list[int] = []            # codes of answers after which a batch was sent again
        self.failure: BaseException | None = None
        self.is_ending = threading.Event()
        self.may_connect = threading.Event()    # cleared before a kill, it keeps the writer away afterwards
        self.may_connect.set()

    def finish(self, timeout: float = 30.0) -> None:
        """Waits until all that was sent is acknowledged."""
        self.is_ending.set()
        self.join(timeout)
        if self.failure:
            raise self.failure
        assert not self.is_alive(), f"writer {self.me} was not answered within {timeout} s"

    def run(self) -> None:
        pending: deque[tuple[int, bytes]] = deque()          # sent or to be sent again, in order
        self.next_sequence = 0
        try:
            while not (self.is_ending.is_set() and not pending):
                self.may_connect.wait()
                try:
                    self._talk(pending)
                except (OSError, ConnectionError):
                    time.sleep(0.01)                         # the server is down, or was
        except BaseException as e:
            self.failure = e

    def _talk(self, pending: deque) -> None:
        wire = w.Wire(*self.address, timeout=10)
        try:
            if self.writer_id is None:
                self.writer_id = init_writer(wire)
            requests: deque[int] = deque()
            for _, body in pending:
                requests.append(wire.send(self.api, body))
            while True:
                while len(pending) < IN_FLIGHT_MAX and not self.is_ending.is_set():
                    pending.append((self.next_sequence, self._body(self.next_sequence)))
                    self.next_sequence += 1
                    requests.append(wire.send(self.api, pending[-1][1]))
                if not pending:
                    return
                kind, request, reply = wire.receive()
                assert request == requests.popleft(), "answers of one connection's writes to one bucket are in order"
                if kind != 0:
                    raise w.WireError(w.one(w.decode(reply), 1), "a write")
                answer = w.decode(w.one(w.decode(reply), 1))
                code = w.one(answer, 3)
                if code is None:
                    sequence, _ = pending.popleft()
                    self.acked[sequence] = w.one(answer, 5)
                    self.acked_rows = (sequence + 1) * self.rows_a_batch
                    if self.pause:
                        time.sleep(self.pause)
                elif code in RETRIABLE:
                    self.refused.append(code)
                    time.sleep(0.05)
                    return                                   # again from the first that was not acknowledged
                elif code == 31 and self.refused:
                    return                                   # those behind a batch that was refused
                else:
                    raise w.WireError(code, (w.one(answer, 4) or b"").decode(errors="replace"))
        finally:
            wire.close()

    def _body(self, sequence: int) -> bytes:
        records = batches.encode(rows(self.me, sequence * self.rows_a_batch, self.rows_a_batch), self.writer_id, sequence)
        return w.msg((1, self.acks), (2, self.table_id), (3, 10_000), (4, w.msg((2, self.bucket), (3, records))))


def read_log(wire: w.Wire, table_id: int, bucket: int, offset: int = 0, bytes_a_fetch: int = 1 << 20):
    """(batches from `offset` on, high watermark)"""
    told = []
    while True:
        body = w.msg((1, -1), (2, bytes_a_fetch), (3, w.msg((1, table_id), (2, False), (4, w.msg(
            (2, bucket), (3, offset), (4, bytes_a_fetch))))))
        reply = w.decode(w.one(w.decode(w.one(w.decode(wire.call(w.FETCH_LOG, body)), 1)), 2))
        if 3 in reply:
            raise w.WireError(w.one(reply, 3), (w.one(reply, 4) or b"").decode(errors="replace"))
        for batch in batches.decode(w.one(reply, 8)):
            told.append(batch)
            offset = batch.last_offset + 1
        if offset >= w.one(reply, 5):
            return told, w.one(reply, 5)


class Bucket:
    """Reads one bucket and holds it to: offsets without a hole, each writer's rows once and in order."""

    def __init__(self, table_id: int, bucket: int):
        self.table_id, self.bucket = table_id, bucket
        self.forget()

    def forget(self) -> None:
        """The next check reads from the start."""
        self.end = 0
        self.rows_of: dict[int, int] = {}
        self.time = 0

    def check(self, wire: w.Wire, acked_rows: dict[int, int], offsets: dict[tuple[int, int], int] | None = None) -> None:
        """acked_rows: writer -> how many rows it was told are safe, noted before this reads.
        offsets: (writer id, batch sequence) -> the offset that the server gave."""
        told, high_watermark = read_log(wire, self.table_id, self.bucket, self.end)
        for batch in told:
            if batch.base_offset % 7 == 0:                       # slow here; the server checks each that it recovers
                assert batch.is_intact(), f"the batch at {batch.base_offset} is damaged"
            assert batch.base_offset == self.end, f"offset {batch.base_offset} follows {self.end - 1}"
            assert batch.timestamp >= self.time, "time went back"
            self.end, self.time = batch.last_offset + 1, batch.timestamp
            columns = batch.rows(SCHEMA).to_pydict()
            writer = columns["writer"][0]
            first = self.rows_of.get(writer, 0)
            assert columns["writer"] == [writer] * batch.count
            assert columns["n"] == list(range(first, first + batch.count)), (
                f"writer {writer}: rows {columns['n'][0]}.. at offset {batch.base_offset} follow row {first - 1}")
            self.rows_of[writer] = first + batch.count
            if offsets is not None:
                given = offsets.get((batch.writer_id, batch.sequence))
                assert given in (None, batch.base_offset), f"acknowledged at {given}, found at {batch.base_offset}"
        assert self.end == high_watermark
        for writer, count in acked_rows.items():
            assert self.rows_of.get(writer, 0) >= count, (
                f"writer {writer} was told that {count} rows are safe; {self.rows_of.get(writer, 0)} are there")
