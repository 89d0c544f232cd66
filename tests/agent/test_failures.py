"""The failure matrix: the server dies by kill -9 after each step, and what it promised holds when it is back.

Each on a directory of its own and on AWS's DynamoDB Local, where the server is one of several that may share the tables.
What was durable and never said is had by a way to the server that loses its answers.
"""
import asyncio
import contextlib
import copy
import http.client
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import websocket
from agents import Agents, millis, now, send, timer
from holdfast_agents import Client
from implementations import Implementation, install
from processes import DeviceProcess, agent_process
from proxy import Proxy
from surface import eventually


@pytest.fixture(scope="module")
def dynamodb(tmp_path_factory):
    """AWS's own, and the credentials that a server needs to speak to it."""
    install()
    os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    local = Implementation("local", tmp_path_factory.mktemp("local"))
    yield f"http://127.0.0.1:{local.port}"
    local.stop()


@pytest.fixture(scope="module", params=["embedded", "dynamodb"])
def agents(request, tmp_path_factory):
    endpoint = request.getfixturevalue("dynamodb") if request.param == "dynamodb" else None
    agents = Agents(tmp_path_factory.mktemp("agents") / "data", endpoint=endpoint)
    yield agents
    agents.server.kill()


@pytest.fixture
def lossy(agents):
    """A way to the server that loses its answers while it is mute."""
    proxy = Proxy(agents.server.port)
    yield proxy
    proxy.close()


@contextlib.contextmanager
def unanswered(agents, lossy, ask, happened):
    """Asks without hearing the answer. Once it has happened the body runs; then the server dies, and comes back."""
    lossy.mute.set()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        eventually(happened)
        yield
        agents.server.kill()
        with pytest.raises((OSError, http.client.HTTPException)):
            asked.result(timeout=20)
    lossy.mute.clear()
    agents.server.start()


def dies_unheard(*what):
    """The server does what is asked, durably, and dies before its answer arrives."""
    with unanswered(*what):
        pass


def test_event_received_and_not_durable(agents):
    """AUTO-R-01: many speak, timers fire, the server is killed over and over; who has no answer says it again, as the same."""
    session = agents.session()
    rng = random.Random(6)

    def speak(i):
        for j in range(10):
            while True:
                try:
                    assert session.append("x", id=f"{i}.{j}").status in (200, 201)
                    break
                except (OSError, AssertionError, ValueError):
                    time.sleep(0.02)  # It is down: the same again.

    stop = threading.Event()

    def work():
        while not stop.is_set():
            try:
                for claimed in session.claim_all(wait_ms=100, lease_ms=1000):
                    session.commit(claimed, timer(f"t{claimed['events'][-1]['seq'] % 5}", 5))
            except (OSError, AssertionError, ValueError):
                time.sleep(0.02)

    with ThreadPoolExecutor(33) as pool:
        worker = pool.submit(work)
        speakers = [pool.submit(speak, i) for i in range(32)]
        for _ in range(4):
            before = agents.row(session.pk, "H")
            agents.server.kill()
            agents.server.start()
            # It does something before it is killed again.
            eventually(lambda: agents.row(session.pk, "H") != before or all(speaker.done() for speaker in speakers))
            time.sleep(rng.uniform(0, 0.1))
        for speaker in speakers:
            speaker.result(timeout=60)
        stop.set()
        worker.result(timeout=60)
    events = session.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    spoken = [event["id"] for event in events if event["type"] == "user_message"]
    assert sorted(spoken) == sorted(f"{i}.{j}" for i in range(32) for j in range(10))
    promoted = [event["id"] for event in events if event["type"] == "timer"]
    assert len(promoted) == len(set(promoted))


def test_append_durable_and_201_not_sent(agents, lossy):
    session = agents.session()
    far = session.through(lossy)
    dies_unheard(agents, lossy, lambda: far.append("hi", id="c-1"), lambda: session.row("D#c-1"))
    again = session.append("hi", id="c-1")
    assert again.body == {"seq": 1, "id": "c-1", "duplicate": True}
    assert len(session.events()) == 1


def test_claim_durable_and_work_not_delivered(agents, lossy):
    session = agents.session()
    session.say()
    far = session.through(lossy)
    owned = lambda: (session.head() or {}).get("owner") and session.head()
    dies_unheard(agents, lossy, lambda: far.claim(lease_ms=1000), owned)
    lost = session.head()
    work = session.claim(worker="w2")
    assert now() > lost["lease_until"], "not while the lost lease lives"
    assert work["epoch"] == lost["epoch"] + 1
    session.committed(work, send("once"))
    assert session.contents() == ["once"]


def test_claim_durable_and_asked_again_by_name(agents, lossy):
    session = agents.session()
    session.say()
    far = session.through(lossy)
    owned = lambda: session.head().get("owner")
    with unanswered(agents, lossy, lambda: far.claim(req="r-1"), owned):
        work = session.claim(req="r-1")
    assert work["epoch"] == 1
    session.committed(work, send("once"))


