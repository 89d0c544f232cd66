"""Each rule of the agent runtime, shown from outside: by REST, by WebSocket and by the rows that are stored."""
import hashlib
import json
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest
import websocket
from agents import Agents, instants_in_order, millis, now, send, timer
from boto3.dynamodb.conditions import Key
from surface import eventually


def refused(answer, status, error):
    assert (answer.status, answer["error"]) == (status, error), answer
    assert answer["message"] and answer["requestId"] is not None, answer
    return answer["details"]


def counters(session):
    view = session.get()
    return view["consecutive_autonomous_msgs"], view["last_autonomous_at"]


def speaks_up(session, times):
    """So many autonomous messages in a row; another timer is then about to be due."""
    session.say()
    session.turn(timer("next", 0))
    for i in range(times):
        answer = session.turn(send(f"by myself {i}"), timer("next", 0))
        assert answer["messages"] and not answer["suppressed"], answer


def redrive(agents, session):
    """The one dead letter of this session."""
    letters = agents.admin.send("GET", "/v1/dead-letters", limit=1000)["items"]
    [letter] = [one for one in letters if one["session_key"] == session.key]
    answer = agents.admin.send("POST", f"/v1/dead-letters/{urllib.parse.quote(letter['id'], safe='')}/redrive", {})
    assert answer.status == 200, answer


# --- entities: keys ---


@pytest.mark.parametrize("key", ["a:b", "a:b:c:d", "a%20b:c:d", "a::c", "%C3%A4:b:c"])
def test_auto_e_07_a_session_key_has_three_parts(agents, key):
    answer = agents.admin.send("POST", f"/v1/sessions/{key}/events", {"type": "user_message", "payload": {"text": "hi"}})
    refused(answer, 400, "ValidationError")
    refused(agents.admin.send("GET", f"/v1/sessions/{key}"), 400, "ValidationError")


# --- rules ---


def test_auto_r_01_events_are_numbered_without_a_gap(session):
    def speak(i):
        return session.say(f"word {i}")["seq"]

    with ThreadPoolExecutor(16) as pool:
        seqs = list(pool.map(speak, range(64)))
    assert sorted(seqs) == list(range(1, 65))
    assert [int(row["sk"][2:]) for row in session.rows("E#")] == list(range(1, 65))
    assert session.head()["tail"] == 64


def test_auto_r_02_events_are_processed_in_order_and_stay_as_they_are(session):
    for text in "abc":
        session.say(text)
    stored = session.rows("E#")
    work = session.claim()
    assert [(event["seq"], event["payload"]["text"]) for event in work["events"]] == [(1, "a"), (2, "b"), (3, "c")]
    session.committed(work, upto=2, checkpoint={"so": "far"})
    assert session.checkpoint()["metadata"]["event_seq"] == 2
    assert (session.get()["event_seq"], session.get()["last_seq"]) == (2, 3)
    rest = session.claim()
    assert [event["seq"] for event in rest["events"]] == [3]
    assert rest["checkpoint"] == {"seq": 2, "data": {"so": "far"}}
    session.committed(rest)
    assert session.rows("E#") == stored


@pytest.mark.parametrize(
    ("effects", "status", "error"),
    [
        ([send(f"{i}") for i in range(25)], 413, "TransactionTooLarge"),
        ([send("fine"), {"type": "sing", "content": "la"}], 400, "ValidationError"),
        ([send("fine"), timer("when")], 400, "ValidationError"),
        ([send("fine"), {"type": "send_message"}], 400, "ValidationError"),
    ],
)
def test_auto_r_03_a_refused_commit_leaves_nothing(session, effects, status, error):
    session.say()
    work = session.claim()
    stored = session.rows()
    refused(session.commit(work, *effects), status, error)
    assert session.rows() == stored
    assert session.committed(work, send("fine"))["messages"] == [1]


def test_auto_r_03_checkpoint_effects_and_counters_are_of_one_commit(session):
    session.say()
    session.turn(send("hello"), timer("later", 60_000))
    assert {row["sk"].split("#")[0] for row in session.rows()} == {"H", "E", "D", "C", "M", "F", "T"}
    head = session.head()
    assert (head["done"], head["n_tail"]) == (1, 1)


def test_auto_r_04_an_equal_effect_of_one_commit_is_one(session):
    session.say()
    answer = session.turn(send("one"), send("two"), send("one"))
    assert answer["messages"] == [1, 2]
    assert answer["suppressed"] == [{"i": 2, "reason": "duplicate"}]
    assert session.contents() == ["one", "two"]


def test_auto_r_04_unless_the_policy_allows_it(agents):
    session = agents.session(allow_equal=True)
    session.say()
    assert session.turn(send("one"), send("one"))["messages"] == [1, 2]


def test_auto_r_04_processing_again_makes_no_second_effect(session):
    session.say()
    slow = session.claim(lease_ms=1000)
    quick = session.claim()
    assert quick["epoch"] == slow["epoch"] + 1 and quick["events"] == slow["events"]
    session.committed(quick, send("once"))
    refused(session.commit(slow, send("once")), 409, "Fenced")
    assert session.contents() == ["once"] and len(session.effects()) == 1


