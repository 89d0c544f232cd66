"""What a handler is given: one session, what happened in it, and what it may do about that."""
from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal

from .http import HoldfastError, Json

Delivery = Literal["at_least_once", "at_most_once"]


class TurnCancelled(HoldfastError):
    """Raise it in a handler to give the session back, without a failure being counted."""


@dataclass(frozen=True)
class Event:
    seq: int
    id: str
    type: str  # user_message {text}, timer {timer_id, payload?}, tool_result {tool_id, payload}
    payload: Json
    at: int  # milliseconds since 1970
    origin: str  # user, or auto: nobody's words led to it

    @property
    def autonomous(self) -> bool:
        return self.origin == "auto"


@dataclass(eq=False)
class Turn:
    """One turn. What it does takes effect when the handler has returned, all of it or nothing."""

    session: str
    epoch: int
    events: list[Event]
    state: Json  # what the last turn returned; empty at first
    counters: Json  # auto_n: autonomous messages in a row; auto_at: when the last was; n_tail: the newest message
    policy: Json
    lease_until: int
    usage: Json | None = None  # set it to have what the turn has cost recorded
    rejected: str | None = None  # why the policy has rejected what this turn did at first; then it runs once more
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    _effects: list[Json] = field(default_factory=list)
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _cancel_reason: str | None = None

    @classmethod
    def of(cls, work: Json) -> Turn:
        events = [
            Event(given["seq"], given["id"], given["type"], given["payload"], given["at"], given["origin"])
            for given in work["events"]
        ]
        checkpoint = work.get("checkpoint") or {}
        return cls(
            work["session"],
            work["epoch"],
            events,
            checkpoint.get("data") or {},
            work.get("state") or {},
            work.get("policy") or {},
            work["lease_until"],
        )

    def send(self, text: str, *, delivery: Delivery = "at_least_once") -> None:
        """A message to the user. at_most_once: rather lost in a crash than pushed twice."""
        self._do("send_message", content=text, delivery=None if delivery == "at_least_once" else delivery)

    def schedule_timer(
        self,
        timer_id: str,
        *,
        delay_ms: int | None = None,
        fire_at: int | str | None = None,
        payload: Any = None,
        keep: bool = False,
    ) -> None:
        """An event of type timer, then; a timer of the same id is replaced. The user's next message cancels it unless `keep`.

        `fire_at` is in milliseconds since 1970, or an instant like 2026-01-31T08:00:00.000Z.
        """
        if (delay_ms is None) == (fire_at is None):
            raise ValueError("a timer needs delay_ms or fire_at, and not both")
        self._do("schedule_timer", timer_id=timer_id, delay_ms=delay_ms, fire_at=fire_at, payload=payload, keep=keep or None)

    def cancel_timer(self, timer_id: str) -> None:
        self._do("cancel_timer", timer_id=timer_id)

    def webhook(self, url: str, body: Any = None) -> None:
        """A call to a host that the server allows; what it answers comes as an event of type tool_result."""
        self._do("webhook", url=url, body=body)

    @property
    def cancelled(self) -> bool:
        """Whether the turn should come to an end: commit what there is by returning, or raise TurnCancelled."""
        return self._cancelled.is_set()

    @property
    def cancel_reason(self) -> str | None:
        """user_message, pause, delete, stop; or lost: another worker has the session, and nothing done here will count."""
        return self._cancel_reason

    def cancel(self, reason: str) -> None:
        if not self.cancelled:
            self._cancel_reason = reason
            self._cancelled.set()

    def commit(self, state: Json | None) -> Json:
        """What is sent to the server; the state as it was where the handler returns none."""
        body: Json = {
            "session": self.session,
            "epoch": self.epoch,
            "upto": self.events[-1].seq,
            "token": self.token,
            "checkpoint": self.state if state is None else state,
            "effects": self._effects,
            "then": "release",
        }
        if self.usage is not None:
            body["usage"] = self.usage
        return body

    def _do(self, type: str, **fields: Any) -> None:
        self._effects.append({"type": type, **{name: value for name, value in fields.items() if value is not None}})
