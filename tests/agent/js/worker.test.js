// A worker's promises when connections, leases and handlers fail: a turn is committed once or not at all, and nothing that
// it was given is forgotten.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "../../../clients/typescript/dist/src/index.js";
import { eventually } from "../../support/server.mjs";
import { scripted } from "./scripted.js";

const session = "ann:guide:t1";
const said = (seq, text) => ({ seq, id: `e${seq}`, type: "user_message", payload: { text }, at: 1, origin: "user" });
const work = (seq, text, more) => ({
  t: "work", session, epoch: 4, lease_until: 1, checkpoint: null, events: [said(seq, text)],
  state: { auto_n: 0, auto_at: null, n_tail: 0 }, policy: {}, ...more,
});

async function start(t, handler, options = {}) {
  const server = await scripted(t);
  const errors = [];
  const worker = new Worker({
    url: server.url, token: "secret", agents: ["guide"], name: "w1", credit: 2, handler,
    onError: (error, of) => errors.push(`${of ?? "link"}: ${error.message}`), ...options,
  });
  t.after(() => worker.stop(0));
  // The next connection, past its greeting.
  const accept = async () => {
    const line = await server.accept();
    const hello = await line.hear();
    assert.deepEqual(hello, { t: "hello", worker: "w1", agents: ["guide"], credit: 2, lease_ms: options.leaseMs ?? 30_000 });
    line.say({ t: "ready" });
    return line;
  };
  return { ...server, accept, worker, errors };
}

const echo = (turn) => {
  for (const { payload } of turn.events) turn.send(`You said: ${payload.text}`);
  return { count: (turn.state.count ?? 0) + turn.events.length };
};

// A handler that ends when the test says so.
function held() {
  const turns = [];
  const handler = (turn) => new Promise((resolve, reject) => turns.push({ turn, resolve, reject }));
  return { handler, taken: async (n = 1) => (await eventually(() => turns.length >= n)) && turns[n - 1] };
}

test("what a handler decides is one commit", async (t) => {
  const { accept } = await start(t, (turn) => {
    turn.send("hello");
    turn.send("once", { delivery: "at_most_once" });
    turn.scheduleTimer("nudge", { delayMs: 10_000, payload: { n: 1 } });
    turn.scheduleTimer("remind", { fireAt: new Date(5), keep: true });
    turn.cancelTimer("old");
    turn.webhook("https://example.com/", { a: 1 });
    turn.usage = { tokens: 7 };
    return { seen: turn.events[0].payload.text, before: turn.state };
  });
  const line = await accept();
  line.say(work(3, "hi", { checkpoint: { seq: 2, data: { seen: "…" } } }));
  const { id, token, ...commit } = await line.hear();
  assert.ok(id && token);
  assert.deepEqual(commit, {
    t: "commit", session, epoch: 4, upto: 3, checkpoint: { seen: "hi", before: { seen: "…" } }, usage: { tokens: 7 },
    effects: [
      { type: "send_message", content: "hello" },
      { type: "send_message", content: "once", delivery: "at_most_once" },
      { type: "schedule_timer", timer_id: "nudge", delay_ms: 10_000, payload: { n: 1 } },
      { type: "schedule_timer", timer_id: "remind", fire_at: 5, keep: true },
      { type: "cancel_timer", timer_id: "old" },
      { type: "webhook", url: "https://example.com/", body: { a: 1 } },
    ],
  });
});

test("the next events of a session come with the answer, and a turn may take in fewer than it was given", async (t) => {
  const { accept } = await start(t, (turn) => {
    turn.upto = turn.events[0].seq;
    return echo(turn);
  });
  const line = await accept();
  line.say(work(1, "a", { events: [said(1, "a"), said(2, "b")] }));
  const first = await line.hear();
  assert.equal(first.upto, 1);
  line.say({ t: "committed", id: first.id, session, seq: 1, messages: [1], suppressed: [], next: work(2, "b") });
  const second = await line.hear();
  assert.equal(second.upto, 2);
  assert.notEqual(second.token, first.token);
});

test("a handler that returns nothing leaves the state; initial says what it is at first", async (t) => {
  const { accept } = await start(t, () => {}, { initial: () => ({ mood: "calm" }) });
  const line = await accept();
  line.say(work(1, "a"));
  assert.deepEqual((await line.hear()).checkpoint, { mood: "calm" });
});

