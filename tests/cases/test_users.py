"""Clients that say who they are, and those that do not, or lie."""

import asyncio
import re

import fluss
import pytest

import kit
import wire as w

SETTINGS = '[fluss]\nsasl_listen = "127.0.0.1:0"\n[users]\nalice = "secret"\n"bob.b" = "pass word ü"\n'
SASL_PORT = re.compile(r"127\.0\.0\.1:(\d+) \(with SASL\)")


@pytest.fixture
def server(workplace):
    return workplace.server(settings=SETTINGS).start()


def sasl_address(server) -> str:
    return "127.0.0.1:" + SASL_PORT.search(server.ready_line).group(1)


def as_user(name, password) -> dict:
    return {"security_protocol": "sasl", "security_sasl_mechanism": "PLAIN", "security_sasl_username": name,
            "security_sasl_password": password}


@pytest.mark.parametrize("name, password", [("alice", "secret"), ("bob.b", "pass word ü")])
async def test_a_user_works_as_without(server, name, password):
    connection = await kit.connect(sasl_address(server), **as_user(name, password))
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "t")
    await admin.create_table(path, kit.descriptor(kit.fields(k=kit.pa.int32(), v=kit.pa.string()), pk=["k"], bucket_count=1))
    table = await connection.get_table(path)
    await kit.upsert(table, [[1, "one"]])
    assert await kit.changelog(table, 1) == [(0, kit.I, (1, "one"))]
    await kit.close(connection)
    # The same table, by the other door.
    plain = await kit.connect(server.bootstrap)
    found = await (await plain.get_table(path)).new_lookup().create_lookuper().lookup([1])
    assert found == {"k": 1, "v": "one"}
    await kit.close(plain)


@pytest.mark.parametrize("settings", [as_user("alice", "guess"), as_user("carol", "secret"), {}])
async def test_others_are_refused(server, settings):
    with pytest.raises(fluss.FlussError) as refused:
        await asyncio.wait_for(kit.connect(sasl_address(server), **settings), 10)
    assert refused.value.error_code == 46
    assert "secret" not in server.log.read_text() and "guess" not in server.log.read_text()


async def test_a_user_at_the_door_without_users_is_told(server):
    with pytest.raises(fluss.FlussError) as refused:
        await asyncio.wait_for(kit.connect(server.bootstrap, **as_user("alice", "secret")), 10)
    assert refused.value.error_code == 46


def test_each_door_tells_its_own_address(server):
    host, port = sasl_address(server).split(":")
    wire = w.Wire(host, int(port))
    wire.call(1038, w.msg((1, "PLAIN"), (2, b"\0alice\0secret")))
    metadata = w.decode(wire.call(w.GET_METADATA, b""))
    assert w.one(w.decode(w.one(metadata, 1)), 3) == int(port)
    assert w.one(w.decode(w.one(metadata, 2)), 3) == int(port)
    wire.close()


def test_the_open_door_can_be_shut(workplace):
    server = workplace.server(settings=SETTINGS.replace("[fluss]\n", '[fluss]\nlisten = ""\n'), port=None).start()
    assert "127.0.0.1:9123" not in server.ready_line and server.port == int(SASL_PORT.search(server.ready_line).group(1))
    assert server.stop() == 0
