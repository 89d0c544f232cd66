"""SC-TRIP: a booking through its ten steps and what can go wrong on the way, through REST and WebSocket."""
import concurrent.futures
import uuid

import pytest
from surface import eventually

PLAN = {
    "intent": "flight_booking",
    "confidence": 0.93,
    "parameters": {"origin": "QZA", "destination": "QZB", "departure_date": "2099-03-20", "cabin_class": "economy"},
    "policy_constraints": {"max_budget_usd": 500, "preferred_vendors": ["Skylark Air", "Borealis Jet"]},
}


def option(number, carrier, price, compliant=True):
    return {
        "optionId": f"o{number}", "carrier": carrier, "flightNumber": f"SK{number}", "departure": "2099-03-20T08:00:00.000Z",
        "arrival": "2099-03-20T10:00:00.000Z", "priceUsd": price, "cabin": "economy", "compliant": compliant,
    }


OPTIONS = [
    option(1, "Plain Wings", 310), option(2, "Skylark Air", 420), option(3, "Plain Wings", 700),
    option(4, "Borealis Jet", 380), option(5, "Plain Wings", 200, compliant=False),
]


def vector(seed):
    """A unit vector of its own direction."""
    return [1.0 if i == seed else 0.0 for i in range(1024)]


def chunk(i, text=None):
    return {"content_type": "text", "content_text": text or f"Passage {i}", "reading_order": i, "embedding": vector(i)}


@pytest.fixture(scope="module")
def orchestrator(surface):
    return surface.caller("workflow", "orchestrator")


@pytest.fixture
def employee(surface):
    return surface.caller(f"emp-{uuid.uuid4().hex[:8]}", "employee")


@pytest.fixture
def ids():
    return {}


def upload(orchestrator, chunks):
    policy = orchestrator.done("trip", "policy.upload", {"source_s3_uri": "s3://policies/travel.pdf", "file_name": "travel.pdf"})
    orchestrator.done("trip", "policy.process", {"id": policy["id"], "expectedVersion": 1})
    return orchestrator.done("trip", "policy.ingest", {"id": policy["id"], "chunks": chunks, "total_pages": 9, "expectedVersion": 2})


def start(employee, orchestrator, step):
    """A booking that has got as far as `step`."""
    booking = employee.done("trip", "booking.request", {"userRequest": "A seat to Port Alder for the lighthouse fair, please"})
    named = {"employeeId": booking["employeeId"], "bookingId": booking["bookingId"]}
    for name, input in (
        ("retrieved", {"chunks": 3, "maxSimilarity": 0.84}), ("planned", {"bookingPlan": PLAN}), ("validatePlan", {}),
        ("searched", {"options": OPTIONS}),
    ):
        if step == name:
            break
        orchestrator.done("trip", f"booking.{name}", {**named, **input})
    return named


