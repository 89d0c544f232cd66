"""The access patterns and commands of the shipped models through the remote store: on holdfast's server and on AWS's own
DynamoDB Local, each with the same data and the same answers as in this process.

DynamoDB Local knows no vector search, and a model that needs it is refused there. It is asked with a copy of the model
that has no vector index and not the one pattern that searches it; all the others run.
"""
import json
import os
import re
import subprocess

import pytest
import yaml
from implementations import Implementation, install
from server import ROOT

CASES = ("auto", "pm", "pos", "pos-tenant-scope", "trip")
COMMANDS = ("auto", "pm", "pos", "trip")
SEARCH = "TRIP-A-01"


def patterns():
    for database in ("holdfast", "local"):
        for cases in CASES:
            text = (ROOT / "tests" / "models" / "cases" / f"{cases}.yaml").read_text()
            for pattern in yaml.safe_load(text)["patterns"]:
                if database == "holdfast" or pattern != SEARCH:
                    yield database, cases, pattern


def commands():
    for database in ("holdfast", "local"):
        for model in COMMANDS:
            ids = yaml.safe_load((ROOT / "models" / f"{model}.yaml").read_text())["commands"]
            text = (ROOT / "tests" / "models" / "commands" / f"{model}.yaml").read_text()
            for command in yaml.safe_load(text)["commands"]:
                yield database, model, f"{ids[command]['id']} {command}"


def without_vectors(directory):
    """The shipped models in `directory`, but for vector indexes and the pattern that searches one."""
    for model in (ROOT / "models").glob("*.yaml"):
        text = re.sub(r"^    vectors:\n(?:      .*\n)+", "", model.read_text(), flags=re.M)
        (directory / model.name).write_text(re.sub(rf"^  {SEARCH}:\n(?:    .*\n)+", "", text, flags=re.M))
    return directory


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    """What a test program says of each pattern or command, by database and file of cases; each is run once."""
    servers, known = {}, {}

    def of(name, database, cases):
        if (name, database, cases) in known:
            return known[name, database, cases]
        if database not in servers:
            install()
            servers[database] = Implementation(database, tmp_path_factory.mktemp("log"))
        report = tmp_path_factory.mktemp("report") / "report.json"
        environment = {
            **os.environ,
            "HOLDFAST_TEST_ENDPOINT": f"http://127.0.0.1:{servers[database].port}",
            "HOLDFAST_TEST_CASES": f"{cases}.yaml",
        }
        skipped = ""
        if database == "local":
            environment["HOLDFAST_TEST_MODELS"] = str(without_vectors(tmp_path_factory.mktemp("models")))
            skipped = f"*.{SEARCH}"
        program = ROOT / "build" / "release" / "tests" / name
        subprocess.run([program, f"--gtest_output=json:{report}", f"--gtest_filter=-{skipped}"], env=environment,
                       timeout=300, capture_output=True)  # fmt: skip
        suites = json.loads(report.read_text())["testsuites"]
        answer = {test["name"]: test.get("failures", []) for suite in suites for test in suite["testsuite"]}
        known[name, database, cases] = answer
        return answer

    yield of
    for server in servers.values():
        server.stop()


@pytest.mark.parametrize("database, cases, pattern", patterns())
def test_the_pattern_answers_as_in_this_process(answers, database, cases, pattern):
    assert answers("model_patterns_test", database, cases)[pattern] == []


@pytest.mark.parametrize("database, model, command", commands())
def test_the_command_does_as_in_this_process(answers, database, model, command):
    assert answers("model_commands_test", database, model)[command] == []
