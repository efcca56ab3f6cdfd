"""Small helpers shared by the tests: connect, make a table, write, read everything back."""

from __future__ import annotations

import asyncio
import time

import fluss
import pyarrow as pa

EARLIEST = fluss.EARLIEST_OFFSET
A, I, UB, UA, D = "+A", "+I", "-U", "+U", "-D"     # change types: +A in logs, the others in changelogs


async def connect(bootstrap: str, **settings) -> fluss.FlussConnection:
    c = fluss.Config({"bootstrap.servers": bootstrap})
    c.writer_retries = 1000                     # a writer that can never succeed must not spin for ever
    c.writer_batch_timeout_ms = 1
    c.connect_timeout_ms = 10_000
    for name, value in settings.items():
        setattr(c, name, value)
    return await asyncio.wait_for(fluss.FlussConnection.create(c), 15)


async def close(connection) -> None:
    """A connection whose server or table is gone may have writers that never end; it is then left alone."""
    try:
        await asyncio.wait_for(connection.close(), 5)
    except (fluss.FlussError, asyncio.TimeoutError):
        pass


def descriptor(schema: pa.Schema, pk=None, auto_increment=None, **options) -> fluss.TableDescriptor:
    kwargs = {}
    if pk is not None:
        kwargs["primary_keys"] = pk
    if auto_increment is not None:
        kwargs["auto_increment_column"] = auto_increment
    return fluss.TableDescriptor(fluss.Schema(schema, **kwargs), **options)


def fields(**types) -> pa.Schema:
    return pa.schema([pa.field(n, t) for n, t in types.items()])


async def append(table, rows) -> None:
    writer = table.new_append().create_writer()
    handles = [writer.append(r) for r in rows]
    await writer.flush()
    for h in handles:
        await h.wait()


async def upsert(table, rows, columns=None) -> None:
    """Rows go out one by one, each acknowledged before the next: the changelog order is then exactly the call order."""
    builder = table.new_upsert()
    if columns is not None:
        builder = builder.partial_update_by_name(columns)
    writer = builder.create_writer()
    for r in rows:
        await acked(writer, writer.upsert(r))


async def delete(table, keys, columns=None) -> None:
    builder = table.new_upsert()
    if columns is not None:
        builder = builder.partial_update_by_name(columns)
    writer = builder.create_writer()
    for k in keys:
        await acked(writer, writer.delete(k))


class PatientWriter:
    """Upserts and deletes of a table that go on when the server is killed. The client forgets all tables then, refuses rows of
    those that it does not know, and asks for none while it has no rows to send: a scanner makes it ask."""

    def __init__(self, table, columns=None):
        self.table = table
        builder = table.new_upsert()
        self.writer = (builder if columns is None else builder.partial_update_by_name(columns)).create_writer()

    async def upsert(self, row):
        return await self._write(self.writer.upsert, row)

    async def delete(self, key):
        return await self._write(self.writer.delete, key)

    async def flush(self) -> None:
        await self.writer.flush()

    async def _write(self, write, row):
        end = time.monotonic() + 30
        while True:
            try:
                return write(row)
            except fluss.FlussError as e:
                if e.error_code != 7 or time.monotonic() > end:
                    raise
            try:
                (await self.table.new_scan().create_log_scanner()).subscribe(0, EARLIEST)
            except fluss.FlussError:
                await asyncio.sleep(0.02)       # the server is still away


async def acked(writer, handle) -> None:
    await writer.flush()
    await handle.wait()


async def read(scanner, count: int, timeout: float = 30.0, quiet: float = 0.3):
    """Poll until `count` records came, then once more to see that there is nothing beyond them.
    Returns (bucket, offset, change type, row) in order of arrival."""
    out = []
    end = time.monotonic() + timeout
    while len(out) < count:
        assert time.monotonic() < end, f"only {len(out)} of {count} records within {timeout} s"
        for bucket, records in (await scanner.poll(1000)).items():
            out.extend((bucket.bucket_id, r.offset, r.change_type.short_string(), r.row) for r in records)
    end = time.monotonic() + quiet
    while time.monotonic() < end:
        for bucket, records in (await scanner.poll(100)).items():
            out.extend((bucket.bucket_id, r.offset, r.change_type.short_string(), r.row) for r in records)
    assert len(out) == count, f"{len(out)} records, expected {count}: {out[count:count + 5]}"
    return out


