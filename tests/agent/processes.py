"""Workers and devices as processes, which can be killed."""
import json
import os
import pathlib
import subprocess
import sys
import threading

from server import ROOT
from surface import eventually

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = ROOT / "clients" / "python"


class Process:
    """Runs a Python program; `lines` has what it has printed so far."""

    def __init__(self, program, *arguments, **environment):
        self.lines = []
        self.process = subprocess.Popen(
            [sys.executable, str(program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment},
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def agent_process(session, lease_ms=30_000):
    """Does as the messages of its sessions say."""
    return Process(HERE / "agent_process.py", session.worker.url, session.worker.token, session.agent, lease_ms)


class DeviceProcess(Process):
    def __init__(self, session, device="web"):
        super().__init__(HERE / "device_process.py", session.user.url, session.user.token, session.key, device)

    def say(self, *orders):
        """The number of the event that it has become."""
        before = len(self.told("said"))
        self.tell(json.dumps(orders))
        return eventually(lambda: self.told("said")[before:])[0]["said"]

    def told(self, name):
        return [said for said in map(json.loads, list(self.lines)) if name in said]

    def shown(self, count):
        """The first so many messages, once they are all there."""
        return eventually(lambda: len(self.told("n")) >= count and self.told("n"))

    def contents(self, count):
        return [message["content"] for message in self.shown(count)]
