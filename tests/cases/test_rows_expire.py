"""Rows that expire: each goes with a change of its own, which every reader hears of, and no restart brings it back."""

import time

import fluss
import pytest

import keyed
import kit
import rows
import wire as w

SETTINGS = '[log]\nmaintenance_interval = "100ms"\n'
ALL, LASTING = range(20), range(5)


@pytest.mark.parametrize("ending", ["kill", "stop"])
@pytest.mark.parametrize("engine", [None, "aggregation"])
async def test_rows_go_that_are_not_written_again(workplace, ending, engine):
    server = workplace.server(settings=SETTINGS).start()
    cluster = w.Cluster(server.bootstrap)
    properties = {"table.kv.row.ttl": "2s"}
    if engine:
        properties["table.merge-engine"] = engine
    table_id = cluster.new_table("fluss", "t", rows.descriptor(properties))

    def put(keys, text):
        assert cluster.put_kv(table_id, 0, rows.batch([rows.row(k, text, k) for k in keys]))["error"] is None

    def there():
        return {k for k, row in keyed.lookup(cluster.tablet, table_id, 0, list(ALL)).items() if row is not None}

    put(ALL, "first")
    assert there() == set(ALL)
    getattr(server, ending)()
    server.start()
    cluster = w.Cluster(server.bootstrap)
    patience = time.monotonic() + 30
    while not there() == set(LASTING):
        assert time.monotonic() < patience, f"still there: {there()}"
        put(LASTING, "again")
        time.sleep(0.1)
    assert keyed.count_of(cluster.tablet, table_id, 0) == len(LASTING)
    server.kill()
    server.start()
    cluster = w.Cluster(server.bootstrap)
    put(LASTING, "last")
    assert there() == set(LASTING)

    end = cluster.list_offsets(table_id, [0], 1)[0][1]
    cluster.close()
    connection = await kit.connect(server.bootstrap)
    table = await connection.get_table(fluss.TablePath("fluss", "t"))
    changes = await kit.changelog(table, end)
    await kit.close(connection)
    state = kit.fold([(0, *change) for change in changes], [0])
    assert {k for k, in state} == set(LASTING) and {row[1] for row in state.values()} == {"last"}
    gone = [row for _, kind, row in changes if kind == kit.D and row[0] not in LASTING]
    assert sorted(gone) == [(k, "first", k) for k in ALL if k not in LASTING], "each of them once"


def test_the_time_to_live_cannot_be_altered(workplace):
    cluster = w.Cluster(workplace.server().start().bootstrap)
    cluster.new_table("fluss", "t", rows.descriptor({"table.kv.row.ttl": "1d"}))
    with pytest.raises(w.WireError) as refused:
        cluster.alter_config("fluss", "t", [("table.kv.row.ttl", "2d", 0)])
    assert refused.value.error_code == 56
    assert cluster.table_info("fluss", "t")["json"]["properties"]["table.kv.row.ttl"] == "1d"
    cluster.close()
