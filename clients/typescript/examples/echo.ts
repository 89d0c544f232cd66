// An agent without a model: it repeats what it hears, and asks after the silent.
//   HOLDFAST_TOKEN=… [HOLDFAST_URL=…] [FOLLOW_UP_MS=10000] node dist/examples/echo.js
import { Worker } from "@holdfast/agents";

interface Talk {
  heard: number;
  last: string;
}

const { HOLDFAST_URL: url = "http://127.0.0.1:8000", HOLDFAST_TOKEN: token = "", FOLLOW_UP_MS = "10000" } = process.env;

const worker = new Worker<Talk>({
  url,
  token,
  agents: ["echo"],
  initial: () => ({ heard: 0, last: "" }),
  handler(turn) {
    let { heard, last } = turn.state;
    for (const event of turn.events) {
      if (event.type === "user_message") {
        last = event.payload.text;
        turn.send(`You said: ${last}`);
        turn.scheduleTimer("follow-up", { delayMs: Number(FOLLOW_UP_MS), payload: ++heard });
      } else if (event.type === "timer") {
        turn.send(`Still there? You said ${heard} thing${heard === 1 ? "" : "s"}; the last was: ${last}`);
      }
    }
    return { heard, last };
  },
});

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void worker.stop());
