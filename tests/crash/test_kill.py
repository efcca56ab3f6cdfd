"""kill -9 at any moment, start again: nothing acknowledged is lost, nothing is there twice, offsets have no holes, and
writers go on where they were."""

import asyncio
import os
import random
import time

import fluss
import pytest

import driver
import kit
import wire as w

ROUNDS = int(os.environ.get("WEIR_KILL_ROUNDS", "50"))

# Small files that are looked at often, so that sealing, compaction and checkpoints are among what is killed.
BUSY = '[log]\njournal_file_size = "1mb"\nmaintenance_interval = "100ms"\n'


class PythonWriter:
    """The unmodified client: rows n = 0, 1, 2, ... of writer `me`, acknowledged in groups."""

    def __init__(self, bootstrap, path, me):
        self.bootstrap, self.path, self.me = bootstrap, path, me
        self.acked_rows = 0
        self.is_ending = False

    async def run(self):
        connection = await kit.connect(self.bootstrap, writer_retries=2**31 - 1)
        writer = (await connection.get_table(self.path)).new_append().create_writer()
        n = 0
        while not self.is_ending:
            handles = [writer.append([self.me, n + i, "from Python"]) for i in range(20)]
            await writer.flush()
            for handle in handles:
                await handle.wait()
            n += 20
            self.acked_rows = n
        await kit.close(connection)


@pytest.mark.timeout(600)
async def test_fifty_kills_under_load(workplace):
    seed = int(os.environ.get("WEIR_SEED", time.time()))
    print(f"WEIR_SEED={seed}")
    chance = random.Random(seed)
    server = workplace.server(settings=BUSY).start()
    cluster = w.Cluster(server.bootstrap)
    table_ids = {}
    for name, properties in (("disk", {}), ("os", {"table.durability": "os"})):
        cluster.create_table_json("fluss", name, driver.descriptor(2, **properties))
        table_ids[name] = cluster.table_info("fluss", name)["table_id"]
    cluster.create_table_json("fluss", "python", driver.descriptor(1))
    table_ids["python"] = cluster.table_info("fluss", "python")["table_id"]
    cluster.close()

    address = ("127.0.0.1", server.port)
    native = [driver.Writer(address, table_ids["disk"], 0, 0, pause=0.001),
              driver.Writer(address, table_ids["disk"], 0, 1, pause=0.003),
              driver.Writer(address, table_ids["disk"], 1, 2, rows_a_batch=1, pause=0.001),
              driver.Writer(address, table_ids["os"], 0, 3, pause=0.001),
              driver.Writer(address, table_ids["os"], 1, 4, rows_a_batch=100, pause=0.005)]
    pythons = [PythonWriter(server.bootstrap, fluss.TablePath("fluss", "python"), me) for me in (10, 11)]
    buckets = [driver.Bucket(table_ids["disk"], 0), driver.Bucket(table_ids["disk"], 1),
               driver.Bucket(table_ids["os"], 0), driver.Bucket(table_ids["os"], 1), driver.Bucket(table_ids["python"], 0)]

    def told_safe(bucket):
        if bucket.table_id == table_ids["python"]:
            return {p.me: p.acked_rows for p in pythons}
        return {d.me: d.acked_rows for d in native if (d.table_id, d.bucket) == (bucket.table_id, bucket.bucket)}

    def check():
        wire = w.Wire(*address)
        for bucket in buckets:
            offsets = {(d.writer_id, s): o for d in native for s, o in list(d.acked.items())}
            bucket.check(wire, told_safe(bucket), offsets)
        wire.close()

    for thread in native:
        thread.start()
    tasks = [asyncio.create_task(p.run()) for p in pythons]
    acked_before = 0
    for number in range(1, ROUNDS + 1):
        await asyncio.sleep(chance.uniform(0.02, 0.5))
        server.kill()
        if number % 7 == 0:
            server.start_and_kill(chance.uniform(0, 0.03))
        server.start()
        if number % 25 == 0:
            for bucket in buckets:
                bucket.forget()
        await asyncio.to_thread(check)
        for task in tasks:
            assert not task.done(), f"a client's writer gave up: {task.exception()!r}"
    for python in pythons:
        python.is_ending = True
    await asyncio.wait_for(asyncio.gather(*tasks), 60)
    for thread in native:
        await asyncio.to_thread(thread.finish)
    for bucket in buckets:
        bucket.forget()
    await asyncio.to_thread(check)
    # They did go on through all of it, each to the last row that it was told is safe.
    for writer in native + pythons:
        assert writer.acked_rows > 10 * ROUNDS, f"writer {writer.me} wrote {writer.acked_rows} rows only"
    for bucket in buckets:
        assert bucket.rows_of == told_safe(bucket)
    assert server.stop() == 0


