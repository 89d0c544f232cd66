"""Single requests that ask for more work or memory than a request may cost.

An attack makes what it needs on the server and gives the requests to be sent at once. The tests in test_attacks.py send each
to a real server and hold it to its memory; bench/abuse records processor time too, and what another client noticed. A new
attack is a function here:

    @attack
    def filters_with_many_operands(server):
        return [dynamodb("Query", ...)]
"""
import gzip

from abuse import MB, dynamodb, make_table

ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


@attack
def gzip_bomb(server):
    """64 KB that become 64 MB."""
    bomb = gzip.compress(bytes(64 * MB), 9)
    return [dynamodb("PutItem", bomb, Content_Encoding="gzip")] * 4


@attack
def deep_document(server):
    return [dynamodb("PutItem", '{"Item":{"a":' + '{"L":[' * 200_000 + "]}" * 200_000 + "}}")]


@attack
def wide_document(server):
    """A sound body of the largest size, whose item is too large."""
    make_table(server, "attacked")
    item = {"id": {"S": "1"}, "l": {"L": [{"N": "1"}] * 1_300_000}}
    return [dynamodb("PutItem", {"TableName": "attacked", "Item": item})]
