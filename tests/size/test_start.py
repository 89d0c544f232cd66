"""A start serves what it can at once, whatever is still being loaded, and says what that is."""
import json
import os
import urllib.error
import urllib.request

import pytest
from parts import SHORT, Store
from server import call, done

VECTORS = 5000  # enough for a clean stop to write a snapshot


def page(store, path):
    try:
        with urllib.request.urlopen(store.server.url + path) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "data", SHORT)
    yield store
    store.server.kill()


def test_items_are_served_while_vectors_are_loaded(store):
    """A million vectors take seconds to be read: nobody who asks for an item waits for them."""
    store.call("CreateTable", TableName="docs", BillingMode="PAY_PER_REQUEST",
               KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
               AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
               VectorIndexes=[{"IndexName": "by-meaning", "VectorAttribute": {"AttributeName": "w"}, "Dimensions": 8,
                               "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "KEYS_ONLY"}}])
    store.ask("vectors", table="docs", items=VECTORS, dimensions=8)
    store.stop()
    # The snapshot becomes a pipe: whoever reads it gets what the test gives, when it gives it.
    (graph,) = store.directory.glob("vectors/*.graph")
    snapshot = graph.read_bytes()
    graph.unlink()
    os.mkfifo(graph)
    store.server.start()

    asked = {"TableName": "docs", "IndexName": "by-meaning", "TopK": 1,
             "SearchVector": [{"N": str(n)} for n in range(8)]}
    key = {"pk": {"S": "v7"}}
    assert done(store.server.url, "GetItem", {"TableName": "docs", "Key": key})["Item"]["pk"] == key["pk"]
    item = {"pk": {"S": "late"}, "w": {"L": asked["SearchVector"]}}
    done(store.server.url, "PutItem", {"TableName": "docs", "Item": item})
    assert page(store, "/health")[0] == 200
    status, said = page(store, "/ready")
    assert status == 503
    assert json.loads(said) == {"status": "not ready", "reason": "loading what was stored",
                                "loading": ["vector index by-meaning of table docs"]}
    assert store.metric("holdfast_loading") == 1
    error, message = call(store.server.url, "SearchVectors", asked)
    assert error == "ThrottlingException" and "is being loaded" in message

    with open(graph, "wb") as pipe:
        pipe.write(snapshot)
    assert store.server.wait_until_ready() == {"status": "ready"}
    assert store.metric("holdfast_loading") == 0
    found = done(store.server.url, "SearchVectors", asked)["SearchResults"]
    assert found[0]["Item"]["pk"] == {"S": "late"}, "what was written meanwhile is in the index"
    graph.unlink()
    graph.write_bytes(snapshot)
    store.stop()
