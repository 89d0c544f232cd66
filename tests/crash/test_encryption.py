"""Encryption at rest (DB-X-01): with it on, nothing that a user planted is found in any file, whatever happens to the
store, and without the key nothing is served.
"""
import json
import os
import random
import struct
import subprocess
import time
import urllib.request

import pytest
from server import PROGRAM, Server, call, done

MAGIC = b"holdfast sealed\x01"
TABLE = "PlantedTable"
# One of each kind: names, keys and values; each is in what the store holds.
PLANTED = [b"PlantedTable", b"plantedAttribute", b"planted-key-", b"planted-value-", b"PlantedIndex", b"plantedTag"]
# Of the process, and of tokens: nothing of a user's is in them.
PLAIN = {"FORMAT", "ENCRYPTION", "ARCHIVED", "holdfast.lock", "LOCK", "cursor.key", "issuer.pem"}


def run(*words, code=0):
    ended = subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == code, ended
    return ended.stdout + ended.stderr


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "store.key"
    run("init-key", file)
    assert file.stat().st_mode & 0o777 == 0o600
    run("init-key", file, code=4)  # nobody's key is overwritten
    return file


def make_table(url, **more):
    vector = {"IndexName": "PlantedIndex", "VectorAttribute": {"AttributeName": "w"}, "Dimensions": 4,
              "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "ALL"}}
    return call(url, "CreateTable", {
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}], "VectorIndexes": [vector],
        "Tags": [{"Key": "plantedTag", "Value": "x"}], **more})


def item(number):
    return {"p": {"S": f"planted-key-{number}"}, "plantedAttribute": {"S": f"planted-value-{number}" * 20},
            "w": {"L": [{"N": str((number * k) % 97)} for k in (1, 3, 5, 7)]}}


def put(url, numbers):
    numbers = list(numbers)
    for begin in range(0, len(numbers), 25):
        writes = [{"PutRequest": {"Item": item(number)}} for number in numbers[begin:begin + 25]]
        assert done(url, "BatchWriteItem", {"RequestItems": {TABLE: writes}})["UnprocessedItems"] == {}


def check_items(url, count):
    counted, page = 0, {}
    while page is not None:  # of 1 MB each
        answer = done(url, "Scan", {"TableName": TABLE, "Select": "COUNT", **page})
        counted += answer["Count"]
        page = {"ExclusiveStartKey": answer["LastEvaluatedKey"]} if "LastEvaluatedKey" in answer else None
    assert counted == count
    for number in random.sample(range(count), 20):
        got = done(url, "GetItem", {"TableName": TABLE, "Key": {"p": {"S": f"planted-key-{number}"}}})
        assert got["Item"] == item(number)


def files(directory):
    """Each file's bytes, of those that are still there when they are looked at."""
    for where, _, names in os.walk(directory):
        for name in names:
            try:
                with open(os.path.join(where, name), "rb") as file:
                    yield os.path.relpath(os.path.join(where, name), directory), file.read()
            except FileNotFoundError:
                pass


def found(directory):
    return {(name, word) for name, bytes in files(directory) for word in PLANTED if word in bytes}


def versions(directory):
    """The versions of the master key that files are under; 0 for one that is plain."""
    under = {}
    for name, bytes in files(directory):
        if os.path.basename(name) in PLAIN or not bytes:
            continue
        at = 18 + bytes[17] if bytes.startswith(MAGIC) else None
        under[name] = struct.unpack(">I", bytes[at:at + 4])[0] if at else 0
    return under


def encryption(url):
    return done(url, "DescribeTable", {"TableName": TABLE})["Table"].get("SSEDescription", {}).get("Status")


def eventually(check, seconds=60):
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "did not come about in time"
        time.sleep(0.05)


def metric(url, name):
    lines = urllib.request.urlopen(url + "/metrics").read().decode().splitlines()
    return [float(line.split()[1]) for line in lines if line.startswith(name + " ")][0]


def test_DB_X_01_nothing_planted_is_found_in_any_file(tmp_path, key):
    data = tmp_path / "data"
    flags = ("--key-file", str(key), "--models", "none")
    server = Server(data, *flags)
    assert isinstance(make_table(server.url), dict)
    put(server.url, range(4500))  # as many as are worth a snapshot of the vectors
    assert {word for _, word in found(data)} == set(PLANTED), "in plain text it is there to be found"
    assert server.stop() == 0
    server.start()

    # Switched on by a request, while writers go on.
    changed = done(server.url, "UpdateTable", {"TableName": TABLE, "SSESpecification": {"Enabled": True}})
    assert changed["TableDescription"]["SSEDescription"]["Status"] == "UPDATING"
    put(server.url, range(4500, 5000))
    eventually(lambda: encryption(server.url) == "ENABLED")
    assert found(data) == set()
    assert set(versions(data).values()) == {1}
    assert metric(server.url, "holdfast_encryption_enabled") == 1
    assert metric(server.url, "holdfast_encryption_files_left") == 0

    put(server.url, range(5000, 5500))
    assert found(data) == set(), "the log"
    server.kill()
    assert found(data) == set(), "after a crash"
    server.start()
    check_items(server.url, 5500)
    assert server.stop() == 0
    assert any(name.startswith("vectors/") for name in versions(data)), "there are snapshots"
    assert found(data) == set(), "snapshots of vectors"
    server.flags = (*flags, "--compact-at-start")
    server.start()
    assert found(data) == set(), "after a compaction"

    # A new version of the key is taken up without a restart; the old one is then not needed any more.
    run("rotate-key", key)
    put(server.url, range(5500, 5600))
    eventually(lambda: set(versions(data).values()) == {2})
    eventually(lambda: encryption(server.url) == "ENABLED")
    assert found(data) == set(), "after a rotation"
    run("keys", "disable", key, 1)
    server.kill()
    server.start()
    check_items(server.url, 5600)
    server.wait_until_ready()
    near = done(server.url, "SearchVectors", {"TableName": TABLE, "IndexName": "PlantedIndex", "TopK": 3,
                                              "SearchVector": [{"N": str(x)} for x in (1, 3, 5, 7)]})
    assert len(near["SearchResults"]) == 3
    assert server.stop() == 0
    assert found(data) == set()
    assert "sound" in run("verify", "--data", data, "--key-file", key)


