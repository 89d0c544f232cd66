// A holdfast of the release build, as a process of its own that ends with this one.
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";

export const path = (relative) => fileURLToPath(new URL(`../../${relative}`, import.meta.url));
export const program = path("build/release/holdfast");

export const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket.end() && true));
    socket.on("error", () => resolve(false));
  });

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Waits until check() gives something true, and returns that.
export async function eventually(check, seconds = 20) {
  for (const deadline = Date.now() + seconds * 1000; ; await pause(20)) {
    const found = await check();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not in ${seconds} s: ${check}`);
  }
}

// launch(port, "--flag", …) gives the process of a new server that answers.
export async function launch(port, ...flags) {
  const server = spawn(program, ["serve", "--port", String(port), "--log-level", "warning", ...flags], { stdio: "ignore" });
  process.on("exit", () => server.kill());
  server.unref();
  await eventually(() => {
    if (server.exitCode !== null) throw new Error("holdfast ended at its start");
    return answers(port);
  });
  return server;
}

// serve("--flag", …) gives the endpoint of a new server in memory.
export async function serve(...flags) {
  const port = await freePort();
  await launch(port, "--in-memory", ...flags);
  return `http://127.0.0.1:${port}`;
}
