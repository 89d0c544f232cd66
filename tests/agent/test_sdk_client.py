"""The Python client's own part of the promises: each message is shown once, in order, and each word said arrives once."""
import asyncio
import http
import json
import urllib.parse

import pytest
import websockets
from holdfast_agents import Client, Refused


class Scripted:
    """Each connection runs the next of the given coroutines, the last one for all that follow; keeps what the client said."""

    def __init__(self, *connections, refuse=None):
        self.connections, self.refuse = list(connections), refuse
        self.asked, self.heard = [], []

    async def __aenter__(self):
        async def refuse(*_):
            return (self.refuse, [], b"") if self.refuse else None

        self.server = await websockets.serve(self.serve, "127.0.0.1", 0, subprotocols=["holdfast"], process_request=refuse)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()
        await self.server.wait_closed()

    async def serve(self, socket, path):
        self.asked.append(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query)))
        run = self.connections.pop(0) if len(self.connections) > 1 else self.connections[0]
        await run(self, socket)

    async def listen(self, socket):
        async for text in socket:
            self.heard.append(json.loads(text))

    def connect(self, **options):
        return Client(f"http://127.0.0.1:{self.port}", "token").connect("ann:guide:t1", **options)

    def acks(self):
        return [frame["n"] for frame in self.heard if frame["t"] == "ack"]


def tells(*frames, n=9, ack=0):
    """A connection that says these frames and then listens."""

    async def run(server, socket):
        for frame in ({"t": "ready", "n": n, "ack": ack}, *frames):
            await socket.send(json.dumps(frame))
        await server.listen(socket)

    return run


def message(n, **more):
    return {"t": "msg", "n": n, "id": f"ann:guide:t1/{n}/0", "auto": False, "content": f"message {n}", "at": n, **more}


async def until(check):
    async with asyncio.timeout(20):
        while not check():
            await asyncio.sleep(0.005)


async def received(chat, count):
    async with asyncio.timeout(20):
        return [(await chat.receive()).n for _ in range(count)]


def scenario(test):
    """Runs a coroutine as a test."""

    def run():
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@scenario
async def test_a_repeated_message_is_shown_once_and_a_skipped_one_never():
    frames = message(1), message(1), message(2), {"t": "skip", "n": 3}, message(4, auto=True)
    async with Scripted(tells(*frames)) as server, server.connect(after=0) as chat:
        assert await received(chat, 3) == [1, 2, 4]
        assert chat.cursor == 4
        assert server.asked == [{"session": "ann:guide:t1", "device": "default", "after": "0"}]


@scenario
async def test_a_message_is_acknowledged_once_it_has_been_shown():
    async with Scripted(tells(message(1), message(2))) as server:
        async with server.connect(device="web") as chat:
            assert await received(chat, 1) == [1]
            await until(lambda: chat.cursor == 2)
            assert server.acks() == [], "the first is being shown, the second waits"
            assert await received(chat, 1) == [2]
            await until(lambda: server.acks() == [1])
        await until(lambda: server.acks() == [1, 2])
        assert server.asked == [{"session": "ann:guide:t1", "device": "web"}], "without after, the device's cursor counts"


@scenario
async def test_a_gap_makes_it_ask_again_from_its_cursor():
    async with Scripted(tells(message(1), message(3)), tells(message(2), message(3))) as server:
        async with server.connect() as chat:
            assert await received(chat, 3) == [1, 2, 3]
        assert [asked.get("after") for asked in server.asked] == [None, "1"]


@scenario
async def test_it_starts_at_the_devices_cursor():
    async with Scripted(tells(message(42), ack=41)) as server, server.connect() as chat:
        assert await received(chat, 1) == [42]


@scenario
async def test_acknowledgements_that_a_dying_connection_took_along_are_made_again():
    async def dies(server, socket):
        await tells_then_close(socket, message(1))

    async def tells_then_close(socket, *frames):
        for frame in ({"t": "ready", "n": 1, "ack": 0}, *frames):
            await socket.send(json.dumps(frame))
        await socket.close(1013)

    async with Scripted(dies, tells(message(2))) as server, server.connect() as chat:
        assert await received(chat, 2) == [1, 2]
        await until(lambda: server.acks() == [1])
        assert server.asked[1]["after"] == "1"


@scenario
async def test_what_is_said_is_said_again_under_the_same_id_until_it_is_confirmed():
    async def takes_and_dies(server, socket):
        await socket.send('{"t":"ready","n":0,"ack":0}')
        server.heard.append(json.loads(await socket.recv()))

    async def confirms(server, socket):
        await socket.send('{"t":"ready","n":0,"ack":0}')
        async for text in socket:
            server.heard.append(json.loads(text))
            await socket.send(json.dumps({"t": "ok", "id": server.heard[-1]["id"], "seq": 7, "duplicate": True}))

    async with Scripted(takes_and_dies, takes_and_dies, confirms) as server, server.connect() as chat:
        assert await chat.say("hi", id="c-1") == 7
        assert server.heard == [{"t": "user", "id": "c-1", "text": "hi"}] * 3
        assert await chat.say("again") == 7
        assert server.heard[-1]["id"] not in ("", "c-1")


@scenario
async def test_a_refused_word_is_refused_and_the_conversation_goes_on():
    async def refuses(server, socket):
        await socket.send('{"t":"ready","n":0,"ack":0}')
        frame = json.loads(await socket.recv())
        error = {"t": "error", "id": frame["id"], "status": 400, "error": "ValidationError", "message": "no text"}
        await socket.send(json.dumps(error))
        await socket.send(json.dumps(message(1)))
        await server.listen(socket)

    async with Scripted(refuses) as server, server.connect() as chat:
        with pytest.raises(Refused, match="ValidationError"):
            await chat.say("")
        assert await received(chat, 1) == [1]


@scenario
async def test_who_is_not_let_in_is_told():
    async with Scripted(refuse=http.HTTPStatus.UNAUTHORIZED) as server, server.connect() as chat:
        with pytest.raises(Refused) as refused:
            await received(chat, 1)
        assert refused.value.status == 401
        with pytest.raises(Refused):
            await chat.say("anybody?")


@scenario
async def test_it_waits_for_a_server_that_is_not_there_yet():
    async with Scripted(tells(message(1))) as server:
        port = server.port
    server = Scripted(tells(message(1)))
    async with Client(f"http://127.0.0.1:{port}", "token").connect("ann:guide:t1") as chat:
        first = asyncio.create_task(received(chat, 1))
        await asyncio.sleep(0)
        late = await websockets.serve(server.serve, "127.0.0.1", port, subprotocols=["holdfast"])
        assert await first == [1]
    late.close()
    await late.wait_closed()
