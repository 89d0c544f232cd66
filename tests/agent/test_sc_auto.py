"""SC-AUTO, a follow-up conversation from end to end: the server, the agent's worker and the user's device are processes of
their own. Agent `guide` has the policy cap suppress, cooldown hold; `clerk` has the defaults. Times are short here: the
cooldown is a second rather than fifteen.
"""
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from agents import millis, now, send, timer
from holdfast_agents import Client
from processes import PACKAGE, DeviceProcess, Process, agent_process
from surface import eventually

COOLDOWN_MS = 2500
GUIDE = {"cooldown_ms": COOLDOWN_MS, "on_cap": "suppress", "on_cooldown": "hold"}


@pytest.fixture
def running():
    """Processes that end with the test."""
    processes = []

    def run(process):
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()


@pytest.fixture
def guide(agents, running):
    session = agents.session(**GUIDE)
    running(agent_process(session))
    return session


@pytest.fixture
def device(guide, running):
    return running(DeviceProcess(guide))


def say(session, *orders):
    return session.say(json.dumps(orders))


def done(session, seq):
    """Waits until the agent has had its turn up to that event: its newest checkpoint."""
    eventually(lambda: session.get()["event_seq"] >= seq)
    return session.checkpoint()


def statuses(session, **query):
    return [(effect["type"], effect["status"], effect.get("outcome")) for effect in session.effects(**query)]


def test_sc_auto_1_keys(agents):
    wren = agents.caller("wren", "user")
    said = {"type": "user_message", "payload": {"text": "[]"}}
    for key in ("a:b", "a:b:c:d", "a%20b:c:d"):
        assert wren.send("POST", f"/v1/sessions/{key}/events", said).status == 400
    assert wren.send("POST", "/v1/sessions/wren:guide:t1/events", said).status == 201


def test_sc_auto_2_a_message_is_answered_in_one_commit(guide, device):
    assert device.say({"send": "hello"}, {"timer": "follow-up", "delay_ms": 60_000}) == 1
    assert device.contents(1) == ["hello"]
    assert done(guide, 1)["metadata"]["event_seq"] == 1
    eventually(lambda: statuses(guide)[0][1] == "completed")
    assert statuses(guide) == [("send_message", "completed", None), ("schedule_timer", "completed", "scheduled")]
    assert guide.effects()[0]["n"] == 1
    assert guide.timers()["follow-up"]["status"] == "pending"


def test_sc_auto_2_a_commit_sent_again_and_equal_sends_and_too_many(agents):
    for equal, numbers in ((False, [1]), (True, [1, 2])):
        session = agents.session(allow_equal=equal)
        session.say()
        work = session.claim()
        assert session.commit(work, *[send(f"{i}") for i in range(25)]).status == 413
        first = session.committed(work, send("same"), send("same"), token="t")
        assert session.committed(work, send("same"), send("same"), token="t") == first
        assert first["messages"] == numbers
        assert first["suppressed"] == ([] if equal else [{"i": 1, "reason": "duplicate"}])


def test_sc_auto_3_a_timer_fires_and_the_agent_speaks_up(guide, device):
    device.say({"timer": "follow-up", "delay_ms": 300, "payload": [{"send": "still there?"}]})
    [message] = device.shown(1)
    assert message["content"] == "still there?" and message["auto"] and message["n"] == 1
    timer, event = guide.row("T#follow-up"), guide.row("E#000000000002")
    assert timer["status"] == "promoted"
    assert event["payload"] == {"timer_id": "follow-up", "payload": [{"send": "still there?"}]}
    assert millis(event["created_at"]) >= millis(timer["fire_at"]), "not a millisecond early"
    metadata = done(guide, 2)["metadata"]
    assert metadata["consecutive_autonomous_msgs"] == 1
    assert millis(metadata["last_autonomous_at"]) >= millis(event["created_at"])


def later(name, delay_ms):
    return {"timer": name, "delay_ms": delay_ms, "payload": [{"send": name}]}


