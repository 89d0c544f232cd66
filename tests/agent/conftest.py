"""A holdfast with its agent runtime, and those who use it."""
import itertools

import pytest
from surface import Surface


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    surface = Surface(tmp_path_factory.mktemp("agents") / "data", "--models", "none")
    yield surface
    assert surface.server.stop() == 0


@pytest.fixture(scope="module")
def ann(surface):
    return surface.caller("ann", "user")


@pytest.fixture(scope="module")
def worker(surface):
    return surface.caller("w", "worker")


numbers = itertools.count()


@pytest.fixture
def agent():
    """The name of an agent that no other test uses, so that no other test's work is claimed."""
    return f"guide{next(numbers)}"


@pytest.fixture
def key(agent):
    return f"ann:{agent}:t1"
