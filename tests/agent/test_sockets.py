"""The agent runtime's WebSockets: what workers and devices are told, and what is answered to nonsense."""
import json

import pytest
import websocket
from surface import eventually
from test_rest import say


def hello(worker, *agents, credit=8):
    talk = worker.open("/v1/work/ws")
    talk.send(t="hello", worker="w", agents=list(agents), credit=credit)
    talk.wait(t="ready")
    return talk


def commit(talk, work, *effects, id="c", **more):
    talk.send(**{"t": "commit", "id": id, "session": work["session"], "epoch": work["epoch"],
                 "upto": work["events"][-1]["seq"], "token": f"t{work['events'][-1]['seq']}", "checkpoint": {"n": 1},
                 "effects": list(effects), **more})


def connect(caller, key, **query):
    path = "&".join(f"{name}={value}" for name, value in {"session": key, **query}.items())
    return caller.open(f"/v1/connect?{path}")


def refused_handshake(caller, path, status):
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        caller.open(path)
    assert refused.value.status_code == status


def closed_with(talk):
    """The code with which the server closes, whatever it says before."""
    try:
        while True:
            opcode, data = talk.socket.recv_data()
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                return int.from_bytes(data[:2], "big")
    except websocket.WebSocketProtocolException:
        return 1013  # the one code that the client does not know


# The whole way over sockets: a user's words, a worker's turn, the answer on the user's device.
def test_a_conversation(ann, worker, agent, key):
    device, desk = connect(ann, key, device="web"), hello(worker, agent)
    assert device.wait(t="ready") == {"t": "ready", "n": 0, "ack": 0}
    device.send(t="user", id="c-81", text="hi")
    assert device.wait(t="ok") == {"t": "ok", "id": "c-81", "seq": 1}
    work = desk.wait(t="work")
    assert work["session"] == key and work["events"][0]["payload"] == {"text": "hi"}
    assert set(work) == {"t", "session", "epoch", "lease_until", "checkpoint", "events", "state", "policy"}
    commit(desk, work, {"type": "send_message", "content": "hello ann"}, id=7)
    assert desk.wait(t="committed") == {
        "t": "committed", "id": 7, "session": key, "seq": 1, "messages": [1], "suppressed": [], "next": None}
    message = device.wait(t="msg")
    assert {**message, "at": 0} == {
        "t": "msg", "n": 1, "id": f"{key}/1/0", "auto": False, "content": "hello ann", "at": 0}
    device.send(t="ack", n=1)
    effects = lambda: ann.send("GET", f"/v1/sessions/{key}/effects")["items"]
    eventually(lambda: effects()[0]["status"] == "completed")
    device.send(t="user", id="c-81", text="hi")
    assert device.wait(t="ok") == {"t": "ok", "id": "c-81", "seq": 1, "duplicate": True}
    # The worker keeps the session: what comes next is told with the same epoch.
    device.send(t="user", id="c-82", text="and?")
    again = desk.wait(t="work")
    assert again["epoch"] == work["epoch"] and again["checkpoint"] == {"seq": 1, "data": {"n": 1}}
    device.send(t="stop")
    assert desk.wait(t="cancel") == {"t": "cancel", "session": key, "epoch": work["epoch"], "reason": "stop"}
    desk.send(t="hb", leases=[{"session": key, "epoch": work["epoch"]}])
    beat = desk.wait(t="hb")
    assert beat["lost"] == [] and beat["ok"][0]["session"] == key and beat["ok"][0]["lease_until"] > 0
    desk.send(t="release", id="r", session=key, epoch=again["epoch"])
    assert desk.wait(t="released") == {"t": "released", "id": "r", "session": key}
    device.close()
    desk.close()


