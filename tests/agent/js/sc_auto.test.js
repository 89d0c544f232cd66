// SC-AUTO, the follow-up conversation, as its users meet it: an agent in one process, devices in others, a real server and
// real time. What waits, waits for something that the server shows; what must not be early is measured by the server's clock.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { request } from "../../../clients/typescript/dist/src/rest.js";
import { admin, as, eventually, startDevice, startWorker, url, workerToken } from "./world.js";

const cooldownMs = 1500;
before(async () => {
  await admin.policy("guide", { cooldown_ms: cooldownMs, on_cap: "suppress", on_cooldown: "hold" });
  await admin.policy("patient", { cooldown_ms: 60_000, on_cooldown: "hold" });
});
const worker = startWorker(["guide", "clerk", "patient"]);
const wren = as("wren", "user");

const plan = (steps) => JSON.stringify(steps);
const say = (session, steps) => wren.append(session, plan(steps));
const time = Date.parse;
// What the session's effects of a kind came to: "status outcome".
const outcomes = async (session, type) =>
  (await wren.effects(session)).filter((effect) => effect.type === type).map(({ status, outcome }) => (outcome ? `${status} ${outcome}` : status));
// The session once all that happened to it is taken in.
const settled = (session, seq) =>
  eventually(async () => {
    const view = await wren.session(session);
    return view.event_seq >= seq && view;
  });
const work = (what, body) => request({ url, token: workerToken }, "POST", `/v1/work/${what}`, body);

test("1: a session's key has three parts", async () => {
  for (const key of ["a:b", "a:b:c:d", "wren b:c:d"]) await assert.rejects(admin.append(key, "hi"), { name: "ValidationError", status: 400 }, key);
  await assert.rejects(wren.append("robin:guide:t1", "hi"), { name: "NotFound", status: 404 });
  assert.deepEqual(await wren.append("wren:guide:key", plan({}), "e-1"), { seq: 1, id: "e-1", duplicate: false });
  assert.deepEqual(await wren.append("wren:guide:key", plan({}), "e-1"), { seq: 1, id: "e-1", duplicate: true });
});

test("2: a user message becomes one commit of state, message and timer", async () => {
  const session = "wren:guide:commit";
  await say(session, { say: ["hello"], timers: [{ id: "nudge", delayMs: 60_000, payload: { n: 1 } }] });
  await settled(session, 1);
  const checkpoint = await wren.checkpoint(session);
  assert.equal(checkpoint.id, `${session}/1`);
  assert.deepEqual(checkpoint.state, { turns: 1, last: 1 });
  assert.deepEqual(checkpoint.metadata, { event_seq: 1, consecutive_autonomous_msgs: 0, last_autonomous_at: null });
  const [sent, scheduled] = await wren.effects(session, { checkpoint: 1 });
  assert.deepEqual([sent.type, sent.n, sent.status], ["send_message", 1, "pending"]);
  assert.deepEqual([scheduled.type, scheduled.status, scheduled.outcome], ["schedule_timer", "completed", "scheduled"]);
  assert.deepEqual((await wren.timers(session)).map(({ timer_id, status, payload }) => [timer_id, status, payload]), [["nudge", "pending", { n: 1 }]]);
  const device = startDevice(session, "web");
  await device.sees(1);
  await eventually(async () => (await wren.effects(session))[0].status === "completed");
  await device.kill();
});

// A turn that the test takes itself, of an agent that no worker serves.
async function takeTurn(session) {
  await wren.append(session, "hi");
  const { work: [given] } = await work("claim", { worker: "by-hand", agents: [session.split(":")[1]], max: 1, lease_ms: 10_000, wait_ms: 10_000 });
  assert.equal(given.session, session);
  return (effects, token) => work("commit", { session, epoch: given.epoch, upto: given.events.at(-1).seq, token, checkpoint: {}, effects });
}
const hello = { type: "send_message", content: "hello" };

test("2: a commit that is sent again gets the same answer; an equal effect is a duplicate; 25 are too many", async () => {
  const commit = await takeTurn("wren:hand:t1");
  await assert.rejects(commit(Array.from({ length: 25 }, (_, i) => ({ ...hello, content: `${i}` })), "t0"), { name: "TransactionTooLarge", status: 413 });
  const answer = await commit([hello, hello], "t1");
  assert.deepEqual([answer.seq, answer.messages, answer.suppressed], [1, [1], [{ i: 1, reason: "duplicate" }]]);
  assert.deepEqual(await commit([hello, hello], "t1"), answer);
  await assert.rejects(commit([hello], "t2"), { name: "Fenced", status: 409 });
  assert.equal((await wren.session("wren:hand:t1")).last_n, 1);

  await admin.policy("twice", { allow_equal: true });
  const twice = await (await takeTurn("wren:twice:t1"))([hello, hello], "t1");
  assert.deepEqual([twice.messages, twice.suppressed], [[1, 2], []]);
});