def test_auto_r_05_messages_are_numbered_once_whoever_commits(agents):
    sessions = [agents.session("shared-agent") for _ in range(4)]
    for session in sessions:
        for i in range(5):
            session.say(f"{i}")
    def works(name):
        """Commits one event at a time until there is none."""
        while works := sessions[0].claim_all(worker=f"w{name}", max=1, wait_ms=300):
            [work] = works
            first = work["events"][0]
            sessions[0].committed(work, send(first["payload"]["text"]), upto=first["seq"])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(works, range(6)))
    for session in sessions:
        assert [(message["n"], message["content"]) for message in session.messages()] == [(i + 1, f"{i}") for i in range(5)]


def test_auto_r_06_scheduling_again_replaces(session):
    session.say()
    session.turn(timer("t", 300, payload={"v": 1}), timer("now", 0))
    first = session.row("T#t")
    session.turn(timer("t", 1200, payload={"v": 2}))
    second = session.row("T#t")
    assert second["fire_at"] > first["fire_at"] and second["ver"] != first["ver"]
    assert len(session.rows("T#t")) == 1
    event = session.promoted("t")
    assert event["payload"] == {"timer_id": "t", "payload": {"v": 2}}
    assert millis(event["created_at"]) >= millis(second["fire_at"])


def test_auto_r_06_the_last_of_one_commit_counts(session):
    session.say()
    session.turn(timer("t", 60_000, payload=1), timer("t", 0, payload=2))
    assert session.promoted("t")["payload"] == {"timer_id": "t", "payload": 2}
    assert len(session.rows("T#")) == 1


def test_auto_r_07_the_users_words_cancel_timers(session):
    other = session.other()
    for one in (session, other):
        one.say()
    for work in session.claim_all():
        session.committed(work, timer("soon", 60_000), timer("kept", 60_000, keep=True))
    stored, generation = session.rows("T#"), session.head()["tgen"]
    session.say("wait")
    assert session.rows("T#") == stored, "no timer's row is touched"
    assert session.head()["tgen"] == generation + 1
    assert {name: one["status"] for name, one in session.timers().items()} == {"soon": "cancelled", "kept": "pending"}
    assert [*session.timers(status="pending")] == ["kept"] and [*session.timers(status="cancelled")] == ["soon"]
    assert {one["status"] for one in other.timers().values()} == {"pending"}


def test_auto_r_07_a_timer_that_fired_before_stays_an_event(session):
    session.say()
    session.turn(timer("t", 0))
    work = session.claim()
    assert [event["type"] for event in work["events"]] == ["timer"]
    session.say("wait")
    answer = session.committed(work, send("too late"))
    assert answer["messages"] == [] and answer["suppressed"] == [{"i": 0, "reason": "superseded"}]
    assert [event["type"] for event in session.events()] == ["user_message", "timer", "user_message"]
    [effect] = session.effects(checkpoint=2)
    assert (effect["status"], effect["outcome"]) == ("failed", "superseded")


def test_auto_r_08_the_cap_holds_until_the_user_speaks(agents):
    session = agents.session(cooldown_ms=0)
    speaks_up(session, 3)
    answer = session.turn(send("one too many"), timer("next", 0))
    assert answer["messages"] == [] and answer["suppressed"] == [{"i": 0, "reason": "cap"}]
    assert counters(session)[0] == 3 and session.checkpoint()["metadata"]["consecutive_autonomous_msgs"] == 3
    [effect] = [one for one in session.effects(status="failed")]
    assert (effect["outcome"], effect["type"]) == ("cap", "send_message")
    session.claim()  # the timer's event: the agent goes on running
    session.say()
    assert "one too many" not in session.contents()


def test_auto_r_08_the_users_words_reset_the_cap(agents):
    session = agents.session(cooldown_ms=0, cap=1)
    speaks_up(session, 1)
    session.turn()
    assert counters(session)[0] == 1
    session.say()
    session.turn(send("you are back"), timer("next", 0))
    assert counters(session) == (0, None)
    assert session.turn(send("by myself again"))["messages"] == [3]


def test_auto_r_08_under_reject_nothing_is_written(agents):
    session = agents.session(cooldown_ms=0, cap=1, on_cap="reject")
    speaks_up(session, 1)
    work = session.claim()
    stored = session.rows()
    assert refused(session.commit(work, send("no")), 409, "Rejected")["reason"] == "cap"
    assert session.rows() == stored
    session.committed(work)


def test_auto_r_08_held_at_the_cap_it_waits_for_the_user_and_is_cancelled(agents):
    session = agents.session(cooldown_ms=0, cap=1, on_cap="hold")
    speaks_up(session, 1)
    session.turn(send("held"))
    held = session.effects(checkpoint=3)[0]
    assert (held["status"], held["outcome"]) == ("pending", "held")
    session.say()
    gone = lambda: session.effects(checkpoint=3)[0]
    assert eventually(lambda: gone()["status"] == "failed") and gone()["outcome"] == "cancelled"
    assert "held" not in session.contents()


def test_auto_r_09_the_cooldown_suppresses(agents):
    session = agents.session(cooldown_ms=60_000)
    speaks_up(session, 1)
    assert session.turn(send("so soon"))["suppressed"] == [{"i": 0, "reason": "cooldown"}]
    assert counters(session)[0] == 1
    [effect] = session.effects(checkpoint=3)
    assert (effect["status"], effect["outcome"]) == ("failed", "cooldown")


