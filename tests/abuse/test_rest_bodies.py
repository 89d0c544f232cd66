"""A JSON body cost a hundred times its size only to say what is wrong with it: eight of them ended the server."""
import json
import subprocess

import pytest
from abuse import MB, Neighbour, cost_of, http
from server import PROGRAM
from surface import Caller, Surface

ZEROS = b"0," * 400_000 + b"0"


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "master.keys"
    subprocess.run([PROGRAM, "keys", "create", keys], check=True, capture_output=True)
    surface = Surface(tmp_path_factory.mktemp("abused") / "data", "--key-file", keys)
    yield surface
    assert surface.server.stop() == 0


def post(surface, body, path="/v1/pos/entities/TASK"):
    token = Caller(surface, "ann", "user").token
    return http("POST", path, body, Authorization=f"Bearer {token}", Content_Type="application/json")


def test_a_faulty_body_costs_what_a_sound_one_does(surface):
    body = b'{"a":[' + ZEROS + b'],"title":"x","title":"y"}'
    with Neighbour(surface.server):
        cost = cost_of(surface.server, [post(surface, body)] * 8)
    for answer in cost.answers:
        assert answer.status == 400 and b"the member title stands twice" in answer.body, answer
    # Of each: its text, an entry of 24 bytes for each value while its list is open, the parser.
    assert cost.grown <= 64 * MB + 8 * 40 * len(body), cost.grown >> 20


def test_an_entity_has_a_body_near_an_items_size(surface):
    large = b'{"title":"' + b"x" * (1 << 20) + b'"}'
    with Neighbour(surface.server):
        cost = cost_of(surface.server, [post(surface, large)] * 4)
    for answer in cost.answers:
        assert answer.status == 413 and json.loads(answer.body)["error"] == "BodyTooLarge", answer
    assert cost.grown <= 64 * MB
    # A transaction has many items: its body is read, and found to be none.
    answer = cost_of(surface.server, [post(surface, large, "/v1/pos/transact")]).answers[0]
    assert answer.status == 400, answer
