"""What is true of ten thousand items, shown with as many as there are: each part loads what it needs, asks, holds answers
against what the numbers of the items say (load.cc), holds the server to its memory, and leaves the store as it found it.

tests/size/run is the long form, test_size.py the short one.
"""
import dataclasses
import http.client
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server import HEADERS, PROGRAM, Server, done  # noqa: E402

LOADER = PROGRAM.parent / "tests" / "size_load"
TABLE = "items"
# Of the server while it has items, and while it has vectors: --memory, beyond which it may have a tenth.
MEMORY_MB, VECTOR_MEMORY_MB = 400, 1536
ITEM_BYTES = 500


@dataclasses.dataclass(frozen=True)
class Scale:
    items: int
    vectors: int
    dimensions: int
    sessions: int
    tables: int
    asks: int  # random requests of each kind
    flags: tuple = ()
    table_files_min: int = 0


LONG = Scale(20_000_000, 1_000_000, 128, 1_000_000, 2500, 200_000)
# Small files, so that the store has hundreds of them.
SHORT = Scale(50_000, 2_500, 32, 2_000, 2_500, 1_500, ("--test-file-bytes", str(128 << 10)), 100)


def disk_bytes_needed(scale):
    """At its fullest: the items, a copy of them, and what is being rewritten; a little for everything else."""
    return scale.items * ITEM_BYTES * 9 // 2 + scale.vectors * scale.dimensions * 16 + (1 << 30)


def check_disk(directory, scale):
    free, needed = shutil.disk_usage(directory).free, disk_bytes_needed(scale)
    if free < needed:
        raise SystemExit(f"tests/size needs {needed / 1e9:.0f} GB in {directory}, which has {free / 1e9:.0f} GB free: "
                         "name another --directory, or fewer --items")


def flags_of_memory(megabytes):
    """The budget, by its flag."""
    return ("--memory", f"{megabytes}M")


def peak_megabytes(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmHWM")


class Store:
    """A server on a directory, and what is in its table of items."""

    def __init__(self, directory, scale, *flags, memory=MEMORY_MB):
        self.directory, self.scale, self.memory = pathlib.Path(directory), scale, memory
        flags = (*scale.flags, "--log-level", "error", "--models", "none", *flags_of_memory(memory), *flags)
        self.server = Server(self.directory, *flags)
        self.items, self.changed = 0, False
        self.noted = []  # what was measured, for people

    # --- the server ---

    def call(self, operation, **body):
        return done(self.server.url, operation, body)

    def check_memory(self):
        peak = peak_megabytes(self.server.process)
        assert peak <= self.memory * 1.1, f"the server took {peak:.0f} MB of {self.memory} MB"
        return peak

    def stop(self):
        self.check_memory()
        begun = time.monotonic()
        assert self.server.stop() == 0
        self.noted.append(f"stopped in {time.monotonic() - begun:.2f} s")

    def kill(self):
        self.check_memory()
        self.server.kill()

    def start(self):
        begun = time.monotonic()
        self.server.start()
        if self.items:
            self.ask("get", count=1)  # served at once
        self.noted.append(f"answered after {time.monotonic() - begun:.2f} s")

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return sum(float(line.split()[-1]) for line in lines if line.startswith((name + "{", name + " ")))

    def files(self):
        return len(list(self.directory.glob("*.sst")))

    # --- its items ---

    def loader(self, workload, **flags):
        words = {"port": self.server.port, "workload": workload, "items": self.items,
                 "state": "changed" if self.changed else "fresh", **flags}
        command = [str(LOADER)]
        for flag, value in words.items():
            command += ["--" + flag.replace("_", "-"), str(value)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask(self, workload, **flags):
        running = self.loader(workload, **flags)
        said, complained = running.communicate()
        assert running.returncode == 0, f"{workload} {flags}: {said}{complained}"
        return json.loads(said)

    def create(self, table=TABLE, **more):
        self.call("CreateTable", TableName=table, BillingMode="PAY_PER_REQUEST", **{
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                                     {"AttributeName": "sk", "AttributeType": "N"},
                                     {"AttributeName": "l", "AttributeType": "S"}],
            "LocalSecondaryIndexes": [{
                "IndexName": "by-letter", "Projection": {"ProjectionType": "KEYS_ONLY"},
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]}],
            **more})

    def fill(self):
        """Once: the items that every part works on."""
        if self.items:
            return
        self.create()
        self.items = self.scale.items
        loaded = self.ask("load")
        self.noted.append(f"loaded {loaded['items_per_second']:,} items/s")
        assert self.files() >= self.scale.table_files_min, f"{self.files()} files are not hundreds"

    def change(self):
        self.ask("change")
        self.changed = True

    def revert(self):
        self.ask("revert")
        self.changed = False

    def wait(self, what, seconds=7200):
        """`what()` once it is true. Only long work is waited for so: nothing is asserted of its time."""
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < deadline, "it does not happen"
            time.sleep(0.02)
        return found

    def wait_active(self, table):
        def active():
            told = self.call("DescribeTable", TableName=table)["Table"]
            indexes = [index["IndexStatus"] for kind in ("GlobalSecondaryIndexes", "VectorIndexes")
                       for index in told.get(kind, [])]
            return told["TableStatus"] == "ACTIVE" and all(status == "ACTIVE" for status in indexes)
        self.wait(active)

    def drop(self, table):
        self.call("DeleteTable", TableName=table)
        self.wait(lambda: table not in self.call("ListTables")["TableNames"])


