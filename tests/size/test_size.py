"""The short form: as many table files as a large store has, with fewer items. One part after another on one store."""
import pytest
from parts import PARTS, SHORT, Store, check_disk


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    directory = tmp_path_factory.mktemp("size")
    check_disk(directory, SHORT)
    store = Store(directory / "data", SHORT)
    yield store
    store.server.kill()


@pytest.mark.parametrize("part", PARTS)
def test_it_is_right_at_any_size(store, part):
    PARTS[part](store)
    store.check_memory()


def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(tmp_path):
    from dataclasses import replace
    with pytest.raises(SystemExit, match="needs [0-9]+ GB in .* free: name another --directory"):
        check_disk(tmp_path, replace(SHORT, items=10**12))
    assert not list(tmp_path.iterdir())
