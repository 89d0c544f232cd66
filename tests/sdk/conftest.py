"""Starts one holdfast on a free port and a fresh directory, and gives the tests of boto3 and of the aws command a client
of it.

HOLDFAST_ENDPOINT points the same tests at another endpoint, real DynamoDB included.
"""
import os
import re
import time
import uuid

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from server import ROOT, Server

driven = set()  # The operations that have answered a boto3 client with success.


def offered(client):
    """The operations that holdfast has and this client knows."""
    listed = re.findall(r"(?m)^HF_\w*OPERATION\((\w+)", (ROOT / "src" / "ops" / "operations.inc").read_text())
    return {name for name in listed if name in client.meta.service_model.operation_names}


def s(text):
    return {"S": text}


def n(number):
    return {"N": str(number)}


def refused(code, call, **parameters):
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    assert caught.value.response["Error"]["Code"] == code, caught.value
    return caught.value.response


def cancellation(client, actions):
    """The reasons for which DynamoDB cancels the transaction; none when it is done."""
    try:
        client.transact_write_items(TransactItems=actions)
        return []
    except client.exceptions.TransactionCanceledException as error:
        return [reason["Code"] for reason in error.response["CancellationReasons"]]


def eventually(check, seconds=20):
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "did not come about in time"
        time.sleep(0.05)


def make_client(url, service="dynamodb", make=boto3.client):
    """A client or, with make=boto3.resource, a resource."""
    made = make(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"max_attempts": 0}),
    )
    client = made if make is boto3.client else made.meta.client
    note = lambda http_response, model, **_: driven.add(model.name) if http_response.status_code == 200 else None
    client.meta.events.register("after-call", note)
    return made


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


def wait_for(client, state, table):
    client.get_waiter(state).wait(TableName=table, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def delete_table(client, name):
    client.delete_table(TableName=name)
    wait_for(client, "table_not_exists", name)


def key_schema(*key):
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key, ("HASH", "RANGE"))]


def index(name, *key):
    return {"IndexName": name, "KeySchema": key_schema(*key), "Projection": {"ProjectionType": "ALL"}}


def create_table(client, key=("p",), types=None, name=None, **more):
    """A new table, with a name of its own unless one is given; `key` names the partition and, perhaps, the sort key."""
    types = {**{name: "S" for name in key}, **(types or {})}
    name = name or f"t_{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        KeySchema=key_schema(*key),
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in types.items()],
        **{"BillingMode": "PAY_PER_REQUEST", **more},
    )
    wait_for(client, "table_exists", name)
    return name


@pytest.fixture
def table(dynamodb):
    """A table with partition key p and sort key c."""
    name = create_table(dynamodb, ("p", "c"))
    yield name
    dynamodb.delete_table(TableName=name)
