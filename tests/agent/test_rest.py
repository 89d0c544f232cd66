"""The agent runtime over HTTP: every route, and every way to be refused, with nothing written then."""
import socket
import threading
import time

import pytest
from surface import Surface, eventually


def say(caller, key, text="hi", id=None, status=201):
    body = {"type": "user_message", "payload": {"text": text}, **({"id": id} if id else {})}
    answer = caller.send("POST", f"/v1/sessions/{key}/events", body)
    assert answer.status == status, answer
    return answer


def claim(worker, *agents, wait_ms=5000, **more):
    answer = worker.send("POST", "/v1/work/claim", {"worker": "w", "agents": list(agents), "wait_ms": wait_ms, **more})
    assert answer.status == 200, answer
    return answer["work"]


def commit(worker, work, *effects, token="t", status=200, **more):
    body = {"session": work["session"], "epoch": work["epoch"], "upto": work["events"][-1]["seq"], "token": token,
            "checkpoint": {"seen": len(work["events"])}, "effects": list(effects), **more}
    answer = worker.send("POST", "/v1/work/commit", body)
    assert answer.status == status, answer
    return answer


def send_message(content):
    return {"type": "send_message", "content": content}


def refused(answer, status, name):
    assert (answer.status, answer["error"]) == (status, name), answer
    assert answer["message"] and answer["requestId"] == answer.headers["x-holdfast-request-id"], answer
    return answer["details"]


def picture(surface, key):
    """All that there is of a session, as an administrator sees it."""
    get = lambda path: surface.admin.send("GET", f"/v1/sessions/{key}{path}").body
    return [get(path) for path in ("", "/events", "/messages", "/effects", "/timers")]


# One turn, from the user's words to everything that can be seen of it.
def test_a_turn(ann, worker, agent, key):
    first = say(ann, key, "hello", id="c-1")
    assert first.body == {"seq": 1, "id": "c-1", "duplicate": False}
    [work] = claim(worker, agent)
    assert work["session"] == key and work["checkpoint"] is None and work["epoch"] >= 1
    assert work["state"] == {"auto_n": 0, "auto_at": None, "n_tail": 0}
    assert work["policy"]["cap"] == 3 and work["lease_until"] > time.time() * 1000
    [event] = work["events"]
    assert {**event, "at": 0} == {
        "seq": 1, "id": "c-1", "type": "user_message", "payload": {"text": "hello"}, "at": 0, "origin": "user"}
    timer = {"type": "schedule_timer", "timer_id": "nudge", "delay_ms": 3_600_000, "payload": {"why": "quiet"}}
    done = commit(worker, work, send_message("hi ann"), timer, send_message("hi ann"))
    assert done.body == {"seq": 1, "messages": [1], "suppressed": [{"i": 2, "reason": "duplicate"}], "next": None}
    assert commit(worker, work, send_message("hi ann"), timer, send_message("hi ann")).body == done.body

    get = lambda path, **query: ann.send("GET", f"/v1/sessions/{key}{path}", **query)
    seen = get("")
    assert seen["session_key"] == key and seen["state"] == "active" and seen["checkpoint_id"] == f"{key}/1"
    assert (seen["last_seq"], seen["event_seq"], seen["last_n"]) == (1, 1, 1)
    assert (seen["owner"], seen["lease_until"], seen["last_autonomous_at"]) == (None, None, None)
    [message] = get("/messages")["items"]
    assert {**message, "created_at": ""} == {"n": 1, "id": f"{key}/1/0", "seq": 1, "i": 0, "content": "hi ann",
                                             "auto": False, "delivery": "at_least_once", "created_at": ""}
    effects = get("/effects")["items"]
    assert [(one["id"], one["type"], one["status"]) for one in effects] == [
        (f"{key}/1/0", "send_message", "pending"), (f"{key}/1/1", "schedule_timer", "completed")]
    assert effects[0]["payload"] == {"content": "hi ann"} and len(effects[0]["dedupe_key"]) == 64
    assert get("/effects", status="pending")["items"] == effects[:1]
    assert get("/effects", checkpoint=1)["items"] == effects
    refused(get("/effects", checkpoint=9), 404, "NotFound")
    assert get("/effects/1/1").body == effects[1]
    refused(get("/effects/1/7"), 404, "NotFound")
    [pending] = get("/timers")["items"]
    assert (pending["timer_id"], pending["status"], pending["payload"]) == ("nudge", "pending", {"why": "quiet"})
    assert get("/timers", status="promoted")["items"] == []
    latest = get("/checkpoints/latest")
    assert latest["id"] == f"{key}/1" and latest["state"] == {"seen": 1} and len(latest["decisions"]) == 3
    assert latest["metadata"] == {"event_seq": 1, "consecutive_autonomous_msgs": 0, "last_autonomous_at": None}
    assert get("/checkpoints/1").body == latest.body
    refused(get("/checkpoints/2"), 404, "NotFound")


