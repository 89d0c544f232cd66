"""The Python worker's own part of the promises, against a server that does on purpose what a real one does rarely."""
import http.server
import json
import subprocess
import sys
import threading
import time

import pytest
from holdfast_agents import Refused, TurnCancelled, Worker
from server import ROOT
from surface import eventually


def work(seq=1, **more):
    event = {"seq": seq, "id": f"e{seq}", "type": "user_message", "payload": {"text": "hi"}, "at": 0, "origin": "user"}
    return {
        "session": "ann:guide:t1", "epoch": 1, "lease_until": 0, "checkpoint": None, "events": [event],
        "state": {"auto_n": 0, "auto_at": None, "n_tail": 0}, "policy": {}, **more,
    }  # fmt: skip


class Scripted:
    """Answers each call with the next of what is written for it, then with what does nothing. LOST closes
    the connection instead; SILENT leaves the caller waiting."""

    LOST, SILENT = object(), object()
    IDLE = {"claim": {"work": []}, "commit": {"seq": 1}, "heartbeat": {"ok": [], "lost": [], "cancel": []}, "release": {}}

    def __init__(self, **script):
        self.script, self.asked, self.lock = script, {call: [] for call in self.IDLE}, threading.Lock()
        scripted = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                call = self.path.rpartition("/")[2]
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with scripted.lock:
                    scripted.asked[call].append(body)
                    rest = scripted.script.get(call, [])
                    answer = rest.pop(0) if rest else scripted.IDLE[call]
                if answer is scripted.SILENT:
                    self.rfile.read(1)  # until the caller hangs up
                if answer in (scripted.LOST, scripted.SILENT):
                    self.close_connection = True
                    return
                if answer is scripted.IDLE["claim"]:
                    time.sleep(min(body["wait_ms"] / 1000, 0.05))  # as a long poll does
                status, answer = answer if isinstance(answer, tuple) else (200, answer)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def worker(self, turn, **options):
        return Worker(self.url, "token", ["guide"], turn, **options)

    def first(self, call):
        return eventually(lambda: self.asked[call])[0]


@pytest.fixture
def scripted():
    started = []

    def start(**script):
        started.append(Scripted(**script))
        return started[-1]

    yield start
    for server in started:
        server.server.shutdown()
        server.server.server_close()


def refusal(status, error, **details):
    return status, {"error": error, "message": error, "requestId": "r", "details": details}


def test_a_turn_is_committed_with_all_it_did(scripted):
    given = work(checkpoint={"seq": 3, "data": {"count": 3}})
    server = scripted(claim=[{"work": [given]}])

    def turn(turn):
        turn.send("plain")
        turn.send("fragile", delivery="at_most_once")
        turn.schedule_timer("a", delay_ms=5, payload={"x": 1}, keep=True)
        turn.schedule_timer("b", fire_at=99)
        turn.cancel_timer("c")
        turn.webhook("http://127.0.0.1/hook", {"y": 2})
        turn.usage = {"tokens": 7}
        return {"count": turn.state["count"] + len(turn.events)}

    with server.worker(turn):
        commit = server.first("commit")
    assert commit.pop("token")
    assert commit == {
        "session": "ann:guide:t1", "epoch": 1, "upto": 1, "checkpoint": {"count": 4}, "usage": {"tokens": 7}, "then": "release",
        "effects": [
            {"type": "send_message", "content": "plain"},
            {"type": "send_message", "content": "fragile", "delivery": "at_most_once"},
            {"type": "schedule_timer", "timer_id": "a", "delay_ms": 5, "payload": {"x": 1}, "keep": True},
            {"type": "schedule_timer", "timer_id": "b", "fire_at": 99},
            {"type": "cancel_timer", "timer_id": "c"},
            {"type": "webhook", "url": "http://127.0.0.1/hook", "body": {"y": 2}},
        ],
    }  # fmt: skip


def test_a_commit_whose_answer_is_lost_is_sent_again_under_the_same_token(scripted):
    server = scripted(claim=[{"work": [work()]}], commit=[Scripted.LOST, refusal(503, "Throttled"), {"seq": 1}])
    runs = []
    with server.worker(lambda turn: runs.append(turn)):
        eventually(lambda: len(server.asked["commit"]) == 3)
    first, *again = server.asked["commit"]
    assert again == [first, first] and len(runs) == 1
    assert not server.asked["release"]