test("3 and 4: timers speak unasked: never early, not within the cooldown, three times in a row", async () => {
  const session = "wren:guide:nudges";
  const device = startDevice(session, "web");
  const timer = (id, delayMs, text, ...timers) => ({ id, delayMs, payload: { say: [text], timers } });
  const chain = timer("t1", 300, "one", timer("t2", 500, "two", timer("t3", 4500, "three", timer("t4", 500, "four"))));
  await device.send(plan({ say: ["hello"], timers: [chain] }));
  await device.sees(2);
  const first = await wren.checkpoint(session, 2);
  assert.equal(first.metadata.consecutive_autonomous_msgs, 1);
  assert.ok(first.metadata.last_autonomous_at);

  // The agent's second turn is committed at once; its message was not taken then, and follows.
  await settled(session, 3);
  assert.match((await wren.checkpoint(session, 3)).decisions[0].row, /^F#/);
  await device.sees(3);
  await device.sees(4);
  const done = await settled(session, 5);
  assert.equal(done.consecutive_autonomous_msgs, 3);
  assert.deepEqual(device.shown, ["1 hello", "2 one", "3 two", "4 three"]);
  assert.deepEqual((await wren.effects(session, { checkpoint: 5 })).map(({ status, outcome }) => `${status} ${outcome}`), ["failed cap"]);
  assert.equal(done.last_n, 4);

  const { items: messages } = await wren.messages(session);
  assert.deepEqual(messages.map(({ auto }) => auto), [false, true, true, true]);
  for (const [i, { created_at }] of messages.entries())
    if (i > 1) assert.ok(time(created_at) - time(messages[i - 1].created_at) >= cooldownMs, `message ${i + 1} within the cooldown`);
  const { items: events } = await wren.events(session);
  const timers = await wren.timers(session);
  assert.deepEqual(events.slice(1).map(({ seq, type, payload }) => [seq, type, payload.timer_id]), [1, 2, 3, 4].map((i) => [i + 1, "timer", `t${i}`]));
  for (const { timer_id, fire_at, status } of timers) {
    assert.equal(status, "promoted");
    assert.ok(time(events.find(({ payload }) => payload.timer_id === timer_id).created_at) >= time(fire_at), `${timer_id} is early`);
  }
  await device.kill();
});

test("4: where the policy suppresses, what comes within the cooldown is never sent", async () => {
  const session = "wren:clerk:t1";
  const device = startDevice(session, "web");
  const second = { id: "t2", delayMs: 200, payload: { say: ["too soon"] } };
  await device.send(plan({ timers: [{ id: "t1", delayMs: 100, payload: { say: ["one"], timers: [second] } }] }));
  const { consecutive_autonomous_msgs, last_n } = await settled(session, 3);
  assert.deepEqual([consecutive_autonomous_msgs, last_n], [1, 1]);
  assert.equal((await outcomes(session, "send_message"))[1], "failed cooldown");
  await device.send(plan({ say: ["reply"] }));
  await device.sees(2);
  assert.deepEqual(device.shown, ["1 one", "2 reply"]);
  await device.kill();
});

test("5: what the user says cancels timers and what is held back, and clears the counters", async () => {
  const session = "wren:patient:interrupted";
  const soon = { id: "t2", delayMs: 50, payload: { say: ["held"], timers: [{ id: "later", delayMs: 60_000 }] } };
  await say(session, { timers: [{ id: "t1", delayMs: 50, payload: { say: ["one"], timers: [soon] } }, { id: "kept", delayMs: 60_000, keep: true }] });
  await settled(session, 3);
  assert.deepEqual(await outcomes(session, "send_message"), ["pending", "pending held"]);
  const { seq } = await say(session, { say: ["I am here"] });
  assert.equal(seq, 4);
  const statuses = Object.fromEntries((await wren.timers(session)).map(({ timer_id, status }) => [timer_id, status]));
  assert.deepEqual(statuses, { t1: "promoted", t2: "promoted", later: "cancelled", kept: "pending" });
  const { consecutive_autonomous_msgs, last_autonomous_at } = await settled(session, 4);
  assert.deepEqual([consecutive_autonomous_msgs, last_autonomous_at], [0, null]);
  await eventually(async () => (await outcomes(session, "send_message"))[1] === "failed cancelled");
  assert.deepEqual((await wren.messages(session)).items.map(({ content }) => content), ["one", "I am here"]);
});

test("5: a timer that is set for a user who has spoken meanwhile is cancelled from the start", async () => {
  const session = "wren:guide:meanwhile";
  await say(session, { wait: true, timers: [{ id: "stale", delayMs: 1 }] });
  await worker.begun(session);
  await say(session, {});
  worker.proceed();
  await settled(session, 2);
  assert.deepEqual(await outcomes(session, "schedule_timer"), ["completed superseded"]);
  assert.deepEqual((await wren.timers(session)).map(({ status }) => status), ["cancelled"]);
  assert.deepEqual((await wren.events(session)).items.map(({ type }) => type), ["user_message", "user_message"]);
});

test("6: a timer that is set again is one timer, and fires once, at the later time", async () => {
  const session = "wren:guide:again";
  const again = (delayMs) => ({ id: "again", delayMs, payload: {} });
  await say(session, { timers: [again(800), { id: "set-again", delayMs: 50, payload: { timers: [again(1500)] } }] });
  await settled(session, 3);
  const [timer] = (await wren.timers(session)).filter(({ timer_id }) => timer_id === "again");
  assert.deepEqual([timer.status, timer.id], ["promoted", `${session}/2/0`]);
  const fired = (await wren.events(session)).items.filter(({ payload }) => payload.timer_id === "again");
  assert.equal(fired.length, 1);
  assert.ok(time(fired[0].created_at) >= time(timer.fire_at));
});

test("7: what was said while nobody listened is told in order, once, to each device", async () => {
  const session = "wren:guide:away";
  const first = startDevice(session, "phone");
  await first.send(plan({ say: ["hello"] }));
  await first.sees(1);
  await eventually(async () => (await outcomes(session, "send_message"))[0] === "completed");
  await first.kill();
  await say(session, { say: ["a", "b", "c"] });
  await settled(session, 2);
  assert.deepEqual(await outcomes(session, "send_message"), ["completed", "pending", "pending", "pending"]);
  const all = ["1 hello", "2 a", "3 b", "4 c"];
  const phone = startDevice(session, "phone");
  await phone.sees(4);
  assert.deepEqual(phone.shown, all.slice(1));
  const tablet = startDevice(session, "tablet");
  await tablet.sees(4);
  assert.deepEqual(tablet.shown, all);
  await eventually(async () => (await outcomes(session, "send_message")).every((outcome) => outcome === "completed"));
  await Promise.all([phone.kill(), tablet.kill()]);
});

test("a turn that fails is tried again, and blocks its session when it fails five times", async () => {
  const session = "wren:guide:poison";
  await say(session, { fail: "always" });
  const view = await eventually(async () => {
    const seen = await wren.session(session);
    return seen.state === "blocked" && seen;
  }, 60);
  assert.equal(view.reason, "poison");
  assert.equal(worker.turns.filter((turn) => turn.session === session).length, 5);
  assert.ok((await admin.deadLetters()).items.some((letter) => letter.session_key === session));
});

test("a paused session takes in nothing until it is resumed", async () => {
  const session = "wren:guide:paused";
  await say(session, { say: ["one"] });
  await settled(session, 1);
  assert.equal((await wren.pause(session)).state, "paused");
  await say(session, { say: ["two"] });
  assert.equal((await wren.session(session)).event_seq, 1);
  assert.equal((await wren.resume(session)).state, "active");
  assert.equal((await settled(session, 2)).last_n, 2);
});

test("a worker may as well come by plain requests", async () => {
  const session = "wren:poller:t1";
  const poller = startWorker(["poller"], { TRANSPORT: "http" });
  await say(session, { say: ["by request"], timers: [{ id: "t1", delayMs: 100, payload: { say: ["again"] } }] });
  await settled(session, 2);
  assert.deepEqual((await wren.messages(session)).items.map(({ content }) => content), ["by request", "again"]);
  await poller.kill();
});

// Last: the switch is the whole server's.
test("10: switched off, the agent answers and does not speak unasked; switched on, the timers fire late, in their order", async () => {
  const session = "wren:guide:switch";
  const underWay = "wren:guide:switch-held";
  await say(session, { timers: [{ id: "second", delayMs: 900 }, { id: "first", delayMs: 700 }] });
  await settled(session, 1);
  const pending = await wren.timers(session);
  await say(underWay, { timers: [{ id: "t1", delayMs: 10, payload: { wait: true, say: ["unasked"] } }] });
  await eventually(() => worker.turns.find((turn) => turn.session === underWay && turn.seq === 2));

  assert.equal((await admin.autonomy(false)).enabled, false);
  await assert.rejects(wren.autonomy(true), { status: 403 });
  worker.proceed();
  await settled(underWay, 2);
  assert.deepEqual(await outcomes(underWay, "send_message"), ["failed disabled"]);

  const quiet = "wren:guide:switch-quiet";
  const device = startDevice(quiet, "web");
  await device.send(plan({ say: ["reply"], timers: [{ id: "never", delayMs: 1 }] }));
  await device.sees(1);
  assert.deepEqual(await outcomes(quiet, "schedule_timer"), ["failed disabled"]);
  assert.deepEqual(await wren.timers(quiet), []);
  await device.kill();

  const due = Math.max(...pending.map(({ fire_at }) => time(fire_at)));
  await eventually(() => Date.now() > due + 100);
  assert.deepEqual((await wren.timers(session)).map(({ status }) => status), ["pending", "pending"]);
  assert.equal((await wren.session(session)).last_seq, 1);
  assert.equal((await admin.autonomy(true)).enabled, true);
  await settled(session, 3);
  assert.deepEqual((await wren.events(session)).items.slice(1).map(({ payload }) => payload.timer_id), ["first", "second"]);
});

test("10: what happened is not changed", async () => {
  for (const method of ["PUT", "PATCH", "DELETE"])
    await assert.rejects(request({ url, token: workerToken }, method, "/v1/sessions/wren:guide:switch/events/1", method === "DELETE" ? undefined : {}), { name: "Forbidden", status: 403 });
});
