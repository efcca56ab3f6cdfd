"""Log batches, written and read without a Fluss client (Fluss protocol, log record batch, magic 0 with Arrow records)."""

from __future__ import annotations

import struct
from typing import Iterator, NamedTuple

import numpy as np
import pyarrow as pa

HEADER = struct.Struct("<qibqIhbiqii")          # base offset .. record count
assert HEADER.size == 48
CRC_START = 25                                  # what follows the checksum is covered by it


def _crc_table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()
_TABLE_OF_MANY = np.array(_TABLE, np.uint32)
_LANE = 256


def _after_lane(crc: np.ndarray, lanes=None) -> np.ndarray:
    """Each of many checksums after a lane of its own, or after zeros."""
    for i in range(_LANE):
        crc = crc >> 8 ^ _TABLE_OF_MANY[(crc if lanes is None else crc ^ lanes[i]) & 0xFF]
    return crc


_AFTER_ZEROS = [_after_lane(np.arange(256, dtype=np.uint32) << np.uint32(shift)).tolist() for shift in (0, 8, 16, 24)]


def crc32c(data: bytes) -> int:
    crc, done = 0xFFFFFFFF, 0
    if len(data) > 64 * _LANE:                  # lanes side by side, each from zero, and then put together
        done = len(data) // _LANE * _LANE
        lanes = np.frombuffer(data, np.uint8, done).reshape(-1, _LANE).T
        for lane in _after_lane(np.zeros(lanes.shape[1], np.uint32), lanes).tolist():
            crc = (_AFTER_ZEROS[0][crc & 0xFF] ^ _AFTER_ZEROS[1][crc >> 8 & 0xFF] ^ _AFTER_ZEROS[2][crc >> 16 & 0xFF]
                   ^ _AFTER_ZEROS[3][crc >> 24] ^ lane)
    for byte in data[done:]:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Batch(NamedTuple):
    base_offset: int
    timestamp: int
    crc: int
    schema_id: int
    attributes: int
    last_offset: int
    writer_id: int
    sequence: int
    count: int
    data: bytes                                 # the whole batch

    def is_intact(self) -> bool:
        return crc32c(self.data[CRC_START:]) == self.crc

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        return pa.ipc.read_record_batch(pa.py_buffer(self.data[HEADER.size:]), schema)


def encode(rows: pa.RecordBatch, writer_id: int = -1, sequence: int = -1, schema_id: int = 1) -> bytes:
    """As a client sends it: offset and time are left to the server."""
    return encode_payload(bytes(rows.serialize()), rows.num_rows, writer_id, sequence, schema_id)


def encode_payload(payload: bytes, count: int, writer_id: int = -1, sequence: int = -1, schema_id: int = 1) -> bytes:
    covered = struct.pack("<hbiqii", schema_id, 1, max(count - 1, 0), writer_id, sequence, count) + payload
    return struct.pack("<qibqI", 0, CRC_START + len(covered) - 12, 0, 0, crc32c(covered)) + covered


def decode(records: bytes) -> Iterator[Batch]:
    """All whole batches; a fetch may end in the middle of one."""
    at = 0
    while at + HEADER.size <= len(records):
        base, length, magic, time, crc, schema_id, attributes, delta, writer, sequence, count = HEADER.unpack_from(records, at)
        end = at + 12 + length
        if end > len(records):
            return
        assert magic == 0, f"magic {magic}"
        yield Batch(base, time, crc, schema_id, attributes, base + delta, writer, sequence, count, records[at:end])
        at = end
