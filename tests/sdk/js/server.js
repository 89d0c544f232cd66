// Starts a holdfast in memory for a test file, and makes the clients that the tests use.
import { readFileSync } from "node:fs";
import * as sdk from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { path, serve } from "../../support/server.mjs";

export { eventually } from "../../support/server.mjs";

// start("--flag", …) gives { endpoint, client, documents } of a new server that ends with this process.
export async function start(...flags) {
  const endpoint = await serve(...flags);
  const client = new sdk.DynamoDB({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "x", secretAccessKey: "x" },
    maxAttempts: 1,
  });
  return { endpoint, client, documents: DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } }) };
}

// A table of the usual single-table shape, as the parameters of CreateTable: indexes map a name to its two key attributes.
export const singleTable = (TableName, [partition, sort], indexes) => {
  const keys = (names) => names.map((AttributeName, i) => ({ AttributeName, KeyType: i ? "RANGE" : "HASH" }));
  return {
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [partition, sort, ...Object.values(indexes).flat()].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: keys([partition, sort]),
    GlobalSecondaryIndexes: Object.entries(indexes).map(([IndexName, names]) => ({
      IndexName,
      KeySchema: keys(names),
      Projection: { ProjectionType: "ALL" },
    })),
  };
};

// The operations that holdfast has and a client's package knows.
export const offeredBy = (known) => [...readFileSync(path("src/ops/operations.inc"), "utf8").matchAll(/^HF_\w*OPERATION\((\w+)/gm)]
  .map(([, name]) => name)
  .filter((name) => `${name}Command` in known);
export const offered = offeredBy(sdk);
