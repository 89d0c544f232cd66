"""Agents on holdfast.

A worker turns what happened in a conversation into messages, timers and a new state:

    def turn(turn):
        for event in turn.events:
            turn.send(f"You said: {event.payload['text']}")
        return {"turns": turn.state.get("turns", 0) + 1}

    Worker("http://127.0.0.1:8000", token, ["guide"], turn).run()

A client talks to it, and is shown each message once, in order, whatever happens to the connection:

    async with Client("http://127.0.0.1:8000", token).connect("ann:guide:t1") as chat:
        await chat.say("hi")
        async for message in chat:
            print(message.content)
"""
from .client import Client
from .http import HoldfastError, Refused, Unanswered
from .turn import Event, Turn, TurnCancelled
from .worker import Worker

__all__ = [
    "Client",
    "Event",
    "HoldfastError",
    "Refused",
    "Turn",
    "TurnCancelled",
    "Unanswered",
    "Worker",
]
