"""Every operation, driven by boto3 as an application would."""
import gzip
import subprocess
import time
import urllib.error
import urllib.request
import uuid

import pytest
from conftest import (Server, create_table, delete_table, driven, eventually, index, key_schema, make_client, n, offered,
                      refused, s, wait_for)
from server import PROGRAM, done


def test_put_get_delete(dynamodb, table):
    item = {"p": s("a"), "c": s("1"), "n": n("1.50"), "l": {"L": [n(1), {"BOOL": True}, {"NULL": True}]}, "ss": {"SS": ["x"]}}
    dynamodb.put_item(TableName=table, Item=item)
    got = dynamodb.get_item(TableName=table, Key={"p": s("a"), "c": s("1")}, ConsistentRead=True)["Item"]
    assert got == {**item, "n": n("1.5")}
    old = dynamodb.delete_item(TableName=table, Key={"p": s("a"), "c": s("1")}, ReturnValues="ALL_OLD")["Attributes"]
    assert old == got
    assert "Item" not in dynamodb.get_item(TableName=table, Key={"p": s("a"), "c": s("1")})


def test_condition_failed_returns_the_item_and_changes_nothing(dynamodb, table):
    key = {"p": s("a"), "c": s("1")}
    dynamodb.put_item(TableName=table, Item={**key, "v": n(1)})
    refused("ConditionalCheckFailedException", dynamodb.put_item, TableName=table, Item={**key, "v": n(2)},
            ConditionExpression="attribute_not_exists(p)")
    assert dynamodb.get_item(TableName=table, Key=key)["Item"]["v"] == n(1)


def test_update_expressions(dynamodb, table):
    key = {"p": s("a"), "c": s("1")}
    answer = dynamodb.update_item(
        TableName=table, Key=key, ReturnValues="ALL_NEW",
        UpdateExpression="SET #v = if_not_exists(#v, :zero) + :one, m = :m ADD tags :t",
        ExpressionAttributeNames={"#v": "v"},
        ExpressionAttributeValues={":zero": n(0), ":one": n(1), ":m": {"M": {"x": n(1)}}, ":t": {"SS": ["a"]}})
    assert answer["Attributes"] == {**key, "v": n(1), "m": {"M": {"x": n(1)}}, "tags": {"SS": ["a"]}}
    answer = dynamodb.update_item(
        TableName=table, Key=key, ReturnValues="UPDATED_OLD", UpdateExpression="SET m.x = m.x + :one REMOVE tags",
        ConditionExpression="v = :one", ExpressionAttributeValues={":one": n(1)})
    assert answer["Attributes"] == {"m": {"M": {"x": n(1)}}, "tags": {"SS": ["a"]}}
    assert dynamodb.get_item(TableName=table, Key=key)["Item"]["m"] == {"M": {"x": n(2)}}


def test_query_pages_in_order_both_ways(dynamodb, table):
    for i in range(30):
        dynamodb.put_item(TableName=table, Item={"p": s("a"), "c": s(f"{i:03}")})
    pages = dynamodb.get_paginator("query").paginate(
        TableName=table, KeyConditionExpression="p = :p AND c BETWEEN :a AND :b", PaginationConfig={"PageSize": 7},
        ExpressionAttributeValues={":p": s("a"), ":a": s("005"), ":b": s("024")}, ScanIndexForward=False)
    assert [item["c"]["S"] for page in pages for item in page["Items"]] == [f"{i:03}" for i in range(24, 4, -1)]


def test_parallel_scan_segments_cover_the_table_once(dynamodb, table):
    keys = {f"k{i}" for i in range(60)}
    for key in keys:
        dynamodb.put_item(TableName=table, Item={"p": s(key), "c": s("x")})
    seen = []
    for segment in range(4):
        pages = dynamodb.get_paginator("scan").paginate(TableName=table, Segment=segment, TotalSegments=4, Limit=5)
        seen += [item["p"]["S"] for page in pages for item in page["Items"]]
    assert sorted(seen) == sorted(keys)


def test_batches(dynamodb, table):
    puts = [{"PutRequest": {"Item": {"p": s("b"), "c": s(str(i))}}} for i in range(25)]
    assert dynamodb.batch_write_item(RequestItems={table: puts})["UnprocessedItems"] == {}
    keys = [{"p": s("b"), "c": s(str(i))} for i in range(30)]
    got = dynamodb.batch_get_item(RequestItems={table: {"Keys": keys}})["Responses"][table]
    assert len(got) == 25
    dynamodb.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": key}} for key in keys[:25]]})
    assert dynamodb.query(TableName=table, KeyConditionExpression="p = :p", Select="COUNT",
                          ExpressionAttributeValues={":p": s("b")})["Count"] == 0
    refused("ValidationException", dynamodb.batch_write_item, RequestItems={table: puts + puts[:1]})


