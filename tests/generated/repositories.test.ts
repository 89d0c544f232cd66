// Repositories that are generated for TypeScript (MOD-09). The compiler sees this file too: what it must refuse is marked.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as pm from "./pm.js";
import * as pos from "./pos.js";
import * as trip from "./trip.js";

const client = new DynamoDBClient({
  endpoint: process.env.ENDPOINT!,
  region: "us-east-1",
  credentials: { accessKeyId: "x", secretAccessKey: "x" },
});
const documents = DynamoDBDocumentClient.from(client);
const projects = new pm.ProjectRepository(documents);
const events = new pm.EventRepository(documents);

const newProject: pm.NewProject = { name: "Tide clock", source: "jira", sourceProjectKey: "TIDE", autonomyLevel: "artefact" };
const newEvent: pm.NewEvent = { eventType: "heartbeat", severity: "info", summary: "still here" };
const newTask = (): pos.NewTask => ({ userId: randomUUID(), title: "Oil the gears", area: "Home", pointValue: 30 });

const stored = async (TableName: string, Key: Record<string, string>) =>
  (await documents.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item;
const refused = (code: string, action: Promise<unknown>) =>
  assert.rejects(action, (error) => error instanceof Error && "code" in error && error.code === code);

test("a new item is stored as the model says", async () => {
  const made = await projects.create({ ...newProject, createdAt: "2026-02-04T12:30:00+02:00", config: { a: undefined, b: [1] } });
  assert.match(made.updatedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(await stored("AgenticPM", { PK: `PROJECT#${made.id}`, SK: "METADATA" }), {
    PK: `PROJECT#${made.id}`,
    SK: "METADATA",
    GSI1PK: "STATUS#active",
    GSI1SK: `PROJECT#${made.id}`,
    EntityType: "Project",
    id: made.id,
    ...newProject,
    status: "active",
    config: { b: [1] },
    createdAt: "2026-02-04T10:30:00.000Z",
    updatedAt: made.updatedAt,
  });
});

test("findById gives what create gave, and null otherwise", async () => {
  const made = await projects.create(newProject);
  assert.deepEqual(await projects.findById(made.id), made);
  assert.equal(await projects.findById(randomUUID()), null);
  await refused("AlreadyExists", projects.create({ ...newProject, id: made.id }));
});

test("the state decides where an item is found", async () => {
  const made = await projects.create(newProject);
  const paused = await projects.update(made.id, { status: "paused" });
  const active = await projects.findByStatus("active");
  assert.ok(active.every((one) => one.id !== made.id));
  assert.deepEqual((await projects.findByStatus("paused")).find((one) => one.id === made.id), paused);
});

test("an illegal move changes nothing", async () => {
  const { id } = await projects.create(newProject);
  await projects.update(id, { status: "archived" });
  const before = await stored("AgenticPM", { PK: `PROJECT#${id}`, SK: "METADATA" });
  await refused("IllegalTransition", projects.update(id, { status: "paused", name: "Other" }));
  await refused("IllegalTransition", projects.update(id, { status: "archived" }));
  await refused("IllegalTransition", projects.create({ ...newProject, status: "paused" }));
  assert.deepEqual(await stored("AgenticPM", { PK: `PROJECT#${id}`, SK: "METADATA" }), before);
});

test("an update of another version is refused", async () => {
  const made = await projects.create(newProject);
  await refused("VersionConflict", projects.update(made.id, { name: "Late" }, "2020-01-01T00:00:00Z"));
  assert.equal((await projects.update(made.id, { name: "First" }, made.updatedAt)).name, "First");
  await refused("NotFound", projects.update(randomUUID(), { name: "nobody" }));
});

test("what the model decides cannot be given, and the compiler says so", async () => {
  const made = await projects.create({ ...newProject, description: "to be removed" });
  // @ts-expect-error a part of the key
  await refused("ValidationError", projects.update(made.id, { id: "x" }));
  // @ts-expect-error computed
  await refused("ValidationError", projects.update(made.id, { updatedAt: "2020-01-01T00:00:00Z" }));
  // @ts-expect-error derived
  await refused("ValidationError", projects.create({ ...newProject, PK: "x" }));
  // @ts-expect-error no such source
  await refused("ValidationError", projects.create({ ...newProject, source: "paper" }));
  // @ts-expect-error a name is required
  await refused("ValidationError", projects.create({ ...newProject, name: undefined }));
  await refused("ValidationError", projects.create({ ...newProject, id: "a#b" }));
  assert.equal("description" in (await projects.update(made.id, { description: null })), false);
});

test("an artefact counts its versions and normalises what its schema says", async () => {
  const artefacts = new pm.ArtefactRepository(documents);
  const { id: projectId } = await projects.create(newProject);
  const content: pm.DecisionLog = { decisions: [] };
  const made = await artefacts.create({ projectId, type: "decision_log", content });
  assert.equal(made.version, 1);
  const decision = {
    id: "D001",
    title: "t",
    context: "c",
    options_considered: [],
    decision: "d",
    rationale: "r",
    made_by: "user",
    date: "2026-02-04T10:30:00Z",
    status: "active" as const,
    related_raid_items: [],
  };
  const changed = await artefacts.update(projectId, "decision_log", { content: { decisions: [decision] } }, 1);
  assert.equal(changed.version, 2);
  assert.equal((changed.content as pm.DecisionLog).decisions[0]?.date, "2026-02-04T10:30:00.000Z");
  await refused("VersionConflict", artefacts.update(projectId, "decision_log", { content }, 1));
});

test("events expire, are found by both spellings and are only appended", async () => {
  const made = await Promise.all(Array.from({ length: 50 }, () => events.create(newEvent)));
  const ids = made.map(({ id }) => id);
  assert.equal(new Set(ids).size, 50);
  assert.deepEqual([...ids].sort(), ids, "ULIDs of one process rise");
  const [one] = made;
  const item = await stored("AgenticPM", { PK: "GLOBAL", SK: `EVENT#${one!.createdAt}#${one!.id}` });
  assert.equal(item?.GSI1PK, `EVENT#${one!.createdAt.slice(0, 10)}`);
  assert.equal(item?.TTL, Math.floor(Date.parse(one!.createdAt) / 1000) + 30 * 86400);
  assert.equal("update" in events, false);

  const second = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
  const raw = { id: randomUUID(), createdAt: second.replace(".000Z", "Z") };
  const Item = { PK: "GLOBAL", SK: `EVENT#${raw.createdAt}#${raw.id}`, EntityType: "Event", ...raw };
  await documents.send(new PutCommand({ TableName: "AgenticPM", Item }));
  assert.deepEqual(await events.findById(undefined, second, raw.id), raw);
});

test("an expired item is not found", async () => {
  const { createdAt, id } = await events.create(newEvent);
  const Key = { PK: "GLOBAL", SK: `EVENT#${createdAt}#${id}` };
  await documents.send(
    new UpdateCommand({
      TableName: "AgenticPM",
      Key,
      UpdateExpression: "SET #t = :t",
      ExpressionAttributeNames: { "#t": "TTL" },
      ExpressionAttributeValues: { ":t": 1 },
    }),
  );
  assert.equal(await events.findById(undefined, createdAt, id), null);
});

test("of racing moves one wins", async () => {
  const escalations = new pm.EscalationRepository(documents);
  const { id: projectId } = await projects.create(newProject);
  const options = [{ option: "wait", pros: [], cons: [] }];
  const { id } = await escalations.create({ projectId, title: "t", context: {}, options });
  const moves = await Promise.allSettled(Array.from({ length: 8 }, () => escalations.update(projectId, id, { status: "expired" })));
  assert.equal(moves.filter(({ status }) => status === "fulfilled").length, 1);
  for (const move of moves) if (move.status === "rejected") assert.equal(move.reason.code, "IllegalTransition");
});

test("racing updates that expect no version all count", async () => {
  const artefacts = new pm.ArtefactRepository(documents);
  const { id: projectId } = await projects.create(newProject);
  const content = { decisions: [] };
  await artefacts.create({ projectId, type: "decision_log", content });
  await Promise.all(Array.from({ length: 3 }, () => artefacts.update(projectId, "decision_log", { content })));
  assert.equal((await artefacts.findById(projectId, "decision_log"))?.version, 4);
});

test("the same instant is taken in both spellings", async () => {
  const logs = new pos.MetricLogRepository(documents);
  const metricId = randomUUID();
  const log = { userId: "u", metricId, value: 1, loggedAt: "2026-02-04T10:30:00Z" };
  const Item = { pk: `METRIC#${metricId}`, sk: "LOG#2026-02-04T10:30:00Z", entityType: "METRIC_LOG", ...log };
  await documents.send(new PutCommand({ TableName: "personal-os-dev", Item }));
  await refused("AlreadyExists", logs.create(log));
  assert.equal((await logs.create({ ...log, loggedAt: "2026-02-04T10:30:01Z" })).loggedAt, "2026-02-04T10:30:01.000Z");
  await refused("AlreadyExists", logs.create({ ...log, loggedAt: "2026-02-04T10:30:01.000Z" }));
});

test("a tenant's items only", async () => {
  const tasks = new pos.TaskRepository(documents);
  const [mine] = [await tasks.create(newTask()), await tasks.create(newTask())];
  assert.deepEqual(await tasks.findByStatus("NotStarted", mine.userId), [mine]);
  const done = await tasks.update(mine.userId, mine.id, { status: "Done", area: "Work" });
  assert.deepEqual(await tasks.findByStatus("Done", mine.userId), [done]);
  const item = await stored("personal-os-dev", { pk: `USER#${mine.userId}`, sk: `TASK#${mine.id}` });
  assert.equal(item?.gsi1sk, `Done#${mine.createdAt}`);
  assert.equal(item?.gsi2pk, "Work");
});

test("keys that are the entity's own attributes", async () => {
  const connections = new trip.ConnectionRepository(documents);
  const made = await connections.create({ connectionId: randomUUID(), employeeId: "e-1" });
  assert.deepEqual(await stored("TripCortexConnections", { connectionId: made.connectionId }), made);
  assert.equal(made.ttl, Math.floor(Date.parse(made.connectedAt) / 1000) + 7200);
  // @ts-expect-error bookings are written by commands
  assert.equal(new trip.BookingRepository(documents).create, undefined);
});
