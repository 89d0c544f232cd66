"""Trip Cortex: connections, bookings, their audit trail and a circuit breaker, on boto3's low-level client (DB-T-17)."""
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import cancellation, create_table, delete_table, eventually, index, n, refused, s

TABLES = {  # Key, further key attributes of indexes, attribute of the time to live
    "TripCortexConnections": (("connectionId",), (), "ttl"),
    "TripCortexBookings": (("employeeId", "bookingId"), (), None),
    "TripCortexAuditLog": (("bookingId", "auditId"), ("employeeId", "timestamp"), "expiresAt"),
    "TripCortexCircuitBreaker": (("circuitId",), (), "ttl"),
}
EMPLOYEE = "emp-juniper-07"
PORTAL = {"TableName": "TripCortexCircuitBreaker", "Key": {"circuitId": s("travel-portal-booking")}}


@pytest.fixture(autouse=True)
def tables(dynamodb):
    """All four tables, on demand, as the application's template has them."""
    for name, (key, more, expiry) in TABLES.items():
        indexes = {"GlobalSecondaryIndexes": [index(f"{more[0]}-{more[1]}-index", *more)]} if more else {}
        create_table(dynamodb, key, {attribute: "S" for attribute in more}, name=name, **indexes)
        if expiry:
            dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": expiry})
    yield
    for name in TABLES:
        delete_table(dynamodb, name)


def circuit(dynamodb):
    return dynamodb.get_item(ConsistentRead=True, **PORTAL)["Item"]


def close_circuit(dynamodb):
    dynamodb.put_item(TableName=PORTAL["TableName"], Item={
        **PORTAL["Key"], "state": s("closed"), "failureCount": n(0), "lastFailureTime": n(0), "recoveryTimeout": n(60),
        "ttl": n(int(time.time()) + 86400)})


def turn(dynamodb, before, after, count, expected):
    """Moves the circuit from one state to another if nobody else has."""
    dynamodb.update_item(
        **PORTAL, UpdateExpression="SET #s = :after, failureCount = :count",
        ConditionExpression="#s = :before AND failureCount = :expected", ExpressionAttributeNames={"#s": "state"},
        ExpressionAttributeValues={":before": s(before), ":after": s(after), ":count": n(count), ":expected": n(expected)})


def test_trip_a_20_the_circuit_opens_once(dynamodb):
    """The conditional update of the breaker: the second who saw the old state is refused and changes nothing."""
    close_circuit(dynamodb)
    turn(dynamodb, "closed", "open", 1, 0)
    refused("ConditionalCheckFailedException", turn, dynamodb=dynamodb, before="closed", after="open", count=1, expected=0)
    assert (circuit(dynamodb)["state"], circuit(dynamodb)["failureCount"]) == (s("open"), n(1))
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException, match="The conditional request failed"):
        turn(dynamodb, "open", "half_open", 1, 9)


def test_db_t_10_a_reserved_word_needs_its_alias(dynamodb):
    """The breaker writes #s for a reason: state is a reserved word."""
    close_circuit(dynamodb)
    response = refused("ValidationException", dynamodb.update_item, **PORTAL, UpdateExpression="SET state = :open",
                       ExpressionAttributeValues={":open": s("open")})
    assert "Attribute name is a reserved keyword; reserved keyword: state" in response["Error"]["Message"]


def test_trip_r_09_twenty_failures_at_once_are_counted_exactly(dynamodb):
    """Everyone counts by condition and tries again when another was faster; none is lost, none counts twice."""
    close_circuit(dynamodb)

    def fail(_):
        while True:
            seen = int(circuit(dynamodb)["failureCount"]["N"])
            try:
                return turn(dynamodb, "closed", "closed", seen + 1, seen)
            except dynamodb.exceptions.ConditionalCheckFailedException:
                continue

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(fail, range(20)))
    assert circuit(dynamodb)["failureCount"] == n(20)


