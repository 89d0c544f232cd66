"""SC-AUTO's core, with the C++ SDK on both sides: the server, the sample agent (samples/agent) and the user's device are
processes of their own, and each may be killed."""
import itertools
import json
import os
import subprocess
import threading

import pytest
from server import PROGRAM
from surface import Surface, eventually

PROGRAMS = PROGRAM.parent / "tests"
NAMES = itertools.count(1)
COOLDOWN_MS = 1000
NEVER_MS = 3_600_000


class Process:
    """One of our programs; `lines` has what it has printed so far."""

    def __init__(self, name, token, *arguments):
        self.process = subprocess.Popen(
            [PROGRAMS / name, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "HOLDFAST_TOKEN": token})
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(map(json.loads, self.process.stdout)))
        self.reader.start()

    def stop(self):
        self.process.terminate()
        return self.end()

    def kill(self):
        self.process.kill()
        self.end()

    def end(self):
        status = self.process.wait(timeout=30)
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()
        return status


class Device(Process):
    def say(self, text):
        """The number of the event that it has become."""
        before = len(self.told("said"))
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return eventually(lambda: self.told("said")[before:])[0]["said"]

    def told(self, name):
        return [line for line in list(self.lines) if name in line]

    def shown(self, count):
        """What it has shown, once there is so much: numbers and texts."""
        shown = eventually(lambda: len(self.told("n")) >= count and self.told("n"))
        return [(message["n"], message["content"]) for message in shown]


class Conversation:
    """A user with an agent that no other test has."""

    def __init__(self, surface, running):
        self.surface, self.running = surface, running
        self.agent = f"echo-{next(NAMES)}"
        self.key = f"ann:{self.agent}:t1"
        self.user = surface.caller("ann", "user")
        self.worker = surface.caller("echo", "worker")
        policy = {"cooldown_ms": COOLDOWN_MS, "on_cap": "suppress", "on_cooldown": "hold"}
        assert surface.admin.send("PUT", f"/v1/agents/{self.agent}/policy", policy).status == 200

    def start(self, process):
        self.running.append(process)
        return process

    def start_agent(self, silence_ms=NEVER_MS):
        return self.start(Process("echo_agent", self.worker.token, self.surface.server.url, self.agent, silence_ms))

    def start_device(self, name="web"):
        return self.start(Device("agent_device", self.user.token, self.surface.server.url, self.key, name))

    def get(self, *path, **query):
        answer = self.user.send("GET", "/".join(("/v1/sessions", self.key, *path)), **query)
        assert answer.status == 200, answer
        return answer.body

    def statuses(self, **query):
        return [(effect["type"], effect["status"]) for effect in self.get("effects", **query)["items"]]


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    surface = Surface(tmp_path_factory.mktemp("agents") / "data", "--models", "none")
    yield surface
    assert surface.server.stop() == 0


@pytest.fixture
def talk(surface):
    running = []
    yield Conversation(surface, running)
    for process in running:
        if process.process.returncode is None:
            process.kill()


# Steps 2 and 7: one commit has the answer, the state and the timer, and every device shows it.
def test_a_message_is_answered_in_one_commit(talk):
    agent, device = talk.start_agent(), talk.start_device()
    assert device.say('hi "there"') == 1
    assert device.shown(1) == [(1, 'You said: hi "there"')]
    checkpoint = talk.get("checkpoints", "latest")
    assert checkpoint["state"] == {"count": 1, "last": 'hi "there"'}
    assert checkpoint["metadata"]["event_seq"] == 1
    eventually(lambda: talk.statuses() == [("send_message", "completed"), ("schedule_timer", "completed")])
    assert [(timer["timer_id"], timer["status"]) for timer in talk.get("timers")["items"]] == [("silence", "pending")]
    assert device.say("again") == 2
    assert device.shown(2)[1:] == [(2, "You said: again")]
    assert talk.get("checkpoints", "latest")["state"] == {"count": 2, "last": "again"}
    assert talk.start_device("phone").shown(2) == device.shown(2)
    assert agent.stop() == 0, "it ends when it is asked to"


