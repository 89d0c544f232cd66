// The server's alarms in the page: administrators see them change, others are told why they see none.
import { test } from "node:test";
import { endpoint, visit } from "./browser.js";

const headers = (operation) => ({
  "Content-Type": "application/x-amz-json-1.0",
  "X-Amz-Date": "20260101T000000Z",
  "X-Amz-Target": `DynamoDB_20120810.${operation}`,
  Authorization: `AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=${"0".repeat(64)}`,
});
const send = (operation, body) => fetch(endpoint, { method: "POST", headers: headers(operation), body: JSON.stringify(body) });
const put = (kilobytes) =>
  send("PutItem", { TableName: "Trickle", Item: { p: { S: "a" }, fill: { S: "x".repeat(kilobytes * 1024 - 100) } } });

test("an administrator sees an alarm fire and clear", async (t) => {
  const visitor = await visit(t, { role: "admin", at: "#/alarms" });
  await visitor.see("All is well.");
  await visitor.see("throttled-requests");
  await visitor.see("no requests in the last 8 seconds");
  await send("CreateTable", {
    TableName: "Trickle",
    KeySchema: [{ AttributeName: "p", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "p", AttributeType: "S" }],
    ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
  });
  await put(390);
  await put(1);
  await visitor.see("1 alarm is on.");
  await visitor.see("1 request in the last 8 seconds: Trickle 1", "[aria-label=throttled-requests]");
  await visitor.see("ALARM", "[aria-label=throttled-requests]");
  await visitor.see("All is well.");
  await visitor.see("History: 2 changes", "[aria-label=throttled-requests]");
});

test("others are told why they see none", async (t) => {
  const visitor = await visit(t, { role: "user", at: "#/alarms" });
  await visitor.see("Alarms are for administrators");
  await visitor.see("the role user");
});
