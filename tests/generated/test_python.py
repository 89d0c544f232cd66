"""Repositories that are generated for Python store what the server would store, and refuse what it would refuse (MOD-09)."""
import re
import threading
import uuid
from decimal import Decimal

import pytest

INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def project(**more):
    return {"name": "Tide clock", "source": "jira", "sourceProjectKey": "TIDE", "autonomyLevel": "artefact", **more}


def task(**more):
    return {"userId": str(uuid.uuid4()), "title": "Oil the gears", "area": "Home", "pointValue": 30, **more}


def refused(code, module, call, *arguments, **named):
    with pytest.raises(module.RepositoryError) as caught:
        call(*arguments, **named)
    assert caught.value.code == code, caught.value


@pytest.fixture
def pm(repositories):
    return repositories["pm"]


@pytest.fixture
def projects(pm, dynamodb):
    return pm.ProjectRepository(dynamodb)


@pytest.fixture
def agentic(dynamodb):
    return dynamodb.Table("AgenticPM")


# Keys, index keys, defaults and instants come from the model; nothing else is added and nothing is lost.
def test_a_new_item_is_stored_as_the_model_says(projects, agentic):
    made = projects.create(project(createdAt="2026-02-04T12:30:00+02:00", config={"ratio": 0.5, "tags": ["a", 1]}))
    stored = agentic.get_item(Key={"PK": f"PROJECT#{made['id']}", "SK": "METADATA"})["Item"]
    assert re.fullmatch(INSTANT, made["updatedAt"])
    assert uuid.UUID(made["id"]).version == 4
    assert stored == {
        "PK": f"PROJECT#{made['id']}",
        "SK": "METADATA",
        "GSI1PK": "STATUS#active",
        "GSI1SK": f"PROJECT#{made['id']}",
        "EntityType": "Project",
        "id": made["id"],
        "name": "Tide clock",
        "source": "jira",
        "sourceProjectKey": "TIDE",
        "autonomyLevel": "artefact",
        "status": "active",
        "config": {"ratio": Decimal("0.5"), "tags": ["a", 1]},
        "createdAt": "2026-02-04T10:30:00.000Z",
        "updatedAt": made["updatedAt"],
    }


def test_find_by_id_gives_what_create_gave_and_none_otherwise(projects):
    made = projects.create(project())
    assert projects.find_by_id(made["id"]) == made
    assert projects.find_by_id(str(uuid.uuid4())) is None


def test_a_key_is_taken_once(pm, projects):
    made = projects.create(project())
    refused("AlreadyExists", pm, projects.create, project(id=made["id"]))


def test_the_state_decides_where_an_item_is_found(projects):
    made = projects.create(project())
    paused = projects.update(made["id"], {"status": "paused"})
    assert paused["updatedAt"] >= made["updatedAt"]
    assert made["id"] not in {one["id"] for one in projects.find_by_status("active")}
    assert paused in projects.find_by_status("paused")


def test_an_illegal_move_changes_nothing(pm, projects, agentic):
    made = projects.create(project())
    projects.update(made["id"], {"status": "archived"})
    key = {"PK": f"PROJECT#{made['id']}", "SK": "METADATA"}
    before = agentic.get_item(Key=key)["Item"]
    refused("IllegalTransition", pm, projects.update, made["id"], {"status": "paused", "name": "Other"})
    refused("IllegalTransition", pm, projects.update, made["id"], {"status": "archived"})
    refused("IllegalTransition", pm, projects.create, project(status="paused"))
    assert agentic.get_item(Key=key)["Item"] == before


# Two people who read the same version cannot both write; only the first of them does.
def test_an_update_of_another_version_is_refused(pm, projects):
    made = projects.create(project())
    assert projects.update(made["id"], {"name": "First"}, made["updatedAt"])["name"] == "First"
    if projects.find_by_id(made["id"])["updatedAt"] != made["updatedAt"]:
        refused("VersionConflict", pm, projects.update, made["id"], {"name": "Second"}, made["updatedAt"])
    refused("VersionConflict", pm, projects.update, made["id"], {"name": "Third"}, "2020-01-01T00:00:00Z")