def test_trip_a_11_to_15_a_booking_from_request_to_confirmation(dynamodb):
    """Each step of the workflow is a conditional update on the status; the history is read newest first."""
    name = "TripCortexBookings"
    key = lambda booking: {"employeeId": s(EMPLOYEE), "bookingId": s(booking)}
    active = lambda: dynamodb.query(
        TableName=name, KeyConditionExpression="employeeId = :e", FilterExpression="NOT #s IN (:confirmed, :failed, :cancelled)",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":e": s(EMPLOYEE), ":confirmed": s("confirmed"), ":failed": s("failed"), ":cancelled": s("cancelled")})

    def step(before, after, **attributes):
        sets = "".join(f", {attribute} = :{attribute}" for attribute in attributes)
        return dynamodb.update_item(
            TableName=name, Key=key("01B"), ReturnValues="ALL_NEW", UpdateExpression=f"SET #s = :after{sets}",
            ConditionExpression="#s = :before", ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":before": s(before), ":after": s(after), **{f":{k}": v for k, v in attributes.items()}})

    dynamodb.put_item(TableName=name, Item={**key("01A"), "status": s("failed"), "fallbackUrl": s("https://portal.example/r/1")})
    dynamodb.put_item(TableName=name, Item={**key("01B"), "status": s("initiated"), "userRequest": s("A seat to Port Alder"),
                                            "flightOptions": {"L": []}, "selectedOption": {"M": {}}},
                      ConditionExpression="attribute_not_exists(bookingId)")
    assert [item["bookingId"] for item in active()["Items"]] == [s("01B")]
    limits = {"M": {"max_budget_usd": n(500), "preferred_vendors": {"L": [s("Skylark Air")]}}}
    plan = {"M": {"confidence": n("0.95"), "policy_constraints": limits}}
    options = {"L": [{"M": {"flight": s(f"SKL-{i}"), "priceUsd": n(f"{300 + i}.50")}} for i in range(3)]}
    step("initiated", "searching", bookingPlan=plan)
    step("searching", "options_presented", flightOptions=options)
    step("options_presented", "user_selected", selectedOption=options["L"][1], flightOptions={"L": []})
    refused("ConditionalCheckFailedException", step, before="options_presented", after="user_selected")
    step("user_selected", "booking")
    confirmed = step("booking", "confirmed", confirmationNumber=s("SKL-0427"))["Attributes"]
    assert confirmed["bookingPlan"] == plan and confirmed["flightOptions"] == {"L": []}
    assert confirmed["selectedOption"] == {"M": {"flight": s("SKL-1"), "priceUsd": n("301.5")}}
    assert (active()["Count"], active()["ScannedCount"]) == (0, 2)
    history = dynamodb.query(TableName=name, KeyConditionExpression="employeeId = :e", ScanIndexForward=False,
                             ExpressionAttributeValues={":e": s(EMPLOYEE)})["Items"]
    assert [item["bookingId"] for item in history] == [s("01B"), s("01A")]
    assert dynamodb.get_item(TableName=name, Key=key("01B"))["Item"] == confirmed


def test_trip_a_16_to_18_the_audit_trail_by_booking_and_by_time(dynamodb):
    """Entries are only ever added; compliance reads them by employee and time through the index."""
    name, later = "TripCortexAuditLog", n(int(time.time()) + 63072000)
    events = ["policy_retrieval", "reasoning", "plan_validation", "flight_search", "user_selection", "booking_completion"]
    entries = [{"bookingId": s("01B"), "auditId": s(f"01C{i}"), "employeeId": s(EMPLOYEE), "timestamp": s(f"2026-03-1{i}T14:30:05Z"),
                "event": s(event), "output": {"M": {"max_similarity": n("0.89")}}, "latencyMs": n(450), "expiresAt": later}
               for i, event in enumerate(events)]
    for entry in entries:
        dynamodb.put_item(TableName=name, Item=entry, ConditionExpression="attribute_not_exists(auditId)")
    refused("ConditionalCheckFailedException", dynamodb.put_item, TableName=name, Item={**entries[0], "event": s("error")},
            ConditionExpression="attribute_not_exists(auditId)")
    trail = dynamodb.query(TableName=name, KeyConditionExpression="bookingId = :b", ExpressionAttributeValues={":b": s("01B")})
    assert trail["Items"] == entries
    some = dynamodb.query(
        TableName=name, IndexName="employeeId-timestamp-index",
        KeyConditionExpression="employeeId = :e AND #t BETWEEN :from AND :to", ExpressionAttributeNames={"#t": "timestamp"},
        ExpressionAttributeValues={":e": s(EMPLOYEE), ":from": s("2026-03-11"), ":to": s("2026-03-13T23:59:59Z")})
    assert some["Items"] == entries[1:4]


def test_trip_a_07_to_10_connections_come_and_go(dynamodb):
    """The heartbeat scans, a disconnect deletes, and what dropped silently expires."""
    name, now = "TripCortexConnections", int(time.time())
    for connection, expires in (("one", now + 7200), ("two", now + 7200), ("ghost", now - 5)):
        dynamodb.put_item(TableName=name, Item={"connectionId": s(connection), "employeeId": s(EMPLOYEE), "ttl": n(expires)})
    assert dynamodb.get_item(TableName=name, Key={"connectionId": s("two")})["Item"]["employeeId"] == s(EMPLOYEE)
    dynamodb.delete_item(TableName=name, Key={"connectionId": s("one")})
    dynamodb.delete_item(TableName=name, Key={"connectionId": s("never was")})
    eventually(lambda: [item["connectionId"] for item in dynamodb.scan(TableName=name)["Items"]] == [s("two")])


def test_trip_r_01_one_active_booking_per_employee(dynamodb):
    """Of many requests at once, one takes the lock and writes its booking."""
    def request(booking):
        put = lambda sort, **more: {"Put": {
            "TableName": "TripCortexBookings", "ConditionExpression": "attribute_not_exists(bookingId)",
            "Item": {"employeeId": s(EMPLOYEE), "bookingId": s(sort), **more}}}
        return cancellation(dynamodb, [put("ACTIVE", holder=s(booking)), put(booking, status=s("initiated"))])

    bookings = [f"01B{i:02}" for i in range(30)]
    with ThreadPoolExecutor(10) as pool:
        outcomes = list(pool.map(request, bookings))
    assert all(set(codes) <= {"None", "ConditionalCheckFailed", "TransactionConflict"} for codes in outcomes)
    winners = [booking for booking, codes in zip(bookings, outcomes) if not codes]
    stored = dynamodb.query(TableName="TripCortexBookings", KeyConditionExpression="employeeId = :e",
                            ExpressionAttributeValues={":e": s(EMPLOYEE)})["Items"]
    assert len(winners) == 1
    assert sorted(item["bookingId"]["S"] for item in stored) == winners + ["ACTIVE"]
