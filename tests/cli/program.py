"""The program as a process: what it prints, and the exit code that it must give."""
import json
import os
import pathlib
import subprocess
import uuid

from server import PROGRAM, ROOT

LIBRARY = pathlib.Path(__file__).with_name("library.yaml")
FERRY = ROOT / "examples" / "ferry.yaml"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "HOLDFAST_"))}


class Holdfast:
    """The program with the flags that name a store."""

    def __init__(self, *flags, home):
        self.flags = [str(flag) for flag in flags]
        self.environment = {**ENVIRONMENT, "HOME": str(home)}  # nobody's own credentials

    def run(self, *words, code=0, given=None):
        """What it prints; `code` is the exit code that it must give."""
        command = [str(PROGRAM), *(str(word) for word in words), *self.flags]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, input=given, env=self.environment
        )
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if code == 0 or done.stdout else done.stderr

    def json(self, *words, **more):
        return json.loads(self.run(*words, "--json", **more))

    def refused(self, code, name, *words, **more):
        error = self.json(*words, code=code, **more)
        assert error["error"] == name, error
        assert error["message"]
        return error["details"]


class Library(Holdfast):
    """A store with the tables of a model, library.yaml unless told, under a stage of its own."""

    def __init__(self, *flags, home, model=LIBRARY):
        stage = "t" + uuid.uuid4().hex[:8]
        super().__init__(*flags, "--stage", stage, "--models", model, home=home)
        self.table = f"Library-{stage}"
        self.store = Holdfast(*flags, "--stage", stage, home=home)  # for commands that name models themselves
        self.applied = self.store.json("model", "apply", model)

    def add(self, name, *fields):
        return self.json("put", "library", "Book", f"id={name}", f"title=About {name}", *fields)

    def found(self, *words):
        return [item["id"] for item in self.json("query", *words)["items"]]
