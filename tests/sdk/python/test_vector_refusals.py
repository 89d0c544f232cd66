"""Every refusal of vector indexes and of SearchVectors, byte for byte: clients match on these texts."""
import json
import re

import pytest
from conftest import eventually, key_schema
from server import Server, call, done

INVALID = "One or more parameter values were invalid: "
NUMBER_LIST = "32-bit floating point number list"
ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


def vector(name, schema=(), dimensions=3, attribute="embedding", distance="COSINE", projection=None):
    """The definition of an index; `schema` is ("tenant", "HASH"), …"""
    index = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": attribute},
        "Dimensions": dimensions,
        "DistanceFunction": distance,
        "Projection": projection or {"ProjectionType": "ALL"},
    }
    if schema:
        index["SearchSchema"] = [{"AttributeName": a, "SearchSchemaElementType": t} for a, t in schema]
    return index


def table(name, indexes, types=None, **more):
    types = {"pk": "S", **(types or {})}
    return {
        "TableName": name,
        "KeySchema": key_schema("pk"),
        "AttributeDefinitions": [{"AttributeName": a, "AttributeType": t} for a, t in types.items()],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": indexes,
        **more,
    }


def numbers(*values):
    return [{"N": str(value)} for value in values]


SCHEMA = [("tenant", "HASH"), ("lang", "INLINE_FILTER")]
TYPES = {"tenant": "S", "lang": "S"}


@pytest.fixture(scope="module")
def url(endpoint):
    """A server with the table `docs`: `plain` takes every vector, `schema` those with a tenant."""
    done(endpoint, "CreateTable", table("docs", [vector("plain"), vector("schema", SCHEMA)], TYPES))
    yield endpoint
    done(endpoint, "DeleteTable", {"TableName": "docs"})


MANY = [(f"a{i}", "INLINE_FILTER") for i in range(19)]

DEFINITIONS = {
    "on demand only": (
        dict(indexes=[vector("one")], BillingMode="PROVISIONED",
             ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}),
        INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables",
    ),
    "undeclared": (
        dict(indexes=[vector("one", SCHEMA)], types={"tenant": "S"}),
        INVALID + "One element in SearchSchema is not defined in attribute definitions",
    ),
    "too many dimensions": (
        dict(indexes=[vector("one", dimensions=4097)]),
        INVALID + "Number of dimensions must be between 1 and 4096 inclusive.",
    ),
    "no dimensions": (
        dict(indexes=[vector("one", dimensions=0)]),
        "1 validation error detected: Value '0' at 'vectorIndexes.1.member.dimensions' failed to satisfy "
        "constraint: Member must have value greater than or equal to 1",
    ),
    "short name": (
        dict(indexes=[vector("ab")]),
        "1 validation error detected: Value 'ab' at 'vectorIndexes.1.member.indexName' failed to satisfy "
        "constraint: Member must have length greater than or equal to 3",
    ),
    "six": (
        dict(indexes=[vector(f"index{i}") for i in range(6)]),
        INVALID + "VectorIndex count exceeds the per-table limit of 5",
    ),
    "other dimensions": (
        dict(indexes=[vector("one"), vector("two", dimensions=4)]),
        INVALID + "Conflicting attribute definition for 'embedding'. All VectorIndexes on the same vector attribute "
        "must use the same dimensions.",
    ),
    # Nobody has published what the service says to these.
    "same name": (dict(indexes=[vector("one"), vector("one")]), INVALID + "Duplicate index name: one"),
    "none": (dict(indexes=[]), INVALID + "List of VectorIndexes is empty"),
    "two HASH": (
        dict(indexes=[vector("one", [("tenant", "HASH"), ("lang", "HASH")])], types=TYPES),
        INVALID + "SearchSchema can have at most one HASH element",
    ),
    "19 filters": (
        dict(indexes=[vector("one", MANY)], types={a: "S" for a, _ in MANY}),
        INVALID + "SearchSchema can have at most 18 INLINE_FILTER elements",
    ),
    "attribute twice": (
        dict(indexes=[vector("one", [("tenant", "HASH"), ("tenant", "INLINE_FILTER")])], types={"tenant": "S"}),
        INVALID + "Duplicate AttributeName in SearchSchema: tenant",
    ),
    "vector is a key": (
        dict(indexes=[vector("one", attribute="pk")]),
        INVALID + "VectorAttribute must not be a key attribute or an attribute of a SearchSchema: pk",
    ),
    "unused definition": (
        dict(indexes=[vector("one")], types={"embedding": "S"}),
        INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [pk, embedding], keys used: [pk]",
    ),
    "tag of no index": (
        dict(indexes=[vector("one")], Tags=[{"Key": "holdfast:vector:two", "Value": "m=8"}]),
        INVALID + "Tag holdfast:vector:two: the table has no vector index of that name",
    ),
    "bad tag": (
        dict(indexes=[vector("one")], Tags=[{"Key": "holdfast:vector:one", "Value": "m=1"}]),
        INVALID + "Tag holdfast:vector:one: 'm=1' is none of m=4..64, ef_construction=8..2000, ef_search=1..4000, "
        "search=auto|exact",
    ),
}


