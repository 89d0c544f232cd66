#!/usr/bin/env python3
"""Measures the agent runtime beside the same design on PostgreSQL 15, and writes bench/results/agent.md.

    bench/agent/run.py [--seconds 5] [--rounds 3] [--sessions 1,16,100] [--only talk,timers,restart,memory] [--without NAME,…]

Contestants take turns, each with a store of its own that begins empty, so that a slow minute of the machine slows all of
them: read ratios of one run. Needs Debian's postgresql-15, Node 20 and, for holdfast with a C++ worker and client,
holdfast_agent_load; pg and ws come by npm.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "postgres")]
import cluster  # noqa: E402
import targets  # noqa: E402

PARTS = ["talk", "timers", "restart", "memory"]
TIMERS, TIMERS_PER_COMMIT = 200, 24
WARM_SECONDS = 1  # of a client, before it measures
NODE = {**os.environ, "NODE_PATH": str(targets.PEERS / "node_modules")}


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def spawn(words, **more):
    return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            env=NODE, **more)


def flags(given):
    return [word for flag, value in given.items() for word in (f"--{flag}", value)]


def finish(process):
    """The JSON of its last line."""
    output = process.communicate()[0]
    assert process.returncode == 0, f"{process.args} failed: {output}"
    return json.loads(output.strip().splitlines()[-1])


class Contestant:
    """A store, and an agent process that is started for each measurement. The client is Node's unless told otherwise."""
    agent = None

    def stop(self):
        self.agent.terminate()
        self.agent.wait()

    def close(self):
        if self.agent:
            self.agent.kill()
            self.agent.wait()
        self.store.close()

    def client(self, **given):
        return spawn(["node", HERE / "load" / "client.cjs", "--server", f"ws://127.0.0.1:{self.port}", "--token", self.token,
                      *flags(given)])

    def start_node(self, *words):
        self.agent = spawn(["node", *words])
        assert self.agent.stdout.readline() == "ready\n"

    def talk(self, sessions, seconds):
        """One measurement: what the client saw, and what an event cost the two processes."""
        self.start()
        before, cpu_before, agent_before = self.counts(), self.cpu_seconds(), self.agent_seconds()
        run = finish(self.client(sessions=sessions, seconds=seconds))
        events = run.get("total") or run["events"] * (run["seconds"] + WARM_SECONDS) / run["seconds"]
        run["store_cpu"] = (self.cpu_seconds() - cpu_before) * 1e6 / events
        run["agent_cpu"] = (self.agent_seconds() - agent_before) * 1e6 / events
        self.stop()
        run.update({name: (count - before[name]) / events for name, count in self.counts().items()})
        run["rate"] = run["events"] / run["seconds"]
        return run

    def agent_seconds(self):
        return cluster.ticks(self.agent.pid)[1] / os.sysconf("SC_CLK_TCK")


class Postgres(Contestant):
    token = "none"

    def __init__(self, how):
        self.how, self.port = how, targets.free_port()
        self.store = cluster.Cluster()
        self.counts, self.cpu_seconds = self.store.counts, self.store.cpu_seconds

    def start(self):
        self.start_node(HERE / "postgres" / "server.cjs", self.port, self.store.directory, self.how)

    def fill(self, sessions):
        """One event, its checkpoint and its message in each."""
        key = "'load:echo:fill-' || i"
        state = json.dumps({"turns": 1, "memory": "m" * 1000})
        for table, columns, values in (
                ("events", "id, session_key, seq, type, payload",
                 f"gen_random_uuid(), {key}, 1, 'user_message', '{{\"text\": \"Good morning\"}}'::jsonb"),
                ("checkpoints", "thread_id, checkpoint_id, checkpoint, metadata",
                 f"{key}, '000000000001', '{state}'::jsonb, '{{\"event_seq\": 1, \"consecutive_autonomous_msgs\": 0}}'::jsonb"),
                ("effects", "id, session_key, checkpoint_id, type, payload, dedupe_key, status",
                 f"gen_random_uuid(), {key}, '000000000001', 'send_message', "
                 f"'{{\"content\": \"You said: Good morning\"}}'::jsonb, {key}, 'completed'")):
            self.store.sql(f"INSERT INTO {table} ({columns}) SELECT {values} FROM generate_series(0, {sessions - 1}) i")
        self.store.sql("CHECKPOINT")

    def crash(self):
        self.agent.kill()
        self.agent.wait()
        self.store.kill()

    def begin_again(self):
        self.store.start()
        self.start()


