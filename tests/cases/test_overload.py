"""More than the server wants to hold: it reads no further from that client, and the others do not notice."""

import socket
import struct
import threading
import time
from pathlib import Path

import batches
import driver
import wire as w


def waiting_fetch(table_id, wait_ms):
    bucket = w.msg((2, 0), (3, 0), (4, 1000))
    return w.msg((1, -1), (2, 1000), (3, w.msg((1, table_id), (2, False), (4, bucket))), (4, wait_ms), (5, 1))


def test_a_client_with_thousands_of_open_requests_delays_nobody_else(wire, db):
    wire.create_table_json(db, "t", driver.descriptor())
    table_id = wire.table_info(db, "t")["table_id"]
    address = wire.tablet.sock.getpeername()
    greedy = w.Wire(*address, timeout=60)
    count = 5_000

    def flood():
        for _ in range(count):
            greedy.send(w.FETCH_LOG, waiting_fetch(table_id, 300))

    sending = threading.Thread(target=flood)
    sending.start()
    other = w.Wire(*address)
    slowest = 0.0
    for _ in range(200):
        begin = time.monotonic()
        other.call(w.GET_METADATA, b"")
        slowest = max(slowest, time.monotonic() - begin)
    assert slowest < 1.0, f"another client waited {slowest:.2f} s"
    answered = set()
    for _ in range(count):
        kind, request, _ = greedy.receive()
        assert kind == 0
        answered.add(request)
    sending.join()
    assert len(answered) == count
    other.close()
    greedy.close()


def memory_mb(server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) // 1024


def test_clients_that_take_no_answers_cost_a_bounded_amount_of_memory(workplace):
    """Each asks for two gigabytes, in requests of 2 MB, and reads nothing."""
    server = workplace.server().start()
    cluster = w.Cluster(server.bootstrap)
    cluster.create_table_json("fluss", "t", driver.descriptor())
    table_id = cluster.table_info("fluss", "t")["table_id"]
    big = batches.encode(driver.rows(1, 0, 10, "p" * 10_000))
    for _ in range(20):
        assert cluster.produce(table_id, 0, big)["error"] is None
    before = memory_mb(server)
    body = w.msg((1, -1), (2, 50 << 20), (3, w.msg((1, table_id), (2, False), (4, w.msg((2, 0), (3, 0), (4, 50 << 20))))))
    frames = (struct.pack(">ihhi", 8 + len(body), w.FETCH_LOG, 0, 7) + body) * 1_000
    deaf = [w.Wire("127.0.0.1", server.port) for _ in range(20)]
    for client in deaf:
        client.sock.settimeout(0.2)
        try:
            client.sock.sendall(frames)                          # what does not fit into the sockets is not sent
        except TimeoutError:
            pass
    most, slowest = 0, 0.0
    for _ in range(30):
        begin = time.monotonic()
        assert cluster.tablet.call(w.GET_METADATA, b"")
        assert cluster.fetch(table_id, 0, 0)["error"] is None
        slowest = max(slowest, time.monotonic() - begin)
        most = max(most, memory_mb(server))
        time.sleep(0.05)
    assert most - before < 600, f"{before} MB before, {most} MB with deaf clients"
    assert slowest < 2, f"another client waited {slowest:.1f} s"
    for client in deaf:
        client.close()
    assert cluster.produce(table_id, 0, big)["error"] is None
    cluster.close()
    assert server.stop() == 0


def test_frames_that_cannot_be_end_their_connection_only(wire):
    address = wire.tablet.sock.getpeername()
    for head in (struct.pack(">i", -1), struct.pack(">i", 2**31 - 1), struct.pack(">i", 3) + b"abc",
                 struct.pack(">ihhi", 300 << 20, w.PRODUCE_LOG, 0, 1), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
        bad = socket.create_connection(address, timeout=10)
        bad.sendall(head)
        bad.shutdown(socket.SHUT_WR)
        while bad.recv(1000):
            pass
        bad.close()
    assert wire.tablet.call(w.GET_METADATA, b"")


def test_two_thousand_connections_at_once(wire):
    address = wire.tablet.sock.getpeername()
    connections = [socket.create_connection(address, timeout=10) for _ in range(2_000)]
    assert wire.tablet.call(w.GET_METADATA, b"")
    last = w.Wire(*address)
    last.call(w.GET_METADATA, b"")
    last.close()
    for connection in connections:
        connection.close()