# Step 3: the agent speaks up by itself, and is counted.
def test_the_agent_asks_whether_the_user_is_still_there(talk):
    talk.start_agent(silence_ms=300)
    device = talk.start_device()
    device.say("hi")
    assert device.shown(2)[1] == (2, 'Still there? We were at "hi", your message number 1.')
    assert [message["auto"] for message in device.told("n")] == [False, True]
    assert talk.get()["consecutive_autonomous_msgs"] == 1
    assert [event["type"] for event in talk.get("events")["items"]] == ["user_message", "timer"]


# Step 5: what the user says is an answer to the question not yet asked.
def test_a_message_cancels_the_timer(talk):
    talk.start_agent(silence_ms=1500)
    device = talk.start_device()
    device.say("hi")
    device.say("and so on")
    assert device.shown(3) == [(1, "You said: hi"), (2, "You said: and so on"),
                               (3, 'Still there? We were at "and so on", your message number 2.')]


# Step 7: nothing is lost or shown twice while the device is away.
def test_what_was_said_while_the_device_was_away_is_shown_once(talk):
    talk.start_agent()
    device = talk.start_device()
    device.say("one")
    device.shown(1)
    eventually(lambda: talk.statuses(status="completed")[0] == ("send_message", "completed"))
    device.kill()
    other = talk.start_device("other")
    for text in ("two", "three"):
        other.say(text)
    other.shown(3)
    assert talk.start_device().shown(2) == [(2, "You said: two"), (3, "You said: three")]


# Step 8: the server dies at any moment; worker and device find it again, and nothing is answered twice.
def test_a_server_that_is_killed_is_found_again(talk):
    talk.start_agent()
    device = talk.start_device()
    for i in range(1, 4):
        assert device.say(f"message {i}") == i
        talk.surface.server.restart()
    assert device.shown(3) == [(i, f"You said: message {i}") for i in range(1, 4)]
    assert talk.get()["last_n"] == 3


# Step 8: so does the agent; what it did not commit is handed to the next one.
def test_an_agent_that_is_killed_loses_nothing(talk):
    device = talk.start_device()
    for i in range(1, 6):
        agent = talk.start_agent()
        device.say(f"message {i}")
        agent.kill()
    talk.start_agent()
    expected = [f"You said: message {i}" for i in range(1, 6)]
    assert device.shown(5) == list(zip(range(1, 6), expected))
    assert talk.get("checkpoints", "latest")["state"]["count"] == 5


# Step 9: many at once, and one program serves them all.
def test_conversations_do_not_mix(talk):
    talk.start_agent()
    devices = []
    for i in range(10):
        talk.key = f"ann:{talk.agent}:t{i}"
        devices.append(talk.start_device())
    for i, device in enumerate(devices):
        device.say(f"I am {i}")
    for i, device in enumerate(devices):
        assert device.shown(1) == [(1, f"You said: I am {i}")]


# Step 10: without autonomy the agent still answers; it asks nothing by itself.
def test_without_autonomy_the_agent_only_answers(talk):
    switch = lambda enabled: talk.surface.admin.send("PUT", "/v1/agents/autonomy", {"enabled": enabled})
    talk.start_agent(silence_ms=100)
    device = talk.start_device()
    assert switch(False).status == 200
    try:
        device.say("hi")
        assert device.shown(1) == [(1, "You said: hi")]
        assert talk.statuses(checkpoint=1)[1] == ("schedule_timer", "failed")
        assert talk.get("timers")["items"] == []
    finally:
        switch(True)


# A token that is not good enough is no reason to try for ever.
def test_a_worker_without_the_right_to_be_one_is_told_so(talk):
    nobody = talk.start(Process("echo_agent", talk.user.token, talk.surface.server.url, talk.agent))
    assert nobody.end() == 1
    stranger = talk.surface.caller("bob", "user")
    device = talk.start(Device("agent_device", stranger.token, talk.surface.server.url, talk.key, "web"))
    assert eventually(lambda: device.told("end"))
