"""A server that strangers mistreat."""
import pytest
from server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("abused") / "data", "--log-level", "error", "--models", "none")
    yield server
    assert server.stop() == 0
