"""Clients in numbers, each of which does something that clients do not do. A crowd makes what it needs on the server, takes up
its position and stays there until the stack that it is given unwinds. bench/abuse measures what another client notices
meanwhile; tests/abuse/test_connections.py holds the same to bounds."""
import socket

from abuse import Client, dynamodb, http, make_table
from server import done

CROWDS = {}


def crowd(function):
    CROWDS[function.__name__] = function
    return function


def _large_items(server, count):
    make_table(server, "large")
    for i in range(count):
        done(server.url, "PutItem", {"TableName": "large", "Item": {"id": {"S": str(i)}, "text": {"S": "x" * 390_000}}})


@crowd
def eight_clients_send_ahead_and_do_not_read(server, stack):
    """Each 400 GetItems of 390 KB."""
    _large_items(server, 1)
    ahead = dynamodb("GetItem", {"TableName": "large", "Key": {"id": {"S": "0"}}}) * 400
    clients = [stack.enter_context(Client(server, receive_buffer=16 << 10)) for _ in range(8)]
    for client in clients:
        # Makes room in the server's buffer, so that all the rest is read at once.
        client.send(dynamodb("GetItem", b" " * 250_000))
        assert client.answer().status == 400
        client.send_what_fits(ahead)
    return clients


@crowd
def ten_clients_ask_for_16_mb_and_do_not_read(server, stack):
    _large_items(server, 40)
    keys = [{"id": {"S": str(i)}} for i in range(40)]
    request = dynamodb("BatchGetItem", {"RequestItems": {"large": {"Keys": keys}}})
    for client in [stack.enter_context(Client(server, receive_buffer=16 << 10)) for _ in range(10)]:
        client.send(request)


@crowd
def ten_thousand_clients_are_idle(server, stack):
    clients = [stack.enter_context(Client(server)) for _ in range(10_000)]
    for client in clients:
        client.send(http("GET", "/health"))
    for client in clients:
        assert client.answer().status == 200


@crowd
def two_thousand_clients_send_half_a_request(server, stack):
    part = dynamodb("PutItem", b"x" * 10_000)[:-5_000]
    for client in [stack.enter_context(Client(server)) for _ in range(2_000)]:
        client.send(part)


@crowd
def five_thousand_clients_half_close_and_leave(server, stack):
    for _ in range(5_000):
        with Client(server) as client:
            client.send(http("GET", "/health"))
            client.socket.shutdown(socket.SHUT_WR)
            assert client.answer().status == 200


@crowd
def five_hundred_clients_name_a_body_of_16_mb(server, stack):
    """And send 1 KB of it."""
    part = dynamodb("PutItem", b"x" * 1_000, Content_Length=16_000_000)
    for client in [stack.enter_context(Client(server)) for _ in range(500)]:
        client.send(part)