async def scanner_of(table, buckets=1, start=EARLIEST, project=None):
    scan = table.new_scan()
    if project is not None:
        scan = scan.project_by_name(project)
    scanner = await scan.create_log_scanner()
    if isinstance(start, dict):
        scanner.subscribe_buckets(start)
    else:
        scanner.subscribe_buckets({b: start for b in range(buckets)})
    return scanner


async def read_all(table, count: int, buckets=1, start=EARLIEST, project=None, timeout: float = 30.0):
    return await read(await scanner_of(table, buckets, start, project), count, timeout)


async def changelog(table, count: int, buckets=1):
    """[(offset, change type, row as a tuple)] of a table with one bucket."""
    return [(o, c, tuple(r.values())) for _, o, c, r in await read_all(table, count, buckets)]


async def arrow_of(table, buckets=1, start=EARLIEST, project=None) -> pa.Table:
    scan = table.new_scan()
    if project is not None:
        scan = scan.project_by_name(project)
    scanner = await scan.create_record_batch_log_scanner()
    scanner.subscribe_buckets({b: start for b in range(buckets)})
    return await scanner.to_arrow()


async def limit_rows(table, bucket: int, n: int, project=None, partition_id=None):
    table_id = table.get_table_info().table_id
    tb = fluss.TableBucket(table_id, bucket) if partition_id is None else \
        fluss.TableBucket.with_partition(table_id, partition_id, bucket)
    scan = table.new_scan()
    if project is not None:
        scan = scan.project_by_name(project)
    return (await scan.limit(n).create_bucket_batch_scanner(tb).to_arrow()).to_pylist()


async def lookup_many(table, keys, parallel: int = 128):
    """Rows of many keys in order.  One lookuper serves one call at a time and waits for a batch: use many."""
    keys = list(keys)
    found = [None] * len(keys)

    async def worker(start):
        lookuper = table.new_lookup().create_lookuper()
        for i in range(start, len(keys), parallel):
            found[i] = await lookuper.lookup(keys[i])

    await asyncio.gather(*(worker(s) for s in range(min(parallel, len(keys)))))
    return found


async def code_of(awaitable) -> int:
    """The error code with which a call fails; 0 if it does not."""
    try:
        await awaitable
    except fluss.FlussError as e:
        return e.error_code
    return 0


async def eventually(check, timeout: float = 20.0, every: float = 0.1):
    """Wait until the coroutine function `check` returns something true; return it."""
    end = time.monotonic() + timeout
    while True:
        value = await check()
        if value:
            return value
        assert time.monotonic() < end, f"not true within {timeout} s"
        await asyncio.sleep(every)


async def ready(admin, table, partition: str | None = None, timeout: float = 20.0) -> None:
    """Wait until every bucket answers; a cluster may elect leaders after CREATE has returned."""
    info = table.get_table_info()
    if info.is_partitioned() and partition is None:
        return
    path, buckets = table.get_table_path(), list(range(info.num_buckets))

    async def answers():
        try:
            if partition is None:
                return len(await admin.list_offsets(path, buckets, fluss.OffsetSpec.latest())) == len(buckets)
            return len(await admin.list_partition_offsets(
                path, partition, buckets, fluss.OffsetSpec.latest())) == len(buckets)
        except fluss.FlussError:
            return False

    await eventually(answers, timeout, every=0.02)


def fold(changes, key):
    """State that a changelog describes: key -> row."""
    state = {}
    for _, _, change, row in changes:
        k = tuple(row[c] for c in key)
        if change in (I, UA):
            state[k] = row
        elif change in (D, UB):
            assert state.get(k) == row, f"{change} {row} but the state has {state.get(k)}"
            if change == D:
                del state[k]
        else:
            raise AssertionError(f"{change} in a changelog")
    return state
