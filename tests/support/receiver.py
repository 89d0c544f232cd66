"""Somebody whom webhooks call."""
import http.server
import json
import threading


class Receiver:
    """Answers with the next of `statuses`, then with 200 and {"answer": 42}; `calls` has what came. Waits while `free` is cleared."""

    def __init__(self, *statuses):
        self.statuses, self.calls, self.free = list(statuses), [], threading.Event()
        self.free.set()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.calls.append((self.headers["Idempotency-Key"], body))
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                receiver.free.wait()
                self.send_response(status)
                self.end_headers()
                try:
                    self.wfile.write(b'{"answer": 42}')
                except OSError:
                    pass  # The caller has died meanwhile.

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def webhook(self, body):
        return {"type": "webhook", "url": self.url, "body": body}

    def close(self):
        self.free.set()
        self.server.shutdown()
        self.server.server_close()
