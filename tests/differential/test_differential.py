"""Sends the same requests to holdfast, DynamoDB Local and dynoxide, and wants every difference explained.

    HOLDFAST_DIFFERENTIAL_SEED=7 HOLDFAST_DIFFERENTIAL_COUNT=20000 pytest tests/differential

makes another and longer script. HOLDFAST_PROGRAM is the holdfast to test.
"""
import json
import os

import pytest

from cases import CASES
from classes import CLASSES
from generator import Generator
from implementations import HERE, Implementation, install
from runner import Runner

SEED = os.environ.get("HOLDFAST_DIFFERENTIAL_SEED", "1")
COUNT = int(os.environ.get("HOLDFAST_DIFFERENTIAL_COUNT", "1500"))
SCRIPT_STEPS = 250
NAMES = list(dict.fromkeys(each.name for each in CLASSES))


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    install()
    logs = tmp_path_factory.mktemp("logs")
    started = []
    try:
        for name in ("holdfast", "local", "dynoxide"):
            started.append(Implementation(name, logs))
        yield Runner(started)
    finally:
        for implementation in started:
            implementation.stop()


def check(found, seen):
    seen.update(name for _, name in found if name)
    unexplained = [described(difference) for difference, name in found if name is None]
    assert not unexplained, "\n".join(unexplained)


def described(difference):
    def shown(value):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)

    lines = [
        f"{difference.step.operation} {shown(difference.step.request)}",
        f"  {difference.member} differs from {difference.peer}",
    ]
    lines += [
        f"  {name}: {answer.status} {shown(answer.body)}" for name, answer in difference.answers.items()
    ]
    return "\n".join(line[:2000] for line in lines)


@pytest.mark.parametrize("name", CASES)
def test_case(name, runner, seen):
    runner.empty_tables()
    for step in CASES[name]:
        check(runner.run(step), seen)


@pytest.mark.parametrize("part", range(-(-COUNT // SCRIPT_STEPS)))
def test_script(part, runner, seen):
    runner.empty_tables()
    for step in Generator(f"{SEED}/{part}").script(min(SCRIPT_STEPS, COUNT - part * SCRIPT_STEPS)):
        found = runner.run(step)
        check(found, seen)
        runner.settle(found)


@pytest.mark.parametrize("name", NAMES)
def test_class(name, seen):
    """A class must have occurred above, lest it outlive the difference, and be explained to the user."""
    assert seen[name]
    assert f"**{name}**" in (HERE.parents[1] / "docs" / "compatibility.md").read_text()
