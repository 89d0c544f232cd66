"""JSON over one HTTP connection that is kept alive."""
from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import urllib.parse
from typing import Any, Iterator

Json = dict[str, Any]


class HoldfastError(Exception):
    """Something that was asked of holdfast did not come about."""


class Refused(HoldfastError):
    """The server said no, under a name: `Fenced`, `NotFound`, `ValidationError`, …"""

    def __init__(self, status: int, error: str, message: str, details: Json | None = None) -> None:
        super().__init__(f"{status} {error}: {message}")
        self.status, self.error, self.message, self.details = status, error, message, details or {}

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status >= 500 or self.status == 429


class Unanswered(HoldfastError):
    """No answer came. What was asked may have been done or not: ask again under the same name."""


def pauses() -> Iterator[float]:
    """How many seconds to wait before each further attempt: doubling to 2, with jitter so that many do not come at once."""
    longest = 0.05
    while True:
        yield random.uniform(longest / 2, longest)
        longest = min(2.0, longest * 2)


class Connection:
    """Calls of several threads take turns."""

    def __init__(self, url: str, token: str, timeout: float = 30) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an http or https URL: {url!r}")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._lock = threading.Lock()

    def call(self, method: str, path: str, body: Json | None = None, *, timeout: float | None = None) -> Any:
        """The answer's JSON. Raises Refused when the server says no, Unanswered when it says nothing."""
        text = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        with self._lock:
            try:
                self._open(timeout or self._timeout)
                self._connection.request(method, path, text, self._headers)
                answer = self._connection.getresponse()
                status, content = answer.status, json.loads(answer.read() or b"null")
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._connection.close()
                raise Unanswered(f"{method} {path}: {error or type(error).__name__}") from error
        if status >= 400:
            said = content if isinstance(content, dict) else {}
            raise Refused(status, said.get("error", "Unknown"), said.get("message", ""), said.get("details"))
        return content

    def abort(self) -> None:
        """Ends a call that waits in another thread: it raises Unanswered."""
        if (waiting := self._connection.sock) is not None:
            try:
                waiting.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It has just ended by itself.

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _open(self, timeout: float) -> None:
        kept = self._connection.sock
        if kept is not None and self._ended(kept):
            self._connection.close()
            kept = None
        if kept is None:
            self._connection.connect()
            kept = self._connection.sock
            kept.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        kept.settimeout(timeout)

    @staticmethod
    def _ended(idle: socket.socket) -> bool:
        """Between answers nothing is due: whatever can be read is the end that the server has put to the connection."""
        idle.settimeout(0)
        try:
            idle.recv(1)
            return True
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            # TLS says "nothing yet" in its own words.
            return type(error).__name__ not in ("SSLWantReadError",)
