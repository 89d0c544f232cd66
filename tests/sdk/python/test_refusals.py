"""Refusals and pages that once differed from DynamoDB's, held to what the service is known to answer."""
import pytest
from botocore.exceptions import ClientError
from conftest import create_table


@pytest.fixture(scope="module")
def indexed(dynamodb):
    """Items k/1 and k/2; `local` is by n and holds a, `global` is by t and holds keys."""
    name = create_table(
        dynamodb,
        ("p", "s"),
        {"n": "N", "t": "S"},
        LocalSecondaryIndexes=[
            index("local", "p", "n", {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]})
        ],
        GlobalSecondaryIndexes=[index("global", "t", None, {"ProjectionType": "KEYS_ONLY"})],
    )
    for sort in "12":
        item = {
            "p": {"S": "k"},
            "s": {"S": sort},
            "n": {"N": sort},
            "t": {"S": "t"},
            "a": {"S": "a"},
            "b": {"S": "b"},
        }
        dynamodb.put_item(TableName=name, Item=item)
    yield name
    dynamodb.delete_table(TableName=name)


def index(name, partition, sort, projection):
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    if sort:
        keys.append({"AttributeName": sort, "KeyType": "RANGE"})
    return {"IndexName": name, "KeySchema": keys, "Projection": projection}


def refusal(call, **request):
    with pytest.raises(ClientError) as refused:
        call(**request)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    return refused.value.response["Error"]["Message"]


def test_keys_of_tags_that_begin_with_aws_are_awss(dynamodb, indexed):
    arn = dynamodb.describe_table(TableName=indexed)["Table"]["TableArn"]
    message = refusal(dynamodb.tag_resource, ResourceArn=arn, Tags=[{"Key": "aws:x", "Value": "b"}])
    assert message == "aws: prefixed tag key names are not allowed for external use."
    assert dynamodb.list_tags_of_resource(ResourceArn=arn)["Tags"] == []


@pytest.mark.parametrize("name, key", [("local", "p"), ("global", "t")])
def test_a_query_does_not_filter_by_what_its_index_does_not_hold(dynamodb, indexed, name, key):
    message = refusal(
        dynamodb.query,
        TableName=indexed,
        IndexName=name,
        KeyConditionExpression=f"{key} = :v",
        FilterExpression="c = :v OR b = :v",
        ExpressionAttributeValues={":v": {"S": "k"}},
    )
    assert message == (
        f"One or more parameter values were invalid: Secondary index {name} does not project one or more "
        "filter attributes: [b, c]"
    )


def test_a_filter_by_the_whole_key_is_refused_for_the_partition_key(dynamodb, indexed):
    message = refusal(
        dynamodb.query,
        TableName=indexed,
        KeyConditionExpression="p = :v",
        FilterExpression="s = :v AND p = :v",
        ExpressionAttributeValues={":v": {"S": "k"}},
    )
    assert message == (
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: p"
    )


def test_a_scan_of_an_index_finds_nothing_by_what_the_index_does_not_hold(dynamodb, indexed):
    values = {":b": {"S": "b"}}
    answer = dynamodb.scan(
        TableName=indexed, IndexName="local", FilterExpression="b = :b", ExpressionAttributeValues=values
    )
    assert (answer["Count"], answer["ScannedCount"]) == (0, 2)


def test_the_one_item_of_a_partition_is_the_last_page(dynamodb):
    # A LastEvaluatedKey here would be refused as the next ExclusiveStartKey, and paginators would fail.
    name = create_table(dynamodb)
    dynamodb.put_item(TableName=name, Item={"p": {"S": "k"}})
    request = {
        "TableName": name,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "k"}},
    }
    pages = list(dynamodb.get_paginator("query").paginate(**request, PaginationConfig={"PageSize": 1}))
    assert [page["Count"] for page in pages] == [1]
    message = refusal(dynamodb.query, **request, ExclusiveStartKey={"p": {"S": "k"}})
    assert (
        message == "The provided exclusive start key is invalid: ExclusiveStartKey: {p=AttributeValue: {S:k}}"
    )
    dynamodb.delete_table(TableName=name)


def test_an_index_key_whose_type_shows_only_at_the_update(dynamodb, indexed):
    key = {"p": {"S": "k"}, "s": {"S": "1"}}
    message = refusal(dynamodb.update_item, TableName=indexed, Key=key, UpdateExpression="SET t = n")
    assert message == "The update expression attempted to update the secondary index key to unsupported type"


def test_an_index_key_that_is_updated_to_more_than_fits(dynamodb, indexed):
    message = refusal(
        dynamodb.update_item,
        TableName=indexed,
        Key={"p": {"S": "k"}, "s": {"S": "1"}},
        UpdateExpression="SET t = :t",
        ExpressionAttributeValues={":t": {"S": "t" * 2049}},
    )
    assert (
        message
        == "The update expression attempted to update the secondary index key beyond allowed size limits"
    )


@pytest.mark.parametrize(
    "select, more, message",
    [
        (
            "ALL_PROJECTED_ATTRIBUTES",
            {},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            "SPECIFIC_ATTRIBUTES",
            {},
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            "COUNT",
            {"ProjectionExpression": "a"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
    ],
)
def test_choices_of_attributes_are_refused_in_one_wording(dynamodb, indexed, select, more, message):
    assert refusal(dynamodb.scan, TableName=indexed, Select=select, **more) == message
    condition = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "k"}}}
    answer = refusal(dynamodb.query, TableName=indexed, Select=select, **condition, **more)
    assert answer == "1 validation error detected: " + message


@pytest.mark.parametrize(
    "conditions, message",
    [
        ({}, "ConditionalOperator cannot be used without Filter or Expected"),
        (
            {"a": {"ComparisonOperator": "NULL"}},
            "ConditionalOperator can only be used when Filter or Expected has two or more elements",
        ),
        (
            {"a": {"ComparisonOperator": "EQ"}},
            "One or more parameter values were invalid: Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
    ],
)
def test_a_conditional_operator_needs_two_conditions(dynamodb, indexed, conditions, message):
    answer = refusal(dynamodb.scan, TableName=indexed, ScanFilter=conditions, ConditionalOperator="OR")
    assert answer == message


@pytest.mark.parametrize(
    "condition, message",
    [
        ("p = :v OR s = :v", "Invalid operator used in KeyConditionExpression: OR"),
        ("p = :v AND contains(s, :v)", "Invalid operator used in KeyConditionExpression: contains"),
        ("p = :v AND size(s) = :v", "KeyConditionExpressions cannot contain nested operations"),
        ("p = :v AND p = :v", "KeyConditionExpressions must only contain one condition per key"),
    ],
)
def test_what_a_key_condition_cannot_be(dynamodb, indexed, condition, message):
    values = {":v": {"S": "k"}}
    answer = refusal(
        dynamodb.query, TableName=indexed, KeyConditionExpression=condition, ExpressionAttributeValues=values
    )
    assert answer == message
