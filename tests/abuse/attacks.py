"""Single requests that ask for more work or memory than a request may cost.

An attack makes what it needs on the server and gives the requests to be sent at once. The tests in test_attacks.py send each
to a real server and hold it to its memory; bench/abuse records processor time too, and what another client noticed. A new
attack is a function here:

    @attack
    def filters_with_many_operands(server):
        return [dynamodb("Query", ...)]
"""
import gzip

from abuse import MB, Client, dynamodb, make_table

ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


@attack
def gzip_bomb(server):
    """64 KB that become 64 MB."""
    bomb = gzip.compress(bytes(64 * MB), 9)
    return [dynamodb("PutItem", bomb, Content_Encoding="gzip")] * 4


@attack
def deep_document(server):
    return [dynamodb("PutItem", '{"Item":{"a":' + '{"L":[' * 200_000 + "]}" * 200_000 + "}}")]


@attack
def wide_document(server):
    """A sound body of the largest size, whose item is too large."""
    make_table(server, "attacked")
    item = {"id": {"S": "1"}, "l": {"L": [{"N": "1"}] * 1_300_000}}
    return [dynamodb("PutItem", {"TableName": "attacked", "Item": item})]


# --- faults, lists and maps ---


@attack
def faulty_definitions(server):
    """600 KB of faults: each was compared with each."""
    return [dynamodb("CreateTable", '{"TableName":"faulty","AttributeDefinitions":[' + ",".join(["{}"] * 200_000) + "]}")]


@attack
def empty_elements(server):
    """15.9 MB of three bytes each: an element took 310 bytes a byte."""
    return [dynamodb("CreateTable", '{"AttributeDefinitions":[' + "{}," * 5_300_000 + "{}]}")]


@attack
def many_faulty_gets(server):
    return [dynamodb("TransactGetItems", '{"TransactItems":[' + ",".join(['{"Get":{}}'] * 100_000) + "]}")] * 2


@attack
def many_tables_of_a_batch(server):
    tables = ",".join(f'"t{i}":{{}}' for i in range(60_000))
    return [dynamodb("BatchGetItem", '{"RequestItems":{' + tables + "}}")]


@attack
def many_writes_of_a_batch(server):
    return [dynamodb("BatchWriteItem", '{"RequestItems":{"table":[' + "{}," * 5_000_000 + "{}]}}")]


