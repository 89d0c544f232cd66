// Every operation, driven by the low-level client of the AWS SDK v3 with its paginators and waiters. The server gives
// tables the phases CREATING, UPDATING and DELETING, so that what waits has something to wait for.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ConditionalCheckFailedException,
  IdempotentParameterMismatchException,
  paginateListTables,
  paginateQuery,
  paginateScan,
  ResourceInUseException,
  ResourceNotFoundException,
  TransactionCanceledException,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import { eventually, offered, start } from "./server.js";

const { client } = await start("--transient-status-ms", "150");
const driven = new Set(); // The commands that have succeeded.
const record = (next, { commandName }) => (args) => next(args).then((answer) => driven.add(commandName) && answer);
client.middlewareStack.add(record, { step: "initialize" });

const waiting = { client, maxWaitTime: 30, minDelay: 0.05, maxDelay: 0.2 };
const keys = (...names) => names.map((AttributeName, i) => ({ AttributeName, KeyType: i ? "RANGE" : "HASH" }));
const strings = (...names) => names.map((AttributeName) => ({ AttributeName, AttributeType: "S" }));
const describe = async (TableName) => (await client.describeTable({ TableName })).Table;

const makeTable = async (TableName, more) => {
  const made = await client.createTable({
    TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: keys("p", "c"), AttributeDefinitions: strings("p", "c"), ...more,
  });
  assert.equal((await waitUntilTableExists(waiting, { TableName })).state, "SUCCESS");
  return made.TableDescription;
};
const TableName = "things";
await makeTable(TableName);

// update("table", { … }) sends an UpdateTable, waits for its end and describes the table.
const update = async (name, change) => {
  const { TableDescription } = await client.updateTable({ TableName: name, ...change });
  assert.equal(TableDescription.TableStatus, "UPDATING");
  await waitUntilTableExists(waiting, { TableName: name });
  return describe(name);
};

test("a table goes through its phases, and waiters see them", async () => {
  const made = await makeTable("phases", { Tags: [{ Key: "team", Value: "one" }] });
  assert.equal(made.TableStatus, "CREATING");
  assert.ok(made.CreationDateTime instanceof Date);
  const there = await describe("phases");
  assert.equal(there.TableStatus, "ACTIVE");
  assert.deepEqual(there.KeySchema, keys("p", "c"));
  await assert.rejects(makeTable("phases"), ResourceInUseException);
  const { TableDescription } = await client.deleteTable({ TableName: "phases" });
  assert.equal(TableDescription.TableStatus, "DELETING");
  assert.equal((await waitUntilTableNotExists(waiting, { TableName: "phases" })).state, "SUCCESS");
  await assert.rejects(describe("phases"), ResourceNotFoundException);
});

test("each setting of a table can be changed alone", async () => {
  const units = (ReadCapacityUnits, WriteCapacityUnits) => ({ ReadCapacityUnits, WriteCapacityUnits });
  const shows = ({ ProvisionedThroughput: got }, read, write) => assert.deepEqual([got.ReadCapacityUnits, got.WriteCapacityUnits], [read, write]);
  await makeTable("settings");
  shows(await update("settings", { BillingMode: "PROVISIONED", ProvisionedThroughput: units(5, 6) }), 5, 6);
  shows(await update("settings", { ProvisionedThroughput: units(7, 8) }), 7, 8);
  const back = await update("settings", { BillingMode: "PAY_PER_REQUEST" });
  assert.equal(back.BillingModeSummary.BillingMode, "PAY_PER_REQUEST");
  shows(back, 0, 0);
  const cheap = await update("settings", { TableClass: "STANDARD_INFREQUENT_ACCESS" });
  assert.equal(cheap.TableClassSummary.TableClass, "STANDARD_INFREQUENT_ACCESS");
  assert.equal((await update("settings", { DeletionProtectionEnabled: true })).DeletionProtectionEnabled, true);
  await assert.rejects(client.deleteTable({ TableName: "settings" }), { name: "ValidationException", message: /deletion protection/i });
  await update("settings", { DeletionProtectionEnabled: false });
  await client.deleteTable({ TableName: "settings" });
});

