// DB-T-03: throughput as the AWS SDK v3 meets it, without retries. A new table has 300 seconds of credit: one item of 390 KB
// on a table of one unit leaves a debt of 90, which no test waits for.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
} from "@aws-sdk/client-dynamodb";
import { start } from "./server.js";

const { client } = await start();

const units = (ReadCapacityUnits, WriteCapacityUnits) => ({ ReadCapacityUnits, WriteCapacityUnits });
const fill = (kilobytes) => ({ S: "x".repeat(kilobytes * 1024 - 100) });
const put = (TableName, p, more) => client.putItem({ TableName, Item: { p: { S: p }, ...more } });
const there = async (TableName, p) => (await client.getItem({ TableName, Key: { p: { S: p } } })).Item !== undefined;
const describe = async (TableName) => (await client.describeTable({ TableName })).Table;
const index = (more) => ({
  IndexName: "by_g", KeySchema: [{ AttributeName: "g", KeyType: "HASH" }], Projection: { ProjectionType: "ALL" }, ...more,
});
const create = (TableName, { indexed, ...more }) =>
  client.createTable({
    TableName,
    KeySchema: [{ AttributeName: "p", KeyType: "HASH" }],
    AttributeDefinitions: ["p", ...(indexed ? ["g"] : [])].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    ...(indexed && { GlobalSecondaryIndexes: [index(indexed)] }),
    ...more,
  });
const arn = (table) => `arn:aws:dynamodb:us-east-1:123456789012:table/${table}`;

test("a table without capacity refuses writes and says which table it was", async () => {
  await create("Slow", { ProvisionedThroughput: units(100, 1) });
  await put("Slow", "a", { fill: fill(390) });
  await assert.rejects(put("Slow", "b"), (error) => {
    assert.ok(error instanceof ProvisionedThroughputExceededException);
    assert.equal(error.$metadata.httpStatusCode, 400);
    assert.equal(
      error.message,
      "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.",
    );
    assert.deepEqual(error.ThrottlingReasons, [
      { reason: "TableWriteProvisionedThroughputExceeded", resource: arn("Slow") },
    ]);
    return true;
  });
  assert.equal(await there("Slow", "b"), false);
  await client.updateTable({ TableName: "Slow", BillingMode: "PAY_PER_REQUEST" });
  await put("Slow", "b", { fill: fill(390) });
  await put("Slow", "c");
  await client.updateTable({ TableName: "Slow", BillingMode: "PROVISIONED", ProvisionedThroughput: units(1, 1) });
  await put("Slow", "d", { fill: fill(390) });
  await assert.rejects(put("Slow", "e"), ProvisionedThroughputExceededException);
});

test("an index without capacity holds up the writes that change it", async () => {
  await create("Back", { ProvisionedThroughput: units(100, 1000), indexed: { ProvisionedThroughput: units(1, 1) } });
  await put("Back", "a", { g: { S: "x" }, fill: fill(390) });
  await assert.rejects(put("Back", "b", { g: { S: "x" } }), {
    name: "ProvisionedThroughputExceededException",
    ThrottlingReasons: [{ reason: "IndexWriteProvisionedThroughputExceeded", resource: `${arn("Back")}/index/by_g` }],
  });
  await put("Back", "c");
  assert.equal(await there("Back", "b"), false);
});

test("a batch gives back what there is no capacity for, and fails when that is all", async () => {
  await create("Batch", { ProvisionedThroughput: units(1, 1) });
  const writes = (names) => names.map((p) => ({ PutRequest: { Item: { p: { S: p }, fill: fill(200) } } }));
  const { UnprocessedItems } = await client.batchWriteItem({ RequestItems: { Batch: writes(["a", "b", "c", "d"]) } });
  assert.deepEqual(UnprocessedItems.Batch.map((w) => w.PutRequest.Item.p.S), ["c", "d"]);
  await assert.rejects(client.batchWriteItem({ RequestItems: { Batch: writes(["e"]) } }), ProvisionedThroughputExceededException);
  const Keys = ["a", "b", "c"].map((p) => ({ p: { S: p } }));
  for (let i = 0; i < 5; ++i) await client.getItem({ TableName: "Batch", Key: Keys[0], ConsistentRead: true }); // 50 units each
  const get = () => client.batchGetItem({ RequestItems: { Batch: { Keys, ConsistentRead: true } } });
  const { Responses, UnprocessedKeys } = await get();
  assert.equal(Responses.Batch.length, 2);
  assert.deepEqual(UnprocessedKeys, { Batch: { Keys: [Keys[2]], ConsistentRead: true } });
  await assert.rejects(get(), ProvisionedThroughputExceededException);
});