def test_auto_r_09_the_cooldown_holds(agents):
    session = agents.session(cooldown_ms=1200, on_cooldown="hold")
    speaks_up(session, 1)
    session.turn(send("in a while"))
    held = session.effects(checkpoint=3)[0]
    assert (held["status"], held["outcome"]) == ("pending", "held")
    _, first_at = counters(session)
    eventually(lambda: counters(session)[0] == 2)
    count, second_at = counters(session)
    assert millis(second_at) >= millis(first_at) + 1200
    message = session.messages()[-1]
    assert message["content"] == "in a while" and message["auto"] and message["n"] == 2
    assert millis(message["created_at"]) >= millis(first_at) + 1200
    [released] = session.effects(checkpoint=3)
    assert (released["status"], released["id"]) == ("completed", held["id"])
    assert [effect for effect in session.effects() if effect["checkpoint_id"] == released["checkpoint_id"]] == [released]


def test_auto_r_09_the_users_words_cancel_what_is_held(agents):
    session = agents.session(cooldown_ms=60_000, on_cooldown="hold")
    speaks_up(session, 1)
    session.turn(send("never"))
    session.say()
    session.turn(timer("next", 0))
    assert counters(session) == (0, None), "the cooldown is over too"
    assert session.turn(send("at once"))["suppressed"] == []
    assert session.contents() == ["by myself 0", "at once"]
    held = session.effects(checkpoint=3)[0]
    assert (held["status"], held["outcome"]) == ("failed", "cancelled")


def test_auto_r_09_the_cooldown_rejects(agents):
    session = agents.session(cooldown_ms=60_000, on_cooldown="reject")
    speaks_up(session, 1)
    work = session.claim()
    assert refused(session.commit(work, send("no")), 409, "Rejected")["reason"] == "cooldown"
    session.committed(work)


def test_auto_r_09_one_autonomous_message_a_commit(agents):
    session = agents.session(cooldown_ms=0)
    session.say()
    session.turn(timer("t", 0))
    answer = session.turn(send("first"), send("second"))
    assert answer["messages"] == [1]
    assert [one["i"] for one in answer["suppressed"]] == [1]
    assert counters(session)[0] == 1


def test_auto_r_10_counters_move_with_the_checkpoint(session):
    session.say()
    session.turn(send("a reply"), timer("t", 0))
    assert session.checkpoint()["metadata"] == {"event_seq": 1, "consecutive_autonomous_msgs": 0, "last_autonomous_at": None}
    before = now()
    session.turn(send("by myself"))
    metadata = session.checkpoint()["metadata"]
    assert (metadata["event_seq"], metadata["consecutive_autonomous_msgs"]) == (2, 1)
    assert before <= millis(metadata["last_autonomous_at"]) <= now()
    assert counters(session) == (1, metadata["last_autonomous_at"])
    stored = session.row("C#000000000002")["metadata"]
    assert (stored["event_seq"], stored["consecutive_autonomous_msgs"]) == (2, 1)
    head = session.head()
    assert (head["auto_n"], head["auto_at"]) == (1, millis(metadata["last_autonomous_at"]))


def test_auto_r_11_messages_wait_for_the_user(agents):
    session = agents.session(allow_equal=True)
    session.say()
    session.turn(send("one"), send("two"), send("three"))
    assert {effect["status"] for effect in session.effects()} == {"pending"}
    device = session.device()
    assert [(one["n"], one["content"]) for one in device.messages(3)] == [(1, "one"), (2, "two"), (3, "three")]
    device.ack(3)
    eventually(lambda: {effect["status"] for effect in session.effects()} == {"completed"})
    device.close()


def test_auto_r_12_the_switch_stops_autonomy_and_not_chat(session, switch):
    session.say()
    session.turn(timer("due", 400), timer("far", 60_000))
    assert switch(False)["enabled"] is False
    eventually(lambda: now() > millis(session.timers()["due"]["fire_at"]) + 500)
    assert session.timers()["due"]["status"] == "pending" and len(session.events()) == 1
    assert session.claim_all() == []
    # Nobody spoke since: switched on, it fires, late.
    switch(True)
    event = session.promoted("due")
    assert millis(event["created_at"]) > millis(session.timers()["due"]["fire_at"])
    session.turn()
    # Words are answered as ever, but set no timers.
    switch(False)
    session.say("still here?")
    answer = session.turn(send("yes"), timer("t", 0))
    assert answer["messages"] == [1]
    outcome = [(one["type"], one["status"], one.get("outcome")) for one in session.effects(checkpoint=3)]
    assert outcome == [("send_message", "pending", None), ("schedule_timer", "failed", "disabled")]
    assert session.row("T#t") is None
    device = session.device()
    assert device.messages(1)[0]["content"] == "yes"
    device.close()


def test_auto_r_12_the_message_of_a_timer_that_just_fired_is_suppressed(agents, switch):
    session = agents.session(on_cap="hold", on_cooldown="hold")
    session.say()
    session.turn(timer("t", 0))
    work = session.claim()
    switch(False)
    assert session.committed(work, send("shh"))["suppressed"] == [{"i": 0, "reason": "disabled"}]
    assert session.contents() == []


