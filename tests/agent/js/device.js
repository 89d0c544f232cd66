// A user's device: what it is told to say it says, what it shows it reports. Its cursor is in a file, as a browser's is in
// its local storage.
import { readFileSync, writeFileSync } from "node:fs";
import { Client } from "../../../clients/typescript/dist/src/index.js";

const { HOLDFAST_URL, HOLDFAST_TOKEN, SESSION, DEVICE, CURSOR, ACK_DELAY_MS = "5" } = process.env;

const client = new Client({
  url: HOLDFAST_URL,
  token: HOLDFAST_TOKEN,
  session: SESSION,
  device: DEVICE,
  ackDelayMs: Number(ACK_DELAY_MS),
  store: {
    load() {
      try {
        return Number(readFileSync(CURSOR, "utf8"));
      } catch {}
    },
    save: (_, n) => writeFileSync(CURSOR, String(n)),
  },
  onMessage: (message) => process.send({ message }),
});

process.on("message", async ({ text, id }) => {
  const answer = await client.send(text, id).catch(({ message }) => ({ error: message }));
  process.send({ answer: { id, ...answer } });
});
process.on("disconnect", () => process.exit());
