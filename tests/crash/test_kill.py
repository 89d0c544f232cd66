"""kill -9 of a server at work, over and over, on one directory: whatever it answered must be there when it is back.

HOLDFAST_KILLS=200 is the long form. A killed process loses what it had not handed to the operating system, so this
proves the path from the answer back to the log; tests/crash/power_cut_test.cc proves the syncs.
"""
import http.client
import itertools
import json
import os
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from server import HEADERS, PROGRAM, Server

WRITERS = 6
KEYS = 8  # of each writer, of which the first two are only ever written together
TABLE = "killed"
VECTORS = 5000  # beside the writers' own: enough for a graph, and for snapshots of it


class Gone(Exception):
    """The server is not there any more; what was asked of it last may or may not have happened."""


class Client:
    """One connection. Raw HTTP rather than an SDK: the more requests a second, the more each kill interrupts."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def __call__(self, operation, **body):
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        try:
            self.connection.request("POST", "/", json.dumps(body), headers)
            answer = self.connection.getresponse()
            content = json.loads(answer.read())
        except (OSError, http.client.HTTPException) as error:
            raise Gone from error
        assert answer.status == 200, content
        return content


class Key:
    """What is known of an item that one writer owns: at most its last write is in doubt."""

    def __init__(self, name):
        self.name = {"S": name}
        self.acknowledged = self.tried = (0, False)  # version, whether it is there

    def attempt(self, exists):
        self.tried = (self.acknowledged[0] + 1, exists)

    def settle(self):
        self.acknowledged = self.tried

    def item(self, rng):
        item = {
            "p": self.name,
            "v": {"N": str(self.tried[0])},
            "g": {"S": rng.choice("xyz")},
            "owner": {"S": "writer"},
            "pad": {"S": "x" * rng.randrange(1500)},
        }
        return item if rng.randrange(4) == 0 else {**item, "w": vector(self.tried[0], rng.randrange(1000), 0, 1)}

    def check(self, client):
        """Settles what was in doubt, and returns the item that is there, if any."""
        item = client("GetItem", TableName=TABLE, Key={"p": self.name}, ConsistentRead=True).get("Item")
        found = (int(item["v"]["N"]), True) if item else None
        for state in (self.acknowledged, self.tried):
            if found == state or (found is None and not state[1]):
                self.acknowledged = self.tried = state
                return item
        raise AssertionError(f"{self.name}: found {found}, acknowledged {self.acknowledged}, tried {self.tried}")


def vector(*elements):
    return {"L": [{"N": str(element)} for element in elements]}


def write_until_killed(port, keys, seed):
    rng, client = random.Random(seed), Client(port)
    try:
        while True:
            kind, key = rng.randrange(6), rng.choice(keys[2:])
            if kind == 0:
                key.attempt(exists=False)
                client("DeleteItem", TableName=TABLE, Key={"p": key.name})
                key.settle()
            elif kind == 1:
                for each in keys[:2]:
                    each.attempt(exists=True)
                puts = [{"Put": {"TableName": TABLE, "Item": each.item(rng)}} for each in keys[:2]]
                client("TransactWriteItems", TransactItems=puts)
                for each in keys[:2]:
                    each.settle()
            elif kind == 2:  # moves the item in the index
                key.attempt(exists=True)
                values = {":v": {"N": str(key.tried[0])}, ":g": {"S": "moved"}}
                client("UpdateItem", TableName=TABLE, Key={"p": key.name}, UpdateExpression="SET v = :v, g = :g",
                       ExpressionAttributeValues=values)
                key.settle()
            elif kind == 3:  # expired before it comes: the sweeper takes it away again
                name = f"expired-{rng.randrange(50)}"
                client("PutItem", TableName=TABLE, Item={"p": {"S": name}, "g": {"S": "x"}, "w": vector(0, 0, 0, 9),
                                                         "e": {"N": str(int(time.time()) - 2)}})
            else:
                key.attempt(exists=True)
                client("PutItem", TableName=TABLE, Item=key.item(rng))
                key.settle()
    except Gone:
        pass


def write_vectors_until_killed(port, batches, seed):
    rng, client = random.Random(seed), Client(port)
    try:
        while True:
            first = next(batches) * 25 % VECTORS
            items = [{"p": {"S": f"other-{number}"}, "w": vector(*(rng.randrange(1000) for _ in range(4)))}
                     for number in range(first, first + 25)]
            client("BatchWriteItem", RequestItems={TABLE: [{"PutRequest": {"Item": item}} for item in items]})
    except Gone:
        pass


def create_table(client):
    client("CreateTable", TableName=TABLE, BillingMode="PAY_PER_REQUEST",
           KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
           AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("p", "g", "owner")],
           VectorIndexes=[{"IndexName": "by_w", "VectorAttribute": {"AttributeName": "w"}, "Dimensions": 4,
                           "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "INCLUDE",
                                                                           "NonKeyAttributes": ["v", "w"]},
                           "SearchSchema": [{"AttributeName": "owner", "SearchSchemaElementType": "INLINE_FILTER"}]}],
           GlobalSecondaryIndexes=[{"IndexName": "by_g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                    "Projection": {"ProjectionType": "ALL"}}])
    client("UpdateTimeToLive", TableName=TABLE, TimeToLiveSpecification={"AttributeName": "e", "Enabled": True})

def check_vectors(client, items):
    """The index must have the vectors of the writers' items, each with its newest version, and no others."""
    found = client("SearchVectors", TableName=TABLE, IndexName="by_w", SearchVector=vector(0, 0, 0, 0)["L"], TopK=100,
                   SearchConditionExpression="#o = :w", ProjectionExpression="p, v, w",
                   ExpressionAttributeNames={"#o": "owner"}, ExpressionAttributeValues={":w": {"S": "writer"}})
    told = lambda item: (item["p"]["S"], item["v"]["N"], [float(element["N"]) for element in item["w"]["L"]])
    expected = sorted(told(item) for item in items if item and "w" in item and "owner" in item)
    assert sorted(told(result["Item"]) for result in found["SearchResults"]) == expected


def verify(directory):
    """Every index must equal a rebuild of it."""
    done = subprocess.run([PROGRAM, "verify", "--data", directory], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kill_takes_nothing_that_was_answered(tmp_path):
    kills = int(os.environ.get("HOLDFAST_KILLS", "25"))
    rng, directory = random.Random(1), tmp_path / "data"
    server = Server(directory, "--ttl-sweep-ms", "50", "--log-level", "error")
    owned = [[Key(f"{writer}-{number}") for number in range(KEYS)] for writer in range(WRITERS)]
    batches = itertools.count()
    create_table(Client(server.port))
    for kill in range(kills):
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            writers = [pool.submit(write_until_killed, server.port, keys, rng.random()) for keys in owned]
            writers.append(pool.submit(write_vectors_until_killed, server.port, batches, rng.random()))
            time.sleep(rng.uniform(0.05, 0.3))  # the moment of the kill is what varies
            server.kill()
        for writer in writers:
            writer.result()
        if kill % 5 == 4:
            verify(directory)
        server.start()
        server.wait_until_ready()  # the vectors are
        client = Client(server.port)
        check_vectors(client, [key.check(client) for keys in owned for key in keys])
        for keys in owned:
            assert keys[0].acknowledged == keys[1].acknowledged, "a transaction is torn"
    assert list((directory / "vectors").iterdir()), "no kill met a snapshot"
    assert sum(key.acknowledged[0] for keys in owned for key in keys) > kills, "the load did not get going"
    assert server.stop() == 0
    verify(directory)