test("a transaction is cancelled with its reasons", async () => {
  await create("Whole", { ProvisionedThroughput: units(100, 1) });
  await put("Whole", "a", { fill: fill(390) });
  const Put = (p) => ({ Put: { TableName: "Whole", Item: { p: { S: p } } } });
  await assert.rejects(client.transactWriteItems({ TransactItems: [Put("b"), Put("c")] }), (error) => {
    assert.ok(error instanceof TransactionCanceledException);
    assert.deepEqual(error.CancellationReasons.map((r) => r.Code), ["ProvisionedThroughputExceeded", "ProvisionedThroughputExceeded"]);
    return true;
  });
  assert.equal(await there("Whole", "b"), false);
});

test("a maximum on demand is kept, changed and lifted", async () => {
  const max = (MaxReadRequestUnits, MaxWriteRequestUnits) => ({ MaxReadRequestUnits, MaxWriteRequestUnits });
  const made = await create("Capped", { BillingMode: "PAY_PER_REQUEST", OnDemandThroughput: max(100, 1), indexed: { OnDemandThroughput: max(7, 8) } });
  assert.deepEqual(made.TableDescription.OnDemandThroughput, max(100, 1));
  assert.deepEqual((await describe("Capped")).GlobalSecondaryIndexes[0].OnDemandThroughput, max(7, 8));
  await put("Capped", "a", { fill: fill(390) });
  await assert.rejects(put("Capped", "b"), (error) => {
    assert.equal(error.name, "ThrottlingException");
    assert.equal(error.message, "Throughput exceeds the maximum OnDemandThroughput configured on table or index");
    assert.deepEqual(error.throttlingReasons, [{ reason: "TableWriteMaxOnDemandThroughputExceeded", resource: arn("Capped") }]);
    return true;
  });
  await client.updateTable({ TableName: "Capped", OnDemandThroughput: { MaxWriteRequestUnits: -1 } });
  assert.deepEqual((await describe("Capped")).OnDemandThroughput, { MaxReadRequestUnits: 100 });
  await put("Capped", "b", { fill: fill(390) });
  await put("Capped", "c");
  const GlobalSecondaryIndexUpdates = [{ Update: { IndexName: "by_g", OnDemandThroughput: { MaxReadRequestUnits: -1, MaxWriteRequestUnits: 9 } } }];
  await client.updateTable({ TableName: "Capped", GlobalSecondaryIndexUpdates });
  assert.deepEqual((await describe("Capped")).GlobalSecondaryIndexes[0].OnDemandThroughput, { MaxWriteRequestUnits: 9 });
  const bad = (message, more) => assert.rejects(client.updateTable({ TableName: "Capped", ...more }), { name: "ValidationException", message });
  const start = "One or more parameter values were invalid: ";
  await bad(`${start}Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range`, { OnDemandThroughput: max(0, 1) });
  await bad(`${start}MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED`, {
    BillingMode: "PROVISIONED", ProvisionedThroughput: units(1, 1), OnDemandThroughput: max(1, 1),
  });
  await bad(`${start}ProvisionedThroughput must be specified for index: by_g`, { BillingMode: "PROVISIONED", ProvisionedThroughput: units(1, 1) });
  assert.deepEqual((await describe("Capped")).OnDemandThroughput, { MaxReadRequestUnits: 100 });
});

test("warm throughput is described and only rises", async () => {
  const warm = (ReadUnitsPerSecond, WriteUnitsPerSecond) => ({ ReadUnitsPerSecond, WriteUnitsPerSecond });
  await create("Warm", { BillingMode: "PAY_PER_REQUEST", WarmThroughput: warm(13000, 5000), indexed: {} });
  assert.deepEqual((await describe("Warm")).WarmThroughput, { ...warm(13000, 5000), Status: "ACTIVE" });
  assert.deepEqual((await describe("Warm")).GlobalSecondaryIndexes[0].WarmThroughput, { ...warm(12000, 4000), Status: "ACTIVE" });
  await client.updateTable({ TableName: "Warm", WarmThroughput: { WriteUnitsPerSecond: 6000 } });
  assert.deepEqual((await describe("Warm")).WarmThroughput, { ...warm(13000, 6000), Status: "ACTIVE" });
  await assert.rejects(client.updateTable({ TableName: "Warm", WarmThroughput: warm(12000, 6000) }), {
    name: "ValidationException", message: /lower than current WarmThroughput, decreasing WarmThroughput is not supported$/,
  });
});
