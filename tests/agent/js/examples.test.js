// The SDK's examples do what its README says: they are what people try first.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { eventually, path } from "../../support/server.mjs";
import { token, url, workerToken } from "./world.js";

function example(script, bearer, settings, ...words) {
  const env = { ...process.env, HOLDFAST_URL: url, HOLDFAST_TOKEN: bearer, ...settings };
  const child = spawn(process.execPath, [path(`clients/typescript/dist/examples/${script}`), ...words], { env, stdio: ["pipe", "pipe", "inherit"] });
  after(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  return { child, said: () => said };
}

test("the echo answers, and asks after the silent", async () => {
  const echo = example("echo.js", workerToken, { FOLLOW_UP_MS: "200" });
  const chat = example("chat.js", token("ann", "user"), {}, "ann:echo:t1");
  chat.child.stdin.write("hello\n");
  await eventually(() => chat.said().includes("Still there?"));
  assert.equal(chat.said(), "< You said: hello\n* Still there? You said 1 thing; the last was: hello\n");
  echo.child.kill("SIGTERM");
  await eventually(() => echo.child.exitCode === 0);
});