# A client that got no answer sends again: the second time must change nothing.
def test_a_repeated_event(surface, ann, key):
    say(ann, key, "hello", id="same")
    before = picture(surface, key)
    assert say(ann, key, "hello", id="same").body == {"seq": 1, "id": "same", "duplicate": True}
    assert picture(surface, key) == before


def test_events_in_pages(ann, key):
    ids = [say(ann, key, str(i)).body["id"] for i in range(5)]
    get = lambda **query: ann.send("GET", f"/v1/sessions/{key}/events", **query)
    page = get(limit=2)
    assert [event["seq"] for event in page["items"]] == [1, 2] and page["next"] == 2
    assert [event["seq"] for event in get(after=page["next"], limit=9)["items"]] == [3, 4, 5]
    assert get(after=3, limit=9)["next"] is None
    [third] = get(id=ids[2])["items"]
    assert third["seq"] == 3 and third["session_key"] == key and third["payload"] == {"text": "2"}
    assert get(id="nobody")["items"] == []
    assert ann.send("GET", f"/v1/sessions/{key}/events/3").body == third
    refused(ann.send("GET", f"/v1/sessions/{key}/events/6"), 404, "NotFound")
    for query in ({"after": -1}, {"after": "x"}, {"limit": 0}, {"limit": 1001}, {"id": "a b"}, {"colour": "red"}):
        refused(get(**query), 400, "ValidationError")
    refused(ann.send("GET", f"/v1/sessions/{key}/events/0"), 400, "ValidationError")


GOOD = {"type": "user_message", "payload": {"text": "hi"}}


@pytest.mark.parametrize("body, status, name", [
    ({"type": "tool_result", "payload": {"tool_id": "x", "payload": 1}}, 422, "ReservedEventType"),
    ({"type": "timer", "payload": {"timer_id": "x"}}, 422, "ReservedEventType"),
    ({"type": "approval", "payload": {}}, 422, "ReservedEventType"),
    ({"type": "shout", "payload": {"text": "hi"}}, 400, "ValidationError"),
    ({"payload": {"text": "hi"}}, 400, "ValidationError"),
    ({"type": "user_message"}, 400, "ValidationError"),
    ({"type": "user_message", "payload": {}}, 400, "ValidationError"),
    ({"type": "user_message", "payload": {"text": 7}}, 400, "ValidationError"),
    ({"type": "user_message", "payload": {"text": "hi", "x": 1}}, 400, "ValidationError"),
    ({**GOOD, "seq": 1}, 400, "ValidationError"),
    ({**GOOD, "id": ""}, 400, "ValidationError"),
    ({**GOOD, "id": "a/b"}, 400, "ValidationError"),
    ({**GOOD, "id": "x" * 129}, 400, "ValidationError"),
    ({**GOOD, "payload": {"text": "x" * (256 << 10)}}, 413, "ItemTooLarge"),
    (b"", 400, "ValidationError"),
    (b"[]", 400, "ValidationError"),
    (b'{"type":"user_message","payload":{"text":"hi"}', 400, "ValidationError"),
])
def test_no_event(surface, ann, key, body, status, name):
    say(ann, key)
    before = picture(surface, key)
    refused(ann.send("POST", f"/v1/sessions/{key}/events", body), status, name)
    assert picture(surface, key) == before


