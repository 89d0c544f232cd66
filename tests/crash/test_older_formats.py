"""Stores, archives and backups of earlier formats: what commit da08430 wrote in format 2 opens, verifies and restores.

`formats/2.tar.xz` is that program's own work: one table with an index of each kind, a stream, TTL, point-in-time recovery with its
base segment, a backup, and a vector snapshot with a graph; an archive of that store, with a checkpoint and its log; and a backup
of the whole store. 60 items were put, 20 of them again ten seconds later, and 10 deleted ten seconds after that.
"""
import pathlib
import subprocess
import tarfile
import time

import pytest
from server import PROGRAM, Server, done

FIXTURE = pathlib.Path(__file__).parent / "formats" / "2.tar.xz"
FIRST = {key: key + 1 for key in range(60)}  # each item's version
SECOND = FIRST | {key: key + 2 for key in range(0, 60, 3)}
LAST = {key: version for key, version in SECOND.items() if key % 6 != 1}


@pytest.fixture
def old(tmp_path):
    with tarfile.open(FIXTURE) as tar:
        tar.extractall(tmp_path)
    return tmp_path / "holdfast-format-2"


@pytest.fixture
def servers(tmp_path):
    """Starts servers and ends them."""
    started = []

    def start(data, *flags):
        server = Server(data, "--models", "none", "--log-level", "warning", *flags)
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()


def run(*words, code=0):
    ended = subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == code, ended
    return ended.stdout + ended.stderr


def versions(server, table="tab"):
    items = done(server.url, "Scan", {"TableName": table, "ConsistentRead": True})["Items"]
    return {int(item["c"]["N"]): int(item["version"]["N"]) for item in items}


def check(server, table, expected):
    """The items, and what each kind of index makes of them."""
    assert versions(server, table) == expected
    found = done(server.url, "SearchVectors", {
        "TableName": table, "IndexName": "by_v", "SearchVector": [{"N": "3"}] * 4, "TopK": 100})  # fmt: skip
    assert len(found["SearchResults"]) == sum(1 for version in expected.values() if version % 4 != 0)
    in_group = done(server.url, "Query", {
        "TableName": table, "IndexName": "by_g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "g1"}}})  # fmt: skip
    wanted = [key for key, version in expected.items() if version % 4 == 1 and (key + version) % 3 != 0]
    assert [int(item["c"]["N"]) for item in in_group["Items"]] == sorted(wanted)


def wait_until_active(server, table):
    deadline = time.monotonic() + 30
    while done(server.url, "DescribeTable", {"TableName": table})["Table"]["TableStatus"] != "ACTIVE":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def put(server, key, version):
    done(server.url, "PutItem", {"TableName": "tab", "Item": {
        "p": {"S": f"p{key % 7}"}, "c": {"N": str(key)}, "version": {"N": str(version)}}})  # fmt: skip


# Every file says which checksum it has: nothing is made anew, nothing is refused.
def test_a_store_of_format_2_is_opened_as_it_is(old, servers, capfd):
    snapshots = {file.name: file.read_bytes() for file in (old / "store" / "vectors").iterdir()}
    server = servers(old / "store")
    assert (old / "store" / "FORMAT").read_text() == "holdfast store, format 3\n"
    check(server, "tab", LAST)
    assert server.stop() == 0
    assert {file.name: file.read_bytes() for file in (old / "store" / "vectors").iterdir()} == snapshots
    assert "unusable" not in capfd.readouterr().err, "the vector index was made again"
    assert "sound" in run("verify", "--data", old / "store")
    server = servers(old / "store")
    put(server, 60, 61)
    assert versions(server) == LAST | {60: 61}


# Segments of both formats, side by side.
def test_backups_of_format_2_are_restored(old, servers):
    server = servers(old / "store")
    [backup] = done(server.url, "ListBackups", {})["BackupSummaries"]
    done(server.url, "RestoreTableFromBackup", {"BackupArn": backup["BackupArn"], "TargetTableName": "then"})
    done(server.url, "RestoreTableToPointInTime", {
        "SourceTableName": "tab", "TargetTableName": "now", "UseLatestRestorableTime": True})  # fmt: skip
    made = done(server.url, "CreateBackup", {"TableName": "tab", "BackupName": "new"})["BackupDetails"]["BackupArn"]
    deadline = time.monotonic() + 30
    while done(server.url, "DescribeBackup", {"BackupArn": made})["BackupDescription"]["BackupDetails"][
            "BackupStatus"] != "AVAILABLE":  # fmt: skip
        assert time.monotonic() < deadline
        time.sleep(0.02)
    done(server.url, "RestoreTableFromBackup", {"BackupArn": made, "TargetTableName": "again"})
    for table, expected in [("then", FIRST), ("now", LAST), ("again", LAST)]:
        wait_until_active(server, table)
        check(server, table, expected)


# One that is gone on with has frames of both formats.
def test_an_archive_of_format_2_is_restored_and_gone_on_with(old, servers, tmp_path):
    run("restore", "--from", old / "archive", "--data", tmp_path / "first")
    assert "sound" in run("verify", "--data", tmp_path / "first")
    check(servers(tmp_path / "first"), "tab", LAST)

    server = servers(old / "store", "--archive", str(old / "archive"))
    put(server, 60, 61)
    assert server.stop() == 0
    assert (old / "archive" / "ARCHIVE").read_text().startswith("holdfast archive, format 3\n")
    run("archive", "status", "--from", old / "archive", "--deep")
    run("restore", "--from", old / "archive", "--data", tmp_path / "second")
    assert versions(servers(tmp_path / "second")) == LAST | {60: 61}


def test_a_backup_of_a_store_of_format_2_is_restored(old, servers, tmp_path):
    run("restore", "--from", old / "backup", "--data", tmp_path / "restored")
    check(servers(tmp_path / "restored"), "tab", SECOND)


# The old checksum is still looked at.
@pytest.mark.parametrize("kind", ["log", "files", "checkpoints", "HEAD"])
def test_damage_in_format_2_is_noticed(old, tmp_path, kind):
    directory = old / "archive" / kind
    file = directory if directory.is_file() else sorted(directory.iterdir(), key=lambda f: (f.name.endswith("sst"), f.name))[-1]
    sound = file.read_bytes()
    at = len(sound) // 3
    file.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
    assert str(file) in run("archive", "status", "--from", old / "archive", "--deep", code=5)
