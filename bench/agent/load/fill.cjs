// Many sessions with one event each, processed: what a server has stored before it is restarted or weighed.
//
//   node fill.cjs --server http://127.0.0.1:8000 --token T --worker-token T --sessions 100000 --text "Good morning"
"use strict";

const http = require("node:http");
const { parseArgs } = require("node:util");
const { work } = require("./worker.cjs");

const LOOPS = 64;

const text = { type: "string" };
const { values: flags } = parseArgs({ options: {
  server: text, token: text, "worker-token": text, sessions: text, text, tenant: { type: "string", default: "load" } } });
const count = Number(flags.sessions);
const body = JSON.stringify({ type: "user_message", payload: { text: flags.text } });
const options = {
  method: "POST", agent: new http.Agent({ keepAlive: true, maxSockets: LOOPS }),
  headers: { Authorization: "Bearer " + flags.token, "Content-Type": "application/json",
             "Content-Length": Buffer.byteLength(body) } };

const post = (i) => new Promise((resolve, reject) => {
  http.request(`${flags.server}/v1/sessions/${flags.tenant}:echo:fill-${i}/events`, options, (answer) => {
    answer.resume();
    if (answer.statusCode !== 201) reject(new Error("answered " + answer.statusCode));
    answer.on("end", resolve);
  }).on("error", reject).end(body);
});

let next = 0, commits = 0;
const begun = performance.now();
work({ server: flags.server.replace("http", "ws"), token: flags["worker-token"], then: "release", committed: () => {
  if (++commits < count) return;
  console.log(JSON.stringify({ sessions: count, seconds: (performance.now() - begun) / 1000 }));
  process.exit(0);
} });
const loop = async () => {
  while (next < count) await post(next++);
};
for (let i = 0; i < LOOPS; i++) {
  loop().catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