test("a commit whose answer is lost is sent again as it was", async (t) => {
  const { accept, errors } = await start(t, echo);
  const first = await accept();
  first.say(work(1, "a"));
  const commit = await first.hear();
  first.cut();
  const second = await accept();
  assert.deepEqual(await second.hear(), commit);
  second.say({ t: "error", id: commit.id, session, status: 503, error: "Throttled", message: "later" });
  assert.deepEqual(await second.hear(), commit);
  second.say({ t: "committed", id: commit.id, session, seq: 1, messages: [1], suppressed: [], next: null });
  // What follows is new work, not that commit once more.
  second.say(work(2, "b"));
  assert.equal((await second.hear()).upto, 2);
  assert.equal(errors.length, 1, "an outage is told once");
});

test("a turn outlives its connection", async (t) => {
  const { handler, taken } = held();
  const { accept } = await start(t, handler);
  const first = await accept();
  first.say(work(1, "a"));
  const { resolve } = await taken();
  first.cut();
  const second = await accept();
  resolve({ done: true });
  const commit = await second.hear();
  assert.deepEqual([commit.t, commit.epoch, commit.checkpoint], ["commit", 4, { done: true }]);
});

test("fenced work is dropped without a word", async (t) => {
  const { accept, errors } = await start(t, echo);
  const line = await accept();
  line.say(work(1, "a"));
  const { id } = await line.hear();
  line.say({ t: "fenced", id, session, epoch: 4, message: "epoch 5 has it" }, work(7, "b"));
  assert.equal((await line.hear()).upto, 7);
  assert.deepEqual(errors, []);
});

test("a session that comes with a higher epoch ends the turn that is in it", async (t) => {
  const { handler, taken } = held();
  const { accept } = await start(t, handler);
  const line = await accept();
  line.say(work(1, "a"));
  const old = await taken();
  line.say(work(1, "a", { epoch: 5 }));
  const current = await taken(2);
  assert.equal(old.turn.signal.aborted, true);
  old.resolve({ from: "old" });
  current.resolve({ from: "current" });
  const commit = await line.hear();
  assert.deepEqual([commit.epoch, commit.checkpoint], [5, { from: "current" }]);
});

test("a handler that throws gives its events back as failed, for longer each time in a row", async (t) => {
  let failing = true;
  const { accept, errors } = await start(t, async () => {
    if (failing) throw new TypeError("no such tool");
  });
  const line = await accept();
  const failed = async (retry_after_ms) => {
    line.say(work(1, "a"));
    const { id, ...release } = await line.hear();
    assert.deepEqual(release, { t: "release", session, epoch: 4, error: "TypeError: no such tool", retry_after_ms });
    line.say({ t: "released", id, session });
  };
  await failed(1_000);
  await failed(2_000);
  assert.deepEqual(errors, [`${session}: no such tool`, `${session}: no such tool`]);
  failing = false;
  line.say(work(1, "a"));
  line.say({ t: "committed", id: (await line.hear()).id, session, seq: 1, messages: [], suppressed: [], next: null });
  failing = true;
  await failed(1_000);
});

test("what the server will never take is given back as failed", async (t) => {
  const { accept, errors } = await start(t, echo);
  const line = await accept();
  line.say(work(1, "a"));
  const { id } = await line.hear();
  line.say({ t: "error", id, session, status: 413, error: "TransactionTooLarge", message: "25 effects" });
  assert.equal((await line.hear()).error, "TransactionTooLarge: 25 effects");
  assert.deepEqual(errors, [`${session}: 25 effects`]);
});

test("a handler whose commit is rejected is told why and asked again, once", async (t) => {
  const { accept } = await start(t, (turn) => {
    turn.send(turn.rejected ? `not ${turn.rejected}` : "psst");
  });
  const line = await accept();
  const refuse = (id) => line.say({ t: "error", id, session, status: 409, error: "Rejected", message: "no", details: { reason: "cap" } });
  line.say(work(1, "a"));
  const first = await line.hear();
  refuse(first.id);
  const second = await line.hear();
  assert.deepEqual(second.effects, [{ type: "send_message", content: "not cap" }]);
  assert.notEqual(second.token, first.token);
  refuse(second.id);
  assert.equal((await line.hear()).t, "release");
});

