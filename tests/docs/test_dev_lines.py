"""The lines for tests in README.md and docs/testing.md do what they say."""
import re
import subprocess

import pytest
from server import ROOT, Server

PAGES = ["README.md", "docs/testing.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_run_as_they_stand(page, tmp_path):
    [block] = [
        block for language, block in re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE) if "/_holdfast" in block and not language
    ]
    server = Server(tmp_path / "unused", "--dev", "--in-memory", "--log-level", "error")
    try:
        script = "set -e\ncurl() { command curl -sS --fail-with-body \"$@\"; echo; }\n" + block.replace("localhost:8000", f"127.0.0.1:{server.port}")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        answers = done.stdout.splitlines()
        assert '{"name":"seeded"}' in answers and '{"expired":0}' in answers and len(answers) >= 4
    finally:
        server.stop()
