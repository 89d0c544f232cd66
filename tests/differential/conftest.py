"""Counts the differences that were explained and shows them at the end.

(With this file here, pytest also lets the modules of the directory import each other by name.)
"""
import collections

import pytest

SEEN = collections.Counter()


@pytest.fixture
def seen():
    """How often each class of difference occurred."""
    return SEEN


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("explained differences")
    for name, count in sorted(SEEN.items()):
        terminalreporter.write_line(f"{count:6} {name}")
