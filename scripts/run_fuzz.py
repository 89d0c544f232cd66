"""Runs the fuzz targets from their seeds: run_fuzz.py SECONDS REPORT [--all]. The report is JUnit's, a case per target. With --all
those of whole servers too.

What a target stops at is kept in build/fuzz/found/, and replayed by giving the file to the target.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

root = pathlib.Path(__file__).parent.parent
sources = root / "tests/fuzz"
found = root / "build/fuzz/found"
MUST_FAIL = "canary"


def run(name, seconds):
    """Why the target failed; empty when it did not."""
    dictionary = sources / "dictionary" / name
    with tempfile.TemporaryDirectory() as fresh:
        for seed in (sources / "corpus" / name).iterdir():  # those that are no text are written in hex
            content = bytes.fromhex(seed.read_text()) if seed.suffix == ".hex" else seed.read_bytes()
            (pathlib.Path(fresh) / seed.name).write_bytes(content)
        command = [root / f"build/fuzz/tests/fuzz/fuzz_{name}", fresh,
                   f"-max_total_time={seconds}", "-max_len=4200", "-timeout=20", "-rss_limit_mb=2048",
                   f"-artifact_prefix={fresh if name == MUST_FAIL else found}/{name}-"]
        if dictionary.exists():
            command.append(f"-dict={dictionary}")
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds + 120)
    if name == MUST_FAIL:
        return "" if "assertion failed: !found" in done.stderr else "the fuzzer did not find what it must find"
    return "" if done.returncode == 0 else done.stderr[-6000:]


def main():
    seconds, report = int(sys.argv[1]), sys.argv[2]
    found.mkdir(parents=True, exist_ok=True)
    names = sorted(path.stem for path in sources.glob("**/*.cc" if "--all" in sys.argv else "*.cc"))
    suite = ElementTree.Element("testsuite", name="fuzz")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, why in zip(names, pool.map(lambda name: run(name, seconds), names)):
            case = ElementTree.SubElement(suite, "testcase", name=name, classname="fuzz")
            print(f"fuzz {name}: {'failed' if why else 'passed'}")
            if why:
                print(why)
                ElementTree.SubElement(case, "failure", message="see output").text = ascii(why)
    ElementTree.ElementTree(suite).write(report)
    return 1 if suite.find(".//failure") is not None else 0


sys.exit(main())