@pytest.mark.parametrize("bad", ["ann", "ann:guide", "ann:guide:t:1", "ann:gu%20ide:t1", "ann:guide:", "ann:gu%23ide:t",
                                 "ann:guide:t%2F1", "ann:guide:" + "t" * 600])
def test_no_session_key(ann, bad):
    refused(ann.send("POST", f"/v1/sessions/{bad}/events", GOOD), 400, "ValidationError")
    for path in ("", "/events", "/events/1", "/messages", "/effects", "/effects/1/0", "/timers", "/checkpoints/1"):
        refused(ann.send("GET", f"/v1/sessions/{bad}{path}"), 400, "ValidationError")
    refused(ann.send("DELETE", f"/v1/sessions/{bad}"), 400, "ValidationError")


SESSION_ROUTES = [
    ("POST", "/events", GOOD), ("GET", "/events", None), ("GET", "/events/1", None), ("PUT", "/events/1", {}),
    ("GET", "/messages", None), ("GET", "/effects", None), ("GET", "/effects/1/0", None), ("GET", "/timers", None),
    ("DELETE", "/timers", None), ("DELETE", "/timers/x", None), ("GET", "/checkpoints/1", None), ("GET", "", None),
    ("DELETE", "", None), ("POST", "/pause", None), ("POST", "/resume", None), ("POST", "/cancel", None),
]


# Somebody else's session is as if it were not there, whatever is tried.
@pytest.mark.parametrize("method, path, body", SESSION_ROUTES)
def test_sessions_of_others(surface, ann, key, method, path, body):
    say(ann, key)
    before = picture(surface, key)
    for stranger in (surface.caller("eve", "user"), surface.caller("ann", "user", "--tenant", "acme"),
                     surface.caller("w", "worker", "--agents", "other,another")):
        refused(stranger.send(method, f"/v1/sessions/{key}{path}", body), 404, "NotFound")
    answer = ann.send(method, f"/v1/sessions/{key}{path}", body, {"Authorization": None})
    refused(answer, 401, "Unauthenticated")
    assert picture(surface, key) == before


# The applications' own sessions are no client's, even of one whose tenant has their name, and no worker's.
@pytest.mark.parametrize("user", ["pm", "pos", "trip"])
def test_system_sessions(surface, worker, user):
    key = f"{user}:guide:t1"
    for caller in (surface.caller(user, "user"), worker):
        refused(caller.send("GET", f"/v1/sessions/{key}"), 404, "NotFound")
    refused(surface.caller(user, "user").send("POST", f"/v1/sessions/{key}/events", GOOD), 404, "NotFound")
    body = {"session": key, "epoch": 1, "upto": 1, "token": "t", "checkpoint": {}}
    refused(worker.send("POST", "/v1/work/commit", body), 404, "NotFound")


