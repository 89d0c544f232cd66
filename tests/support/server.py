"""A holdfast of the release build as a process of its own."""
import json
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "holdfast"
# Of a request without an SDK: nobody verifies the signature on loopback; everybody wants to see one.
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20260101T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64,
}


def call(url, operation, body):
    """The answer; of a refusal, the error's name and its message. `body` is an object, or text to be sent as it is."""
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, text.encode(), headers)) as answer:
            return json.loads(answer.read() or "{}")
    except urllib.error.HTTPError as refused:
        error = json.load(refused)
        return error["__type"].split("#")[1], error.get("message", error.get("Message", ""))


def done(url, operation, body):
    answer = call(url, operation, body)
    assert isinstance(answer, dict), answer
    return answer


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running holdfast; restart() is a kill -9 and a new start on the same directory."""

    def __init__(self, directory, *flags):
        self.port = free_port()
        self.directory = directory
        self.flags = flags
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [str(PROGRAM), "serve", "--port", str(self.port), "--data", str(self.directory), *self.flags]
        )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None, "holdfast ended at its start"
                time.sleep(0.01)
        raise AssertionError("holdfast did not start in 20 s")

    def wait_until_ready(self, seconds=20):
        """What takes the longer the more there is, vectors and timers, is loaded behind the open port."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(self.url + "/ready") as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as refused:
                said = refused.read().decode()
                assert time.monotonic() < deadline, said
                time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=30)
