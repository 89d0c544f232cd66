"""Runs an agent: claims sessions that have events, calls the handler, commits what it did."""
from __future__ import annotations

import dataclasses
import logging
import os
import queue
import socket
import threading
import time
import uuid
from typing import Any, Callable, Sequence

from .http import Connection, Json, Refused, Unanswered, pauses
from .turn import Turn, TurnCancelled

Handler = Callable[[Turn], Json | None]

log = logging.getLogger("holdfast_agents")


class Worker:
    """Any number of workers may serve an agent, and any of them may die at any moment.

    The handler runs in one of `concurrency` threads, for one session at a time, and returns the session's new state. While it
    runs the lease is renewed. When it raises, nothing of the turn takes effect and the events are handed out again after
    `retry_after_ms`; the server sets a session aside whose events fail five times.
    """

    def __init__(
        self,
        url: str,
        token: str,
        agents: Sequence[str],
        turn: Handler,
        *,
        name: str | None = None,
        concurrency: int = 4,
        lease_ms: int = 30_000,
        wait_ms: int = 20_000,
        retry_after_ms: int = 1_000,
    ) -> None:
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._url, self._token = url, token
        self._agents, self._handler = list(agents), turn
        self._concurrency, self._lease_ms, self._wait_ms, self._retry_after_ms = concurrency, lease_ms, wait_ms, retry_after_ms
        self._failure: Refused | None = None
        self._stopping = threading.Event()
        self._room = threading.Condition()
        self._turns: set[Turn] = set()  # guarded by _room
        self._due: queue.SimpleQueue[Turn | None] = queue.SimpleQueue()
        self._claiming = self._connect(extra=wait_ms / 1000)
        # Ends with the worker, not with its stop: turns under way keep their leases until they are done.
        self._finished = threading.Event()
        self._claimer = threading.Thread(target=self._claim_loop, name="holdfast-claim")
        self._runners = [threading.Thread(target=self._turn_loop, name=f"holdfast-turn-{i}") for i in range(concurrency)]
        self._beater = threading.Thread(target=self._heartbeat_loop, name="holdfast-heartbeat")

    def start(self) -> Worker:
        for thread in (self._claimer, *self._runners, self._beater):
            thread.daemon = True
            thread.start()
        return self

    def stop(self) -> None:
        """Claims nothing more and waits for the turns under way."""
        self._stopping.set()
        with self._room:
            self._room.notify_all()
        while self._claimer.is_alive():
            self._claiming.abort()
            self._claimer.join(0.05)
        for _ in self._runners:
            self._due.put(None)
        for runner in self._runners:
            runner.join()
        self._finished.set()
        self._beater.join()

    def run(self) -> None:
        """Works until interrupted, or stopped; raises Refused when the server will not have this worker."""
        self.start()
        try:
            self._stopping.wait()
        except KeyboardInterrupt:
            pass
        self.stop()
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Worker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- the claim loop ---

    def _claim_loop(self) -> None:
        while free := self._wait_for_room():
            # Under the same name until it is answered: work that went out with a lost answer comes again.
            request: Json = {"worker": self.name, "req": uuid.uuid4().hex, "agents": self._agents, "lease_ms": self._lease_ms}
            try:
                wanted = {**request, "max": free, "wait_ms": self._wait_ms}
                work = self._insist(self._claiming, "claim", wanted, self._stopping.is_set)
            except Refused as refused:
                # A token that does not serve, or an agent that cannot be: asking again would not help.
                self._failure = refused
                self._stopping.set()
                break
            if work is None:
                # Stopped while it waited. What the server may have handed out meanwhile is given back at once.
                self._give_back(request)
                break
            for given in work["work"]:
                turn = Turn.of(given)
                with self._room:
                    self._turns.add(turn)
                self._due.put(turn)
        self._claiming.close()

    def _wait_for_room(self) -> int:
        """How many turns there is room for; 0 when the worker is stopping."""
        with self._room:
            self._room.wait_for(lambda: self._stopping.is_set() or len(self._turns) < self._concurrency)
            return 0 if self._stopping.is_set() else self._concurrency - len(self._turns)

    def _give_back(self, request: Json) -> None:
        connection = self._connect()
        try:
            for given in connection.call("POST", "/v1/work/claim", {**request, "max": self._concurrency, "wait_ms": 0})["work"]:
                self._release(connection, Turn.of(given))
        except (Refused, Unanswered) as error:
            log.warning("%s: the last claim may be held until its lease ends: %s", self.name, error)
        finally:
            connection.close()

    # --- turns ---

    def _turn_loop(self) -> None:
        connection = self._connect()
        while (turn := self._due.get()) is not None:
            try:
                self._take(connection, turn)
            except Exception:
                log.exception("%s: turn of %s lost", self.name, turn.session)
            finally:
                self._forget(turn)
        connection.close()

    def _take(self, connection: Connection, turn: Turn) -> None:
        try:
            body = turn.commit(self._handler(turn))
        except TurnCancelled:
            self._release(connection, turn)
            return
        except Exception as error:
            log.exception("%s: the handler failed on %s", self.name, turn.session)
            self._release(connection, turn, error)
            return
        try:
            # A worker that is stopping tries for as long as the lease may live.
            ends = time.monotonic() + self._lease_ms / 1000
            self._insist(connection, "commit", body, lambda: self._stopping.is_set() and time.monotonic() > ends)
        except Refused as refused:
            self._refused(connection, turn, refused)

    def _refused(self, connection: Connection, turn: Turn, refused: Refused) -> None:
        if refused.error in ("Fenced", "Gone"):
            # Another worker has it, or nobody will: what was done here changed nothing.
            log.warning("%s: %s: %s", self.name, turn.session, refused)
        elif refused.error == "Rejected" and turn.rejected is None:
            again = dataclasses.replace(
                turn,
                rejected=refused.details.get("reason", refused.message),
                usage=None,
                token=uuid.uuid4().hex,
                _effects=[],
            )
            self._hold(turn, again)
            try:
                self._take(connection, again)
            finally:
                self._forget(again)
        else:
            log.error("%s: the commit of %s was refused: %s", self.name, turn.session, refused)
            self._release(connection, turn, refused)

    def _hold(self, turn: Turn, again: Turn) -> None:
        with self._room:
            self._turns.discard(turn)
            self._turns.add(again)

    def _forget(self, turn: Turn) -> None:
        with self._room:
            self._turns.discard(turn)
            self._room.notify_all()

    def _release(self, connection: Connection, turn: Turn, error: Exception | None = None) -> None:
        body: Json = {"session": turn.session, "epoch": turn.epoch}
        if error is not None:
            body |= {"error": f"{type(error).__name__}: {error}"[:1000], "retry_after_ms": self._retry_after_ms}
        try:
            connection.call("POST", "/v1/work/release", body)
        except (Refused, Unanswered) as failure:
            # Then the lease ends it.
            log.warning("%s: %s was not released: %s", self.name, turn.session, failure)

    # --- leases ---

    def _heartbeat_loop(self) -> None:
        connection = self._connect()
        while not self._finished.wait(self._lease_ms / 3000):
            with self._room:
                turns = {(turn.session, turn.epoch): turn for turn in self._turns}
            if turns:
                leases = [{"session": session, "epoch": epoch} for session, epoch in turns]
                try:
                    self._beat(turns, connection.call("POST", "/v1/work/heartbeat", {"leases": leases}))
                except (Refused, Unanswered) as error:
                    log.warning("%s: heartbeat: %s", self.name, error)
        connection.close()

    @staticmethod
    def _beat(turns: dict[tuple[str, int], Turn], answer: Json) -> None:
        for said in answer.get("cancel", []):
            if turn := turns.get((said["session"], said["epoch"])):
                turn.cancel(said["reason"])
        for said in answer.get("lost", []):
            if turn := turns.get((said["session"], said["epoch"])):
                turn.cancel("lost")

    # --- calls ---

    def _connect(self, extra: float = 0) -> Connection:
        return Connection(self._url, self._token, timeout=30 + extra)

    def _insist(self, connection: Connection, call: str, body: Json, give_up: Callable[[], bool]) -> Any:
        """The answer, however often it has to be asked for; None when it was given up."""
        pause = pauses()
        while not give_up():
            try:
                return connection.call("POST", f"/v1/work/{call}", body)
            except Unanswered as error:
                log.info("%s: %s: %s", self.name, call, error)
            except Refused as refused:
                if not refused.passing:
                    raise
                log.info("%s: %s: %s", self.name, call, refused)
            (self._finished if self._stopping.is_set() else self._stopping).wait(next(pause))
        return None