class Holdfast(Contestant):
    def __init__(self):
        directory = tempfile.mkdtemp(prefix="holdfast-bench-")
        token = lambda role: subprocess.run([targets.HOLDFAST, "token", "--data", directory, "--subject", "load", "--role", role],
                                            check=True, capture_output=True, text=True).stdout.strip()
        self.token, self.worker_token = token("user"), token("worker")
        self.store = targets.Target("holdfast", directory)
        self.port, self.cpu_seconds = self.store.port, self.store.cpu_seconds

    def start(self):
        self.start_node(HERE / "load" / "worker.cjs", "--server", f"ws://127.0.0.1:{self.port}", "--token", self.worker_token)

    def counts(self):
        return {"writes": self.store.metric("holdfast_written_items_total"),
                "transactions": self.store.metric("holdfast_commit_answers_total"),
                "syncs": self.store.metric("holdfast_commit_groups_total")}

    def fill(self, sessions, text="Good morning"):
        return finish(spawn(["node", HERE / "load" / "fill.cjs", "--server", f"http://127.0.0.1:{self.port}", "--token", self.token,
                             "--worker-token", self.worker_token, "--sessions", sessions, "--text", text]))

    def crash(self):
        self.store.kill()

    def begin_again(self):
        self.store.start()


class Native(Holdfast):
    """The same server; worker and client are C++."""

    def program(self, mode, token, **given):
        return spawn([OPTIONS.native, "--server", f"http://127.0.0.1:{self.port}", "--mode", mode, "--token", token, *flags(given)])

    def start(self):
        self.agent = self.program("worker", self.worker_token, seconds=0)

    def client(self, **given):
        return self.program("client", self.token, warmup=WARM_SECONDS, **given)


CONTESTANTS = {
    "PostgreSQL, a statement a step": lambda: Postgres("alone"),
    "PostgreSQL, sessions share statements": lambda: Postgres("together"),
    "holdfast, Node worker and client": Holdfast,
    "holdfast, C++ worker and client": Native,
}
OPTIONS = argparse.Namespace()


def median(runs):
    return {figure: statistics.median(run[figure] for run in runs) for figure in runs[0]}


def per_event(run):
    return " | ".join("–" if run[figure] == 0 else f"{run[figure]:.2f}" for figure in ("writes", "transactions", "syncs"))


