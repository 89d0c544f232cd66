// A project tracker on ElectroDB: five entities in one table with two overloaded indexes. ElectroDB writes keys, filters,
// conditions and transactions in its own way, so the application checks what comes out, never the requests.
import assert from "node:assert/strict";
import { test } from "node:test";
import electrodb from "electrodb";
import { eventually, singleTable, start } from "./server.js";

const { Entity, Service } = electrodb;
const { client } = await start("--ttl-sweep-ms", "50");
const table = "tracker";
await client.createTable(singleTable(table, ["pk", "sk"], { gsi1: ["gsi1pk", "gsi1sk"], gsi2: ["gsi2pk", "gsi2sk"] }));
await client.updateTimeToLive({ TableName: table, TimeToLiveSpecification: { Enabled: true, AttributeName: "expires" } });

const entity = (name, attributes, indexes) => {
  const key = (prefix, [pk, sk]) => ({ pk: { field: `${prefix}pk`, composite: pk }, sk: { field: `${prefix}sk`, composite: sk } });
  return new Entity(
    {
      model: { entity: name, version: "1", service: "tracker" },
      attributes: { org: { type: "string", required: true }, project: { type: "string", required: true }, ...attributes },
      indexes: Object.fromEntries(
        Object.entries(indexes).map(([access, { keys, ...more }]) => [access, { ...more, ...key(more.index ?? "", keys) }]),
      ),
    },
    { table, client },
  );
};
const number = { type: "number", required: true, padding: { length: 6, char: "0" } };

const Project = entity(
  "project",
  {
    title: { type: "string" }, issues: { type: "number", default: 0 }, open: { type: "number", default: 0 },
    labels: { type: "set", items: "string" },
  },
  { primary: { keys: [["org", "project"], []], collection: "board" } },
);
const Sprint = entity(
  "sprint",
  { number, goal: { type: "string" }, state: { type: ["planned", "active", "closed"], default: "planned" } },
  { primary: { keys: [["org", "project"], ["number"]], collection: "board" } },
);
const Issue = entity(
  "issue",
  {
    number,
    title: { type: "string", required: true },
    status: { type: ["todo", "doing", "done"], required: true, default: "todo" },
    assignee: { type: "string", default: "nobody" },
    points: { type: "number" },
    revision: { type: "number", default: 1 },
    labels: { type: "set", items: "string" },
    checklist: { type: "list", items: { type: "map", properties: { text: { type: "string" }, done: { type: "boolean" } } } },
    estimate: { type: "map", properties: { hours: { type: "number" }, by: { type: "string" } } },
  },
  {
    primary: { keys: [["org", "project"], ["number"]], collection: "board" },
    // Sparse: what is nobody's is not in the index.
    assigned: {
      index: "gsi1", keys: [["org", "assignee"], ["status", "number"]], collection: "workload", condition: ({ assignee }) => assignee !== "nobody",
    },
    byStatus: { index: "gsi2", keys: [["org", "project", "status"], ["number"]] },
  },
);
const Comment = entity(
  "comment",
  { number, at: { type: "string", required: true }, assignee: { type: "string", required: true }, text: { type: "string" } },
  {
    primary: { keys: [["org", "project", "number"], ["at"]] },
    written: { index: "gsi1", keys: [["org", "assignee"], ["at"]], collection: "workload" },
  },
);
const Reminder = entity(
  "reminder",
  { number, expires: { type: "number", required: true } },
  { primary: { keys: [["org", "project"], ["number"]], collection: "reminders" } },
);
const tracker = new Service({ project: Project, sprint: Sprint, issue: Issue, comment: Comment, reminder: Reminder });

// Each test works on a project of its own.
const newProject = async (project, more = {}) => {
  const key = { org: "acme", project };
  await Project.create({ ...key, title: `The ${project}`, ...more }).go();
  return key;
};
const failsWith = (message) => (error) => {
  assert.equal(error.name, "ElectroError");
  assert.match(error.message, message);
  return true;
};

// The number of an issue comes from the project's counter, and both are written or neither.
const openIssue = async (key, issue) => {
  const { data } = await Project.get(key).go({ consistent: true });
  return tracker.transaction
    .write((entities) => [
      entities.project.patch(key).add({ issues: 1, open: 1 }).where(({ issues }, { eq }) => eq(issues, data.issues)).commit(),
      entities.issue.create({ ...key, number: data.issues + 1, ...issue }).commit(),
    ])
    .go();
};

test("issues are numbered without gaps by people who type at once", async () => {
  const key = await newProject("boats");
  const lost = [];
  const insist = async (title) => {
    for (;;) {
      const { canceled, data } = await openIssue(key, { title });
      if (!canceled) return;
      lost.push(data[0].code);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, i) => insist(`Leak ${i}`)));
  const { data } = await Issue.query.primary(key).go({ pages: "all" });
  assert.deepEqual(data.map((issue) => issue.number), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual((({ issues, open }) => [issues, open])((await Project.get(key).go()).data), [8, 8]);
  assert.ok(lost.every((code) => ["ConditionalCheckFailed", "TransactionConflict", "None"].includes(code)), String(lost));
});