@pytest.mark.parametrize("user", ["pm", "pos", "trip"])
def test_auto_r_16_system_sessions_are_not_for_clients(agents, user):
    caller = agents.caller(user, "user")
    answer = caller.send("POST", f"/v1/sessions/{user}:agent:p1/events", {"type": "user_message", "payload": {"text": "hi"}})
    refused(answer, 404, "NotFound")


def test_auto_r_17_one_at_a_time_in_a_session_sessions_side_by_side(session):
    other = session.other()
    session.say()
    [work] = session.claim_all()
    session.say("more")
    assert session.claim_all(worker="w2") == []
    other.say()
    [beside] = session.claim_all(worker="w2")
    assert beside["session"] == other.key
    session.committed(work)
    assert [event["seq"] for event in session.claim()["events"]] == [2]


def test_auto_r_18_what_changes_says_when(session):
    session.say()
    session.turn(send("hello"), timer("t", 300))
    pending = session.row("T#t")
    session.promoted("t")
    promoted = session.row("T#t")
    assert (pending["status"], promoted["status"]) == ("pending", "promoted")
    assert promoted["updated_at"] > pending["updated_at"]
    [message, _] = session.effects()
    assert message["attempt_count"] == 0 and message.get("last_attempt_at") is None
    assert instants_in_order(message["created_at"], message["updated_at"])


def test_auto_r_19_24_effects_and_32_timers(session):
    session.say()
    work = session.claim()
    many = [timer(f"t{i}", 60_000) for i in range(24)]
    refused(session.commit(work, *many, send("the 25th")), 413, "TransactionTooLarge")
    assert session.timers() == {}
    session.committed(work, *many)
    assert len(session.timers(status="pending")) == 24
    # A timer of the user's own stays when the user speaks; the others would not count any more.
    session.say()
    more = session.claim()
    session.committed(more, *[timer(f"k{i}", 60_000, keep=True) for i in range(24)])
    session.say()
    last = session.claim()
    refused(session.commit(last, *[timer(f"m{i}", 60_000) for i in range(9)]), 413, "TransactionTooLarge")
    session.committed(last, *[timer(f"m{i}", 60_000) for i in range(8)])
    assert len(session.timers(status="pending")) == 32


# --- states ---


def test_auto_s_01_a_message_is_pending_until_it_is_acknowledged(session):
    session.say()
    session.turn(send("plain"))
    status = lambda: session.get("/effects/1/0")["status"]
    device = session.device()
    device.messages(1)
    assert status() == "pending"
    device.ack(1)
    eventually(lambda: status() == "completed")
    device.close()


def test_auto_s_01_an_at_most_once_message_is_executing_while_it_is_pushed(session):
    session.say()
    session.turn(send("fragile", delivery="at_most_once"))
    effect = lambda: session.get("/effects/1/0")
    assert (effect()["status"], effect()["delivery"]) == ("pending", "at_most_once"), "nobody is there"
    device = session.device()
    device.messages(1)
    assert (effect()["status"], effect()["attempt_count"]) == ("executing", 1)
    assert session.row("M#000000000001")["status"] == "executing"
    device.ack(1)
    eventually(lambda: effect()["status"] == "completed")
    device.close()


def test_auto_s_02_a_timer_that_has_ended_stays_so(session):
    session.say()
    session.turn(timer("fired", 0), timer("cancelled", 60_000))
    session.promoted("fired")
    assert session.call("DELETE", "/timers/cancelled").body == {"cancelled": 1}
    for name in ("fired", "cancelled"):
        refused(session.call("DELETE", f"/timers/{name}"), 409, "IllegalTransition")
    refused(session.call("DELETE", "/timers/nothing"), 404, "NotFound")
    assert {name: one["status"] for name, one in session.timers().items()} == {"fired": "promoted", "cancelled": "cancelled"}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("rest", ["/events", "/events/1"])
def test_auto_s_03_events_stay_as_they_are(agents, session, method, rest):
    session.say()
    for caller in (session.user, agents.admin):
        body = None if method == "DELETE" else {"payload": {"text": "never said"}}
        refused(session.call(method, rest, body, caller=caller), 403, "Forbidden")
    assert session.events()[0]["payload"] == {"text": "hi"}


# --- commands ---


def test_auto_c_01_words_become_an_event_once(session):
    first = session.say("hi", id="c-1")
    assert first == {"seq": 1, "id": "c-1", "duplicate": False}
    assert session.append("hi", id="c-1").body == {"seq": 1, "id": "c-1", "duplicate": True}
    made = session.say("more")
    assert made["seq"] == 2 and made["id"]
    event = session.row("E#000000000001")
    assert (event["id"], event["type"], event["payload"], event["origin"]) == ("c-1", "user_message", {"text": "hi"}, "user")
    assert session.row("D#c-1")["seq"] == 1
    head = session.head()
    assert (head["tail"], head["done"], head["tgen"], head["session_key"]) == (2, 0, 2, session.key)
    assert session.listed("ev")


@pytest.mark.parametrize(
    "body",
    [
        {"type": "user_message"},
        {"type": "user_message", "payload": {}},
        {"type": "user_message", "payload": {"text": 1}},
        {"type": "user_message", "payload": {"text": "hi", "more": 1}},
        {"type": "user_message", "payload": {"text": "hi"}, "seq": 9},
        {"type": "user_message", "payload": {"text": "hi"}, "id": "not an id"},
        {"type": "user_message", "payload": {"text": "hi"}, "id": "x" * 129},
        {"type": "shout", "payload": {"text": "hi"}},
        {"payload": {"text": "hi"}},
        [],
    ],
)
def test_auto_c_01_what_is_no_event_is_refused(session, body):
    refused(session.call("POST", "/events", body), 400, "ValidationError")