# --- the parts ---


def load(store):
    """Every item is there once and as it was sent, and the figures of the table say how many."""
    store.fill()
    store.ask("scan", connections=4)
    assert store.call("DescribeTable", TableName=TABLE)["Table"]["ItemCount"] == store.items


def restart(store):
    """After a clean stop everything is there, and counted."""
    store.fill()
    store.stop()
    store.start()
    store.ask("get", count=store.scale.asks)
    store.ask("absent", count=store.scale.asks)
    assert store.call("DescribeTable", TableName=TABLE)["Table"]["ItemCount"] == store.items


def kill(store):
    """kill -9 in the middle of a load takes nothing that was acknowledged, and nothing of what was there before."""
    store.fill()
    store.create("killed")
    count = max(20_000, store.items // 10)
    running = store.loader("load", table="killed", items=count, survive="yes")
    store.wait(lambda: store.call("DescribeTable", TableName="killed")["Table"]["ItemCount"] > count // 5)
    store.kill()
    said, complained = running.communicate()
    assert running.returncode == 0, complained
    acknowledged = json.loads(said)["acknowledged"]
    assert 0 < acknowledged < count, "it was killed in the middle of the load"
    store.start()
    store.ask("loaded", table="killed", items=count, count=acknowledged)
    store.ask("get", count=store.scale.asks)
    store.ask("absent", count=store.scale.asks)
    store.ask("scan", connections=4)
    store.drop("killed")


def reads(store):
    """GetItem of what is there, everywhere and in a small part, and of what is not; also by many at a time."""
    store.fill()
    store.ask("get", count=store.scale.asks)
    store.ask("get", count=store.scale.asks, hot=store.items // 100)
    store.ask("absent", count=store.scale.asks)
    store.ask("get", count=store.scale.asks, connections=128)


def writes(store):
    """PutItem, conditional updates and deletes all over the table, and back."""
    store.fill()
    store.ask("put", count=store.scale.asks)
    store.ask("update", count=store.scale.asks)
    store.change()
    store.ask("get", count=store.scale.asks)
    store.ask("scan", connections=4)
    store.revert()
    store.ask("mixed", count=store.scale.asks)
    store.ask("scan", connections=4)
    assert store.call("DescribeTable", TableName=TABLE)["Table"]["ItemCount"] == store.items


def queries(store):
    """Partitions, by the sort key and by the local index."""
    store.fill()
    store.ask("query", count=store.scale.asks)
    store.ask("query-lsi", count=store.scale.asks)


def scans(store):
    """Parallel scans, in few segments and in many: count and checksum exactly right, while somebody writes."""
    store.fill()
    store.ask("scan", connections=1)
    store.ask("scan", connections=4)
    writing = store.loader("put", count=store.scale.asks)
    store.ask("scan", connections=32)
    assert writing.wait() == 0


def indexes(store):
    """A global index filled from a full table, with writes during and after it; and the local index with them."""
    store.fill()
    writing = store.loader("put", count=store.scale.asks)
    store.call("UpdateTable", TableName=TABLE, AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
               GlobalSecondaryIndexUpdates=[{"Create": {
                   "IndexName": "by-group", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                   "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["h"]}}}])
    store.wait_active(TABLE)
    assert writing.wait() == 0
    store.ask("query-gsi", count=store.scale.asks)
    store.ask("scan-gsi", connections=4)
    store.change()
    for workload in ("query-gsi", "query-lsi"):
        store.ask(workload, count=store.scale.asks)
    store.ask("scan-gsi", connections=4)
    store.revert()
    store.call("UpdateTable", TableName=TABLE, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-group"}}])
    store.wait(lambda: "GlobalSecondaryIndexes" not in store.call("DescribeTable", TableName=TABLE)["Table"])


def ttl(store):
    """TTL switched on over a full table takes what has expired, and only that."""
    store.fill()
    expiring = max(1000, store.items // 20)
    store.ask("load", first=store.items, count=expiring, past=int(time.time()) - 60)
    store.call("UpdateTimeToLive", TableName=TABLE, TimeToLiveSpecification={"AttributeName": "e", "Enabled": True})
    store.wait(lambda: store.call("DescribeTable", TableName=TABLE)["Table"]["ItemCount"] == store.items)
    store.ask("put", count=1)  # once this is answered everything before it is to be seen
    store.ask("scan", connections=4)
    store.call("UpdateTimeToLive", TableName=TABLE, TimeToLiveSpecification={"AttributeName": "e", "Enabled": False})


def records_of(store, arn, wanted):
    """How many records of each kind there are in a stream, from its beginning until there are `wanted`."""
    def streams(operation, **body):
        connection.request("POST", "/", json.dumps(body),
                           {**HEADERS, "X-Amz-Target": f"DynamoDBStreams_20120810.{operation}"})
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, text
        return text

    connection = http.client.HTTPConnection("127.0.0.1", store.server.port, timeout=60)
    shards = json.loads(streams("DescribeStream", StreamArn=arn))["StreamDescription"]["Shards"]
    iterators = {shard["ShardId"]: json.loads(streams(
        "GetShardIterator", StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"))["ShardIterator"]
        for shard in shards}
    found, names = {}, set()

    def round_of_all():
        for shard, iterator in list(iterators.items()):
            text = streams("GetRecords", ShardIterator=iterator)
            for event in re.findall(r'"eventName":"([A-Z]+)"', text):
                found[event] = found.get(event, 0) + 1
            names.update(re.findall(r'"SequenceNumber":"(\d+)"', text))
            following = re.search(r'"NextShardIterator":"([^"]+)"', text)
            if following:
                iterators[shard] = following[1]
            else:
                del iterators[shard]
        return sum(found.values()) >= wanted
    store.wait(round_of_all)
    connection.close()
    assert len(names) == sum(found.values()), "a record came twice"
    return found


def streams(store):
    """Every change is told once, across a kill -9."""
    store.fill()
    store.call("UpdateTable", TableName=TABLE,
               StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    arn = store.call("DescribeTable", TableName=TABLE)["Table"]["LatestStreamArn"]
    store.change()
    store.kill()
    store.start()
    store.revert()
    of_each = [sum(1 for _ in range(fate, store.items, 40)) for fate in (3, 14, 25)]
    wanted = {"MODIFY": 2 * of_each[0] + 2 * of_each[1], "REMOVE": of_each[2], "INSERT": of_each[2]}
    assert records_of(store, arn, sum(wanted.values())) == wanted
    store.call("UpdateTable", TableName=TABLE, StreamSpecification={"StreamEnabled": False})


def pitr(store):
    """The table as it was at a second before many changes, and as it is after them."""
    store.fill()
    switch = lambda on: store.call("UpdateContinuousBackups", TableName=TABLE,
                                   PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": on})
    window = lambda: store.call("DescribeContinuousBackups", TableName=TABLE)["ContinuousBackupsDescription"][
        "PointInTimeRecoveryDescription"].get("EarliestRestorableDateTime")
    switch(True)
    store.wait(window)
    second = store.wait(lambda: int(time.time()) if time.time() > window() + 1 else None)
    store.wait(lambda: time.time() >= second + 1.1)  # commits are told apart by the second
    store.change()
    store.call("RestoreTableToPointInTime", SourceTableName=TABLE, TargetTableName="before", RestoreDateTime=second)
    store.wait_active("before")
    store.changed = False
    store.ask("scan", table="before", connections=4)
    store.drop("before")
    store.changed = True
    store.call("RestoreTableToPointInTime", SourceTableName=TABLE, TargetTableName="after", UseLatestRestorableTime=True)
    store.wait_active("after")
    store.ask("scan", table="after", connections=4)
    store.ask("query-lsi", table="after", count=store.scale.asks)
    store.drop("after")
    switch(False)
    store.revert()


def backup(store):
    """A backup made while the table is changed holds one moment, and restores it."""
    store.fill()
    arn = store.call("CreateBackup", TableName=TABLE, BackupName="whole")["BackupDetails"]["BackupArn"]
    store.change()
    store.wait(lambda: store.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"][
        "BackupStatus"] == "AVAILABLE")
    store.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="restored")
    store.wait_active("restored")
    store.changed = False
    store.ask("scan", table="restored", connections=4)
    store.ask("get", table="restored", count=store.scale.asks)
    store.changed = True
    store.drop("restored")
    store.call("DeleteBackup", BackupArn=arn)
    store.revert()


def run_verify(store, *flags):
    # In a process of its own, whose memory is asked after while it runs.
    running = subprocess.Popen([str(PROGRAM), "verify", "--data", str(store.directory), *flags], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    peak = 0
    while running.poll() is None:
        try:
            peak = max(peak, peak_megabytes(running))
        except (OSError, AssertionError):  # it has just ended
            break
        time.sleep(0.05)
    said = running.communicate()[0]
    assert running.returncode == 0, said
    assert peak <= MEMORY_MB * 1.1, f"verify took {peak:.0f} MB"


def verify(store):
    """`holdfast verify` finds the store sound, after changes and a kill -9."""
    store.fill()
    store.change()
    store.kill()
    run_verify(store)
    store.start()
    store.revert()


def vectors(store):
    """Searches find what is nearest; a restart serves items at once and says when vectors are back."""
    with Apart(store, memory=VECTOR_MEMORY_MB) as apart:
        apart.items = apart.scale.vectors
        asks = {"table": "docs", "dimensions": apart.scale.dimensions, "count": min(apart.scale.asks, 2000),
                "wrong_max": 0.05}  # a walk of a graph is nearly always right
        apart.call("CreateTable", TableName="docs", BillingMode="PAY_PER_REQUEST",
                   KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                   AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                   VectorIndexes=[{"IndexName": "by-meaning", "VectorAttribute": {"AttributeName": "w"},
                                   "Dimensions": apart.scale.dimensions, "DistanceFunction": "COSINE",
                                   "Projection": {"ProjectionType": "KEYS_ONLY"}}])
        apart.ask("vectors", table="docs", dimensions=apart.scale.dimensions)
        apart.ask("search", **asks)
        for end in (apart.stop, apart.kill):
            end()
            apart.server.start()
            key = {"pk": {"S": f"v{apart.items - 1}"}}
            assert apart.call("GetItem", TableName="docs", Key=key)["Item"]["pk"] == key["pk"], "served at once"
            apart.server.wait_until_ready(3600)
            assert apart.metric("holdfast_vectors") == apart.items
            apart.ask("search", **asks)


def agents(store):
    """Sessions by the million: each keeps its event, and a restart serves at once."""
    with Apart(store, "--agents", "on") as apart:
        apart.items = apart.scale.sessions
        token = subprocess.run([str(PROGRAM), "token", "--data", str(apart.directory), "--subject", "root", "--role",
                                "admin"], check=True, text=True, capture_output=True).stdout.strip()
        apart.ask("sessions", token=token, connections=64)
        apart.ask("session-get", token=token, count=apart.scale.asks)
        for end in (apart.stop, apart.kill):
            end()
            apart.server.start()
            apart.ask("session-get", token=token, count=apart.scale.asks)
            apart.server.wait_until_ready(3600)


def tables(store):
    """As many tables as there may be: their pages, items in them, a restart, and their end."""
    with Apart(store) as apart:
        names = [f"table-{number:04}" for number in range(apart.scale.tables)]
        key = {"pk": {"S": "a"}, "sk": {"N": "1"}}

        def all_names():
            found, start = [], {}
            while True:
                page = apart.call("ListTables", Limit=100, **start)
                assert len(page["TableNames"]) <= 100
                found += page["TableNames"]
                if "LastEvaluatedTableName" not in page:
                    return found
                start = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(apart.create, names))
            list(pool.map(lambda name: apart.call("PutItem", TableName=name, Item={**key, "name": {"S": name}}), names))
            assert all_names() == names
            for end in (apart.stop, apart.kill):
                end()
                apart.server.start()
                assert all_names() == names
                found = pool.map(lambda name: apart.call("GetItem", TableName=name, Key=key)["Item"]["name"]["S"], names)
                assert list(found) == names
            list(pool.map(lambda name: apart.call("DeleteTable", TableName=name), names))
        apart.wait(lambda: not all_names())


def everything(store):
    """Encrypted, with a stream and with point-in-time recovery: killed while it is loaded and while it is changed, it
    still has all of it, and nothing else than it should."""
    scale = dataclasses.replace(store.scale, items=max(store.scale.items // 4, 20_000))
    key = store.directory.parent / "size-keys.json"
    key.unlink(missing_ok=True)
    subprocess.run([str(PROGRAM), "init-key", str(key)], check=True, capture_output=True)
    with Apart(store, "--key-file", str(key), "--encrypt", scale=scale) as apart:
        apart.create(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
        apart.call("UpdateContinuousBackups", TableName=TABLE,
                   PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
        running = apart.loader("load", items=scale.items, survive="yes")
        apart.wait(lambda: apart.call("DescribeTable", TableName=TABLE)["Table"]["ItemCount"] > scale.items // 5)
        apart.kill()
        said, complained = running.communicate()
        assert running.returncode == 0, complained
        apart.server.start()
        apart.ask("loaded", items=scale.items, count=json.loads(said)["acknowledged"])
        apart.items = scale.items
        apart.ask("load")  # once more, over what is there
        apart.ask("scan", connections=4)
        apart.change()
        apart.kill()
        apart.start()
        apart.ask("scan", connections=4)
        apart.call("RestoreTableToPointInTime", SourceTableName=TABLE, TargetTableName="after",
                   UseLatestRestorableTime=True)
        apart.wait_active("after")
        apart.ask("scan", table="after", connections=4)
        apart.stop()
        run_verify(apart, "--key-file", str(key))
        apart.start()
    key.unlink()


class Apart:
    """A store of its own, beside the one with the items, which rests meanwhile."""

    def __init__(self, store, *flags, memory=MEMORY_MB, scale=None):
        self.store, self.flags, self.memory, self.scale = store, flags, memory, scale or store.scale
        self.directory = store.directory.parent / (store.directory.name + "-apart")

    def __enter__(self):
        self.store.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.apart = Store(self.directory, self.scale, *self.flags, memory=self.memory)
        return self.apart

    def __exit__(self, kind, *_):
        if kind is None:
            self.apart.stop()
            self.store.noted += self.apart.noted
        else:
            self.apart.server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.store.start()


PARTS = {part.__name__: part for part in (load, restart, kill, reads, writes, queries, scans, indexes, ttl, streams, pitr,
                                          backup, verify, vectors, agents, tables, everything)}