def test_transactions_are_all_or_nothing(dynamodb, table):
    put = lambda c: {"Put": {"TableName": table, "Item": {"p": s("t"), "c": s(c)}}}
    check = {"ConditionCheck": {"TableName": table, "Key": {"p": s("t"), "c": s("no")}, "ConditionExpression": "attribute_exists(p)"}}
    response = refused("TransactionCanceledException", dynamodb.transact_write_items, TransactItems=[put("1"), check])
    assert [reason["Code"] for reason in response["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    get = {"Get": {"TableName": table, "Key": {"p": s("t"), "c": s("1")}}}
    assert dynamodb.transact_get_items(TransactItems=[get])["Responses"] == [{}]
    token = str(uuid.uuid4())
    dynamodb.transact_write_items(TransactItems=[put("1"), put("2")], ClientRequestToken=token)
    dynamodb.delete_item(TableName=table, Key={"p": s("t"), "c": s("1")})
    dynamodb.transact_write_items(TransactItems=[put("1"), put("2")], ClientRequestToken=token)
    assert dynamodb.transact_get_items(TransactItems=[get])["Responses"] == [{}], "a token is executed once"
    refused("IdempotentParameterMismatchException", dynamodb.transact_write_items, TransactItems=[put("3")],
            ClientRequestToken=token)


def test_index_added_to_a_full_table_is_backfilled_and_maintained(dynamodb, table):
    for i in range(100):
        dynamodb.put_item(TableName=table, Item={"p": s(str(i)), "c": s("x"), "g": s("odd" if i % 2 else "even")})
    dynamodb.update_table(
        TableName=table, AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": {"IndexName": "by_g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                                 "Projection": {"ProjectionType": "KEYS_ONLY"}}}])
    status = lambda: dynamodb.describe_table(TableName=table)["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"]
    eventually(lambda: status() == "ACTIVE")
    count = lambda g: dynamodb.query(TableName=table, IndexName="by_g", KeyConditionExpression="g = :g", Select="COUNT",
                                     ExpressionAttributeValues={":g": s(g)})["Count"]
    assert (count("odd"), count("even")) == (50, 50)
    dynamodb.update_item(TableName=table, Key={"p": s("1"), "c": s("x")}, UpdateExpression="SET g = :g",
                         ExpressionAttributeValues={":g": s("even")})
    dynamodb.update_item(TableName=table, Key={"p": s("2"), "c": s("x")}, UpdateExpression="REMOVE g")
    assert (count("odd"), count("even")) == (49, 50)
    dynamodb.update_table(TableName=table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by_g"}}])
    eventually(lambda: "GlobalSecondaryIndexes" not in dynamodb.describe_table(TableName=table)["Table"])


def test_time_to_live_removes_what_has_expired_and_nothing_else(dynamodb, table):
    dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "e"})
    eventually(lambda: dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED")
    now = int(time.time())
    for c, expiry in (("past", n(now - 10)), ("future", n(now + 3600)), ("text", s(str(now - 10))), ("ancient", n(5))):
        dynamodb.put_item(TableName=table, Item={"p": s("ttl"), "c": s(c), "e": expiry})
    left = lambda: {item["c"]["S"] for item in dynamodb.query(
        TableName=table, KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": s("ttl")})["Items"]}
    eventually(lambda: "past" not in left())
    assert left() == {"future", "text", "ancient"}


def test_tables_are_listed_described_changed_and_deleted(dynamodb):
    name = create_table(dynamodb, Tags=[{"Key": "team", "Value": "one"}])
    try:
        assert name in [t for page in dynamodb.get_paginator("list_tables").paginate() for t in page["TableNames"]]
        arn = dynamodb.describe_table(TableName=name)["Table"]["TableArn"]
        dynamodb.tag_resource(ResourceArn=arn, Tags=[{"Key": "cost", "Value": "two"}])
        dynamodb.untag_resource(ResourceArn=arn, TagKeys=["team"])
        assert dynamodb.list_tags_of_resource(ResourceArn=arn)["Tags"] == [{"Key": "cost", "Value": "two"}]
        dynamodb.update_table(TableName=name, BillingMode="PROVISIONED",
                              ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6})
        described = dynamodb.describe_table(TableName=name)["Table"]
        assert described["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
        refused("ResourceInUseException", dynamodb.create_table, TableName=name, BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}])
    finally:
        delete_table(dynamodb, name)
    refused("ResourceNotFoundException", dynamodb.describe_table, TableName=name)


def test_table_settings_change_one_by_one(dynamodb):
    """Tools such as CloudFormation send each of these in an UpdateTable of its own and read it back."""
    units = lambda read, write: {"ReadCapacityUnits": read, "WriteCapacityUnits": write}
    name = create_table(dynamodb, types={"g": "S"}, BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 2),
                        GlobalSecondaryIndexes=[{**index("by_g", "g"), "ProvisionedThroughput": units(3, 4)}])

    def changed(**update):
        dynamodb.update_table(TableName=name, **update)
        wait_for(dynamodb, "table_exists", name)
        return dynamodb.describe_table(TableName=name)["Table"]

    table = changed(ProvisionedThroughput=units(5, 6))
    assert table["ProvisionedThroughput"].items() >= units(5, 6).items()
    table = changed(GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by_g", "ProvisionedThroughput": units(7, 8)}}])
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"].items() >= units(7, 8).items()
    table = changed(TableClass="STANDARD_INFREQUENT_ACCESS")
    assert table["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    table = changed(BillingMode="PAY_PER_REQUEST")
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["ProvisionedThroughput"].items() >= units(0, 0).items()
    assert dynamodb.delete_table(TableName=name)["TableDescription"]["TableStatus"] == "DELETING"


def test_lists_come_in_pages(dynamodb):
    """Paginators must end, and meet every name once."""
    names = sorted(create_table(dynamodb, Tags=[{"Key": "k", "Value": "v"}]) for _ in range(5))
    pages = list(dynamodb.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2}))
    assert all(len(page["TableNames"]) <= 2 for page in pages)
    assert [name for page in pages for name in page["TableNames"] if name in names] == names
    for name in names:
        arn = dynamodb.describe_table(TableName=name)["Table"]["TableArn"]
        pages = dynamodb.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
        assert [tag for page in pages for tag in page["Tags"]] == [{"Key": "k", "Value": "v"}]
        dynamodb.delete_table(TableName=name)


