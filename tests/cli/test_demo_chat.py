"""`holdfast demo chat`: one command, and there is an agent to talk to."""
import json
import os
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from program import ENVIRONMENT
from server import PROGRAM


class Chat:
    """The command as a process, and the one who follows the link that it prints."""

    def __init__(self, temporary, *flags):
        command = [str(PROGRAM), "demo", "chat", "--port", "0", *flags]
        environment = {**ENVIRONMENT, "TMPDIR": str(temporary)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self.printed = ""
        for line in self.process.stdout:
            self.printed += line
            if link := re.search(r"(http://\S+)/#(token=\S+)", line):
                self.url, fragment = link.groups()
                self.link = dict(urllib.parse.parse_qsl(fragment))
                return
        raise AssertionError(f"no link: {self.printed}")

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.link['token']}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.url}/v1/sessions/ann:echo:t1/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def say(self, text):
        return self.call("POST", "events", {"type": "user_message", "payload": {"text": text}})

    def told(self, count):
        """All messages, once there are so many."""
        deadline = time.monotonic() + 20
        while len(messages := self.call("GET", "messages")["items"]) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        return [(message["content"], message["auto"]) for message in messages]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


@pytest.fixture
def start(tmp_path):
    started = []

    def start(*flags):
        started.append(Chat(tmp_path, *flags))
        return started[-1]

    yield start
    for chat in started:
        chat.process.kill()
        chat.process.wait()
        chat.process.stdout.close()


def test_it_prints_a_link_and_answers_and_leaves_nothing_behind(start, tmp_path):
    chat = start("--follow-up", "0.2")
    assert chat.link["to"] == "/chat" and "in memory" in chat.printed
    chat.say("hi")
    assert chat.told(2) == [("You said: hi", False), ("Still there? You last said: hi", True)]
    assert os.listdir(tmp_path), "the key of its tokens"
    assert chat.stop() == 0
    assert not os.listdir(tmp_path)


def test_with_a_directory_the_conversation_goes_on_where_it_was(start, tmp_path):
    data = "--data", str(tmp_path / "data")
    chat = start(*data)
    chat.say("one")
    assert chat.told(1) == [("You said: one", False)]
    assert chat.stop() == 0
    again = start(*data)
    assert again.say("two")["seq"] == 2
    assert again.told(2) == [("You said: one", False), ("You said: two", False)]


def test_it_says_what_it_takes(holdfast):
    shown = holdfast.run("demo", "chat", "--help")
    assert all(flag in shown for flag in ("--port", "--data", "--follow-up"))
    assert "--follow-up" in holdfast.run("demo", "chat", "--follow-up", "0", code=2)
    assert "which world" in holdfast.run("demo", code=2)
