"""Commands of a model: inputs in every form, one transaction, refusals with their exit codes (SURF-03)."""
import json

from program import FERRY
from server import PROGRAM
from test_others import completed


def sold(ferry):
    crossing = ferry.json("get", "ferry", "Crossing", "id=a")
    tickets = ferry.json("query", "tickets", "--crossing", "a")["items"]
    assert len(tickets) == crossing["sold"]
    return [(ticket["seat"], ticket["passenger"]) for ticket in tickets]


def test_a_command_writes_all_that_it_says_or_nothing(ferry):
    answer = ferry.json("run", "ferry", "ticket.buy", "crossing=a", "passenger=Ines")
    assert answer["result"]["seat"] == 1 and answer["created"] and answer["changed"]
    assert answer["emitted"] == [{"name": "ticket_sold", "body": {"crossing": "a", "left": 1}}]
    ferry.run("run", "ferry", "ticket.buy", "crossing=a", "passenger=Oskar")
    ferry.refused(4, "SoldOut", "run", "ferry", "ticket.buy", "crossing=a", "passenger=Lou")
    assert sold(ferry) == [(1, "Ines"), (2, "Oskar")]


def test_inputs_come_as_fields_json_files_and_standard_input(ferry, tmp_path):
    (tmp_path / "input.json").write_text(json.dumps({"crossing": "a", "passenger": "nobody"}))
    buy = ("run", "ferry", "ticket.buy")
    assert ferry.json(*buy, "--input", f"@{tmp_path / 'input.json'}", "passenger=Ines")["result"]["passenger"] == "Ines"
    ferry.json(*buy, "--input", "-", given='{"crossing": "a", "passenger": "Oskar"}')
    assert [name for _, name in sold(ferry)] == ["Ines", "Oskar"]
    ferry.refused(4, "SoldOut", *buy, "--input", '{"crossing": "a", "passenger": "Lou"}')
    ferry.refused(2, "Usage", *buy, "--input", "{")


def test_people_see_the_result_and_what_was_told(ferry):
    lines = ferry.run("run", "ferry", "ticket.buy", "crossing=a", "passenger=Ines").splitlines()
    assert "seat: 1" in lines and 'emitted ticket_sold: {"crossing":"a","left":1}' in lines


def test_what_is_wrong_is_refused_by_name(ferry):
    buy = ("run", "ferry", "ticket.buy")
    ferry.refused(3, "NotFound", *buy, "crossing=b", "passenger=Ines")
    ferry.refused(5, "ValidationError", *buy, "crossing=a")
    ferry.refused(5, "ValidationError", *buy, "crossing=a", "passenger=Ines", "meal=soup")
    ferry.refused(3, "NotFound", "run", "ferry", "ticket.sell")
    ferry.refused(3, "NotFound", "run", "boat", "ticket.buy")
    ferry.json("patch", "ferry", "Crossing", "id=a", "status=boarding")
    ferry.refused(4, "NotOpen", *buy, "crossing=a", "passenger=Ines")
    assert sold(ferry) == []


def test_the_same_key_writes_once(ferry):
    words = ("run", "ferry", "ticket.buy", "crossing=a", "--idempotency-key", "k-1")
    first = ferry.json(*words, "passenger=Ines")
    again = ferry.json(*words, "passenger=Ines")
    assert again["replayed"] and again["result"] == first["result"]
    ferry.refused(4, "IdempotencyMismatch", *words, "passenger=Oskar")
    assert sold(ferry) == [(1, "Ines")]


def test_a_model_shows_its_commands(holdfast):
    assert holdfast.json("model", "show", FERRY)["commands"] == {"ticket.buy": "Buy a ticket"}
    shown = holdfast.json("model", "show", FERRY, "ticket.buy")
    assert shown["writes"] == ["Ticket", "Crossing"] and shown["refusals"] == ["NotOpen", "SoldOut"]
    assert set(shown["input"]) == {"crossing", "passenger"}


def test_bash_completes_models_commands_and_inputs(holdfast, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MODELS", str(FERRY))
    script = holdfast.run("completion", "bash")
    assert "ferry" in completed(script, PROGRAM, "run", "")
    assert completed(script, PROGRAM, "run", "ferry", "tick") == ["ticket.buy"]
    assert completed(script, PROGRAM, "run", "ferry", "ticket.buy", "pas") == ["passenger="]
    assert "--idempotency-key" in completed(script, PROGRAM, "run", "ferry", "ticket.buy", "--id")
