"""`serve --dev`: what tests of a program ask of its server."""
import concurrent.futures
import json
import subprocess
import time
import urllib.error
import urllib.request

import boto3
import pytest
from agents import Agents
from server import PROGRAM, Server


@pytest.fixture(params=["memory", "disk"])
def dev(request, tmp_path):
    flags = ["--in-memory"] if request.param == "memory" else []
    server = Server(tmp_path / "dev", "--dev", "--log-level", "error", "--ttl-sweep-ms", "3600000", *flags)
    yield server
    server.stop()


def ask(server, method, path, body=None, **headers):
    """Status and answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}/_holdfast/{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            assert not any(name.startswith("Access-Control") for name in answer.headers)
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        text = refused.read()
        return refused.code, json.loads(text) if text.startswith(b"{") else text


def done(server, method, path, body=None):
    status, answer = ask(server, method, path, body)
    assert status == 200, answer
    return answer


def client_of(server):
    return boto3.client("dynamodb", endpoint_url=server.url, region_name="us-east-1",
                        aws_access_key_id="test", aws_secret_access_key="test")  # fmt: skip


@pytest.fixture
def client(dev):
    client = client_of(dev)
    client.create_table(
        TableName="Notes", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "kind", "AttributeType": "S"}],
        GlobalSecondaryIndexes=[{"IndexName": "byKind", "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                                 "Projection": {"ProjectionType": "ALL"}}],
    )  # fmt: skip
    return client


def content(client):
    tables = {}
    for name in client.list_tables()["TableNames"]:
        items = client.scan(TableName=name)["Items"]
        tables[name] = sorted(json.dumps(item, sort_keys=True) for item in items)
    return tables


def put(client, name, **more):
    client.put_item(TableName="Notes", Item={"id": {"S": name}, "kind": {"S": "k"}, **more})


def test_the_clock_is_set_and_what_expires_is_swept(dev, client):
    client.update_time_to_live(TableName="Notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"})
    now = done(dev, "GET", "clock")
    assert abs(now["seconds"] - time.time()) < 5 and now["offsetMillis"] == 0
    put(client, "a", gone={"N": str(now["seconds"] + 3600)})
    put(client, "b", gone={"N": str(now["seconds"] + 7200)})
    assert done(dev, "POST", "sweep") == {"expired": 0}
    assert done(dev, "POST", "clock", {"advance_seconds": 3700})["offsetMillis"] >= 3_699_000
    assert done(dev, "POST", "sweep") == {"expired": 1}
    assert client.get_item(TableName="Notes", Key={"id": {"S": "a"}}).get("Item") is None
    assert done(dev, "POST", "clock", {"now": "2031-05-06T07:08:09Z"})["now"].startswith("2031-05-06T07:08:")
    client.create_table(TableName="Later", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])  # fmt: skip
    assert client.describe_table(TableName="Later")["Table"]["CreationDateTime"].year == 2031
    assert done(dev, "POST", "clock", {"now": now["seconds"] + 8000})["seconds"] >= now["seconds"] + 8000
    assert done(dev, "POST", "sweep") == {"expired": 1}
    assert done(dev, "POST", "clock", {"reset": True})["offsetMillis"] == 0


def test_restore_brings_everything_back(dev, client):
    for i in range(100):
        put(client, f"n{i}")
    assert done(dev, "POST", "snapshots/start") == {"name": "start"}
    before = content(client)
    put(client, "n1", more={"S": "changed"})
    client.delete_item(TableName="Notes", Key={"id": {"S": "n2"}})
    put(client, "new")
    client.create_table(TableName="Extra", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])  # fmt: skip
    restored = done(dev, "POST", "snapshots/start/restore")
    assert (restored["itemsWritten"], restored["tablesDropped"], restored["tablesMade"]) == (3, 1, 0)
    assert content(client) == before
    client.delete_table(TableName="Notes")
    assert done(dev, "POST", "snapshots/start/restore")["tablesMade"] == 1
    assert content(client) == before
    indexed = client.query(TableName="Notes", IndexName="byKind", KeyConditionExpression="kind = :k",
                           ExpressionAttributeValues={":k": {"S": "k"}})  # fmt: skip
    assert indexed["Count"] == 100
    assert [one["name"] for one in done(dev, "GET", "snapshots")["snapshots"]] == ["start"]
    assert done(dev, "POST", "reset")["tablesDropped"] == 1
    assert content(client) == {}
    done(dev, "POST", "snapshots/start/restore")
    assert content(client) == before
    done(dev, "DELETE", "snapshots/start")
    assert ask(dev, "POST", "snapshots/start/restore")[0] == 404


def test_a_transaction_that_was_undone_can_be_sent_again(dev, client):
    done(dev, "POST", "snapshots/s")
    transaction = {"ClientRequestToken": "once", "TransactItems": [{"Put": {"TableName": "Notes", "Item": {"id": {"S": "t"}}}}]}
    for _ in range(2):
        client.transact_write_items(**transaction)
        assert client.get_item(TableName="Notes", Key={"id": {"S": "t"}})["Item"]
        done(dev, "POST", "snapshots/s/restore")
        assert "Item" not in client.get_item(TableName="Notes", Key={"id": {"S": "t"}})


def test_restore_sets_the_clock_back_so_that_nothing_expires_again(dev, client):
    client.update_time_to_live(TableName="Notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"})
    put(client, "a", gone={"N": str(int(time.time()) + 3600)})
    done(dev, "POST", "snapshots/seeded")
    done(dev, "POST", "clock", {"advance_seconds": 86400})
    assert done(dev, "POST", "sweep") == {"expired": 1}
    done(dev, "POST", "snapshots/seeded/restore")
    assert done(dev, "GET", "clock")["offsetMillis"] == 0
    assert done(dev, "POST", "sweep") == {"expired": 0}
    assert len(content(client)["Notes"]) == 1


def test_parallel_sweeps_count_what_each_removed(dev, client):
    client.update_time_to_live(TableName="Notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"})
    for i in range(300):
        put(client, f"n{i}", gone={"N": str(int(time.time()) + 3600)})
    done(dev, "POST", "clock", {"advance_seconds": 4000})
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        swept = list(pool.map(lambda _: done(dev, "POST", "sweep")["expired"], range(4)))
    assert sum(swept) == 300, swept


def test_a_reset_store_is_an_empty_one(dev, client):
    client.update_table(TableName="Notes", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    client.create_backup(TableName="Notes", BackupName="kept")
    done(dev, "POST", "reset")
    streams = boto3.client("dynamodbstreams", endpoint_url=dev.url, region_name="us-east-1",
                           aws_access_key_id="test", aws_secret_access_key="test")  # fmt: skip
    assert streams.list_streams()["Streams"] == []
    assert client.list_backups()["BackupSummaries"] == []


def test_agents_go_on_after_a_reset(tmp_path):
    agents = Agents(tmp_path / "dev", "--dev", "--log-level", "error")
    try:
        agents.autonomy(False)
        assert len(agents.table.meta.client.list_tables()["TableNames"]) == 1
        session = agents.session()
        session.say("before")
        done(agents.server, "POST", "reset")
        deadline = time.monotonic() + 10
        while not agents.table.meta.client.list_tables()["TableNames"]:
            assert time.monotonic() < deadline, "the table is not made anew"
            time.sleep(0.05)
        assert agents.admin.send("GET", "/v1/agents/autonomy").body["enabled"], "as in a new store"
        session.say("after")
        assert [event["payload"]["text"] for event in session.events()] == ["after"]
    finally:
        agents.server.stop()


@pytest.mark.parametrize("method, path, body, status", [
    ("POST", "clock", {"now": "9999-12-31T23:59:59Z"}, 400),
    ("POST", "snapshots/%2E%2E", None, 400),
    ("POST", "clock", {"now": "tomorrow"}, 400),
    ("POST", "clock", {"now": -1}, 400),
    ("POST", "clock", {"advance_seconds": "1"}, 400),
    ("POST", "clock", {"advance_seconds": 1e15}, 400),
    ("POST", "clock", {}, 400),
    ("POST", "clock", {"reset": True, "now": 1}, 400),
    ("POST", "clock", {"noon": 1}, 400),
    ("DELETE", "clock", None, 405),
    ("GET", "reset", None, 404),
    ("POST", "nothing", None, 404),
    ("POST", "snapshots/a%2Fb", None, 400),
    ("POST", "snapshots/nobody/restore", None, 404),
    ("DELETE", "snapshots/nobody", None, 404),
])  # fmt: skip
def test_bad_requests_change_nothing(dev, client, method, path, body, status):
    put(client, "a")
    before = content(client), done(dev, "GET", "clock")["offsetMillis"]
    code, answer = ask(dev, method, path, body)
    assert code == status and answer["message"], answer
    assert (content(client), done(dev, "GET", "clock")["offsetMillis"]) == before


def test_strangers_are_kept_out(dev, client):
    put(client, "a")
    for headers in ({"Origin": "https://elsewhere.example"}, {"Host": "elsewhere.example"}):
        assert ask(dev, "POST", "reset", **headers)[0] == 403
    assert ask(dev, "OPTIONS", "reset", Origin="https://elsewhere.example")[0] == 403
    assert len(content(client)["Notes"]) == 1


def test_nothing_of_it_without_dev(server):
    for method, path in [("POST", "reset"), ("GET", "clock"), ("POST", "snapshots/a")]:
        assert ask(server, method, path)[0] == 404


@pytest.mark.parametrize("flags", [["--address", "0.0.0.0", "--insecure"], ["--store", "dynamodb"]])
def test_dev_is_for_loopback_and_a_store_of_ones_own(flags, tmp_path):
    done = subprocess.run([PROGRAM, "serve", "--dev", "--data", tmp_path / "d", *flags], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "--dev" in done.stderr
