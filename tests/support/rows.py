"""Rows, keys and batches of primary-key tables, written and read without a Fluss client (Fluss protocol, KV record batch and
COMPACTED rows). Columns are named by their types, one letter each: i INT, l BIGINT, s STRING."""

from __future__ import annotations

import struct

import wire as w
from batches import crc32c

HEADER = struct.Struct("<ibIhbqii")             # length .. record count
CRC_END = 9                                     # what follows the checksum is covered by it


def _number(value: int, bits: int) -> bytes:
    value &= (1 << bits) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(kind: str, value) -> bytes:
    if kind == "s":
        data = value.encode()
        return _number(len(data), 32) + data
    return _number(value, 32 if kind == "i" else 64)


def key(kinds: str, *values) -> bytes:
    return b"".join(_field(kind, v) for kind, v in zip(kinds, values, strict=True))


def encode(kinds: str, *values) -> bytes:
    nulls = sum(1 << i for i, v in enumerate(values) if v is None)
    return nulls.to_bytes((len(kinds) + 7) // 8, "little") + b"".join(
        _field(kind, v) for kind, v in zip(kinds, values, strict=True) if v is not None)


def decode(kinds: str, data: bytes) -> tuple:
    at = (len(kinds) + 7) // 8
    nulls = int.from_bytes(data[:at], "little")
    values = []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    for i, kind in enumerate(kinds):
        if nulls >> i & 1:
            values.append(None)
        elif kind == "s":
            size = number()
            values.append(data[at:at + size].decode())
            at += size
        else:
            bits = 32 if kind == "i" else 64
            value = number()
            values.append(value - (1 << bits) if value >> bits - 1 else value)
    assert at == len(data), "bytes behind the row"
    return tuple(values)


def read_value(kinds: str, value: bytes) -> tuple[int, tuple]:
    """(schema id, row) of what lookups and scans give."""
    return int.from_bytes(value[:2], "little"), decode(kinds, value[2:])


def batch(records, writer_id: int = -1, sequence: int = -1, schema_id: int = 1) -> bytes:
    """records: [(key, row or None to delete it)]"""
    body = b""
    for record_key, record_row in records:
        record = _number(len(record_key), 32) + record_key + (record_row or b"")
        body += struct.pack("<i", len(record)) + record
    covered = struct.pack("<hbqii", schema_id, 0, writer_id, sequence, len(records)) + body
    return struct.pack("<ibI", len(covered) + CRC_END - 4, 0, crc32c(covered)) + covered


def read_values(records: bytes) -> list[bytes]:
    """The values of a ValueRecordBatch."""
    length, magic, count = struct.unpack_from("<ibi", records)
    assert length == len(records) - 4 and magic == 0
    values, at = [], 9
    for _ in range(count):
        size = struct.unpack_from("<i", records, at)[0]
        values.append(records[at + 4:at + 4 + size])
        at += 4 + size
    assert at == len(records)
    return values


def lookup(wire: w.Wire, table_id: int, bucket: int, keys: list[bytes]) -> list[bytes | None]:
    """Raw values of keys of one bucket."""
    body = w.msg((1, table_id), (2, [w.msg((2, bucket), (3, keys))]))
    answer = w.decode(w.one(w.decode(wire.call(w.LOOKUP, body, 1)), 1))
    if 3 in answer:
        raise w.WireError(w.one(answer, 3), (w.one(answer, 4) or b"").decode(errors="replace"))
    return [w.one(w.decode(v), 1) for v in answer.get(5, [])]


# --- a table of k INT, a STRING, b BIGINT ----------------------------------------------------------------------------

COLUMNS = {"k": "INTEGER", "a": "STRING", "b": "BIGINT"}
KINDS = "isl"


def descriptor(properties=None, functions=None, buckets: int = 1) -> dict:
    """CREATE TABLE of k INT, a STRING, b BIGINT with the key k; functions: column -> aggregate function."""
    made = [{"name": n, "data_type": {"type": t}, "id": i} for i, (n, t) in enumerate(COLUMNS.items())]
    for column in made:
        if column["name"] in (functions or {}):
            column["agg_function"] = {"type": functions[column["name"]]}
    return {"version": 1, "partition_key": [], "bucket_key": [], "bucket_count": buckets, "custom_properties": {},
            "properties": properties or {},
            "schema": {"version": 1, "primary_key": ["k"], "columns": made, "highest_field_id": len(made) - 1}}


def row(k, a, b) -> tuple[bytes, bytes]:
    """The record that puts a row of that table."""
    return key("i", k), encode(KINDS, k, a, b)
