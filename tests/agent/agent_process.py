"""A worker of its own whose agent does as it is told: a message's text, or a timer's payload, is a list of what to do.

    [{"send": "hello"}, {"timer": "t", "delay_ms": 500, "payload": [{"send": "still there?"}]}]
"""
import json
import sys

from holdfast_agents import Worker


def orders(event):
    return json.loads(event.payload["text"]) if event.type == "user_message" else event.payload.get("payload") or []


def turn(turn):
    for event in turn.events:
        for order in orders(event):
            if "send" in order:
                turn.send(order.pop("send"), **order)
            elif "timer" in order:
                turn.schedule_timer(order.pop("timer"), **order)
            elif "hang" in order:
                while not turn.cancelled:
                    turn._cancelled.wait(0.05)
    # What was seen, in order: who reads it sees whether the turns were.
    return {"seen": turn.state.get("seen", []) + [event.seq for event in turn.events]}


url, token, agent, lease_ms = sys.argv[1:]
Worker(url, token, [agent], turn, lease_ms=int(lease_ms), wait_ms=2000).run()
