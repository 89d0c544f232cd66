"""What users and operators ask of sessions."""
from __future__ import annotations

import time
import urllib.parse
import uuid
from typing import TYPE_CHECKING, Any, Iterator

from .http import Connection, Json, Unanswered, pauses

if TYPE_CHECKING:
    from .conversation import Conversation


class Client:
    """The calls block; `connect` is for asyncio. Answers are the server's JSON. Refusals are raised as Refused."""

    def __init__(self, url: str, token: str, *, patience: float = 30) -> None:
        """`patience`: for how many seconds a server that does not answer is asked again."""
        self._url, self._token, self._patience = url, token, patience
        self._connection = Connection(url, token)

    def close(self) -> None:
        self._connection.close()

    def connect(self, session: str, *, device: str = "default", after: int | None = None) -> Conversation:
        """Without `after` it goes on where the device has acknowledged."""
        from .conversation import Conversation  # Here, so that the rest needs no package beside Python.

        return Conversation(self._url, self._token, session, device, after)

    # --- a session ---

    def say(self, session: str, text: str, id: str | None = None) -> Json:
        """{seq, id, duplicate}. It is one event, however often it had to be sent."""
        event = {"id": id or uuid.uuid4().hex, "type": "user_message", "payload": {"text": text}}
        return self._object("POST", session, "/events", event)

    def session(self, session: str) -> Json:
        return self._object("GET", session)

    def events(self, session: str, *, after: int = 0, limit: int = 100, id: str | None = None) -> Json:
        return self._object("GET", session, "/events", id=id) if id else self._page(session, "/events", after, limit)

    def all_events(self, session: str, *, after: int = 0) -> Iterator[Json]:
        return self._all(session, "/events", after)

    def event(self, session: str, seq: int) -> Json:
        return self._object("GET", session, f"/events/{seq}")

    def messages(self, session: str, *, after: int = 0, limit: int = 100) -> Json:
        return self._page(session, "/messages", after, limit)

    def all_messages(self, session: str, *, after: int = 0) -> Iterator[Json]:
        return self._all(session, "/messages", after)

    def effects(self, session: str, *, status: str | None = None, checkpoint: int | None = None) -> list[Json]:
        return self._items(session, "/effects", status=status, checkpoint=checkpoint)

    def effect(self, session: str, seq: int, i: int) -> Json:
        return self._object("GET", session, f"/effects/{seq}/{i}")

    def timers(self, session: str, *, status: str | None = None) -> list[Json]:
        return self._items(session, "/timers", status=status)

    def cancel_timers(self, session: str, timer_id: str | None = None) -> int:
        """One timer, or all that are pending: how many were cancelled."""
        path = "/timers" if timer_id is None else "/timers/" + urllib.parse.quote(timer_id, safe="")
        return int(self._object("DELETE", session, path)["cancelled"])

    def checkpoint(self, session: str, seq: int | None = None) -> Json:
        return self._object("GET", session, f"/checkpoints/{'latest' if seq is None else seq}")

    def pause(self, session: str) -> Json:
        return self._object("POST", session, "/pause", {})

    def resume(self, session: str) -> Json:
        return self._object("POST", session, "/resume", {})

    def stop_turn(self, session: str) -> None:
        self._object("POST", session, "/cancel", {})

    def delete(self, session: str) -> Json:
        return self._object("DELETE", session)

    # --- operators ---

    def policy(self, agent: str) -> Json:
        return self._ask("GET", f"/v1/agents/{agent}/policy")

    def set_policy(self, agent: str, **fields: Any) -> Json:
        """What is not given has its default: cap=3, cooldown_ms=15000, on_cap="suppress", …"""
        return self._ask("PUT", f"/v1/agents/{agent}/policy", fields)

    def autonomy(self) -> Json:
        return self._ask("GET", "/v1/agents/autonomy")

    def set_autonomy(self, enabled: bool) -> Json:
        return self._ask("PUT", "/v1/agents/autonomy", {"enabled": enabled})

    def dead_letters(self, *, after: str | None = None, limit: int = 100) -> Json:
        return self._ask("GET", "/v1/dead-letters", after=after, limit=limit)

    def redrive(self, dead_letter: str) -> None:
        self._ask("POST", f"/v1/dead-letters/{urllib.parse.quote(dead_letter, safe='')}/redrive", {})

    # --- how ---

    def _object(self, method: str, session: str, rest: str = "", body: Json | None = None, **query: Any) -> Json:
        return self._ask(method, f"/v1/sessions/{urllib.parse.quote(session, safe=':')}{rest}", body, **query)

    def _items(self, session: str, rest: str, **query: Any) -> list[Json]:
        items: list[Json] = self._object("GET", session, rest, **query)["items"]
        return items

    def _page(self, session: str, rest: str, after: int, limit: int) -> Json:
        return self._object("GET", session, rest, after=after, limit=limit)

    def _all(self, session: str, rest: str, after: int) -> Iterator[Json]:
        following: int | None = after
        while following is not None:
            page = self._page(session, rest, following, 100)
            yield from page["items"]
            following = page["next"]

    def _ask(self, method: str, path: str, body: Json | None = None, **query: Any) -> Json:
        given = {name: value for name, value in query.items() if value is not None}
        if given:
            path += "?" + urllib.parse.urlencode(given)
        # All that is asked here may be asked twice: words carry their id, the rest says what shall be.
        deadline = time.monotonic() + self._patience
        for pause in pauses():
            try:
                answer: Json = self._connection.call(method, path, body)
                return answer
            except Unanswered:
                if time.monotonic() + pause > deadline:
                    raise
                time.sleep(pause)
        raise AssertionError("pauses never end")
