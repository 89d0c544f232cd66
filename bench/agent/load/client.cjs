// Users that talk: each sends, waits for the answer, and sends again.
//
//   node client.cjs --server ws://127.0.0.1:8000 --token T --sessions 16 --seconds 5
//   node client.cjs … --workload timers --sessions 200     one timer each, due in two to four seconds
//   node client.cjs … --workload first                     when the session --name is first connected, accepted, answered
//
// Prints one JSON object.
"use strict";

const { parseArgs } = require("node:util");
const { WebSocket } = require("ws");
const { now } = require("./agent.cjs");

const ACKNOWLEDGE_MS = 100, WARM_SECONDS = 1, KNOCK_SECONDS = 120;

const text = (fallback) => ({ type: "string", default: fallback });
const { values: flags } = parseArgs({ options: {
  server: text("ws://127.0.0.1:8000"), token: text(""), sessions: text("1"), seconds: text("5"), workload: text("talk"),
  tenant: text("load"), name: text("") } });
const run = Date.now().toString(36);

// One device of a session, which keeps a cursor and acknowledges what it has, where messages have numbers.
class Session {
  constructor(name) {
    this.cursor = 0;
    this.sent = 0;
    this.url = `${flags.server}/v1/connect?session=${flags.tenant}:echo:${name}`;
  }
  connect() {
    return new Promise((resolve, reject) => {
      this.socket = new WebSocket(this.url, ["holdfast", "bearer." + flags.token], { perMessageDeflate: false });
      this.socket.on("error", reject);
      this.socket.on("close", (code, why) => reject(new Error(`closed: ${code} ${why}`)));
      this.socket.on("message", (data) => {
        const frame = JSON.parse(data);
        if (frame.t === "msg") this.message(frame);
        else if (frame.t === "ok") this.accepted?.(frame);
        else if (frame.t === "ready") resolve(this);
        else if (frame.t === "error") throw new Error(data.toString());
      });
    });
  }
  message(frame) {
    if (frame.n !== undefined) {
      if (frame.n <= this.cursor) return;
      if (frame.n !== this.cursor + 1) throw new Error(`message ${frame.n} after ${this.cursor}`);
      this.cursor = frame.n;
    }
    this.answered(frame);
  }
  say(text) {
    this.socket.send(`{"t":"user","id":"${run}-${this.sent++}","text":"${text}"}`);
  }
  acknowledge() {
    if (this.cursor > (this.acknowledged ?? 0)) this.socket.send(`{"t":"ack","n":${(this.acknowledged = this.cursor)}}`);
  }
}

const quantile = (sorted, share) => Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(3));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function open() {
  const sessions = Array.from({ length: Number(flags.sessions) }, (_, i) => new Session(`${run}-${i}`));
  for (const session of sessions) await session.connect();
  setInterval(() => sessions.forEach((session) => session.acknowledge()), ACKNOWLEDGE_MS);
  return sessions;
}

async function talk() {
  const sessions = await open();
  const took = [];
  let total = 0, measuring = false;
  for (const session of sessions) {
    let begun;
    const speak = () => {
      begun = performance.now();
      session.say("What did I say before this?");
    };
    session.answered = () => {
      total++;
      if (measuring) took.push(performance.now() - begun);
      speak();
    };
    speak();
  }
  await sleep(WARM_SECONDS * 1000);
  measuring = true;
  const begun = performance.now();
  await sleep(Number(flags.seconds) * 1000);
  const seconds = (performance.now() - begun) / 1000;
  took.sort((a, b) => a - b);
  return { events: took.length, seconds, p50_ms: quantile(took, 0.5), p99_ms: quantile(took, 0.99), total };
}

async function timers() {
  const sessions = await open();
  const from = Date.now() + 2000;
  const late = await Promise.all(sessions.map((session) => new Promise((resolve) => {
    session.answered = (frame) => {
      const { fire_at, at, seen } = JSON.parse(frame.content);
      resolve({ event: at - fire_at, agent: seen - fire_at, user: now() - fire_at });
    };
    session.say("timer " + Math.floor(from + Math.random() * 2000));
  })));
  const answer = {};
  for (const place of ["event", "agent", "user"]) {
    const sorted = late.map((one) => one[place]).sort((a, b) => a - b);
    answer[place] = { min: quantile(sorted, 0), p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
  }
  return answer;
}

// Begins before there is a server; answers with moments.
async function first() {
  const words = `Are you there, ${run}?`;
  for (const end = now() + KNOCK_SECONDS * 1000; now() < end;) {
    const session = new Session(flags.name);
    const accepted = new Promise((resolve) => (session.accepted = () => resolve(now())));
    // Older answers may come again first.
    const answered = new Promise((resolve) => {
      session.message = (frame) => frame.content.endsWith(words) && resolve(now());
    });
    try {
      await session.connect();
    } catch {
      await sleep(2);
      continue;
    }
    const connected = now();
    session.say(words);
    return { connected, accepted: await accepted, answered: await answered };
  }
  throw new Error("nobody opens");
}

({ talk, timers, first })[flags.workload]().then((answer) => {
  console.log(JSON.stringify(answer));
  process.exit(0);
}, (error) => {
  console.error(error);
  process.exit(1);
});
