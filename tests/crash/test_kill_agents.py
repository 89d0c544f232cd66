"""kill -9 of a server whose agents are at work, over and over, on one directory: nothing that was acknowledged is lost, no
session is stuck, no number is missing or given twice, and every message is shown once.

HOLDFAST_AGENT_KILLS=1000 is the long form.
"""
import asyncio
import collections
import os
import random
import threading
import time

from agents import Agents
from holdfast_agents import Client, Worker
from surface import eventually

KILLS = int(os.environ.get("HOLDFAST_AGENT_KILLS", 6))
SESSIONS = 6
AGENT = "killed"


class User(threading.Thread):
    """Says one thing after the other, each until it is acknowledged, and shows what comes."""

    def __init__(self, agents, number):
        super().__init__(daemon=True)
        self.session = f"user{number}:{AGENT}:t1"
        self.client = Client(agents.server.url, agents.caller(f"user{number}", "user").token, patience=60)
        self.acknowledged, self.shown, self.stop = {}, [], threading.Event()

    def run(self):
        asyncio.run(self.talk())

    async def talk(self):
        async with self.client.connect(self.session, device="web") as conversation:
            listening = asyncio.create_task(self.listen(conversation))
            while not self.stop.is_set():
                id = f"m{len(self.acknowledged) + 1}"
                self.acknowledged[id] = await conversation.say(id, id)
            while len(self.shown) < self.client.session(self.session)["last_n"]:
                await asyncio.sleep(0.01)
            listening.cancel()

    async def listen(self, conversation):
        async for message in conversation:
            self.shown.append((message.n, message.content))


def answer(turn):
    """Names each event that it answers, and sets a timer now and then."""
    turn.send(" ".join(event.id for event in turn.events))
    if any(event.type == "user_message" for event in turn.events) and random.random() < 0.2:
        turn.schedule_timer("later", delay_ms=random.randrange(20), keep=random.random() < 0.5)
    return {"seen": turn.events[-1].seq}


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(tmp_path):
    agents = Agents(tmp_path / "data")
    agents.policy(AGENT, cooldown_ms=0, cap=1000)
    worker = Worker(agents.server.url, agents.worker.token, [AGENT], answer, concurrency=SESSIONS, lease_ms=1000).start()
    users = [User(agents, number) for number in range(SESSIONS)]
    for user in users:
        user.start()
    for _ in range(KILLS):
        time.sleep(random.uniform(0.2, 1.0))
        agents.server.kill()
        agents.server.start()
    for user in users:
        user.stop.set()
    for user in users:
        user.join(120)
        assert not user.is_alive(), f"{user.session} is stuck: {user.client.session(user.session)}"
    for user in users:
        session = user.session

        def drained():
            view = user.client.session(session)
            return view["last_seq"] == view["event_seq"] and not user.client.timers(session, status="pending")

        eventually(drained)
        events = list(user.client.all_events(session))
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        numbers = {event["id"]: event["seq"] for event in events}
        assert len(numbers) == len(events)
        assert {id: numbers.get(id) for id in user.acknowledged} == user.acknowledged
        messages = list(user.client.all_messages(session))
        assert [message["n"] for message in messages] == list(range(1, len(messages) + 1))
        answered = collections.Counter(id for message in messages for id in message["content"].split())
        # What a timer's event made the agent say is not said when the user spoke before it was committed.
        unsaid = {id for effect in user.client.effects(session, status="failed")
                  if effect["outcome"] == "superseded" for id in effect["payload"]["content"].split()}
        assert set(answered.values()) == {1}, "an event was answered twice"
        assert set(answered) | unsaid == set(numbers) and not unsaid & set(answered), "an event was never answered"
        assert all(id.startswith("t:") for id in unsaid)
        assert user.shown == [(message["n"], message["content"]) for message in messages][: len(user.shown)]
    worker.stop()
    agents.server.kill()
