"""Clients that take no answers, do not go away, or come in numbers: the server keeps its memory and its descriptors, and
answers the others."""
import contextlib
import os
import resource
import socket
import time

import pytest
from abuse import MB, Client, Neighbour, Usage, dynamodb, http, make_table
from crowds import eight_clients_send_ahead_and_do_not_read
from server import Server, done

HEALTH = http("GET", "/health")


def eventually(holds, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextlib.contextmanager
def started(directory, *flags, descriptors=None):
    """A server that may have so many descriptors: (soft, hard)."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors:
        # The server inherits the soft limit alone: this process must be able to go back.
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors[0], before[1]))
    try:
        server = Server(directory, "--log-level", "error", "--models", "none", *flags)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        eventually(lambda: metric(server, "holdfast_connections") == 1)  # the one that waited for the start is gone
        yield server
    finally:
        assert server.stop() == 0


@pytest.fixture
def many_descriptors():
    """For this process, which is a client thousands of times."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connected(server, count, stack):
    """So many clients, each served once."""
    clients = [stack.enter_context(Client(server)) for _ in range(count)]
    for client in clients:
        client.send(HEALTH)
    for client in clients:
        assert client.answer().status == 200
    return clients


def metric(server, name):
    with Client(server) as client:
        client.send(http("GET", "/metrics"))
        for line in client.answer().body.decode().splitlines():
            if line.startswith(name + " "):
                return int(float(line.split()[1]))
    raise AssertionError(name)


def test_eight_clients_that_send_ahead_and_do_not_read_take_no_more_than_50_mb(server):
    """The answers to all that was sent ahead used to be made before the first was sent: 400 MB in seconds."""
    usage = Usage(server.process.pid)
    with Neighbour(server), contextlib.ExitStack() as stack:
        usage.reset_peak()
        before = usage.resident()
        greedy = eight_clients_send_ahead_and_do_not_read(server, stack)
        assert usage.peak() - before <= 50 * MB, (usage.peak() - before) >> 20
        # And whoever reads after all gets all of it, in order.
        for _ in range(20):
            answer = greedy[0].answer()
            assert answer.status == 200 and len(answer.body) > 390_000


def test_clients_that_half_close_or_leave_free_their_connections(server):
    """The end that came with a request was never read: 5,520 such connections filled all slots for 900 seconds."""
    usage = Usage(server.process.pid)
    eventually(lambda: metric(server, "holdfast_connections") == 1)
    before = usage.descriptors()
    part = dynamodb("PutItem", b"x" * 10_000)[:-5_000]
    for i in range(400):
        with Client(server) as client:
            client.send(HEALTH if i % 2 else part)
            client.socket.shutdown(socket.SHUT_WR)
            if i % 2:
                assert client.answer().status == 200
    eventually(lambda: metric(server, "holdfast_connections") == 1)
    assert usage.descriptors() <= before + 1


def test_the_soft_limit_of_descriptors_is_not_the_servers(tmp_path, many_descriptors):
    """With 1,500 idle connections and the usual soft limit of 1,024 writes timed out and a thread span."""
    with started(tmp_path / "data", descriptors=(1024, None)) as server, contextlib.ExitStack() as stack:
        connected(server, 1_500, stack)
        make_table(server, "one")
        done(server.url, "PutItem", {"TableName": "one", "Item": {"id": {"S": "1"}}})


def test_ten_thousand_idle_connections_cost_little_and_others_are_served(tmp_path, many_descriptors):
    with started(tmp_path / "data", "--max-connections", "12000") as server, contextlib.ExitStack() as stack:
        limit = metric(server, "holdfast_connections_limit")
        count = min(10_000, limit - 100)
        usage = Usage(server.process.pid)
        before = usage.resident()
        connected(server, count, stack)
        assert metric(server, "holdfast_connections") == count + 1
        eventually(lambda: metric(server, "holdfast_receiving_bytes") < MB)
        assert usage.resident() - before <= 20_000 * count
        with Neighbour(server):
            pass


def test_one_connection_too_many_is_told_so_and_nobody_else_suffers(tmp_path):
    with started(tmp_path / "data", "--max-connections", "50") as server, contextlib.ExitStack() as stack:
        clients = connected(server, 50, stack)
        for _ in range(200):
            with Client(server) as late:
                late.send(dynamodb("ListTables", "{}"))
                answer = late.answer()
                assert answer.status == 503 and answer.headers["retry-after"] == "1"
        clients[7].send(HEALTH)
        assert clients[7].answer().status == 200
        clients[7].close()
        eventually(lambda: served_again(server))


def served_again(server):
    with Client(server) as client:
        client.send(HEALTH)
        return client.answer().status == 200


def test_without_descriptors_connections_are_refused_and_nothing_spins(tmp_path):
    """The listener woke the thread for as long as somebody waited to be accepted, at 100 % of a core."""
    with started(tmp_path / "data") as server, contextlib.ExitStack() as stack:
        clients = connected(server, 5, stack)
        usage = Usage(server.process.pid)
        pid = server.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1, limits[1]))
        refused = 0
        for _ in range(30):
            late = stack.enter_context(Client(server))
            with contextlib.suppress(ConnectionError):
                late.send(HEALTH)
            refused += late.answer().status != 200  # those that found a descriptor keep it
        assert refused >= 5
        waiting = [stack.enter_context(Client(server)) for _ in range(3)]
        begun, cpu = time.monotonic(), usage.cpu_seconds()
        while time.monotonic() - begun < 1:
            clients[0].send(HEALTH)
            assert clients[0].answer().status == 200
            time.sleep(0.05)
        assert usage.cpu_seconds() - cpu < 0.5
        assert len(waiting) == 3
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        eventually(lambda: served_again(server))


def test_a_chunked_body_of_extensions_is_refused_before_it_takes_memory(server):
    """Chunks of one byte with extensions of a kilobyte were all kept until the end of the body."""
    usage = Usage(server.process.pid)
    usage.reset_peak()
    before = usage.resident()
    head = dynamodb("PutItem", b"", Content_Length=None, Transfer_Encoding="chunked")
    with Client(server) as client:
        client.send(head)
        with contextlib.suppress(ConnectionError):
            for _ in range(64):
                client.send((b"1;" + b"x" * 1000 + b"\r\na\r\n") * 1000)
        assert client.answer().status in (0, 400)
    assert usage.peak() - before < 8 * MB
