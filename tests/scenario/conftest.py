"""A server of the release build, and the program beside it."""
import boto3
import pytest
from server import Server


def client_of(server, **more):
    return boto3.client("dynamodb", endpoint_url=server.url, region_name="us-east-1",
                        aws_access_key_id="test", aws_secret_access_key="test", **more)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("served") / "data", "--log-level", "error")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def client(server):
    return client_of(server)