def test_auto_c_01_nor_is_one_too_large(session):
    refused(session.append("x" * 300_000), 413, "ItemTooLarge")
    refused(session.call("GET"), 404, "NotFound")


def test_auto_c_01_only_its_user_may_speak_in_a_session(agents, session):
    session.say()
    stranger = agents.caller("stranger", "user")
    said = {"type": "user_message", "payload": {"text": "hi"}}
    refused(session.call("POST", "/events", said, caller=stranger), 404, "NotFound")
    for rest in ("", "/events", "/messages", "/effects", "/timers", "/checkpoints/latest"):
        refused(session.call("GET", rest, caller=stranger), 404, "NotFound")
    tenant = agents.caller("somebody", "user", "--tenant", session.key.split(":")[0])
    assert session.call("POST", "/events", said, caller=tenant).status == 201


def test_auto_c_01_a_deleted_session_is_gone(session):
    session.say()
    work = session.claim()
    answer = session.call("DELETE")
    assert answer.status == 200 and answer["state"] in ("deleting", "deleted"), answer
    refused(session.append("anybody?"), 410, "Gone")
    refused(session.commit(work, send("nobody")), 410, "Gone")
    eventually(lambda: [row["sk"] for row in session.rows()] in ([], ["H"]))


def test_auto_c_02_a_timer_becomes_one_event_and_never_early(session):
    session.say()
    session.turn(*[timer(f"t{i}", 50 * i, payload={"i": i}) for i in range(8)])
    events = [session.promoted(f"t{i}") for i in range(8)]
    for i, event in enumerate(events):
        row = session.row(f"T#t{i}")
        assert event["payload"] == {"timer_id": f"t{i}", "payload": {"i": i}}
        assert row["status"] == "promoted"
        assert millis(event["created_at"]) >= millis(row["fire_at"])
        assert session.due(row["fire_at"]) == [] or all(f"#t{i}#" not in sk for sk in session.due(row["fire_at"]))
    assert [event["seq"] for event in events] == list(range(2, 10)), "in the order of fire_at"
    assert {row["origin"] for row in session.rows("E#")[1:]} == {"auto"}


@pytest.mark.parametrize("type", ["tool_result", "timer", "approval"])
def test_auto_c_03_only_the_runtime_makes_other_events(session, type):
    refused(session.call("POST", "/events", {"type": type, "payload": {"tool_id": "t", "payload": {}}}), 422, "ReservedEventType")


def test_auto_c_04_a_commit_answers_the_same_again(session):
    session.say()
    work = session.claim()
    head = session.head()
    assert (head["epoch"], head["lease_until"]) == (work["epoch"], work["lease_until"])
    assert session.get()["owner"] == "w1" and millis(session.get()["lease_until"]) == work["lease_until"]
    effects = send("one"), send("one"), timer("t", 60_000), timer("u", 60_000)
    first = session.committed(work, *effects, token="mine")
    stored = session.rows()
    assert session.committed(work, *effects, token="mine") == first
    refused(session.commit(work, *effects, token="another"), 409, "Fenced")
    assert session.rows() == stored
    assert first["seq"] == 1 and first["messages"] == [1] and first["next"] is None
    assert session.listed("ev") is None and session.listed("ms")


@pytest.mark.parametrize("upto", [0, 2, "1", None])
def test_auto_c_04_only_what_was_claimed_is_committed(session, upto):
    session.say()
    work = session.claim()
    session.say()
    refused(session.commit(work, upto=upto), 400, "ValidationError")


def test_auto_c_04_then_next_brings_what_came_meanwhile(session):
    session.say()
    work = session.claim()
    session.say("more")
    answer = session.committed(work, then="next")
    assert [event["payload"]["text"] for event in answer["next"]["events"]] == ["more"]
    assert answer["next"]["epoch"] == work["epoch"] and answer["next"]["checkpoint"]["seq"] == 1
    session.committed(answer["next"])


def test_auto_c_04_the_same_claim_again_is_the_same_work(session):
    session.say()
    work = session.claim(req="r-1")
    again = session.claim(req="r-1")
    assert (again["session"], again["epoch"], again["events"]) == (work["session"], work["epoch"], work["events"])
    assert session.claim_all(req="r-2", wait_ms=0) == []


def test_auto_c_04_a_heartbeat_keeps_the_lease(session):
    session.say()
    work = session.claim(lease_ms=1000)
    lease = {"session": session.key, "epoch": work["epoch"]}
    answer = session.work("heartbeat", leases=[lease, {**lease, "epoch": 99}])
    assert answer.status == 200, answer
    [kept], [lost] = answer["ok"], answer["lost"]
    assert (kept["session"], kept["epoch"], lost["epoch"]) == (session.key, work["epoch"], 99)
    assert session.head()["lease_until"] >= work["lease_until"]
    session.say("hurry")
    session.call("POST", "/cancel", {})
    cancel = eventually(lambda: session.work("heartbeat", leases=[lease])["cancel"])
    assert cancel == [{**lease, "reason": "stop"}]


