// The agent that is measured, the same for every contestant: (event, state) → {state, effects}.
"use strict";

const memory = "m".repeat(1000);
const now = () => performance.timeOrigin + performance.now();

// `event` has type, payload and at (ms). Texts: "timer MS" sets one timer at that moment, "timers COUNT MS" that many
// from it on; anything else is answered. A timer that comes says how late it was.
function agent(event, state) {
  const next = { turns: (state?.turns ?? 0) + 1, memory };
  if (event.type === "timer") {
    const content = JSON.stringify({ fire_at: event.payload.payload, at: event.at, seen: now() });
    return { state: next, effects: [{ type: "send_message", content }] };
  }
  const text = event.payload.text;
  if (!text.startsWith("timer")) return { state: next, effects: [{ type: "send_message", content: "You said: " + text }] };
  const words = text.split(" ");
  const [count, from] = words[0] === "timer" ? [1, Number(words[1])] : [Number(words[1]), Number(words[2])];
  const effects = Array.from({ length: count }, (_, i) => (
    { type: "schedule_timer", timer_id: "t" + i, fire_at: from + i, payload: from + i }));
  return { state: next, effects };
}

module.exports = { agent, now };
