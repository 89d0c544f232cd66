// SSESpecification and SSEDescription, driven by the AWS SDK v3 on a store in memory: nothing of it is at rest, so it is
// encrypted as much as it can be. tests/sdk/python/test_encryption.py has a store on a disk.
import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "./server.js";

const { client } = await start();
const table = (TableName, more) => ({
  TableName, BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }], ...more,
});
const encryption = async (TableName) => (await client.describeTable({ TableName })).Table.SSEDescription;

test("a table says that it is encrypted from when it is asked to be until it is asked not to be", async () => {
  await client.createTable(table("plain"));
  assert.equal(await encryption("plain"), undefined);
  await client.updateTable({ TableName: "plain", SSESpecification: { Enabled: true } });
  const { Status, SSEType, KMSMasterKeyArn } = await encryption("plain");
  assert.deepEqual([Status, SSEType], ["ENABLED", "KMS"]);
  assert.match(KMSMasterKeyArn, /^arn:aws:kms:us-east-1:123456789012:/);
  await client.updateTable({ TableName: "plain", SSESpecification: { Enabled: false } });
  assert.equal(await encryption("plain"), undefined);
});

test("a specification that contradicts itself is refused", async () => {
  const SSESpecification = { Enabled: false, SSEType: "KMS" };
  await assert.rejects(client.createTable(table("wrong", { SSESpecification })), {
    name: "ValidationException",
    message: "One or more parameter values were invalid: SSEType can not be specified if Enabled is false",
  });
});
