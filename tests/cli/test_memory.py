"""`serve --memory`: one budget for everything the server takes."""
import base64
import os
import urllib.request

from program import Holdfast
from server import Server, done

MIB = 1 << 20


def gauges(server):
    """The figures of /metrics that have no labels."""
    with urllib.request.urlopen(server.url + "/metrics") as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.split(" ") for line in lines if line.startswith("holdfast_") and "{" not in line)
    return {name: float(value) for name, value in pairs}


def test_a_budget_that_is_too_small_is_refused_with_the_least_there_is(tmp_path):
    error = Holdfast(home=tmp_path).run("serve", "--memory", "64M", "--data", tmp_path / "data", code=2)
    assert "128M at least" in error


def test_a_server_that_writes_and_reads_more_than_its_memory_keeps_to_it(tmp_path):
    """The cache takes what the others leave, so that all together stay within the budget and a tenth."""
    server = Server(tmp_path / "data", "--memory", "160M", "--log-level", "error", "--models", "none")
    try:
        done(server.url, "CreateTable", {
            "TableName": "Noise", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "N"}],
        })
        names = range(0, 720)
        for first in range(0, len(names), 12):
            puts = [
                {"PutRequest": {"Item": {"pk": {"N": str(name)}, "b": {"B": noise(300_000)}}}}
                for name in names[first:first + 12]
            ]
            assert not done(server.url, "BatchWriteItem", {"RequestItems": {"Noise": puts}})["UnprocessedItems"]
        for name in names:
            assert done(server.url, "GetItem", {"TableName": "Noise", "Key": {"pk": {"N": str(name)}}})["Item"]
        figures = gauges(server)
    finally:
        server.stop()
    assert figures["holdfast_memory_budget_bytes"] == 160 * MIB
    assert figures["holdfast_storage_disk_bytes"] > 160 * MIB, "the test is too small"
    assert figures["holdfast_memory_resident_bytes"] <= 1.1 * 160 * MIB
    assert figures["holdfast_memory_exceeded"] == 0


def test_write_buffers_have_their_share_of_a_small_budget(tmp_path):
    """A thirty-second of the budget for each large space; the default of 16 MiB each would be half of it."""
    server = Server(tmp_path / "data", "--memory", "128M", "--log-level", "error", "--models", "none")
    server.stop()
    newest = max((tmp_path / "data").rglob("OPTIONS-*"), key=lambda path: path.name)
    sizes = [int(line.split("=")[1]) for line in newest.read_text().splitlines() if "write_buffer_size=" in line
             and "db_write_buffer_size" not in line]
    assert max(sizes) == 4 * MIB, sizes


def test_the_environment_gives_the_budget_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MEMORY", "2G")
    server = Server(tmp_path / "data", "--log-level", "error", "--models", "none")
    try:
        figures = gauges(server)
    finally:
        server.stop()
    assert figures["holdfast_memory_budget_bytes"] == 2048 * MIB
    assert figures["holdfast_memory_cache_limit_bytes"] > 1024 * MIB


def noise(size):
    return base64.b64encode(os.urandom(size)).decode()
