// A holdfast on disk that can be killed, with workers and devices around it: each is a process of its own, as in life.
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { Rest } from "../../../clients/typescript/dist/src/index.js";
import { eventually, freePort, launch, path, program } from "../../support/server.mjs";

export { eventually };

const data = mkdtempSync(join(tmpdir(), "holdfast-agents-"));
const port = await freePort();
export const url = `http://127.0.0.1:${port}`;
const start = () => launch(port, "--data", data, "--models", "none");
let server = await start();

export const token = (subject, role) =>
  execFileSync(program, ["token", "--data", data, "--subject", subject, "--role", role], { encoding: "utf8" }).trim();
export const as = (subject, role) => new Rest({ url, token: token(subject, role) });
export const admin = as("root", "admin");
export const workerToken = token("pool", "worker");

export async function killServer() {
  server.kill("SIGKILL");
  await once(server, "exit");
}
export async function restartServer() {
  server = await start();
}

const children = new Set();
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await killServer();
  rmSync(data, { recursive: true });
});

function run(script, settings) {
  const child = fork(path(`tests/agent/js/${script}`), { env: { ...process.env, ...settings, HOLDFAST_URL: url } });
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

async function kill(child, signal) {
  child.kill(signal);
  await once(child, "exit");
}

// A worker of planned.js. `turns` tells which it has begun: { session, epoch, seq }.
export function startWorker(agents, settings) {
  const child = run("planned.js", { HOLDFAST_TOKEN: workerToken, AGENTS: agents.join(), ...settings });
  const turns = [];
  child.on("message", (turn) => turns.push(turn));
  return {
    turns,
    // The first turn that it has begun in the session.
    begun: (session) => eventually(() => turns.find((turn) => turn.session === session)),
    // Lets the turns that wait go on.
    proceed: () => child.send("proceed"),
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    kill: () => kill(child, "SIGKILL"),
  };
}

// A device of device.js. `shown` is what its user saw, in order: "n content".
export function startDevice(session, device, settings = {}) {
  const cursor = join(data, `${session}.${device}.cursor`);
  const [user] = session.split(":");
  const child = run("device.js", { HOLDFAST_TOKEN: token(user, "user"), SESSION: session, DEVICE: device, CURSOR: cursor, ...settings });
  const shown = [];
  const answers = new Map();
  let said = 0;
  child.on("message", ({ message, answer }) => {
    if (message) shown.push(`${message.n} ${message.content}`);
    if (answer) answers.set(answer.id, answer);
  });
  return {
    shown,
    // Says something, and gives the server's answer.
    async send(text) {
      const id = `c-${child.pid}-${++said}`;
      child.send({ text, id });
      const { error, seq, duplicate } = await eventually(() => answers.get(id));
      if (error) throw new Error(error);
      return { seq, duplicate };
    },
    sees: (n) => eventually(() => shown.some((line) => line.startsWith(`${n} `))),
    kill: () => kill(child, "SIGKILL"),
  };
}
