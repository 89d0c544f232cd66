"""What a client costs the server: processor time, memory, and how long another client waits meanwhile.

    with Neighbour(server) as neighbour:
        cost = cost_of(server, [dynamodb("GetItem", body)])
    assert cost.answers[0].status == 400
    assert cost.grown < 64 * MB

Everything is measured at the server's process: the machine may be busy. Sockets are raw, so that a client can do what no
library would.
"""
import contextlib
import dataclasses
import json
import os
import socket
import threading
import time

from server import HEADERS, done

MB = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass
class Answer:
    status: int  # 0: the connection ended without one
    headers: dict  # by name in lower case
    body: bytes

    @property
    def error(self):
        """Of DynamoDB: the name of its error; empty: none."""
        try:
            return json.loads(self.body).get("__type", "").split("#")[-1]
        except ValueError:
            return ""


class Client:
    """One connection."""

    def __init__(self, server, receive_buffer=None, timeout=60):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", server.port))
        self.received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, request):
        self.socket.sendall(request)

    def send_what_fits(self, request):
        """As much as the server and the kernel between us take before they stop taking; gives the count."""
        self.socket.settimeout(1)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < len(request):
                sent += self.socket.send(request[sent : sent + (256 << 10)])
        return sent

    def answer(self):
        while b"\r\n\r\n" not in self.received:
            if not self._more():
                return Answer(0, {}, self.received)
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        size = int(headers.get("content-length", 0))
        while len(self.received) < size:
            if not self._more():
                return Answer(0, headers, self.received)
        body, self.received = self.received[:size], self.received[size:]
        return Answer(int(first.split()[1]), headers, body)

    def ended(self):
        """True when the server has closed the connection, and sent nothing more before that; waits for it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _more(self):
        try:
            piece = self.socket.recv(256 << 10)
        except ConnectionError:
            piece = b""
        self.received += piece
        return piece != b""


def http(method, path, body=b"", **headers):
    """A request as bytes. Underscores in names of headers are dashes; None leaves a header out."""
    lines = {"Host": "localhost", "Content-Length": len(body), **{k.replace("_", "-"): v for k, v in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def dynamodb(operation, body, **headers):
    """`body`: bytes, text, or an object."""
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body, separators=(",", ":"))
    if isinstance(body, str):
        body = body.encode()
    return http("POST", "/", body, **{**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}", **headers})


class Usage:
    """Of a process."""

    def __init__(self, pid):
        self.pid = pid

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident(self):
        with open(f"/proc/{self.pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE

    def reset_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as file:
            file.write("5")

    def peak(self):
        """The most that was resident since reset_peak."""
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
        raise AssertionError("no VmHWM")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Neighbour:
    """Another client, who asks for one item over and over and notes how long each answer took."""

    def __init__(self, server, table="neighbours"):
        self.server, self.table = server, table
        self.seconds = []
        self.began, self.over = threading.Event(), threading.Event()

    def __enter__(self):
        make_table(self.server, self.table)
        done(self.server.url, "PutItem", {"TableName": self.table, "Item": {"id": {"S": "1"}, "text": {"S": "x" * 500}}})
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        self.began.wait()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        assert not self.failed, "the other client was refused"

    def _run(self):
        request = dynamodb("GetItem", {"TableName": self.table, "Key": {"id": {"S": "1"}}})
        with Client(self.server) as client:
            while not self.over.is_set():
                begun = time.monotonic()
                client.send(request)
                self.failed = client.answer().status != 200
                self.seconds.append(time.monotonic() - begun)
                self.began.set()
                if self.failed:
                    return
                time.sleep(0.002)

    @property
    def slowest(self):
        return max(self.seconds)

    @property
    def p99(self):
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)]


@dataclasses.dataclass
class Cost:
    answers: list
    cpu_seconds: float  # of all of them
    grown: int  # bytes: the peak above what was resident before
    kept: int  # bytes resident above that after the answers


def cost_of(server, requests, timeout=120):
    """Sends each request on a connection of its own, all at once, reads the answers and tells what they cost."""
    usage = Usage(server.process.pid)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server, timeout=timeout)) for _ in requests]
        usage.reset_peak()
        cpu, resident = usage.cpu_seconds(), usage.resident()
        senders = [threading.Thread(target=c.send, args=(r,)) for c, r in zip(clients, requests)]
        for sender in senders:
            sender.start()
        answers = [client.answer() for client in clients]
        for sender in senders:
            sender.join()
        return Cost(answers, usage.cpu_seconds() - cpu, usage.peak() - resident, usage.resident() - resident)


def make_table(server, name, **more):
    """With a partition key `id`; nothing happens when it is there."""
    request = {"TableName": name, "BillingMode": "PAY_PER_REQUEST",
               "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
               "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], **more}  # fmt: skip
    with Client(server) as client:
        client.send(dynamodb("CreateTable", request))
        answer = client.answer()
    assert answer.status == 200 or answer.error == "ResourceInUseException", answer
