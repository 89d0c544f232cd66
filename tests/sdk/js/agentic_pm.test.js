// The Agentic PM Workbench's data layer: a repository, transactions and error handling on the DocumentClient, written as
// for AWS (DB-T-17). Only the environment says where the endpoint is.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ListTagsOfResourceCommand,
  ProvisionedThroughputExceededException,
  ResourceNotFoundException,
  TransactionCanceledException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { eventually, singleTable, start } from "./server.js";

const { endpoint } = await start("--ttl-sweep-ms", "50");
Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: endpoint, AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" });

const client = new DynamoDBClient({ region: "ap-southeast-2" });
const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true, convertEmptyValues: false } });
const TableName = "AgenticPM";
await client.send(
  new CreateTableCommand({
    ...singleTable(TableName, ["PK", "SK"], { GSI1: ["GSI1PK", "GSI1SK"] }),
    Tags: [{ Key: "Project", Value: "AgenticPM" }, { Key: "Environment", Value: "Production" }],
  }),
);
await waitUntilTableExists({ client, maxWaitTime: 30 }, { TableName });
await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName: "TTL", Enabled: true } }));

const day = 24 * 60 * 60;
const secondsOf = (iso) => Math.floor(Date.parse(iso) / 1000);
const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
const query = async (parameters) => (await documents.send(new QueryCommand({ TableName, ...parameters }))).Items;
const startingWith = (PK, prefix, more) =>
  query({ KeyConditionExpression: "PK = :pk AND begins_with(SK, :sk)", ExpressionAttributeValues: { ":pk": PK, ":sk": prefix }, ...more });
const indexed = (GSI1PK, more) =>
  query({ IndexName: "GSI1", KeyConditionExpression: "GSI1PK = :pk", ExpressionAttributeValues: { ":pk": GSI1PK }, ...more });
const ids = (items) => items.map((item) => item.id);

const projects = {
  item: (project) => ({
    PK: `PROJECT#${project.id}`, SK: "METADATA", EntityType: "Project", ...project,
    GSI1PK: `STATUS#${project.status}`, GSI1SK: `PROJECT#${project.id}`,
  }),
  async findById(id) {
    const { Item } = await documents.send(new GetCommand({ TableName, Key: { PK: `PROJECT#${id}`, SK: "METADATA" } }));
    return Item ?? null;
  },
  findByStatus: (status) => indexed(`STATUS#${status}`),
  async create(input) {
    const now = new Date().toISOString();
    const Item = projects.item({ id: randomUUID(), status: "active", createdAt: now, updatedAt: now, ...input });
    await documents.send(new PutCommand({ TableName, Item, ConditionExpression: "attribute_not_exists(PK)" }));
    return Item;
  },
  async setStatus(id, from, to) {
    const { Attributes } = await documents.send(
      new UpdateCommand({
        TableName,
        Key: { PK: `PROJECT#${id}`, SK: "METADATA" },
        UpdateExpression: "SET #status = :to, GSI1PK = :index, updatedAt = :now",
        ConditionExpression: "#status = :from",
        ExpressionAttributeNames: { "#status": "status" },
        ExpressionAttributeValues: { ":from": from, ":to": to, ":index": `STATUS#${to}`, ":now": new Date().toISOString() },
        ReturnValues: "ALL_NEW",
      }),
    );
    return Attributes;
  },
};
const artefact = (projectId, version, more) => ({
  PK: `PROJECT#${projectId}`, SK: "ARTEFACT#delivery_state", EntityType: "Artefact", projectId, type: "delivery_state", version, ...more,
});
const event = (projectId, createdAt, more) => {
  const id = randomUUID();
  return {
    PK: projectId ? `PROJECT#${projectId}` : "GLOBAL", SK: `EVENT#${createdAt}#${id}`, EntityType: "Event", id, projectId, severity: "info",
    createdAt, TTL: secondsOf(createdAt) + 30 * day, GSI1PK: `EVENT#${createdAt.slice(0, 10)}`, GSI1SK: `${createdAt}#${id}`, ...more,
  };
};

