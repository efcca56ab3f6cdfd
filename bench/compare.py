#!/usr/bin/env python3
"""Weir, Apache Fluss 0.9.1 and the limit program under the same load, in one run on one machine.

    bench/compare.py [--repeats 3] [--seconds 8] [--servers weir,fluss,limit] [--only logs|rows]
                     [--python PYTHON_WITH_PYFLUSS]

Starts the servers one after the other, each repeat anew on an empty directory, so that what else the machine does falls
on all of them alike. Prints tables of medians in Markdown; every single run goes as a line of JSON to --out.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "peer"))
import peer  # noqa: E402

WEIR_PORT, LIMIT_PORT = 19223, 19323
SCAN_ROWS = {10: 3_000_000, 50: 600_000}  # logs of 164 and 340 MB
SETTLE_SECONDS = 2
WARMUP = {"weir": 2, "limit": 1, "limit, changelog": 1, "fluss": 6}  # the JVM compiles while it runs
MANY_TABLES, MANY_BUCKETS = 10_000, 2
UPSERTS_PER_S = 50_000
# Rows of 300 bytes that are ten times the memory that they may take. Fluss shares it between RocksDB's block cache and its
# two write buffers; nothing limits what it has besides in the JVM.
COLD_MB = 32
COLD_FLUSS = ["kv.rocksdb.block.cache-size: 16mb", "kv.rocksdb.writebuffer.size: 8mb", "kv.rocksdb.writebuffer.count: 2"]


def memory_mb(pids):
    """Resident memory of all processes together."""
    total = 0
    for pid in pids:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        if "VmRSS:" not in status:
            raise RuntimeError(f"a server has ended: pid {pid}")
        total += int(status.split("VmRSS:")[1].split()[0])
    return total / 1024


class Program:
    """A server of one process that says when it is ready."""

    def __init__(self, command, bootstrap):
        begin = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "ready" in line:
                break
        else:
            raise RuntimeError(f"{command[0]} did not start: exit status {self.process.wait()}")
        self.start_seconds = time.monotonic() - begin
        self.bootstrap = bootstrap
        self.pids = [self.process.pid]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(server, arguments, wipe=True, limit=("log",), is_cold=False):
    directory = pathlib.Path(arguments.work) / server
    if wipe:
        shutil.rmtree(directory, ignore_errors=True)
    if server == "fluss":
        fluss = peer.Fluss(directory, COLD_FLUSS if is_cold else ())
        fluss.bootstrap = peer.BOOTSTRAP
        return fluss
    directory.mkdir(parents=True, exist_ok=True)
    if server.startswith("limit"):
        command = [arguments.limit, str(LIMIT_PORT), str(directory / "log"), *limit]
        return Program(command + ([str(COLD_MB)] if is_cold else []), f"127.0.0.1:{LIMIT_PORT}")
    bootstrap = f"127.0.0.1:{WEIR_PORT}"
    command = [arguments.weir, "serve", "--data-dir", str(directory), "--listen-fluss", bootstrap]
    if is_cold:
        config = pathlib.Path(arguments.work) / "weir.toml"
        config.write_text(f'[kv]\nmemory_max = "{COLD_MB}mb"\n')
        command += ["--config", str(config)]
    return Program(command, bootstrap)


class Results:
    """What was measured, by name and server: a list of the repeats."""

    def __init__(self, out):
        self.runs = collections.defaultdict(lambda: collections.defaultdict(list))
        self.out = open(out, "w")

    def add(self, name, server, values):
        self.runs[name][server].append(values)
        print(json.dumps({"name": name, "server": server, **values}), file=self.out, flush=True)
        print(f"# {datetime.datetime.now():%H:%M:%S} {server} {name}", file=sys.stderr)

    def median(self, name, server, field):
        values = [run[field] for run in self.runs[name][server] if field in run]
        return statistics.median(values) if values else None


def run_bench(server, running, arguments, results, name, *options, warmup=None, durability="os"):
    command = [arguments.weir, "bench", *options, "--bootstrap", running.bootstrap, "--json",
               "--server-pid", ",".join(map(str, running.pids))]
    if "tables" not in options:
        command += ["--seconds", str(arguments.seconds), "--warmup", str(WARMUP[server] if warmup is None else warmup)]
    if server == "weir":
        command += ["--durability", durability]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode == 0:
        results.add(name, server, json.loads(done.stdout))
    else:
        print(f"# {server} {name}: failed with status {done.returncode}", file=sys.stderr)
    time.sleep(SETTLE_SECONDS)


def measure(server, running, arguments, results):
    def bench(name, *options, durability="os"):
        run_bench(server, running, arguments, results, name, *options, durability=durability)

    def pyfluss(name, *options):
        command = [arguments.python, str(ROOT / "bench" / "clients" / "latency.py"), "--bootstrap", running.bootstrap,
                   "--seconds", str(arguments.seconds), *options]
        if server == "weir":
            command += ["--durability", "os"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        # The client may abort when its program ends, after it has printed everything.
        if lines := done.stdout.splitlines():
            results.add(name, server, json.loads(lines[-1]))

    time.sleep(SETTLE_SECONDS)
    results.add("idle", server, {"start_ms": running.start_seconds * 1000, "memory_mb": memory_mb(running.pids)})
    if server != "limit":
        bench("latency, wait 10 ms", "latency", "--wait-ms", "10")
        bench("latency, wait 500 ms", "latency")
        if server == "weir":
            bench("latency, disk", "latency", durability="disk")
        if arguments.python:
            pyfluss("pyfluss, default")
            pyfluss("pyfluss, tuned", "--tuned")
    for columns in (10, 50):
        cols = ["--cols", str(columns)]
        bench(f"append, {columns} columns", "append", *cols)
        if server == "weir":
            bench(f"append, {columns} columns, disk", "append", *cols, durability="disk")
        bench(f"scan, {columns} columns", "scan", *cols, "--rows", str(SCAN_ROWS[columns]))
        if server == "limit":  # it has one log; empty it before the next bench
            subprocess.run([arguments.weir, "bench", "append", *cols, "--bootstrap", running.bootstrap, "--seconds", "0.1",
                            "--warmup", "0"], stdout=subprocess.DEVNULL, check=True)
        else:
            bench(f"scan, 2 of {columns} columns", "scan", *cols, "--project", "0,1")
    results.add("after the load", server, {"memory_mb": memory_mb(running.pids)})


def measure_hot_rows(server, running, arguments, results):
    def bench(name, *options, **more):
        run_bench(server, running, arguments, results, name, *options, **more)

    if server == "fluss":  # the JVM compiles; what it inserts here is dropped
        subprocess.run([arguments.weir, "bench", "upsert", "--table", "warmup", "--bootstrap", running.bootstrap],
                       stdout=subprocess.DEVNULL, check=True)
    for row_bytes, keys in ((100, 1_000_000), (1000, 300_000)):
        rows = ["--row-bytes", str(row_bytes), "--keys", str(keys)]
        bench(f"insert, {row_bytes} B", "upsert", *rows, "--keep")
        bench(f"update, {row_bytes} B", "upsert", "--phase", "update", *rows)
        if row_bytes == 100:
            bench(f"update, {row_bytes} B, Zipf", "upsert", "--phase", "update", "--zipf", "0.99", *rows)
        if server == "limit, changelog":
            continue  # its lookups are those of the other limit
        bench(f"lookup, {row_bytes} B", "lookup", *rows)
    if server == "limit, changelog":
        return
    bench("lookup, 100 B, Zipf", "lookup", "--zipf", "0.99")
    bench("prefix lookup, 100 B", "prefix")
    bench("single lookup", "lookup", "--keys-per-request", "1")
    bench("single lookup beside upserts", "lookup", "--keys-per-request", "1", "--upsert-rate", str(UPSERTS_PER_S))


def measure_cold_rows(server, running, arguments, results):
    def bench(name, *options, **more):
        run_bench(server, running, arguments, results, f"{name}, cold", *options, "--row-bytes", "300", **more)

    if server == "fluss":
        subprocess.run([arguments.weir, "bench", "upsert", "--table", "warmup", "--bootstrap", running.bootstrap],
                       stdout=subprocess.DEVNULL, check=True)
    bench("insert", "upsert", "--keep")
    bench("update", "upsert", "--phase", "update")
    if server != "limit, changelog":
        bench("lookup", "lookup")
        bench("lookup, Zipf", "lookup", "--zipf", "0.99")


def measure_rows(server, arguments, results):
    limits = {"limit": ["rows"], "limit, changelog": ["changelog"]}
    for is_cold, measure_them in ((False, measure_hot_rows), (True, measure_cold_rows)):
        running = start(server, arguments, limit=limits.get(server, ()), is_cold=is_cold)
        try:
            time.sleep(SETTLE_SECONDS)
            measure_them(server, running, arguments, results)
            results.add("after the rows" + (", cold" if is_cold else ""), server, {"memory_mb": memory_mb(running.pids)})
        finally:
            running.stop()
            shutil.rmtree(pathlib.Path(arguments.work) / server, ignore_errors=True)


def measure_many_tables(arguments, results):
    running = start("weir", arguments)
    try:
        made = subprocess.run([arguments.weir, "bench", "tables", "--tables", str(MANY_TABLES), "--buckets",
                               str(MANY_BUCKETS), "--bootstrap", running.bootstrap, "--json"],
                              stdout=subprocess.PIPE, text=True, check=True)
        results.add("many tables", "weir", {**json.loads(made.stdout), "memory_mb": memory_mb(running.pids)})
    finally:
        running.stop()
    for _ in range(arguments.repeats):
        running = start("weir", arguments, wipe=False)
        try:
            time.sleep(SETTLE_SECONDS)
            results.add("many tables, again", "weir",
                        {"start_ms": running.start_seconds * 1000, "memory_mb": memory_mb(running.pids)})
        finally:
            running.stop()


def show(value, digits=3):
    if value is None:
        return "–"
    if value >= 1_000_000:
        return f"{value / 1e6:.{2 if value < 1e8 else 0}f} M"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def ratio(a, b):
    return "–" if a is None or not b else f"{a / b:.2f}"


def print_throughput(results):
    print("\n| bench | server | rows/s | MB/s | wire B/row | server CPU s/GB | server CPU µs/row | client CPU s/GB |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    fields = ["rows_per_s", "user_mb_per_s", "wire_bytes_per_row", "server_cpu_s_per_wire_gb", "server_cpu_us_per_row",
              "client_cpu_s_per_wire_gb"]
    for name, servers in results.runs.items():
        if not name.startswith(("append", "scan")):
            continue
        for server in servers:
            cells = [show(results.median(name, server, field)) for field in fields]
            print(f"| {name} | {server} | {' | '.join(cells)} |")


def print_ratios(results):
    print("\n| server CPU | weir / limit, per GB | fluss / weir, per GB | fluss / weir, per row |")
    print("|---|--:|--:|--:|")
    per_gb, per_row = "server_cpu_s_per_wire_gb", "server_cpu_us_per_row"
    for name in results.runs:
        if not name.startswith(("append", "scan")) or name.endswith("disk"):
            continue
        weir, fluss, limit = (results.median(name, server, per_gb) for server in ("weir", "fluss", "limit"))
        rows = ratio(results.median(name, "fluss", per_row), results.median(name, "weir", per_row))
        print(f"| {name} | {ratio(weir, limit)} | {ratio(fluss, weir)} | {rows} |")
    for columns in (10, 50):
        parts = [results.median(f"scan, {which}{columns} columns", "weir", per_row) for which in ("2 of ", "")]
        if all(parts):
            print(f"\nWeir's scan of 2 of {columns} columns costs {parts[0] / parts[1]:.3f} of the full scan's CPU per row.")


def print_latency(results):
    print("\n| append to visible, ms | server | p50 | p90 | p99 | p99.9 | max |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, servers in results.runs.items():
        if not name.startswith(("latency", "pyfluss")):
            continue
        for server in servers:
            cells = [show(results.median(name, server, f"visible_{at}_ms")) for at in ("p50", "p90", "p99", "p999", "max")]
            print(f"| {name} | {server} | {' | '.join(cells)} |")


ROW_BENCHES = ("insert", "update", "lookup", "prefix")


def print_rows(results):
    per_row = "server_cpu_us_per_row"
    print("\n| bench | server | rows/s | server CPU µs/row | fluss / it | it / limit | it / limit with changelog |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, servers in results.runs.items():
        if not name.startswith(ROW_BENCHES):
            continue
        fluss, limit, changelog = (results.median(name, server, per_row) for server in ("fluss", "limit", "limit, changelog"))
        for server in servers:
            cost = results.median(name, server, per_row)
            cells = [show(results.median(name, server, "rows_per_s")), show(cost), ratio(fluss, cost), ratio(cost, limit),
                     ratio(cost, changelog)]
            print(f"| {name} | {server} | {' | '.join(cells)} |")
    print("\n| lookup, ms | server | lookups/s | p50 | p99 | p99.9 | upserts/s |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, servers in results.runs.items():
        if not name.startswith("single lookup"):
            continue
        for server in servers:
            cells = [show(results.median(name, server, field)) for field in
                     ("rows_per_s", "lookup_p50_ms", "lookup_p99_ms", "lookup_p999_ms", "upserts_per_s")]
            print(f"| {name} | {server} | {' | '.join(cells)} |")
    print("\n| server | memory after the rows, MB | after the cold rows, MB |")
    print("|---|--:|--:|")
    for server in results.runs["after the rows"]:
        cells = [show(results.median(name, server, "memory_mb")) for name in ("after the rows", "after the rows, cold")]
        print(f"| {server} | {' | '.join(cells)} |")


def print_rest(results):
    print("\n| server | ready after, ms | memory idle, MB | memory after the load, MB |")
    print("|---|--:|--:|--:|")
    for server in results.runs["idle"]:
        cells = [show(results.median("idle", server, "start_ms")), show(results.median("idle", server, "memory_mb")),
                 show(results.median("after the load", server, "memory_mb"))]
        print(f"| {server} | {' | '.join(cells)} |")
    if results.runs["many tables, again"]["weir"]:
        print(f"\nWeir with {MANY_TABLES:,} tables of {MANY_BUCKETS} buckets: "
              f"{show(results.median('many tables', 'weir', 'tables_per_s'))} tables/s created, ready after "
              f"{show(results.median('many tables, again', 'weir', 'start_ms'))} ms, "
              f"{show(results.median('many tables, again', 'weir', 'memory_mb'))} MB idle.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8, help="measured time of each bench")
    parser.add_argument("--servers", default="weir,fluss,limit")
    parser.add_argument("--only", choices=["logs", "rows"], help="log tables or primary-key tables only")
    parser.add_argument("--weir", default=str(ROOT / "build" / "release" / "weir"))
    parser.add_argument("--limit", default=str(ROOT / "build" / "release" / "weir_limit"))
    parser.add_argument("--python", default="", help="a Python with pyfluss, for the benches of its default client")
    parser.add_argument("--work", default="/tmp/weir-bench", help="directory for the servers' data")
    parser.add_argument("--out", default="", help="file for the single runs (default: in the work directory)")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    results = Results(arguments.out or f"{arguments.work}/runs.jsonl")

    servers = arguments.servers.split(",")
    has_logs, has_rows = arguments.only != "rows", arguments.only != "logs"
    for _ in range(arguments.repeats):
        for server in servers if has_logs else ():
            running = start(server, arguments)
            try:
                measure(server, running, arguments, results)
            finally:
                running.stop()
                shutil.rmtree(pathlib.Path(arguments.work) / server, ignore_errors=True)
        for server in servers + (["limit, changelog"] if "limit" in servers else []) if has_rows else ():
            measure_rows(server, arguments, results)
    if "weir" in servers and has_logs:
        measure_many_tables(arguments, results)

    print(f"{datetime.date.today()}, {os.cpu_count()} cores, {platform.platform()}; client and server on one machine; "
          f"medians of {arguments.repeats}, {arguments.seconds:g} s each; load {os.getloadavg()[0]:.1f} at the end.")
    if has_logs:
        print_throughput(results)
        print_ratios(results)
        print_latency(results)
        print_rest(results)
    if has_rows:
        print_rows(results)


if __name__ == "__main__":
    main()
