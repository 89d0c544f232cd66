// A conversation in a terminal.
//   HOLDFAST_TOKEN=… [HOLDFAST_URL=…] node dist/examples/chat.js ann:echo:t1 [DEVICE]
import { createInterface } from "node:readline";
import { Client } from "@holdfast/agents";

const [session, device = "terminal"] = process.argv.slice(2);
if (!session) throw new Error("usage: chat.js USER:AGENT:THREAD [DEVICE]");
const { HOLDFAST_URL: url = "http://127.0.0.1:8000", HOLDFAST_TOKEN: token = "" } = process.env;

const chat = new Client({
  url,
  token,
  session,
  device,
  onMessage: ({ content, auto }) => console.log(auto ? `* ${content}` : `< ${content}`),
  onState: (state) => console.log(`(${state})`),
  onError: (error) => console.error(`(${error.message})`),
});

for await (const line of createInterface(process.stdin)) {
  if (line) await chat.send(line);
}
chat.close();
