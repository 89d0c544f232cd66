// A client's promises when the connection breaks at the worst moment: each message shown once, in order, without a gap;
// what the user said stored once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../../../clients/typescript/dist/src/index.js";
import { eventually } from "../../support/server.mjs";
import { scripted } from "./scripted.js";

const message = (n) => ({ t: "msg", n, id: `ann:guide:t1/${n}/0`, auto: false, content: `m${n}`, at: 1 });

async function start(t, options = {}, refuse) {
  const server = await scripted(t, refuse);
  const shown = [];
  const errors = [];
  const client = new Client({
    url: server.url, token: "secret", session: "ann:guide:t1", device: "web",
    onMessage: ({ n, content }) => shown.push(`${n} ${content}`), onError: (error) => errors.push(error), ...options,
  });
  t.after(() => client.close());
  return { ...server, client, shown, errors };
}

test("without a cursor of its own it starts at the server's, and acknowledges what it showed together", async (t) => {
  const { accept, shown, client } = await start(t);
  const line = await accept();
  assert.equal(line.token, "Bearer secret");
  assert.deepEqual(Object.fromEntries(line.url.searchParams), { session: "ann:guide:t1", device: "web" });
  line.say({ t: "ready", n: 43, ack: 41 }, message(42), message(43));
  assert.deepEqual(await line.hear(), { t: "ack", n: 43 });
  assert.deepEqual(shown, ["42 m42", "43 m43"]);
  assert.equal(client.cursor, 43);
});

test("a message that comes again is acknowledged again, and not shown", async (t) => {
  const { accept, shown } = await start(t);
  const line = await accept();
  line.say({ t: "ready", n: 2, ack: 0 }, message(1));
  assert.deepEqual(await line.hear(), { t: "ack", n: 1 });
  line.say(message(1));
  assert.deepEqual(await line.hear(), { t: "ack", n: 1 });
  line.say(message(2));
  assert.deepEqual(await line.hear(), { t: "ack", n: 2 });
  assert.deepEqual(shown, ["1 m1", "2 m2"]);
});

test("at a gap it reconnects from its cursor, and shows nothing past the gap", async (t) => {
  const { accept, shown } = await start(t);
  const first = await accept();
  first.say({ t: "ready", n: 3, ack: 0 }, message(1), message(3), message(4));
  const second = await accept();
  assert.equal(second.url.searchParams.get("after"), "1");
  second.say({ t: "ready", n: 4, ack: 0 }, message(2), message(3), message(4));
  await eventually(() => shown.length === 4);
  assert.deepEqual(shown, ["1 m1", "2 m2", "3 m3", "4 m4"]);
});

test("a message that will never come is counted, not shown", async (t) => {
  const { accept, shown } = await start(t);
  const line = await accept();
  line.say({ t: "ready", n: 3, ack: 0 }, message(1), { t: "skip", n: 2 }, message(3));
  assert.deepEqual(await line.hear(), { t: "ack", n: 3 });
  assert.deepEqual(shown, ["1 m1", "3 m3"]);
});

test("what was shown and not yet acknowledged is not asked for again", async (t) => {
  const { accept, shown } = await start(t, { ackDelayMs: 60_000 });
  const first = await accept();
  first.say({ t: "ready", n: 1, ack: 0 }, message(1));
  await eventually(() => shown.length === 1);
  first.cut();
  const second = await accept();
  assert.equal(second.url.searchParams.get("after"), "1");
});

test("what the server has not heard of is acknowledged after a reconnect", async (t) => {
  const { accept } = await start(t);
  const first = await accept();
  first.say({ t: "ready", n: 1, ack: 0 }, message(1));
  await first.hear();
  first.cut();
  const second = await accept();
  second.say({ t: "ready", n: 1, ack: 0 });
  assert.deepEqual(await second.hear(), { t: "ack", n: 1 });
});