def test_worker_dies_in_its_turn(agents):
    session = agents.session()
    worker = agent_process(session, lease_ms=1000)
    session.say('[{"hang": true}]')
    epoch = eventually(lambda: session.get()["epoch"])
    worker.kill()
    work = session.claim()
    assert work["epoch"] > epoch
    stale = session.commit({**work, "epoch": epoch}, send("stale"))
    assert (stale.status, stale["error"]) == (409, "Fenced")
    session.committed(work, send("once"))
    assert session.contents() == ["once"]


def test_commit_sent_and_not_durable(agents):
    session = agents.session()
    session.say()
    work = session.claim()
    stored = session.rows()
    agents.server.kill()
    with pytest.raises(OSError):
        session.commit(work, send("once"), token="mine")
    agents.server.start()
    assert session.rows() == stored
    assert session.committed(work, send("once"), token="mine")["messages"] == [1]
    assert session.committed(work, send("once"), token="mine")["messages"] == [1]
    assert session.contents() == ["once"]


def test_commit_durable_and_answer_lost(agents, lossy):
    session = agents.session()
    session.say()
    work = session.claim()
    far = session.through(lossy)
    effects = send("once"), send("once"), timer("t", 60_000)
    commit = lambda: far.committed(work, *effects, token="mine")
    dies_unheard(agents, lossy, commit, lambda: session.row("C#000000000001"))
    stored = session.rows()
    answer = session.committed(work, *effects, token="mine")
    assert (answer["seq"], answer["messages"], answer["suppressed"]) == (1, [1], [{"i": 1, "reason": "duplicate"}])
    assert session.rows() == stored
    other = session.commit(work, *effects, token="another")
    assert (other.status, other["error"]) == (409, "Fenced")


def test_commit_durable_and_frame_not_pushed(agents, lossy):
    session = agents.session()
    session.say()
    device = session.through(lossy).device()
    lossy.mute.set()
    session.turn(send("one"), send("two"))
    agents.server.kill()
    with pytest.raises((OSError, websocket.WebSocketException)):
        device.messages(1)
    lossy.mute.clear()
    agents.server.start()
    device = session.device(after=0)
    assert [(one["n"], one["content"]) for one in device.messages(2)] == [(1, "one"), (2, "two")]
    device.close()


def test_frame_pushed_and_not_acknowledged(agents):
    session = agents.session()
    session.say()
    device = session.device()
    session.turn(send("one"))
    [first] = device.messages(1)
    agents.server.restart()
    device = session.device()
    assert device.ready == {"t": "ready", "n": 1, "ack": 0}
    assert device.messages(1) == [first]
    assert [effect["status"] for effect in session.effects()] == ["pending"]
    device.ack(1)
    eventually(lambda: [effect["status"] for effect in session.effects()] == ["completed"])
    device.close()


def test_acknowledged_and_cursor_not_durable(agents):
    """Whether the acknowledgement was stored or not: a client that keeps its cursor shows each message once."""
    session = agents.session()
    user = session.user
    shown = []

    async def follow():
        async with Client(user.url, user.token).connect(session.key, device="web") as chat:
            async for message in chat:
                shown.append((message.n, message.content))
                if len(shown) == 6:
                    return

    following = threading.Thread(target=lambda: asyncio.run(follow()), daemon=True)
    following.start()
    for i in range(6):
        session.say(f"{i}")
        session.turn(send(f"answer {i}"))
        eventually(lambda: len(shown) > i)
        # Its acknowledgement is on the way, or waits with others to be stored.
        agents.server.restart()
    following.join(timeout=30)
    assert shown == [(i + 1, f"answer {i}") for i in range(6)]
    assert session.device().ready["n"] == 6


def test_timer_due_before_promotion(agents):
    session = agents.session()
    session.say()
    session.turn(timer("c", 1000), timer("a", 800), timer("b", 900))
    due = {name: one["fire_at"] for name, one in session.timers().items()}
    agents.server.kill()
    eventually(lambda: now() > millis(due["c"]))
    agents.server.start()
    events = [session.promoted(name) for name in "abc"]
    assert [event["seq"] for event in events] == [2, 3, 4], "late, in the order of fire_at"
    for name, event in zip("abc", events):
        assert millis(event["created_at"]) >= millis(due[name])
    assert len(session.events()) == 4


def test_promotion_durable_and_all_else_lost(agents):
    session = agents.session()
    session.say()
    session.turn(timer("t", 0), timer("sentinel", 1500))
    session.promoted("t")
    agents.server.restart()
    session.promoted("sentinel")
    # What would be promoted twice would have been before a later one.
    assert [event["payload"].get("timer_id") for event in session.events()] == [None, "t", "sentinel"]
    assert session.row("T#t")["status"] == "promoted"