def test_limits_and_endpoints(dynamodb):
    assert dynamodb.describe_limits()["TableMaxReadCapacityUnits"] > 0
    assert dynamodb.describe_endpoints()["Endpoints"][0]["CachePeriodInMinutes"] > 0


def metrics(endpoint):
    with urllib.request.urlopen(endpoint + "/metrics") as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(number) for name, number in lines}


def test_metrics_count_requests_and_connections(dynamodb, endpoint):
    dynamodb.list_tables()
    value = metrics(endpoint)
    assert value['holdfast_requests_total{operation="ListTables"}'] >= 1
    assert value["holdfast_connections"] >= 1


def test_metrics_tell_how_a_vector_index_is(endpoint):
    """Whoever runs the server must see memory, backlog, and items that an index passes over. Not by boto3, whose older
    versions know no vector indexes."""
    near = {"IndexName": "near", "VectorAttribute": {"AttributeName": "w"}, "Dimensions": 2,
            "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "KEYS_ONLY"}}
    done(endpoint, "CreateTable", {"TableName": "gauged", "BillingMode": "PAY_PER_REQUEST",
                                   "KeySchema": key_schema("p"), "VectorIndexes": [near],
                                   "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}]})
    vector = {"L": [n(1), n(2)]}
    for item in ({"p": s("a"), "w": vector}, {"p": s("b"), "w": vector}, {"p": s("none")}, {"p": s("a")}):
        done(endpoint, "PutItem", {"TableName": "gauged", "Item": item})
    value = {name.split("{")[0].removeprefix("holdfast_vector"): number for name, number in metrics(endpoint).items()
             if name.endswith('{table="gauged",index="near"}')}
    assert value["_memory_bytes"] > 0
    assert {name: value[name] for name in ("s", "s_waiting", "s_dead", "_graphs", "_skipped_items")} == {
        "s": 1, "s_waiting": 0, "s_dead": 1, "_graphs": 0, "_skipped_items": 2}
    done(endpoint, "DeleteTable", {"TableName": "gauged"})


def test_a_body_of_very_many_gzip_members_is_answered(endpoint):
    # Inflating comes before the signature is looked at: work beyond the body's size would be anybody's to cause.
    body = gzip.compress(b"{}") + gzip.compress(b"") * 800_000
    headers = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0",
               "Content-Encoding": "gzip"}
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(endpoint, body, headers), timeout=60)
    assert b"MissingAuthenticationTokenException" in caught.value.read()


def test_what_is_not_offered_is_refused_by_name(dynamodb, table):
    response = refused("ValidationException", dynamodb.update_table, TableName=table,
                       ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}])
    assert "ReplicaUpdates" in response["Error"]["Message"]
    refused("UnknownOperationException", dynamodb.list_exports)


