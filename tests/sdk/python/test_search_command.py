"""`holdfast search`: what a person sees of a store's vector index, and what goes wrong in clear words."""
import json
import subprocess

import pytest
from conftest import key_schema
from server import PROGRAM, Server, done

DOCS = {"a": (1, 0), "b": (0.8, 0.6), "c": (0.6, 0.8), "d": (0, 1)}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A directory that a server has left: the table `docs`, its index `near`, and `mine`, which has tenants."""
    directory = tmp_path_factory.mktemp("search") / "data"
    server = Server(directory)
    index = {
        "IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 2, "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "ALL"},
    }
    mine = [{"AttributeName": "tenant", "SearchSchemaElementType": "HASH"}]
    done(server.url, "CreateTable", {
        "TableName": "docs", "KeySchema": key_schema("id"), "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": a, "AttributeType": "S"} for a in ("id", "tenant")],
        "VectorIndexes": [index, {**index, "IndexName": "mine", "SearchSchema": mine}],
    })
    for key, vector in DOCS.items():
        item = {"id": {"S": key}, "tenant": {"S": "x" if key in "ad" else "y"}, "title": {"S": f"title of {key}"},
                "v": {"L": [{"N": str(n)} for n in vector]}}
        done(server.url, "PutItem", {"TableName": "docs", "Item": item})
    busy = search(directory, "--vector", "[1,0]")
    assert busy.returncode == 1 and "open" in busy.stderr, busy
    assert server.stop() == 0
    return directory


def search(directory, *flags, table="docs", index="near"):
    command = [PROGRAM, "search", "--data", directory, "--table", table, "--index", index, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def answer(store, *flags, **more):
    done = search(store, *flags, **more)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def keys(store, *flags, **more):
    found = json.loads(answer(store, *flags, "--json", **more))
    return [result["Item"]["id"]["S"] for result in found.get("SearchResults", found.get("Results"))]


def test_the_table_is_for_people(store):
    lines = answer(store, "--vector", "[1,0]", "--top-k", "2").splitlines()
    assert [line.split() for line in lines] == [
        ["score", "id", "tenant", "title"],
        ["0.0", "a", "x", "title", "of", "a"],
        [lines[2].split()[0], "b", "y", "title", "of", "b"],
        ["2", "found"],
    ]
    assert float(lines[2].split()[0]) == pytest.approx(0.2, abs=1e-6)
    assert lines[0].index("id") == lines[1].index("a"), "columns stand below each other"


def test_json_is_the_answer_of_the_api(store):
    found = json.loads(answer(store, "--vector", "[1,0]", "--top-k", "1", "--json"))
    item = {"id": {"S": "a"}, "tenant": {"S": "x"}, "title": {"S": "title of a"}}
    assert found == {"SearchResults": [{"Item": item, "Score": 0.0}]}


def test_where_the_vector_comes_from(store, tmp_path):
    file = tmp_path / "vector"
    file.write_text("[0,\n 1]\n")
    assert keys(store, "--vector", "[0,1]") == ["d", "c", "b", "a"]
    assert keys(store, "--vector-file", file) == ["d", "c", "b", "a"]
    assert keys(store, "--like", '{"id":{"S":"d"}}') == ["d", "c", "b", "a"]


def test_conditions_and_thresholds(store):
    assert keys(store, "--vector", "[1,0]", "--where", "tenant = :t", "--value", ':t={"S":"x"}', index="mine") == ["a", "d"]
    assert keys(store, "--vector", "[1,0]", "--threshold", "0.6") == ["a", "b", "c"]
    lines = answer(store, "--vector", "[1,0]", "--threshold", "0.6").splitlines()
    assert [line.split()[0] for line in lines] == ["similarity", "1.0", "0.8", "0.6", "3"]


VECTOR = ("--vector", "[1,0]")
REFUSED = {
    "no vector": ((), {}, "exactly one of --vector, --vector-file and --like"),
    "two vectors": ((*VECTOR, "--like", "{}"), {}, "exactly one of"),
    "no JSON": (("--vector", "[1,"), {}, "the vector is no JSON"),
    "no list": (("--vector", "1"), {}, "the vector must be a list"),
    "no numbers": (("--vector", '["1"]'), {}, "numbers only"),
    "dimensions": (("--vector", "[1]"), {}, "Input search vector dimension 1 does not match vector index dimension 2"),
    "no file": (("--vector-file", "/nowhere"), {}, "cannot read /nowhere"),
    "no such item": (("--like", '{"id":{"S":"z"}}'), {}, "no item with the key"),
    "no DynamoDB JSON": (("--like", '{"id":"z"}'), {}, "must be DynamoDB JSON"),
    "bad value": ((*VECTOR, "--where", "tenant = :t", "--value", "x"), {}, "--value must be like"),
    "no HASH": (VECTOR, {"index": "mine"}, "SearchConditionExpression must be provided"),
    "no index": (VECTOR, {"index": "none"}, "The table does not have the specified index: none"),
    "like without index": (("--like", '{"id":{"S":"a"}}'), {"index": "none"}, "has no vector index none"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_arguments_are_said_to_be(store, case):
    flags, where, message = REFUSED[case]
    refused = search(store, *flags, **where)
    assert refused.returncode == 2 and message in refused.stderr and not refused.stdout, refused


def test_what_is_not_there(store, tmp_path):
    unknown = search(store, *VECTOR, table="none")
    assert unknown.returncode == 1 and "Requested resource not found" in unknown.stderr
    nowhere = search(tmp_path / "nowhere", *VECTOR)
    assert nowhere.returncode == 1 and "nowhere" in nowhere.stderr
    assert not (tmp_path / "nowhere").exists(), "a search creates no store"
