// The server's side of the protocol, spoken by a test line by line: what a real server does once in a thousand runs
// (a gap, an answer that is lost, a repeated frame) happens here when the test says so.
import { once } from "node:events";
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

// Something that is put in by one side and taken out, in order, by the other.
class Queue {
  #items = [];
  #takers = [];
  put(item) {
    const taker = this.#takers.shift();
    taker ? taker(item) : this.#items.push(item);
  }
  take() {
    return this.#items.length ? Promise.resolve(this.#items.shift()) : new Promise((resolve) => this.#takers.push(resolve));
  }
}

class Line {
  #socket;
  #heard = new Queue();
  constructor(socket, { url, headers }) {
    this.#socket = socket;
    this.url = new URL(url, "http://server");
    this.token = headers.authorization;
    this.protocols = headers["sec-websocket-protocol"]?.replaceAll(" ", "");
    this.closed = once(socket, "close");
    socket.on("message", (text) => this.#heard.put(JSON.parse(text)));
  }
  say(...frames) {
    for (const frame of frames) this.#socket.send(JSON.stringify(frame));
  }
  hear() {
    return this.#heard.take();
  }
  // As a killed server does: no goodbye.
  cut() {
    this.#socket.terminate();
  }
}

// scripted(t) gives { url, accept(), request() }: the next WebSocket or plain request that comes in. `refuse` answers handshakes.
export async function scripted(t, refuse = () => undefined) {
  const lines = new Queue();
  const requests = new Queue();
  const http = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const answer = (status, body) => response.writeHead(status).end(JSON.stringify(body));
    requests.put({ path: request.url, body: JSON.parse(text || "null"), answer, cut: () => request.socket.destroy() });
  });
  const sockets = new WebSocketServer({ noServer: true });
  http.on("upgrade", (request, socket, head) => {
    const status = refuse(request);
    if (status) return socket.end(`HTTP/1.1 ${status} No\r\nConnection: close\r\n\r\n{"error":"Unauthorized","message":"who are you?"}`);
    sockets.handleUpgrade(request, socket, head, (opened) => lines.put(new Line(opened, request)));
  });
  await once(http.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${http.address().port}`, accept: () => lines.take(), request: () => requests.take() };
}