def test_auto_c_04_five_failures_set_a_session_aside_until_it_is_redriven(agents, session):
    session.say()
    for i in range(5):
        work = session.claim()
        assert session.work("release", session=session.key, epoch=work["epoch"], error=f"broken {i}").status == 200
    view = session.get()
    assert (view["state"], view["reason"]) == ("blocked", "poison")
    assert session.claim_all() == []
    redrive(agents, session)
    assert session.get()["state"] == "active"
    session.turn(send("works now"))


def test_auto_c_04_paused_is_paused(session):
    session.say()
    assert session.call("POST", "/pause", {})["state"] == "paused"
    assert session.claim_all() == []
    assert session.append("still heard").status == 201
    assert session.call("POST", "/resume", {})["state"] == "active"
    assert [event["seq"] for event in session.claim()["events"]] == [1, 2]


def test_auto_c_05_an_at_most_once_message_is_claimed_before_it_is_pushed(session):
    session.say()
    device = session.device()
    session.turn(send("fragile", delivery="at_most_once"))
    device.messages(1)
    # It was stored before the frame left, so it is there once the frame is here.
    row = session.row("M#000000000001")
    assert row["status"] == "executing" and row["updated_at"] >= row["created_at"]
    device.close()


def test_auto_c_05_a_webhook_is_called_and_its_answer_is_an_event(session, receiver):
    session.say()
    session.turn(receiver.webhook({"x": 1}))
    work = session.claim()
    [event] = work["events"]
    assert receiver.calls == [(f"{session.key}/1/0", {"x": 1})]
    assert (event["type"], event["id"], event["origin"]) == ("tool_result", f"r:{session.key}/1/0", "user")
    effect = session.get("/effects/1/0")
    assert (effect["status"], effect["attempt_count"]) == ("completed", 1) and effect["last_attempt_at"]
    session.committed(work)
    eventually(lambda: session.listed("fx") is None)


def test_auto_r_05_each_webhook_of_a_commit_is_called_once(session, receiver):
    session.say()
    session.turn(*[receiver.webhook({"i": i}) for i in range(24)])
    eventually(lambda: {effect["status"] for effect in session.effects()} == {"completed"})
    called = {key: body["i"] for key, body in receiver.calls}
    assert len(receiver.calls) == 24 and called == {f"{session.key}/1/{i}": i for i in range(24)}
    results = [event["id"] for event in session.events()[1:]]
    assert sorted(results) == sorted(f"r:{session.key}/1/{i}" for i in range(24))


def test_auto_c_05_a_webhook_that_fails_is_called_again(session, receiver):
    receiver.statuses += [503]
    session.say()
    session.turn(receiver.webhook({"x": 1}))
    session.claim()
    assert receiver.calls == [(f"{session.key}/1/0", {"x": 1})] * 2
    effect = session.get("/effects/1/0")
    assert (effect["status"], effect["attempt_count"]) == ("completed", 2)


def test_auto_s_01_a_webhook_that_is_refused_is_dead_until_it_is_redriven(agents, session, receiver):
    receiver.statuses += [404]
    session.say()
    session.turn(receiver.webhook({"x": 1}))
    effect = lambda: session.get("/effects/1/0")
    eventually(lambda: effect()["status"] == "failed")
    assert session.row("F#000000000001#0")["status"] == "dead" and len(receiver.calls) == 1
    redrive(agents, session)
    eventually(lambda: effect()["status"] == "completed")
    assert len(receiver.calls) == 2


def test_auto_c_05_a_host_that_is_not_allowed_is_not_called(session):
    session.say()
    answer = session.commit(session.claim(), {"type": "webhook", "url": "http://localhost:1/hook"})
    if answer.status == 200:
        eventually(lambda: session.get("/effects/1/0")["status"] == "failed")
    else:
        refused(answer, 400, "ValidationError")


def test_auto_c_06_acknowledgements_are_cumulative_and_only_grow(agents):
    session = agents.session(allow_equal=True)
    session.say()
    session.turn(*[send("x")] * 5)
    stored = session.head()
    device = session.device("phone")
    device.messages(5)
    device.ack(4)
    eventually(lambda: (session.row("K#phone") or {}).get("n") == 4)
    device.ack(2)
    device.ack(5)
    eventually(lambda: session.row("K#phone")["n"] == 5)
    device.close()
    again = session.device("phone")
    assert again.ready == {"t": "ready", "n": 5, "ack": 5}
    again.close()
    changed = {name for name in stored if stored[name] != session.head().get(name)}
    assert changed <= {"rx_ms"}, "acknowledging does not touch the head"


def test_auto_c_07_a_timer_is_stored_with_its_index(session):
    session.say()
    session.turn(send("first"), timer("t", 60_000, payload={"x": 1}))
    row = session.row("T#t")
    assert (row["status"], row["payload"], row["keep"], row["ver"]) == ("pending", {"x": 1}, False, "1.1")
    assert row["gen"] == session.head()["tgen"] and row["id"] == f"{session.key}/1/1"
    assert session.due(row["fire_at"]) == [f"{millis(row['fire_at']):013}#{session.key}#t#1.1"]
    [effect] = [one for one in session.effects() if one["type"] == "schedule_timer"]
    assert (effect["status"], effect["outcome"], effect["id"]) == ("completed", "scheduled", f"{session.key}/1/1")