def talk(names):
    measured = {}
    for _ in range(OPTIONS.rounds):
        for name in names:
            contestant = CONTESTANTS[name]()
            try:
                for sessions in OPTIONS.sessions:
                    run = contestant.talk(sessions, OPTIONS.seconds)
                    measured.setdefault((sessions, name), []).append(run)
                    say(f"{name:38} {sessions:4} {run['rate']:8,.0f} /s  p50 {run['p50_ms']:7.2f}  p99 {run['p99_ms']:7.2f} ms  "
                        f"CPU µs {run['store_cpu']:5.0f} + {run['agent_cpu']:5.0f}  {per_event(run)}")
            finally:
                contestant.close()
    lines = ["## A message and its answer", "",
             "Each user sends, waits for the answer, and sends again; an agent keeps 1 KB of state. The event is durable before it is",
             "acknowledged, and the checkpoint before the answer goes out. Medians of "
             f"{OPTIONS.rounds} × {OPTIONS.seconds:g} s. CPU is that of the store (holdfast; PostgreSQL) and of the process that has the",
             "agent, rows, transactions and syncs are those of the store, all per event. Ratios are to PostgreSQL's two rows.", "",
             "| sessions | | events/s | × | p50 ms | p99 ms | store CPU µs | agent CPU µs | rows | transactions | syncs |",
             "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for sessions in OPTIONS.sessions:
        medians = {name: median(measured[sessions, name]) for name in names}
        rivals = [run["rate"] for name, run in medians.items() if "PostgreSQL" in name]
        for name, run in medians.items():
            ratios = " / ".join(f"{run['rate'] / rival:.1f}" for rival in rivals)
            lines.append(f"| {sessions} | {name} | {run['rate']:,.0f} | {ratios} | {run['p50_ms']:.2f} | {run['p99_ms']:.2f} | "
                         f"{run['store_cpu']:,.0f} | {run['agent_cpu']:,.0f} | {per_event(run)} |")
    return lines


def timers(names):
    lines = ["## How late a timer is", "",
             f"{TIMERS} sessions with one timer each, due within two seconds of each other: milliseconds from its moment to the event's",
             "own time, to the agent (the event is durable then), and to the user (the message that it led to is, too). Worst of "
             f"{OPTIONS.rounds} rounds.", "",
             "| | event min | p50 | p99 | agent p50 | p99 | user p50 | p99 |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    measured = {}
    for _ in range(OPTIONS.rounds):
        for name in names:
            contestant = CONTESTANTS[name]()
            try:
                contestant.start()
                measured.setdefault(name, []).append(finish(contestant.client(workload="timers", sessions=TIMERS)))
                contestant.stop()
            finally:
                contestant.close()
    for name, runs in measured.items():
        assert all(run["event"]["min"] >= 0 for run in runs), f"{name}: a timer came early: {runs}"
        cells = [f"{min(run['event']['min'] for run in runs):.1f}"] + [
            f"{max(run[place][share] for run in runs):.1f}" for place in ("event", "agent", "user") for share in ("p50", "p99")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        say(lines[-1])
    return lines


def restart(names):
    lines = [f"## From a start to the first answer, {OPTIONS.stored:,} sessions stored", "",
             "After kill -9: milliseconds from the start of the process until a stored session's user is connected, their message is",
             f"accepted, and its answer is there. holdfast's worker waits for the server; PostgreSQL's agent is started after it. "
             f"Medians of {OPTIONS.rounds}.", "", "| | connected | accepted | answered |", "|---|--:|--:|--:|"]
    for name in names:
        contestant = CONTESTANTS[name]()
        try:
            say(f"{name}: {contestant.fill(OPTIONS.stored) or 'filled'}")
            contestant.start()
            runs = []
            for turn in range(OPTIONS.rounds):
                contestant.crash()
                client = contestant.client(workload="first", name=f"fill-{turn}")
                time.sleep(0.5)  # the client has begun to knock
                begun = time.time() * 1000
                contestant.begin_again()
                runs.append({place: moment - begun for place, moment in finish(client).items()})
            contestant.stop()
        finally:
            contestant.close()
        run = median(runs)
        lines.append(f"| {name} | {run['connected']:.0f} | {run['accepted']:.0f} | {run['answered']:.0f} |")
        say(lines[-1])
    return lines


def memory():
    """Weighs the server idle, with the timers just set, and after a restart that has only to know of them."""
    contestant = Holdfast()
    try:
        contestant.fill(1)
        idle = contestant.store.resident_megabytes()
        sessions = OPTIONS.timers // TIMERS_PER_COMMIT
        due = int(time.time() * 1000) + 3600_000
        say(contestant.fill(sessions, f"timers {TIMERS_PER_COMMIT} {due}"))
        filled = contestant.store.resident_megabytes()
        contestant.store.terminate()
        begun = contestant.store.start()
        started = contestant.store.resident_megabytes()
        storage = sum(contestant.store.metric(f"holdfast_storage_{what}_bytes") for what in ("memory", "cache")) / 2**20
    finally:
        contestant.close()
    return [f"## Memory of {sessions * TIMERS_PER_COMMIT:,} timers that are due in an hour", "",
            f"The server takes {idle:,.0f} MB when idle, {filled:,.0f} MB after they were set (the storage's own buffers and caches are in",
            f"that), and {started:,.0f} MB after a restart ({begun:.2f} s): {started - idle:,.0f} MB over idle, {storage:,.0f} MB of them the",
            "storage's buffers and cache."]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sessions", type=lambda text: [int(word) for word in text.split(",")], default=[1, 16, 100])
    parser.add_argument("--stored", type=int, default=100_000, help="sessions for restart")
    parser.add_argument("--timers", type=int, default=1_000_000, help="timers for memory")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--without", default="", help="contestants whose name has one of these words in it")
    parser.add_argument("--holdfast", type=pathlib.Path, default=targets.HOLDFAST)
    parser.add_argument("--native", default=targets.BUILD / "bench" / "holdfast_agent_load")
    parser.add_argument("--output", default=str(HERE.parent / "results" / "agent.md"))
    parser.parse_args(namespace=OPTIONS)
    parts = OPTIONS.only.split(",")
    assert set(parts) <= set(PARTS), f"parts are {', '.join(PARTS)}"
    targets.HOLDFAST = OPTIONS.holdfast
    targets.install_peers(["pg", "ws"])

    without = [word for word in OPTIONS.without.split(",") if word]
    names = [name for name in CONTESTANTS if not any(word in name for word in without)]
    if not shutil.which(OPTIONS.native):
        say(f"no {OPTIONS.native}: the C++ worker and client are left out")
        names = [name for name in names if CONTESTANTS[name] is not Native]
    with_node = [name for name in names if CONTESTANTS[name] is not Native]
    words = " ".join(sys.argv[1:])
    sections = [["# The agent runtime beside the same design on PostgreSQL", "",
                 f"{targets.machine()}. `bench/agent/run.py{' ' if words else ''}{words}`. Every commit is synced by all. Clients and",
                 "workers share the machine with the servers."]]
    if "talk" in parts:
        sections.append(talk(names))
    if "timers" in parts:
        sections.append(timers(with_node))
    if "restart" in parts:
        sections.append(restart([name for name in with_node if "a statement a step" not in name]))
    if "memory" in parts:
        sections.append(memory())
    text = "\n\n".join("\n".join(section) for section in sections) + "\n"
    pathlib.Path(OPTIONS.output).write_text(text)
    print(text)


if __name__ == "__main__":
    main()
