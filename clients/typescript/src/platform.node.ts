import type { Socket as TcpSocket } from "node:net";
import { text } from "node:stream/consumers";
import WebSocket from "ws";
import { HoldfastError } from "./error.js";
import type { CursorStore, OpenSocket } from "./platform.js";

// The server pings every 30 s; one that was silent for this long is gone, though the network did not say so.
const silenceMs = 45_000;

export const openSocket: OpenSocket = (url, token, { onOpen, onText, onClose }) => {
  const socket = new WebSocket(url, {
    headers: { Authorization: `Bearer ${token}` },
    handshakeTimeout: 10_000,
    perMessageDeflate: false,
    skipUTF8Validation: true, // JSON.parse would notice, and the server writes UTF-8
  });
  let tcp: TcpSocket | undefined;
  let corked = false;
  let heard = true;
  let why: Error | undefined;
  const watch = setInterval(() => (heard ? (heard = false) : socket.terminate()), silenceMs);

  socket.on("upgrade", (response) => (tcp = response.socket));
  socket.on("open", onOpen);
  socket.on("ping", () => (heard = true));
  socket.on("message", (data) => {
    heard = true;
    onText(data.toString());
  });
  socket.on("unexpected-response", async (request, response) => {
    why = HoldfastError.of(response.statusCode ?? 0, await text(response).catch(() => ""));
    request.destroy();
    socket.terminate();
  });
  socket.on("error", (error) => (why ??= error));
  socket.on("close", (code, reason) => {
    clearInterval(watch);
    onClose(why ?? new Error(`closed: ${code} ${reason}`));
  });

  const uncork = () => {
    corked = false;
    tcp?.uncork();
  };
  return {
    // What is sent in one turn of the event loop leaves in one write: a system call costs more than a frame.
    send(data) {
      if (!corked && tcp) {
        corked = true;
        tcp.cork();
        process.nextTick(uncork);
      }
      socket.send(data);
    },
    close: () => socket.close(1000),
  };
};

export function cursorStore(): CursorStore {
  const cursors = new Map<string, number>();
  return {
    load: (key) => cursors.get(key),
    save: (key, n) => void cursors.set(key, n),
  };
}