def test_auto_c_07_born_cancelled_when_the_user_has_spoken(session):
    session.say()
    work = session.claim()
    session.say("wait")
    session.committed(work, timer("t", 0), timer("kept", 60_000, keep=True), upto=1)
    assert {name: one["status"] for name, one in session.timers().items()} == {"t": "cancelled", "kept": "pending"}
    assert [one["outcome"] for one in session.effects(checkpoint=1)] == ["superseded", "scheduled"]


def test_auto_c_08_timers_are_cancelled_one_or_all(session):
    session.say()
    session.turn(*[timer(f"t{i}", 60_000) for i in range(3)])
    fire_at = session.timers()["t0"]["fire_at"]
    assert session.call("DELETE", "/timers/t0").body == {"cancelled": 1}
    assert session.row("T#t0")["status"] == "cancelled"
    assert all("#t0#" not in sk for sk in session.due(fire_at))
    assert session.call("DELETE", "/timers").body == {"cancelled": 2}
    assert session.timers(status="pending") == {}


def test_auto_c_08_by_the_agent_too(session):
    session.say()
    session.turn(timer("t", 60_000), timer("now", 0))
    session.turn({"type": "cancel_timer", "timer_id": "t"})
    assert session.row("T#t")["status"] == "cancelled"


def test_auto_c_09_a_device_goes_on_where_it_was_or_where_it_says(agents):
    session = agents.session(allow_equal=True)
    session.say()
    session.turn(*[send("x")] * 4)
    device = session.device("a")
    assert device.ready == {"t": "ready", "n": 4, "ack": 0}
    assert [one["n"] for one in device.messages(4)] == [1, 2, 3, 4]
    device.ack(2)
    eventually(lambda: (session.row("K#a") or {}).get("n") == 2)
    device.close()
    for after, expected in ((None, [3, 4]), (3, [4]), (0, [1, 2, 3, 4])):
        again = session.device("a", after)
        frames = again.messages(len(expected))
        assert [one["n"] for one in frames] == expected
        again.close()
    other = session.device("b")
    assert [one["n"] for one in other.messages(4)] == [1, 2, 3, 4]
    # Then live; what was said over the socket is an event like any other.
    assert other.say("by socket", "s-1") == {"t": "ok", "id": "s-1", "seq": 2}
    assert other.say("by socket", "s-1") == {"t": "ok", "id": "s-1", "seq": 2, "duplicate": True}
    session.turn(send("live"))
    [live] = other.messages(1)
    assert (live["n"], live["content"], live["id"], live["auto"]) == (5, "live", f"{session.key}/2/0", False)
    other.close()


def test_auto_c_09_nobody_elses(agents, session):
    session.say()
    session.user = agents.caller("stranger", "user")
    with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
        session.device()
    assert refusal.value.status_code == 404


def test_auto_c_11_only_an_operator_switches(agents, session, switch):
    refused(session.user.send("PUT", "/v1/agents/autonomy", {"enabled": False}), 403, "Forbidden")
    answer = switch(False)
    assert (answer["enabled"], answer["by"], answer["forced_off"]) == (False, "root", False)
    row = agents.row("CFG", "autonomy")
    assert (row["enabled"], row["by"]) == (False, "root")


