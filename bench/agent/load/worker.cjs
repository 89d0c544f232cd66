// A worker of holdfast that runs the agent: node worker.cjs --server ws://127.0.0.1:8000 --token T
"use strict";

const { parseArgs } = require("node:util");
const { WebSocket } = require("ws");
const { agent } = require("./agent.cjs");

const RETRY_MS = 5;

// Works until the process ends; a server that is gone is looked for again. `committed` hears of each commit.
function work({ server, token, then = "next", credit = 128, ready, committed }) {
  const socket = new WebSocket(server + "/v1/work/ws", ["holdfast", "bearer." + token], { perMessageDeflate: false });
  let tcp, commits = 0, corked = false;
  // What one read of the socket led to goes out in one write.
  const send = (frame) => {
    if (!corked) {
      corked = true;
      tcp.cork();
      process.nextTick(() => {
        corked = false;
        tcp.uncork();
      });
    }
    socket.send(JSON.stringify(frame));
  };
  const turn = ({ session, epoch, checkpoint, events }) => {
    let state = checkpoint?.data;
    const effects = [];
    for (const event of events) {
      const wanted = agent(event, state);
      state = wanted.state;
      effects.push(...wanted.effects);
    }
    const id = ++commits;
    const upto = events.at(-1).seq;
    send({ t: "commit", id, session, epoch, upto, token: `${epoch}-${upto}`, checkpoint: state, effects, then });
  };
  socket.on("upgrade", (response) => (tcp = response.socket));
  socket.on("open", () => send({ t: "hello", worker: "node", agents: ["echo"], credit, lease_ms: 30_000 }));
  socket.on("message", (data) => {
    const frame = JSON.parse(data);
    if (frame.t === "work") turn(frame);
    else if (frame.t === "committed") {
      committed?.(frame);
      if (frame.next) turn(frame.next);
    } else if (frame.t === "ready") ready?.();
    else if (frame.t === "error") throw new Error(data.toString());
  });
  socket.on("error", () => {});  // and then it closes
  socket.on("close", () => setTimeout(work, RETRY_MS, { server, token, then, credit, ready, committed }));
}

module.exports = { work };

if (require.main === module) {
  const text = { type: "string" };
  const { values } = parseArgs({ options: { server: text, token: text } });
  work({ ...values, ready: () => console.log("ready") });
}
