"""A server with an agent runtime, those who use it, and sessions on it that no other test has."""
import itertools

import pytest
from agents import Agents
from receiver import Receiver
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


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    agents = Agents(tmp_path_factory.mktemp("agents") / "data")
    yield agents
    assert agents.server.stop() == 0


@pytest.fixture
def session(agents):
    return agents.session()


@pytest.fixture
def switch(agents):
    """Turns autonomy off and on; on again afterwards."""
    yield agents.autonomy
    agents.autonomy(True)


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()
