"""Every number that the program takes has a range, wherever it is set: what is beyond is refused before anything is done."""
import os
import re
import subprocess

import pytest
from program import PROGRAM


def commands(words=()):
    """The program's commands and their help."""
    text = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, timeout=60).stdout
    below = text.partition("Subcommands:")[2]
    names = re.findall(r"^  ([a-z][a-z-]*)(?: |$)", below, re.MULTILINE)
    return [(words, text)] + [found for name in names for found in commands((*words, name))]


# A flag that is added without a range would take 100000 threads, or wrap around.
def test_no_flag_takes_any_number():
    everything = commands()
    assert len(everything) > 30
    numbers = [
        (words, line)
        for words, text in everything
        for line in text.splitlines()
        if re.search(r"\b(INT|UINT|FLOAT)\b", line)
    ]
    assert len(numbers) > 25
    assert [found for found in numbers if not re.search(r"\S to \S", found[1])] == []


BEYOND = [
    ("port", "99999", "0 to 65535"),
    ("port", "-1", "0 to 65535"),
    ("port", "8e3", "0 to 65535"),
    ("port", "010", "0 to 65535"),
    ("port", "99999999999999999999", "0 to 65535"),
    ("io-threads", "100000", "0 to 1024"),
    ("worker-threads", "-4", "1 to 1024"),
    ("worker-threads", "0", "1 to 1024"),
    ("max-connections", "-1", "1 to 1000000"),
    ("request-timeout", "0", "1 to 86400"),
    ("idle-timeout", "9223372036854775807", "1 to 604800"),
    ("drain-seconds", "-1", "0 to 3600"),
    ("slow-request-ms", "-2", "-1 to 3600000"),
    ("sync-interval-ms", "0", "1 to 3600000"),
    ("ttl-sweep-ms", "0", "1 to 86400000"),
    ("transient-status-ms", "-1", "0 to 3600000"),
    ("archive-days", "0", "1 to 3650"),
    ("agent-retention-days", "36501", "0 to 36500"),
    ("alarm-interval-ms", "9", "10 to 3600000"),
]


def refusal(command, environment=None):
    done = subprocess.run(
        [PROGRAM, *command], capture_output=True, text=True, timeout=20, env={**os.environ, **(environment or {})}
    )
    assert done.returncode == 2, done
    return done.stderr


@pytest.mark.parametrize("flag, value, allowed", BEYOND)
def test_a_number_beyond_its_range_is_refused(tmp_path, flag, value, allowed):
    serve = ["serve", "--data", tmp_path / "data"]
    file = tmp_path / "settings.yaml"
    file.write_text(f"{flag}: {value}\n")
    for said in (
        refusal([*serve, f"--{flag}={value}"]),
        refusal(serve, {"HOLDFAST_" + flag.upper().replace("-", "_"): value}),
        refusal([*serve, "--config", file]),
    ):
        assert f"--{flag}: {value} is not a whole number from {allowed}" in said
    assert not (tmp_path / "data").exists(), "nothing was begun"


def test_other_commands_have_ranges_too(holdfast, tmp_path):
    data = ["--data", str(tmp_path)]
    for words, said in (
        (["query", "PM-A-13", "--limit", "0", *data], "--limit: 0 is not a whole number from 1 to 1000"),
        (["search", "--table", "t", "--index", "i", "--top-k", "101", *data], "--top-k: 101 is not a whole number from 1 to 100"),
        (["search", "--table", "t", "--index", "i", "--threshold", "nan", *data], "--threshold: nan is not a number from -1 to 1"),
        (["model", "cost", "--writes", "-1"], "--writes: -1 is not a number from 0 to"),
        (["demo", "chat", "--port", "65536"], "--port: 65536 is not a whole number from 0 to 65535"),
        (["token", "--subject", "a", "--role", "user", "--ttl", "0s"], "--ttl: 0 is not a whole number from 1 to"),
        (["keys", "disable", str(tmp_path / "keys"), "0"], "version: 0 is not a whole number from 1 to"),
    ):
        assert said in refusal(words), words


# Reading it as a text ended the program with a signal.
@pytest.mark.parametrize("text", ["? [a, b]\n: 1\n", "{a: b}: 1\n", "port: 1\nport: 2\n", ",", "a: &a [*a]\n"])
def test_a_settings_file_that_is_none_is_refused_with_its_line(tmp_path, text):
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    assert re.search(rf"{file}:\d+: ", refusal(["serve", "--data", tmp_path / "data", "--config", file]))