test("a cancelled transaction says which condition failed and on what item", async () => {
  const key = await newProject("docks");
  await openIssue(key, { title: "Rotten plank" });
  const { canceled, data } = await tracker.transaction
    .write(({ issue, project }) => [
      project.patch(key).subtract({ open: 1 }).commit(),
      issue.patch({ ...key, number: 1 }).set({ points: 3 }).where(({ revision }, { eq }) => eq(revision, 9)).commit({ response: "all_old" }),
      issue.check({ ...key, number: 2 }).where(({ title }, { exists }) => exists(title)).commit(),
    ])
    .go();
  assert.equal(canceled, true);
  const failed = [true, "ConditionalCheckFailed"];
  assert.deepEqual(data.map(({ rejected, code }) => [rejected, code]), [[false, "None"], failed, failed]);
  assert.equal(data[1].item.title, "Rotten plank");
  const { data: read } = await tracker.transaction
    .get(({ issue, project }) => [project.get(key).commit(), ...[1, 2].map((number) => issue.get({ ...key, number }).commit())])
    .go();
  assert.deepEqual([read[0].item.open, read[1].item.points, read[2].item], [1, undefined, null]);
});

test("a transaction sent twice with one token counts once", async () => {
  const key = await newProject("oars");
  const count = () => tracker.transaction.write(({ project }) => [project.patch(key).add({ open: 5 }).commit()]).go({ token: "oars-once" });
  assert.equal((await count()).canceled, false);
  assert.equal((await count()).canceled, false);
  assert.equal((await Project.get(key).go()).data.open, 5);
});

test("creating twice and patching what is not there are refused", async () => {
  const key = await newProject("sails");
  await assert.rejects(newProject("sails"), failsWith(/conditional request failed/));
  await assert.rejects(Issue.patch({ ...key, number: 9 }).set({ title: "x" }).go(), failsWith(/conditional request failed/));
  await assert.rejects(Issue.remove({ ...key, number: 9 }).go(), failsWith(/conditional request failed/));
  assert.equal((await Issue.get({ ...key, number: 9 }).go()).data, null);
  const { data } = await Issue.upsert({ ...key, number: 9, title: "Torn jib", status: "todo", assignee: "eli" }).go({ response: "all_new" });
  assert.equal(data.title, "Torn jib");
});

test("an issue is edited in every way an update has", async () => {
  const key = { ...(await newProject("masts")), number: 1 };
  await Issue.create({ ...key, title: "Crack", labels: ["wood"], checklist: [{ text: "look", done: false }], estimate: { hours: 1 } }).go();
  const { data } = await Issue.patch(key)
    .set({ estimate: { hours: 4, by: "ann" } })
    .add({ labels: ["urgent"], revision: 1 })
    .append({ checklist: [{ text: "glue", done: false }] })
    .data(({ points }, { ifNotExists }) => ifNotExists(points, 8))
    .where(({ revision, labels, title }, { eq, contains, begins }) => `${eq(revision, 1)} AND ${contains(labels, "wood")} AND ${begins(title, "Cr")}`)
    .go({ response: "all_new" });
  assert.deepEqual(
    { ...data, labels: [...data.labels].sort() },
    {
      ...key, title: "Crack", status: "todo", assignee: "nobody", revision: 2, points: 8, labels: ["urgent", "wood"], estimate: { hours: 4, by: "ann" },
      checklist: [{ text: "look", done: false }, { text: "glue", done: false }],
    },
  );
  const late = Issue.patch(key).set({ title: "Late" }).where(({ revision }, { eq }) => eq(revision, 1)).go();
  await assert.rejects(late, failsWith(/conditional request failed/));
  const { data: trimmed } = await Issue.patch(key)
    .delete({ labels: ["wood"] })
    .remove(["estimate"])
    .data(({ checklist }, { remove, set }) => {
      remove(checklist[0]);
      set(checklist[1].done, true);
    })
    .go({ response: "all_new" });
  assert.deepEqual([trimmed.labels, trimmed.estimate, trimmed.checklist], [["urgent"], undefined, [{ text: "glue", done: true }]]);
});