# A device that comes back is told what it missed, from where it says or from where it was.
def test_a_device_comes_back(ann, worker, agent, key):
    desk = hello(worker, agent)
    for i in range(3):
        say(ann, key, str(i))
        work = desk.wait(t="work")
        commit(desk, work, {"type": "send_message", "content": str(i)})
        desk.wait(t="committed")
    numbers = lambda talk, count: [talk.wait(t="msg")["n"] for _ in range(count)]
    device = connect(ann, key)
    assert device.wait(t="ready") == {"t": "ready", "n": 3, "ack": 0}
    assert numbers(device, 3) == [1, 2, 3]
    device.send(t="ack", n=2)
    device.close()

    def acked():
        again = connect(ann, key)
        ready = again.wait(t="ready")
        again.close()
        return ready["ack"] == 2
    eventually(acked)
    again, other = connect(ann, key), connect(ann, key, device="phone", after=1)
    assert numbers(again, 1) == [3] and numbers(other, 2) == [2, 3]
    again.close()
    other.close()
    desk.close()


# More than fits into a connection that nobody reads from: it all comes, in order, once it is read.
def test_a_device_that_reads_late(ann, worker, agent, key):
    desk = hello(worker, agent)
    for i in range(40):
        say(ann, key, str(i))
        commit(desk, desk.wait(t="work"), {"type": "send_message", "content": f"{i} " + "x" * 100_000})
        desk.wait(t="committed")
    device = connect(ann, key)
    assert [device.wait(t="msg")["content"].split()[0] for _ in range(40)] == [str(i) for i in range(40)]
    device.send(t="ack", n=40)
    device.close()
    desk.close()


@pytest.mark.parametrize("text", [
    "", "hello", "[]", "7", '{"t":7}', "{}", '{"t":"shout"}', '{"t":"commit"}', '{"t":"commit","id":{}}',
    '{"t":"hb"}', '{"t":"hb","leases":[{}]}', '{"t":"release"}', '{"t":"credit"}', '{"t":"credit","n":0}',
    '{"t":"credit","n":4,"x":1}', '{"t":"hello","worker":"w","agents":["guide"]}',
    '{"t":"commit","session":"ann:guide:t1","epoch":1,"upto":1,"token":"t","checkpoint":{},"colour":"red"}',
])
def test_nonsense_of_workers(worker, agent, text):
    desk = hello(worker, agent)
    desk.socket.send(text)
    error = desk.wait(t="error")
    assert (error["status"], error["error"]) == (400, "ValidationError") and error["message"]
    desk.send(t="hb", leases=[])
    assert desk.wait(t="hb") == {"t": "hb", "ok": [], "lost": []}
    desk.close()


def test_hello_comes_first(surface, worker, agent):
    desk = worker.open("/v1/work/ws")
    desk.send(t="hb", leases=[])
    assert desk.wait(t="error")["status"] == 400
    for wrong in ({"agents": []}, {"agents": None}, {"worker": "a b"}, {"credit": -1}, {"lease_ms": 1}, {"x": 1}):
        desk.send(**{"t": "hello", "worker": "w", "agents": [agent], **wrong})
        assert desk.wait(t="error")["status"] == 400
    desk.send(t="hello", worker="w", agents=[agent])
    desk.wait(t="ready")
    desk.close()
    narrow = surface.caller("w", "worker", "--agents", "other").open("/v1/work/ws")
    narrow.send(t="hello", worker="w", agents=[agent])
    assert narrow.wait(t="error")["status"] == 403
    narrow.close()


# What a worker may not touch is refused on its socket as it is over HTTP.
def test_refusals_over_a_socket(surface, ann, worker, agent, key):
    desk = hello(worker, agent)
    say(ann, key)
    work = desk.wait(t="work")
    commit(desk, {**work, "epoch": work["epoch"] + 7}, id="stale")
    fenced = desk.wait(t="fenced")
    assert (fenced["id"], fenced["session"], fenced["epoch"]) == ("stale", key, work["epoch"] + 7) and fenced["message"]
    commit(desk, work, {"type": "dance"}, id="e")
    error = desk.wait(t="error")
    assert (error["id"], error["session"], error["status"], error["error"]) == ("e", key, 400, "ValidationError")
    assert error["details"]["violations"][0]["path"] == "effects[0].type"
    commit(desk, {**work, "session": "pm:guide:t1"}, id="foreign")
    assert desk.wait(t="error")["status"] == 404
    assert ann.send("GET", f"/v1/sessions/{key}")["event_seq"] == 0
    commit(desk, work)
    desk.wait(t="committed")
    desk.close()