def test_webhook_called_and_result_not_stored(agents, receiver):
    """Takes as long as its lease lives, half a minute: nobody else may call before."""
    session = agents.session()
    receiver.free.clear()
    session.say()
    session.turn(receiver.webhook({"x": 1}))
    eventually(lambda: receiver.calls)
    assert session.get("/effects/1/0")["status"] == "executing"
    agents.server.restart()
    receiver.free.set()
    work = session.claim(wait_ms=50_000)
    assert receiver.calls == [(f"{session.key}/1/0", {"x": 1})] * 2
    assert [event["id"] for event in work["events"]] == [f"r:{session.key}/1/0"]
    effect = session.get("/effects/1/0")
    assert (effect["status"], effect["attempt_count"]) == ("completed", 2)


def test_at_most_once_pushed_or_not(agents):
    session = agents.session()
    session.say()
    device = session.device()
    session.turn(send("plain"), send("fragile", delivery="at_most_once"), send("last"))
    assert [one["content"] for one in device.messages(3)] == ["plain", "fragile", "last"]
    agents.server.restart()
    device = session.device()
    frames = [device.next() for _ in range(3)]
    assert [(one["t"], one["n"]) for one in frames] == [("msg", 1), ("skip", 2), ("msg", 3)]
    effect = session.get("/effects/1/1")
    assert (effect["status"], effect["outcome"]) == ("failed", "unknown")
    device.ack(3)
    eventually(lambda: session.row("K#web") and session.row("K#web")["n"] == 3)
    assert session.get("/effects/1/1")["status"] == "failed"
    device.close()


def test_killed_before_the_commit_the_old_worker_is_fenced(agents):
    session = agents.session()
    session.say()
    old = session.claim(lease_ms=1000)
    agents.server.restart()
    new = session.claim()
    assert new["epoch"] == old["epoch"] + 1 and new["events"] == old["events"]
    stale = session.commit(old, send("stale"))
    assert (stale.status, stale["error"]) == (409, "Fenced")
    session.committed(new, send("once"))
    assert len(session.effects()) == 1 and session.contents() == ["once"]


def test_everything_dies_all_the_time(agents):
    """A conversation whose server, worker and device are killed in turn: nothing is lost, shown twice or out of order."""
    session = agents.session()
    worker, devices = agent_process(session, lease_ms=1000), [DeviceProcess(session)]
    for i in range(9):
        session.say(f'[{{"send": "{i}"}}]', id=f"e-{i}")
        if i % 3 == 0:
            agents.server.restart()
        elif i % 3 == 1:
            worker.kill()
            worker = agent_process(session, lease_ms=1000)
        else:
            devices[-1].kill()
            devices.append(DeviceProcess(session))
    eventually(lambda: session.get()["event_seq"] == 9, 60)
    expected = [(i + 1, f"{i}") for i in range(9)]
    assert [(one["n"], one["content"]) for one in session.messages()] == expected
    eventually(lambda: {effect["status"] for effect in session.effects()} == {"completed"}, 60)
    worker.kill()
    devices[-1].kill()
    # A device that died between showing and acknowledging shows one again; within its life, none.
    shown = [[(one["n"], one["content"]) for one in device.told("n")] for device in devices]
    for one in shown:
        assert one == sorted(set(one))
    assert sorted({message for one in shown for message in one}) == expected


@pytest.fixture
def nodes(dynamodb, tmp_path):
    """Two servers on the same tables."""
    nodes = [Agents(tmp_path / name, endpoint=dynamodb) for name in ("first", "second")]
    yield nodes
    for node in nodes:
        node.server.kill()


def test_two_servers_share_the_tables(nodes, receiver):
    """A server that is cut off while its worker has a lease: once another has claimed, it changes nothing."""
    first, second = nodes
    here = first.session()
    there = copy.copy(here)
    there.user, there.worker = second.caller(here.key.split(":")[0], "user"), second.worker
    here.say()
    old = here.claim(lease_ms=1000)
    first.server.process.send_signal(signal.SIGSTOP)
    new = there.claim()
    assert new["epoch"] == old["epoch"] + 1
    first.server.process.send_signal(signal.SIGCONT)
    stale = here.commit(old, send("stale"))
    assert (stale.status, stale["error"]) == (409, "Fenced")
    there.committed(new, send("once"))
    # What the second did, the first tells its devices.
    device = here.device()
    assert device.messages(1)[0]["content"] == "once"
    there.say("more")
    there.turn(send("twice"))
    assert device.messages(1)[0]["content"] == "twice"
    device.close()
    # Each webhook is called by one of them.
    there.say("call them")
    there.turn(*[receiver.webhook({"i": i}) for i in range(12)])
    eventually(lambda: {effect["status"] for effect in here.effects(checkpoint=3)} == {"completed"})
    assert sorted(body["i"] for _, body in receiver.calls) == list(range(12))
