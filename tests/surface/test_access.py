"""Policies on REST and WebSocket: TRIP-R-17, INC-12, and that what a token may not do to a table no route does for it."""
import json
import urllib.request
import uuid

import pytest
from server import done
from surface import Surface
from test_trip import start

TABLES = "arn:aws:dynamodb:us-east-1:123456789012:table/"


def allow(*actions, on="*"):
    return {"Effect": "Allow", "Action": [f"dynamodb:{name}" for name in actions], "Resource": on}


ROLES = {
    "trip-worker": [
        {**allow("PutItem", on=TABLES + "TripCortexAuditLog"), "Condition": {"StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"}}}
    ],
    # What they read is theirs, and they get to see no audit trail.
    "employee": [
        allow("*"),
        {"Effect": "Deny", "Action": "dynamodb:*", "Resource": TABLES + "TripCortexAuditLog*"},
    ],
    "user": [allow("GetItem", "Query", on=[TABLES + "PersonalOS", TABLES + "PersonalOS/*"])],
}


@pytest.fixture(scope="module")
def surface(tmp_path_factory, keys):
    file = tmp_path_factory.mktemp("policies") / "policies.json"
    roles = {name: [{"Version": "2012-10-17", "Statement": statements}] for name, statements in ROLES.items()}
    roles["agent"] = []
    # The administrator `auditor` is held to reading, whatever the role says.
    listed = {"auditor": {"policies": [{"Version": "2012-10-17", "Statement": allow("GetItem", "Query", "GetRecords")}]}, "idle": {}}
    file.write_text(json.dumps({"roles": roles, "principals": listed}))
    surface = Surface(tmp_path_factory.mktemp("access") / "data", "--key-file", keys, "--policies", file)
    yield surface
    assert surface.server.stop() == 0


@pytest.fixture(scope="module")
def orchestrator(surface):
    return surface.caller("workflow", "orchestrator")


@pytest.fixture(scope="module")
def worker(surface):
    return surface.caller("w1", "trip-worker")


@pytest.fixture(scope="module")
def auditor(surface):
    return surface.caller("auditor", "admin")


@pytest.fixture
def booking(surface, orchestrator):
    return start(surface.caller(f"emp-{uuid.uuid4().hex[:8]}", "employee"), orchestrator, "retrieved")


def entry(booking):
    return {**booking, "event": "reasoning", "step": "searching", "input": {"a": 1}, "output": {}}


def count(surface, table):
    return done(surface.server.url, "Scan", {"TableName": table, "Select": "COUNT"})["Count"]


def test_trip_r_17_the_worker_adds_to_the_audit_trail_and_nothing_else(surface, worker, booking):
    before, bookings = count(surface, "TripCortexAuditLog"), done(surface.server.url, "Scan", {"TableName": "TripCortexBookings"})["Items"]
    key = uuid.uuid4().hex
    answer = worker.run("trip", "audit.append", entry(booking), key)
    assert answer.status == 201, answer
    again = worker.run("trip", "audit.append", entry(booking), key)
    assert again.headers["Idempotency-Replayed"] == "true" and again["result"] == answer["result"], again
    for method, path, body in (
        ("GET", "/v1/trip/patterns/TRIP-A-06?status=ready", None),
        ("GET", "/v1/trip/entities/Booking?employeeId=" + booking["employeeId"] + "&bookingId=" + booking["bookingId"], None),
        ("DELETE", "/v1/trip/entities/Booking?employeeId=" + booking["employeeId"] + "&bookingId=" + booking["bookingId"], None),
        ("POST", "/v1/trip/commands/booking.cancel", booking),
        ("POST", "/v1/trip/transact", {"entries": [{"delete": "Booking", "key": booking}]}),
        ("GET", "/v1/sessions/trip:x:y", None),
        ("GET", "/v1/dead-letters", None),
    ):
        refused = worker.send(method, path, body)
        assert refused.status == 403 and refused["error"] == "Forbidden", (method, path, refused)
    assert count(surface, "TripCortexAuditLog") == before + 1
    assert done(surface.server.url, "Scan", {"TableName": "TripCortexBookings"})["Items"] == bookings


def test_trip_r_17_the_worker_does_not_learn_which_bookings_there_are(worker, booking):
    missing = {**booking, "bookingId": "01" + "0" * 24}
    assert worker.run("trip", "audit.append", entry(missing)).status == 201
    assert worker.run("trip", "audit.append", entry(booking)).status == 201


def test_who_may_check_a_parent_is_told_when_it_is_missing(orchestrator, booking):
    orchestrator.refused("NotFound", "trip", "audit.append", entry({**booking, "bookingId": "01" + "0" * 24}))


