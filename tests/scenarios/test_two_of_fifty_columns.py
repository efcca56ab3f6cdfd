"""A log table of fifty columns; a reader of two of them gets the same values as a full reader, and fewer than a tenth of
the bytes."""

import datetime as dt

import pyarrow as pa
import pytest

from kit import arrow_of, read_all

ROWS = 5_000
COUNTRIES = ["DE", "FR", "JP", "BR", "US", "IN", "NG"]


def fifty_columns() -> pa.Table:
    columns = {"customer_id": pa.array([f"customer-{i:05}" for i in range(ROWS)]),
               "country": pa.array([COUNTRIES[i * i % 7] if i % 11 else None for i in range(ROWS)])}
    makers = [
        lambda c: pa.array([(i * 2654435761 + c) % 2**31 for i in range(ROWS)], pa.int32()),
        lambda c: pa.array([(i * 0x9E3779B97F4A7C15 + c) % 2**62 for i in range(ROWS)], pa.int64()),
        lambda c: pa.array([((i * 40503 + c) % 100_003) / 7 for i in range(ROWS)], pa.float64()),
        lambda c: pa.array([f"note {c} of {(i * 7919) % ROWS}" if i % 5 else None for i in range(ROWS)]),
        lambda c: pa.array([dt.date(2020, 1, 1) + dt.timedelta(days=(i * 31 + c) % 2000) for i in range(ROWS)], pa.date32()),
        lambda c: pa.array([[i, c, None][: (i + c) % 4] for i in range(ROWS)], pa.list_(pa.int32())),
    ]
    for c in range(48):
        columns[f"c{c:02}"] = makers[c % len(makers)](c)
    # The two stand neither first nor side by side.
    names = list(columns)[2:]
    names.insert(10, "customer_id")
    names.insert(40, "country")
    return pa.table({n: columns[n] for n in names})


def bytes_of(wire, table_id, projected=None) -> int:
    total, offset, end = 0, 0, 1
    while offset < end:
        reply = wire.fetch(table_id, 0, offset, max_bytes=64 << 20, projected=projected)
        assert reply["error"] is None
        total, end = total + len(reply["records"]), reply["high_watermark"]
        offset = end                            # the limit is above what the table has
    return total


@pytest.mark.parametrize("compression", ["ZSTD", "LZ4_FRAME", "NONE"])
async def test_two_of_fifty_columns(make, wire, compression):
    data = fifty_columns()
    assert data.num_columns == 50
    table = await make("t", data.schema, properties={"table.log.arrow.compression.type": compression})
    writer = table.new_append().create_writer()
    writer.write_arrow(data)
    await writer.flush()

    whole = await arrow_of(table)
    part = await arrow_of(table, project=["customer_id", "country"])
    assert whole.equals(data.combine_chunks()) or whole.to_pylist() == data.to_pylist()
    assert part.schema.names == ["customer_id", "country"]
    assert part.to_pylist() == whole.select(["customer_id", "country"]).to_pylist()
    rows = await read_all(table, ROWS, project=["country", "customer_id"])
    assert [o for _, o, _, _ in rows] == list(range(ROWS))
    assert [r["customer_id"] for _, _, _, r in rows] == data.column("customer_id").to_pylist()

    table_id = table.get_table_info().table_id
    positions = sorted(data.schema.names.index(n) for n in ("customer_id", "country"))
    all_bytes, two_bytes = bytes_of(wire, table_id), bytes_of(wire, table_id, positions)
    assert two_bytes * 10 < all_bytes, f"{two_bytes:,} of {all_bytes:,} bytes"