// What the application does with an error that the SDK throws.
const meaningOf = (error) => {
  if (error instanceof ConditionalCheckFailedException) return "lost the race";
  if (error instanceof ProvisionedThroughputExceededException) return "slow down";
  if (error instanceof ResourceNotFoundException) return "not configured";
  if (error instanceof TransactionCanceledException) return error.CancellationReasons.map((reason) => reason.Code).join();
  throw error;
};
const outcome = (promise) => promise.then(() => "done", meaningOf);

test("DB-T-04: the table is described as its template says", async () => {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes } = singleTable(TableName, ["PK", "SK"], { GSI1: ["GSI1PK", "GSI1SK"] });
  assert.deepEqual(Table.KeySchema, KeySchema);
  assert.deepEqual(new Set(Table.AttributeDefinitions.map((each) => each.AttributeName)), new Set(AttributeDefinitions.map((each) => each.AttributeName)));
  const { IndexName, KeySchema: keys, Projection } = Table.GlobalSecondaryIndexes[0];
  assert.deepEqual([{ IndexName, KeySchema: keys, Projection }], GlobalSecondaryIndexes);
  assert.equal(Table.BillingModeSummary.BillingMode, "PAY_PER_REQUEST");
  assert.match(Table.TableArn, /^arn:aws:dynamodb:[a-z0-9-]+:\d{12}:table\/AgenticPM$/);
  const { Tags } = await client.send(new ListTagsOfResourceCommand({ ResourceArn: Table.TableArn }));
  assert.deepEqual(new Map(Tags.map(({ Key, Value }) => [Key, Value])), new Map([["Project", "AgenticPM"], ["Environment", "Production"]]));
});

test("PM-A-01, PM-A-13, PM-A-17: the repository finds projects by id and by status", async () => {
  const made = await projects.create({ name: "Lantern Quay ferry tickets", source: "jira", sourceProjectKey: "LQF", autonomyLevel: "tactical", config: { board: 7 } });
  assert.deepEqual(await projects.findById(made.id), made);
  assert.equal(await projects.findById("nobody's"), null);
  assert.ok(ids(await projects.findByStatus("active")).includes(made.id));
  const paused = await projects.setStatus(made.id, "active", "paused");
  assert.deepEqual({ ...paused, updatedAt: "" }, { ...made, status: "paused", GSI1PK: "STATUS#paused", updatedAt: "" });
  assert.ok(!ids(await projects.findByStatus("active")).includes(made.id));
  assert.deepEqual(ids(await projects.findByStatus("paused")), [made.id]);
});

test("DB-T-18: undefined attributes are dropped and empty strings are kept", async () => {
  const { id } = await projects.create({ name: "Tide tables", description: "", previous: undefined, config: { note: "", none: null } });
  const found = await projects.findById(id);
  assert.deepEqual([found.description, "previous" in found, found.config], ["", false, { note: "", none: null }]);
});

test("DB-E-01: the application tells errors apart by their classes", async () => {
  const { id } = await projects.create({ name: "Harbour kiosk" });
  assert.equal(await outcome(projects.create({ id, name: "Another" })), "lost the race");
  assert.equal(await outcome(projects.setStatus(id, "paused", "active")), "lost the race");
  assert.equal(await outcome(documents.send(new GetCommand({ TableName: "AgenticPM-typo", Key: { PK: "x", SK: "y" } }))), "not configured");
  await assert.rejects(documents.send(new PutCommand({ TableName, Item: { PK: "x" } })), { name: "ValidationException", $fault: "client" });
  const error = await projects.setStatus(id, "paused", "active").catch((caught) => caught);
  assert.equal(error.$metadata.httpStatusCode, 400);
  assert.match(error.$metadata.requestId, /^[A-Z0-9]{52}$/);
});

