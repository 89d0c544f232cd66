#!/usr/bin/python3
"""How long after a command is taken its change reaches a subscriber, while others load the server.

    bench/surface/push.py --port 8000 --token T [--seconds 5] [--connections 64]

Starts holdfast_surface_load (artefact.put) and listens to the events that it causes. An event says the millisecond in which
its command began: what is measured contains the command's own work and its commit.
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import time

import websocket

LOAD = pathlib.Path(__file__).resolve().parents[2] / "build/release/bench/holdfast_surface_load"


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--port", type=int, default=8000)
    flags.add_argument("--token", required=True)
    flags.add_argument("--seconds", type=float, default=5)
    flags.add_argument("--connections", type=int, default=64)
    given = flags.parse_args()
    socket = websocket.create_connection(f"ws://127.0.0.1:{given.port}/v1/pm/ws", timeout=10,
                                         subprotocols=["holdfast", f"bearer.{given.token}"])
    project = "00000000-0000-4000-8000-000000000000"
    socket.send(json.dumps({"type": "subscribe", "id": "e", "entity": "Event", "partition": {"projectId": project}}))
    command = [LOAD, "--port", str(given.port), "--token", given.token, "--workload", "artefact",
               "--connections", str(given.connections), "--seconds", str(given.seconds)]
    load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    late = []
    end = time.time() + given.seconds
    while time.time() < end:
        message = json.loads(socket.recv())
        if message["type"] == "change" and message["change"] == "insert":
            began = datetime.datetime.fromisoformat(message["item"]["createdAt"].replace("Z", "+00:00")).timestamp()
            late.append((time.time() - began) * 1000)
    print(load.communicate()[0].strip())
    late.sort()
    at = lambda share: round(late[min(len(late) - 1, int(len(late) * share))], 1)
    print(json.dumps({"pushed": len(late), "p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99)}))


if __name__ == "__main__":
    main()
