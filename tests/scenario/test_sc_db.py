"""SC-DB: the database as its operators accept it, from a template to a second machine."""
import json
import pathlib
import random
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid

import pytest
import yaml
from botocore.exceptions import ClientError
from conftest import client_of
from server import HEADERS, PROGRAM, ROOT, Server, call, done

WORKBENCH = ROOT / "tests" / "cli" / "workbench.yaml"
KB400 = 400 * 1024


def holdfast(*words, code=0):
    ran = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout


def until(happened, what, seconds=90):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = happened()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen in {seconds} s")


def metric(server, name):
    with urllib.request.urlopen(server.url + "/metrics") as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    return None


def new_table(client):
    name = f"t_{uuid.uuid4().hex}"
    definitions = [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}]
    client.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST", AttributeDefinitions=definitions,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )  # fmt: skip
    client.get_waiter("table_exists").wait(TableName=name)
    return name


def all_items(client, table, **more):
    items = []
    for page in client.get_paginator("scan").paginate(TableName=table, **more):
        items += page["Items"]
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def refused(error, run, **arguments):
    with pytest.raises(ClientError) as caught:
        run(**arguments)
    assert caught.value.response["Error"]["Code"] == error, caught.value
    return caught.value.response["Error"]["Message"]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """A server that can encrypt; its directory, and where it ships what it has."""
    home = tmp_path_factory.mktemp("sealed")
    holdfast("init-key", home / "master.key")
    server = Server(home / "data", "--log-level", "error", "--key-file", str(home / "master.key"))
    server.home = home
    yield server
    server.stop()


def apply_workbench(server):
    """What `apply` says, once the table is encrypted. Again, it changes nothing."""
    applied = json.loads(holdfast("apply", WORKBENCH, "--endpoint", server.url, "--json"))
    client = client_of(server)
    until(lambda: client.describe_table(TableName="AgenticPM")["Table"]["SSEDescription"]["Status"] == "ENABLED", "encryption")
    return applied


def test_the_workbenchs_table_comes_from_its_template(sealed):
    client = client_of(sealed)
    applied = apply_workbench(sealed)
    wanted = yaml.load(WORKBENCH.read_text().replace("!Ref", "").replace("!GetAtt", ""), yaml.SafeLoader)
    wanted = wanted["Resources"]["Workbench"]["Properties"]
    client.get_waiter("table_exists").wait(TableName="AgenticPM")
    table = client.describe_table(TableName="AgenticPM")["Table"]
    assert applied["outputs"] == {"TableName": "AgenticPM", "TableArn": table["TableArn"]}
    for name in ("TableName", "KeySchema", "AttributeDefinitions"):
        assert table[name] == wanted[name]
    [index] = table["GlobalSecondaryIndexes"]
    assert {name: index[name] for name in wanted["GlobalSecondaryIndexes"][0]} == wanted["GlobalSecondaryIndexes"][0]
    assert table["BillingModeSummary"]["BillingMode"] == wanted["BillingMode"]
    ttl = client.describe_time_to_live(TableName="AgenticPM")["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "TTL"}
    recovery = client.describe_continuous_backups(TableName="AgenticPM")["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    tags = client.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {tag["Key"]: tag["Value"] for tag in wanted["Tags"]}


def test_a_sam_simple_table(client, server, tmp_path):
    sam = tmp_path / "sam.yaml"
    sam.write_text("Transform: AWS::Serverless-2016-10-31\nResources: {Sessions: {Type: AWS::Serverless::SimpleTable}}\n")
    holdfast("apply", sam, "--endpoint", server.url)
    table = client.describe_table(TableName="Sessions")["Table"]
    assert table["KeySchema"] == [{"AttributeName": "id", "KeyType": "HASH"}]


def test_an_item_of_400_kilobytes_and_a_byte_more(client):
    table = new_table(client)
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "v": {"S": ""}}
    item["v"]["S"] = "x" * (KB400 - len("pk" "a" "sk" "b" "v"))
    client.put_item(TableName=table, Item=item)
    item["v"]["S"] += "x"
    message = refused("ValidationException", client.put_item, TableName=table, Item=item)
    assert message == "Item size has exceeded the maximum allowed size"
    assert len(client.get_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})["Item"]["v"]["S"]) == KB400 - 7


