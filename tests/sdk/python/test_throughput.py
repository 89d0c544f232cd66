"""DB-T-03: throughput as boto3 meets it, without retries; and DB-M-01: what /metrics says of it."""
import urllib.request

from conftest import create_table, delete_table, refused, s

UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


def item(key, kilobytes):
    return {"p": s(key), "fill": s("x" * (kilobytes * 1024 - 100))}


def test_a_table_keeps_to_its_units(dynamodb):
    name = create_table(dynamodb, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    dynamodb.put_item(TableName=name, Item=item("a", 390))  # of 300 units: 90 are owed
    error = refused("ProvisionedThroughputExceededException", dynamodb.put_item, TableName=name, Item={"p": s("b")})
    assert error["Error"]["Message"] == (
        "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning "
        "level with the UpdateTable API.")
    for _ in range(4):  # 98 units each
        dynamodb.get_item(TableName=name, Key={"p": s("a")}, ConsistentRead=True)
    for call, more in (
        (dynamodb.get_item, {"Key": {"p": s("b")}}),
        (dynamodb.scan, {}),
        (dynamodb.query, {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": s("a")}}),
    ):
        refused("ProvisionedThroughputExceededException", call, TableName=name, **more)
    refused("ValidationException", dynamodb.get_item, TableName=name, Key={"q": s("b")})
    with urllib.request.urlopen(dynamodb.meta.endpoint_url + "/metrics") as answer:
        lines = answer.read().decode().splitlines()
    assert f'holdfast_throttled_reads_total{{table="{name}",index=""}} 3' in lines
    assert f'holdfast_throttled_writes_total{{table="{name}",index=""}} 1' in lines
    assert f'holdfast_table_user_errors_total{{table="{name}"}} 1' in lines
    seen = [line for line in lines if line.startswith(f'holdfast_table_request_seconds_count{{table="{name}"}}')]
    assert float(seen[0].split()[-1]) >= 10
    delete_table(dynamodb, name)


def test_what_a_batch_gives_back_can_be_sent_as_it_is(dynamodb):
    name = create_table(dynamodb, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    writes = [{"PutRequest": {"Item": item(key, 200)}} for key in "abc"]
    left = dynamodb.batch_write_item(RequestItems={name: writes})["UnprocessedItems"]
    assert left == {name: writes[2:]}
    refused("ProvisionedThroughputExceededException", dynamodb.batch_write_item, RequestItems=left)
    dynamodb.update_table(TableName=name, BillingMode="PAY_PER_REQUEST")
    assert dynamodb.batch_write_item(RequestItems=left)["UnprocessedItems"] == {}
    assert "Item" in dynamodb.get_item(TableName=name, Key={"p": s("c")})
    delete_table(dynamodb, name)
