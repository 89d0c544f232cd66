// What a page does, with a local storage that remembers a visit; runs in a Node.js that takes itself for a browser.
import { Client } from "../../../clients/typescript/dist/src/index.js";

const kept = new Map([["holdfast:ann:guide:t1/default", "4"]]);
globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
const client = new Client({
  url: process.env.HOLDFAST_URL,
  token: "secret",
  session: "ann:guide:t1",
  onMessage: async ({ content }) => process.send({ content, sent: await client.send("hi", "c-1"), kept: [...kept] }),
});