def scanned(client, table):
    return {item["p"]["S"]: item for item in client.scan(TableName=table, ConsistentRead=True)["Items"]}


def test_a_backup_is_made_listed_restored_and_deleted(dynamodb):
    name = create_table(dynamodb, types={"g": "S"}, GlobalSecondaryIndexes=[index("by_g", "g")])
    for i in range(30):
        dynamodb.put_item(TableName=name, Item={"p": s(str(i)), "g": s("even" if i % 2 == 0 else "odd")})
    then = scanned(dynamodb, name)
    details = dynamodb.create_backup(TableName=name, BackupName="first")["BackupDetails"]
    arn = details["BackupArn"]
    dynamodb.put_item(TableName=name, Item={"p": s("later")})
    describe = lambda: dynamodb.describe_backup(BackupArn=arn)["BackupDescription"]
    eventually(lambda: describe()["BackupDetails"]["BackupStatus"] == "AVAILABLE")
    assert describe()["SourceTableDetails"]["ItemCount"] == 30
    assert [b["BackupArn"] for b in dynamodb.list_backups(TableName=name)["BackupSummaries"]] == [arn]
    delete_table(dynamodb, name)

    made = dynamodb.restore_table_from_backup(TargetTableName=f"{name}_r", BackupArn=arn)["TableDescription"]
    assert made["TableStatus"] == "CREATING" and made["RestoreSummary"]["RestoreInProgress"] is True
    wait_for(dynamodb, "table_exists", f"{name}_r")
    summary = dynamodb.describe_table(TableName=f"{name}_r")["Table"]["RestoreSummary"]
    assert summary["RestoreInProgress"] is False and summary["SourceBackupArn"] == arn
    assert summary["SourceTableArn"].endswith(f"table/{name}")
    assert scanned(dynamodb, f"{name}_r") == then
    odd = dynamodb.query(TableName=f"{name}_r", IndexName="by_g", KeyConditionExpression="g = :g",
                         ExpressionAttributeValues={":g": s("odd")})
    assert odd["Count"] == 15

    refused("TableAlreadyExistsException", dynamodb.restore_table_from_backup, TargetTableName=f"{name}_r", BackupArn=arn)
    refused("TableNotFoundException", dynamodb.create_backup, TableName=name, BackupName="gone")
    assert dynamodb.delete_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] == "DELETED"
    refused("BackupNotFoundException", dynamodb.describe_backup, BackupArn=arn)
    delete_table(dynamodb, f"{name}_r")