@pytest.mark.parametrize("case", DEFINITIONS)
def test_definitions(endpoint, case):
    request, message = DEFINITIONS[case]
    assert call(endpoint, "CreateTable", table("never", **request)) == ("ValidationException", message)


def update(url, name, *actions, **more):
    return call(url, "UpdateTable", {"TableName": name, "VectorIndexUpdates": list(actions), **more})


def test_updates_of_a_settled_table(url):
    types = [{"AttributeName": a, "AttributeType": t} for a, t in {"pk": "S", "tenant": "N"}.items()]
    assert update(url, "docs", {"Create": vector("third", dimensions=4)}) == (
        "ValidationException",
        INVALID + "Conflicting attribute definition for 'embedding'. All VectorIndexes on the same vector attribute "
        "must use the same dimensions.",
    )
    assert update(url, "docs", {"Create": vector("plain")}) == (
        "ValidationException", "Attempting to create an index which already exists: plain",
    )
    assert update(url, "docs", {"Create": vector("third", SCHEMA[:1])}, AttributeDefinitions=types) == (
        "ValidationException",
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
        "defined. Existing schema: Schema:[SchemaElement: key{tenant:S:HASH}] New schema: "
        "Schema:[SchemaElement: key{tenant:N:HASH}]",
    )
    assert update(url, "docs", {"Delete": {"IndexName": "none"}}) == (
        "ResourceNotFoundException", "Requested resource not found: Index: none not found for table: docs",
    )
    assert update(url, "docs", {}) == (
        "ValidationException",
        INVALID + "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null",
    )
    two = update(url, "docs", {"Create": vector("third")}, {"Delete": {"IndexName": "plain"}})
    assert two == ("LimitExceededException", ONE_AT_A_TIME)
    provisioned = {"BillingMode": "PROVISIONED",
                   "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}
    assert call(url, "UpdateTable", {"TableName": "docs", **provisioned}) == (
        "ValidationException", INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables",
    )


def test_an_index_in_the_making(tmp_path):
    """While an index is allocated nothing else may begin, and the index can neither be searched nor deleted."""
    server = Server(tmp_path / "data", "--transient-status-ms", "1500")
    try:
        url = server.url
        request = table("slow", [vector("first")])
        del request["VectorIndexes"]
        done(url, "CreateTable", request)
        status = lambda: done(url, "DescribeTable", {"TableName": "slow"})["Table"]["TableStatus"]
        eventually(lambda: status() == "ACTIVE")
        answer = update(url, "slow", {"Create": vector("first")})
        assert answer["TableDescription"]["TableStatus"] == "UPDATING"
        assert update(url, "slow", {"Create": vector("second")}) == ("LimitExceededException", ONE_AT_A_TIME)
        second = {"IndexName": "second", "KeySchema": key_schema("pk"), "Projection": {"ProjectionType": "ALL"}}
        assert call(url, "UpdateTable", {
            "TableName": "slow", "GlobalSecondaryIndexUpdates": [{"Create": second}],
            "AttributeDefinitions": request["AttributeDefinitions"],
        }) == ("LimitExceededException", ONE_AT_A_TIME)
        assert update(url, "slow", {"Delete": {"IndexName": "first"}}) == (
            "ResourceInUseException",
            "Attempt to change a resource which is still in use: Index creation is in resource allocation phase. "
            "Retry deletion during backfilling phase or when the index is active. Table: slow Index: first",
        )
        assert call(url, "DeleteTable", {"TableName": "slow"}) == (
            "ResourceInUseException",
            "Attempt to change a resource which is still in use: Cannot delete table while indexes are being "
            "created, updated, or deleted.",
        )
        search = {"TableName": "slow", "IndexName": "first", "SearchVector": numbers(1, 0, 0), "TopK": 1}
        assert call(url, "SearchVectors", search) == (
            "ValidationException", "The table does not have the specified index: first",
        )
        assert status() == "UPDATING", "all of this was asked while the index was being allocated"
        server.restart()  # ends the phase: nothing waits for a clock that is gone
        eventually(lambda: isinstance(call(url, "SearchVectors", search), dict))
        assert status() == "ACTIVE"
    finally:
        server.stop()


UNFIT = "One or more parameter values were invalid. Invalid "
WRITES = {
    "size": ({"embedding": {"L": numbers(1, 2)}},
             UNFIT + "size for parameter embedding, Expected: 3, Actual: 2 IndexName: plain"),
    "element": ({"embedding": {"L": [{"N": "1"}, {"S": "x"}, {"N": "1"}]}},
                UNFIT + "type for parameter embedding[1], Expected: 32-bit floating point number, Actual: S. "
                "IndexName: plain"),
    "no list": ({"embedding": {"S": "x"}},
                UNFIT + f"type for parameter embedding, Expected: {NUMBER_LIST} IndexName: plain"),
    "empty HASH": ({"tenant": {"S": ""}},
                   "One or more parameter values are not valid. A value specified for a secondary index key is not "
                   "supported. The AttributeValue for a key attribute cannot contain an empty string value. "
                   "IndexName: schema, IndexKey: tenant"),
    "HASH of another type": ({"tenant": {"N": "1"}},
                             INVALID + "Type mismatch for Index Key tenant Expected: S Actual: N IndexName: schema"),
    "number set": ({"embedding": {"NS": ["1", "1.0", "2"]}}, "Input collection contains duplicates"),
    # Nobody has published what the service says to these.
    "filter of another type": ({"lang": {"N": "1"}},
                               INVALID + "Type mismatch for Index Key lang Expected: S Actual: N IndexName: schema"),
    "too large for a float": ({"embedding": {"L": numbers("1", "2", "1e39")}},
                              UNFIT + "type for parameter embedding[2], Expected: 32-bit floating point number, "
                              "Actual: N. IndexName: plain"),
}
VECTOR_CASES = [case for case, (item, _) in WRITES.items() if "embedding" in item]


@pytest.mark.parametrize("case", WRITES)
def test_puts(url, case):
    attributes, message = WRITES[case]
    item = {"pk": {"S": case}, **attributes}
    single = call(url, "PutItem", {"TableName": "docs", "Item": item})
    assert single[0] == "ValidationException" and single[1].endswith(message), single
    assert single[1].removeprefix("1 validation error detected: ") == message
    batch = call(url, "BatchWriteItem", {"RequestItems": {"docs": [{"PutRequest": {"Item": item}}]}})
    assert batch[1].endswith(message), batch
    transaction = call(url, "TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "docs", "Item": item}}]})
    assert transaction[0] in ("TransactionCanceledException", "ValidationException"), transaction
    got = done(url, "GetItem", {"TableName": "docs", "Key": {"pk": {"S": case}}})
    assert "Item" not in got, "what is refused is not written"


@pytest.mark.parametrize("case", VECTOR_CASES)
def test_updates(url, case):
    attributes, message = WRITES[case]
    request = {
        "TableName": "docs", "Key": {"pk": {"S": case}}, "UpdateExpression": "SET embedding = :v",
        "ExpressionAttributeValues": {":v": attributes["embedding"]},
    }
    code, text = call(url, "UpdateItem", request)
    assert code == "ValidationException" and message in text
    if case != "number set":
        assert text == message


def test_a_transaction_is_cancelled_by_an_unfit_vector(url):
    item = {"pk": {"S": "t"}, **WRITES["size"][0]}
    code, text = call(url, "TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "docs", "Item": item}}]})
    assert code == "TransactionCanceledException" and text.endswith("[ValidationError]")


def search(**more):
    return {"TableName": "docs", "IndexName": "plain", "SearchVector": numbers(1, 0, 0), "TopK": 1, **more}


def where(condition, index="schema", **values):
    return search(
        IndexName=index, SearchConditionExpression=condition,
        ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
    )


UNSOUND = ("Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point "
           "number attribute")
COMPARATOR = "Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression"
TENANT, OTHER = {"S": "a"}, {"S": "b"}
SEARCHES = {
    "wrapped in L": (search(SearchVector=[{"L": numbers(1, 0, 0)}]), UNSOUND),
    "a string": (search(SearchVector=[{"S": "1"}, {"N": "0"}, {"N": "0"}]), UNSOUND),
    "no number": (search(SearchVector=numbers("one", 0, 0)), UNSOUND),
    "too large": (search(SearchVector=numbers("1E+39", 0, 0)), UNSOUND),
    "NaN": (search(SearchVector=numbers("NaN", 0, 0)), UNSOUND),
    "unsound before dimensions": (search(SearchVector=[{"S": "1"}]), UNSOUND),
    "dimensions": (search(SearchVector=numbers(1, 0)),
                   "Input search vector dimension 2 does not match vector index dimension 3"),
    "TopK 101": (search(TopK=101),
                 "Provided TopK value '101' is out of valid range. The value must be between 1 and 100 inclusive"),
    "TopK 0": (search(TopK=0),
               "1 validation error detected: Value '0' at 'topK' failed to satisfy constraint: Member must have "
               "value greater than or equal to 1"),
    "short index name": (search(IndexName="ab"),
                         "1 validation error detected: Value at 'IndexName' failed to satisfy constraint: Member "
                         "must have length greater than or equal to 3"),
    "no vector": (search(SearchVector=[]),
                  "1 validation error detected: Value at 'SearchVector' failed to satisfy constraint: Member must "
                  "have length greater than or equal to 1"),
    "unknown index": (search(IndexName="none"), "The table does not have the specified index: none"),
    "less": (where("tenant < :t", t=TENANT), COMPARATOR),
    "less on a filter": (where("tenant = :t AND lang < :l", t=TENANT, l=OTHER), COMPARATOR),
    "OR": (where("tenant = :t OR lang = :l", t=TENANT, l=OTHER), COMPARATOR),
    "NOT": (where("NOT tenant = :t", t=TENANT), COMPARATOR),
    "a function": (where("begins_with(tenant, :t)", t=TENANT), COMPARATOR),
    "a path": (where("tenant.x = :t", t=TENANT), COMPARATOR),
    "outside the schema": (where("tenant = :t", index="plain", t=TENANT),
                           "SearchConditionExpression must not contain any attributes that is not in SearchSchema. "
                           "Invalid attribute: tenant"),
    "no HASH at all": (search(IndexName="schema"),
                       "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
    "a filter alone": (where("lang = :l", l=OTHER),
                       "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
    "type of HASH": (where("tenant = :t", t={"N": "1"}),
                     "Type of 'tenant' attribute in SearchConditionExpression (N) does not match type in search "
                     "schema (S)"),
    "empty HASH": (where("tenant = :t", t={"S": ""}),
                   "One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
                   "contain an empty string value. Key: tenant"),
    "undefined value": (where("tenant = :t AND lang = :l", t=TENANT),
                        "Invalid SearchConditionExpression: An expression attribute value used in expression is not "
                        "defined; attribute value: :l"),
    "unused value": (where("tenant = :t", t=TENANT, u=OTHER),
                     "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}"),
    "values without expression": (search(ExpressionAttributeValues={":t": TENANT}),
                                  "ExpressionAttributeValues can only be specified when using expressions: "
                                  "SearchConditionExpression is null"),
    # Nobody has published what the service says to these.
    "HASH twice": (where("tenant = :t AND tenant = :u", t=TENANT, u=OTHER),
                   "Invalid SearchConditionExpression: An attribute can have one condition only; attribute name: "
                   "tenant"),
    "mirrored": (where(":t = tenant", t=TENANT), COMPARATOR),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_searches(url, case):
    request, message = SEARCHES[case]
    assert call(url, "SearchVectors", request) == ("ValidationException", message)


def test_an_unknown_table(url):
    assert call(url, "SearchVectors", search(TableName="nowhere")) == (
        "ResourceNotFoundException", "Requested resource not found",
    )


@pytest.mark.parametrize("member, expected", [
    ("TableName", "a string"), ("IndexName", "a string"), ("SearchVector", "a sequence"), ("TopK", "i32"),
])
def test_null_is_not_absent(url, member, expected):
    """The column is that of the last character read."""
    text = json.dumps(search(**{member: None}), separators=(",", ":"))
    column = text.index("null") + len("null")
    message = f"invalid type: null, expected {expected} at line 1 column {column}"
    assert call(url, "SearchVectors", text) == ("SerializationException", message)


@pytest.mark.parametrize("top_k, found", [
    ("3.5", "type: floating point `3.5`"), ('"x"', 'type: string "x"'), ("true", "type: boolean `true`"),
    ("3000000000", "value: integer `3000000000`"),
])
def test_types_of_top_k(url, top_k, found):
    start = '{"TopK": ' + top_k
    message = f"invalid {found}, expected i32 at line 1 column {len(start)}"
    assert call(url, "SearchVectors", start + ',\n "TableName": "docs"}') == ("SerializationException", message)


def test_a_collection_is_refused_where_it_begins(url):
    assert call(url, "SearchVectors", '{"TableName":{}}') == (
        "SerializationException", "invalid type: map, expected a string at line 1 column 13",
    )


@pytest.mark.parametrize("member", ["TableName", "IndexName", "SearchVector", "TopK"])
def test_missing_members(url, member):
    request = search(IndexName="ab")  # too short, which is looked at later
    del request[member]
    text = json.dumps(request, separators=(",", ":"))
    message = f"missing field `{member}` at line 1 column {len(text)}"
    assert call(url, "SearchVectors", text) == ("ValidationException", message)


def test_lines_are_counted(url):
    assert call(url, "SearchVectors", '{\n"TopK": 1\n}') == (
        "ValidationException", "missing field `TableName` at line 3 column 1",
    )


@pytest.mark.parametrize("operation, more", [
    ("Query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": TENANT}}), ("Scan", {}),
])
def test_vector_indexes_are_not_read_like_others(url, operation, more):
    request = {"TableName": "docs", "IndexName": "plain", **more}
    assert call(url, operation, request) == (
        "ValidationException", f"{operation} operation not supported on this index type",
    )


def test_a_description_counts_what_an_index_leaves_out(url):
    """SkippedItemCount is holdfast's own: SDKs that do not know it drop it."""
    items = [{}, {"embedding": {"L": numbers(1, 2, 3)}}, {"embedding": {"L": numbers(1, 2, 3)}, "tenant": {"S": "a"}}]
    for i, item in enumerate(items):
        done(url, "PutItem", {"TableName": "docs", "Item": {"pk": {"S": f"skip{i}"}, **item}})
    indexes = done(url, "DescribeTable", {"TableName": "docs"})["Table"]["VectorIndexes"]
    assert [(i["ItemCount"], i["SkippedItemCount"]) for i in indexes] == [(2, 1), (1, 2)]


def test_tags(url):
    """A tag may come before its index; what it says must make sense all the same."""
    arn = done(url, "DescribeTable", {"TableName": "docs"})["Table"]["TableArn"]
    tag = lambda key, value: call(url, "TagResource", {"ResourceArn": arn, "Tags": [{"Key": key, "Value": value}]})
    assert tag("holdfast:vector:later", "m=32 ef_search=100") == {}
    code, message = tag("holdfast:vector:plain", "search=fast")
    assert code == "ValidationException"
    assert re.match(INVALID + "Tag holdfast:vector:plain: 'search=fast' is none of ", message)
