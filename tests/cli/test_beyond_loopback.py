"""DB-X-02: beyond loopback nobody is served without authentication, nor over plain HTTP, unless somebody insists."""
import json
import ssl
import subprocess
import urllib.request

import pytest
from server import PROGRAM, Server


@pytest.fixture
def credentials(tmp_path):
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"accessKeys": {"AKIDEXAMPLE": {"secret": "secret", "principal": "ann"}}}))
    return ["--auth", "sigv4", "--credentials", str(file)]


@pytest.fixture
def certificate(tmp_path):
    names = [str(tmp_path / "tls.key"), str(tmp_path / "tls.crt")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", names[0], "-out", names[1]],
        check=True, capture_output=True)  # fmt: skip
    return ["--tls-key", names[0], "--tls-cert", names[1]]


def refusal(tmp_path, *flags):
    """What the program says as it ends; it must not have listened, nor made a store."""
    data = tmp_path / "data"
    ended = subprocess.run(
        [str(PROGRAM), "serve", "--data", str(data), "--port", "0", *flags], capture_output=True, text=True, timeout=30
    )
    assert ended.returncode == 2, ended
    assert not data.exists()
    return ended.stderr


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1"])
def test_plain_http_without_authentication_is_refused(tmp_path, address):
    assert "without authentication" in refusal(tmp_path, "--address", address)


def test_plain_http_with_authentication_is_refused(tmp_path, credentials):
    assert "plain HTTP" in refusal(tmp_path, "--address", "0.0.0.0", *credentials)


def test_tls_without_authentication_is_refused(tmp_path, certificate):
    assert "without authentication" in refusal(tmp_path, "--address", "0.0.0.0", *certificate)


def test_tls_with_authentication_is_served(tmp_path, credentials, certificate):
    server = Server(tmp_path / "data", "--address", "0.0.0.0", *credentials, *certificate)
    trusting = ssl.create_default_context(cafile=certificate[-1])
    with urllib.request.urlopen(f"https://127.0.0.1:{server.port}/ready", context=trusting) as answer:
        assert json.load(answer)["status"] == "ready"
    assert server.stop() == 0


def test_who_insists_is_served(tmp_path):
    server = Server(tmp_path / "data", "--address", "0.0.0.0", "--insecure")
    with urllib.request.urlopen(f"{server.url}/ready") as answer:
        assert json.load(answer)["status"] == "ready"
    assert server.stop() == 0
