"""DB-M-02: the four alarms fire and clear on a running server: REST, WebSocket, command, metrics; and their settings."""
import json
import subprocess
import urllib.error
import urllib.request

import pytest
from server import HEADERS, PROGRAM, Server, call, done
from surface import Surface, eventually

WINDOW = "4s"
ALARMS = {"throttled-requests", "system-errors", "user-errors", "consumed-capacity"}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A server that looks at its alarms all the time, over short windows."""
    flags = ["--alarm-interval-ms", "50", "--models", "none", "--log-level", "error"]
    for alarm in (f"throttled-requests=0/{WINDOW}", f"system-errors=0/{WINDOW}", "user-errors=10/12s"):
        flags += ["--alarm", alarm]
    surface = Surface(tmp_path_factory.mktemp("alarms") / "data", *flags, "--plan", "Planned=0/3100")
    yield surface
    assert surface.server.stop() == 0


def state(surface, name):
    listed = surface.admin.send("GET", "/v1/alarms")
    assert listed.status == 200, listed
    return next(alarm for alarm in listed["alarms"] if alarm["name"] == name)


def create(url, name, **more):
    done(url, "CreateTable", {
        "TableName": name, "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST", **more})


def put(url, table, kilobytes):
    fill = {"S": "x" * (kilobytes * 1024 - 100)}
    return call(url, "PutItem", {"TableName": table, "Item": {"p": {"S": "a"}, "fill": fill}})


def throttle(url):
    create(url, "Slow", BillingMode="PROVISIONED", ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1})
    assert put(url, "Slow", 390) == {}
    assert put(url, "Slow", 1)[0] == "ProvisionedThroughputExceededException"


def misuse(url):
    for _ in range(11):
        assert call(url, "GetItem", {"TableName": "Absent", "Key": {}})[0] == "ResourceNotFoundException"


def break_down(url):
    headers = {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Encoding": "br"}
    with pytest.raises(urllib.error.HTTPError) as failed:
        urllib.request.urlopen(urllib.request.Request(url, b"{}", headers))
    assert failed.value.code == 500


@pytest.mark.parametrize("name, cause, reason", [
    ("throttled-requests", throttle, "1 request in the last 4 seconds: Slow 1"),
    ("user-errors", misuse, None),
    ("system-errors", break_down, "1 error in the last 4 seconds: no operation 1"),
])
def test_db_m_02_an_alarm_fires_and_clears(watched, name, cause, reason):
    assert {alarm["name"] for alarm in watched.admin.send("GET", "/v1/alarms")["alarms"]} == ALARMS
    assert state(watched, name)["state"] == "OK"
    told = watched.admin.open("/v1/alarms/ws")
    assert {alarm["name"] for alarm in told.wait(type="alarms")["alarms"]} == ALARMS
    cause(watched.server.url)
    heard = []
    while not heard or heard[-1]["state"] != "OK":
        alarm = told.wait(type="alarm")["alarm"]
        if alarm["name"] == name:
            heard.append(alarm)
    assert [alarm["state"] for alarm in heard] == ["ALARM", "OK"]
    history = state(watched, name)["history"]
    assert [change["state"] for change in history[:2]] == ["OK", "ALARM"]
    if reason is not None:  # eleven may be looked at while they come
        assert history[1]["reason"] == reason
    told.close()


def test_db_m_02_a_plan_that_is_overdrawn(watched):
    create(watched.server.url, "Planned")
    assert put(watched.server.url, "Planned", 390) == {}
    eventually(lambda: state(watched, "consumed-capacity")["state"] == "ALARM")
    overdrawn = state(watched, "consumed-capacity")
    assert "Planned" in overdrawn["reason"] and overdrawn["threshold"] == 150 and "windowSeconds" not in overdrawn
    with urllib.request.urlopen(watched.server.url + "/metrics") as answer:
        assert 'holdfast_alarm_state{alarm="consumed-capacity"} 1' in answer.read().decode().splitlines()
    # What is remembered outlives the server; another bound clears it.
    watched.server.stop()
    watched.server.flags += ("--alarm", "consumed-capacity=100000")
    watched.server.start()
    eventually(lambda: state(watched, "consumed-capacity")["state"] == "OK")
    assert state(watched, "consumed-capacity")["value"] > 150
    assert [change["state"] for change in state(watched, "consumed-capacity")["history"]] == ["OK", "ALARM"]


def test_alarms_are_for_administrators(watched):
    user = watched.caller("ann", "user")
    refused = user.send("GET", "/v1/alarms")
    assert refused.status == 403 and refused["error"] == "Forbidden", refused
    with pytest.raises(Exception, match="403"):
        user.open("/v1/alarms/ws")


def alarms(*words, code=0):
    finished = subprocess.run([PROGRAM, "alarms", *words], capture_output=True, text=True, timeout=60)
    assert finished.returncode == code, finished
    return finished.stdout if code == 0 else finished.stderr


def test_the_command_shows_them(watched, tmp_path):
    where = ["--endpoint", watched.server.url]
    shown = json.loads(alarms(*where, "--data", watched.server.directory, "--json"))["alarms"]
    assert {alarm["name"] for alarm in shown} == ALARMS
    text = alarms(*where, "--token", watched.admin.token, "--history")
    assert all(name in text for name in ALARMS)
    assert "Forbidden" in alarms(*where, "--token", watched.caller("ann", "user").token, "--json", code=5)
    assert "--token" in alarms(*where, "--data", tmp_path, code=2)
    alarms("--endpoint", "http://127.0.0.1:1", "--token", "x", code=6)


def test_the_commands_need_no_token_beside_a_new_store(tmp_path):
    """The key that signs one is made by whoever needs it first."""
    server = Server(tmp_path / "data", "--models", "none")
    try:
        where = ["--endpoint", server.url, "--data", tmp_path / "data"]
        assert "system-errors" in alarms(*where)
        backed_up = subprocess.run([PROGRAM, "backup", *where, "--to", tmp_path / "copy"], capture_output=True, text=True, timeout=60)
        assert backed_up.returncode == 0, backed_up
    finally:
        server.stop()
    server = Server(tmp_path / "none", "--in-memory", "--models", "none")
    try:
        refused = alarms("--endpoint", server.url, "--data", tmp_path / "data", code=5)
        assert "issuer.pem" in refused and "--token" in refused
    finally:
        server.stop()


@pytest.mark.parametrize("flags, said", [
    (["--alarm", "user-errors"], "not user-errors"),
    (["--alarm", "user-errors=ten"], "not user-errors=ten"),
    (["--alarm", "user-errors=10/5"], "not user-errors=10/5"),
    (["--alarm", "user-errors=10/0s"], "not user-errors=10/0s"),
    (["--alarm", "noise=1"], "there is no alarm noise"),
    (["--alarm", "consumed-capacity=150/5m"], "not consumed-capacity=150/5m"),
    (["--alarm", "archive-lag=1"], "archive-lag goes with --archive"),
    (["--plan", "Music=1"], "not Music=1"),
    (["--plan", "=1/2"], "not =1/2"),
    (["--store", "dynamodb", "--plan", "Music=1/2"], "--plan is for servers that have tables"),
    (["--store", "dynamodb", "--alarm", "throttled-requests=1"], "throttled-requests watches tables"),
])
def test_a_setting_that_makes_no_sense_ends_the_start(tmp_path, flags, said):
    refused = subprocess.run([PROGRAM, "serve", "--port", "0", "--data", tmp_path / "data", *flags], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and said in refused.stderr, refused