# Workers read and work; they do not speak for users. Users do not work. Neither administers.
def test_each_to_their_own(surface, ann, worker, agent, key):
    say(ann, key)
    assert worker.send("GET", f"/v1/sessions/{key}").status == 200
    for method, path in (("POST", "/pause"), ("POST", "/cancel"), ("DELETE", ""), ("DELETE", "/timers")):
        refused(worker.send(method, f"/v1/sessions/{key}{path}"), 403, "Forbidden")
    refused(worker.send("POST", f"/v1/sessions/{key}/events", GOOD), 403, "Forbidden")
    for path in ("claim", "commit", "heartbeat", "release"):
        refused(ann.send("POST", f"/v1/work/{path}", {}), 403, "Forbidden")
    narrow = surface.caller("w", "worker", "--agents", "other")
    body = {"worker": "w", "agents": ["other", agent], "wait_ms": 0}
    refused(narrow.send("POST", "/v1/work/claim", body), 403, "Forbidden")
    for caller in (ann, worker):
        refused(caller.send("PUT", f"/v1/agents/{agent}/policy", {"cap": 9}), 403, "Forbidden")
        refused(caller.send("PUT", "/v1/agents/autonomy", {"enabled": False}), 403, "Forbidden")
        refused(caller.send("GET", "/v1/dead-letters"), 403, "Forbidden")
        refused(caller.send("POST", "/v1/dead-letters/x/redrive"), 403, "Forbidden")
    refused(ann.send("GET", f"/v1/agents/{agent}/policy"), 403, "Forbidden")
    assert worker.send("GET", f"/v1/agents/{agent}/policy")["cap"] == 3
    assert surface.admin.send("GET", f"/v1/sessions/{key}").status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_events_stay(surface, ann, key, method):
    say(ann, key)
    before = picture(surface, key)
    for caller in (ann, surface.admin):
        refused(caller.send(method, f"/v1/sessions/{key}/events/1", {}), 403, "Forbidden")
        refused(caller.send(method, f"/v1/sessions/{key}/events", {}), 403, "Forbidden")
    assert picture(surface, key) == before


def test_what_is_not_there(ann, key):
    refused(ann.send("GET", f"/v1/sessions/{key}"), 404, "NotFound")
    for method, path in (("POST", "/approvals/1"), ("POST", "/fork"), ("GET", "/audit"), ("GET", "/nothing")):
        refused(ann.send(method, f"/v1/sessions/{key}{path}"), 404, "NotFound")
    refused(ann.send("PUT", f"/v1/sessions/{key}", {}), 405, "MethodNotAllowed")


@pytest.mark.parametrize("wrong", [
    {"worker": None}, {"worker": "a b"}, {"agents": None}, {"agents": []}, {"agents": "guide"}, {"agents": ["a:b"]},
    {"max": 0}, {"max": 65}, {"max": "8"}, {"lease_ms": 999}, {"lease_ms": 300_001}, {"wait_ms": -1},
    {"wait_ms": 60_001}, {"wait_ms": 0.5}, {"hurry": True},
])
def test_no_claim(worker, wrong):
    body = {"worker": "w", "agents": ["guide"], "wait_ms": 0, **wrong}
    refused(worker.send("POST", "/v1/work/claim", body), 400, "ValidationError")


@pytest.mark.parametrize("wrong, status, name", [
    ({"upto": 0}, 400, "ValidationError"), ({"upto": 9}, 400, "ValidationError"), ({"upto": "1"}, 400, "ValidationError"),
    ({"token": None}, 400, "ValidationError"), ({"token": "a b"}, 400, "ValidationError"),
    ({"checkpoint": None}, 400, "ValidationError"), ({"checkpoint": [1]}, 400, "ValidationError"),
    ({"then": "later"}, 400, "ValidationError"), ({"effects": {}}, 400, "ValidationError"),
    ({"skipped": True}, 400, "ValidationError"), ({"session": "ann"}, 400, "ValidationError"),
    ({"effects": [7]}, 400, "ValidationError"), ({"effects": [{}]}, 400, "ValidationError"),
    ({"effects": [{"type": "call_tool", "tool_id": "x"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "stream", "delta": "x"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "send_message"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "send_message", "content": 7}]}, 400, "ValidationError"),
    ({"effects": [{"type": "send_message", "content": "x", "to": "eve"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "send_message", "content": "x", "delivery": "never"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "send_message", "content": "x", "keep": True}]}, 400, "ValidationError"),
    ({"effects": [{"type": "schedule_timer", "timer_id": "a"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "schedule_timer", "timer_id": "a", "delay_ms": -1}]}, 400, "ValidationError"),
    ({"effects": [{"type": "schedule_timer", "timer_id": "a", "fire_at": "soon"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "schedule_timer", "timer_id": "a", "fire_at": 1, "delay_ms": 1}]}, 400, "ValidationError"),
    ({"effects": [{"type": "schedule_timer", "timer_id": "~h:1", "delay_ms": 1}]}, 400, "ValidationError"),
    ({"effects": [{"type": "cancel_timer"}]}, 400, "ValidationError"),
    ({"effects": [{"type": "webhook", "body": {}}]}, 400, "ValidationError"),
    ({"effects": [send_message(str(i)) for i in range(25)]}, 413, "TransactionTooLarge"),
    ({"effects": [send_message("ok"), send_message("x" * (257 << 10))]}, 413, "ItemTooLarge"),
    ({"epoch": 99}, 409, "Fenced"),
    ({"epoch": 0}, 409, "Fenced"),
])
def test_no_commit(surface, ann, worker, agent, key, wrong, status, name):
    say(ann, key)
    [work] = claim(worker, agent)
    before = picture(surface, key)
    body = {"session": key, "epoch": work["epoch"], "upto": 1, "token": "t", "checkpoint": {}, **wrong}
    refused(worker.send("POST", "/v1/work/commit", body), status, name)
    assert picture(surface, key) == before
    commit(worker, work, send_message("still mine"))


