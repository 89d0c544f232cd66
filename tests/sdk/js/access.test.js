// DB-T-20 with the AWS SDK for JavaScript: principals that policies hold, and their refusals.
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { serve } from "../../support/server.mjs";
import { singleTable } from "./server.js";

const log = "arn:aws:dynamodb:us-east-1:123456789012:table/Log";
const clients = {};

before(async () => {
  const file = join(mkdtempSync(join(tmpdir(), "holdfast-access-")), "keys.json");
  writeFileSync(
    file,
    JSON.stringify({
      accessKeys: { AKIDROOT: { secret: "r", principal: "root" }, AKIDWORKER: { secret: "w", principal: "worker" } },
      principals: {
        root: { policies: [{ Statement: { Effect: "Allow", Action: "dynamodb:*", Resource: "*" } }] },
        worker: {
          policies: [
            {
              Version: "2012-10-17",
              Statement: {
                Effect: "Allow",
                Action: "dynamodb:PutItem",
                Resource: log,
                Condition: { StringEqualsIfExists: { "dynamodb:ReturnValues": "NONE" } },
              },
            },
          ],
        },
      },
    }),
  );
  const endpoint = await serve("--models", "none", "--auth", "sigv4", "--credentials", file);
  for (const [name, secretAccessKey] of [["root", "r"], ["worker", "w"]]) {
    const credentials = { accessKeyId: `AKID${name.toUpperCase()}`, secretAccessKey };
    clients[name] = new DynamoDB({ endpoint, region: "us-east-1", credentials, maxAttempts: 1 });
  }
  await clients.root.createTable(singleTable("Log", ["pk", "sk"], { byKind: ["kind", "at"] }));
});

const Item = { pk: { S: "booking" }, sk: { S: "1" } };

test("the worker writes its log and nothing else", async () => {
  const { worker, root } = clients;
  await worker.putItem({ TableName: "Log", Item });
  await worker.transactWriteItems({ TransactItems: [{ Put: { TableName: "Log", Item: { ...Item, sk: { S: "2" } } } }] });
  const denied = { name: "AccessDeniedException" };
  await assert.rejects(worker.getItem({ TableName: "Log", Key: Item }), {
    ...denied,
    message: `User: arn:aws:iam::123456789012:user/worker is not authorized to perform: dynamodb:GetItem on resource: ${log} because no identity-based policy allows the dynamodb:GetItem action`,
  });
  await assert.rejects(worker.scan({ TableName: "Log" }), denied);
  await assert.rejects(worker.scan({ TableName: "Other" }), denied);
  await assert.rejects(worker.listTables({}), denied);
  await assert.rejects(worker.describeLimits({}), denied);
  await assert.rejects(worker.batchWriteItem({ RequestItems: { Log: [{ PutRequest: { Item } }] } }), denied);
  await assert.rejects(
    worker.query({ TableName: "Log", IndexName: "byKind", KeyConditionExpression: "kind = :k", ExpressionAttributeValues: { ":k": { S: "x" } } }),
    { ...denied, message: /table\/Log\/index\/byKind/ },
  );
  // It reads not even what it would overwrite.
  const put = { TableName: "Log", Item, ConditionExpression: "attribute_not_exists(pk)" };
  await assert.rejects(worker.putItem(put), { name: "ConditionalCheckFailedException" });
  await assert.rejects(worker.putItem({ ...put, ReturnValuesOnConditionCheckFailure: "ALL_OLD" }), denied);
  await assert.rejects(worker.putItem({ TableName: "Log", Item, ReturnValues: "ALL_OLD" }), denied);
  const { Count } = await root.scan({ TableName: "Log" });
  assert.equal(Count, 2);
});
