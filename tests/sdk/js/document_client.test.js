// The DocumentClient of the AWS SDK v3, as TypeScript applications use it: repositories with keys of several kinds in
// one table, conditional writes, transactions and their errors, and what is newer than Debian's boto3.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ConditionalCheckFailedException,
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  PutItemCommand,
  TransactionCanceledException,
  UpdateTableCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  paginateQuery,
  paginateScan,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { singleTable, start } from "./server.js";

const TableName = "app";
const { client, documents } = await start();
await client.send(
  new CreateTableCommand({ ...singleTable(TableName, ["PK", "SK"], { GSI1: ["GSI1PK", "GSI1SK"] }), DeletionProtectionEnabled: true }),
);
await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 1 }, { TableName });

test("items of every document type come back as they were", async () => {
  const item = {
    PK: "DOC#1", SK: "A", text: "ü 漢 🎈", number: 12.5, flag: false, nothing: null, list: [1, "two", { three: 3 }],
    map: { deep: { deeper: [new Uint8Array([0, 255])] } }, tags: new Set(["a", "b"]), empty: "",
  };
  await documents.send(new PutCommand({ TableName, Item: item }));
  const got = await documents.send(new GetCommand({ TableName, Key: { PK: "DOC#1", SK: "A" }, ConsistentRead: true }));
  assert.deepEqual(got.Item, item);
});

test("a lost update is refused, with the item that stands", async () => {
  const Key = { PK: "ORDER#7", SK: "META" };
  await documents.send(new PutCommand({ TableName, Item: { ...Key, version: 1, status: "draft" } }));
  const publish = (version) =>
    documents.send(
      new UpdateCommand({
        TableName,
        Key,
        UpdateExpression: "SET #s = :s, version = version + :one",
        ConditionExpression: "version = :v",
        ExpressionAttributeNames: { "#s": "status" },
        ExpressionAttributeValues: { ":s": "published", ":one": 1, ":v": version },
        ReturnValues: "ALL_NEW",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
  assert.equal((await publish(1)).Attributes.version, 2);
  await assert.rejects(publish(1), (error) => {
    assert.ok(error instanceof ConditionalCheckFailedException);
    assert.deepEqual(error.Item.version, { N: "2" });
    return true;
  });
});

test("a transaction claims a unique name once", async () => {
  const register = (user, email) =>
    documents.send(
      new TransactWriteCommand({
        TransactItems: [
          { Put: { TableName, Item: { PK: `USER#${user}`, SK: "PROFILE", email }, ConditionExpression: "attribute_not_exists(PK)" } },
          { Put: { TableName, Item: { PK: `EMAIL#${email}`, SK: "CLAIM", user }, ConditionExpression: "attribute_not_exists(PK)" } },
        ],
      }),
    );
  await register("ann", "a@example.com");
  await assert.rejects(register("bob", "a@example.com"), (error) => {
    assert.ok(error instanceof TransactionCanceledException);
    assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["None", "ConditionalCheckFailed"]);
    return true;
  });
  const { Responses } = await documents.send(
    new TransactGetCommand({
      TransactItems: [
        { Get: { TableName, Key: { PK: "USER#ann", SK: "PROFILE" } } },
        { Get: { TableName, Key: { PK: "USER#bob", SK: "PROFILE" } } },
      ],
    }),
  );
  assert.equal(Responses[0].Item.email, "a@example.com");
  assert.equal(Responses[1].Item, undefined);
});

test("batches and paginators walk an index in order", async () => {
  const items = Array.from({ length: 25 }, (_, i) => ({
    PK: `TASK#${i}`, SK: "META", GSI1PK: "OPEN", GSI1SK: String(i).padStart(4, "0"),
  }));
  await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: items.map((Item) => ({ PutRequest: { Item } })) } }));
  const seen = [];
  const pages = paginateQuery({ client: documents, pageSize: 4 }, {
    TableName, IndexName: "GSI1", KeyConditionExpression: "GSI1PK = :open AND GSI1SK >= :from",
    ExpressionAttributeValues: { ":open": "OPEN", ":from": "0005" },
  });
  for await (const page of pages) seen.push(...page.Items.map((item) => item.GSI1SK));
  assert.deepEqual(seen, items.slice(5).map((item) => item.GSI1SK));
  const got = await documents.send(
    new BatchGetCommand({ RequestItems: { [TableName]: { Keys: items.map(({ PK, SK }) => ({ PK, SK })), ProjectionExpression: "GSI1SK" } } }),
  );
  assert.equal(got.Responses[TableName].length, 25);
  await documents.send(new DeleteCommand({ TableName, Key: { PK: "TASK#0", SK: "META" } }));
  const open = await documents.send(
    new QueryCommand({
      TableName, IndexName: "GSI1", Select: "COUNT", KeyConditionExpression: "GSI1PK = :open",
      ExpressionAttributeValues: { ":open": "OPEN" }, ReturnConsumedCapacity: "INDEXES",
    }),
  );
  assert.equal(open.Count, 24);
  assert.equal(open.ConsumedCapacity.GlobalSecondaryIndexes.GSI1.CapacityUnits, open.ConsumedCapacity.CapacityUnits);
});

