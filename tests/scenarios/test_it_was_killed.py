"""At any moment: kill -9, start again, and the answer is the same. The other scenarios have such a test of their own; here
real flights are streamed and read while the server dies again and again."""

import asyncio

import fluss
import pandas as pd
import pytest

import flights as nycflights13
from kit import arrow_of, connect, ready

SETTINGS = '[log]\njournal_file_size = "1mb"\nmaintenance_interval = "200ms"\n'


@pytest.mark.timeout(300)
async def test_flights_are_streamed_and_read_through_ten_kills(workplace):
    data = nycflights13.load().slice(0, 100_000)
    server = workplace.server(settings=SETTINGS).start()
    path = fluss.TablePath("fluss", "flights")
    connection = await connect(server.bootstrap, writer_retries=2**31 - 1)
    admin = connection.get_admin()
    await admin.create_table(path, fluss.TableDescriptor(fluss.Schema(data.schema), bucket_count=1))
    table = await connection.get_table(path)
    await ready(admin, table)

    async def write():
        writer = table.new_append().create_writer()
        for batch in data.to_batches(max_chunksize=1_000):
            writer.write_arrow_batch(batch)
            await writer.flush()
            await asyncio.sleep(0.02)

    async def tail():
        """Two columns of all rows, each once, in order, over all kills."""
        mine = await (await connect(server.bootstrap)).get_table(path)
        scanner = await mine.new_scan().project_by_name(["dest", "arr_delay"]).create_record_batch_log_scanner()
        scanner.subscribe(0, fluss.EARLIEST_OFFSET)
        parts, seen = [], 0
        while seen < data.num_rows:
            for batch in await scanner.poll_record_batch(500):
                assert batch.base_offset == seen
                seen = batch.last_offset + 1
                parts.append(batch.batch.to_pandas())
        return pd.concat(parts, ignore_index=True)

    writing, reading = asyncio.create_task(write()), asyncio.create_task(tail())
    for _ in range(10):
        await asyncio.sleep(0.3)
        await asyncio.to_thread(server.restart)
    await asyncio.wait_for(writing, 120)
    told = await asyncio.wait_for(reading, 60)
    expected = data.to_pandas()
    pd.testing.assert_frame_equal(told, expected[["dest", "arr_delay"]])
    server.restart()
    again = await (await connect(server.bootstrap)).get_table(path)
    pd.testing.assert_frame_equal((await arrow_of(again)).to_pandas(), expected)
