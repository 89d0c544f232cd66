"""The vector kernels of processors other than this one, emulated: all give the same bits, and so the same ranks."""
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAIN = ROOT / "tests/cross/kernels_main.cc"
SOURCES = sorted(set(ROOT.glob("src/vector/kernels*.cc")) - {ROOT / "src/vector/kernels_test.cc"})
FLAGS = ["-std=c++20", "-O2", "-ffp-contract=off", f"-I{ROOT / 'src'}"]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done


def sets_and_answers(*command):
    """The names of the sets that a program tried, and what they answered."""
    done = run(*command)
    answers = done.stdout.splitlines()
    assert len(answers) > 1000
    return done.stderr.split(), answers


@pytest.fixture(scope="session")
def native(tmp_path_factory):
    program = tmp_path_factory.mktemp("native") / "kernels"
    run("g++", *FLAGS, *SOURCES, MAIN, "-o", program)
    return sets_and_answers(program)


@pytest.fixture(scope="session")
def arm(tmp_path_factory):
    program = tmp_path_factory.mktemp("arm") / "kernels"
    run("aarch64-linux-gnu-g++", "-static", *FLAGS, *SOURCES, MAIN, "-o", program)
    return program


def test_native(native):
    assert native[0][0] == "scalar"


# The second of these processors has no instruction for dot products of bytes.
@pytest.mark.parametrize("processor, sets", [("max", ["scalar", "neon", "neon_dotprod"]),
                                             ("cortex-a57", ["scalar", "neon"])])
def test_neon(native, arm, processor, sets):
    tried, answers = sets_and_answers("qemu-aarch64", "-cpu", processor, arm)
    assert tried == sets
    assert answers == native[1]


# Few machines that run the tests have AVX-512, and QEMU does not emulate it.
def test_avx512(native, tmp_path):
    emulated, program = tmp_path / "emulated.o", tmp_path / "kernels"
    source = ROOT / "src/vector/kernels_avx512.cc"
    run("g++", *FLAGS, "-include", ROOT / "tests/cross/emulated_avx512.h", "-c", source, "-o", emulated)
    run("g++", *FLAGS, *[other for other in SOURCES if other != source], emulated, MAIN, "-o", program)
    sets, answers = sets_and_answers(program)
    assert sets[-1] == "avx512vnni"
    assert answers == native[1]