@attack
def many_keys_and_definitions(server):
    """Every key of an index was looked for among all definitions."""
    names = [f"d{i}" for i in range(16_000)]
    return [dynamodb("CreateTable", {
        "TableName": "wide", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "d0", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "GlobalSecondaryIndexes": [{"IndexName": "index", "Projection": {"ProjectionType": "ALL"},
                                    "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in reversed(names)]}],
    })]  # fmt: skip


@attack
def long_name(server):
    """15 MB that the answer repeated."""
    return [dynamodb("DescribeTable", {"TableName": "t" * 15_000_000})]


@attack
def long_number(server):
    make_table(server, "attacked")
    return [dynamodb("PutItem", {"TableName": "attacked", "Item": {"id": {"S": "1"}, "n": {"N": "0" * 15_000_000 + "x"}}})]


@attack
def long_set(server):
    members = ",".join(f'"{i}"' for i in range(1_500_000))
    return [dynamodb("PutItem", '{"TableName":"attacked","Item":{"id":{"S":"1"},"s":{"NS":[' + members + "]}}}")]


@attack
def deep_items_of_a_batch(server):
    """25 items of the largest size at the deepest place: each level moves what is in it."""
    make_table(server, "attacked")
    item = '{"M":{"a":' * 30 + '{"S":"' + "x" * 400_000 + '"}' + "}}" * 30
    puts = ",".join('{"PutRequest":{"Item":{"id":{"S":"%d"},"a":%s}}}' % (i, item) for i in range(25))
    return [dynamodb("BatchWriteItem", '{"RequestItems":{"attacked":[' + puts + "]}}")]


# --- expressions and what came before them ---


def put_large(server, name="searched"):
    make_table(server, name)
    item = {"id": {"S": "1"}, "a": {"S": "a" * 390_000}}
    with Client(server) as client:
        client.send(dynamodb("PutItem", {"TableName": name, "Item": item}))
        assert client.answer().status == 200


@attack
def many_searches(server):
    """240 × contains, each of which took the product of its texts."""
    put_large(server)
    return [dynamodb("PutItem", {
        "TableName": "searched", "Item": {"id": {"S": "1"}},
        "ConditionExpression": "or ".join(["contains(a,:v)"] * 240),
        "ExpressionAttributeValues": {":v": {"S": "a" * 195_000 + "b"}},
    })] * 2  # fmt: skip


@attack
def many_searches_of_a_transaction(server):
    put_large(server)
    check = {"ConditionCheck": {
        "TableName": "searched", "Key": {"id": {"S": "1"}}, "ConditionExpression": "or ".join(["contains(a,:v)"] * 240),
        "ExpressionAttributeValues": {":v": {"S": "a" * 30_000 + "b"}}}}  # fmt: skip
    others = [{"ConditionCheck": {**check["ConditionCheck"], "Key": {"id": {"S": str(i)}}}} for i in range(2, 90)]
    return [dynamodb("TransactWriteItems", {"TransactItems": [check, *others]})]


@attack
def many_names_to_get(server):
    """In falling order: each was put in front of the others."""
    put_large(server)
    names = [f"n{i:06}" for i in range(120_000, 0, -1)]
    return [dynamodb("GetItem", {"TableName": "searched", "Key": {"id": {"S": "1"}}, "AttributesToGet": names})] * 2


@attack
def many_operands_of_a_filter(server):
    make_table(server, "filtered")
    operands = [{"N": str(i)} for i in range(100_000)]
    return [dynamodb("Scan", {"TableName": "filtered", "ScanFilter": {
        "n": {"ComparisonOperator": "IN", "AttributeValueList": operands}}})]  # fmt: skip


@attack
def large_update(server):
    """300 copies of one value, measured when they were there."""
    make_table(server, "attacked")
    sets = ",".join(f"a{i}=:v" for i in range(300))
    return [dynamodb("UpdateItem", {
        "TableName": "attacked", "Key": {"id": {"S": "1"}}, "UpdateExpression": "SET " + sets,
        "ExpressionAttributeValues": {":v": {"S": "x" * size}}}) for size in (400_000, 1_900_000, 4_000_000)]  # fmt: skip


@attack
def doubled_lists_of_a_transaction(server):
    make_table(server, "attacked")
    sets = ",".join(f"b{i}=list_append(:l,:l)" for i in range(150))
    return [dynamodb("TransactWriteItems", {"TransactItems": [
        {"Update": {"TableName": "attacked", "Key": {"id": {"S": str(i)}}, "UpdateExpression": "SET " + sets,
                    "ExpressionAttributeValues": {":l": {"L": [{"S": ""}] * 10_000}}}} for i in range(100)]})]  # fmt: skip


@attack
def long_names_named_often(server):
    """4 KB of text that name 64 KB a thousand times, a hundred times over."""
    make_table(server, "attacked")
    condition = " or ".join(["#a=:v or #a.#a.#a.#a=:v"] * 75)
    return [dynamodb("TransactWriteItems", {"TransactItems": [
        {"ConditionCheck": {"TableName": "attacked", "Key": {"id": {"S": str(i)}}, "ConditionExpression": condition,
                            "ExpressionAttributeNames": {"#a": "n" * 65_000},
                            "ExpressionAttributeValues": {":v": {"S": "x"}}}} for i in range(100)]})]  # fmt: skip


@attack
def nested_paths_of_a_page(server):
    """Hundreds of paths for each of a thousand items."""
    make_table(server, "paths")
    for batch in range(40):
        puts = [{"PutRequest": {"Item": {"id": {"S": f"{batch}-{i}"}, "l": {"L": [{"N": "1"}]}}}} for i in range(25)]
        with Client(server) as client:
            client.send(dynamodb("BatchWriteItem", {"RequestItems": {"paths": puts}}))
            assert client.answer().status == 200
    paths = ",".join(f"l[{i}]" for i in range(570))
    return [dynamodb("Scan", {"TableName": "paths", "ProjectionExpression": paths})]
