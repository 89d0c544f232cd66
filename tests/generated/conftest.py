"""Generates code from the shipped models, and gives it two databases to run on: holdfast and AWS's own DynamoDB Local."""
import importlib.util

import boto3
import implementations
import pytest
from generation import MODELS, tables, types


@pytest.fixture(scope="session", params=["holdfast", "local"])
def endpoint(request, tmp_path_factory):
    """Where a database with the tables of all models answers."""
    implementations.install()
    server = implementations.Implementation(request.param, tmp_path_factory.mktemp("log"))
    for model in MODELS:
        for table in tables(model):
            answer = server.call("CreateTable", table)
            assert answer.ok, answer.message
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


@pytest.fixture(scope="session")
def dynamodb(endpoint):
    return boto3.resource(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


@pytest.fixture(scope="session")
def repositories(tmp_path_factory):
    """The Python modules of all models, by name."""
    directory = tmp_path_factory.mktemp("python")
    modules = {}
    for model in MODELS:
        path = directory / f"{model}.py"
        path.write_text(types(model, "python", "--repositories"))
        spec = importlib.util.spec_from_file_location(f"generated_{model}", path)
        modules[model] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[model])
    return modules
