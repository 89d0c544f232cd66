"""DB-B-03 as people use it: serve --archive, and the whole store made anew from the archive after its directory is gone;
backups of a server at work. Processes are killed while they ship and while they restore."""
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request

import boto3
import pytest
from botocore.config import Config
from server import PROGRAM, Server

TABLE = "archived"


@pytest.fixture
def servers(tmp_path):
    """Starts servers and ends them."""
    started = []

    def start(name, *flags):
        server = Server(tmp_path / name, "--models", "none", "--log-level", "warning", *flags)
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()


def client(server):
    return boto3.client("dynamodb", endpoint_url=server.url, region_name="us-east-1", aws_access_key_id="test",
                        aws_secret_access_key="test", config=Config(retries={"total_max_attempts": 1}))


def create(db):
    db.create_table(TableName=TABLE, BillingMode="PAY_PER_REQUEST",
                    KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "pg"],
                    GlobalSecondaryIndexes=[{"IndexName": "by_g", "Projection": {"ProjectionType": "ALL"},
                                             "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}])


def put(db, key, version):
    db.put_item(TableName=TABLE, Item={"p": {"S": key}, "g": {"S": "x"}, "v": {"N": str(version)}})


def contents(db):
    found = {}
    for page in db.get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True):
        found.update({item["p"]["S"]: int(item["v"]["N"]) for item in page["Items"]})
    return found


def metric(server, name):
    with urllib.request.urlopen(server.url + "/metrics") as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    return None


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def shipped(server):
    wait_for(lambda: metric(server, "holdfast_archive_lag_seconds") == 0
             and metric(server, "holdfast_archive_covered_until_seconds") > 0)


def run(*words, code=0, **more):
    done = subprocess.run([str(PROGRAM), *(str(word) for word in words)], capture_output=True, text=True, timeout=120, **more)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def restored(servers, tmp_path, archive, *flags):
    """What a server finds in the store that a restore makes."""
    target = tmp_path / "restored"
    shutil.rmtree(target, ignore_errors=True)
    run("restore", "--from", archive, "--data", target, *flags)
    assert "sound" in run("verify", "--data", target)
    server = servers("restored")
    found = contents(client(server))
    server.kill()
    return found


def test_every_second_comes_back_after_the_directory_is_gone(servers, tmp_path):
    archive = tmp_path / "archive"
    server = servers("data", "--archive", str(archive))
    shipped(server)
    db = client(server)
    create(db)
    truth, seconds = {}, {}
    for step in range(4):
        for key in range(20):
            put(db, f"{key}", step)
            truth[f"{key}"] = step
        db.delete_item(TableName=TABLE, Key={"p": {"S": f"{step}"}})
        del truth[f"{step}"]
        seconds[int(time.time())] = dict(truth)
        wait_for(lambda: int(time.time()) > max(seconds))
    shipped(server)
    wait_for(lambda: metric(server, "holdfast_archive_covered_until_seconds") > max(seconds))
    server.kill()
    shutil.rmtree(server.directory)
    covered = json.loads(run("archive", "status", "--from", archive, "--json"))
    assert len(covered["covered"]) == 1 and not covered["faults"], covered
    for second, expected in seconds.items():
        assert restored(servers, tmp_path, archive, "--at", second) == expected, second
    text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(max(seconds)))
    assert restored(servers, tmp_path, archive, "--at", text) == truth
    assert restored(servers, tmp_path, archive) == truth
    refused = run("restore", "--from", archive, "--data", tmp_path / "early", "--at", "1000000000", code=5)
    assert not (tmp_path / "early").exists()
    assert "does not cover 2001-09-09T01:46:40Z" in refused and covered["covered"][0]["from"] in refused
    run("restore", "--from", archive, "--data", tmp_path / "never", "--at", "yesterday", code=2)
    run("restore", "--from", archive, "--data", tmp_path / "restored", code=5)  # not empty
    # The restored store is another one.
    refused = run("serve", "--port", "0", "--models", "none", "--data", tmp_path / "restored", "--archive", archive, code=2)
    assert "another store" in refused


def test_servers_killed_while_they_ship(servers, tmp_path):
    archive = tmp_path / "archive"
    server = servers("data", "--archive", str(archive))
    create(client(server))
    acknowledged = {}

    def write(writer):
        db = client(server)
        try:
            for version in range(100_000):
                put(db, f"{writer}", version)
                acknowledged[f"{writer}"] = version
        except Exception:  # the server was killed under it
            return

    for kill in range(3):
        threads = [threading.Thread(target=write, args=(f"{kill}-{n}",)) for n in range(3)]
        before = len(acknowledged)
        for thread in threads:
            thread.start()
        wait_for(lambda: len(acknowledged) == before + 3 and min(list(acknowledged.values())[before:]) > 50)
        server.kill()
        for thread in threads:
            thread.join()
        server.start()
    truth = contents(client(server))
    assert all(truth[key] >= version for key, version in acknowledged.items())
    shipped(server)
    server.kill()
    status = json.loads(run("archive", "status", "--from", archive, "--json"))
    assert len(status["covered"]) == 1, status  # no hole: what was not shipped is in the log
    shutil.rmtree(server.directory)
    assert restored(servers, tmp_path, archive) == truth


def test_a_restore_that_is_killed_begins_anew(servers, tmp_path):
    archive = tmp_path / "archive"
    server = servers("data", "--archive", str(archive))
    db = client(server)
    create(db)
    for key in range(300):
        put(db, f"{key}", key)
    shipped(server)
    truth = contents(db)
    server.kill()
    target = tmp_path / "target"
    command = [str(PROGRAM), "restore", "--from", str(archive), "--data", str(target)]
    for _ in range(3):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(lambda: (target / "RESTORING").exists() or process.poll() is not None)
        process.kill()
        process.wait()
        if not (target / "RESTORING").exists():  # it was done already
            shutil.rmtree(target, ignore_errors=True)
            continue
        assert "cut short" in run("serve", "--port", "0", "--models", "none", "--data", target, code=1)
    shutil.rmtree(tmp_path / "restored", ignore_errors=True)
    if target.exists():
        run("restore", "--from", archive, "--data", target)
    assert restored(servers, tmp_path, archive) == truth


