"""holdfast as somebody else's program finds it: installed under a prefix, found by CMake, linked and run."""
import json
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix


@pytest.fixture(scope="session")
def library(prefix):
    return next(prefix.rglob("libholdfast.so")).resolve()


def built(prefix, name, build):
    run("cmake", "-S", ROOT / "samples" / name, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    return build


@pytest.fixture(scope="session")
def sample(prefix, tmp_path_factory):
    return built(prefix, "embed", tmp_path_factory.mktemp("embed")) / "embed"


def exported(library):
    return run("nm", "-DC", "--defined-only", library).splitlines()


# The program must not depend on the build tree it came from.
def test_the_installed_program_runs(prefix):
    assert re.search(r"\d+\.\d+\.\d+", run(prefix / "bin/holdfast", "--version"))


def test_the_installed_program_finds_the_installed_models(prefix, tmp_path):
    found = json.loads(run(prefix / "bin/holdfast", "model", "check", "--json"))["sound"]
    assert [pathlib.Path(one["file"]) for one in found] == [
        prefix / "share/holdfast/models" / f"{name}.yaml" for name in ("auto", "pm", "pos", "trip")
    ]
    assert (prefix / "share/holdfast/models/model.schema.json").exists()
    run(prefix / "bin/holdfast", "demo", "trip", "--data", tmp_path / "data")


def test_the_licence_is_installed(prefix):
    assert next(prefix.rglob("LICENSE")).read_text() == (ROOT / "LICENSE").read_text()


def test_all_public_headers_are_installed(prefix):
    def headers(root):
        return {path.relative_to(root): path.read_text() for path in root.rglob("*.h")}

    assert headers(prefix / "include") == headers(ROOT / "include")


# A user may include any public header first, and has neither our sources nor RocksDB's headers.
def test_each_public_header_compiles_alone():
    run("cmake", "--build", BUILD, "--target", "holdfast_verify_interface_header_sets")


def test_public_headers_include_only_the_standard_library_and_each_other():
    for header in (ROOT / "include").rglob("*.h"):
        for included in re.findall(r"^#include (\S+)", header.read_text(), re.MULTILINE):
            assert re.fullmatch(r'<[a-z_]+>|"holdfast/[a-z_/]+\.h"', included), f"{header}: {included}"


# Before 1.0 each minor version is an interface of its own, and the loader has to know.
def test_the_library_is_named_by_its_version(library):
    version = re.search(r"project\(holdfast VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    soname = re.search(r"SONAME\s+(\S+)", run("objdump", "-p", library))[1]
    assert library.name == f"libholdfast.so.{version}"
    assert soname == f"libholdfast.so.{version.rpartition('.')[0]}"


# A copy of some standard template that we export would replace the embedding program's own.
def test_the_library_exports_nothing_but_holdfast(library):
    foreign = [line for line in exported(library) if not re.search(r" [A-Z] (\w+ (name )?for )?holdfast::", line)]
    assert foreign == []


# The layers are free to change; only what the public headers name may be linked to.
def test_the_library_keeps_its_layers_to_itself(library):
    inner = r"holdfast::(base|value|vector|json|expression|storage|engine|ops|net|auth|store|sdk)::"
    assert [line for line in exported(library) if re.search(rf" [A-Z] (\w+ (name )?for )?{inner}", line)] == []


def test_another_minor_version_is_not_accepted(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(other LANGUAGES CXX)\n"
        "find_package(holdfast 0.0 CONFIG)\nif(holdfast_FOUND)\n  message(FATAL_ERROR found)\nendif()\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


def output(session, *open_sessions):
    lines = ["late writer turned away: ConditionalCheckFailed", f"events of {session}:",
             "  1 user: Find a quiet hotel in Lisbon", "  2 tool: hotels.search",
             "  3 agent: Casa do Jardim has a room", "open sessions, newest first:"]
    return "\n".join(lines + [f"  {name} with 3 events" for name in open_sessions]) + "\n"


# What one run of a program wrote, the next one finds.
def test_the_sample_remembers_its_sessions(sample, tmp_path):
    assert run(sample, tmp_path / "data") == output("session-1", "session-1")
    assert run(sample, tmp_path / "data") == output("session-2", "session-2", "session-1")


# A failure to open reaches the embedding program as a value that says what is wrong, and leaves nothing behind.
def test_the_sample_reports_a_directory_that_is_no_store(sample, tmp_path):
    (tmp_path / "notes.txt").write_text("not a database")
    done = subprocess.run([sample, tmp_path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("embed: IoError: ")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


# The agent's sample runs in tests/agent/ as well; here it is a stranger's program.
def test_the_sample_agent_builds_against_the_library(prefix, tmp_path):
    agent = built(prefix, "agent", tmp_path) / "echo_agent"
    done = subprocess.run([agent, "wss://127.0.0.1", "guide"], env={"HOLDFAST_TOKEN": "t"}, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1
    assert "TLS" in done.stderr


# README.md shows the sample; what it shows must be what is compiled.
def test_the_readme_shows_the_sample_as_it_is():
    readme = (ROOT / "README.md").read_text()
    sample = (ROOT / "samples/embed/main.cc").read_text()
    shown = re.search(r"<!-- samples/embed/main.cc -->\n```cpp\n(.*?)```", readme, re.DOTALL)[1]
    assert all(part in sample for part in shown.split("\n\n"))
