"""A way to a server that can lose things: what a dying server durably did, and never said."""
import contextlib
import socket
import threading


class Proxy:
    """Passes bytes on to a port of this machine. While `mute` is set it drops what the server says."""

    def __init__(self, port):
        self.target = port
        self.mute = threading.Event()
        self.dropped = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()  # The server is down: what is said to it goes nowhere.
                continue
            threading.Thread(target=self.pass_on, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, True), daemon=True).start()

    def pass_on(self, source, sink, answers):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if answers and self.mute.is_set():
                    self.dropped += len(data)
                else:
                    sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        # An accept() under way does not notice a close() on Linux.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