def test_an_archive_out_of_reach_stops_nobody(servers, tmp_path):
    server = servers("data", "--archive", str(tmp_path / "mount" / "archive"))
    db = client(server)
    create(db)
    put(db, "a", 1)
    assert contents(db) == {"a": 1}
    wait_for(lambda: metric(server, "holdfast_archive_failing") == 1)
    assert metric(server, "holdfast_archive_lag_seconds") > 0
    (tmp_path / "mount").mkdir()
    shipped(server)
    assert metric(server, "holdfast_archive_failing") == 0
    assert metric(server, "holdfast_archive_shipped_bytes_total") > 0
    assert server.stop() == 0
    assert restored(servers, tmp_path, tmp_path / "mount" / "archive") == {"a": 1}


def test_an_archive_that_disappears_is_missed(servers, tmp_path):
    archive = tmp_path / "archive"
    server = servers("data", "--archive", str(archive))
    db = client(server)
    create(db)
    put(db, "a", 1)
    shipped(server)
    shutil.rmtree(archive)
    wait_for(lambda: metric(server, "holdfast_archive_failing") == 1)
    put(db, "b", 2)
    assert metric(server, "holdfast_archive_lag_seconds") > 0
    assert not archive.exists()  # it may be a mount that is away
    archive.mkdir()
    wait_for(lambda: metric(server, "holdfast_archive_failing") == 0)
    shipped(server)
    server.kill()
    assert restored(servers, tmp_path, archive) == {"a": 1, "b": 2}


def test_damage_is_named(servers, tmp_path):
    archive = tmp_path / "archive"
    server = servers("data", "--archive", str(archive))
    db = client(server)
    create(db)
    for key in range(50):
        put(db, f"{key}", key)
    shipped(server)
    assert server.stop() == 0
    segment = archive / "log" / "0000000001"
    sound = segment.read_bytes()
    segment.write_bytes(sound[:200] + bytes([sound[200] ^ 1]) + sound[201:])
    run("archive", "status", "--from", archive)
    assert f"{segment} is damaged" in run("archive", "status", "--from", archive, "--deep", code=5)
    refused = run("restore", "--from", archive, "--data", tmp_path / "new", code=6)
    assert f"{segment} is damaged" in refused
    assert "cut short" in run("serve", "--port", "0", "--models", "none", "--data", tmp_path / "new", code=1)
    segment.unlink()
    (archive / "log" / "0000000003").write_bytes(sound)
    missing = run("archive", "status", "--from", archive, code=5)
    assert "0000000001 is missing" in missing and "0000000002 is missing" in missing


def test_what_cannot_be_archived_is_refused(tmp_path):
    assert "--in-memory" in run("serve", "--in-memory", "--archive", tmp_path / "archive", code=2)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter").write_text("x")
    refused = run("serve", "--port", "0", "--models", "none", "--data", tmp_path / "data", "--archive", tmp_path / "other", code=2)
    assert "not a holdfast archive" in refused


def test_backup_of_a_server_at_work(servers, tmp_path):
    server = servers("data")
    db = client(server)
    create(db)
    acknowledged, stop = {}, threading.Event()

    def write(writer):
        mine, version = client(server), 0
        while not stop.is_set():
            put(mine, f"{writer}-{version}", version)
            acknowledged[writer] = version
            version += 1

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: len(acknowledged) == 3 and min(acknowledged.values()) > 50)
        to = tmp_path / "backup"
        # Whoever reaches the port is not yet an administrator.
        anonymous = run("backup", "--to", to, "--endpoint", server.url, "--data", tmp_path / "nowhere", code=2, env={})
        assert "--token" in anonymous
        for token, status in (("", 401), ("nonsense", 401),
                              (run("token", "--data", server.directory, "--subject", "u", "--role", "user").strip(), 403)):
            request = urllib.request.Request(server.url + "/_holdfast/backup", json.dumps({"to": str(to)}).encode(),
                                             {"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            assert refused.value.code == status
        assert not to.exists()
        locked = run("backup", "--to", to, "--data", server.directory, code=6)
        assert "--endpoint" in locked
        before = dict(acknowledged)
        done = json.loads(run("backup", "--to", to, "--endpoint", server.url, "--data", server.directory, "--json"))
        assert done["bytes"] > 0
        run("backup", "--to", to, "--endpoint", server.url, "--data", server.directory, code=5)  # is there already
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    found = restored(servers, tmp_path, to)
    for writer, last in before.items():
        count = sum(key.startswith(f"{writer}-") for key in found)
        assert count > last
        assert all(f"{writer}-{version}" in found for version in range(count))  # no hole
    truth = contents(db)
    assert server.stop() == 0
    run("backup", "--to", tmp_path / "offline", "--data", server.directory)
    assert restored(servers, tmp_path, tmp_path / "offline") == truth
    # A file that is missing or damaged is named.
    files = sorted(path for path in (tmp_path / "offline" / "files").iterdir() if path.suffix == ".sst")
    content = files[0].read_bytes()
    files[0].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert f"{files[0]} is damaged" in run("restore", "--from", tmp_path / "offline", "--data", tmp_path / "new", code=6)
    os.unlink(files[0])
    assert f"{files[0]} is missing" in run("restore", "--from", tmp_path / "offline", "--data", tmp_path / "new", code=6)