def test_sc_trip_ten_steps(surface, employee, orchestrator):
    # 0. A policy of 60 passages.
    policy = upload(orchestrator, [chunk(i) for i in range(60)])
    assert (policy["status"], policy["total_chunks"], policy["version"]) == ("ready", 60, 3)
    # 1. The employee connects.
    socket = employee.connect("trip")
    [connection] = surface.admin.ask("trip", "TRIP-A-08", connectionId=socket.connection_id)
    # 2. The request; a second one is refused.
    asked = employee.run("trip", "booking.request", {
        "userRequest": "A seat to Port Alder for the lighthouse fair, please", "connectionId": socket.connection_id})
    assert asked.status == 201, asked
    booking = asked["result"]
    assert booking["status"] == "initiated" and len(booking["bookingId"]) == 26
    details = employee.refused("ActiveBookingExists", "trip", "booking.request", {"userRequest": "Another"})
    assert details["bookingId"] == booking["bookingId"]
    named = {"employeeId": booking["employeeId"], "bookingId": booking["bookingId"]}
    # 3. Retrieval.
    found = employee.done("trip", "policy.search", {"vector": vector(7)})
    assert found["chunks"][0]["content_text"] == "Passage 7" and found["chunks"][0]["similarity"] > 0.99
    retrieved = orchestrator.done("trip", "booking.retrieved", {**named, "chunks": found["count"], "maxSimilarity": 0.84})
    assert retrieved["status"] == "searching"
    assert socket.wait(type="event", name="booking_progress")["body"]["status"] == "searching"
    # 4. and 5. The plan, and that it can be booked.
    assert orchestrator.done("trip", "booking.planned", {**named, "bookingPlan": PLAN})["status"] == "searching"
    assert orchestrator.done("trip", "booking.validatePlan", named)["valid"] is True
    # 6. Flights: three that comply, preferred vendors first.
    assert orchestrator.done("trip", "circuit.allow", {"circuitId": "travel-portal-search"})["allowed"] is True
    searched = orchestrator.done("trip", "booking.searched", {**named, "options": OPTIONS})
    assert searched["status"] == "options_presented"
    assert [o["carrier"] for o in searched["flightOptions"]] == ["Skylark Air", "Borealis Jet", "Plain Wings"]
    orchestrator.done("trip", "circuit.success", {"circuitId": "travel-portal-search"})
    # 7. They are pushed, and the workflow waits.
    assert orchestrator.done("trip", "booking.present", named)["delivered"] is True
    assert len(socket.wait(type="event", name="booking_options")["body"]["options"]) == 3
    # 8. The human choice, once.
    employee.refused("RuleViolation", "trip", "booking.select", {**named, "optionIndex": 4})
    chosen = employee.done("trip", "booking.select", {**named, "optionIndex": 2})
    assert chosen["status"] == "user_selected" and chosen["selectedOption"]["carrier"] == "Borealis Jet"
    assert chosen["flightOptions"] == []
    employee.refused("IllegalTransition", "trip", "booking.select", {**named, "optionIndex": 2})
    # 9. Booked and confirmed; the lock is gone.
    orchestrator.refused("IllegalTransition", "trip", "booking.confirm", {**named, "confirmationNumber": "SKL-0427"})
    assert orchestrator.done("trip", "booking.begin", named)["status"] == "booking"
    confirmed = orchestrator.done("trip", "booking.confirm", {**named, "confirmationNumber": "SKL-0427"})
    assert confirmed["status"] == "confirmed" and confirmed["confirmationNumber"] == "SKL-0427"
    assert socket.wait(type="event", name="booking_confirmed")["body"]["confirmationNumber"] == "SKL-0427"
    assert surface.admin.send("GET", "/v1/trip/entities/ActiveBookingLock", employeeId=named["employeeId"]).status == 404
    # 10. The connection ends.
    socket.close()
    stored = lambda: surface.admin.send("GET", "/v1/trip/patterns/TRIP-A-08", connectionId=connection["connectionId"])
    eventually(lambda: stored().status == 404)

    trail = employee.ask("trip", "TRIP-A-17", bookingId=booking["bookingId"])
    assert [entry["event"] for entry in trail] == [
        "policy_retrieval", "reasoning", "plan_validation", "flight_search", "user_selection", "booking_completion"]
    assert [entry["auditId"] for entry in trail] == sorted(entry["auditId"] for entry in trail)
    assert employee.run("trip", "booking.request", {"userRequest": "The way back"}).status == 201


# TRIP-R-01, variant (a): whoever asks at the same time, there is one booking.
def test_sc_trip_sixty_four_racers(surface, employee):
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda _: employee.run("trip", "booking.request", {"userRequest": "Now"}), range(64)))
    assert sum(answer.status == 201 for answer in answers) == 1
    assert {answer["error"] for answer in answers if answer.status != 201} <= {"ActiveBookingExists", "Conflict"}
    assert len(employee.ask("trip", "TRIP-A-15")) == 1


# Variant (b): five failures open the circuit.
def test_sc_trip_circuit(orchestrator):
    circuit = {"circuitId": f"portal-{uuid.uuid4().hex[:6]}"}
    for _ in range(5):
        orchestrator.done("trip", "circuit.failure", circuit)
    refused = orchestrator.run("trip", "circuit.allow", circuit)
    assert refused.status == 503 and refused["error"] == "CircuitOpen"
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    [state] = orchestrator.ask("trip", "TRIP-A-19", **circuit)
    assert state["state"] == "open" and state["failureCount"] == 5