# Credit is how many sessions a worker works on at once: no more are given than that.
def test_credit(ann, worker, agent):
    desk = hello(worker, agent, credit=1)
    for i in range(3):
        say(ann, f"ann:{agent}:t{i}")
    first = desk.wait(t="work")
    desk.send(t="hb", leases=[])
    desk.wait(t="hb")
    assert desk.kept == []
    desk.send(t="credit", n=1)
    second = desk.wait(t="work")
    commit(desk, first, then="release")
    third = desk.wait(t="work")
    assert {work["session"] for work in (first, second, third)} == {f"ann:{agent}:t{i}" for i in range(3)}
    desk.close()


# What a worker held when its connection ended is another's soon.
def test_a_worker_that_goes(ann, worker, agent, key):
    desk = hello(worker, agent)
    say(ann, key)
    work = desk.wait(t="work")
    desk.close()
    other = hello(worker, agent)
    again = other.wait(t="work")
    assert again["session"] == key and again["epoch"] > work["epoch"]
    commit(other, again)
    other.wait(t="committed")
    other.close()


@pytest.mark.parametrize("text, status", [
    ("", 400), ("[]", 400), ('{"t":"shout"}', 400), ('{"t":"user"}', 400), ('{"t":"user","text":7}', 400),
    ('{"t":"user","text":"hi","x":1}', 400), ('{"t":"user","id":"a b","text":"hi"}', 400), ('{"t":"ack"}', 400),
    ('{"t":"ack","n":-1}', 400), ('{"t":"ack","n":"1"}', 400), ('{"t":"stop","x":1}', 400),
    (json.dumps({"t": "user", "text": "x" * (257 << 10)}), 413),
])
def test_nonsense_of_devices(ann, key, text, status):
    say(ann, key)
    device = connect(ann, key)
    device.wait(t="ready")
    device.socket.send(text)
    assert device.wait(t="error")["status"] == status
    assert ann.send("GET", f"/v1/sessions/{key}")["last_seq"] == 1
    device.close()


def test_handshakes(surface, ann, worker, key):
    say(ann, key)
    eve = surface.caller("eve", "user")
    refused_handshake(eve, f"/v1/connect?session={key}", 404)
    refused_handshake(worker, f"/v1/connect?session={key}", 403)
    refused_handshake(surface.caller("pm", "user"), "/v1/connect?session=pm:guide:t1", 404)
    refused_handshake(ann, "/v1/work/ws", 403)
    for query in ("", "?session=ann", f"?session={key}&device=a.b", f"?session={key}&device=" + "x" * 65,
                  f"?session={key}&after=-1", f"?session={key}&after=x", f"?session={key}&colour=red"):
        refused_handshake(ann, f"/v1/connect{query}", 400)
    assert ann.send("GET", "/v1/connect", session=key).status == 400
    assert worker.send("GET", "/v1/work/ws").status == 400


# A connection lasts no longer than the token that opened it.
def test_tokens_end(surface, agent, key):
    device = connect(surface.caller("ann", "user", "--ttl", "1s"), key)
    desk = surface.caller("w", "worker", "--ttl", "1s").open("/v1/work/ws")
    assert closed_with(device) == 1008
    assert closed_with(desk) == 1008


def test_a_deleted_session_ends_its_devices(ann, key):
    say(ann, key)
    device = connect(ann, key)
    device.wait(t="ready")
    assert ann.send("DELETE", f"/v1/sessions/{key}").status == 200
    assert closed_with(device) == 1013
    refused_handshake(ann, f"/v1/connect?session={key}", 410)