def test_DB_X_01_an_archive_is_encrypted_with_its_store(tmp_path, key):
    data, archive = tmp_path / "data", tmp_path / "archive"
    server = Server(data, "--key-file", str(key), "--archive", str(archive), "--models", "none")

    def shipped():
        eventually(lambda: metric(server.url, "holdfast_archive_covered_until_seconds") > 0
                   and metric(server.url, "holdfast_archive_lag_seconds") == 0)

    assert isinstance(make_table(server.url), dict)
    put(server.url, range(500))
    done(server.url, "CreateBackup", {"TableName": TABLE, "BackupName": "PlantedBackup"})
    shipped()
    assert found(archive)
    second = int(time.time())
    eventually(lambda: metric(server.url, "holdfast_archive_covered_until_seconds") > second)

    # Nothing is written any more: what is left over must go by itself.
    done(server.url, "UpdateTable", {"TableName": TABLE, "SSESpecification": {"Enabled": True}})
    eventually(lambda: encryption(server.url) == "ENABLED")
    assert found(data) == set() and found(archive) == set()
    assert set(versions(archive).values()) == {1}
    run("rotate-key", key)
    eventually(lambda: set(versions(archive).values()) == {2} and set(versions(data).values()) == {2})
    eventually(lambda: metric(server.url, "holdfast_encryption_files_left") == 0)
    run("keys", "disable", key, 1)
    server.kill()
    server.start()
    put(server.url, range(500, 600))
    shipped()
    server.kill()
    assert found(archive) == set()
    assert json.loads(run("archive", "status", "--deep", "--json", "--from", archive, "--key-file", key))["faults"] == []
    for flags, count in (((), 600), (("--at", second), 500)):  # from before it was encrypted, too
        target = tmp_path / f"restored-{count}"
        run("restore", "--from", archive, "--data", target, "--key-file", key, *flags)
        assert found(target) == set()
        server = Server(target, "--key-file", str(key), "--models", "none")
        check_items(server.url, count)
        assert server.stop() == 0


def test_DB_X_01_without_its_key_a_store_refuses_to_open(tmp_path, key):
    data = tmp_path / "data"
    server = Server(data, "--key-file", str(key), "--encrypt", "--models", "none")
    assert isinstance(make_table(server.url), dict)
    put(server.url, range(50))
    assert "SSEDescription" not in done(server.url, "DescribeTable", {"TableName": TABLE})["Table"], "nobody asked for it"
    assert server.stop() == 0
    assert found(data) == set()

    assert "name its key file by --key-file" in run("verify", "--data", data, code=1)
    assert "name its key file by --key-file" in run("serve", "--data", data, "--models", "none", "--port", 0, code=1)
    other = tmp_path / "other.key"
    run("init-key", other)
    assert "name the right one" in run("verify", "--data", data, "--key-file", other, code=1)
    keys, stranger = json.loads(key.read_text()), json.loads(other.read_text())
    other.write_text(json.dumps({**stranger, "keyId": keys["keyId"]}))
    assert "does not open it" in run("verify", "--data", data, "--key-file", other, code=1)
    old = tmp_path / "old.key"
    old.write_bytes(key.read_bytes())
    old.chmod(0o600)
    run("rotate-key", key)
    server = Server(data, "--key-file", str(key), "--models", "none")
    eventually(lambda: set(versions(data).values()) == {2})
    assert server.stop() == 0
    assert "newest copy" in run("verify", "--data", data, "--key-file", old, code=1)
    assert "sound" in run("verify", "--data", data, "--key-file", key)

    # And nothing was changed by all that.
    server = Server(data, "--key-file", str(key), "--models", "none")
    check_items(server.url, 50)
    assert server.stop() == 0
    assert "holdfast init-key" in run("serve", "--data", tmp_path / "new", "--encrypt", "--models", "none", "--port", 0, code=2)


def test_DB_X_01_kills_during_the_rewriting_lose_nothing(tmp_path, key):
    data = tmp_path / "data"
    server = Server(data, "--models", "none")
    assert isinstance(make_table(server.url), dict)
    put(server.url, range(4000))
    server.stop()
    server.flags = ("--key-file", str(key), "--encrypt", "--models", "none")
    for round in range(5):
        server.start()
        time.sleep(random.random() * 0.2)
        server.kill()
        run("rotate-key", key)
    server.start()
    check_items(server.url, 4000)
    eventually(lambda: set(versions(data).values()) == {6})
    assert not [name for name in versions(data) if name.endswith(".sealing")]
    assert found(data) == set()
    assert server.stop() == 0
    assert "sound" in run("verify", "--data", data, "--key-file", key)