def test_sc_auto_4_cooldown_holds_and_cap_suppresses(guide, device):
    # first at once; second within the cooldown; third and fourth well after what came before.
    device.say(later("first", 100), later("second", 500), later("third", 5800), later("fourth", 7000))
    device.shown(1)
    first_at = guide.get()["last_autonomous_at"]
    done(guide, 3)
    [held] = guide.effects(checkpoint=3)
    assert (held["status"], held["outcome"]) == ("pending", "held"), "the agent ran; its message waits"
    assert device.contents(2) == ["first", "second"]
    second = guide.messages()[1]
    assert millis(second["created_at"]) >= millis(first_at) + COOLDOWN_MS
    view = guide.get()
    assert view["consecutive_autonomous_msgs"] == 2 and millis(view["last_autonomous_at"]) >= millis(first_at) + COOLDOWN_MS
    assert guide.effects(checkpoint=3)[0]["status"] == "completed"
    device.shown(3)
    assert guide.get()["consecutive_autonomous_msgs"] == 3
    done(guide, 5)
    assert statuses(guide, checkpoint=5) == [("send_message", "failed", "cap")]
    assert guide.get()["consecutive_autonomous_msgs"] == 3
    assert guide.contents() == device.contents(3) == ["first", "second", "third"]


def test_sc_auto_4_by_default_the_cooldown_suppresses(agents, running):
    clerk = agents.session()
    running(agent_process(clerk))
    say(clerk, later("first", 0), later("second", 300))
    done(clerk, 3)
    assert statuses(clerk, checkpoint=3) == [("send_message", "failed", "cooldown")]
    assert clerk.contents() == ["first"]


def test_sc_auto_5_the_user_speaks_and_all_that_waits_is_off(guide, device):
    device.say(later("first", 0), later("held", 200), later("far", 60_000))
    done(guide, 3)
    assert guide.effects(checkpoint=3)[0]["outcome"] == "held"
    rows = [row for row in guide.rows("T#") if not row["timer_id"].startswith("~")]
    device.say({"send": "you are back"})
    assert [row for row in guide.rows("T#") if not row["timer_id"].startswith("~")] == rows
    assert guide.timers()["far"]["status"] == "cancelled"
    eventually(lambda: guide.effects(checkpoint=3)[0]["outcome"] == "cancelled")
    metadata = done(guide, 4)["metadata"]
    assert (metadata["consecutive_autonomous_msgs"], metadata["last_autonomous_at"]) == (0, None)
    assert device.contents(2) == ["first", "you are back"]
    # Had it been let out at the end of its cooldown, it would stand before what follows.
    device.say(later("after", COOLDOWN_MS + 200))
    assert device.contents(3) == ["first", "you are back", "after"]


def test_sc_auto_5_a_turn_that_began_before_sets_no_timer(agents):
    session = agents.session(**GUIDE)
    session.say()
    work = session.claim()
    session.say("wait")
    session.committed(work, timer("t", 0), upto=1)
    assert session.timers()["t"]["status"] == "cancelled"
    assert statuses(session, checkpoint=1) == [("schedule_timer", "completed", "superseded")]


def test_sc_auto_6_a_timer_set_twice_fires_once(guide, device):
    again = {"timer": "t", "delay_ms": 700, "payload": [{"send": "second"}]}
    device.say({"timer": "t", "delay_ms": 400, "payload": [{"send": "first"}]}, {"timer": "again", "delay_ms": 0, "payload": [again]})
    assert device.contents(1) == ["second"]
    assert len(guide.rows("T#t")) == 1
    fired = [event for event in guide.events() if event["type"] == "timer" and event["payload"]["timer_id"] == "t"]
    assert len(fired) == 1 and millis(fired[0]["created_at"]) >= millis(guide.timers()["t"]["fire_at"])


def test_sc_auto_7_what_was_missed_comes_on_every_device(guide, running):
    first = running(DeviceProcess(guide))
    first.say({"send": "zero"})
    assert first.contents(1) == ["zero"]
    eventually(lambda: guide.listed("ms") is None)
    first.kill()
    for word in ("one", "two", "three"):
        seq = say(guide, {"send": word})["seq"]
    done(guide, seq)
    assert guide.listed("ms"), "it has messages that no device has seen"
    missed = running(DeviceProcess(guide)).shown(3)
    assert [(one["n"], one["content"]) for one in missed] == [(2, "one"), (3, "two"), (4, "three")]
    other = running(DeviceProcess(guide, "phone")).shown(4)
    assert [one["n"] for one in other] == [1, 2, 3, 4]
    eventually(lambda: guide.listed("ms") is None)
    assert {effect["status"] for effect in guide.effects()} == {"completed"}