test("DB-T-14: an artefact and its event are written together or not at all", async () => {
  const { id } = await projects.create({ name: "Signal flags" });
  const write = (Item, of) =>
    documents.send(
      new TransactWriteCommand({
        TransactItems: [
          { Put: { TableName, Item, ...(of && { ConditionExpression: "version = :v", ExpressionAttributeValues: { ":v": of } }) } },
          { Put: { TableName, Item: event(id, new Date().toISOString(), { eventType: "artefact_updated" }) } },
        ],
      }),
    );
  const second = artefact(id, 2, { content: { overall_status: "amber", key_metrics: { done: 21 } }, previousVersion: { overall_status: "green" } });
  assert.equal(await outcome(write(artefact(id, 1, { content: { overall_status: "green" } }))), "done");
  assert.equal(await outcome(write(second, 1)), "done");
  assert.equal(await outcome(write(artefact(id, 2, { content: {} }), 1)), "ConditionalCheckFailed,None");
  assert.deepEqual(await startingWith(`PROJECT#${id}`, "ARTEFACT#"), [second]);
  assert.equal((await startingWith(`PROJECT#${id}`, "EVENT#")).length, 2);
});

test("DB-T-08: of many who update one version, one succeeds", async () => {
  const { id } = await projects.create({ name: "Ferry bell" });
  const racing = await Promise.all(Array.from({ length: 12 }, () => outcome(projects.setStatus(id, "active", "paused"))));
  assert.deepEqual(racing.sort(), ["done", ...Array(11).fill("lost the race")]);
});

test("PM-A-04, PM-A-05, PM-A-14, PM-A-15: events are listed newest first, by date and by time", async () => {
  const { id } = await projects.create({ name: "Night boat" });
  const times = ["T08:00:00.000Z", "T10:15:00.000Z", "T10:45:00.000Z", "T23:59:59.999Z"].map((time) => ago(2 * day).slice(0, 10) + time);
  const events = times.map((createdAt, i) => event(i === 1 ? undefined : id, createdAt, { eventType: "signal_detected", detail: { ticket: `LQF-${i}` } }));
  for (const Item of events) await documents.send(new PutCommand({ TableName, Item }));
  const newest = { ScanIndexForward: false, Limit: 2 };
  assert.deepEqual(await startingWith(`PROJECT#${id}`, "EVENT#", newest), [events[3], events[2]]);
  assert.deepEqual(ids(await startingWith("GLOBAL", "EVENT#", newest)), [events[1].id]);
  const date = events[0].GSI1PK;
  assert.deepEqual(ids(await indexed(date)), ids(events));
  const tenOClock = { KeyConditionExpression: "GSI1PK = :pk AND begins_with(GSI1SK, :time)", ExpressionAttributeValues: { ":pk": date, ":time": times[1].slice(0, 13) } };
  assert.deepEqual(ids(await indexed(date, tenOClock)), [events[1].id, events[2].id]);
});

test("PM-A-12, PM-A-18: a decided escalation leaves the pending list", async () => {
  const { id } = await projects.create({ name: "Winter timetable" });
  const escalations = ["a", "b"].map((name, i) => ({
    PK: `PROJECT#${id}`, SK: `ESCALATION#${name}`, EntityType: "Escalation", id: name, projectId: id, status: "pending", userDecision: null,
    options: [{ label: "Keep" }, { label: "Drop" }], GSI1PK: "ESCALATION#pending", GSI1SK: `${ago(60 - i)}#${name}`,
  }));
  for (const Item of escalations) await documents.send(new PutCommand({ TableName, Item }));
  const decide = () =>
    documents.send(
      new UpdateCommand({
        TableName, Key: { PK: `PROJECT#${id}`, SK: "ESCALATION#a" },
        UpdateExpression: "SET #status = :decided, userDecision = :decision, GSI1PK = :index",
        ConditionExpression: "#status = :pending",
        ExpressionAttributeNames: { "#status": "status" },
        ExpressionAttributeValues: { ":pending": "pending", ":decided": "decided", ":decision": "Keep", ":index": "ESCALATION#decided" },
      }),
    );
  assert.deepEqual(ids(await indexed("ESCALATION#pending")), ["a", "b"]);
  assert.deepEqual([await outcome(decide()), await outcome(decide())], ["done", "lost the race"]);
  assert.deepEqual(ids(await indexed("ESCALATION#pending")), ["b"]);
  assert.deepEqual(await indexed("ESCALATION#decided"), [{ ...escalations[0], status: "decided", userDecision: "Keep", GSI1PK: "ESCALATION#decided" }]);
});

