// Starts a holdfast in memory for a test file, and makes the clients that the tests use.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import * as sdk from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

const path = (relative) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket.end() && true));
    socket.on("error", () => resolve(false));
  });

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Waits until check() gives something true, and returns that.
export async function eventually(check, seconds = 20) {
  for (const deadline = Date.now() + seconds * 1000; ; await pause(20)) {
    const found = await check();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not in ${seconds} s: ${check}`);
  }
}

// start("--flag", …) gives { endpoint, client, documents } of a new server that ends with this process.
export async function start(...flags) {
  const port = await freePort();
  const settings = ["serve", "--in-memory", "--port", String(port), "--log-level", "warning", ...flags];
  const server = spawn(path("build/release/holdfast"), settings, { stdio: "ignore" });
  process.on("exit", () => server.kill());
  server.unref();
  await eventually(() => {
    if (server.exitCode !== null) throw new Error("holdfast ended at its start");
    return answers(port);
  });
  const endpoint = `http://127.0.0.1:${port}`;
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

// The operations that holdfast has and this SDK knows.
export const offered = [...readFileSync(path("src/ops/operations.inc"), "utf8").matchAll(/HF_OPERATION\((\w+)/g)]
  .map(([, name]) => name)
  .filter((name) => `${name}Command` in sdk);
