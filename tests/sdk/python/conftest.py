"""Starts one holdfast on a free port and a fresh directory, and gives every test a boto3 client of it.

HOLDFAST_ENDPOINT points the same tests at another endpoint, real DynamoDB included.
"""
import os
import pathlib
import socket
import subprocess
import time
import uuid

import boto3
import pytest
from botocore.config import Config

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "build" / "release" / "holdfast"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running holdfast; restart() is a kill -9 and a new start on the same directory."""

    def __init__(self, directory, *flags):
        self.port = free_port()
        self.directory = directory
        self.flags = flags
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [str(PROGRAM), "serve", "--port", str(self.port), "--data", str(self.directory), *self.flags]
        )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None, "holdfast ended at its start"
                time.sleep(0.01)
        raise AssertionError("holdfast did not start in 20 s")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=30)


def make_client(url, service="dynamodb"):
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"max_attempts": 0}),
    )


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory):
    if os.environ.get("HOLDFAST_ENDPOINT"):
        yield os.environ["HOLDFAST_ENDPOINT"]
        return
    server = Server(tmp_path_factory.mktemp("holdfast") / "data")
    yield server.url
    assert server.stop() == 0, "SIGTERM must end holdfast cleanly"


@pytest.fixture(scope="session")
def dynamodb(endpoint):
    return make_client(endpoint)


def create_table(client, key=("p",), types=None, **more):
    """A new table with a name of its own; `key` names the partition and, perhaps, the sort key."""
    types = {**{name: "S" for name in key}, **(types or {})}
    name = f"t_{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": n, "KeyType": k} for n, k in zip(key, ("HASH", "RANGE"))],
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in types.items()],
        **more,
    )
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    return name


@pytest.fixture
def table(dynamodb):
    """A table with partition key p and sort key c."""
    name = create_table(dynamodb, ("p", "c"))
    yield name
    dynamodb.delete_table(TableName=name)
