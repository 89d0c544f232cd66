// What every model has, through the page: entities, patterns, commands and the live feed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { run, send, visit } from "./browser.js";

const lantern = "1a97e24f-0001-4000-8000-00000000f0a1";

test("an item is found, created, edited and deleted", async (t) => {
  const visitor = await visit(t, { role: "admin", at: "#/pm/entities" });
  await visitor.press("Project", "main", "link");
  await visitor.fill({ status: "paused" });
  await visitor.press("Show");
  await visitor.see("Attic Museum catalogue");
  await visitor.gone("Lantern Quay");
  await visitor.press("Create", "main", "link");
  await visitor.see("New Project");
  await visitor.fill({ name: "Kite wharf", source: "jira", sourceProjectKey: "KW", autonomyLevel: "tactical", config: "[1" });
  await visitor.press("Create");
  await visitor.see("This is not JSON");
  await visitor.fill({ config: '{"kites": 2}' });
  await visitor.press("Create");
  await visitor.see("Kite wharf", "[aria-label=Fields]");
  await visitor.press("Edit", "main", "link");
  await visitor.fill({ name: "Kite pier" });
  await visitor.press("Save");
  await visitor.see("Kite pier", "[aria-label=Fields]");
  await visitor.press("Delete");
  await visitor.press("Delete", "dialog");
  await visitor.see("Items");
  await visitor.go("#/pm/entities/Project?status=active&show=1");
  await visitor.see("Lantern Quay");
  await visitor.gone("Kite pier");
});

test("an edit of what somebody else changed is refused in words and writes nothing", async (t) => {
  const { id } = await run("pm", "project.create", { name: "Buoy", source: "jira", sourceProjectKey: "B", autonomyLevel: "artefact" });
  const visitor = await visit(t, { role: "admin", at: `#/pm/entities/Project/edit?id=${id}` });
  await visitor.fill({ name: "Buoy, by me" });
  await send("PATCH", `pm/entities/Project?id=${id}`, { description: "by another" });
  await visitor.press("Save");
  await visitor.see("Somebody changed it since you read it. Nothing was written.");
  assert.equal((await send("GET", `pm/entities/Project?id=${id}`)).item.name, "Buoy");
  await visitor.press("Reload");
  await visitor.until(() => document.querySelector("main [name=description]")?.value === "by another", "not read again");
  await visitor.fill({ name: "Buoy, by me" });
  await visitor.press("Save");
  await visitor.see("Buoy, by me", "[aria-label=Fields]");
  await visitor.see("by another", "[aria-label=Fields]");
});

test("a pattern is asked by its ID, with its plan and its pages", async (t) => {
  const visitor = await visit(t, { role: "admin", at: "#/pm/patterns" });
  await visitor.press("PM-A-02", "main", "link");
  await visitor.press("Ask");
  await visitor.see("This is required.");
  await visitor.fill({ projectId: lantern });
  await visitor.press("Ask");
  await visitor.see("decision_log", "[aria-label=Result]");
  await visitor.see("Plan: one step");
  await visitor.see(`PROJECT#${lantern}`, "[aria-label=Result] details[open]");
  await visitor.go(`#/pm/patterns/PM-A-04?projectId=${lantern}&limit=2&run=1`);
  await visitor.see("2 shown", "[aria-label=Result]");
  await visitor.press("Next page");
  await visitor.see("4 shown", "[aria-label=Result]");
  await visitor.go("#/trip/patterns/TRIP-A-02");
  await visitor.see("This pattern writes.");
});

test("a command runs from the form that its inputs make, and its refusal is told in words", async (t) => {
  const visitor = await visit(t, { role: "admin", at: "#/pm/commands" });
  await visitor.press("event.record", "main", "link");
  await visitor.press("Run");
  await visitor.see("This is required.");
  await visitor.fill({ eventType: "heartbeat", severity: "info", summary: "The lamp is lit", projectId: lantern });
  await visitor.press("Run");
  await visitor.see("Created", ".note.good");
  const { items } = await send("GET", `pm/patterns/PM-A-04?projectId=${lantern}`);
  assert.equal(items.filter((event) => event.summary === "The lamp is lit").length, 1);
  await visitor.press("Run");
  await visitor.see("nothing was written again");
  await visitor.go("#/pm/commands/artefact.put");
  await visitor.fill({ projectId: lantern, type: "decision_log", content: '{"decisions": [{"id": "D1"}]}' });
  await visitor.press("Run");
  await visitor.see("The content does not have the form that it must have.");
});

test("the live feed shows what another client changes", async (t) => {
  const visitor = await visit(t, { role: "admin", at: "#/pm/live?entity=Project" });
  await visitor.see("Connected");
  await visitor.see("Live", "header");
  const { id } = await run("pm", "project.create", { name: "Tide bell", source: "asana", sourceProjectKey: "TB", autonomyLevel: "artefact" });
  await visitor.see(id, "[aria-label=Changes]");
  await visitor.see("Insert", "[aria-label=Changes]");
  await run("pm", "project.update", { id, name: "Tide gong" });
  await visitor.see("Modify", "[aria-label=Changes]");
  await send("DELETE", `pm/entities/Project?id=${id}`);
  await visitor.see("Remove", "[aria-label=Changes]");
});

test("an item that is looked at changes by itself", async (t) => {
  const { id } = await run("pm", "project.create", { name: "Bell", source: "jira", sourceProjectKey: "B", autonomyLevel: "artefact" });
  const visitor = await visit(t, { role: "admin", at: `#/pm/entities/Project/item?id=${id}` });
  await visitor.see("Bell", "[aria-label=Fields]");
  await visitor.see("Live", "header");
  await run("pm", "project.update", { id, name: "Gong" });
  await visitor.see("Gong", "[aria-label=Fields]");
});
