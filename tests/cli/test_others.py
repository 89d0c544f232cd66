"""Demo data, key files and completion."""
import shlex
import stat
import subprocess

import pytest


@pytest.fixture(params=["data", "server"])
def store(request, holdfast, tmp_path):
    holdfast.flags = ["--data", str(tmp_path / "data")]
    if request.param == "server":
        holdfast.flags = ["--endpoint", request.getfixturevalue("server").url]
    return holdfast


# Keys hold times and generated IDs; loading again must make the same ones.
def test_a_world_is_loaded_once(store):
    first = store.json("demo", "all")
    again = store.json("demo", "all")
    for name, loaded in first["worlds"].items():
        assert loaded["written"] > 0, name
        assert again["worlds"][name] == {**loaded, "written": 0, "there": loaded["written"] + loaded["there"]}
    assert first["worlds"]["pm"]["withoutKey"] > 0
    assert len(first["try"]) == 3


@pytest.mark.parametrize("world", ["pm", "pos", "trip"])
def test_what_is_suggested_gives_something(holdfast, tmp_path, world):
    holdfast.flags = ["--data", str(tmp_path / "data")]
    lines = holdfast.run("demo", world).splitlines()
    suggested = lines[lines.index("try:") + 1 :]
    assert len(suggested) == 3
    holdfast.flags = []  # they say themselves where the data is
    for line in suggested:
        program, *words = shlex.split(line)
        assert program == "holdfast" and holdfast.json(*words)["items"], line


def test_secrets_are_loaded_with_a_key_and_shown_to_nobody(holdfast, tmp_path):
    keys = tmp_path / "keys.json"
    holdfast.run("keys", "create", keys)
    holdfast.flags = ["--data", str(tmp_path / "data"), "--key-file", str(keys)]
    assert holdfast.json("demo", "pm")["worlds"]["pm"]["withoutKey"] == 0
    shown = holdfast.json("get", "pm", "IntegrationConfig", "integration=jira")
    assert shown["configEncrypted"] is True


def test_there_is_no_such_world(holdfast):
    holdfast.refused(2, "Usage", "demo", "atlantis")


def test_a_key_file_has_versions(holdfast, tmp_path):
    keys = tmp_path / "keys.json"
    made = holdfast.json("keys", "create", keys)
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert holdfast.json("keys", "rotate", keys)["current"] == 2
    disabled = holdfast.json("keys", "disable", keys, 1)
    assert [one["state"] for one in disabled["versions"]] == ["disabled", "current"]
    assert holdfast.json("keys", "show", keys) == disabled and disabled["id"] == made["id"]
    assert holdfast.run("keys", "disable", keys, 2, code=5)
    assert holdfast.run("keys", "create", keys, code=4), "a file of keys is never overwritten"
    assert holdfast.run("keys", "show", tmp_path / "absent", "--json", code=6)


def completed(script, *words):
    """What bash would offer for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    test = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _holdfast; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", test], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_and_flags(holdfast):
    script = holdfast.run("completion", "bash")
    assert {"serve", "model", "query"} <= set(completed(script, "holdfast", ""))
    assert completed(script, "holdfast", "model", "ch") == ["check"]
    assert completed(script, "holdfast", "model", "types", "x.yaml", "--la") == ["--language"]
    assert "--endpoint" in completed(script, "holdfast", "query", "PM-A-13", "--")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_command(holdfast, shell):
    script = holdfast.run("completion", shell)
    assert "/model/check" in script and "repositories" in script
    assert holdfast.json("completion", shell)["text"] == script
    holdfast.refused(2, "Usage", "completion", "cmd")
