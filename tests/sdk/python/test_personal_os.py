"""Personal OS: tasks, goals, metrics and points of a person in one table, on boto3's Table resource (DB-T-17)."""
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from conftest import cancellation, create_table, delete_table, eventually, index, make_client, refused

USER = "tamsin-01"


def stamp(day, hour=10):
    return f"2026-01-{day:02}T{hour:02}:00:00Z"


def entity(kind, pk, sk, **attributes):
    common = {"pk": pk, "sk": sk, "entityType": kind, "userId": USER, "createdAt": stamp(10), "updatedAt": stamp(10)}
    return {**common, **attributes}


def task(name, day, status="NotStarted", area="Wealth", user=USER, **attributes):
    created = stamp(day)
    return entity("TASK", f"USER#{user}", f"TASK#{name}", id=name, title=f"Sort {name}", area=area, status=status, priority="P2",
                  size=60, pointValue=120, pointsAwarded=False, projectIds=[], gsi1pk="TASK", gsi1sk=f"{status}#{created}",
                  gsi2pk=area, gsi2sk=f"TASK#{created}", createdAt=created, userId=user, **attributes)


def metric_log(metric, day, value):
    return entity("METRIC_LOG", f"METRIC#{metric}", f"LOG#{stamp(day, 18)}", metricId=metric, value=value, loggedAt=stamp(day, 18))


@pytest.fixture(scope="module")
def resource(endpoint):
    return make_client(endpoint, make=boto3.resource)


@pytest.fixture
def table(resource):
    client = resource.meta.client
    name = create_table(client, ("pk", "sk"), {key: "S" for key in ("gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk")}, name="personal-os-dev",
                        GlobalSecondaryIndexes=[index("GSI1", "gsi1pk", "gsi1sk"), index("GSI2", "gsi2pk", "gsi2sk")])
    yield resource.Table(name)
    delete_table(client, name)


def put_all(table, items):
    with table.batch_writer() as batch:
        for item in items:
            batch.put_item(Item=item)


def names(response, field="id"):
    return [item[field] for item in response["Items"]]


def test_pos_a_01_03_items_come_back_with_their_types(table):
    """Lists, maps, nulls, booleans and exact decimals are what the application reads, not what it has to parse."""
    profile = entity("USER", f"USER#{USER}", "PROFILE", email="tamsin@example.com", displayName="Tamsin Oakley-Vane",
                     preferences={"theme": "dark", "defaultArea": "Health"})
    receipts = task("receipts", 10, recurrenceRule={"frequency": "Weekly", "interval": 1, "endDate": None}, goalIds=["canoe"],
                    weight=Decimal("180.250"))
    put_all(table, [profile, receipts])
    assert table.get_item(Key={"pk": f"USER#{USER}", "sk": "PROFILE"})["Item"] == profile
    found = table.get_item(Key={"pk": f"USER#{USER}", "sk": "TASK#receipts"}, ConsistentRead=True)["Item"]
    assert found == receipts and str(found["weight"]) == "180.25"
    assert "Item" not in table.get_item(Key={"pk": f"USER#{USER}", "sk": "TASK#none"})


def test_pos_a_02_22_24_tasks_are_listed_by_user_status_and_area(table):
    """The three lists of the dashboard; another user's tasks share the indexes and are filtered out."""
    put_all(table, [task("b", 12, "InProgress"), task("a", 14, "InProgress", "Health"), task("c", 11, "Done"),
                    task("other", 13, "InProgress", user="corvin-02"), entity("GOAL", f"USER#{USER}", "GOAL#canoe", id="canoe",
                    gsi1pk="GOAL", gsi1sk=f"Active#{stamp(9)}", gsi2pk="Health", gsi2sk=f"GOAL#{stamp(9)}")])
    mine = table.query(KeyConditionExpression=Key("pk").eq(f"USER#{USER}") & Key("sk").begins_with("TASK#"))
    assert names(mine) == ["a", "b", "c"]
    in_progress = Key("gsi1pk").eq("TASK") & Key("gsi1sk").begins_with("InProgress#")
    assert names(table.query(IndexName="GSI1", KeyConditionExpression=in_progress)) == ["b", "other", "a"]
    only_mine = table.query(IndexName="GSI1", KeyConditionExpression=in_progress, FilterExpression=Attr("userId").eq(USER))
    assert (names(only_mine), only_mine["ScannedCount"]) == (["b", "a"], 3)
    health = table.query(IndexName="GSI2", KeyConditionExpression=Key("gsi2pk").eq("Health"))
    assert names(health, "entityType") == ["GOAL", "TASK"]