def test_a_claim_whose_answer_is_lost_is_made_again_under_the_same_name(scripted):
    server = scripted(claim=[Scripted.LOST, {"work": [work()]}])
    with server.worker(lambda turn: {}):
        eventually(lambda: len(server.asked["claim"]) > 2)
    first, again, next, *_ = (claim["req"] for claim in server.asked["claim"])
    assert first == again != next


def test_no_more_is_claimed_than_there_are_threads(scripted):
    other = {"session": "bob:guide:t1"}
    server = scripted(claim=[{"work": [work()]}, {"work": [work(**other)]}])
    go = threading.Event()
    with server.worker(lambda turn: go.wait(20) and {}, concurrency=2):
        eventually(lambda: len(server.asked["claim"]) == 2)
        go.set()
        eventually(lambda: len(server.asked["commit"]) == 2)
        eventually(lambda: len(server.asked["claim"]) > 2)
    assert [claim["max"] for claim in server.asked["claim"][:2]] == [2, 1]


def test_a_handler_that_raises_releases_with_its_error(scripted):
    server = scripted(claim=[{"work": [work()]}])

    def turn(turn):
        turn.send("never sent")
        raise KeyError("nothing there")

    with server.worker(turn, retry_after_ms=70):
        release = server.first("release")
    assert release == {"session": "ann:guide:t1", "epoch": 1, "error": "KeyError: 'nothing there'", "retry_after_ms": 70}
    assert not server.asked["commit"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"cancel": [{"session": "ann:guide:t1", "epoch": 1, "reason": "user_message"}]}, "user_message"),
        ({"lost": [{"session": "ann:guide:t1", "epoch": 1}]}, "lost"),
    ],
)
def test_the_heartbeat_renews_the_lease_and_says_when_to_stop(scripted, answer, reason):
    server = scripted(claim=[{"work": [work()]}], heartbeat=[{}, {}, answer])
    reasons = []

    def turn(turn):
        eventually(lambda: turn.cancelled)
        reasons.append(turn.cancel_reason)
        raise TurnCancelled

    with server.worker(turn, lease_ms=90):
        release = server.first("release")
    assert reasons == [reason]
    assert release == {"session": "ann:guide:t1", "epoch": 1}, "to be told to stop is no failure"
    assert server.asked["heartbeat"][:3] == [{"leases": [{"session": "ann:guide:t1", "epoch": 1}]}] * 3


def test_what_a_fenced_worker_did_is_dropped(scripted):
    server = scripted(claim=[{"work": [work()]}], commit=[refusal(409, "Fenced")])
    with server.worker(lambda turn: {}):
        server.first("commit")
        eventually(lambda: len(server.asked["claim"]) > 3)
    assert len(server.asked["commit"]) == 1 and not server.asked["release"]


def test_a_rejected_turn_may_be_revised_once(scripted):
    server = scripted(claim=[{"work": [work()]}], commit=[refusal(409, "Rejected", reason="cap"), refusal(409, "Rejected", reason="cap")])
    seen = []

    def turn(turn):
        seen.append(turn.rejected)
        turn.send(f"try {len(seen)}")

    with server.worker(turn):
        release = server.first("release")
    assert seen == [None, "cap"] and "Rejected" in release["error"]
    first, second = server.asked["commit"]
    assert first["token"] != second["token"]
    assert [effect["content"] for effect in second["effects"]] == ["try 2"]


def test_a_worker_that_is_not_wanted_says_so(scripted):
    server = scripted(claim=[refusal(401, "Unauthorized")])
    with pytest.raises(Refused, match="Unauthorized"):
        server.worker(lambda turn: {}).run()


def test_stopping_gives_back_what_a_claim_under_way_may_have_got(scripted):
    server = scripted(claim=[Scripted.SILENT, {"work": [work()]}])
    worker = server.worker(lambda turn: {}).start()
    server.first("claim")
    worker.stop()
    waited, again = server.asked["claim"]
    assert waited["req"] == again["req"] and again["wait_ms"] == 0
    assert server.asked["release"] == [{"session": "ann:guide:t1", "epoch": 1}] and not server.asked["commit"]


def test_workers_need_nothing_beside_python():
    program = "import sys; sys.modules['websockets'] = None; from holdfast_agents import Worker, Client; print(Worker.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": ROOT / "clients" / "python"}, capture_output=True, text=True
    )
    assert done.stdout == "Worker\n", done.stderr
