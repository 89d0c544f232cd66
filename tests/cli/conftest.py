"""Runs the program as people do: on a data directory, on a running holdfast, and on AWS's own DynamoDB Local."""
import boto3
import implementations
import pytest
from program import FERRY, Holdfast, Library
from server import Server


@pytest.fixture
def holdfast(tmp_path):
    """Without a store."""
    return Holdfast(home=tmp_path)


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "served", "--log-level", "error")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    implementations.install()
    server = implementations.Implementation("local", tmp_path_factory.mktemp("log"))
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def where(request, tmp_path):
    if request.param == "data":
        return "--data", tmp_path / "data"
    server = request.getfixturevalue(request.param)
    return "--endpoint", getattr(server, "url", server)


@pytest.fixture(params=["data", "server"])
def library(request, tmp_path):
    return Library(*where(request, tmp_path), home=tmp_path)


@pytest.fixture(params=["data", "server", "local"])
def ferry(request, tmp_path):
    """The boat of the tutorial, with a crossing of two seats."""
    ferry = Library(*where(request, tmp_path), home=tmp_path, model=FERRY)
    ferry.json("put", "ferry", "Crossing", "id=a", "seats=2")
    return ferry


@pytest.fixture(params=["data", "server", "local"])
def anywhere(request, tmp_path):
    return Library(*where(request, tmp_path), home=tmp_path)


@pytest.fixture
def client(server):
    return boto3.client(
        "dynamodb",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


@pytest.fixture
def served(server, tmp_path):
    """A library on a server that `client` reads raw."""
    return Library("--endpoint", server.url, home=tmp_path)
