// SC-AUTO step 8: the server is killed at each moment that matters. Whatever was acknowledged is there afterwards, and is told
// once; whatever was not is as if it had never been.
import assert from "node:assert/strict";
import { test } from "node:test";
import { as, eventually, killServer, restartServer, startDevice, startWorker } from "./world.js";

const wren = as("wren", "user");
const plan = (steps) => JSON.stringify(steps);
const say = (session, steps) => wren.append(session, plan(steps));
const answered = (session, n) => eventually(async () => (await wren.session(session)).last_n >= n);
const contents = async (session) => (await wren.messages(session)).items.map(({ content }) => content);
const worker = startWorker(["guide"], { NAME: "w1" });

test("killed between the commit and the push: told after the restart, under the same number", async () => {
  const session = "wren:guide:unpushed";
  await say(session, { say: ["a", "b"] });
  await answered(session, 2);
  await killServer();
  await restartServer();
  const device = startDevice(session, "web");
  await device.sees(2);
  assert.deepEqual(device.shown, ["1 a (w1)", "2 b (w1)"]);
  await eventually(async () => (await wren.effects(session)).every(({ status }) => status === "completed"));
  await device.kill();
});

test("killed between the push and the acknowledgement: told again, shown once", async () => {
  const session = "wren:guide:unacknowledged";
  const device = startDevice(session, "web", { ACK_DELAY_MS: "600000" });
  const forgetful = startDevice(session, "forgetful", { ACK_DELAY_MS: "600000" });
  await device.send(plan({ say: ["a"] }));
  await device.sees(1);
  await forgetful.sees(1);
  await killServer();
  await forgetful.kill();
  await restartServer();
  // It acknowledged nothing and kept no cursor: it is told again. The other kept what it showed.
  const again = startDevice(session, "forgetful");
  await again.sees(1);
  await device.send(plan({ say: ["b"] }));
  await Promise.all([device.sees(2), again.sees(2)]);
  assert.deepEqual(device.shown, ["1 a (w1)", "2 b (w1)"]);
  assert.deepEqual(again.shown, device.shown);
  assert.ok((await wren.effects(session)).every(({ status }) => status !== "failed"));
  await Promise.all([device.kill(), again.kill()]);
});

test("killed while a message that is sent at most once is under way: it is unknown, and never sent again", async () => {
  const session = "wren:guide:once";
  const device = startDevice(session, "web", { ACK_DELAY_MS: "600000" });
  await device.send(plan({ say: ["a"], once: ["boom"] }));
  await device.sees(2);
  await killServer();
  await restartServer();
  const { status, outcome } = await eventually(async () => (await wren.effects(session)).find((effect) => effect.n === 2 && effect.status !== "executing"));
  assert.deepEqual([status, outcome], ["failed", "unknown"]);
  const other = startDevice(session, "other");
  await device.send(plan({ say: ["c"] }));
  await Promise.all([device.sees(3), other.sees(3)]);
  assert.deepEqual(other.shown, ["1 a (w1)", "3 c (w1)"]);
  assert.deepEqual(device.shown, ["1 a (w1)", "2 boom", "3 c (w1)"]);
  await Promise.all([device.kill(), other.kill()]);
});

test("killed before a commit whose worker is still there: that worker commits, once", async () => {
  const session = "wren:guide:patient";
  await say(session, { wait: true, say: ["late"] });
  await worker.begun(session);
  await killServer();
  worker.proceed();
  await restartServer();
  await answered(session, 1);
  assert.deepEqual(await contents(session), ["late (w1)"]);
});

test("killed before a commit whose worker hangs: another has the event, and the first is fenced when it wakes", async () => {
  const session = "wren:guide:taken";
  await say(session, { wait: true, say: ["mine"] });
  const { epoch } = await worker.begun(session);
  worker.freeze();
  await killServer();
  await restartServer();
  const second = startWorker(["guide"], { NAME: "w2" });
  const turn = await second.begun(session);
  assert.ok(turn.epoch > epoch);
  second.proceed();
  await answered(session, 1);
  await second.kill();
  worker.proceed();
  worker.thaw();
  // Its stale commit is on its way before it can take in anything else.
  await say(session, { say: ["next"] });
  await answered(session, 2);
  assert.deepEqual(await contents(session), ["mine (w2)", "next (w1)"]);
  assert.deepEqual((await wren.checkpoint(session)).state, { turns: 2, last: 2 });
});

test("what a user says while there is no server is stored once, in its order", async () => {
  const session = "wren:guide:offline";
  const device = startDevice(session, "web");
  await device.send(plan({ say: ["a"] }));
  await killServer();
  const sent = ["b", "c", "d"].map((text) => device.send(plan({ say: [text] })));
  await restartServer();
  assert.deepEqual((await Promise.all(sent)).map(({ seq }) => seq), [2, 3, 4]);
  await device.sees(4);
  assert.deepEqual(device.shown, ["1 a (w1)", "2 b (w1)", "3 c (w1)", "4 d (w1)"]);
  await device.kill();
});
