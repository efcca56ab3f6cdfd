"""More than the server wants to hold: it reads no further from that client, and the others do not notice."""

import socket
import struct
import threading
import time

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
