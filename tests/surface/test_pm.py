"""SC-PM, the part that people see: artefacts with undo, escalations, the hold queue; through REST and WebSocket."""
import concurrent.futures
import urllib.request

import pytest

PROJECT = {"name": "Lantern Quay ferry tickets", "source": "jira", "sourceProjectKey": "LQF", "autonomyLevel": "tactical"}
OPTIONS = [
    {"option": "Keep it for the autumn run", "pros": ["no rework"], "cons": ["later"]},
    {"option": "Drop it", "pros": ["sooner"], "cons": ["a gap"]},
]
CONFIDENCE = {"sourceAgreement": True, "boundaryCompliance": True, "schemaValidity": True, "precedentMatch": True}


def delivery_state(status, completed=21):
    instant = "2026-02-02T00:00:00.000Z"
    progress = {"total_points": 34, "completed_points": completed, "in_progress_points": 8, "blocked_points": 5}
    return {
        "overall_status": status,
        "status_summary": "The quay is in sight",
        "current_sprint": {"name": "S4", "start_date": instant, "end_date": "2026-02-16T00:00:00.000Z",
                           "goal": "Sell a ticket", "progress": progress},
        "milestones": [],
        "blockers": [],
        "key_metrics": {"velocity_trend": "stable", "avg_cycle_time_days": 3, "open_blockers": 0, "active_risks": 1},
        "next_actions": ["Ask the harbour"],
    }


@pytest.fixture(scope="module")
def user(surface):
    return surface.caller("maren", "user")


@pytest.fixture(scope="module")
def agent(surface):
    return surface.caller("agent-1", "agent")


@pytest.fixture
def project(user):
    return user.done("pm", "project.create", PROJECT)["id"]


def test_sc_pm_defaults_are_seeded_once(user):
    assert user.done("pm", "agentConfig.seedDefaults")["written"] in (0, 4)
    assert user.done("pm", "agentConfig.seedDefaults")["written"] == 0
    values = {item["key"]: item["value"] for item in user.ask("pm", "PM-A-11")}
    assert values["hold_queue_minutes"] == 30 and values["budget_ceiling_daily_usd"] == 0.33
    assert values["working_hours"]["timezone"] == "Australia/Sydney"


def test_sc_pm_project_event_and_feed(user, project):
    assert project in [item["id"] for item in user.ask("pm", "PM-A-13", limit=1000)]
    [event] = user.ask("pm", "PM-A-04", projectId=project)
    assert event["eventType"] == "project_created"
    assert event["id"] in [item.get("eventId") for item in user.ask("pm", "PM-A-05")]


def test_sc_pm_the_secret_is_nowhere(surface, user):
    secret = "tide-table-4711"
    assert user.run("pm", "integration.configure", {"integration": "jira", "credentials": {"token": secret}}).status in (200, 201)
    shown = user.ask("pm", "PM-A-09", integration="jira")
    assert secret not in str(shown)
    for file in surface.server.directory.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def user_errors(surface):
    with urllib.request.urlopen(surface.server.url + "/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(line.split()[-1]) for line in lines if "errors_total{" in line and 'type="ValidationException"' in line)


def test_sc_pm_artefact_versions_and_undo(surface, user, agent, project):
    put = lambda caller, content, **more: caller.run(
        "pm", "artefact.put", {"projectId": project, "type": "delivery_state", "content": content, **more}
    )
    first, second = delivery_state("green", completed=10), delivery_state("amber")
    assert put(user, first).status == 201
    changed = put(agent, second, confidence=CONFIDENCE)
    assert changed.status == 200 and changed["result"]["version"] == 2
    assert changed["result"]["previousVersion"] == first
    [action] = user.ask("pm", "PM-A-07", projectId=project)
    assert action["actionType"] == "artefact_update" and action["executed"] and action["confidence"] == CONFIDENCE
    before = user_errors(surface)
    wrong = put(user, delivery_state("blue"))
    assert wrong.status == 422 and wrong["error"] == "SchemaInvalid"
    assert user_errors(surface) == before + 1
    assert put(user, second).status == 200  # the same again writes nothing
    [artefact] = user.ask("pm", "PM-A-03", projectId=project, type="delivery_state")
    assert artefact["version"] == 2

    undone = user.done("pm", "artefact.undo", {"projectId": project, "type": "delivery_state"})
    assert undone["content"] == first and undone["version"] == 3 and "previousVersion" not in undone
    user.refused("NothingToUndo", "pm", "artefact.undo", {"projectId": project, "type": "delivery_state"})

    with concurrent.futures.ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda n: put(user, delivery_state("red", n), expectedVersion=3), (1, 2)))
    assert sorted(answer.status for answer in both) == [200, 409]
    assert [answer["error"] for answer in both if answer.status == 409] == ["VersionConflict"]


def test_sc_pm_escalation_is_decided_once(user, agent, project):
    feed = user.connect("pm")
    feed.subscribe("inbox", entity="Escalation", partition={"projectId": project})
    raised = agent.done("pm", "escalation.create", {
        "projectId": project, "title": "Drop the harbour kiosk from this run?", "context": {"ticket": "LQF-31"}, "options": OPTIONS,
    })
    assert feed.wait(type="change", id="inbox")["item"]["status"] == "pending"
    assert raised["id"] in [item["id"] for item in user.ask("pm", "PM-A-12", limit=1000)]
    decision = {"projectId": project, "id": raised["id"], "userDecision": "Keep it for the autumn run"}
    decided = user.done("pm", "escalation.decide", decision)
    assert decided["status"] == "decided" and decided["decidedAt"]
    assert feed.wait(type="change", id="inbox", change="modify")["item"]["status"] == "decided"
    assert raised["id"] not in [item["id"] for item in user.ask("pm", "PM-A-12", limit=1000)]
    assert raised["id"] in [item["id"] for item in user.ask("pm", "PM-A-18", status="decided", limit=1000)]
    details = user.refused("IllegalTransition", "pm", "escalation.decide", decision)
    assert details["from"] == "decided" and details["allowed"] == []
    feed.close()