def test_sc_auto_8_a_worker_that_dies_loses_nothing(agents, running):
    session = agents.session(**GUIDE)
    doomed = running(agent_process(session, lease_ms=1000))
    say(session, {"hang": True}, {"send": "once"})
    epoch = eventually(lambda: session.get()["epoch"])
    doomed.kill()
    # The next one is told to hang too, but can be stopped.
    running(agent_process(session, lease_ms=3000))
    eventually(lambda: session.get()["epoch"] > epoch)
    stale = {"session": session.key, "epoch": epoch, "events": [{"seq": 1}]}
    answer = session.commit(stale, send("stale"))
    assert (answer.status, answer["error"]) == (409, "Fenced")
    eventually(lambda: session.call("POST", "/cancel", {}).status == 200 and session.get()["event_seq"] == 1)
    assert session.contents() == ["once"]


def speaker(session):
    """A client that keeps its connection: these tests say a lot."""
    client = Client(session.user.url, session.user.token)
    return lambda *orders: client.say(session.key, json.dumps(orders))


def test_sc_auto_9_many_speak_at_once(guide):
    """32 appenders × 100 messages and timers among them: one gap-free log, processed in order."""

    def appender(i):
        say = speaker(guide)
        for j in range(100):
            say({"timer": f"t{i}", "delay_ms": j % 7, "payload": []})

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(appender, range(32)))
    eventually(lambda: (view := guide.get()) and view["event_seq"] == view["last_seq"] and not guide.timers(status="pending"), 60)
    events = guide.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert sum(event["type"] == "user_message" for event in events) == 3200
    assert guide.checkpoint()["state"]["seen"] == list(range(1, guide.get()["event_seq"] + 1))


def test_sc_auto_9_a_hundred_sessions_do_not_meet(agents, running):
    """AUTO-R-13, the load of an hour: ten events each, two effects an event, a timer a session."""
    first = agents.session(cooldown_ms=0)
    running(agent_process(first))
    sessions = [first, *(first.other() for _ in range(99))]

    def talk(session):
        say = speaker(session)
        for i in range(9):
            say({"send": f"{session.key} {i}"}, {"timer": "t", "delay_ms": 60_000})
        say({"send": f"{session.key} 9"}, {"timer": "t", "delay_ms": 0})

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(talk, sessions))
    for session in sessions:
        eventually(lambda: session.get()["event_seq"] == 11, 60)
        assert session.contents() == [f"{session.key} {i}" for i in range(10)]
        assert [event["type"] for event in session.events()] == ["user_message"] * 10 + ["timer"]
        assert session.checkpoint()["state"]["seen"] == list(range(1, 12))


def test_sc_auto_10_the_switch(guide, device, switch):
    device.say(later("b", 1300), later("a", 1000))
    done(guide, 1)
    switch(False)
    eventually(lambda: now() > millis(guide.timers()["b"]["fire_at"]) + 300)
    assert {one["status"] for one in guide.timers().values()} == {"pending"}
    switch(True)
    fired = [guide.promoted(name) for name in "ab"]
    assert [event["seq"] for event in fired] == [2, 3], "late, in the order of fire_at"
    switch(False)
    device.say({"send": "a reply"}, later("never", 0))
    eventually(lambda: "a reply" in [one["content"] for one in device.told("n")])
    seq = guide.get()["event_seq"]
    assert statuses(guide, checkpoint=seq)[1] == ("schedule_timer", "failed", "disabled")
    for method in ("PUT", "PATCH", "DELETE"):
        assert guide.call(method, "/events/1", None if method == "DELETE" else {}).status == 403


def test_auto_r_15_the_example_agent_answers_and_follows_up(agents, running):
    """The quick start as it is written: echo.py and chat.py."""
    user, agent = "ann", "echo"
    callers = agents.caller(user, "user"), agents.worker
    chat, worker = PACKAGE / "examples" / "chat.py", PACKAGE / "examples" / "echo.py"
    running(Process(worker, HOLDFAST=agents.server.url, TOKEN=callers[1].token, AGENT=agent, FOLLOW_UP_MS="300"))
    terminal = running(Process(chat, f"{user}:{agent}:t1", HOLDFAST=agents.server.url, TOKEN=callers[0].token))
    terminal.tell("hi")
    eventually(lambda: len(terminal.lines) == 2)
    assert terminal.lines[0] == "You said: hi"
    assert re.match(r"\* Still there\? .*hi", terminal.lines[1])