test("workers share a scan by segments", async () => {
  const segment = async (Segment) => {
    const seen = [];
    for await (const page of paginateScan({ client: documents, pageSize: 5 }, { TableName, Segment, TotalSegments: 3 })) seen.push(...page.Items);
    return seen;
  };
  const scanned = (await Promise.all([0, 1, 2].map(segment))).flat();
  assert.equal(new Set(scanned.map(({ PK, SK }) => `${PK} ${SK}`)).size, scanned.length);
  assert.equal(scanned.length, (await documents.send(new ScanCommand({ TableName, Select: "COUNT" }))).Count);
});

test("scans filter after reading", async () => {
  const { Count, ScannedCount } = await documents.send(
    new ScanCommand({ TableName, FilterExpression: "begins_with(PK, :p)", ExpressionAttributeValues: { ":p": "USER#" } }),
  );
  assert.equal(Count, 1);
  assert.ok(ScannedCount > Count);
});

test("an index key of several attributes", async () => {
  await client.send(
    new CreateTableCommand({
      TableName: "matches",
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: ["id", "tournament", "region", "round", "bracket"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      GlobalSecondaryIndexes: [
        {
          IndexName: "by_region",
          KeySchema: [
            { AttributeName: "tournament", KeyType: "HASH" },
            { AttributeName: "region", KeyType: "HASH" },
            { AttributeName: "round", KeyType: "RANGE" },
            { AttributeName: "bracket", KeyType: "RANGE" },
          ],
          Projection: { ProjectionType: "ALL" },
        },
      ],
    }),
  );
  for (const [id, round, bracket] of [["1", "FINAL", "B"], ["2", "FINAL", "A"], ["3", "SEMI", "A"]]) {
    await documents.send(new PutCommand({ TableName: "matches", Item: { id, tournament: "T", region: "EU", round, bracket } }));
  }
  const { Items } = await documents.send(
    new QueryCommand({
      TableName: "matches", IndexName: "by_region",
      KeyConditionExpression: "tournament = :t AND #r = :r AND round = :f",
      ExpressionAttributeNames: { "#r": "region" }, ExpressionAttributeValues: { ":t": "T", ":r": "EU", ":f": "FINAL" },
    }),
  );
  assert.deepEqual(Items.map((item) => item.id), ["2", "1"]);
});

test("deletion protection and table class are kept", async () => {
  await client.send(new UpdateTableCommand({ TableName, TableClass: "STANDARD_INFREQUENT_ACCESS" }));
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  assert.equal(Table.DeletionProtectionEnabled, true);
  assert.equal(Table.TableClassSummary.TableClass, "STANDARD_INFREQUENT_ACCESS");
});

test("the raw client gets DynamoDB's words", async () => {
  await assert.rejects(client.send(new PutItemCommand({ TableName, Item: { PK: { S: "x" } } })), {
    name: "ValidationException",
    message: "One or more parameter values were invalid: Missing the key SK in the item",
  });
  assert.ok(client instanceof DynamoDBClient);
});
