"""A conversation over a WebSocket that mends itself."""
from __future__ import annotations

import asyncio
import json
import urllib.parse
import uuid
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import websockets
from websockets.exceptions import ConnectionClosed, WebSocketException

from .http import HoldfastError, Json, Refused, pauses


@dataclass(frozen=True)
class Message:
    n: int
    id: str  # <session>/<seq>/<i>: which effect of which turn sent it
    content: str
    autonomous: bool  # nobody asked for it: the agent spoke up by itself
    at: int  # milliseconds since 1970


class Conversation:
    """Shows each message once, in order, and sees to it that what is said arrives once.

        async with client.connect("ann:guide:t1", device="web") as chat:
            await chat.say("hi")
            async for message in chat:
                print(message.content)

    A message counts as shown, and is acknowledged, when the next one is asked for. `cursor` is the number of the last one that
    has arrived: keep the number of the last one shown, and a later conversation may go on with it as `after`.
    """

    def __init__(self, url: str, token: str, session: str, device: str, after: int | None) -> None:
        self._address = urllib.parse.urlsplit(url)._replace(path="/v1/connect", fragment="")
        self._protocols = ["holdfast", f"bearer.{token}"]
        self._session, self._device = session, device
        self.cursor = after
        self.state = "active"  # of the session, as last told
        self._arrived: asyncio.Queue[tuple[int, Message | None]] = asyncio.Queue()
        self._shown = self._acknowledged = 0
        self._said: dict[str, tuple[str, asyncio.Future[int]]] = {}  # what the server has not confirmed, in order
        self._socket: Any = None  # only while it may be written to
        self._pauses = pauses()
        self._failure: Exception | None = None
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Conversation:
        self._running = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:
            await self._acknowledge()
        await self.close()

    async def close(self) -> None:
        self._end(HoldfastError("the conversation was closed"))
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    def __aiter__(self) -> Conversation:
        return self

    async def __anext__(self) -> Message:
        return await self.receive()

    async def receive(self) -> Message:
        """The next message. What was received before has been shown, and is acknowledged."""
        while True:
            await self._acknowledge()
            if self._failure is not None and self._arrived.empty():
                raise self._failure
            n, message = await self._arrived.get()
            self._shown = max(self._shown, n)
            if message is not None:
                return message

    async def say(self, text: str, id: str | None = None) -> int:
        """Says it as the user, once, and gives the number of the event that it has become. Under the same id it is the same event."""
        if self._failure is not None:
            raise self._failure
        id = id or uuid.uuid4().hex
        frame = json.dumps({"t": "user", "id": id, "text": text})
        confirmed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._said[id] = frame, confirmed
        await self._send(frame)
        return await confirmed

    async def stop_turn(self) -> None:
        """Asks the agent to stop what it is doing."""
        await self._send('{"t":"stop"}')

    # --- the connection ---

    async def _run(self) -> None:
        while self._failure is None:
            try:
                # 1 MiB is what the server itself takes in one frame; its own may be a message of 400 KB with escapes.
                async with websockets.connect(  # type: ignore[attr-defined]
                    self._url(), subprotocols=self._protocols, max_size=8 << 20, ping_interval=20, close_timeout=2
                ) as socket:
                    await self._read(socket)
            except (OSError, asyncio.TimeoutError, WebSocketException) as error:
                if (fatal := _fatal(error)) is not None:
                    self._end(fatal)
                    return
            finally:
                self._socket = None
            await asyncio.sleep(next(self._pauses))

    def _url(self) -> str:
        query = {"session": self._session, "device": self._device}
        if self.cursor is not None:
            query["after"] = str(self.cursor)
        scheme = "wss" if self._address.scheme == "https" else "ws"
        return self._address._replace(scheme=scheme, query=urllib.parse.urlencode(query)).geturl()

    async def _read(self, socket: Any) -> None:
        """Until the connection ends, or leaves out a message: then a new one, with `after`, brings it."""
        async for text in socket:
            frame = json.loads(text)
            kind = frame.get("t")
            if kind == "ready":
                await self._ready(socket, frame)
            elif kind in ("msg", "skip"):
                if not await self._numbered(frame):
                    return
            elif kind == "state":
                self.state = frame["st"]
            elif kind == "ok":
                self._confirm(frame["id"], frame["seq"])
            elif kind == "error":
                await self._refused(frame)

    async def _ready(self, socket: Any, frame: Json) -> None:
        if self.cursor is None:
            self.cursor = frame["ack"]
        self._socket, self._pauses = socket, pauses()
        # Acknowledgements and words of the connection before may not have arrived.
        if self._shown > frame["ack"]:
            await self._acknowledge(again=True)
        for said, _ in list(self._said.values()):
            await self._send(said)

    async def _numbered(self, frame: Json) -> bool:
        """False when this frame is not the next one."""
        n: int = frame["n"]
        if self.cursor is None or n > self.cursor + 1:
            return False
        if n <= self.cursor:
            await self._acknowledge(again=True)
            return True
        self.cursor = n
        if frame["t"] == "skip":
            self._arrived.put_nowait((n, None))
        else:
            self._arrived.put_nowait((n, Message(n, frame["id"], frame["content"], frame["auto"], frame["at"])))
        return True

    async def _acknowledge(self, again: bool = False) -> None:
        if self._shown > self._acknowledged or (again and self._shown > 0):
            self._acknowledged = self._shown
            await self._send(json.dumps({"t": "ack", "n": self._shown}))

    async def _send(self, text: str) -> None:
        """To the present connection; where there is none, the next one begins with what counts."""
        if self._socket is not None:
            try:
                await self._socket.send(text)
            except ConnectionClosed:
                self._socket = None

    def _confirm(self, id: str, seq: int) -> None:
        _, confirmed = self._said.pop(id, (None, None))
        if confirmed is not None and not confirmed.done():
            confirmed.set_result(seq)

    async def _refused(self, frame: Json) -> None:
        refused = Refused(frame.get("status", 500), frame.get("error", "Unknown"), frame.get("message", ""), frame.get("details"))
        if frame.get("id") not in self._said:
            return
        if refused.passing:
            # Once more on a connection of its own, after a pause.
            raise WebSocketException(str(refused))
        _, confirmed = self._said.pop(frame["id"])
        if not confirmed.done():
            confirmed.set_exception(refused)

    def _end(self, failure: Exception) -> None:
        if self._failure is None:
            self._failure = failure
            self._arrived.put_nowait((0, None))  # wakes who waits for a message
            for _, confirmed in self._said.values():
                if not confirmed.done():
                    confirmed.set_exception(failure)
            self._said.clear()


def _fatal(error: Exception) -> Exception | None:
    """What to tell the caller where another connection would not help: the server does not want this one."""
    answer = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(answer, "status_code", None)
    if isinstance(status, int) and 400 <= status < 500 and status != 429:
        return Refused(status, {401: "Unauthorized", 404: "NotFound", 410: "Gone"}.get(status, "Refused"), str(error))
    received = getattr(error, "rcvd", None)
    if received is not None and received.code == 1008:
        return Refused(401, "Unauthorized", received.reason or "the token has expired")
    return None
