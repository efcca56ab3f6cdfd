#!/usr/bin/env python3
"""How long rows take from append() to a scanner of the same program, through an unmodified pyfluss client.

Appends single rows at a steady rate and tails the table at the same time. Prints one line of JSON. The default client
gathers rows for 100 ms and waits 500 ms for news; --tuned gathers for 1 ms and waits 10 ms.
"""
import argparse
import asyncio
import json
import time

import fluss
import pyarrow as pa

SCHEMA = pa.schema([("id", pa.int64()), ("due_ns", pa.int64()), ("user_id", pa.int32()), ("item_id", pa.int32()),
                    ("price", pa.float64()), ("qty", pa.int32()), ("flag", pa.bool_()),
                    ("s1", pa.string()), ("s2", pa.string()), ("s3", pa.string())])


def row(number, due_ns):
    text = f"{number * 2654435761 % 2**64:016x}"
    return [number, due_ns, number % 100_000, number % 10_000, number % 1000 / 100, number % 100, number % 2 == 0,
            text, text + text[:4], text + text[:11]]


async def open_table(connection, name, durability):
    admin = connection.get_admin()
    await admin.create_database("bench", ignore_if_exists=True)
    path = fluss.TablePath("bench", name)
    await admin.drop_table(path, ignore_if_not_exists=True)
    properties = {"table.durability": durability} if durability else {}
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(SCHEMA), bucket_count=1, properties=properties))
    for _ in range(150):  # Apache Fluss elects the leader after it has answered
        try:
            await admin.list_offsets(path, [0], fluss.OffsetSpec.latest())
            break
        except fluss.FlussError:
            await asyncio.sleep(0.2)
    return admin, path, await connection.get_table(path)


async def tail(scanner, seen, running):
    while running.is_set():
        rows = await scanner.poll_arrow(200)
        now = time.perf_counter_ns()
        seen.extend((due, now) for due in rows.column(1).to_pylist())


async def run(arguments):
    config = fluss.Config({"bootstrap.servers": arguments.bootstrap})
    if arguments.tuned:
        config.writer_batch_timeout_ms = 1
        config.scanner_log_fetch_wait_max_time_ms = 10
    connection = await fluss.FlussConnection.create(config)
    admin, path, table = await open_table(connection, "pyfluss_latency", arguments.durability)
    scanner = await table.new_scan().create_record_batch_log_scanner()
    scanner.subscribe(0, fluss.EARLIEST_OFFSET)
    writer = table.new_append().create_writer()
    seen, running = [], asyncio.Event()
    running.set()
    tailing = asyncio.create_task(tail(scanner, seen, running))

    begin = time.perf_counter_ns()
    measured_from = begin + int(arguments.warmup * 1e9)
    count = int((arguments.warmup + arguments.seconds) * arguments.rate)
    for number in range(count):
        due = begin + int(number * 1e9 / arguments.rate)
        if (wait := (due - time.perf_counter_ns()) / 1e9) > 0:
            await asyncio.sleep(wait)
        writer.append(row(number, due))
    await writer.flush()
    deadline = time.monotonic() + 5
    while len(seen) < count and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    running.clear()
    await tailing
    await admin.drop_table(path)

    times = sorted((at - due) / 1e6 for due, at in seen if due >= measured_from)
    at = lambda share: round(times[min(len(times) - 1, int(len(times) * share))], 3)
    print(json.dumps({"bench": "pyfluss latency", "tuned": arguments.tuned, "rate": arguments.rate,
                      "rows": count, "unseen": count - len(seen), "visible_count": len(times),
                      "visible_p50_ms": at(0.5), "visible_p90_ms": at(0.9), "visible_p99_ms": at(0.99),
                      "visible_p999_ms": at(0.999), "visible_max_ms": at(1)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bootstrap", default="127.0.0.1:9123")
    parser.add_argument("--rate", type=float, default=1000, help="rows a second")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warmup", type=float, default=3)
    parser.add_argument("--durability", default="", help="os or disk (Weir only)")
    parser.add_argument("--tuned", action="store_true", help="batches of 1 ms, fetches of 10 ms")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
