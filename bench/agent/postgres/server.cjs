// The rival: events, effects, timers and checkpoints as four tables of PostgreSQL, the agent inside one Node process.
//
//   node server.cjs PORT HOST-OF-POSTGRES [together|alone]
//
// A client's frame is inserted as an event; the agent runs; its checkpoint and effects are one statement; the effect is
// marked executing, the message goes out, and the effect is marked completed. All is as quick as those tables allow: one
// prepared statement a step, what several sessions want at once goes in one statement, nothing is polled, what one process
// knows it does not ask for. With `alone`, an event and a checkpoint are a statement each, and only effects go together. The
// client's frames are those of holdfast's /v1/connect, without numbers and acknowledgements.
"use strict";

const { createHash, randomUUID } = require("node:crypto");
const { Pool } = require("pg");
const { WebSocketServer } = require("ws");
const { agent } = require("../load/agent.cjs");

const CAP = 3, COOLDOWN_MS = 15_000, SOON_MS = 60_000, FINISH_WITHIN_MS = 5, CONNECTIONS = 8;

const [port, host, how = "together"] = process.argv.slice(2);
const step = how === "alone" ? { lanes: CONNECTIONS, rows_max: 1 } : { lanes: 2, rows_max: 1000 };
const pool = new Pool({ host, user: "bench", database: "postgres", max: CONNECTIONS });
let statements = 0;
const prepared = (text) => {
  const name = "s" + statements++;
  return (...values) => pool.query({ name, text, values });
};
let stopping = false;
const die = (error) => {
  if (stopping) return;
  console.error(error);
  process.exit(1);
};

// Rows that come while its statements are under way go together in the next one.
class Batch {
  constructor({ lanes, rows_max }, run) {
    Object.assign(this, { lanes, rows_max, run, rows: [], scheduled: false });
  }
  add(row) {
    this.rows.push(row);
    if (!this.scheduled) {
      this.scheduled = true;
      setImmediate(() => this.flush());
    }
  }
  flush() {
    this.scheduled = false;
    while (this.lanes > 0 && this.rows.length > 0) {
      this.lanes--;
      this.run(this.rows.splice(0, this.rows_max)).catch(die).finally(() => {
        this.lanes++;
        this.flush();
      });
    }
  }
}

// --- events ---

const EVENTS = "json_to_recordset($1) AS r(id uuid, session_key text, seq int, type text, payload jsonb)";
const INSERT = `INSERT INTO events (id, session_key, seq, type, payload)
  SELECT id, session_key, seq, type, payload FROM ${EVENTS}`;
const append = prepared(INSERT);
// A user's words cancel the timers of their session; a timer's event promotes it.
const appendAndMoveTimers = prepared(`WITH moved AS (
  UPDATE autonomy_timers t SET updated_at = now(), status = CASE r.type WHEN 'timer' THEN 'promoted' ELSE 'cancelled' END
  FROM ${EVENTS} WHERE t.session_key = r.session_key AND t.status = 'pending'
    AND (r.type = 'user_message' OR t.timer_id = r.payload->>'timer_id')) ${INSERT}`);

const events = new Batch(step, async (rows) => {
  const move = rows.some((row) => row.moves_timers);
  await (move ? appendAndMoveTimers : append)(JSON.stringify(rows.map((row) => row.event)));
  for (const { session, event, frame } of rows) {
    if (frame !== undefined) session.socket?.send(`{"t":"ok","id":${JSON.stringify(frame)},"seq":${event.seq}}`);
    if (event.type === "timer" && session.armed.get(event.payload.timer_id) === null) {
      session.armed.delete(event.payload.timer_id);
    }
    session.queue.push(event);
    work(session);
  }
});

function accept(session, type, payload, frame) {
  const event = { id: randomUUID(), session_key: session.key, seq: ++session.seq, type, payload, at: Date.now() };
  const moves_timers = type === "timer" || session.has_timers;
  if (type === "user_message" && session.has_timers) disarm(session);
  events.add({ session, event, frame, moves_timers });
}

// --- the agent: one event of a session at a time ---

const commit = prepared(`WITH c AS (
  INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint, metadata) SELECT * FROM
    json_to_recordset($1) AS r(thread_id text, checkpoint_id text, checkpoint jsonb, metadata jsonb))
  INSERT INTO effects (id, session_key, checkpoint_id, type, payload, dedupe_key) SELECT * FROM
    json_to_recordset($2) AS r(id uuid, session_key text, checkpoint_id text, type text, payload jsonb, dedupe_key text)
  ON CONFLICT (dedupe_key) DO NOTHING`);

