"""A holdfast with its models and a master key."""
import subprocess

import pytest
from server import PROGRAM
from surface import Surface


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Master keys for encrypted attributes."""
    file = tmp_path_factory.mktemp("keys") / "master.keys"
    subprocess.run([PROGRAM, "keys", "create", file], check=True, capture_output=True)
    return file


@pytest.fixture(scope="module")
def surface(tmp_path_factory, keys):
    surface = Surface(tmp_path_factory.mktemp("surface") / "data", "--key-file", keys)
    yield surface
    assert surface.server.stop() == 0
