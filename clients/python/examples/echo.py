"""An agent that repeats what it hears and, when nothing more comes, asks whether somebody is still there.

    TOKEN=$(holdfast token --subject echo --role worker) python3 examples/echo.py
"""
import logging
import os

from holdfast_agents import Turn, Worker

FOLLOW_UP_MS = int(os.environ.get("FOLLOW_UP_MS", "10000"))


def turn(turn: Turn) -> dict:
    said = [event.payload["text"] for event in turn.events if event.type == "user_message"]
    if said:
        turn.send("You said: " + " / ".join(said))
        # The user's next words cancel it.
        turn.schedule_timer("follow-up", delay_ms=FOLLOW_UP_MS, payload={"about": said[-1]})
        return {"turns": turn.state.get("turns", 0) + 1, "last": said[-1]}
    for event in turn.events:
        if event.type == "timer":
            turn.send(f"Still there? You last said: {event.payload['payload']['about']}")
    return turn.state


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    Worker(os.environ.get("HOLDFAST", "http://127.0.0.1:8000"), os.environ["TOKEN"], [os.environ.get("AGENT", "echo")], turn).run()