def test_25_puts_and_100_actions_and_not_one_more(client):
    table = new_table(client)
    puts = [{"PutRequest": {"Item": {"pk": {"S": "batch"}, "sk": {"S": str(i)}}}} for i in range(26)]
    client.batch_write_item(RequestItems={table: puts[:25]})
    refused("ValidationException", client.batch_write_item, RequestItems={table: puts})
    actions = [{"Put": {"TableName": table, "Item": {"pk": {"S": "transaction"}, "sk": {"S": str(i)}}}} for i in range(101)]
    client.transact_write_items(TransactItems=actions[:100])
    refused("ValidationException", client.transact_write_items, TransactItems=actions)
    assert len(all_items(client, table)) == 125


def test_reserved_words_need_an_alias(client):
    table = new_table(client)
    update = {"TableName": table, "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}, "ExpressionAttributeValues": {":s": {"S": "x"}}}
    message = refused("ValidationException", client.update_item, UpdateExpression="SET status = :s", **update)
    assert "reserved keyword: status" in message
    client.update_item(UpdateExpression="SET #s = :s", ExpressionAttributeNames={"#s": "status"}, **update)


def test_an_index_made_under_load_is_what_a_rebuild_would_be(client, server):
    table = new_table(client)
    stop = threading.Event()
    failures = []

    def write(seed):
        rng = random.Random(seed)
        try:
            while not stop.is_set():
                key = {"pk": {"S": f"p{rng.randrange(20)}"}, "sk": {"S": f"{rng.randrange(40)}"}}
                if rng.random() < 0.2:
                    done(server.url, "DeleteItem", {"TableName": table, "Key": key})
                else:
                    kind = {"kind": {"S": f"k{rng.randrange(5)}"}} if rng.random() < 0.8 else {}
                    done(server.url, "PutItem", {"TableName": table, "Item": {**key, **kind, "n": {"N": str(rng.random())}}})
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    writers = [threading.Thread(target=write, args=(seed,)) for seed in range(3)]
    for writer in writers:
        writer.start()
    try:
        until(lambda: client.scan(TableName=table, Select="COUNT")["Count"] > 200, "200 items")
        client.update_table(
            TableName=table, AttributeDefinitions=[{"AttributeName": "kind", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": {"IndexName": "byKind", "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                                                     "Projection": {"ProjectionType": "ALL"}}}],
        )  # fmt: skip
        until(lambda: client.describe_table(TableName=table)["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE", "the index")
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert not failures
    expected = [item for item in all_items(client, table) if "kind" in item]
    assert expected and all_items(client, table, IndexName="byKind") == expected


def test_a_backup_is_the_table_as_it_was(client):
    table = new_table(client)
    for i in range(200):
        client.put_item(TableName=table, Item={"pk": {"S": f"p{i % 7}"}, "sk": {"S": str(i)}, "n": {"N": str(i)}})
    before = all_items(client, table)
    arn = client.create_backup(TableName=table, BackupName="before")["BackupDetails"]["BackupArn"]
    for i in range(0, 200, 2):
        client.delete_item(TableName=table, Key={"pk": {"S": f"p{i % 7}"}, "sk": {"S": str(i)}})
    until(lambda: client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE", "the backup")
    client.restore_table_from_backup(TargetTableName=table + "_restored", BackupArn=arn)
    client.get_waiter("table_exists").wait(TableName=table + "_restored", WaiterConfig={"Delay": 1, "MaxAttempts": 90})
    assert all_items(client, table + "_restored") == before


def test_no_word_of_an_encrypted_store_is_in_its_files(sealed):
    client = client_of(sealed)
    apply_workbench(sealed)
    planted = [f"planted-{uuid.uuid4().hex}" for _ in range(3)]
    client.put_item(TableName="AgenticPM", Item={
        "PK": {"S": planted[0]}, "SK": {"S": "x"}, planted[1]: {"S": planted[2]}, "GSI1PK": {"S": planted[0]}, "GSI1SK": {"S": "y"}})  # fmt: skip
    sealed.restart()  # a kill -9: the log is what is left
    assert client.get_item(TableName="AgenticPM", Key={"PK": {"S": planted[0]}, "SK": {"S": "x"}})["Item"][planted[1]]["S"] == planted[2]
    for path in pathlib.Path(sealed.directory).rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for word in planted:
            assert word.encode() not in content, path
    assert b"AgenticPM" not in b"".join(path.read_bytes() for path in pathlib.Path(sealed.directory).rglob("*.sst"))


def test_the_archive_makes_a_store_on_an_empty_machine(tmp_path):
    server = Server(tmp_path / "data", "--log-level", "error", "--archive", str(tmp_path / "archive"))
    client = client_of(server)
    try:
        table = new_table(client)
        for i in range(100):
            client.put_item(TableName=table, Item={"pk": {"S": "p"}, "sk": {"S": str(i)}, "n": {"N": str(i)}})
        before = all_items(client, table)
        until(lambda: metric(server, "holdfast_archive_lag_seconds") == 0, "shipping")
    finally:
        server.stop()
    holdfast("restore", "--from", tmp_path / "archive", "--data", tmp_path / "elsewhere")
    again = Server(tmp_path / "elsewhere", "--log-level", "error")
    try:
        assert all_items(client_of(again), table) == before
    finally:
        again.stop()


def test_the_nearest_of_a_thousand_vectors(server):
    """Exact: compared with a search by hand."""
    rng = random.Random(7)
    table = f"v_{uuid.uuid4().hex}"
    done(server.url, "CreateTable", {
        "TableName": table, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "VectorIndexes": [{"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 1024,
                           "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "KEYS_ONLY"}}]})  # fmt: skip
    vectors = {str(i): [round(rng.gauss(0, 1), 3) for _ in range(1024)] for i in range(1000)}
    as_list = lambda vector: [{"N": str(x)} for x in vector]  # noqa: E731
    names = list(vectors)
    for start in range(0, 1000, 25):
        puts = [{"PutRequest": {"Item": {"id": {"S": name}, "v": {"L": as_list(vectors[name])}}}} for name in names[start : start + 25]]
        assert done(server.url, "BatchWriteItem", {"RequestItems": {table: puts}})["UnprocessedItems"] == {}
    query = [round(rng.gauss(0, 1), 3) for _ in range(1024)]

    def cosine(vector):
        dot = sum(a * b for a, b in zip(vector, query))
        return dot / sum(a * a for a in vector) ** 0.5

    nearest = sorted(names, key=lambda name: -cosine(vectors[name]))[:5]
    found = done(server.url, "SearchVectors", {"TableName": table, "IndexName": "near", "SearchVector": as_list(query), "TopK": 5})
    assert [result["Item"]["id"]["S"] for result in found["SearchResults"]] == nearest


def ask_dev(server, path, body=b""):
    with urllib.request.urlopen(f"{server.url}/_holdfast/{path}", body) as answer:
        return json.load(answer)


def test_four_alarms_fire_and_clear(tmp_path):
    """Each is made to fire by what it watches. Forty days later all is quiet, and a new month's plan has begun."""
    data = tmp_path / "data"
    holdfast("token", "--data", data, "--subject", "operator", "--role", "admin")  # makes the key that signs tokens
    server = Server(data, "--dev", "--models", "none", "--log-level", "none", "--alarm-interval-ms", "50", "--plan", "Small=0/3100")

    def in_alarm():
        told = json.loads(holdfast("alarms", "--endpoint", server.url, "--data", data, "--json"))
        assert len(told["alarms"]) == 4
        return {alarm["name"] for alarm in told["alarms"] if alarm["state"] == "ALARM"}

    try:
        assert in_alarm() == set()
        done(server.url, "CreateTable", {
            "TableName": "Small", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}})  # fmt: skip
        large = {"TableName": "Small", "Item": {"id": {"S": "x"}, "v": {"S": "x" * (390 * 1024)}}}
        assert call(server.url, "PutItem", large) == {}
        assert call(server.url, "PutItem", large)[0] == "ProvisionedThroughputExceededException"
        for _ in range(11):
            assert call(server.url, "GetItem", {"TableName": "Nobody", "Key": {}})[0] == "ResourceNotFoundException"
        headers = {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Encoding": "br"}
        with pytest.raises(urllib.error.HTTPError, match="500"):
            urllib.request.urlopen(urllib.request.Request(server.url, b"{}", headers))
        until(lambda: len(in_alarm()) == 4, "all alarms")
        ask_dev(server, "clock", b'{"advance_seconds": 3456000}')
        until(lambda: in_alarm() == set(), "the end of all alarms")
    finally:
        server.stop()