test("an index is added to a full table, kept, and removed", async () => {
  await makeTable("indexed");
  const item = (i) => ({ p: { S: `p${i}` }, c: { S: "x" }, ...(i % 3 && { g: { S: i % 2 ? "odd" : "even" } }) });
  const puts = Array.from({ length: 24 }, (_, i) => ({ PutRequest: { Item: item(i) } }));
  await client.batchWriteItem({ RequestItems: { indexed: puts } });
  await client.updateTable({
    TableName: "indexed",
    AttributeDefinitions: strings("g"),
    GlobalSecondaryIndexUpdates: [{ Create: { IndexName: "by_g", KeySchema: keys("g"), Projection: { ProjectionType: "KEYS_ONLY" } } }],
  });
  await eventually(async () => (await describe("indexed")).GlobalSecondaryIndexes?.[0].IndexStatus === "ACTIVE");
  const odd = { TableName: "indexed", IndexName: "by_g", KeyConditionExpression: "g = :g", ExpressionAttributeValues: { ":g": { S: "odd" } } };
  assert.equal((await client.query(odd)).Count, 8);
  await client.deleteItem({ TableName: "indexed", Key: { p: { S: "p1" }, c: { S: "x" } } });
  assert.equal((await client.query(odd)).Count, 7);
  await update("indexed", { GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: "by_g" } }] });
  await eventually(async () => !(await describe("indexed")).GlobalSecondaryIndexes);
  await assert.rejects(client.query(odd), { name: "ValidationException", message: "The table does not have the specified index: by_g" });
});

test("vectors are found by nearness", async () => {
  const one = { IndexName: "one", VectorAttribute: { AttributeName: "v" }, Dimensions: 2, DistanceFunction: "EUCLIDEAN", Projection: { ProjectionType: "ALL" } };
  await makeTable("vectors", { VectorIndexes: [one] });
  for (const [c, x] of [["near", "1"], ["far", "5"]]) {
    await client.putItem({ TableName: "vectors", Item: { p: { S: "p" }, c: { S: c }, v: { L: [{ N: x }, { N: "0" }] } } });
  }
  const { SearchResults } = await client.searchVectors({ TableName: "vectors", IndexName: "one", SearchVector: [{ N: "2" }, { N: "0" }], TopK: 5 });
  assert.deepEqual(SearchResults.map(({ Item, Score }) => [Item.c.S, Score]), [["near", 1], ["far", 3]]);
});

test("the list of tables comes in pages", async () => {
  const names = ["list-a", "list-b", "list-c"];
  await Promise.all(names.map((name) => makeTable(name)));
  const seen = [];
  for await (const { TableNames } of paginateListTables({ client, pageSize: 2 }, { ExclusiveStartTableName: "list" })) {
    assert.ok(TableNames.length <= 2);
    seen.push(...TableNames);
  }
  assert.deepEqual(seen.filter((name) => name.startsWith("list-")), names);
});

test("an item is put, read, updated and deleted", async () => {
  const Key = { p: { S: "item" }, c: { S: "1" } };
  const Item = {
    ...Key, n: { N: "-0.00012345678901234567890123456789012345678" }, b: { B: new Uint8Array([0, 255]) }, bs: { BS: [new Uint8Array([7])] },
    ns: { NS: ["3"] }, ss: { SS: ["ü"] }, m: { M: { l: { L: [{ NULL: true }, { BOOL: false }, { S: "" }] } } },
  };
  await client.putItem({ TableName, Item });
  assert.deepEqual((await client.getItem({ TableName, Key, ConsistentRead: true })).Item, Item);
  const { Attributes, ConsumedCapacity } = await client.updateItem({
    TableName, Key, ReturnValues: "UPDATED_NEW", ReturnConsumedCapacity: "TOTAL",
    UpdateExpression: "SET m.l[2] = :s, seen = if_not_exists(seen, :zero) + :one REMOVE b ADD ns :n DELETE ss :ss",
    ExpressionAttributeValues: { ":s": { S: "new" }, ":zero": { N: "0" }, ":one": { N: "1" }, ":n": { NS: ["4"] }, ":ss": { SS: ["ü"] } },
  });
  assert.deepEqual({ ...Attributes, ns: Attributes.ns.NS.sort() }, { m: { M: { l: { L: [{ S: "new" }] } } }, seen: { N: "1" }, ns: ["3", "4"] });
  assert.equal(ConsumedCapacity.CapacityUnits, 1);
  const remove = (n) => client.deleteItem({
    TableName, Key, ReturnValues: "ALL_OLD", ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    ConditionExpression: "seen = :n", ExpressionAttributeValues: { ":n": { N: n } },
  });
  await assert.rejects(remove("2"), (error) => error instanceof ConditionalCheckFailedException && error.Item.seen.N === "1");
  assert.equal((await remove("1")).Attributes.ss, undefined);
  assert.equal((await client.getItem({ TableName, Key })).Item, undefined);
});

