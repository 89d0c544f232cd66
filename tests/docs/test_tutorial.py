"""docs/tutorial.md does what it says: its commands run, print what it shows, and its files are those under examples/."""
import os
import re
import socket
import subprocess
import time

import pytest
from server import ROOT, free_port

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
SHOWN = re.findall(r"^<!-- (\S+) -->\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
# Language, what it is for, text.
BLOCKS = re.findall(r"^```(sh|text)[ ]?(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path, part", SHOWN, ids=range(len(SHOWN)))
def test_what_is_shown_is_what_is_there(path, part):
    assert part in (ROOT / path).read_text()


def until(happened, what):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen in 30 s")


def matches(shown, printed):
    """Whether the lines are as shown, where … is anything."""
    lines = [re.escape(line).replace("…", ".*") for line in shown.splitlines()]
    return re.fullmatch("\n".join(lines), printed.strip()) is not None


class Shell:
    """One bash in a directory that looks like the repository, so that blocks build on each other."""

    DONE = "-- done --"

    def __init__(self, directory, port):
        self.directory = directory
        self.port = port
        for name in ("build", "examples"):
            (directory / name).symlink_to(ROOT / name)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        self.process = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=directory, env=environment
        )
        node = subprocess.run(
            ["bash", "-c", ". scripts/packages.sh && node_command"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        self.run(f"shopt -s expand_aliases\nset -m\nalias node={node}\n")

    def run(self, text):
        self.process.stdin.write(f"{text.replace('8000', str(self.port))}\necho '{self.DONE}'\n")
        self.process.stdin.flush()
        printed = ""
        for line in self.process.stdout:
            if line.strip() == self.DONE:
                return printed
            printed += line
        raise AssertionError(f"the shell ended at: {text}")

    def start(self, name, text):
        """In the background; what it prints is in a file of that name."""
        self.run(f"{{ {text}\n}} >{name}.log 2>&1 </dev/null &")

    def printed_by(self, name):
        file = self.directory / f"{name}.log"
        return file.read_text() if file.exists() else ""

    def stop(self):
        # Each job is a process group: what it started goes with it.
        self.run("for job in $(jobs -p); do kill -- -$job; done; wait")
        self.process.stdin.close()
        self.process.wait(timeout=30)


@pytest.fixture
def shell(tmp_path):
    shell = Shell(tmp_path, free_port())
    yield shell
    shell.stop()


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_commands_print_what_is_shown(shell):
    printed = ""
    for language, purpose, text in BLOCKS:
        if language == "sh" and purpose == "server":
            shell.start("server", text)
            until(lambda: answers(shell.port), f"a server: {shell.printed_by('server')}")
        elif language == "sh" and purpose == "watch":
            shell.start("watch", text)
            until(lambda: "watching" in shell.printed_by("watch"), "a subscription")
        elif language == "sh":
            printed = shell.run(text)
        elif purpose == "watch":
            until(lambda: matches(text, shell.printed_by("watch")), f"{text} instead of {shell.printed_by('watch')}")
        else:
            assert matches(text, printed), f"shown:\n{text}\nprinted:\n{printed}"