# Variant (c): a booking whose employee is gone waits for the next connection, which is told.
def test_sc_trip_reconnect(employee, orchestrator):
    named = start(employee, orchestrator, "end")
    assert orchestrator.done("trip", "booking.present", named)["delivered"] is False
    socket = employee.connect("trip")
    assert len(socket.wait(type="event", name="booking_options")["body"]["options"]) == 3
    assert orchestrator.done("trip", "booking.present", named)["delivered"] is True
    socket.close()


# Variant (d): a set of passages gives way to the next at once, and a broken one never shows.
def test_sc_trip_policy_generations(orchestrator, employee):
    mark = uuid.uuid4().hex
    first = upload(orchestrator, [chunk(900, f"old {mark}")])
    texts = lambda: [c["content_text"] for c in employee.done("trip", "policy.search", {"vector": vector(900)})["chunks"]]
    assert f"old {mark}" in texts()
    policy = {"id": first["id"]}
    again = {"source_s3_uri": "s3://policies/new.pdf", "file_name": "new.pdf"}
    version = orchestrator.done("trip", "policy.reupload", {**policy, **again})["version"]
    orchestrator.refused("VersionConflict", "trip", "policy.process", {**policy, "expectedVersion": version - 1})
    version = orchestrator.done("trip", "policy.process", {**policy, "expectedVersion": version})["version"]
    broken = orchestrator.run("trip", "policy.ingest", {
        **policy, "chunks": [chunk(901), {"content_type": "song"}], "expectedVersion": version})
    assert broken.status == 422 and broken["error"] == "SchemaInvalid", broken
    assert f"old {mark}" in texts()
    orchestrator.done("trip", "policy.ingest", {**policy, "chunks": [chunk(900, f"new {mark}")], "expectedVersion": version})
    assert f"new {mark}" in texts() and f"old {mark}" not in texts()
    orchestrator.done("trip", "policy.delete", policy)
    assert f"new {mark}" not in texts()
    eventually(lambda: orchestrator.ask("trip", "TRIP-A-22", policy_id=first["id"]) == [])


# The 53 illegal pairs are the models' tests; this one shows that none slips through HTTP.
def test_trip_s_01_terminal_states_stay(employee, orchestrator):
    named = start(employee, orchestrator, "end")
    employee.done("trip", "booking.cancel", named)
    for command, input in (("begin", {}), ("fail", {"errorCode": "X", "errorMessage": "x"}), ("retrieved", {"chunks": 1})):
        details = orchestrator.refused("IllegalTransition", "trip", f"booking.{command}", {**named, **input})
        assert details["from"] == "cancelled" and details["allowed"] == []


# Whole or nothing: whatever moment the server is killed in, a booking and its lock are both there or neither is.
def test_x_06_killed_in_the_middle(surface, orchestrator):
    employees = [surface.caller(f"emp-kill-{i}-{uuid.uuid4().hex[:4]}", "employee") for i in range(8)]

    def ask(employee):
        try:
            return employee.run("trip", "booking.request", {"userRequest": "Quickly"}).status
        except OSError:
            return 0

    for round in range(3):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(ask, employee) for employee in employees]
            surface.server.restart()
            statuses = [answer.result() for answer in answers]
        for employee, status in zip(employees, statuses):
            bookings = employee.ask("trip", "TRIP-A-12")
            lock = surface.admin.send("GET", "/v1/trip/entities/ActiveBookingLock", employeeId=bookings[0]["employeeId"]) \
                if bookings else None
            assert len(bookings) <= 1
            assert status != 201 or len(bookings) == 1
            if bookings:
                assert lock.status == 200 and lock["item"]["activeBookingId"] == bookings[0]["bookingId"]
                orchestrator.done("trip", "booking.fail", {
                    "employeeId": bookings[0]["employeeId"], "bookingId": bookings[0]["bookingId"],
                    "errorCode": "KILLED", "errorMessage": "the test goes on"})
