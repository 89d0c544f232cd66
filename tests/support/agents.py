"""Speaks to a holdfast's agent runtime as users, their devices, workers and operators do; and reads its rows."""
import copy
import datetime
import itertools
import os
import re
import time
import urllib.parse
import uuid

import boto3
from boto3.dynamodb.conditions import Key
from surface import Frames, Surface, eventually

TABLE = "holdfast-agents"
SHARDS = 64
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NAMES = itertools.count(1)


def millis(instant):
    """Of a 24-character instant."""
    assert INSTANT.fullmatch(instant), instant
    return round(datetime.datetime.fromisoformat(instant).timestamp() * 1000)


def now():
    return time.time_ns() // 1_000_000


def shard(session):
    hashed = 2166136261
    for byte in session.encode():
        hashed = (hashed ^ byte) * 16777619 % 2**32
    return hashed % SHARDS


def send(content, **more):
    return {"type": "send_message", "content": content, **more}


def timer(timer_id, delay_ms=None, **more):
    when = {} if delay_ms is None else {"delay_ms": delay_ms}
    return {"type": "schedule_timer", "timer_id": timer_id, **when, **more}


def instants_in_order(*instants):
    return all(earlier <= later for earlier, later in itertools.pairwise(map(millis, instants)))


class Agents(Surface):
    """A server, an operator and a worker. `endpoint` is of the tables, where the server does not have them itself."""

    def __init__(self, directory, *flags, endpoint=None):
        if endpoint:
            flags = ("--store", "dynamodb", "--endpoint", endpoint, *flags)
        super().__init__(directory, "--models", "none", "--webhook-host", "127.0.0.1", *flags)
        self.worker = self.caller("worker", "worker")
        self.table = boto3.resource(
            "dynamodb",
            endpoint_url=endpoint or self.server.url,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        ).Table(TABLE)

    def session(self, agent=None, **policy):
        """Of a user, and unless told with an agent, that no other test has: so none meets another's work."""
        return Session(self, agent or f"agent-{os.getpid()}-{next(NAMES)}", **policy)

    def policy(self, agent, **fields):
        answer = self.admin.send("PUT", f"/v1/agents/{agent}/policy", fields)
        assert answer.status == 200, answer
        return answer.body

    def autonomy(self, enabled):
        answer = self.admin.send("PUT", "/v1/agents/autonomy", {"enabled": enabled})
        assert answer.status == 200, answer
        return answer.body

    def row(self, pk, sk):
        return self.table.get_item(Key={"pk": pk, "sk": sk}, ConsistentRead=True).get("Item")

    def rows(self, pk, condition=None):
        """All of a partition in order, or those whose sk fits."""
        where = Key("pk").eq(pk)
        query = {"KeyConditionExpression": where & condition if condition else where, "ConsistentRead": True}
        items = []
        while True:
            page = self.table.query(**query)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class Session:
    def __init__(self, agents, agent, **policy):
        self.agents, self.agent = agents, agent
        user = f"user-{uuid.uuid4().hex[:12]}"
        self.key = f"{user}:{agent}:t1"
        self.user = agents.caller(user, "user")
        self.worker = agents.worker
        if policy:
            agents.policy(agent, **policy)

    def other(self):
        """Another of the same user with the same agent."""
        twin = copy.copy(self)
        twin.key = f"{self.key.rpartition(':')[0]}:t{next(NAMES)}"
        return twin

    def through(self, proxy):
        """The same, reached by another way."""
        far = copy.copy(self)
        far.user, far.worker = copy.copy(self.user), copy.copy(self.worker)
        far.user.url = far.worker.url = proxy.url
        far.user.port = far.worker.port = proxy.port
        return far

    # --- the user ---

    def call(self, method, rest="", body=None, caller=None, **query):
        return (caller or self.user).send(method, f"/v1/sessions/{self.key}{rest}", body, **query)

    def append(self, text, id=None):
        event = {"type": "user_message", "payload": {"text": text}, **({"id": id} if id else {})}
        return self.call("POST", "/events", event)

    def say(self, text="hi", id=None):
        answer = self.append(text, id)
        assert answer.status == 201, answer
        return answer.body

    def get(self, rest="", **query):
        answer = self.call("GET", rest, **query)
        assert answer.status == 200, answer
        return answer.body

    def items(self, what, **query):
        """Of all pages."""
        page = self.get(f"/{what}", **query)
        items = page["items"]
        while page.get("next") is not None:
            page = self.get(f"/{what}", **{**query, "after": page["next"]})
            items += page["items"]
        return items

    def events(self, **query):
        return self.items("events", **query)

    def messages(self, **query):
        return self.items("messages", **query)

    def contents(self):
        return [message["content"] for message in self.messages()]

    def effects(self, **query):
        return self.items("effects", **query)

    def timers(self, **query):
        return {timer["timer_id"]: timer for timer in self.items("timers", **query)}

    def checkpoint(self, seq="latest"):
        return self.get(f"/checkpoints/{seq}")

    def device(self, name="web", after=None):
        return Device(self, name, after)

    # --- the worker ---

    def work(self, call, **body):
        return self.worker.send("POST", f"/v1/work/{call}", body)

    def claim_all(self, wait_ms=0, lease_ms=30_000, worker="w1", max=8, **more):
        answer = self.work("claim", worker=worker, agents=[self.agent], max=max, lease_ms=lease_ms, wait_ms=wait_ms, **more)
        assert answer.status == 200, answer
        return answer["work"]

    def claim(self, wait_ms=15_000, **more):
        """The work of this session, which has some or will."""
        [work] = self.claim_all(wait_ms, **more)
        assert work["session"] == self.key, work
        return work

    def commit(self, work, *effects, **more):
        """Of all that was claimed, unless told."""
        body = {
            "session": work["session"], "epoch": work["epoch"], "upto": work["events"][-1]["seq"], "token": uuid.uuid4().hex,
            "checkpoint": {"after": work["events"][-1]["seq"]}, "effects": effects,
        }  # fmt: skip
        return self.work("commit", **{**body, **more})

    def committed(self, work, *effects, **more):
        answer = self.commit(work, *effects, **more)
        assert answer.status == 200, answer
        return answer.body

    def turn(self, *effects, **more):
        """Claims, and commits these effects: the answer."""
        return self.committed(self.claim(), *effects, **more)

    def promoted(self, timer_id):
        """The event that a timer became, when it has become one."""
        happened = lambda: [event for event in self.events() if event["type"] == "timer" and event["payload"]["timer_id"] == timer_id]
        [event] = eventually(happened)
        return event

    # --- the rows ---

    @property
    def pk(self):
        return f"S#{self.key}"

    def row(self, sk):
        return self.agents.row(self.pk, sk)

    def head(self):
        return self.row("H")

    def rows(self, prefix=None):
        return self.agents.rows(self.pk, Key("sk").begins_with(prefix) if prefix else None)

    def listed(self, index):
        """The row of an index (ev, fx, ms) that names this session."""
        middle = f"{self.agent}#" if index == "ev" else ""
        return self.agents.row(f"RX#{index}#{middle}{shard(self.key)}", self.key)

    def due(self, fire_at):
        """What the index of timers has for this session in the minute of that instant."""
        rows = self.agents.rows(f"TX#{shard(self.key)}#{millis(fire_at) // 60_000}")
        return [row["sk"] for row in rows if row["sk"].split("#")[1] == self.key]


class Device(Frames):
    """A user's device that does nothing by itself: it acknowledges when it is told to."""

    def __init__(self, session, name, after):
        query = {"session": session.key, "device": name, **({} if after is None else {"after": after})}
        super().__init__(f"ws://127.0.0.1:{session.user.port}/v1/connect?{urllib.parse.urlencode(query)}", session.user.token)
        self.ready = self.wait(t="ready")

    def messages(self, count):
        return [self.wait(t="msg") for _ in range(count)]

    def ack(self, n):
        self.send(t="ack", n=n)

    def say(self, text, id):
        self.send(t="user", id=id, text=text)
        return self.wait(id=id)

    def next(self):
        """The very next frame, whatever it is."""
        return self.wait()