def test_what_the_model_decides_cannot_be_given(pm, projects):
    made = projects.create(project())
    for changes in ({"id": "x"}, {"createdAt": "2020-01-01T00:00:00Z"}, {"updatedAt": "2020-01-01T00:00:00Z"}, {"PK": "x"}):
        refused("ValidationError", pm, projects.update, made["id"], changes)
    refused("ValidationError", pm, projects.create, project(GSI1PK="STATUS#active"))
    refused("ValidationError", pm, projects.create, project(updatedAt="2020-01-01T00:00:00Z"))
    refused("ValidationError", pm, projects.create, project(source="paper"))
    refused("ValidationError", pm, projects.create, project(name=None))
    refused("ValidationError", pm, projects.create, project(id="a#b"))
    assert projects.update(made["id"], {"id": made["id"], "name": "Same"})["name"] == "Same"


def test_none_removes_an_optional_attribute(pm, projects):
    made = projects.create(project(description="to be removed"))
    assert "description" not in projects.update(made["id"], {"description": None})
    refused("ValidationError", pm, projects.update, made["id"], {"name": None})
    refused("NotFound", pm, projects.update, str(uuid.uuid4()), {"name": "nobody"})


# A version that is a number counts; a schema that another attribute names normalises what lies inside.
def test_an_artefact_counts_its_versions(pm, projects, dynamodb, agentic):
    artefacts = pm.ArtefactRepository(dynamodb)
    owner = projects.create(project())["id"]
    content = {
        "source": "jira",
        "last_synced": "2026-02-04T10:30:00Z",
        "summary": {},
        "highlights": [],
        "refinement_candidates": [],
        "scope_notes": "",
    }
    made = artefacts.create({"projectId": owner, "type": "backlog_summary", "content": content})
    assert made["version"] == 1
    assert made["content"]["last_synced"] == "2026-02-04T10:30:00.000Z"
    changed = artefacts.update(owner, "backlog_summary", {"content": {**content, "scope_notes": "x"}}, expected=1)
    assert changed["version"] == 2
    assert changed["content"]["last_synced"] == "2026-02-04T10:30:00.000Z"
    refused("VersionConflict", pm, artefacts.update, owner, "backlog_summary", {"content": content}, expected=1)
    assert agentic.get_item(Key={"PK": f"PROJECT#{owner}", "SK": "ARTEFACT#backlog_summary"})["Item"]["version"] == 2


# An event lives thirty days from its creation; without a project it is under GLOBAL.
def test_events_expire_and_are_only_appended(pm, dynamodb, agentic):
    events = pm.EventRepository(dynamodb)
    facts = {"eventType": "heartbeat", "severity": "info", "summary": "still here"}
    made = [events.create(facts) for _ in range(50)]
    assert [one["id"] for one in made] == sorted(one["id"] for one in made), "ULIDs of one process rise"
    one = made[0]
    stored = agentic.get_item(Key={"PK": "GLOBAL", "SK": f"EVENT#{one['createdAt']}#{one['id']}"})["Item"]
    assert stored["GSI1PK"] == f"EVENT#{one['createdAt'][:10]}"
    assert stored["GSI1SK"] == f"{one['createdAt']}#{one['id']}"
    assert stored["TTL"] == pm._millis(one["createdAt"]) // 1000 + 30 * 86400
    assert events.find_by_id(None, one["createdAt"], one["id"]) == one
    assert not hasattr(events, "update")


def test_what_commands_write_has_finders_only(pm):
    assert hasattr(pm.AgentActionRepository, "find_by_id")
    assert not hasattr(pm.AgentActionRepository, "create")
    assert not hasattr(pm.AgentActionRepository, "update")


