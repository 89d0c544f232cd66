"""kill -9 of a server at work, over and over, on one directory: whatever it answered must be there when it is back.

HOLDFAST_KILLS=200 is the long form. A killed process loses what it had not handed to the operating system, so this
proves the path from the answer back to the log; tests/crash/power_cut_test.cc proves the syncs.
"""
import http.client
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
        return {
            "p": self.name,
            "v": {"N": str(self.tried[0])},
            "g": {"S": rng.choice("xyz")},
            "pad": {"S": "x" * rng.randrange(1500)},
        }

    def check(self, client):
        item = client("GetItem", TableName=TABLE, Key={"p": self.name}, ConsistentRead=True).get("Item")
        found = (int(item["v"]["N"]), True) if item else None
        for state in (self.acknowledged, self.tried):
            if found == state or (found is None and not state[1]):
                self.acknowledged = self.tried = state
                return
        raise AssertionError(f"{self.name}: found {found}, acknowledged {self.acknowledged}, tried {self.tried}")


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
                client("PutItem", TableName=TABLE,
                       Item={"p": {"S": name}, "g": {"S": "x"}, "e": {"N": str(int(time.time()) - 2)}})
            else:
                key.attempt(exists=True)
                client("PutItem", TableName=TABLE, Item=key.item(rng))
                key.settle()
    except Gone:
        pass


def create_table(client):
    client("CreateTable", TableName=TABLE, BillingMode="PAY_PER_REQUEST",
           KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
           AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "pg"],
           GlobalSecondaryIndexes=[{"IndexName": "by_g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                    "Projection": {"ProjectionType": "ALL"}}])
    client("UpdateTimeToLive", TableName=TABLE, TimeToLiveSpecification={"AttributeName": "e", "Enabled": True})


def verify(directory):
    """Every index must equal a rebuild of it."""
    done = subprocess.run([PROGRAM, "verify", "--data", directory], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kill_takes_nothing_that_was_answered(tmp_path):
    kills = int(os.environ.get("HOLDFAST_KILLS", "25"))
    rng, directory = random.Random(1), tmp_path / "data"
    server = Server(directory, "--ttl-sweep-ms", "50", "--log-level", "error")
    owned = [[Key(f"{writer}-{number}") for number in range(KEYS)] for writer in range(WRITERS)]
    create_table(Client(server.port))
    for kill in range(kills):
        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(write_until_killed, server.port, keys, rng.random()) for keys in owned]
            time.sleep(rng.uniform(0.05, 0.3))  # the moment of the kill is what varies
            server.kill()
        for writer in writers:
            writer.result()
        if kill % 5 == 4:
            verify(directory)
        server.start()
        client = Client(server.port)
        for keys in owned:
            for key in keys:
                key.check(client)
            assert keys[0].acknowledged == keys[1].acknowledged, "a transaction is torn"
    assert sum(key.acknowledged[0] for keys in owned for key in keys) > kills, "the load did not get going"
    assert server.stop() == 0
    verify(directory)