test("what was said is said again under the same id until it is answered", async (t) => {
  const { accept, client } = await start(t);
  const sent = client.send("hi", "c-1");
  const first = await accept();
  first.say({ t: "ready", n: 0, ack: 0 });
  assert.deepEqual(await first.hear(), { t: "user", id: "c-1", text: "hi" });
  first.cut();
  const second = await accept();
  second.say({ t: "ready", n: 0, ack: 0 });
  assert.deepEqual(await second.hear(), { t: "user", id: "c-1", text: "hi" });
  second.say({ t: "error", id: "c-1", status: 503, error: "Throttled", message: "later" });
  assert.deepEqual(await second.hear(), { t: "user", id: "c-1", text: "hi" });
  second.say({ t: "ok", id: "c-1", seq: 7, duplicate: true });
  assert.deepEqual(await sent, { seq: 7, duplicate: true });
});

test("several are said in their order, also after a reconnect", async (t) => {
  const { accept, client } = await start(t);
  const sent = ["a", "b", "c"].map((text) => client.send(text));
  (await accept()).cut();
  const line = await accept();
  line.say({ t: "ready", n: 0, ack: 0 });
  for (const [i, text] of ["a", "b", "c"].entries()) {
    const said = await line.hear();
    assert.equal(said.text, text);
    line.say({ t: "ok", id: said.id, seq: i + 1 });
  }
  assert.deepEqual((await Promise.all(sent)).map(({ seq }) => seq), [1, 2, 3]);
});

test("a refusal is thrown to who said it", async (t) => {
  const { accept, client } = await start(t);
  const sent = client.send("", "c-1");
  const line = await accept();
  line.say({ t: "ready", n: 0, ack: 0 });
  await line.hear();
  line.say({ t: "error", id: "c-1", status: 400, error: "ValidationError", message: "text is empty" });
  await assert.rejects(sent, { name: "ValidationError", status: 400, message: "text is empty" });
});

test("the cursor is kept in a store, and found there again", async (t) => {
  const kept = new Map([["ann:guide:t1/web", 5]]);
  const store = { load: async (key) => kept.get(key), save: (key, n) => kept.set(key, n) };
  const { accept, shown } = await start(t, { store });
  const line = await accept();
  assert.equal(line.url.searchParams.get("after"), "5");
  line.say({ t: "ready", n: 6, ack: 0 }, message(6));
  assert.deepEqual(await line.hear(), { t: "ack", n: 6 });
  assert.deepEqual(shown, ["6 m6"]);
  assert.equal(kept.get("ann:guide:t1/web"), 6);
});

test("a server that knows fewer messages than were shown is another one: its cursor counts", async (t) => {
  const { accept, shown } = await start(t, { store: { load: () => 9, save() {} } });
  (await accept()).say({ t: "ready", n: 2, ack: 1 });
  const line = await accept();
  assert.equal(line.url.searchParams.get("after"), "1");
  line.say({ t: "ready", n: 2, ack: 1 }, message(2));
  await eventually(() => shown.length === 1);
  assert.deepEqual(shown, ["2 m2"]);
});

test("a token that stays refused ends it, and fails what waits", async (t) => {
  let attempts = 0;
  const { client, errors } = await start(t, {}, () => ++attempts && 401);
  await assert.rejects(client.send("hi"), { name: "LinkClosed" });
  assert.equal(attempts, 3);
  assert.deepEqual(errors.map(({ name, status, message }) => ({ name, status, message })).at(-1), {
    name: "Unauthorized", status: 401, message: "who are you?",
  });
  await assert.rejects(client.send("hi"), { name: "LinkClosed" });
});

test("a token that is refused once may be good a moment later", async (t) => {
  let attempts = 0;
  const token = () => `t${++attempts}`;
  const { accept } = await start(t, { token }, ({ headers }) => headers.authorization === "Bearer t1" && 401);
  assert.equal((await accept()).token, "Bearer t2");
});

test("it tells of the session's state, and asks for the turn to stop", async (t) => {
  const states = [];
  const { accept, client } = await start(t, { onState: (state) => states.push(state) });
  const line = await accept();
  line.say({ t: "ready", n: 0, ack: 0 }, { t: "state", st: "paused" });
  await eventually(() => states.length);
  assert.deepEqual(states, ["paused"]);
  client.stop();
  assert.deepEqual(await line.hear(), { t: "stop" });
});
