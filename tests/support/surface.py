"""Speaks to a holdfast with models as applications do: tokens, REST, WebSocket."""
import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import websocket
from server import PROGRAM, Server


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __getitem__(self, name):
        return self.body[name]

    def __repr__(self):
        return f"{self.status} {json.dumps(self.body)[:2000]}"


class Caller:
    """One bearer of a token."""

    def __init__(self, surface, subject, role, *flags):
        self.url, self.port = surface.server.url, surface.server.port
        command = [PROGRAM, "token", "--data", surface.server.directory, "--subject", subject, "--role", role, *flags]
        self.token = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def send(self, method, path, body=None, headers=None, **query):
        url = self.url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}", **(headers or {})}
        given = {name: value for name, value in given.items() if value is not None}
        request = urllib.request.Request(url, data, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return Answer(answer.status, answer.headers, json.loads(text) if text else None)
        except urllib.error.HTTPError as refused:
            text = refused.read()
            return Answer(refused.code, refused.headers, json.loads(text) if text else None)

    def run(self, model, command, input=None, key=None):
        headers = {"Idempotency-Key": key} if key else {}
        return self.send("POST", f"/v1/{model}/commands/{command}", input or {}, headers)

    def done(self, model, command, input=None, key=None):
        """The result of a command that must succeed."""
        answer = self.run(model, command, input, key)
        assert answer.status in (200, 201), answer
        return answer["result"]

    def refused(self, name, model, command, input=None):
        """The details of a command that must be refused under this name."""
        answer = self.run(model, command, input)
        assert answer.status >= 400 and answer["error"] == name, answer
        assert answer["message"] and answer["requestId"], answer
        return answer["details"]

    def ask(self, model, pattern, **parameters):
        answer = self.send("GET", f"/v1/{model}/patterns/{pattern}", **parameters)
        assert answer.status == 200, answer
        return answer["items"]

    def connect(self, model, origin=None):
        return Socket(f"ws://127.0.0.1:{self.port}/v1/{model}/ws", self.token, origin)

    def open(self, path):
        return Frames(f"ws://127.0.0.1:{self.port}{path}", self.token)

class Frames:
    """A WebSocket; what arrives while something else is waited for is kept."""

    def __init__(self, url, token, origin=None):
        self.socket = websocket.create_connection(
            url, timeout=20, subprotocols=["holdfast", f"bearer.{token}"], origin=origin, suppress_origin=origin is None
        )
        self.kept = []

    def send(self, **message):
        self.socket.send(json.dumps(message))

    def wait(self, **wanted):
        """The next message with these members."""
        fits = lambda message: all(message.get(name) == value for name, value in wanted.items())
        for i, message in enumerate(self.kept):
            if fits(message):
                return self.kept.pop(i)
        while True:
            message = json.loads(self.socket.recv())
            if fits(message):
                return message
            self.kept.append(message)

    def close(self):
        self.socket.close()


class Socket(Frames):
    """The feed of a model."""

    def __init__(self, url, token, origin=None):
        super().__init__(url, token, origin)
        self.connection_id = self.wait(type="hello")["connectionId"]

    def subscribe(self, id, **what):
        self.send(type="subscribe", id=id, **what)
        return self.wait(type="subscribed", id=id).get("cursor")


class Surface:
    def __init__(self, directory, *flags):
        self.server = Server(directory, "--apply", *flags)
        self.admin = self.caller("root", "admin")

    def caller(self, subject, role, *flags):
        return Caller(self, subject, role, *flags)


def eventually(check, seconds=20):
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, "did not come about in time"
        time.sleep(0.02)
