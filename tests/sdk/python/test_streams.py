"""DynamoDB Streams read by boto3, as a program that follows a table does (DB-S-01)."""
import time

import pytest
from conftest import Server, create_table, delete_table, driven, eventually, make_client, n, offered, refused, s

BOTH = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.fixture(scope="session")
def streams(endpoint):
    return make_client(endpoint, service="dynamodbstreams")


class Reader:
    """Follows every shard of a stream from its beginning; records come to rest in .records, in the order of their shard."""

    def __init__(self, client, arn, start="TRIM_HORIZON"):
        self.client, self.records = client, []
        shards = client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        self.iterators = [client.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType=start)["ShardIterator"]
                          for shard in shards]

    def poll(self):
        left = []
        for iterator in self.iterators:
            answer = self.client.get_records(ShardIterator=iterator)
            self.records += answer["Records"]
            if "NextShardIterator" in answer:
                left.append(answer["NextShardIterator"])
        self.iterators = left
        return self.records


def arn_of(client, table):
    return client.describe_table(TableName=table)["Table"]["LatestStreamArn"]


def test_a_reader_is_told_of_every_change_at_once(dynamodb, streams):
    table = create_table(dynamodb, key=("p", "c"), StreamSpecification=BOTH)
    reader = Reader(streams, arn_of(dynamodb, table), start="LATEST")
    key = {"p": s("a"), "c": s("1")}
    dynamodb.put_item(TableName=table, Item={**key, "v": n(1)})
    dynamodb.put_item(TableName=table, Item={**key, "v": n("1.0")})  # the same number
    dynamodb.update_item(TableName=table, Key=key, UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": n(2)})
    dynamodb.delete_item(TableName=table, Key=key)
    records = reader.poll()  # what was answered is there
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    for record in records:
        assert record["dynamodb"]["Keys"] == key and record["eventSource"] == "aws:dynamodb" and "userIdentity" not in record
        assert abs(record["dynamodb"]["ApproximateCreationDateTime"].timestamp() - time.time()) < 600
    images = [(record["dynamodb"].get("OldImage", {}).get("v"), record["dynamodb"].get("NewImage", {}).get("v")) for record in records]
    assert images == [(None, n(1)), (n(1), n(2)), (n(2), None)]
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
    assert numbers == sorted(set(numbers))
    delete_table(dynamodb, table)


def test_transactions_batches_and_expiry_are_told(dynamodb, streams):
    table = create_table(dynamodb, key=("p", "c"), StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "e"})
    reader = Reader(streams, arn_of(dynamodb, table))
    item = lambda c, **more: {"p": s("x"), "c": s(c), **more}
    dynamodb.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": item(c)}} for c in "ab"])
    dynamodb.batch_write_item(RequestItems={table: [
        {"DeleteRequest": {"Key": item("missing")}}, {"PutRequest": {"Item": item("a")}}, {"PutRequest": {"Item": item("c")}}]})
    dynamodb.put_item(TableName=table, Item=item("old", e=n(int(time.time()) - 60)))
    eventually(lambda: any("userIdentity" in record for record in reader.poll()))
    told = [(record["eventName"], record["dynamodb"]["Keys"]["c"]["S"]) for record in reader.records]
    assert told == [("INSERT", "a"), ("INSERT", "b"), ("INSERT", "c"), ("INSERT", "old"), ("REMOVE", "old")]
    assert reader.records[-1]["userIdentity"] == {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    assert all("NewImage" not in record["dynamodb"] for record in reader.records)
    delete_table(dynamodb, table)


def test_a_stream_ends_and_another_begins(dynamodb, streams):
    table = create_table(dynamodb, StreamSpecification=BOTH)
    first = arn_of(dynamodb, table)
    dynamodb.put_item(TableName=table, Item={"p": s("1")})
    refused("ValidationException", dynamodb.update_table, TableName=table, StreamSpecification=BOTH)
    dynamodb.update_table(TableName=table, StreamSpecification={"StreamEnabled": False})
    refused("ValidationException", dynamodb.update_table, TableName=table, StreamSpecification={"StreamEnabled": False})
    described = dynamodb.describe_table(TableName=table)["Table"]
    assert "StreamSpecification" not in described and described["LatestStreamArn"] == first
    dynamodb.update_table(TableName=table, StreamSpecification=BOTH)
    second = arn_of(dynamodb, table)
    dynamodb.put_item(TableName=table, Item={"p": s("2")})

    assert [stream["StreamArn"] for stream in streams.list_streams(TableName=table)["Streams"]] == [first, second]
    for arn, status, key, shards_open in ((first, "DISABLED", "1", 0), (second, "ENABLED", "2", 4)):
        assert streams.describe_stream(StreamArn=arn)["StreamDescription"]["StreamStatus"] == status
        reader = Reader(streams, arn)
        assert [record["dynamodb"]["Keys"]["p"]["S"] for record in reader.poll()] == [key]
        assert len(reader.iterators) == shards_open
    delete_table(dynamodb, table)
    reader = Reader(streams, second)
    assert len(reader.poll()) == 1 and reader.iterators == [], "a table that is gone has left its stream"


def test_bad_input_is_refused(dynamodb, streams):
    table = create_table(dynamodb, StreamSpecification=BOTH)
    arn = arn_of(dynamodb, table)
    shard = streams.describe_stream(StreamArn=arn, Limit=1)["StreamDescription"]["Shards"][0]["ShardId"]
    refused("ValidationException", streams.describe_stream, StreamArn="x" * 40)
    refused("ResourceNotFoundException", streams.describe_stream, StreamArn=arn.replace(table, "another"))
    refused("ResourceNotFoundException", streams.get_shard_iterator, StreamArn=arn, ShardId="x" * 30, ShardIteratorType="LATEST")
    refused("ValidationException", streams.get_shard_iterator, StreamArn=arn, ShardId=shard, ShardIteratorType="AT_SEQUENCE_NUMBER")
    refused("ValidationException", streams.get_records, ShardIterator="nonsense")
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")["ShardIterator"]
    refused("ValidationException", streams.get_records, ShardIterator=iterator, Limit=1001)
    refused("ValidationException", streams.list_streams, Limit=101)
    delete_table(dynamodb, table)


def test_streams_outlive_a_kill(tmp_path):
    """What was acknowledged is told after a crash as well, once, and in the order of its numbers."""
    server = Server(tmp_path / "data")
    try:
        dynamodb, streams = make_client(server.url), make_client(server.url, service="dynamodbstreams")
        table = create_table(dynamodb, StreamSpecification=BOTH)
        arn = arn_of(dynamodb, table)
        reader = Reader(streams, arn)
        for round_number in range(3):
            for i in range(10):
                dynamodb.put_item(TableName=table, Item={"p": s(f"{round_number}-{i}")})
            server.restart()
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in Reader(streams, arn).poll()]
        assert len(numbers) == len(set(numbers)) == 30
        assert len(reader.poll()) == 30, "an iterator is as good after a restart"
        by_number = sorted(reader.records, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))
        assert [record["dynamodb"]["Keys"]["p"]["S"] for record in by_number] == [f"{r}-{i}" for r in range(3) for i in range(10)]
    finally:
        server.kill()


def test_no_operation_was_left_out(streams):
    """An operation that is added without a test here is found out; this has to stay the last test."""
    assert len(offered(streams)) == 4 and offered(streams) <= driven