# A worker that was thought dead and wakes must not undo what another did.
def test_a_worker_that_lost_its_session(surface, ann, worker, agent, key):
    say(ann, key)
    [old] = claim(worker, agent)
    assert worker.send("POST", "/v1/work/release", {"session": key, "epoch": old["epoch"]}).body == {}
    [new] = claim(worker, agent)
    assert new["epoch"] > old["epoch"]
    before = picture(surface, key)
    commit(worker, old, send_message("too late"), token="late", status=409)
    beat = worker.send("POST", "/v1/work/heartbeat", {"leases": [
        {"session": key, "epoch": old["epoch"]}, {"session": key, "epoch": new["epoch"]}]})
    assert [one["epoch"] for one in beat["lost"]] == [old["epoch"]]
    assert [one["epoch"] for one in beat["ok"]] == [new["epoch"]] and beat["ok"][0]["lease_until"] > 0
    assert beat["cancel"] == []
    assert picture(surface, key)[1:] == before[1:]
    assert commit(worker, new, send_message("mine"), token="mine")["messages"] == [1]


# `then: next` keeps the session, and brings what came meanwhile.
def test_the_next_events(ann, worker, agent, key):
    say(ann, key, "one")
    [work] = claim(worker, agent)
    say(ann, key, "two")
    next = commit(worker, work, then="next")["next"]
    assert [event["payload"]["text"] for event in next["events"]] == ["two"]
    assert next["checkpoint"] == {"seq": 1, "data": {"seen": 1}} and next["epoch"] == work["epoch"]
    assert commit(worker, next, token="u", then="release")["next"] is None


def test_no_heartbeat_and_no_release(ann, worker, agent, key):
    say(ann, key)
    [work] = claim(worker, agent)
    for body in ({}, {"leases": {}}, {"leases": [7]}, {"leases": [{"session": key}]},
                 {"leases": [{"session": "x", "epoch": 1}]}, {"leases": [], "x": 1}):
        refused(worker.send("POST", "/v1/work/heartbeat", body), 400, "ValidationError")
    for body in ({}, {"session": key}, {"session": key, "epoch": "1"}, {"session": key, "epoch": 1, "error": 7},
                 {"session": key, "epoch": 1, "retry_after_ms": -1}, {"session": key, "epoch": 1, "x": 1}):
        refused(worker.send("POST", "/v1/work/release", body), 400, "ValidationError")
    refused(worker.send("POST", "/v1/work/release", {"session": key, "epoch": 99}), 409, "Fenced")
    commit(worker, work)


# Hundreds may wait for work: none of them holds up another request, and work comes to one of them at once.
def test_many_wait(surface, ann, worker, agent, key):
    got = []
    waiting = [threading.Thread(target=lambda: got.extend(claim(worker, agent, wait_ms=10_000))) for _ in range(100)]
    for thread in waiting:
        thread.start()
    say(ann, key)
    eventually(lambda: got)
    assert ann.send("GET", f"/v1/sessions/{key}").status == 200
    for thread in waiting:
        thread.join()
    assert [work["session"] for work in got] == [key]
    commit(worker, got[0])
    assert claim(worker, agent, wait_ms=0) == []