def test_a_table_is_restored_to_a_second(dynamodb):
    name = create_table(dynamodb)
    dynamodb.put_item(TableName=name, Item={"p": s("kept"), "v": n(1)})
    window = lambda: dynamodb.describe_continuous_backups(
        TableName=name)["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert window()["PointInTimeRecoveryStatus"] == "DISABLED"
    refused("PointInTimeRecoveryUnavailableException", dynamodb.restore_table_to_point_in_time, SourceTableName=name,
            TargetTableName=f"{name}_r", UseLatestRestorableTime=True)
    dynamodb.update_continuous_backups(TableName=name,
                                       PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    eventually(lambda: "EarliestRestorableDateTime" in window())
    dynamodb.put_item(TableName=name, Item={"p": s("kept"), "v": n(2)})
    moment = window()["LatestRestorableDateTime"]
    eventually(lambda: (window()["LatestRestorableDateTime"] - moment).total_seconds() >= 1)
    dynamodb.delete_item(TableName=name, Key={"p": s("kept")})

    before = dict(SourceTableName=name, TargetTableName=f"{name}_r", RestoreDateTime=moment)
    dynamodb.restore_table_to_point_in_time(**before)
    dynamodb.restore_table_to_point_in_time(SourceTableName=name, TargetTableName=f"{name}_l", UseLatestRestorableTime=True)
    for target in ("r", "l"):
        wait_for(dynamodb, "table_exists", f"{name}_{target}")
    assert scanned(dynamodb, f"{name}_r") == {"kept": {"p": s("kept"), "v": n(2)}}
    assert scanned(dynamodb, f"{name}_l") == {}
    summary = dynamodb.describe_table(TableName=f"{name}_r")["Table"]["RestoreSummary"]
    assert summary["RestoreInProgress"] is False and "SourceBackupArn" not in summary
    early = {**before, "TargetTableName": f"{name}_e", "RestoreDateTime": moment.replace(year=2000)}
    refused("InvalidRestoreTimeException", dynamodb.restore_table_to_point_in_time, **early)
    refused("TableNotFoundException", dynamodb.describe_continuous_backups, TableName=f"{name}_e")
    for table in (name, f"{name}_r", f"{name}_l"):
        delete_table(dynamodb, table)


def test_a_restore_goes_on_after_a_kill(tmp_path):
    server = Server(tmp_path / "data")
    try:
        client = make_client(server.url)
        name = create_table(client, types={"g": "S"}, GlobalSecondaryIndexes=[index("by_g", "g")])
        for batch in range(160):
            items = [{"p": s(f"{batch}-{i}"), "g": s(str(i)), "pad": s("x" * 4000)} for i in range(25)]
            client.batch_write_item(RequestItems={name: [{"PutRequest": {"Item": item}} for item in items]})
        arn = client.create_backup(TableName=name, BackupName="all")["BackupDetails"]["BackupArn"]
        eventually(lambda: client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] ==
                   "AVAILABLE")
        client.restore_table_from_backup(TargetTableName="again", BackupArn=arn)
        for _ in range(3):
            server.restart()
        wait_for(client, "table_exists", "again")
        table = client.describe_table(TableName="again")["Table"]
        assert table["RestoreSummary"]["RestoreInProgress"] is False
        pages = client.get_paginator("scan").paginate(TableName="again", ProjectionExpression="p")
        assert sum(page["Count"] for page in pages) == 4000
        assert server.stop() == 0
        verified = subprocess.run([PROGRAM, "verify", "--data", tmp_path / "data"], capture_output=True, text=True)
        assert verified.returncode == 0, verified.stdout
    finally:
        server.kill()


@pytest.mark.parametrize("flags", [(), ("--durability", "interval", "--sync-interval-ms", "600000")])
def test_acknowledged_writes_outlive_a_kill(tmp_path, flags):
    # With an interval only the power may take what was acknowledged, never the end of the process.
    server = Server(tmp_path / "data", *flags)
    try:
        client = make_client(server.url)
        name = create_table(client)
        for round_number in range(5):
            for i in range(20):
                client.put_item(TableName=name, Item={"p": s(f"{round_number}-{i}")})
            server.restart()
            assert client.scan(TableName=name, Select="COUNT")["Count"] == 20 * (round_number + 1)
    finally:
        server.kill()


def test_a_store_with_expiries_too_old_to_act_on_is_sound(tmp_path):
    # The sweeper leaves such items alone, so it must leave their expiry entries alone as well.
    server = Server(tmp_path / "data", "--ttl-sweep-ms", "10")
    try:
        client = make_client(server.url)
        name = create_table(client)
        client.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "e"})
        client.put_item(TableName=name, Item={"p": s("ancient"), "e": n(5)})
        client.put_item(TableName=name, Item={"p": s("past"), "e": n(int(time.time()) - 10)})
        eventually(lambda: client.scan(TableName=name, Select="COUNT")["Count"] == 1)
        assert server.stop() == 0
    finally:
        server.kill()
    subprocess.run([PROGRAM, "verify", "--data", server.directory], check=True)


def test_a_creation_that_was_cut_short_is_taken_up_and_anything_else_is_left_alone(tmp_path):
    # What RocksDB leaves when a first start is killed: no data yet, so it must not need a person to clear it away.
    directory = tmp_path / "data"
    directory.mkdir()
    for name in ("holdfast.lock", "LOCK", "IDENTITY", "MANIFEST-000001", "000001.dbtmp"):
        (directory / name).touch()
    server = Server(directory)
    try:
        create_table(make_client(server.url))
    finally:
        server.kill()

    (directory / "FORMAT").unlink()
    (directory / "CURRENT").unlink()  # table files without it are lost data, not an empty store
    tried = subprocess.run([PROGRAM, "serve", "--port", "0", "--data", directory], capture_output=True, timeout=20)
    assert tried.returncode == 1 and b"not a holdfast store" in tried.stderr


def test_no_operation_was_left_out(dynamodb):
    """An operation that is added without a test here is found out; this has to stay the last test."""
    assert offered(dynamodb) <= driven