def test_what_is_replayed_is_the_same_callers_in_the_same_role(surface):
    project = {"name": "Lantern Quay", "source": "jira", "sourceProjectKey": "LQ", "autonomyLevel": "tactical"}
    admin, held = surface.caller("mix", "admin"), surface.caller("mix", "agent")
    first = admin.run("pm", "project.create", project, key="once")
    assert first.status == 201, first
    assert admin.run("pm", "project.create", project, key="once")["result"] == first["result"]
    artefact = {"projectId": first["result"]["id"], "type": "decision_log", "content": {"decisions": []}}
    assert admin.run("pm", "artefact.put", artefact, key="put").status == 201
    refused = held.run("pm", "artefact.put", artefact, key="put")
    assert refused.status == 403 and "content" not in str(refused.body), refused
    entries = {"entries": [{"put": "Project", "item": project}]}
    headers = {"Idempotency-Key": "together"}
    done = admin.send("POST", "/v1/pm/transact", entries, headers)
    assert done.status == 200 and "Idempotency-Replayed" not in done.headers, done
    assert held.send("POST", "/v1/pm/transact", entries, headers).status == 403
    again = admin.send("POST", "/v1/pm/transact", entries, headers)
    assert again.headers["Idempotency-Replayed"] == "true" and again["items"] == done["items"], again


def test_who_is_given_nothing_reaches_nobody(surface):
    idle = surface.caller("idle", "admin")
    for method, path, body in (("POST", "/v1/connections/x", {"a": 1}), ("GET", "/v1/alarms", None)):
        refused = idle.send(method, path, body)
        assert refused.status == 403 and refused["error"] == "Forbidden", (path, refused)
    assert surface.caller("another", "admin").send("POST", "/v1/connections/x", {"a": 1})["error"] == "Gone"


def test_policies_hold_where_roles_of_the_model_would_let_through(surface, booking):
    employee = surface.caller(booking["employeeId"], "employee")
    got = employee.send("GET", "/v1/trip/entities/Booking", bookingId=booking["bookingId"])
    assert got.status == 200, got
    # The model lets employees read the trail of their bookings; the policy does not.
    refused = employee.send("GET", "/v1/trip/entities/AuditEntry", bookingId=booking["bookingId"], auditId="01" + "0" * 24)
    assert refused.status == 403 and "dynamodb:GetItem on resource: " + TABLES + "TripCortexAuditLog" in refused["message"], refused
    assert "assumed-role/employee/" + booking["employeeId"] in refused["message"]


def test_an_administrator_may_be_held_too(surface, auditor, booking):
    assert auditor.send("GET", "/v1/trip/entities/Booking", **booking).status == 200
    before = done(surface.server.url, "Scan", {"TableName": "TripCortexBookings"})["Items"]
    for method, path, body in (
        ("DELETE", f"/v1/trip/entities/Booking?employeeId={booking['employeeId']}&bookingId={booking['bookingId']}", None),
        ("POST", "/v1/trip/commands/booking.retrieved", {**booking, "chunks": 3, "maxSimilarity": 0.8}),
        ("POST", "/v1/trip/transact", {"entries": [{"delete": "Booking", "key": booking}]}),
    ):
        refused = auditor.send(method, path, body)
        assert refused.status == 403 and "is not authorized to perform: dynamodb:" in refused["message"], (path, refused)
    assert done(surface.server.url, "Scan", {"TableName": "TripCortexBookings"})["Items"] == before


def test_who_is_refused_what_concerns_all_tables_learns_of_none(auditor):
    refused = auditor.send("GET", "/v1/alarms")
    assert refused.status == 403 and "every table" in refused["message"] and ":table/" not in refused["message"], refused


def test_who_is_not_listed_is_held_to_the_model_alone(surface, orchestrator, booking):
    assert orchestrator.send("GET", "/v1/trip/entities/Booking", **booking).status == 200
    assert orchestrator.run("trip", "audit.append", entry(booking)).status == 201


def test_feeds_need_get_records(surface, auditor, booking):
    employee = surface.caller(booking["employeeId"], "employee")
    socket = employee.connect("trip")
    socket.subscribe("bookings", entity="Booking")
    socket.send(type="subscribe", id="trail", entity="AuditEntry")
    assert socket.wait(type="error", id="trail")["error"] == "Forbidden"
    socket.send(type="subscribe", id="events", event="booking_progress")
    assert socket.wait(type="error", id="events")["error"] == "Forbidden"
    socket.close()
    socket = auditor.connect("trip")
    socket.subscribe("trail", entity="AuditEntry")
    socket.subscribe("events", event="booking_progress")
    socket.close()


def test_sessions_of_agents_need_their_table(surface):
    held = surface.caller("ann", "user")
    assert held.send("POST", "/v1/sessions/chat:ann:1/events", {"type": "message", "payload": {"text": "hi"}}).status == 403
    assert held.send("GET", "/v1/sessions/chat:ann:1").status == 403


def test_denials_on_rest_are_counted(surface, worker, booking):
    text = urllib.request.urlopen(surface.server.url + "/metrics").read().decode()
    assert 'holdfast_access_denied_total{operation="GetItem"}' in text
