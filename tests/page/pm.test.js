// SC-PM in the page: an escalation decided from the inbox, the hold queue, an artefact's last change and its undo.
import assert from "node:assert/strict";
import { test } from "node:test";
import { run, send, token, visit } from "./browser.js";

const agent = token("agent-1", "agent");
const inbox = "[aria-label=Escalations]";
const queue = '[aria-label="Hold queue"]';
const project = (name) =>
  run("pm", "project.create", { name, source: "jira", sourceProjectKey: "LQF", autonomyLevel: "tactical" }, token("maren", "user"));
const only = async (pattern, query) => {
  const { items } = await send("GET", `pm/patterns/${pattern}?${new URLSearchParams(query)}`);
  assert.equal(items.length, 1, JSON.stringify(items));
  return items[0];
};

test("SC-PM: an escalation arrives in the inbox and is decided there", async (t) => {
  const { id: projectId } = await project("Harbour kiosk");
  const visitor = await visit(t, { role: "user", at: "#/pm" });
  await visitor.see("Harbour kiosk", "[aria-label=Projects]");
  await visitor.see("Live", "header");
  const options = ["Keep the kiosk", "Drop the kiosk"].map((option) => ({ option, pros: ["calm"], cons: ["cost"] }));
  const title = "May the kiosk go?";
  await run("pm", "escalation.create", { projectId, title, context: { ticket: "LQF-31" }, options, agentRecommendation: "Keep the kiosk" }, agent);
  await visitor.see(title, inbox);
  await visitor.see(title, "[aria-label=Activity]");
  await visitor.see("Recommended", inbox);
  await visitor.press("Decide: Drop the kiosk", inbox);
  await visitor.gone(title, inbox);
  await visitor.see("Decided: Drop the kiosk", "#toasts");
  const stored = await only("PM-A-06", { projectId });
  assert.equal(stored.status, "decided");
  assert.equal(stored.userDecision, "Drop the kiosk");
  await visitor.go(`#/pm/projects/${projectId}`);
  await visitor.see("Decided: Drop the kiosk", inbox);
});

test("SC-PM: what happens between reading and hearing of changes is not missed", async (t) => {
  const { id: projectId } = await project("Slow ferry");
  const visitor = await visit(t, { role: "user" });
  // Subscriptions leave the page only when they are let go: as on a slow line.
  await visitor.page.evaluate(() => {
    const send = WebSocket.prototype.send;
    const held = [];
    WebSocket.prototype.send = function (text) {
      if (text.includes('"subscribe"')) held.push(() => send.call(this, text));
      else send.call(this, text);
    };
    window.letGo = () => {
      WebSocket.prototype.send = send;
      for (const one of held) one();
    };
  });
  await visitor.go("#/pm");
  await visitor.see("Live", "header");
  await visitor.see("Slow ferry", "[aria-label=Projects]");
  await visitor.until((w) => !document.querySelector(`${w} [aria-busy]`), "the inbox is still being read", inbox);
  const options = ["Wait", "Row"].map((option) => ({ option, pros: ["calm"], cons: ["cost"] }));
  const title = "May we row?";
  await run("pm", "escalation.create", { projectId, title, context: { ticket: "LQF-32" }, options, agentRecommendation: "Row" }, agent);
  await visitor.page.evaluate(() => window.letGo());
  await visitor.see(title, inbox);
});

test("SC-PM: of two held actions one is released before its time, one is cancelled for a reason", async (t) => {
  const { id: projectId } = await project("Tide letters");
  const visitor = await visit(t, { role: "user", at: `#/pm/projects/${projectId}` });
  await visitor.see("Nothing is held back", queue);
  await visitor.see("Live", "header");
  const propose = (description) =>
    run("pm", "action.propose", { projectId, actionType: "email_sent", description }, agent);
  await propose("Tell the harbour master");
  await visitor.see("Tell the harbour master", queue);
  await visitor.see("goes in", queue);
  await visitor.press("Release now", queue);
  await visitor.press("Release now", "dialog");
  await visitor.see("Nothing is held back", queue);
  await visitor.see("Tell the harbour master", "[aria-label=Events]");
  await propose("Tell the gulls");
  await visitor.see("Tell the gulls", queue);
  await visitor.press("Cancel it", queue);
  await visitor.press("Cancel the action", "dialog");
  await visitor.see("This is required.", "dialog");
  await visitor.fill({ reason: "They know" }, "dialog");
  await visitor.press("Cancel the action", "dialog");
  await visitor.see("Nothing is held back", queue);
  const { items } = await send("GET", `pm/patterns/PM-A-07?projectId=${projectId}`);
  const [gulls, master] = ["Tell the gulls", "Tell the harbour master"].map((d) => items.find((a) => a.description === d));
  assert.equal(master.executed, true);
  assert.equal(gulls.executed, false);
  assert.equal(gulls.cancelReason, "They know");
});

test("SC-PM: an artefact shows what its last change did, and takes it back", async (t) => {
  const { id: projectId } = await project("Sign painting");
  const log = (decision) => ({
    decisions: [
      {
        id: "D1", title: "The colour of the signs", context: "The painter comes on Monday", options_considered: [], decision,
        rationale: "It is on the van", made_by: "user", date: "2026-02-02T00:00:00.000Z", status: "active", related_raid_items: [],
      },
    ],
  });
  const put = (decision) => run("pm", "artefact.put", { projectId, type: "decision_log", content: log(decision) }, agent);
  const artefacts = "[aria-label=Artefacts]";
  await put("Slate blue");
  const visitor = await visit(t, { role: "user", at: `#/pm/projects/${projectId}` });
  await visitor.see("There is no earlier version", artefacts);
  await visitor.see("Live", "header");
  await put("Harbour blue");
  await visitor.see("What the last change did", artefacts);
  await visitor.see("Slate blue", `${artefacts} del`);
  await visitor.see("Harbour blue", `${artefacts} ins`);
  await visitor.press("Undo", artefacts);
  await visitor.press("Undo", "dialog");
  await visitor.see("Version 3", artefacts);
  await visitor.see("There is no earlier version", artefacts);
  const stored = await only("PM-A-03", { projectId, type: "decision_log" });
  assert.deepEqual(stored.content, log("Slate blue"));
});