test("an issue moves through the indexes as its status and assignee change", async () => {
  const key = await newProject("keels");
  for (const number of [1, 2, 3]) await Issue.create({ ...key, number, title: `Keel ${number}` }).go();
  const inStatus = async (status) => (await Issue.query.byStatus({ ...key, status }).go()).data.map((issue) => issue.number);
  const assigned = async (assignee, more) => (await Issue.query.assigned({ org: key.org, assignee, ...more }).go()).data.map((issue) => issue.number);
  assert.deepEqual([await inStatus("todo"), await assigned("mia")], [[1, 2, 3], []]);
  for (const number of [3, 2]) await Issue.patch({ ...key, number }).set({ assignee: "mia", status: "doing" }).go();
  assert.deepEqual([await inStatus("todo"), await inStatus("doing"), await assigned("mia", { status: "doing" })], [[1], [2, 3], [2, 3]]);
  await Issue.patch({ ...key, number: 3 }).set({ assignee: "noa", status: "done" }).go();
  assert.deepEqual([await inStatus("doing"), await assigned("mia"), await assigned("noa")], [[2], [2], [3]]);
  await Issue.delete({ ...key, number: 2 }).go();
  assert.deepEqual([await inStatus("doing"), await assigned("mia")], [[], []]);
});

test("collections bring several entities in one query", async () => {
  const key = await newProject("anchors", { labels: ["iron"] });
  await Sprint.create({ ...key, number: 1, goal: "Hold" }).go();
  for (const number of [1, 2]) await Issue.create({ ...key, number, title: `Rust ${number}`, assignee: "pim" }).go();
  await Comment.create({ ...key, number: 1, at: "2026-05-01T10:00:00Z", assignee: "pim", text: "Seen" }).go();
  const board = (await tracker.collections.board(key).go({ pages: "all" })).data;
  assert.deepEqual([board.project.length, board.sprint[0].goal, board.issue.map((issue) => issue.number)], [1, "Hold", [1, 2]]);
  const workload = (await tracker.collections.workload({ org: "acme", assignee: "pim" }).go()).data;
  assert.deepEqual([workload.issue.length, workload.comment[0].text], [2, "Seen"]);
  const filtered = await tracker.collections.workload({ org: "acme", assignee: "pim" }).where(({ text }, { exists }) => exists(text)).go();
  assert.deepEqual([filtered.data.issue.length, filtered.data.comment.length], [0, 1]);
});

test("a backlog of sixty is imported, paged, ranged, found and removed", async () => {
  const key = await newProject("ropes");
  const backlog = Array.from({ length: 60 }, (_, i) => ({ ...key, number: i + 1, title: `Knot ${i + 1}`, points: i % 5, status: "todo" }));
  assert.deepEqual((await Issue.put(backlog).go({ concurrency: 3 })).unprocessed, []);

  const pages = [];
  for (let cursor = null; cursor !== null || pages.length === 0; ) {
    const page = await Issue.query.primary(key).go({ cursor, limit: 17 });
    pages.push(page.data.map((issue) => issue.number));
    cursor = page.cursor;
  }
  assert.deepEqual(pages.flat(), backlog.map((issue) => issue.number));
  assert.deepEqual(pages.map((page) => page.length), [17, 17, 17, 9]);

  const newest = await Issue.query.primary(key).where(({ points }, { gte }) => gte(points, 4)).go({ order: "desc", count: 3, pages: "all" });
  assert.deepEqual(newest.data.map((issue) => issue.number), [60, 55, 50]);
  const between = await Issue.query.primary(key).between({ number: 9 }, { number: 11 }).go({ attributes: ["title"] });
  assert.deepEqual(between.data, [{ title: "Knot 9" }, { title: "Knot 10" }, { title: "Knot 11" }]);
  assert.equal((await Issue.query.primary(key).gt({ number: 58 }).go()).data.length, 2);
  assert.deepEqual((await Issue.match({ ...key, title: "Knot 33" }).go({ pages: "all" })).data.map((issue) => issue.number), [33]);
  const scanned = await Issue.scan.where(({ project, points }, { eq }) => `${eq(project, "ropes")} AND ${eq(points, 0)}`).go({ pages: "all" });
  assert.equal(scanned.data.length, 12);

  const wanted = [60, 1, 61, 30].map((number) => ({ ...key, number }));
  const got = await Issue.get(wanted).go({ preserveBatchOrder: true });
  assert.deepEqual(got.data.map((issue) => issue?.title ?? null), ["Knot 60", "Knot 1", null, "Knot 30"]);
  await Issue.delete(backlog.slice(0, 55).map(({ number }) => ({ ...key, number }))).go();
  assert.deepEqual((await Issue.query.primary(key).go()).data.map((issue) => issue.number), [56, 57, 58, 59, 60]);
});

test("reminders go away by themselves", async () => {
  const key = await newProject("tides");
  const now = Math.floor(Date.now() / 1000);
  await Reminder.put([{ ...key, number: 1, expires: now - 5 }, { ...key, number: 2, expires: now + 3600 }]).go();
  const left = async () => (await Reminder.query.primary(key).go()).data.map((reminder) => reminder.number);
  await eventually(async () => (await left()).length === 1);
  assert.deepEqual(await left(), [2]);
});
