// In a browser there is no header for the token and no memory between visits: the token goes as a protocol, the cursor to the
// local storage. Node.js with a browser's WebSocket stands for one.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { test } from "node:test";
import { path } from "../../support/server.mjs";
import { scripted } from "./scripted.js";

test("a browser's client", async (t) => {
  const { url, accept } = await scripted(t);
  const execArgv = ["--conditions=browser", "--experimental-websocket", "--no-warnings"];
  const child = fork(path("tests/agent/js/page.js"), { execArgv, env: { ...process.env, HOLDFAST_URL: url } });
  t.after(() => child.kill());
  const reported = new Promise((resolve) => child.on("message", resolve));
  const line = await accept();
  assert.equal(line.protocols, "holdfast,bearer.secret");
  assert.equal(line.url.searchParams.get("after"), "4");
  line.say({ t: "ready", n: 5, ack: 4 }, { t: "msg", n: 5, id: "ann:guide:t1/1/0", auto: false, content: "hello", at: 1 });
  assert.deepEqual(await line.hear(), { t: "ack", n: 5 });
  assert.deepEqual(await line.hear(), { t: "user", id: "c-1", text: "hi" });
  line.say({ t: "ok", id: "c-1", seq: 1 });
  assert.deepEqual(await reported, {
    content: "hello", sent: { seq: 1, duplicate: false }, kept: [["holdfast:ann:guide:t1/default", "5"]],
  });
});
