"""Every operation, typed at Debian's aws command as an operator would."""
import json
import os
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore import xform_name
from conftest import eventually, make_client, n, offered, s

PROGRAM = "/usr/bin/aws"  # The package's, whichever other is on the PATH.
typed = set()  # The operations that have succeeded.


@pytest.fixture(scope="session")
def aws(endpoint):
    """aws("put-item", ...) runs the command and gives its answer; what is not text is passed as JSON."""
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1",
                   "AWS_PAGER": "", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}

    def run(operation, *arguments, error=None, service="dynamodb"):
        words = [word if isinstance(word, str) else json.dumps(word) for word in arguments]
        done = subprocess.run([PROGRAM, service, operation, "--endpoint-url", endpoint, *words], env=environment,
                              capture_output=True, text=True, timeout=60)
        if error:
            assert done.returncode == 254, done
            assert f"An error occurred ({error})" in done.stderr
            return done.stderr
        assert done.returncode == 0, done.stderr
        typed.add(operation)
        return json.loads(done.stdout) if done.stdout else None

    return run


def test_a_table_from_its_making_to_its_end(aws):
    """The commands of a table's life, with the shorthand that people type and both waiters."""
    name = ("--table-name", f"t_{uuid.uuid4().hex}")
    made = aws("create-table", *name, "--key-schema", "AttributeName=p,KeyType=HASH", "AttributeName=c,KeyType=RANGE",
               "--attribute-definitions", "AttributeName=p,AttributeType=S", "AttributeName=c,AttributeType=N",
               "--provisioned-throughput", "ReadCapacityUnits=1,WriteCapacityUnits=2", "--tags", "Key=team,Value=one")
    aws("wait", "table-exists", *name)
    assert name[1] in aws("list-tables", "--page-size", "1")["TableNames"]

    arn = ("--resource-arn", made["TableDescription"]["TableArn"])
    aws("tag-resource", *arn, "--tags", "Key=cost,Value=two")
    aws("untag-resource", *arn, "--tag-keys", "team")
    assert aws("list-tags-of-resource", *arn) == {"Tags": [{"Key": "cost", "Value": "two"}]}

    aws("update-table", *name, "--billing-mode", "PAY_PER_REQUEST", "--table-class", "STANDARD_INFREQUENT_ACCESS")
    index = {"IndexName": "by_g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "KEYS_ONLY"}}
    aws("update-table", *name, "--attribute-definitions", "AttributeName=g,AttributeType=S",
        "--global-secondary-index-updates", [{"Create": index}])
    table = aws("describe-table", *name)["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert [found["IndexName"] for found in table["GlobalSecondaryIndexes"]] == ["by_g"]
    aws("update-table", *name, "--global-secondary-index-updates", [{"Delete": {"IndexName": "by_g"}}])

    aws("delete-table", *name)
    aws("wait", "table-not-exists", *name)
    message = aws("describe-table", *name, error="ResourceNotFoundException")
    assert f"DescribeTable operation: Requested resource not found: Table: {name[1]} not found" in message


def test_items(aws, dynamodb, table):
    """One item written, changed, read and removed; a failed condition ends the command with 254."""
    name, key = ("--table-name", table), {"p": s("a"), "c": s("1")}
    aws("put-item", *name, "--item", {**key, "v": n(1), "b": {"B": "AP8="}, "ns": {"NS": ["1", "2.50"]}})
    message = aws("put-item", *name, "--item", key, "--condition-expression", "attribute_not_exists(p)",
                  error="ConditionalCheckFailedException")
    assert "PutItem operation: The conditional request failed" in message
    answer = aws("update-item", *name, "--key", key, "--update-expression", "SET #v = #v + :one REMOVE b",
                 "--expression-attribute-names", {"#v": "v"}, "--expression-attribute-values", {":one": n(1)},
                 "--return-values", "ALL_OLD", "--return-consumed-capacity", "TOTAL")
    assert answer["Attributes"]["b"] == {"B": "AP8="}
    assert answer["ConsumedCapacity"] == {"TableName": table, "CapacityUnits": 1.0}
    got = aws("get-item", *name, "--key", key, "--consistent-read", "--projection-expression", "v, b, ns")["Item"]
    assert {**got, "ns": sorted(got["ns"]["NS"])} == {"v": n(2), "ns": ["1", "2.5"]}
    assert aws("delete-item", *name, "--key", key, "--return-values", "ALL_OLD")["Attributes"]["v"] == n(2)
    assert "Item" not in dynamodb.get_item(TableName=table, Key=key)


def test_pages_and_segments(aws, dynamodb, table):
    """The command follows LastEvaluatedKey by itself, over small pages, and can be stopped and resumed."""
    name, mine = ("--table-name", table), ("--key-condition-expression", "p = :p", "--expression-attribute-values", {":p": s("a")})
    for i in range(7):
        dynamodb.put_item(TableName=table, Item={"p": s("a"), "c": s(str(i))})
        dynamodb.put_item(TableName=table, Item={"p": s(f"other {i}"), "c": s("x")})
    downwards = ("query", *name, *mine, "--no-scan-index-forward", "--page-size", "2")
    first = aws(*downwards, "--max-items", "3")
    assert [item["c"]["S"] for item in first["Items"]] == list("654")
    assert aws(*downwards, "--starting-token", first["NextToken"], "--query", "Items[].c.S") == list("3210")
    segment = lambda i: aws("scan", *name, "--segment", str(i), "--total-segments", "2", "--page-size", "3")["Items"]
    with ThreadPoolExecutor() as pool:
        keys = sorted((item["p"]["S"], item["c"]["S"]) for items in pool.map(segment, range(2)) for item in items)
    assert keys == sorted([("a", str(i)) for i in range(7)] + [(f"other {i}", "x") for i in range(7)])


def test_batches(aws, dynamodb, table):
    """Batches answer for every request, in the shapes the command prints."""
    keys = [{"p": s("b"), "c": s(str(i))} for i in range(3)]
    dynamodb.put_item(TableName=table, Item=keys[0])
    writes = [{"DeleteRequest": {"Key": keys[0]}}] + [{"PutRequest": {"Item": key}} for key in keys[1:]]
    assert aws("batch-write-item", "--request-items", {table: writes}) == {"UnprocessedItems": {}}
    got = aws("batch-get-item", "--request-items", {table: {"Keys": keys}})
    assert sorted(got["Responses"][table], key=str) == keys[1:] and got["UnprocessedKeys"] == {}


def test_transactions(aws, table):
    """A token is executed once; a cancellation says which action was at fault."""
    key = {"p": s("t"), "c": s("1")}
    add = {"Update": {"TableName": table, "Key": key, "UpdateExpression": "ADD v :one", "ExpressionAttributeValues": {":one": n(1)}}}
    check = {"ConditionCheck": {"TableName": table, "Key": {"p": s("t"), "c": s("no")}, "ConditionExpression": "attribute_exists(p)"}}
    token = ("--client-request-token", str(uuid.uuid4()))
    for _ in range(2):
        aws("transact-write-items", "--transact-items", [add], *token)
    message = aws("transact-write-items", "--transact-items", [add, check], error="TransactionCanceledException")
    assert "[None, ConditionalCheckFailed]" in message
    got = aws("transact-get-items", "--transact-items", [{"Get": {"TableName": table, "Key": key}}])
    assert got == {"Responses": [{"Item": {**key, "v": n(1)}}]}


def test_time_to_live(aws, table):
    """The setting reads back as it was set."""
    name, setting = ("--table-name", table), {"Enabled": True, "AttributeName": "expires"}
    answer = aws("update-time-to-live", *name, "--time-to-live-specification", "Enabled=true,AttributeName=expires")
    assert answer == {"TimeToLiveSpecification": setting}
    described = aws("describe-time-to-live", *name)["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires" and described["TimeToLiveStatus"] in ("ENABLING", "ENABLED")


def test_backups_and_recovery(aws, table):
    """A table is backed up, its changes are kept, and it is restored in both ways."""
    name = ("--table-name", table)
    aws("put-item", *name, "--item", {"p": s("a"), "c": s("1")})
    aws("update-continuous-backups", *name, "--point-in-time-recovery-specification", "PointInTimeRecoveryEnabled=true")
    described = aws("describe-continuous-backups", *name)["ContinuousBackupsDescription"]
    assert described["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    arn = ("--backup-arn", aws("create-backup", *name, "--backup-name", "typed")["BackupDetails"]["BackupArn"])
    eventually(lambda: aws("describe-backup", *arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE")
    assert [b["BackupName"] for b in aws("list-backups", *name)["BackupSummaries"]] == ["typed"]
    targets = [("--target-table-name", f"{table}_{kind}") for kind in ("b", "l")]
    aws("restore-table-from-backup", *targets[0], *arn)
    aws("restore-table-to-point-in-time", "--source-table-name", table, *targets[1], "--use-latest-restorable-time")
    for _, target in targets:
        aws("wait", "table-exists", "--table-name", target)
        assert aws("scan", "--table-name", target)["Count"] == 1
        assert aws("describe-table", "--table-name", target)["Table"]["RestoreSummary"]["RestoreInProgress"] is False
        aws("delete-table", "--table-name", target)
    aws("delete-backup", *arn)
    assert "Backup not found" in aws("describe-backup", *arn, error="BackupNotFoundException")


def test_a_stream_is_followed_in_a_loop(aws, table):
    """What a script does: enable, find the stream and its shards, read each until there is nothing more."""
    key = {"p": s("a"), "c": s("1")}
    streams = lambda operation, *arguments, **more: aws(operation, *arguments, service="dynamodbstreams", **more)
    aws("update-table", "--table-name", table, "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES")
    arn = ("--stream-arn", aws("describe-table", "--table-name", table)["Table"]["LatestStreamArn"])
    assert [stream["StreamArn"] for stream in streams("list-streams", "--table-name", table)["Streams"]] == [arn[1]]
    aws("put-item", "--table-name", table, "--item", {**key, "v": n(1)})
    aws("delete-item", "--table-name", table, "--key", key)
    aws("update-table", "--table-name", table, "--stream-specification", "StreamEnabled=false")
    records = []
    for shard in streams("describe-stream", *arn)["StreamDescription"]["Shards"]:
        iterator = streams("get-shard-iterator", *arn, "--shard-id", shard["ShardId"], "--shard-iterator-type", "TRIM_HORIZON")
        iterator = iterator["ShardIterator"]
        while iterator:  # the shard is closed: it comes to its end
            answer = streams("get-records", "--shard-iterator", iterator, "--limit", "1")
            records += answer["Records"]
            iterator = answer.get("NextShardIterator")
    assert [(record["eventName"], record["dynamodb"]["Keys"]) for record in records] == [("INSERT", key), ("REMOVE", key)]
    assert records[1]["dynamodb"]["OldImage"]["v"] == n(1)
    message = streams("describe-stream", "--stream-arn", arn[1] + "0", error="ResourceNotFoundException")
    assert "DescribeStream operation: Requested resource not found" in message


def test_limits_and_endpoints(aws):
    """What scripts ask before they start."""
    limits = aws("describe-limits")
    assert limits["AccountMaxReadCapacityUnits"] >= limits["TableMaxReadCapacityUnits"] > 0
    assert aws("describe-endpoints")["Endpoints"][0]["CachePeriodInMinutes"] > 0


def test_no_operation_was_left_out(dynamodb):
    """An operation that is added without a test here is found out; this has to stay the last test."""
    streams = make_client("http://127.0.0.1", service="dynamodbstreams")
    assert {xform_name(name, "-") for name in offered(dynamodb) | offered(streams)} <= typed