# Plain SDK code writes whole seconds; such an item is found by the same instant.
def test_both_spellings_of_an_instant_are_found(pm, dynamodb, agentic):
    second = pm._instant(pm._now() // 1000 * 1000)
    raw = second.replace(".000Z", "Z")
    identity = str(uuid.uuid4())
    agentic.put_item(
        Item={"PK": "GLOBAL", "SK": f"EVENT#{raw}#{identity}", "EntityType": "Event", "id": identity, "createdAt": raw}
    )
    found = pm.EventRepository(dynamodb).find_by_id(None, second, identity)
    assert found == {"id": identity, "createdAt": raw}


def test_what_lives_in_the_key_is_read_from_it(pm, dynamodb):
    references = pm.GlobalEventRefRepository(dynamodb)
    made = references.create({"eventId": pm._ulid(pm._now()), "eventType": "error", "severity": "error", "summary": "s"})
    found = references.find_by_id(made["createdAt"], made["eventId"])
    assert found["eventId"] == made["eventId"]


# The lock's key attribute has the name of the attribute that it is made of.
def test_an_attribute_may_share_its_name_with_the_key(repositories, dynamodb):
    item = {"employeeId": "ACTIVE#e-7", "bookingId": "LOCK", "activeBookingId": "b", "createdAt": "2026-02-04T10:30:00.000Z"}
    dynamodb.Table("TripCortexBookings").put_item(Item=item)
    found = repositories["trip"].ActiveBookingLockRepository(dynamodb).find_by_id("e-7")
    assert found == {"employeeId": "e-7", "activeBookingId": "b", "createdAt": item["createdAt"]}


def test_an_expired_item_is_not_found(pm, dynamodb, agentic):
    made = pm.EventRepository(dynamodb).create({"eventType": "error", "severity": "error", "summary": "s"})
    key = {"PK": "GLOBAL", "SK": f"EVENT#{made['createdAt']}#{made['id']}"}
    agentic.update_item(
        Key=key,
        UpdateExpression="SET #t = :t",
        ExpressionAttributeNames={"#t": "TTL"},
        ExpressionAttributeValues={":t": 1},
    )
    assert pm.EventRepository(dynamodb).find_by_id(None, made["createdAt"], made["id"]) is None


# Of many that move the same item at the same time one wins, and the others learn why.
def test_racing_moves_have_one_winner(pm, projects, dynamodb):
    escalations = pm.EscalationRepository(dynamodb)
    owner = projects.create(project())["id"]
    option = {"option": "wait", "pros": [], "cons": []}
    made = escalations.create({"projectId": owner, "title": "t", "context": {}, "options": [option]})
    outcomes = []

    def decide():
        try:
            escalations.update(owner, made["id"], {"status": "expired"})
            outcomes.append("won")
        except pm.RepositoryError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=decide) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["IllegalTransition"] * 7 + ["won"]


# Nobody expects a version here, so nobody loses: each of those who came late tries again.
def test_racing_updates_all_count(pm, projects, dynamodb):
    artefacts = pm.ArtefactRepository(dynamodb)
    owner = projects.create(project())["id"]
    artefacts.create({"projectId": owner, "type": "decision_log", "content": {"decisions": []}})
    changes = {"content": {"decisions": []}}
    threads = [threading.Thread(target=artefacts.update, args=(owner, "decision_log", changes)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert artefacts.find_by_id(owner, "decision_log")["version"] == 4


# A log keyed by time alone is taken in either spelling.
def test_the_same_instant_is_taken_in_both_spellings(repositories, dynamodb):
    pos = repositories["pos"]
    logs = pos.MetricLogRepository(dynamodb)
    metric = str(uuid.uuid4())
    log = {"userId": "u", "metricId": metric, "value": 1, "loggedAt": "2026-02-04T10:30:00Z"}
    raw = {"pk": f"METRIC#{metric}", "sk": "LOG#2026-02-04T10:30:00Z", "entityType": "METRIC_LOG", **log}
    dynamodb.Table("personal-os-dev").put_item(Item=raw)
    refused("AlreadyExists", pos, logs.create, log)
    assert logs.create({**log, "loggedAt": "2026-02-04T10:30:01Z"})["loggedAt"] == "2026-02-04T10:30:01.000Z"
    refused("AlreadyExists", pos, logs.create, {**log, "loggedAt": "2026-02-04T10:30:01.000Z"})


# The index of Personal OS holds all users' tasks: a finder takes the user and gives nobody else's.
def test_a_tenants_items_only(repositories, dynamodb):
    tasks = repositories["pos"].TaskRepository(dynamodb)
    mine, other = tasks.create(task()), tasks.create(task())
    found = tasks.find_by_status("NotStarted", mine["userId"])
    assert found == [mine]
    assert other not in found
    done = tasks.update(mine["userId"], mine["id"], {"status": "Done", "area": "Work"})
    key = {"pk": f"USER#{mine['userId']}", "sk": f"TASK#{mine['id']}"}
    stored = dynamodb.Table("personal-os-dev").get_item(Key=key)["Item"]
    assert stored["gsi1sk"] == f"Done#{mine['createdAt']}"
    assert stored["gsi2pk"] == "Work"
    assert tasks.find_by_status("Done", mine["userId"]) == [done]


# A table whose keys are the entity's own attributes.
def test_plain_keys(repositories, dynamodb):
    connections = repositories["trip"].ConnectionRepository(dynamodb)
    made = connections.create({"connectionId": str(uuid.uuid4()), "employeeId": "e-1"})
    stored = dynamodb.Table("TripCortexConnections").get_item(Key={"connectionId": made["connectionId"]})["Item"]
    assert stored == made
    assert made["ttl"] == repositories["trip"]._millis(made["connectedAt"]) // 1000 + 7200