@pytest.mark.timeout(120)
def test_a_stop_is_as_good_as_a_kill(workplace):
    """SIGTERM under load: what was acknowledged stays, and the process ends by itself with status 0."""
    server = workplace.server(settings=BUSY).start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor())
    table_id = cluster.table_info("fluss", "t")["table_id"]
    cluster.close()
    address = ("127.0.0.1", server.port)
    writer, bucket = driver.Writer(address, table_id, 0, 1), driver.Bucket(table_id, 0)
    writer.start()
    for _ in range(5):
        time.sleep(0.2)
        assert server.stop() == 0, server.log_tail()
        acked = {1: writer.acked_rows}
        server.start()
        wire = w.Wire(*address)
        bucket.check(wire, acked)
        wire.close()
    writer.finish()
    assert server.stop() == 0


def test_what_was_decided_about_tables_survives_a_kill(workplace):
    server = workplace.server().start()
    cluster = w.Cluster(server.bootstrap)
    cluster.coordinator.call(w.CREATE_DATABASE, w.msg((1, "shop"), (2, False), (3, b'{"version":1,"comment":"c","custom_properties":{"k":"v"}}')))
    cluster.create_table_json("shop", "orders", driver.descriptor(3, **{"table.log.ttl": "2d"}))
    cluster.create_table_json("shop", "gone", driver.descriptor())
    gone_id = cluster.table_info("shop", "gone")["table_id"]
    cluster.coordinator.call(1006, w.msg((1, w.table_path("shop", "gone")), (2, False)))
    cluster.add_column("shop", "orders", "extra", {"type": "DOUBLE"}, comment="later")
    cluster.alter_config("shop", "orders", [("owner", "me", 0), ("table.log.ttl", "1d", 0)])
    parted = driver.descriptor()
    parted["partition_key"] = ["pad"]
    cluster.create_table_json("shop", "parted", parted)
    for day in ("a", "b"):
        cluster.coordinator.call(w.CREATE_PARTITION, w.msg(
            (1, w.table_path("shop", "parted")), (2, w.msg((1, w.msg((1, "pad"), (2, day))))), (3, False)))

    def everything():
        told = {t: cluster.table_info("shop", t) for t in ("orders", "parted")}
        told["database"] = cluster.coordinator.call(1035, w.msg((1, "shop")))
        told["partitions"] = cluster.tablet.call(1009, w.msg((1, w.table_path("shop", "parted"))))
        told["schemas"] = [cluster.table_schema("shop", "orders", i) for i in (1, 2)]
        return told

    before = everything()
    cluster.close()
    for _ in range(3):
        server.restart()
        cluster = w.Cluster(server.bootstrap)
        assert everything() == before
        with pytest.raises(w.WireError) as e:
            cluster.table_info("shop", "gone")
        assert e.value.error_code == 7
    cluster.create_table_json("shop", "gone", driver.descriptor())
    again = cluster.table_info("shop", "gone")["table_id"]
    assert again > max(gone_id, before["orders"]["table_id"], before["parted"]["table_id"])
    cluster.close()