test("queries and parallel scans meet every item once", async () => {
  await makeTable("paged");
  const key = (p, i) => ({ p: { S: p }, c: { S: String(i).padStart(2, "0") } });
  const item = (p, i) => ({ ...key(p, i), even: { BOOL: i % 2 === 0 } });
  const items = ["a", "b"].flatMap((p) => Array.from({ length: 25 }, (_, i) => item(p, i)));
  for (const p of ["a", "b"]) {
    const puts = items.filter((found) => found.p.S === p).map((Item) => ({ PutRequest: { Item } }));
    const { UnprocessedItems } = await client.batchWriteItem({ RequestItems: { paged: puts } });
    assert.deepEqual(UnprocessedItems, {});
  }
  const downwards = [];
  for await (const page of paginateQuery({ client, pageSize: 4 }, {
    TableName: "paged", ScanIndexForward: false, KeyConditionExpression: "p = :p AND c BETWEEN :from AND :to",
    FilterExpression: "even = :yes",
    ExpressionAttributeValues: { ":p": { S: "a" }, ":from": { S: "03" }, ":to": { S: "20" }, ":yes": { BOOL: true } },
  })) downwards.push(...page.Items.map((found) => Number(found.c.S)));
  assert.deepEqual(downwards, [20, 18, 16, 14, 12, 10, 8, 6, 4]);

  const segment = async (Segment) => {
    const seen = [];
    for await (const page of paginateScan({ client, pageSize: 3 }, { TableName: "paged", Segment, TotalSegments: 4 })) seen.push(...page.Items);
    return seen;
  };
  const scanned = (await Promise.all([0, 1, 2, 3].map(segment))).flat();
  const inOrder = (list) => list.map((found) => found.p.S + found.c.S).sort();
  assert.deepEqual(inOrder(scanned), inOrder(items));

  const Keys = [...items.slice(0, 40).map(({ p, c }) => ({ p, c })), key("a", 99)];
  const { Responses, UnprocessedKeys } = await client.batchGetItem({ RequestItems: { paged: { Keys, ConsistentRead: true } } });
  assert.deepEqual(inOrder(Responses.paged), inOrder(items.slice(0, 40)));
  assert.deepEqual(UnprocessedKeys, {});
});

test("a transaction is all or nothing, and a token is executed once", async () => {
  const Key = { p: { S: "t" }, c: { S: "counter" } };
  const add = { Update: { TableName, Key, UpdateExpression: "ADD v :one", ExpressionAttributeValues: { ":one": { N: "1" } } } };
  const absent = {
    ConditionCheck: { TableName, Key: { p: { S: "t" }, c: { S: "no" } }, ConditionExpression: "attribute_exists(p)" },
  };
  const taken = {
    Put: {
      TableName, Item: { p: { S: "t" }, c: { S: "taken" } }, ConditionExpression: "attribute_not_exists(p)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    },
  };
  const value = async () => {
    const { Responses } = await client.transactGetItems({ TransactItems: [{ Get: { TableName, Key, ProjectionExpression: "v" } }] });
    return Responses[0].Item?.v.N;
  };
  await client.putItem({ TableName, Item: { ...taken.Put.Item, by: { S: "ann" } } });
  await assert.rejects(client.transactWriteItems({ TransactItems: [add, absent, taken] }), (error) => {
    assert.ok(error instanceof TransactionCanceledException);
    assert.match(error.message, /specific reasons \[None, ConditionalCheckFailed, ConditionalCheckFailed\]$/);
    const [first, second, third] = error.CancellationReasons;
    assert.deepEqual([first.Code, second.Code, third.Code], ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]);
    assert.equal(second.Message, "The conditional request failed");
    assert.equal(second.Item, undefined);
    assert.equal(third.Item.by.S, "ann");
    return true;
  });
  assert.equal(await value(), undefined);
  const once = { TransactItems: [add], ClientRequestToken: "0f0f-once" };
  await client.transactWriteItems(once);
  await client.transactWriteItems(once);
  assert.equal(await value(), "1");
  await assert.rejects(client.transactWriteItems({ ...once, TransactItems: [absent] }), IdempotentParameterMismatchException);
});

test("time to live removes what has expired", async () => {
  await makeTable("expiring");
  const TimeToLiveSpecification = { Enabled: true, AttributeName: "e" };
  const answer = await client.updateTimeToLive({ TableName: "expiring", TimeToLiveSpecification });
  assert.deepEqual(answer.TimeToLiveSpecification, TimeToLiveSpecification);
  await eventually(async () => {
    const { TimeToLiveDescription } = await client.describeTimeToLive({ TableName: "expiring" });
    return TimeToLiveDescription.AttributeName === "e" && TimeToLiveDescription.TimeToLiveStatus === "ENABLED";
  });
  const now = Math.floor(Date.now() / 1000);
  for (const [c, e] of [["past", now - 60], ["future", now + 3600]]) {
    await client.putItem({ TableName: "expiring", Item: { p: { S: "x" }, c: { S: c }, e: { N: String(e) } } });
  }
  const left = async () => (await client.scan({ TableName: "expiring" })).Items.map((item) => item.c.S);
  await eventually(async () => !(await left()).includes("past"));
  assert.deepEqual(await left(), ["future"]);
});

