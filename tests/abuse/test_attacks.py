"""No single request takes the memory of the server, however it is made."""
import pytest
from abuse import MB, Neighbour, cost_of
from attacks import ATTACKS

# What a sound body of that size takes: the body itself, in and out of its compression, and the JSON parser's tape.
PER_BYTE = 18
BEYOND = 64 * MB


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_answered_within_its_memory_and_others_are_answered(server, name):
    requests = ATTACKS[name](server)
    with Neighbour(server):
        cost = cost_of(server, requests)
    assert all(answer.status for answer in cost.answers), cost.answers
    assert cost.grown <= sum(BEYOND + PER_BYTE * len(request) for request in requests), cost.grown >> 20