def test_pos_a_14_25_links_and_logs_are_read_by_their_parents(table):
    """Links give ids by their sort keys; a range of logs includes both ends."""
    put_all(table, [entity("GOAL_TASK", "GOAL#canoe", f"TASK#{name}") for name in ("paddle", "bail")] +
            [entity("GOAL_METRIC", "GOAL#canoe", "METRIC#weight")] + [metric_log("weight", day, 200 - day) for day in range(1, 31)])
    links = table.query(KeyConditionExpression=Key("pk").eq("GOAL#canoe") & Key("sk").begins_with("TASK#"))
    assert [sk.replace("TASK#", "") for sk in names(links, "sk")] == ["bail", "paddle"]
    between = Key("pk").eq("METRIC#weight") & Key("sk").between(f"LOG#{stamp(5, 18)}", f"LOG#{stamp(20, 18)}")
    logs, page = [], {}
    while not logs or "LastEvaluatedKey" in page:
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if page else {}
        page = table.query(KeyConditionExpression=between, Limit=6, **start)
        logs += names(page, "value")
    assert logs == [200 - day for day in range(5, 21)]


def test_pos_r_02_points_are_credited_once(table):
    """Fifty completions at once: the task's flag, the wallet and the history change together, one time."""
    put_all(table, [task("receipts", 10, "InProgress"), entity("WALLET", f"USER#{USER}", "WALLET", balance=0, lifetimeEarned=0)])

    def complete(attempt):
        key = {"pk": f"USER#{USER}"}
        return cancellation(table.meta.client, [
            {"Update": {
                "TableName": table.name, "Key": {**key, "sk": "TASK#receipts"},
                "UpdateExpression": "SET #s = :done, pointsAwarded = :yes, gsi1sk = :index",
                "ConditionExpression": "pointsAwarded = :no", "ExpressionAttributeNames": {"#s": "status"},
                "ExpressionAttributeValues": {":done": "Done", ":yes": True, ":no": False, ":index": f"Done#{stamp(10)}"}}},
            {"Update": {
                "TableName": table.name, "Key": {**key, "sk": "WALLET"},
                "UpdateExpression": "ADD balance :points, lifetimeEarned :points",
                "ExpressionAttributeValues": {":points": 120}}},
            {"Put": {
                "TableName": table.name, "ConditionExpression": "attribute_not_exists(pk)",
                "Item": entity("WALLET_TRANSACTION", f"USER#{USER}", f"WALLET_TXN#{attempt:02}", amount=120)}}])

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(complete, range(50)))
    assert outcomes.count([]) == 1
    assert {code for reasons in outcomes for code in reasons} <= {"None", "ConditionalCheckFailed", "TransactionConflict"}
    wallet = table.get_item(Key={"pk": f"USER#{USER}", "sk": "WALLET"})["Item"]
    assert (wallet["balance"], wallet["lifetimeEarned"]) == (120, 120)
    history = table.query(KeyConditionExpression=Key("pk").eq(f"USER#{USER}") & Key("sk").begins_with("WALLET_TXN#"))
    assert names(history, "amount") == [120]
    done = table.query(IndexName="GSI1", KeyConditionExpression=Key("gsi1pk").eq("TASK") & Key("gsi1sk").begins_with("Done#"))
    assert names(done) == ["receipts"]


def test_pos_r_18_one_log_per_habit_and_day(table):
    """A condition object of boto3 becomes an expression with names and values of its own making."""
    log = entity("HABIT_LOG", "HABIT#row", "LOG#2026-01-10", date="2026-01-10", completed=True)
    once = Attr("pk").not_exists() & Attr("sk").not_exists()
    table.put_item(Item=log, ConditionExpression=once)
    refused("ConditionalCheckFailedException", table.put_item, Item={**log, "completed": False}, ConditionExpression=once)
    changed = table.update_item(Key={"pk": log["pk"], "sk": log["sk"]}, UpdateExpression="SET notes = :n",
                                ConditionExpression=Attr("completed").eq(True) & Attr("date").between("2026-01-01", "2026-01-31"),
                                ExpressionAttributeValues={":n": ""}, ReturnValues="UPDATED_NEW")
    assert changed["Attributes"] == {"notes": ""}


def test_pos_r_19_cached_insights_expire(table):
    """An insight is gone after its ttl; one that is still good stays."""
    table.meta.client.update_time_to_live(TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    now = datetime.now(timezone.utc)
    for kind, expires in (("pattern", now - timedelta(minutes=1)), ("anomaly", now + timedelta(hours=1))):
        table.put_item(Item=entity("METRIC_INSIGHT", "METRIC#weight", f"INSIGHT#{kind}#{stamp(10)}", type=kind,
                                   content={"text": "Falls on Mondays", "score": Decimal("0.9")}, ttl=int(expires.timestamp())))
    left = lambda: names(table.query(KeyConditionExpression=Key("pk").eq("METRIC#weight") & Key("sk").begins_with("INSIGHT#")), "type")
    eventually(lambda: left() == ["anomaly"])