const commits = new Batch(step, async (rows) => {
  await commit(JSON.stringify(rows.map((row) => row.checkpoint)), JSON.stringify(rows.flatMap((row) => row.effects)));
  for (const { session, effects } of rows) {
    for (const effect of effects) execute(session, effect);
    session.busy = false;
    work(session);
  }
});

function work(session) {
  if (session.busy || session.queue.length === 0) return;
  session.busy = true;
  const event = session.queue.shift();
  const wanted = agent(event, session.state);
  const checkpoint_id = String(event.seq).padStart(12, "0");
  const effects = [];
  if (event.type === "user_message") [session.autonomous, session.autonomous_at] = [0, null];
  for (const { type, ...payload } of wanted.effects) {
    if (type === "send_message" && event.type === "timer" && !mayFollowUp(session)) continue;
    const dedupe_key = createHash("sha256").update(`${session.key}/${checkpoint_id}\n${type}\n${JSON.stringify(payload)}`)
      .digest("hex");
    effects.push({ id: randomUUID(), session_key: session.key, checkpoint_id, type, payload, dedupe_key });
  }
  session.state = wanted.state;
  const metadata = { event_seq: event.seq, consecutive_autonomous_msgs: session.autonomous,
                     last_autonomous_at: session.autonomous_at && new Date(session.autonomous_at) };
  commits.add({ session, effects,
                checkpoint: { thread_id: session.key, checkpoint_id, checkpoint: session.state, metadata } });
}

function mayFollowUp(session) {
  const now = Date.now();
  if (session.autonomous >= CAP || (session.autonomous_at !== null && now - session.autonomous_at < COOLDOWN_MS)) return false;
  session.autonomous++;
  session.autonomous_at = now;
  return true;
}

// --- effects ---

const mark = prepared(`UPDATE effects SET updated_at = now(),
    status = CASE WHEN id = ANY($1::uuid[]) THEN 'executing' ELSE 'completed' END,
    attempt_count = attempt_count + CASE WHEN id = ANY($1::uuid[]) THEN 1 ELSE 0 END,
    last_attempt_at = CASE WHEN id = ANY($1::uuid[]) THEN now() ELSE last_attempt_at END
  WHERE id = ANY($1::uuid[] || $2::uuid[])`);

// Finished ones wait a little for a statement that has to go anyway: being sent and not yet marked is a state that a crash
// can leave in any case.
let finished = [], finishing = null;
const sends = new Batch({ lanes: 2, rows_max: 1000 }, async (rows) => {
  const done = finished;
  finished = [];
  await mark(rows.map((row) => row.effect.id), done);
  for (const { session, effect } of rows) {
    session.socket?.send(`{"t":"msg","id":"${effect.id}","content":${JSON.stringify(effect.payload.content)}}`);
    finished.push(effect.id);
  }
  finishing ??= setTimeout(() => {
    finishing = null;
    if (finished.length > 0) mark([], finished.splice(0)).catch(die);
  }, FINISH_WITHIN_MS);
});

function execute(session, effect) {
  if (effect.type === "schedule_timer") timers.add({ session, effect, generation: session.generation });
  else if (session.socket === null) session.outbox.push(effect);
  else sends.add({ session, effect });
}

// --- timers ---

const setTimers = prepared(`WITH t AS (
  INSERT INTO autonomy_timers (id, session_key, timer_id, fire_at, payload)
    SELECT id, session_key, timer_id, to_timestamp(fire_at / 1000.0), payload FROM
    json_to_recordset($1) AS r(id uuid, session_key text, timer_id text, fire_at float8, payload jsonb)
  ON CONFLICT (session_key, timer_id) DO UPDATE SET id = excluded.id, fire_at = excluded.fire_at, payload = excluded.payload,
    status = 'pending', updated_at = now())
  UPDATE effects SET status = 'completed', attempt_count = 1, last_attempt_at = now(), updated_at = now()
  WHERE id = ANY($2::uuid[])`);
const cancelTimers = prepared(
  "UPDATE autonomy_timers SET status = 'cancelled', updated_at = now() WHERE session_key = $1 AND status = 'pending'");
const soon = prepared(`SELECT session_key, timer_id, extract(epoch FROM fire_at) * 1000 AS fire_at, payload
  FROM autonomy_timers WHERE status = 'pending' AND fire_at < now() + interval '${2 * SOON_MS} ms'`);

