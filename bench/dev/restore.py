#!/usr/bin/python3
"""How long `serve --dev` takes to return to a snapshot. Writes bench/results/dev.md; other counts of items as arguments."""
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from server import Server, done  # noqa: E402

ROUNDS = 21


def ask(server, method, path):
    with urllib.request.urlopen(urllib.request.Request(f"{server.url}/_holdfast/{path}", method=method)) as answer:
        return json.load(answer)


def put(server, first, count, text):
    for start in range(first, first + count, 25):
        requests = [
            {"PutRequest": {"Item": {"id": {"S": f"item-{i:07}"}, "kind": {"S": f"k{i % 10}"}, "text": {"S": text * 40}}}}
            for i in range(start, min(start + 25, first + count))
        ]
        done(server.url, "BatchWriteItem", {"RequestItems": {"Bench": requests}})


def measure(flags, items):
    with tempfile.TemporaryDirectory() as directory:
        server = Server(directory + "/data", "--dev", "--log-level", "error", *flags)
        try:
            done(server.url, "CreateTable", {
                "TableName": "Bench", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "kind", "AttributeType": "S"}],
                "GlobalSecondaryIndexes": [{"IndexName": "byKind", "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                                            "Projection": {"ProjectionType": "ALL"}}]})  # fmt: skip
            put(server, 0, items, "unchanged ")
            ask(server, "POST", "snapshots/s")
            few = []
            for _ in range(ROUNDS):
                put(server, 0, 100, "changed   ")
                few.append(ask(server, "POST", "snapshots/s/restore")["micros"] / 1000)
            ask(server, "POST", "reset")
            whole = ask(server, "POST", "snapshots/s/restore")["micros"] / 1000
            return statistics.median(few), max(few), whole
        finally:
            server.stop()


def main():
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    lines = [
        "# Returning to a snapshot (`serve --dev`)\n",
        f"`bench/dev/restore.py`, commit {commit}, {platform.machine()}. Items of 450 bytes with one index; milliseconds as the server "
        f"measures them, {ROUNDS} rounds. *Few*: 100 items were changed; *all*: the store was emptied.\n",
        "| Store | Items | few, median | few, worst | all |\n|---|--:|--:|--:|--:|",
    ]
    for name, flags in (("in memory", ["--in-memory"]), ("on disk", [])):
        for items in map(int, sys.argv[1:] or [1_000, 10_000, 100_000]):
            median, worst, whole = measure(flags, items)
            lines.append(f"| {name} | {items:,} | {median:.1f} | {worst:.1f} | {whole:.0f} |")
    (ROOT / "bench" / "results" / "dev.md").write_text("\n".join(lines) + "\n")


main()