def test_auto_c_11_who_runs_the_server_has_the_last_word(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTONOMY_ENABLED", "false")
    agents = Agents(tmp_path / "data")
    answer = agents.autonomy(True)
    assert answer["forced_off"], answer
    session = agents.session()
    session.say()
    answer = session.turn(send("hello"), timer("t", 0))
    assert answer["messages"] == [1] and session.row("T#t") is None
    assert agents.server.stop() == 0


# --- access patterns: what the API shows is what these rows say ---


@pytest.fixture(scope="module")
def told(agents):
    """A session with some history: three events, of which one a timer; messages, of which one refused; timers."""
    session = agents.session(cooldown_ms=60_000)
    session.say("first", id="e-1")
    session.turn(send("one"), timer("t", 0, payload={"x": 1}), send("two"))
    session.turn(send("by myself"), send("too much"), timer("later", 60_000))
    session.say("second", id="e-2")
    session.turn(timer("kept", 60_000, keep=True), send("three"))
    return session


def shown(row, *names):
    return {name: row.get(name) for name in names}


EVENT = "id", "session_key", "seq", "type", "payload", "created_at"


def test_auto_a_01_events_in_order(told):
    rows = [shown(row, *EVENT) for row in told.rows("E#")]
    assert told.events() == rows and [row["seq"] for row in rows] == [1, 2, 3]
    after = told.agents.rows(told.pk, Key("sk").between("E#000000000002", "E#~"))
    assert told.events(after=1) == [shown(row, *EVENT) for row in after]
    page = told.get("/events", limit=2)
    assert [event["seq"] for event in page["items"]] == [1, 2] and page["next"] == 2
    assert told.get("/events", after=2, limit=2)["next"] is None


def test_auto_a_02_one_event(told):
    assert told.get("/events/2") == shown(told.row("E#000000000002"), *EVENT)
    refused(told.call("GET", "/events/9"), 404, "NotFound")


def test_auto_a_03_an_event_by_its_id(told):
    seq = told.row("D#e-2")["seq"]
    assert told.get("/events", id="e-2")["items"] == [shown(told.row(f"E#{seq:012}"), *EVENT)]
    assert told.get("/events", id="nothing")["items"] == []


def test_auto_a_04_sessions_with_undelivered_messages_are_listed_until_they_are_acknowledged(session):
    session.say()
    assert session.listed("ms") is None
    session.turn(send("hello"))
    assert session.listed("ms") and session.head()["rx_ms"]
    device = session.device()
    device.messages(1)
    assert session.listed("ms")
    device.ack(1)
    eventually(lambda: session.row("K#web") and session.listed("ms") is None)
    assert not session.head()["rx_ms"]
    device.close()


def test_auto_a_05_effects_in_order(told):
    effects = told.effects()
    rows = {row["id"]: row for row in told.rows("M#") + told.rows("F#")}
    place = lambda one: tuple(map(int, one["id"].split("/")[1:]))
    assert [place(one) for one in effects] == sorted(place(row) for row in rows.values())
    for effect in effects:
        assert shown(effect, "id", "session_key", "checkpoint_id", "type", "payload", "dedupe_key", "created_at") == shown(
            rows[effect["id"]], "id", "session_key", "checkpoint_id", "type", "payload", "dedupe_key", "created_at"
        )
    decisions = told.row("C#000000000002")["decisions"]
    assert told.effects(checkpoint=2) == [one for one in effects if one["checkpoint_id"] == f"{told.key}/2"]
    assert {decision["row"] for decision in decisions} == {row["sk"] for row in rows.values() if row["checkpoint_id"] == f"{told.key}/2"}


def test_auto_a_06_an_effect_by_its_place(told):
    for effect in told.effects():
        _, seq, i = effect["id"].split("/")
        assert told.get(f"/effects/{seq}/{i}") == effect
        named = told.row(f"C#{int(seq):012}")["decisions"][int(i)]["row"]
        assert told.row(named)["id"] == effect["id"]
    refused(told.call("GET", "/effects/1/9"), 404, "NotFound")


def test_auto_a_07_an_effect_by_its_dedupe_key(told):
    for effect in told.effects():
        payload = json.dumps(effect["payload"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        text = "\n".join([effect["checkpoint_id"], effect["type"], payload])
        assert effect["dedupe_key"] == hashlib.sha256(text.encode()).hexdigest(), effect
        seq = int(effect["checkpoint_id"].split("/")[1])
        [found] = [one for one in told.row(f"C#{seq:012}")["decisions"] if one["dedupe_key"] == effect["dedupe_key"]]
        assert told.row(found["row"])["id"] == effect["id"]


def test_auto_a_08_due_timers_are_found_by_their_minute(told):
    row = told.row("T#kept")
    # Of a timer that the user's words have cancelled the entry may be there still: its time shows that it is dead.
    assert [sk for sk in told.due(row["fire_at"]) if "#later#" not in sk] == [
        f"{millis(row['fire_at']):013}#{told.key}#kept#{row['ver']}"
    ]


def test_auto_a_09_timers_of_a_session(told):
    generation = told.head()["tgen"]
    rows = {row["timer_id"]: row for row in told.rows("T#")}
    timers = told.timers()
    assert timers.keys() == rows.keys() == {"t", "later", "kept"}
    for name, row in rows.items():
        alive = row["status"] != "pending" or row["keep"] or row["gen"] == generation
        assert timers[name]["status"] == (row["status"] if alive else "cancelled")
    assert [timers[name]["status"] for name in ("t", "later", "kept")] == ["promoted", "cancelled", "pending"]


def test_auto_a_10_a_timer_by_its_id(told):
    row = told.row("T#kept")
    same = "id", "session_key", "timer_id", "fire_at", "status", "keep", "created_at", "updated_at"
    assert shown(told.timers()["kept"], *same) == shown(row, *same)


def test_auto_a_11_the_latest_checkpoint(told):
    done = int(told.head()["done"])
    row, view = told.row(f"C#{done:012}"), told.checkpoint()
    assert view == told.checkpoint(done)
    assert shown(view, "id", "state", "created_at") == shown(row, "id", "state", "created_at")
    assert view["metadata"] == row["metadata"] and view["metadata"]["event_seq"] == done == 3
    refused(told.call("GET", "/checkpoints/9"), 404, "NotFound")


def test_auto_a_11_a_large_state_comes_back_whole(session):
    session.say()
    state = {"text": "ü" * 250_000, "list": [1, 2.5, None, True, {"deep": []}]}
    session.turn(checkpoint=state)
    assert session.checkpoint()["state"] == state
    assert session.row("C#000000000001")["chunks"] > 1
    session.say()
    assert session.claim()["checkpoint"] == {"seq": 1, "data": state}


def test_auto_a_12_the_head_of_a_session(told):
    head, view = told.head(), told.get()
    assert (view["session_key"], view["state"]) == (told.key, "active")
    assert (view["last_seq"], view["event_seq"], view["last_n"]) == (head["tail"], head["done"], head["n_tail"]) == (3, 3, 4)
    assert view["checkpoint_id"] == f"{told.key}/3" and view["epoch"] == head["epoch"]
    assert view["owner"] is None and view["lease_until"] is None
    assert millis(view["updated_at"]) <= now()
