// SC-AUTO in the page, on `holdfast demo chat` as people start it: an agent answers, speaks up by itself, and is cut short by
// the user's next words; each message is shown once in each tab, whatever happens to the connection.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { freePort, program } from "../support/server.mjs";
import { eventually, visit } from "./browser.js";

const talk = "[aria-label=Messages]";
const track = '[aria-label="What happened"]';
const kSession = "ann:echo:chat";

// A demo whose follow-up comes after so many seconds; each test has its own.
class Demo {
  constructor(followUp, port) {
    this.directory = mkdtempSync(join(tmpdir(), "holdfast-chat-"));
    this.flags = ["--port", String(port), "--data", this.directory, "--follow-up", String(followUp)];
  }
  async start() {
    this.server = spawn(program, ["demo", "chat", ...this.flags], { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface(this.server.stdout)) {
      this.link = line.match(/http:\S+#token=\S+$/)?.[0];
      if (this.link) return;
    }
    assert.fail("the demo gave no link");
  }
  async stop(signal) {
    this.server.kill(signal);
    await eventually(() => this.server.exitCode ?? this.server.signalCode);
  }
}
// They end last, when no visitor is there any more to complain.
const demos = [];
after(async () => {
  for (const one of demos) {
    await one.stop("SIGKILL");
    rmSync(one.directory, { recursive: true });
  }
});
async function demo(followUp, port = 0) {
  const one = new Demo(followUp, port);
  demos.push(one);
  await one.start();
  return one;
}
const asAdmin = async ({ link, directory }, method, route, body) => {
  const words = ["token", "--data", directory, "--subject", "root", "--role", "admin"];
  const bearer = execFileSync(program, words, { encoding: "utf8" }).trim();
  const headers = { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" };
  const answer = await fetch(new URL(`/v1/${route}`, link), { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${route}: ${answer.status}`);
  return answer.json();
};

async function say(visitor, text) {
  await visitor.page.bringToFront();
  await visitor.see("Connected");
  await visitor.fill({ text });
  await visitor.press("Send");
}
// The lines of the conversation, without who and when, become these.
async function shows(visitor, ...wanted) {
  let lines = [];
  const same = async () => {
    lines = await visitor.page.$$eval(`${talk} li`, (found) => found.map((li) => li.lastChild.textContent));
    return JSON.stringify(lines) === JSON.stringify(wanted);
  };
  await eventually(same).catch(() => assert.deepEqual(lines, wanted));
}

test("SC-AUTO: words are answered, and after a silence the agent asks by itself", async (t) => {
  const visitor = await visit(t, { link: (await demo(1)).link });
  await visitor.see("Nothing happened yet", track);
  await say(visitor, "Is the kiosk open?");
  await visitor.see("You said: Is the kiosk open?", talk);
  await visitor.see("Still there? You last said: Is the kiosk open?", `${talk} .auto`);
  await visitor.see("Autonomous", `${talk} .auto`);
  await visitor.see("Fired", track);
  await visitor.until(
    (t) => {
      const names = [...document.querySelectorAll(`${t} b`)].map((b) => b.innerText);
      const wanted = ["Event 1", "Message 1", "Timer follow-up", "Event 2", "Message 2"];
      return JSON.stringify(names) === JSON.stringify(wanted);
    },
    "the timeline is not in the order of what happened",
    track,
  );
});

test("SC-AUTO: the user's next words cancel the follow-up, and the timeline says so", async (t) => {
  const visitor = await visit(t, { link: (await demo(3600)).link });
  await say(visitor, "one");
  await visitor.see("You said: one", talk);
  await visitor.see("Follow-up, unless you write, in");
  await say(visitor, "two");
  await visitor.see("You said: two", talk);
  await visitor.see("Cancelled\nSet for", track);
  await visitor.see("Because you spoke first.", track);
  await visitor.see("Pending\nSet for", track);
});

test("SC-AUTO: a message that the policy refuses is shown as suppressed, with the reason", async (t) => {
  const one = await demo(0.5);
  await asAdmin(one, "PUT", "agents/echo/policy", { cap: 0 });
  const visitor = await visit(t, { link: one.link });
  await say(visitor, "hello");
  await visitor.see("Suppressed", track);
  await visitor.see("Because too many on its own in a row.", track);
  await shows(visitor, "hello", "You said: hello");
});

test("SC-AUTO: while paused nothing is answered; it is when the conversation goes on", async (t) => {
  const visitor = await visit(t, { link: (await demo(3600)).link });
  await say(visitor, "one");
  await visitor.see("You said: one", talk);
  await visitor.press("Pause");
  await visitor.see("The conversation is paused.");
  await say(visitor, "two");
  await visitor.see("echo has 1 event to look at.");
  await shows(visitor, "one", "You said: one", "two");
  await visitor.press("Resume");
  await visitor.see("You said: two", talk);
});

test("SC-AUTO: two tabs show the same, each message once, also after a reload", async (t) => {
  const one = await demo(3600);
  const left = await visit(t, { link: one.link });
  await say(left, "one");
  await left.see("You said: one", talk);
  const right = await visit(t, { link: one.link, beside: left });
  await right.see("You said: one", talk);
  await say(right, "two");
  const both = ["one", "You said: one", "two", "You said: two"];
  for (const visitor of [left, right]) {
    await visitor.see("You said: two", talk);
    await shows(visitor, ...both);
  }
  await left.page.reload();
  await left.see("You said: two", talk);
  await shows(left, ...both);
  await say(left, "three");
  for (const visitor of [left, right]) {
    await visitor.see("You said: three", talk);
    await shows(visitor, ...both, "three", "You said: three");
  }
  const { last_n: last } = await asAdmin(one, "GET", `sessions/${kSession}`);
  assert.equal(last, 3);
});

test("SC-AUTO: what is said while the server is away is answered once, when it is back", async (t) => {
  const one = await demo(3600, await freePort());
  const visitor = await visit(t, { link: one.link });
  await say(visitor, "one");
  await visitor.see("You said: one", talk);
  await one.stop("SIGKILL");
  await visitor.see("Reconnecting");
  await visitor.fill({ text: "two" });
  await visitor.press("Send");
  await visitor.see("sending", talk);
  await one.start();
  await visitor.see("You said: two", talk);
  await visitor.gone("sending", talk);
  await shows(visitor, "one", "You said: one", "two", "You said: two");
  visitor.complaints.length = 0; // the browser tells the console of each attempt that failed
});

test("SC-AUTO: a server that lost its memory begins anew, also for a browser that remembers", async (t) => {
  const one = await demo(3600, await freePort());
  const visitor = await visit(t, { link: one.link });
  for (const text of ["one", "two"]) {
    await say(visitor, text);
    await visitor.see(`You said: ${text}`, talk);
  }
  await one.stop("SIGKILL");
  rmSync(one.directory, { recursive: true });
  await one.start();
  await visitor.page.goto(one.link);
  await visitor.see("Nothing happened yet", track);
  await say(visitor, "three");
  await visitor.see("You said: three", talk);
  await shows(visitor, "three", "You said: three");
  visitor.complaints.length = 0; // as above
});
