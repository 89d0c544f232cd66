// DynamoDB Streams, read by the AWS SDK v3's own client for them (DB-S-01).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "@aws-sdk/client-dynamodb-streams";
import { waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { eventually, offeredBy, start } from "./server.js";

const { client, endpoint } = await start("--ttl-sweep-ms", "50");
const streams = new sdk.DynamoDBStreams({ endpoint, region: "us-east-1", credentials: { accessKeyId: "x", secretAccessKey: "x" }, maxAttempts: 1 });
const driven = new Set(); // The commands that have succeeded.
const record = (next, { commandName }) => (args) => next(args).then((answer) => driven.add(commandName) && answer);
streams.middlewareStack.add(record, { step: "initialize" });

const makeTable = async (TableName, StreamViewType) => {
  const { TableDescription } = await client.createTable({
    TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "p", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "p", AttributeType: "S" }], StreamSpecification: { StreamEnabled: true, StreamViewType },
  });
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 0.05, maxDelay: 0.2 }, { TableName });
  return TableDescription.LatestStreamArn;
};
const put = (TableName, p, n, more) => client.putItem({ TableName, Item: { p: { S: p }, n: { N: String(n) }, ...more } });

// The loop of every consumer: all shards, page by page, from `type` on.
const shardsOf = async (StreamArn) => {
  const shards = [];
  for (let after; ; after = shards.at(-1).ShardId) {
    const { StreamDescription } = await streams.describeStream({ StreamArn, Limit: 3, ExclusiveStartShardId: after });
    shards.push(...StreamDescription.Shards);
    if (!StreamDescription.LastEvaluatedShardId) return shards;
  }
};
const iteratorsOf = async (StreamArn, type = "TRIM_HORIZON") => Promise.all((await shardsOf(StreamArn)).map(
  async ({ ShardId }) => (await streams.getShardIterator({ StreamArn, ShardId, ShardIteratorType: type })).ShardIterator));
const read = async (iterators) => {
  const records = [];
  for (let iterator of iterators) {
    while (iterator) {
      const { Records, NextShardIterator } = await streams.getRecords({ ShardIterator: iterator, Limit: 7 });
      records.push(...Records);
      iterator = Records.length ? NextShardIterator : undefined;
    }
  }
  return records;
};

for (const [view, before, after] of [["KEYS_ONLY", false, false], ["NEW_IMAGE", false, true], ["OLD_IMAGE", true, false], ["NEW_AND_OLD_IMAGES", true, true]]) {
  test(`a stream with ${view} shows what it is for`, async () => {
    const arn = await makeTable(view, view);
    await put(view, "a", 1);
    await put(view, "a", 2);
    await client.deleteItem({ TableName: view, Key: { p: { S: "a" } } });
    const records = await read(await iteratorsOf(arn));
    assert.deepEqual(records.map(({ eventName }) => eventName), ["INSERT", "MODIFY", "REMOVE"]);
    const image = (n) => ({ p: { S: "a" }, n: { N: String(n) } });
    assert.deepEqual(records.map(({ dynamodb }) => dynamodb.NewImage), [1, 2, 0].map((n) => (after && n ? image(n) : undefined)));
    assert.deepEqual(records.map(({ dynamodb }) => dynamodb.OldImage), [0, 1, 2].map((n) => (before && n ? image(n) : undefined)));
    for (const { dynamodb, awsRegion, eventID } of records) {
      assert.deepEqual(dynamodb.Keys, { p: { S: "a" } });
      assert.ok(dynamodb.ApproximateCreationDateTime instanceof Date && dynamodb.SizeBytes > 0 && eventID);
      assert.equal(dynamodb.StreamViewType, view);
      assert.equal(awsRegion, "us-east-1");
    }
  });
}

test("every change is read once, each key's in order, from wherever one begins", async () => {
  const arn = await makeTable("many", "NEW_IMAGE");
  const latest = await iteratorsOf(arn, "LATEST");
  for (let round = 0; round < 3; ++round) await Promise.all(Array.from({ length: 20 }, (_, i) => put("many", `p${i}`, round)));
  for (const iterators of [latest, await iteratorsOf(arn)]) {
    const records = await read(iterators);
    assert.equal(records.length, 60);
    const seen = new Map();
    for (const { dynamodb } of records) {
      const key = dynamodb.Keys.p.S;
      assert.equal(Number(dynamodb.NewImage.n.N), seen.get(key) ?? 0);
      seen.set(key, Number(dynamodb.NewImage.n.N) + 1);
    }
  }
  for (const { ShardId } of await shardsOf(arn)) {
    const at = async (ShardIteratorType, SequenceNumber) => read([(await streams.getShardIterator({ StreamArn: arn, ShardId, ShardIteratorType, SequenceNumber })).ShardIterator]);
    const all = await at("TRIM_HORIZON");
    const numbers = all.map(({ dynamodb }) => dynamodb.SequenceNumber);
    assert.deepEqual(numbers, [...numbers].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)));
    assert.deepEqual(await at("AT_SEQUENCE_NUMBER", numbers[2]), all.slice(2));
    assert.deepEqual(await at("AFTER_SEQUENCE_NUMBER", numbers[2]), all.slice(3));
  }
});

test("what time to live removes was removed by the service", async () => {
  const arn = await makeTable("expiring", "OLD_IMAGE");
  await client.updateTimeToLive({ TableName: "expiring", TimeToLiveSpecification: { Enabled: true, AttributeName: "e" } });
  await put("expiring", "a", 1, { e: { N: String(Math.floor(Date.now() / 1000) - 60) } });
  const removed = await eventually(async () => (await read(await iteratorsOf(arn))).find(({ eventName }) => eventName === "REMOVE"));
  assert.deepEqual(removed.userIdentity, { PrincipalId: "dynamodb.amazonaws.com", Type: "Service" });
});

test("shards of a disabled stream are closed, and filters know no children", async () => {
  const arn = await makeTable("closing", "KEYS_ONLY");
  await put("closing", "a", 1);
  const [{ ShardId }] = await shardsOf(arn);
  const filtered = await streams.describeStream({ StreamArn: arn, ShardFilter: { Type: "CHILD_SHARDS", ShardId } });
  assert.deepEqual(filtered.StreamDescription.Shards, []);
  await client.updateTable({ TableName: "closing", StreamSpecification: { StreamEnabled: false } });
  assert.ok((await shardsOf(arn)).every(({ SequenceNumberRange }) => SequenceNumberRange.EndingSequenceNumber));
  for (const iterator of await iteratorsOf(arn)) assert.equal((await streams.getRecords({ ShardIterator: iterator })).NextShardIterator, undefined);
  const { Streams } = await streams.listStreams({ TableName: "closing" });
  assert.deepEqual(Streams.map(({ StreamArn }) => StreamArn), [arn]);
  await assert.rejects(streams.describeStream({ StreamArn: arn.replace("closing", "nothing") }), sdk.ResourceNotFoundException);
  await assert.rejects(streams.getRecords({ ShardIterator: "nonsense" }), { name: "ValidationException" });
});

// An operation that is added without a test here is found out; this has to stay the last test.
test("no operation was left out", () => {
  assert.deepEqual(offeredBy(sdk).filter((name) => !driven.has(`${name}Command`)), []);
});