def test_sc_pm_hold_queue(user, agent, project):
    propose = {"projectId": project, "actionType": "email_sent", "description": "Tell the harbour master"}
    held = agent.done("pm", "action.propose", propose)
    assert held["executed"] is False and held["heldUntil"]
    [waiting] = user.ask("pm", "PM-A-19", projectId=project)
    key = {"createdAt": waiting["createdAt"], "id": waiting["id"]}
    named = {"projectId": project, "actionKey": key}
    agent.refused("RuleViolation", "pm", "action.release", named)
    agent.refused("Forbidden", "pm", "action.release", {**named, "force": True})
    # Two people at once: it is sent once.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: user.run("pm", "action.release", {**named, "force": True}), range(2)))
    assert sorted(answer.status for answer in both) == [200, 409]
    assert [answer["error"] for answer in both if answer.status == 409] == ["AlreadyExecuted"]
    taken = [item for item in user.ask("pm", "PM-A-04", projectId=project) if item["eventType"] == "action_taken"]
    assert len(taken) == 1
    assert user.ask("pm", "PM-A-19", projectId=project) == []

    second = agent.done("pm", "action.propose", propose)
    named = {"projectId": project, "actionKey": {"createdAt": second["createdAt"], "id": second["id"]}}
    assert user.done("pm", "action.cancel", {**named, "reason": "not yet"})["cancelReason"] == "not yet"
    user.refused("IllegalTransition", "pm", "action.release", {**named, "force": True})


def test_sc_pm_checkpoint(user, project):
    named = {"projectId": project, "integration": "jira", "key": "last_sync"}
    assert user.run("pm", "checkpoint.set", {**named, "value": "2026-02-04T10:30:00.000Z"}).status == 201
    user.refused("RuleViolation", "pm", "checkpoint.set", {**named, "value": "2026-02-03T10:30:00.000Z"})
    [read] = user.ask("pm", "PM-A-08", projectId=project, integration="jira", checkpointKey="last_sync")
    assert read["checkpointValue"] == "2026-02-04T10:30:00.000Z"


# SURF-07: a patch of an artefact and an event, together or not at all.
def test_surf_07_transact(user, surface, project):
    artefact = {"projectId": project, "type": "delivery_state"}
    user.done("pm", "artefact.put", {**artefact, "content": delivery_state("green")})
    event = {"projectId": project, "eventType": "signal_detected", "severity": "info", "summary": "A ferry"}
    entries = [
        {"patch": "Artefact", "key": artefact, "changes": {"content": delivery_state("red")}, "expectedVersion": 1},
        {"put": "Event", "item": event},
    ]
    refused = user.send("POST", "/v1/pm/transact", {"entries": entries + [
        {"check": "Project", "key": {"id": project}, "that": "status = 'paused'"}]})
    assert refused.status == 409 and refused["details"]["index"] == 2, refused
    [unchanged] = user.ask("pm", "PM-A-03", **artefact)
    assert unchanged["version"] == 1
    done = user.send("POST", "/v1/pm/transact", {"entries": entries})
    assert done.status == 200, done
    [changed] = user.ask("pm", "PM-A-03", **artefact)
    assert changed["version"] == 2 and changed["content"]["overall_status"] == "red"
    assert "signal_detected" in [item["eventType"] for item in user.ask("pm", "PM-A-04", projectId=project)]
    again = user.send("POST", "/v1/pm/transact", {"entries": entries})
    assert again.status == 409 and again["error"] == "VersionConflict" and again["details"]["index"] == 0
    twice = user.send("POST", "/v1/pm/transact", {"entries": [
        {"check": "Project", "key": {"id": project}}, {"check": "Project", "key": {"id": project}}]})
    assert twice.status == 400, twice


# the same key and the same body give the first answer; another body is refused.
def test_x_08_idempotency(user):
    first = user.run("pm", "project.create", PROJECT, key="once")
    again = user.run("pm", "project.create", PROJECT, key="once")
    assert first.status == again.status == 201 and first["result"] == again["result"]
    assert again.headers["Idempotency-Replayed"] == "true"
    other = user.run("pm", "project.create", {**PROJECT, "name": "Another"}, key="once")
    assert other.status == 422 and other["error"] == "IdempotencyMismatch"
    [event] = user.ask("pm", "PM-A-04", projectId=first["result"]["id"])
    assert event["eventType"] == "project_created"
    entries = {"entries": [{"put": "Project", "item": PROJECT}]}
    together = lambda: user.send("POST", "/v1/pm/transact", entries, {"Idempotency-Key": "together"})
    first, again = together(), together()
    assert first.status == again.status == 200 and first["items"] == again["items"]
    assert "Idempotency-Replayed" not in first.headers and again.headers["Idempotency-Replayed"] == "true"


# the same subject in another role, or of another tenant, has keys of its own.
def test_x_08_a_key_is_one_callers_alone(surface):
    first = surface.caller("x08", "user").run("pm", "project.create", PROJECT, key="mine")
    assert first.status == 201, first
    for other in (surface.caller("x08", "admin"), surface.caller("x08", "user", "--tenant", "elsewhere")):
        answer = other.run("pm", "project.create", PROJECT, key="mine")
        assert answer.status == 201 and answer["result"] != first["result"], answer
        assert "Idempotency-Replayed" not in answer.headers
