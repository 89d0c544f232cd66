#!/usr/bin/env python3
"""A private PostgreSQL 15 in a directory of its own, reached by a Unix socket only, and gone afterwards.

    bench/agent/postgres/cluster.py [SECONDS]    prints its directory, which is also the socket's
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")
# Durable as it comes; what is changed spares it work that has nothing to do with the load.
SETTINGS = {"listen_addresses": "", "fsync": "on", "synchronous_commit": "on", "shared_buffers": "512MB", "wal_buffers": "16MB",
            "max_wal_size": "8GB", "checkpoint_timeout": "30min", "jit": "off", "max_connections": "40"}
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
# It refuses to run as root.
WHO = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}


def ticks(pid):
    """The parent of a process and the CPU ticks of it and of its children that ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), sum(map(int, fields[11:15]))


class Cluster:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="holdfast-bench-")
        if WHO:
            shutil.chown(self.directory, WHO["user"], WHO["group"])
        self.data = os.path.join(self.directory, "data")
        subprocess.run([PROGRAMS / "initdb", "-D", self.data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C",
                        "--no-sync"], check=True, cwd=self.directory, **QUIET, **WHO)
        self.start()
        self.sql((pathlib.Path(__file__).parent / "schema.sql").read_text())

    def start(self):
        flags = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        self.process = subprocess.Popen([PROGRAMS / "postgres", "-D", self.data, "-k", self.directory, *flags],
                                        cwd=self.directory, **QUIET, **WHO)
        while subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", self.directory], check=False).returncode != 0:
            assert self.process.poll() is None, "PostgreSQL ended at its start"
            time.sleep(0.002)

    def sql(self, text):
        done = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", self.directory, "-U", "bench", "-d", "postgres",
                               "-c", text], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def processes(self):
        """All of them, with their CPU ticks."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent, used = ticks(entry.name)
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if self.process.pid in (int(entry.name), parent):
                    found[int(entry.name)] = used
        return found

    def cpu_seconds(self):
        return sum(self.processes().values()) / os.sysconf("SC_CLK_TCK")

    def counts(self):
        """Rows written, transactions and syncs of the log so far; of connections that have ended."""
        rows, transactions, syncs = self.sql(
            "SELECT tup_inserted + tup_updated + tup_deleted, xact_commit, (SELECT wal_sync FROM pg_stat_wal) "
            "FROM pg_stat_database WHERE datname = current_database()").split("|")
        return {"writes": int(rows), "transactions": int(transactions), "syncs": int(syncs)}

    def kill(self):
        """As kill -9 of all would leave it."""
        pids = [self.process.pid, *(set(self.processes()) - {self.process.pid})]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        while any(os.path.exists(f"/proc/{pid}") for pid in pids):
            time.sleep(0.001)

    def close(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def main():
    cluster = Cluster()
    try:
        print(cluster.directory, flush=True)
        time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 3600)
    except KeyboardInterrupt:
        pass
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
