"""The remote store against AWS's own DynamoDB Local: what the contract asks of every store, asked of theirs."""
import os
import subprocess

import pytest
from implementations import Implementation, install
from server import ROOT


@pytest.fixture
def local(tmp_path):
    install()
    implementation = Implementation("local", tmp_path)
    yield implementation
    implementation.stop()


def test_the_store_contract_holds_on_dynamodb_local(local):
    program = ROOT / "build" / "release" / "tests" / "store_contract_test"
    environment = {**os.environ, "HOLDFAST_STORE_ENDPOINT": f"http://127.0.0.1:{local.port}"}
    done = subprocess.run([program, "--gtest_brief=1", "--gtest_filter=Stores/*"], env=environment, timeout=300,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