test("while it is in a turn it says so, and a lost lease ends the turn", async (t) => {
  const { handler, taken } = held();
  const { accept } = await start(t, handler, { leaseMs: 90 });
  const line = await accept();
  line.say(work(1, "a"));
  const { turn, reject } = await taken();
  const lease = { session, epoch: 4 };
  assert.deepEqual(await line.hear(), { t: "hb", leases: [lease] });
  line.say({ t: "hb", ok: [{ ...lease, lease_until: 2 }], lost: [] });
  assert.deepEqual(await line.hear(), { t: "hb", leases: [lease] });
  assert.equal(turn.signal.aborted, false);
  line.say({ t: "hb", ok: [], lost: [lease] });
  await eventually(() => turn.cancelled === "lost");
  reject(turn.signal.reason);
  // It neither commits nor releases: what comes next on the line is of the next turn.
  line.say(work(2, "b", { session: "bob:guide:t1" }));
  (await taken(2)).resolve({});
  for (let frame = await line.hear(); ; frame = await line.hear()) {
    if (frame.t === "hb") continue;
    assert.deepEqual([frame.t, frame.session], ["commit", "bob:guide:t1"]);
    break;
  }
});

test("a turn that is cancelled can commit what it has, or throw and be handed out again", async (t) => {
  const { handler, taken } = held();
  const { accept, errors } = await start(t, handler);
  const line = await accept();
  const cancelled = async (n, reason) => {
    const held = await taken(n);
    const { signal } = held.turn;
    line.say({ t: "cancel", session, epoch: 4, reason });
    await eventually(() => signal.aborted);
    assert.equal(held.turn.cancelled, reason);
    return held;
  };
  line.say(work(1, "a"));
  (await cancelled(1, "user_message")).resolve({ partial: true });
  const commit = await line.hear();
  assert.deepEqual(commit.checkpoint, { partial: true });
  line.say({ t: "committed", id: commit.id, session, seq: 1, messages: [], suppressed: [], next: work(2, "b") });

  const { turn, reject } = await cancelled(2, "pause");
  reject(turn.signal.reason);
  const { id, ...release } = await line.hear();
  assert.deepEqual(release, { t: "release", session, epoch: 4 });
  line.say({ t: "released", id, session }, work(2, "b", { checkpoint: { seq: 1, data: { partial: true } } }));

  // The user asked it to stop: it is not begun again.
  const stopped = await cancelled(3, "stop");
  stopped.turn.send("half a thought");
  stopped.reject(stopped.turn.signal.reason);
  const last = await line.hear();
  assert.deepEqual([last.t, last.upto, last.effects, last.checkpoint], ["commit", 2, [], { partial: true }]);
  assert.deepEqual(errors, []);
});

test("stop finishes what it has, and takes nothing more", async (t) => {
  const { handler, taken } = held();
  const { accept, worker } = await start(t, handler);
  const line = await accept();
  line.say(work(1, "a"));
  const { resolve } = await taken();
  const stopped = worker.stop();
  line.say(work(1, "b", { session: "bob:guide:t1" }));
  const release = await line.hear();
  assert.deepEqual([release.t, release.session], ["release", "bob:guide:t1"]);
  line.say({ t: "released", id: release.id, session: release.session });
  resolve({});
  const commit = await line.hear();
  assert.equal(commit.then, "release");
  line.say({ t: "committed", id: commit.id, session, seq: 1, messages: [], suppressed: [], next: null });
  await stopped;
  await line.closed;
});

test("over plain requests: claims, commits again after a lost answer, beats", async (t) => {
  const { handler, taken } = held();
  const { request, worker } = await start(t, handler, { transport: "http", credit: 1, leaseMs: 600 });
  // The next request of a kind; heartbeats come when they come.
  const asked = async (what) => {
    for (let next = await request(); ; next = await request()) {
      if (next.path === `/v1/work/${what}`) return next;
      assert.equal(next.path, "/v1/work/heartbeat");
      next.answer(200, { ok: [], lost: [] });
    }
  };
  const claim = await asked("claim");
  const { req, ...claimed } = claim.body;
  assert.deepEqual(claimed, { worker: "w1", agents: ["guide"], max: 1, lease_ms: 600, wait_ms: 20_000 });
  claim.cut();
  const again = await asked("claim");
  assert.deepEqual(again.body, claim.body);
  again.answer(200, { work: [work(1, "a")] });
  const { turn, resolve } = await taken();
  const beat = await asked("heartbeat");
  assert.deepEqual(beat.body, { leases: [{ session, epoch: 4 }] });
  beat.answer(200, { ok: [], lost: [], cancel: [{ session, epoch: 4, reason: "user_message" }] });
  await eventually(() => turn.cancelled === "user_message");
  resolve({ n: 1 });
  const commit = await asked("commit");
  commit.cut();
  const resent = await asked("commit");
  assert.deepEqual(resent.body, commit.body);
  resent.answer(200, { seq: 1, messages: [], suppressed: [], next: null });
  // Free again, it asks again, and by a name that no other request had.
  assert.notEqual((await asked("claim")).body.req, req);
  await worker.stop();
});
