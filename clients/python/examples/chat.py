"""Talks to an agent from the terminal.

    TOKEN=$(holdfast token --subject ann --role user) python3 examples/chat.py ann:echo:t1
"""
import asyncio
import os
import sys

from holdfast_agents import Client, HoldfastError


async def show(chat) -> None:
    async for message in chat:
        print(("* " if message.autonomous else "") + message.content, flush=True)


async def main(session: str) -> None:
    client = Client(os.environ.get("HOLDFAST", "http://127.0.0.1:8000"), os.environ["TOKEN"])
    async with client.connect(session, device="terminal") as chat:
        shown = asyncio.create_task(show(chat))
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip():
                await chat.say(line.strip())
        shown.cancel()


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1]))
    except HoldfastError as error:
        sys.exit(f"chat: {error}")
    except KeyboardInterrupt:
        pass
