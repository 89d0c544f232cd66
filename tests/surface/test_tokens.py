"""Who may: tokens, roles, tenants, origins; on every route and in every feed."""
import base64
import json
import subprocess
import uuid

import pytest
import websocket

from server import PROGRAM
from surface import Caller


@pytest.fixture(scope="module")
def tenants(surface):
    """Two employees, of whom the first has a booking."""
    first, second = (surface.caller(f"emp-{uuid.uuid4().hex[:8]}", "employee") for _ in range(2))
    booking = first.done("trip", "booking.request", {"userRequest": "To the sea"})
    return first, second, booking


def encoded(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def test_x_11_another_tenants_object_is_not_there(tenants):
    first, second, booking = tenants
    key = {"employeeId": booking["employeeId"], "bookingId": booking["bookingId"]}
    assert first.send("GET", "/v1/trip/entities/Booking", **key).status == 200
    for answer in (
        second.send("GET", "/v1/trip/entities/Booking", **key),
        second.send("GET", "/v1/trip/patterns/TRIP-A-14", **key),
        second.send("GET", "/v1/trip/patterns/TRIP-A-15", employeeId=booking["employeeId"]),
        second.run("trip", "booking.select", {**key, "optionIndex": 1}),
        second.run("trip", "booking.cancel", key),
        second.run("trip", "booking.cancel", {"bookingId": booking["bookingId"]}),
    ):
        assert answer.status == 404 and answer["error"] == "NotFound", answer
    trail = second.send("GET", "/v1/trip/patterns/TRIP-A-17", bookingId=booking["bookingId"])
    assert trail.status == 404 or trail["items"] == []
    assert second.ask("trip", "TRIP-A-15") == []


def test_x_11_nor_in_a_feed(surface, tenants):
    first, second, booking = tenants
    feeds = [caller.connect("trip") for caller in (first, second)]
    for feed in feeds:
        feed.subscribe("b", entity="Booking")
    orchestrator = surface.caller("workflow", "orchestrator")
    named = {"employeeId": booking["employeeId"], "bookingId": booking["bookingId"]}
    orchestrator.done("trip", "booking.retrieved", {**named, "chunks": 1, "maxSimilarity": 0.7})
    assert feeds[0].wait(type="change", id="b")["item"]["status"] == "searching"
    # The second is told of its own next: had it been told of the other's, that would have come before.
    own = second.done("trip", "booking.request", {"userRequest": "Inland"})
    assert feeds[1].wait(type="change", id="b")["item"]["bookingId"] == own["bookingId"]
    for feed in feeds:
        feed.close()


def test_x_e_03_no_or_bad_tokens(surface, tenants):
    caller = surface.caller("maren", "user")
    header, claims, signature = caller.token.split(".")
    decoded = json.loads(base64.urlsafe_b64decode(claims + "=="))
    tampered = f"{header}.{encoded({**decoded, 'role': 'admin'})}.{signature}"
    unsigned = f"{encoded({'alg': 'none'})}.{claims}."
    symmetric = f"{encoded({'alg': 'HS256'})}.{claims}.{signature}"
    unknown = f"{encoded({'alg': 'ES256', 'kid': 'nobody'})}.{claims}.{signature}"
    for token in ("", "x", "a.b.c", tampered, unsigned, symmetric, unknown):
        for method, path in (("GET", "/v1/models"), ("POST", "/v1/pm/commands/project.create"), ("GET", "/v1/pm/patterns/PM-A-13")):
            answer = caller.send(method, path, {} if method == "POST" else None, {"Authorization": f"Bearer {token}"})
            assert answer.status == 401 and answer["error"] == "Unauthenticated", (token, answer)
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            websocket.create_connection(f"ws://127.0.0.1:{caller.port}/v1/pm/ws", timeout=10,
                                        header=[f"Authorization: Bearer {token}"])
        assert refused.value.status_code == 401
    absent = caller.send("GET", "/v1/models", headers={"Authorization": None})
    assert absent.status == 401 and "Bearer" in absent.headers["WWW-Authenticate"]


def test_surf_05_roles(surface):
    worker = surface.caller("worker", "trip-worker")
    employee = surface.caller("emp-roles", "employee")
    assert worker.run("trip", "booking.request", {"employeeId": "e", "userRequest": "x"}).status == 403
    assert worker.send("GET", "/v1/trip/patterns/TRIP-A-15", employeeId="e").status == 403
    assert employee.run("trip", "circuit.reset", {"circuitId": "c"}).status == 403
    assert employee.send("POST", "/v1/trip/entities/Booking", {"userRequest": "x"}).status == 403  # command_only
    nobody = surface.caller("nobody", "juggler")
    assert nobody.send("GET", "/v1/trip/patterns/TRIP-A-05").status == 403


def test_expired_and_foreign_tokens(surface, tmp_path):
    expired = surface.caller("maren", "user", "--ttl", "1s")
    foreign = Caller.__new__(Caller)
    foreign.url, foreign.port = surface.server.url, surface.server.port


    made = subprocess.run([PROGRAM, "token", "--issuer-key", tmp_path / "other.pem", "--subject", "s", "--role", "admin"],
                          check=True, capture_output=True, text=True)
    foreign.token = made.stdout.strip()
    assert foreign.send("GET", "/v1/models").status == 401
    # A minute of skew is granted; the token is a second long.
    assert expired.send("GET", "/v1/models").status == 200


# A connection is worth as much as its token: it ends with it.
def test_a_socket_ends_with_its_token(surface):
    feed = surface.caller("maren", "user", "--ttl", "3s").connect("pm")
    with pytest.raises(websocket.WebSocketConnectionClosedException):
        while True:
            opcode, data = feed.socket.recv_data()
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                assert int.from_bytes(data[:2], "big") == 1008
                raise websocket.WebSocketConnectionClosedException()


# Who may read nothing is told nothing, by events neither.
def test_roles_of_events(surface):
    worker = surface.caller("worker", "trip-worker").connect("trip")
    worker.send(type="subscribe", id="e", event="booking_requested")
    assert worker.wait(type="error", id="e")["error"] == "Forbidden"
    worker.send(type="subscribe", id="b", entity="Booking")
    assert worker.wait(type="error", id="b")["error"] == "Forbidden"
    worker.close()
    orchestrator = surface.caller("workflow", "orchestrator").connect("trip")
    orchestrator.subscribe("e", event="booking_requested")
    for wrong in ({"event": "nothing"}, {"event": "policy_status", "entity": "Policy"}, {"entity": "Policy", "cursor": 17}):
        orchestrator.send(type="subscribe", id="w", **wrong)
        assert orchestrator.wait(type="error", id="w")["error"] in ("NotFound", "ValidationError")
    orchestrator.close()


# POS-R-07: link partitions have no user in their keys; a command that deletes there must not reach another's.
def test_x_11_nor_can_a_command_delete_it(surface):
    amy, mallory = surface.caller("amy", "user"), surface.caller("mallory", "user")
    goal, habit = str(uuid.uuid4()), str(uuid.uuid4())
    made = {"id": habit, "name": "n", "area": "x", "habitType": "Build", "frequency": "Daily"}
    amy.done("pos", "goal.create", {"id": goal, "title": "g", "area": "x", "timeHorizon": "Daily"})
    amy.done("pos", "habit.create", {**made, "goalIds": [goal]})
    assert mallory.run("pos", "habit.create", made).status == 201
    mallory.send("PATCH", "/v1/pos/entities/HABIT", {"goalIds": [goal]}, id=habit)
    mallory.run("pos", "habit.update", {"id": habit, "goalIds": []})
    links = amy.send("GET", "/v1/pos/entities/GOAL_HABIT", goalId=goal)
    assert len(links["items"]) == 1, links


def test_origin_and_host(surface):
    user = surface.caller("maren", "user")
    foreign = user.send("POST", "/v1/pm/commands/agentConfig.seedDefaults", {}, {"Origin": "https://elsewhere.example"})
    assert foreign.status == 403
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        user.connect("pm", origin="https://elsewhere.example")
    assert refused.value.status_code == 403
    user.connect("pm", origin=surface.server.url).close()
    rebound = user.send("GET", "/v1/models", headers={"Host": "rebound.example"})
    assert rebound.status in (400, 403, 421), rebound
    plain = user.send("POST", "/v1/pm/commands/agentConfig.seedDefaults", b"{}", {"Content-Type": "text/plain"})
    assert plain.status == 415


# Strangers' bodies are refused, never broken over.
def test_no_body_is_a_server_error(surface):
    user = surface.caller("maren", "user")
    bodies = [b"", b"{", b"[]", b"null", b"1", b'"x"', b"{}", b'{"name":1}', b'{"name":null}', b'{"a":1,"a":2}', b"\xff\xfe",
              b'{"name":"' + b"x" * 500_000 + b'"}', b"[" * 10_000, b'{"config":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}",
              b'{"name":"\\ud800"}', b'{"expectedVersion":1e400}', b'{"content":{"\\u0000":1}}']
    for path in ("commands/project.create", "commands/artefact.put", "transact", "entities/Project", "commands/nothing"):
        for body in bodies:
            answer = user.send("POST", f"/v1/pm/{path}", body)
            assert 400 <= answer.status < 500 and answer["error"], (path, body[:60], answer)
    for path in ("/v1", "/v1/", "/v1/none", "/v1/pm/patterns/", "/v1/pm/patterns/PM-A-99", "/v1/pm/entities/%00", "/v1/pm/%ff"):
        assert user.send("GET", path).status in (400, 404), path
