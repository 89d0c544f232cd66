"""A user's device of its own: says what it is given, a line each, and prints a line for each message that it shows."""
import asyncio
import json
import sys

from holdfast_agents import Client


def tell(**what):
    print(json.dumps(what), flush=True)


async def show(chat):
    async for message in chat:
        tell(n=message.n, content=message.content, auto=message.autonomous, id=message.id)


async def main(url, token, session, device):
    async with Client(url, token).connect(session, device=device) as chat:
        shown = asyncio.create_task(show(chat))
        while line := await asyncio.to_thread(sys.stdin.readline):
            tell(said=await chat.say(line.strip()))
        shown.cancel()


asyncio.run(main(*sys.argv[1:]))
