// A worker whose agent does what it is told: a user's text, and a timer's payload, is its plan for that turn.
//   { say: ["…"], once: ["…"], timers: [{ id, delayMs, payload: plan, keep }], cancel: ["…"], wait: true, fail: "…" }
import { Worker } from "../../../clients/typescript/dist/src/index.js";

const { HOLDFAST_URL, HOLDFAST_TOKEN, AGENTS, LEASE_MS = "2000", TRANSPORT = "ws", NAME } = process.env;

let waiting = [];
process.on("message", () => {
  for (const resolve of waiting) resolve();
  waiting = [];
});
process.on("disconnect", () => process.exit());

const planOf = ({ type, payload }) => (type === "timer" ? payload.payload : JSON.parse(payload.text));

new Worker({
  url: HOLDFAST_URL,
  token: HOLDFAST_TOKEN,
  agents: AGENTS.split(","),
  leaseMs: Number(LEASE_MS),
  transport: TRANSPORT,
  retryMs: 10,
  onError: () => {}, // the tests look at what the server says
  async handler(turn) {
    process.send({ session: turn.session, epoch: turn.epoch, seq: turn.events[0].seq });
    // One event a turn, so that each has a checkpoint to look at.
    const event = turn.events[0];
    turn.upto = event.seq;
    const plan = planOf(event) ?? {};
    if (plan.wait) await new Promise((resolve) => waiting.push(resolve));
    if (plan.fail) throw new Error(plan.fail);
    for (const text of plan.say ?? []) turn.send(NAME ? `${text} (${NAME})` : text);
    for (const text of plan.once ?? []) turn.send(text, { delivery: "at_most_once" });
    for (const { id, ...timer } of plan.timers ?? []) turn.scheduleTimer(id, timer);
    for (const id of plan.cancel ?? []) turn.cancelTimer(id);
    return { turns: (turn.state.turns ?? 0) + 1, last: event.seq };
  },
});