test("PM-A-08, PM-A-11, PM-A-21: checkpoints, settings and integrations", async () => {
  const items = [
    { PK: "PROJECT#p", SK: "CHECKPOINT#jira#last_sync", checkpointValue: ago(60) },
    { PK: "AGENT", SK: "CONFIG#polling_interval_minutes", value: 15 },
    { PK: "AGENT", SK: "CONFIG#quiet", value: false },
    { PK: "INTEGRATION#jira", SK: "CONFIG", configEncrypted: "AAEC", status: "active" },
    { PK: "INTEGRATION#asana", SK: "CONFIG", configEncrypted: "AwQF", status: "error" },
  ];
  for (const Item of items) await documents.send(new PutCommand({ TableName, Item }));
  const { Item } = await documents.send(new GetCommand({ TableName, Key: { PK: "PROJECT#p", SK: "CHECKPOINT#jira#last_sync" } }));
  assert.deepEqual(Item, items[0]);
  assert.deepEqual(await startingWith("AGENT", "CONFIG#"), items.slice(1, 3));
  const Keys = ["jira", "asana", "outlook", "resend"].map((name) => ({ PK: `INTEGRATION#${name}`, SK: "CONFIG" }));
  const { Responses } = await documents.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys } } }));
  assert.deepEqual(Responses[TableName].map((found) => found.status).sort(), ["active", "error"]);
});

test("DB-T-13: a relational export is loaded in batches of 25, and an attribute is removed from all", async () => {
  const rows = Array.from({ length: 60 }, (_, i) => ({ id: `pg-${i}`, name: `Row ${i}`, status: "archived", legacy_note: "x", created_at: new Date() }));
  const items = rows.map(({ created_at, ...row }) => projects.item({ ...row, createdAt: created_at.toISOString() }));
  const sizes = [];
  for (let batch; (batch = items.slice(sizes.length * 25, sizes.length * 25 + 25)).length > 0; ) {
    const RequestItems = { [TableName]: batch.map((Item) => ({ PutRequest: { Item } })) };
    assert.deepEqual((await documents.send(new BatchWriteCommand({ RequestItems }))).UnprocessedItems, {});
    sizes.push(batch.length);
  }
  assert.deepEqual(sizes, [25, 25, 10]);
  assert.equal((await projects.findByStatus("archived")).length, 60);
  const tooMany = { [TableName]: items.slice(0, 26).map((Item) => ({ PutRequest: { Item } })) };
  await assert.rejects(documents.send(new BatchWriteCommand({ RequestItems: tooMany })), { name: "ValidationException" });

  const { Items } = await documents.send(new ScanCommand({ TableName, FilterExpression: "attribute_exists(legacy_note)", ProjectionExpression: "PK, SK" }));
  assert.equal(Items.length, 60);
  for (const Key of Items) await documents.send(new UpdateCommand({ TableName, Key, UpdateExpression: "REMOVE legacy_note" }));
  assert.ok((await projects.findByStatus("archived")).every((found) => !("legacy_note" in found) && found.name));
});

test("DB-L-01: events go after thirty days, from the table and the index", async () => {
  const { id } = await projects.create({ name: "Old harbour" });
  const old = event(id, ago(31 * day));
  const recent = event(id, ago(29 * day));
  for (const Item of [old, recent]) await documents.send(new PutCommand({ TableName, Item }));
  await eventually(async () => (await startingWith(`PROJECT#${id}`, "EVENT#")).length === 1);
  assert.deepEqual(ids(await indexed(old.GSI1PK)), []);
  assert.deepEqual(ids(await indexed(recent.GSI1PK)), [recent.id]);
});