test("tags are added, replaced, listed and removed", async () => {
  const ResourceArn = (await describe(TableName)).TableArn;
  const tags = async () => new Map((await client.listTagsOfResource({ ResourceArn })).Tags.map(({ Key, Value }) => [Key, Value]));
  await client.tagResource({ ResourceArn, Tags: [{ Key: "team", Value: "one" }, { Key: "cost", Value: "2" }] });
  await client.tagResource({ ResourceArn, Tags: [{ Key: "team", Value: "two" }] });
  assert.deepEqual(await tags(), new Map([["cost", "2"], ["team", "two"]]));
  await client.untagResource({ ResourceArn, TagKeys: ["cost"] });
  assert.deepEqual(await tags(), new Map([["team", "two"]]));
});

// AWS promises no more than this: the table becomes ACTIVE some day, and says where it came from.
const restored = async (name) => {
  await eventually(async () => (await describe(name)).TableStatus === "ACTIVE");
  const { RestoreSummary } = await describe(name);
  assert.equal(RestoreSummary.RestoreInProgress, false);
  assert.ok(RestoreSummary.RestoreDateTime instanceof Date);
  return RestoreSummary;
};

test("a backup is made, listed, restored and deleted", async () => {
  await makeTable("backed");
  await client.putItem({ TableName: "backed", Item: { p: { S: "p" }, c: { S: "c" } } });
  const { BackupDetails } = await client.createBackup({ TableName: "backed", BackupName: "first" });
  const { BackupArn } = BackupDetails;
  const status = async () => (await client.describeBackup({ BackupArn })).BackupDescription.BackupDetails.BackupStatus;
  await eventually(async () => (await status()) === "AVAILABLE");
  const { BackupSummaries } = await client.listBackups({ TableName: "backed", BackupType: "ALL", Limit: 10 });
  assert.deepEqual(BackupSummaries.map((summary) => summary.BackupArn), [BackupArn]);
  await client.restoreTableFromBackup({ TargetTableName: "backed-again", BackupArn, BillingModeOverride: "PAY_PER_REQUEST" });
  assert.equal((await restored("backed-again")).SourceBackupArn, BackupArn);
  assert.equal((await client.scan({ TableName: "backed-again" })).Count, 1);
  await client.deleteBackup({ BackupArn });
  await assert.rejects(client.describeBackup({ BackupArn }), { name: "BackupNotFoundException" });
});

test("a table is restored to a point in time", async () => {
  await makeTable("recovered");
  const recovery = async () => (await client.describeContinuousBackups({ TableName: "recovered" })).ContinuousBackupsDescription.PointInTimeRecoveryDescription;
  await client.updateContinuousBackups({
    TableName: "recovered", PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 7 },
  });
  await eventually(async () => (await recovery()).EarliestRestorableDateTime instanceof Date);
  assert.equal((await recovery()).RecoveryPeriodInDays, 7);
  await client.putItem({ TableName: "recovered", Item: { p: { S: "p" }, c: { S: "c" } } });
  await client.restoreTableToPointInTime({ SourceTableName: "recovered", TargetTableName: "recovered-now", UseLatestRestorableTime: true });
  assert.match((await restored("recovered-now")).SourceTableArn, /table\/recovered$/);
  assert.equal((await client.scan({ TableName: "recovered-now" })).Count, 1);
  const early = { SourceTableName: "recovered", TargetTableName: "recovered-early", RestoreDateTime: new Date(0) };
  await assert.rejects(client.restoreTableToPointInTime(early), { name: "InvalidRestoreTimeException" });
});

test("limits and endpoints are described", async () => {
  const limits = await client.describeLimits({});
  assert.ok(limits.AccountMaxWriteCapacityUnits >= limits.TableMaxWriteCapacityUnits && limits.TableMaxWriteCapacityUnits > 0);
  assert.ok((await client.describeEndpoints({})).Endpoints[0].CachePeriodInMinutes > 0);
});

// An operation that is added without a test here is found out; this has to stay the last test.
test("no operation was left out", () => {
  assert.deepEqual(offered.filter((name) => !driven.has(`${name}Command`)), []);
});
