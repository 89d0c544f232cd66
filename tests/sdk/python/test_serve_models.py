"""Models of a server: loaded before it listens, held against the tables, enforced on raw writes; and a server that has its tables
elsewhere."""
import json
import subprocess
import urllib.error
import urllib.request

import pytest
from server import PROGRAM, Server, call, done, free_port

MODEL = """
model: shelf
version: 1
tables:
  main:
    name: Shelf-{stage}
    key: {pk: S, sk: S}
    enforce: ENFORCE
    indexes:
      byStatus: {key: {gpk: S, gsk: S}}
entities:
  Book:
    key: {pk: "BOOK#{id}", sk: BOOK}
    indexes:
      byStatus: {gpk: "BOOK#{status}", gsk: "{id}"}
    attributes:
      id: S!
      title: S!
      status: S! = shelved {shelved|lent}
patterns:
  book: {title: One book, get: Book}
"""
BOOK = {"pk": {"S": "BOOK#1"}, "sk": {"S": "BOOK"}, "id": {"S": "1"}, "title": {"S": "The Tide"}}


@pytest.fixture
def model(tmp_path):
    def write(enforce="off", text=MODEL, name="shelf.yaml"):
        file = tmp_path / name
        file.write_text(text.replace("ENFORCE", enforce))
        return str(file)

    return write


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(*flags, directory="data"):
        servers.append(Server(tmp_path / directory, *flags))
        return servers[-1]

    yield start
    for server in servers:
        assert server.stop() == 0


def refused_start(*flags):
    ended = subprocess.run([PROGRAM, "serve", "--in-memory", "--port", "0", *flags], capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0
    return ended.stderr


def page(url, path):
    try:
        with urllib.request.urlopen(url + path) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_strict_is_kept_over_http_and_across_restarts(serve, model):
    server = serve("--models", model("strict"), "--apply", "--stage", "test")
    name, message = call(server.url, "PutItem", {"TableName": "Shelf-test", "Item": {**BOOK, "title": {"N": "1"}}})
    assert name == "ValidationException"
    assert "Book" in message and "title" in message
    done(server.url, "PutItem", {"TableName": "Shelf-test", "Item": BOOK})
    server.restart()
    assert call(server.url, "PutItem", {"TableName": "Shelf-test", "Item": {**BOOK, "id": {"S": "2"}}})[0] == "ValidationException"
    # A table of the model's that is made by hand is guarded as well.
    done(server.url, "DeleteTable", {"TableName": "Shelf-test"})
    keys = [{"AttributeName": name, "KeyType": kind} for name, kind in (("pk", "HASH"), ("sk", "RANGE"))]
    types = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]
    table = {"TableName": "Shelf-test", "KeySchema": keys, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"}
    done(server.url, "CreateTable", table)
    assert call(server.url, "PutItem", {"TableName": "Shelf-test", "Item": {"pk": {"S": "x"}, "sk": {"S": "y"}}})[0] == "ValidationException"


def test_warn_is_counted(serve, model):
    server = serve("--models", model("warn"), "--apply")
    done(server.url, "PutItem", {"TableName": "Shelf-dev", "Item": {**BOOK, "title": {"N": "1"}}})
    assert 'holdfast_model_warnings_total{table="Shelf-dev"} 1' in page(server.url, "/metrics")[1]


def test_tables_are_made_only_when_asked(serve, model):
    server = serve("--models", model("strict"))
    assert done(server.url, "ListTables", {})["TableNames"] == []


def test_a_bad_model_is_refused_with_its_line(model):
    bad = model(text=MODEL.replace("BOOK#{id}", "BOOK#{idd}"))
    said = refused_start("--models", bad)
    assert f"{bad}:13: entities.Book.key.pk" in said, said
    assert "tenant_scope=true" in refused_start("--models", model(), "--model-option", "x=maybe")


def test_a_server_on_another_dynamodb(serve, model, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    tables = serve("--models", "none")
    front = serve("--store", "dynamodb", "--endpoint", tables.url, "--models", model(), "--apply", directory="unused")
    assert done(tables.url, "ListTables", {})["TableNames"] == ["Shelf-dev"]
    name, message = call(front.url, "ListTables", {})
    assert name == "UnknownOperationException" and tables.url in message
    assert page(front.url, "/health")[0] == 200
    assert page(front.url, "/ready")[0] == 200
    assert "holdfast_connections" in page(front.url, "/metrics")[1]
    assert page(front.url, "/v1/x")[0] == 401  # before anything else, a token
    nobody = f"http://127.0.0.1:{free_port()}"
    assert nobody in refused_start("--store", "dynamodb", "--endpoint", nobody, "--models", "none")


def test_a_job_on_a_running_server(serve, model, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    server = serve("--models", model(), "--apply")
    for number in range(5):
        item = {**BOOK, "pk": {"S": f"BOOK#{number}"}, "id": {"S": str(number)}, "phone": {"S": "555"}}
        done(server.url, "PutItem", {"TableName": "Shelf-dev", "Item": item})

    def job(*arguments):
        command = [PROGRAM, "model", *arguments, "--endpoint", server.url, "--region", "us-east-1", "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    assert job("backfill", model())["changed"] == 5
    found = done(server.url, "Scan", {"TableName": "Shelf-dev", "IndexName": "byStatus"})
    assert found["Count"] == 5
    assert job("purge", model(), "--entity", "Book", "--attribute", "phone")["changed"] == 5
    assert job("backfill", model())["unchanged"] == 5
    moved = model(text=MODEL.replace("version: 1", "version: 2").replace('"BOOK#{id}", sk: BOOK', 'BOOKS, sk: "{id}"'), name="new.yaml")
    assert job("migrate", model(), moved)["changed"] == 5
    keys = sorted(item["sk"]["S"] for item in done(server.url, "Scan", {"TableName": "Shelf-dev"})["Items"])
    assert keys == ["0", "1", "2", "3", "4"]
    assert not list(tmp_path.glob(".holdfast-*"))