# Who waits and goes away takes no work along.
def test_a_worker_that_hangs_up(surface, ann, worker, agent, key):
    body = f'{{"worker":"gone","agents":["{agent}"],"wait_ms":60000}}'
    for _ in range(3):
        gone = socket.create_connection(("127.0.0.1", surface.server.port))
        gone.sendall((f"POST /v1/work/claim HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {worker.token}\r\n"
                      f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        gone.close()
    say(ann, key)
    [work] = claim(worker, agent, wait_ms=20_000)
    assert work["session"] == key
    commit(worker, work)


def test_pause_and_resume(ann, worker, agent, key):
    say(ann, key)
    paused = ann.send("POST", f"/v1/sessions/{key}/pause")
    assert paused.status == 200 and paused["state"] == "paused"
    assert claim(worker, agent, wait_ms=0) == []
    say(ann, key, "still there?")
    assert ann.send("POST", f"/v1/sessions/{key}/resume")["state"] == "active"
    [work] = claim(worker, agent)
    assert len(work["events"]) == 2
    assert ann.send("POST", f"/v1/sessions/{key}/cancel").body == {}
    beat = worker.send("POST", "/v1/work/heartbeat", {"leases": [{"session": key, "epoch": work["epoch"]}]})
    assert [(one["session"], one["reason"]) for one in beat["cancel"]] == [(key, "stop")]


def test_timers_are_cancelled(ann, worker, agent, key):
    say(ann, key)
    [work] = claim(worker, agent)
    commit(worker, work, *[{"type": "schedule_timer", "timer_id": f"t{i}", "delay_ms": 3_600_000} for i in range(3)])
    delete = lambda path="": ann.send("DELETE", f"/v1/sessions/{key}/timers{path}")
    assert delete("/t1").body == {"cancelled": 1}
    assert refused(delete("/t1"), 409, "IllegalTransition")["from"] == "cancelled"
    refused(delete("/never"), 404, "NotFound")
    assert delete().body == {"cancelled": 2}
    timers = ann.send("GET", f"/v1/sessions/{key}/timers", status="pending")
    assert timers["items"] == []
    refused(ann.send("GET", f"/v1/sessions/{key}/timers", status="late"), 400, "ValidationError")


def test_a_deleted_session(ann, worker, agent, key):
    say(ann, key)
    [work] = claim(worker, agent)
    assert ann.send("DELETE", f"/v1/sessions/{key}")["state"] == "deleting"
    refused(say(ann, key, status=410), 410, "Gone")
    refused(commit(worker, work, status=410), 410, "Gone")


def test_policies(surface, worker, ann, agent, key):
    put = lambda policy: surface.admin.send("PUT", f"/v1/agents/{agent}/policy", policy)
    default = surface.admin.send("GET", f"/v1/agents/{agent}/policy").body
    assert default["cap"] == 3 and default["cooldown_ms"] == 15_000 and default["on_cap"] == "suppress"
    for wrong in ({"cap": -1}, {"cap": "3"}, {"on_cap": "shout"}, {"interrupt": 1}, {"colour": "red"}):
        refused(put(wrong), 400, "ValidationError")
    assert surface.admin.send("GET", f"/v1/agents/{agent}/policy").body == default
    assert put({"cap": 0, "on_cap": "reject"}).body == {**default, "cap": 0, "on_cap": "reject"}
    refused(surface.admin.send("PUT", "/v1/agents/a:b/policy", {}), 400, "ValidationError")
    # An autonomous message is rejected by name, and nothing of its commit is written.
    say(ann, key)
    [work] = claim(worker, agent)
    commit(worker, work, {"type": "schedule_timer", "timer_id": "now", "delay_ms": 0})
    [work] = claim(worker, agent)
    assert work["events"][0]["type"] == "timer" and work["events"][0]["origin"] == "auto"
    before = picture(surface, key)
    assert refused(commit(worker, work, send_message("psst"), token="u", status=409), 409, "Rejected")["reason"] == "cap"
    assert picture(surface, key) == before


def test_the_switch(surface):
    switch = lambda body: surface.admin.send("PUT", "/v1/agents/autonomy", body)
    for wrong in ({}, {"enabled": "no"}, {"enabled": True, "x": 1}):
        refused(switch(wrong), 400, "ValidationError")
    off = switch({"enabled": False})
    assert (off["enabled"], off["by"], off["forced_off"]) == (False, "root", False)
    assert surface.admin.send("GET", "/v1/agents/autonomy").body == off.body
    assert switch({"enabled": True})["enabled"]


# Five failures on one event block the session and leave a letter; an operator starts it again.
def test_dead_letters(surface, ann, worker, agent, key):
    say(ann, key)
    for _ in range(5):
        [work] = claim(worker, agent, wait_ms=20_000)
        body = {"session": key, "epoch": work["epoch"], "error": "it broke"}
        assert worker.send("POST", "/v1/work/release", body).status == 200
    assert eventually(lambda: ann.send("GET", f"/v1/sessions/{key}")["state"] == "blocked")
    letters = surface.admin.send("GET", "/v1/dead-letters", limit=1000)
    [letter] = [one for one in letters["items"] if one["session_key"] == key]
    assert letter["effect_id"] and letter["reason"] and letters["next"] is None
    for query in ({"limit": 0}, {"limit": "x"}, {"x": 1}):
        refused(surface.admin.send("GET", "/v1/dead-letters", **query), 400, "ValidationError")
    refused(surface.admin.send("POST", "/v1/dead-letters/none/redrive"), 404, "NotFound")
    assert ann.send("POST", f"/v1/sessions/{key}/resume")["state"] == "active"


def test_metrics_and_a_quick_end(tmp_path):
    surface = Surface(tmp_path / "data", "--models", "none")
    ann, worker = surface.caller("ann", "user"), surface.caller("w", "worker")
    say(ann, "ann:guide:t1")
    commit(worker, claim(worker, "guide")[0])
    text = surface.server.url + "/metrics"
    import urllib.request
    metrics = urllib.request.urlopen(text).read().decode()
    assert 'holdfast_requests_total{operation="POST /v1/work/commit"} 1' in metrics and "holdfast_agent" in metrics
    # A worker that waits is sent home; the server does not wait for it.
    got = []
    def connections():
        lines = urllib.request.urlopen(text).read().decode().splitlines()
        return float(next(line for line in lines if line.startswith("holdfast_connections ")).split()[1])
    before = connections()
    waiting = threading.Thread(target=lambda: got.append(claim(worker, "guide", wait_ms=60_000)))
    waiting.start()
    eventually(lambda: connections() > before)
    surface.server.process.terminate()
    waiting.join(timeout=20)
    assert got == [[]]
    assert surface.server.process.wait(timeout=20) == 0


def test_without_agents(tmp_path):
    surface = Surface(tmp_path / "data", "--models", "none", "--agents", "off")
    for method, path in (("GET", "/v1/sessions/ann:guide:t1"), ("POST", "/v1/work/claim"), ("GET", "/v1/dead-letters")):
        refused(surface.admin.send(method, path, {} if method == "POST" else None), 404, "NotFound")
    assert surface.server.stop() == 0


# Who never asks for agents has no table of theirs.
def test_the_table_comes_with_the_first_request(tmp_path):
    from server import done
    surface = Surface(tmp_path / "data", "--models", "none")
    assert done(surface.server.url, "ListTables", {})["TableNames"] == []
    say(surface.caller("ann", "user"), "ann:guide:t1")
    assert done(surface.server.url, "ListTables", {})["TableNames"] == ["holdfast-agents"]
    assert surface.server.stop() == 0