const timers = new Batch({ lanes: 1, rows_max: 1000 }, async (rows) => {
  const newest = new Map(rows.map(({ session, effect }) =>
    [session.key + "/" + effect.payload.timer_id, { id: randomUUID(), session_key: session.key, ...effect.payload }]));
  for (const { session } of rows) session.has_timers = true;
  await setTimers(JSON.stringify([...newest.values()]), rows.map((row) => row.effect.id));
  for (const { session, effect, generation } of rows) {
    if (session.generation === generation) arm(session, effect.payload);
    else await cancelTimers(session.key);  // the user spoke while it was being set
  }
});

// Only what is due soon is kept in memory; the rest is read when its time is near.
function arm(session, timer) {
  if (timer.fire_at > Date.now() + 2 * SOON_MS) return;
  clearTimeout(session.armed.get(timer.timer_id));
  const fire = () => {
    const early = timer.fire_at - Date.now();
    if (early > 0) return session.armed.set(timer.timer_id, setTimeout(fire, early));
    session.armed.set(timer.timer_id, null);  // until its event is stored, so that nobody reads it again
    accept(session, "timer", { timer_id: timer.timer_id, payload: timer.payload });
  };
  session.armed.set(timer.timer_id, setTimeout(fire, timer.fire_at - Date.now()));
}

function disarm(session) {
  session.generation++;
  session.has_timers = false;
  for (const handle of session.armed.values()) clearTimeout(handle);
  session.armed.clear();
}

async function readTimers() {
  for (const row of (await soon()).rows) {
    const session = await find(row.session_key);
    if (!session.armed.has(row.timer_id)) arm(session, { ...row, fire_at: Number(row.fire_at) });
  }
}

// --- sessions: read when first needed ---

const readLast = prepared(`SELECT checkpoint, metadata FROM checkpoints WHERE thread_id = $1
  ORDER BY checkpoint_id DESC LIMIT 1`);
const readEvents = prepared(`SELECT id, session_key, seq, type, payload, extract(epoch FROM created_at) * 1000 AS at
  FROM events WHERE session_key = $1 AND seq > $2 ORDER BY seq`);
const readEffects = prepared(`SELECT id, type, payload FROM effects WHERE session_key = $1 AND status = 'pending'
  ORDER BY created_at`);
const sessions = new Map();

function find(key) {
  if (!sessions.has(key)) sessions.set(key, load(key).catch(die));
  return sessions.get(key);
}

async function load(key) {
  const last = (await readLast(key)).rows[0];
  const [events, effects] = await Promise.all([readEvents(key, last?.metadata.event_seq ?? 0), readEffects(key)]);
  const session = {
    key, seq: (last?.metadata.event_seq ?? 0) + events.rows.length, state: last?.checkpoint, queue: events.rows, busy: false,
    socket: null, outbox: [], has_timers: true, generation: 0, armed: new Map(),
    autonomous: last?.metadata.consecutive_autonomous_msgs ?? 0,
    autonomous_at: last?.metadata.last_autonomous_at ? Date.parse(last.metadata.last_autonomous_at) : null,
  };
  for (const effect of effects.rows) execute(session, effect);
  work(session);
  return session;
}

async function serve(socket, request) {
  const held = [];
  socket.on("message", (data) => held.push(data));
  const session = await find(new URL(request.url, "http://localhost").searchParams.get("session"));
  session.socket = socket;
  socket.send('{"t":"ready"}');
  for (const effect of session.outbox.splice(0)) sends.add({ session, effect });
  const receive = (data) => {
    const frame = JSON.parse(data);
    accept(session, "user_message", { text: frame.text }, frame.id);
  };
  socket.removeAllListeners("message").on("message", receive);
  held.forEach(receive);
  socket.on("close", () => {
    if (session.socket === socket) session.socket = null;
  });
}

readTimers().then(() => {
  setInterval(() => readTimers().catch(die), SOON_MS);
  const server = new WebSocketServer({ host: "127.0.0.1", port: Number(port), perMessageDeflate: false });
  server.on("connection", (socket, request) => serve(socket, request).catch(die));
  server.on("listening", () => console.log("ready"));
}, die);
process.on("SIGTERM", () => {
  stopping = true;
  pool.end().finally(() => process.exit(0));  // what ends here has its statistics counted
});
