// Vector indexes and SearchVectors, driven by the AWS SDK v3: what is found, in which order, and at what cost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, start } from "./server.js";

const { client } = await start("--ttl-sweep-ms", "50");

const vector = (...values) => values.map((value) => ({ N: String(value) }));
const embedding = (...values) => ({ embedding: { L: vector(...values) } });
const key = (pk) => ({ pk: { S: pk } });

// index("name", { tenant: "HASH" }, { more }) is the definition of one.
const index = (IndexName, schema = {}, more = {}) => ({
  IndexName, VectorAttribute: { AttributeName: "embedding" }, Dimensions: 3, DistanceFunction: "COSINE", Projection: { ProjectionType: "ALL" },
  ...(Object.keys(schema).length && {
    SearchSchema: Object.entries(schema).map(([AttributeName, SearchSchemaElementType]) => ({ AttributeName, SearchSchemaElementType })),
  }),
  ...more,
});

const table = (TableName, VectorIndexes, types = {}) => ({
  TableName, VectorIndexes, BillingMode: "PAY_PER_REQUEST", KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
  AttributeDefinitions: Object.entries({ pk: "S", ...types }).map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
});

const describe = async (TableName, on = client) => (await on.describeTable({ TableName })).Table;
const put = (TableName, Item, more) => client.putItem({ TableName, Item, ...more });
const search = (TableName, IndexName, more = {}, on = client) =>
  on.searchVectors({ TableName, IndexName, SearchVector: vector(1, 0, 0), TopK: 10, ...more });
// The keys of what is found, in order; `where` maps attributes to the values they must have.
const found = async (name, from, where = {}, more = {}) => {
  const attributes = Object.keys(where);
  const condition = attributes.length && {
    SearchConditionExpression: attributes.map((attribute) => `${attribute} = :${attribute}`).join(" AND "),
    ExpressionAttributeValues: Object.fromEntries(attributes.map((attribute) => [`:${attribute}`, where[attribute]])),
  };
  return (await search(name, from, { ...condition, ...more })).SearchResults.map(({ Item }) => Item.pk.S);
};
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} is not ${expected}`);

test("scores of the three distance functions", async () => {
  const functions = ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"];
  await client.createTable(table("scores", functions.map((name) => index(name, {}, { DistanceFunction: name }))));
  const fixture = { a: [1, 0, 0], b: [0, 1, 0], c: [-1, 0, 0], d: [0.6, 0.8, 0], zero: [0, 0, 0] };
  for (const [pk, values] of Object.entries(fixture)) await put("scores", { ...key(pk), label: { S: `item ${pk}` }, ...embedding(...values) });
  const expected = {
    COSINE: { a: 0, d: 0.4, b: 1, zero: 1, c: 2 },
    EUCLIDEAN: { a: 0, d: Math.sqrt(0.8), zero: 1, b: Math.SQRT2, c: 2 },
    DOT_PRODUCT: { a: 1, d: 0.6, b: 0, zero: 0, c: -1 },
  };
  for (const name of functions) {
    const { SearchResults, ...rest } = await search("scores", name);
    assert.deepEqual(Object.keys(rest), ["$metadata"], "there are no pages, and nothing else");
    assert.equal(SearchResults.length, 5);
    const scores = Object.fromEntries(SearchResults.map(({ Item, Score }) => [Item.pk.S, Score]));
    for (const [pk, score] of Object.entries(expected[name])) near(scores[pk], score);
    const sign = name === "DOT_PRODUCT" ? -1 : 1;
    const order = SearchResults.map(({ Score }) => sign * Score);
    assert.deepEqual(order, order.toSorted((x, y) => x - y), `${name}: nearest first`);
    assert.deepEqual(SearchResults[0].Item, { ...key("a"), label: { S: "item a" } }, "all but the vector");
    assert.deepEqual(await found("scores", name, {}, { TopK: 2 }), ["a", "d"]);
    assert.deepEqual((await search("scores", name)).SearchResults, SearchResults, "equal scores keep their order");
  }
  assert.deepEqual((await search("scores", "COSINE", { SearchVector: vector(0, 0, 0) })).SearchResults.map(({ Score }) => Score), [1, 1, 1, 1, 1]);
});

test("a search stays within its HASH value and its filters", async () => {
  const schema = { tenant: "HASH", lang: "INLINE_FILTER", edition: "INLINE_FILTER" };
  await client.createTable(table("scoped", [index("all"), index("by_tenant", schema)], { tenant: "S", lang: "S", edition: "N" }));
  const at = (tenant, lang, edition) => ({ tenant: { S: tenant }, lang: { S: lang }, edition: { N: edition } });
  for (let i = 0; i < 12; ++i) {
    await put("scoped", { ...key(`m${i}`), ...at(i % 2 ? "odd" : "even", i % 3 ? "de" : "en", String(2020 + (i % 4))), ...embedding(1, i / 10, 0) });
  }
  await put("scoped", { ...key("stray"), lang: { S: "en" }, ...embedding(1, 0, 0) });
  await put("scoped", { ...key("bare"), tenant: { S: "odd" }, ...embedding(1, 5, 0) });
  assert.deepEqual(await found("scoped", "by_tenant", { tenant: { S: "odd" } }), ["m1", "m3", "m5", "m7", "m9", "m11", "bare"]);
  assert.deepEqual(await found("scoped", "by_tenant", { tenant: { S: "nobody" } }), []);
  assert.deepEqual(await found("scoped", "by_tenant", { tenant: { S: "odd" }, lang: { S: "en" } }), ["m3", "m9"]);
  assert.deepEqual(await found("scoped", "by_tenant", { tenant: { S: "even" }, lang: { S: "de" }, edition: { N: "2020.0" } }), ["m4", "m8"]);
  assert.deepEqual(await found("scoped", "by_tenant", { tenant: { S: "odd" }, lang: { S: "de" } }, { TopK: 3 }), ["m1", "m5", "m7"], "a filter does not cost results");
  const aliased = await search("scoped", "by_tenant", {
    SearchConditionExpression: "(#t = :t) AND (lang = :l)", ExpressionAttributeNames: { "#t": "tenant" },
    ExpressionAttributeValues: { ":t": { S: "even" }, ":l": { S: "en" } },
  });
  assert.deepEqual(aliased.SearchResults.map(({ Item }) => Item.pk.S), ["m0", "m6"]);
  assert.ok((await found("scoped", "all", {}, { TopK: 100 })).includes("stray"), "an index without HASH has it");
  const [all, scoped] = (await describe("scoped")).VectorIndexes;
  assert.deepEqual([all.ItemCount, scoped.ItemCount], [14, 13]);

  // Losing the HASH attribute takes an item out of that index alone, without a word; regaining it brings it back.
  await client.updateItem({ TableName: "scoped", Key: key("m3"), UpdateExpression: "REMOVE tenant" });
  assert.deepEqual(await found("scoped", "by_tenant", { tenant: { S: "odd" }, lang: { S: "en" } }), ["m9"]);
  assert.ok((await found("scoped", "all", {}, { TopK: 100 })).includes("m3"));
  await client.updateItem({ TableName: "scoped", Key: key("m3"), UpdateExpression: "SET tenant = :t", ExpressionAttributeValues: { ":t": { S: "even" } } });
  assert.deepEqual(await found("scoped", "by_tenant", { tenant: { S: "even" }, lang: { S: "en" } }), ["m0", "m3", "m6"]);
});

test("projections, and the vector as the index has it", async () => {
  const include = { ProjectionType: "INCLUDE", NonKeyAttributes: ["title", "embedding"] };
  const indexes = [index("all"), index("keys", {}, { Projection: { ProjectionType: "KEYS_ONLY" } }), index("some", {}, { Projection: include })];
  await client.createTable(table("projected", indexes));
  const digits = ["16777217", "0.1000000000000000055", "1"];
  await put("projected", { ...key("x"), title: { S: "t" }, info: { M: { deep: { N: "1" } } }, ...embedding(...digits) });
  const one = async (from, ProjectionExpression) => (await search("projected", from, { ProjectionExpression })).SearchResults[0].Item;
  const floats = { embedding: { L: vector("16777216.0", "0.1", "1.0") } };
  assert.deepEqual(await one("all"), { ...key("x"), title: { S: "t" }, info: { M: { deep: { N: "1" } } } });
  assert.deepEqual(await one("all", "pk, embedding"), { ...key("x"), ...floats });
  assert.deepEqual(await one("all", "info.deep, embedding[1], nothing"), { info: { M: { deep: { N: "1" } } }, embedding: { L: vector("0.1") } });
  assert.deepEqual(await one("keys"), key("x"));
  assert.deepEqual(await one("keys", "pk, title, embedding"), key("x"), "what is not projected is ignored");
  assert.deepEqual(await one("some"), { ...key("x"), title: { S: "t" } });
  assert.deepEqual(await one("some", "embedding"), floats);
  const { Item } = await client.getItem({ TableName: "projected", Key: key("x") });
  assert.deepEqual(Item.embedding.L, vector("16777217", "0.1000000000000000055", "1"), "the table keeps the digits");
});

test("what leaves a table leaves its index", async () => {
  await client.createTable(table("leaving", [index("all")]));
  for (const pk of ["removed", "deleted", "expired", "replaced", "kept"]) await put("leaving", { ...key(pk), ...embedding(1, 0, 0) });
  await client.updateItem({ TableName: "leaving", Key: key("removed"), UpdateExpression: "REMOVE embedding" });
  await client.deleteItem({ TableName: "leaving", Key: key("deleted") });
  await put("leaving", { ...key("replaced"), note: { S: "no vector any more" } });
  assert.deepEqual((await found("leaving", "all")).sort(), ["expired", "kept"]);
  await client.updateTimeToLive({ TableName: "leaving", TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true } });
  await client.updateItem({
    TableName: "leaving", Key: key("expired"), UpdateExpression: "SET #t = :t", ExpressionAttributeNames: { "#t": "ttl" },
    ExpressionAttributeValues: { ":t": { N: String(Math.floor(Date.now() / 1000) - 60) } },
  });
  await eventually(async () => (await found("leaving", "all")).length === 1);
  assert.deepEqual(await found("leaving", "all"), ["kept"]);
  assert.equal((await describe("leaving")).VectorIndexes[0].ItemCount, 1);
});

test("batches and transactions keep the index as they keep the table", async () => {
  await client.createTable(table("together", [index("all")]));
  const puts = ["a", "b", "c"].map((pk, i) => ({ PutRequest: { Item: { ...key(pk), ...embedding(1, i, 0) } } }));
  await client.batchWriteItem({ RequestItems: { together: puts } });
  assert.deepEqual(await found("together", "all"), ["a", "b", "c"]);
  const change = (values) => client.transactWriteItems({
    TransactItems: [
      { Delete: { TableName: "together", Key: key("b") } },
      { Put: { TableName: "together", Item: { ...key("d"), ...embedding(1, 0.5, 0) } } },
      { Update: { TableName: "together", Key: key("c"), UpdateExpression: "SET embedding = :v", ExpressionAttributeValues: { ":v": embedding(...values).embedding } } },
    ],
  });
  await assert.rejects(change([1, 0]), (error) => error.name === "TransactionCanceledException" && error.CancellationReasons[2].Code === "ValidationError"
    && error.CancellationReasons[2].Message === "One or more parameter values were invalid. Invalid size for parameter embedding, Expected: 3, Actual: 2 IndexName: all");
  assert.deepEqual(await found("together", "all"), ["a", "b", "c"], "all or nothing");
  await change([1, 0.1, 0]);
  assert.deepEqual(await found("together", "all"), ["a", "c", "d"]);
  const nested = { TableName: "together", Key: key("c"), UpdateExpression: "SET embedding[0] = :n" };
  await client.updateItem({ ...nested, ExpressionAttributeValues: { ":n": { N: "-1" } } });
  assert.deepEqual(await found("together", "all"), ["a", "d", "c"]);
  await assert.rejects(client.updateItem({ ...nested, ExpressionAttributeValues: { ":n": { S: "x" } } }), /embedding\[0\], Expected: 32-bit floating point number, Actual: S\./);
});

test("what writes and searches cost", async () => {
  const wide = (name, more) => index(name, {}, { Dimensions: 300, ...more });
  await client.createTable(table("costs", [wide("all"), wide("keys", { Projection: { ProjectionType: "KEYS_ONLY" } })]));
  const values = Array.from({ length: 300 }, (_, i) => i);
  const item = { ...key("x"), note: { S: "y".repeat(200) }, ...embedding(...values) };
  const cost = async (Item, ReturnConsumedCapacity = "INDEXES") => (await put("costs", Item, { ReturnConsumedCapacity })).ConsumedCapacity;
  const bytes = ({ VectorIndexes = {} }) => Object.fromEntries(Object.entries(VectorIndexes).map(([name, { VectorWriteRequestBytes }]) => [name, VectorWriteRequestBytes]));
  const entry = 4 * 300 + "embedding".length + "pk".length + "x".length;
  const first = await cost(item);
  assert.deepEqual(bytes(first), { all: entry + "note".length + 200, keys: entry });
  assert.equal(first.CapacityUnits, first.Table.CapacityUnits, "bytes are no units");
  assert.equal(first.CapacityUnits, 2, "a vector weighs four bytes a dimension, however many digits were written");
  assert.deepEqual(bytes(await cost(item)), {}, "nothing changed");
  assert.deepEqual(bytes(await cost({ ...item, note: { S: "z".repeat(200) } })), { all: entry + "note".length + 200 }, "only where something changed");
  assert.equal((await cost({ ...item, note: { S: "w" } }, "TOTAL")).VectorIndexes, undefined);
  await client.createTable(table("small", [index("one")]));
  const small = await put("small", { ...key("x"), ...embedding(1, 2, 3) }, { ReturnConsumedCapacity: "INDEXES" });
  assert.deepEqual(bytes(small.ConsumedCapacity), { one: 1024 }, "the least there is");

  const charged = async (name, from, dimensions, more) => (await search(name, from, { SearchVector: vector(...values.slice(0, dimensions)), ...more })).ConsumedCapacity;
  for (const ReturnConsumedCapacity of ["TOTAL", "INDEXES"]) {
    assert.deepEqual(await charged("small", "one", 3, { ReturnConsumedCapacity }), { VectorSearchRequestBytes: 1024 });
    assert.deepEqual(await charged("costs", "keys", 300, { ReturnConsumedCapacity }), { VectorSearchRequestBytes: entry });
  }
  assert.equal(await charged("small", "one", 3, { ReturnConsumedCapacity: "NONE" }), undefined);
  assert.equal(await charged("small", "one", 3), undefined);
});

// What DescribeTable shows of the table and its one vector index.
const phase = async (name, on) => {
  const { TableStatus, VectorIndexes } = await describe(name, on);
  return [TableStatus, VectorIndexes?.[0].IndexStatus, VectorIndexes?.[0].Backfilling];
};

test("an index made with its table goes through the table's phases", async () => {
  const { client: slow } = await start("--transient-status-ms", "300");
  const { TableDescription } = await slow.createTable(table("made", [index("one", { tenant: "HASH" })], { tenant: "S" }));
  const [made] = TableDescription.VectorIndexes;
  assert.deepEqual([TableDescription.TableStatus, made.IndexStatus, made.Backfilling], ["CREATING", "CREATING", undefined]);
  const seen = [];
  await eventually(async () => seen.push(await phase("made", slow)) && seen.at(-1)[0] === "ACTIVE");
  for (const shown of seen) assert.ok([["CREATING", "CREATING", undefined], ["ACTIVE", "ACTIVE", undefined]].some((fit) => String(fit) === String(shown)), String(shown));
  const { IndexArn, ...described } = (await describe("made", slow)).VectorIndexes[0];
  assert.match(IndexArn, /:table\/made\/index\/one$/);
  assert.deepEqual(described, { ...index("one", { tenant: "HASH" }), IndexStatus: "ACTIVE", IndexSizeBytes: 0, ItemCount: 0 });
});

test("an index added to a table is allocated, then filled, then ready", async () => {
  const { client: slow } = await start("--transient-status-ms", "300");
  await slow.createTable(table("grown"));
  await eventually(async () => (await phase("grown", slow))[0] === "ACTIVE");
  for (const [pk, item] of Object.entries({ good: embedding(1, 0, 0), bad: { embedding: { S: "x" } }, none: {} })) {
    await slow.putItem({ TableName: "grown", Item: { ...key(pk), ...item } });
  }
  const create = { TableName: "grown", VectorIndexUpdates: [{ Create: index("one") }] };
  const { TableDescription } = await slow.updateTable(create);
  const [made] = TableDescription.VectorIndexes;
  assert.deepEqual([TableDescription.TableStatus, made.IndexStatus, made.Backfilling], ["UPDATING", "CREATING", false]);
  const order = ["UPDATING,CREATING,false", "ACTIVE,CREATING,true", "ACTIVE,ACTIVE,"];
  const seen = [];
  await eventually(async () => seen.push(String(await phase("grown", slow))) && seen.at(-1) === order[2]);
  assert.equal(seen[0], order[0]);
  const steps = seen.map((shown) => order.indexOf(shown));
  assert.deepEqual(steps, steps.toSorted(), `${seen}`);
  assert.ok(!steps.includes(-1), `${seen}`);
  // The first search that succeeds has every valid item that was there, and malformed ones are left out.
  const { SearchResults } = await search("grown", "one", {}, slow);
  assert.deepEqual(SearchResults.map(({ Item }) => Item), [key("good")]);
  assert.equal((await describe("grown", slow)).VectorIndexes[0].ItemCount, 1);
  const deleted = await slow.updateTable({ TableName: "grown", VectorIndexUpdates: [{ Delete: { IndexName: "one" } }] });
  assert.equal(deleted.TableDescription.VectorIndexes[0].IndexStatus, "DELETING");
  await eventually(async () => !(await describe("grown", slow)).VectorIndexes);
});

test("deleting an index that is being filled ends the filling", async () => {
  await client.createTable(table("cancelled"));
  const items = Array.from({ length: 4000 }, (_, i) => ({ PutRequest: { Item: { ...key(`k${i}`), ...embedding(1, i, 0), pad: { S: "p".repeat(500) } } } }));
  for (let i = 0; i < items.length; i += 25) await client.batchWriteItem({ RequestItems: { cancelled: items.slice(i, i + 25) } });
  // How long the filling takes is the machine's affair: try until a deletion has met it.
  const met = await eventually(async () => {
    await client.updateTable({ TableName: "cancelled", VectorIndexUpdates: [{ Create: index("one") }] });
    const before = await phase("cancelled");
    const searched = await search("cancelled", "one").catch(({ message }) => message);
    await client.updateTable({ TableName: "cancelled", VectorIndexUpdates: [{ Delete: { IndexName: "one" } }] });
    assert.equal((await describe("cancelled")).VectorIndexes, undefined);
    return searched === "Cannot search backfilling vector index: one" && before;
  });
  assert.deepEqual(met, ["ACTIVE", "CREATING", true]);
  await assert.rejects(search("cancelled", "one"), { name: "ValidationException", message: "The table does not have the specified index: one" });
  await client.updateTable({ TableName: "cancelled", VectorIndexUpdates: [{ Create: index("one") }] });
  await eventually(async () => (await phase("cancelled"))[1] === "ACTIVE");
  assert.deepEqual(await found("cancelled", "one", {}, { TopK: 3 }), ["k0", "k1", "k2"], "the next index is whole");
  assert.equal((await describe("cancelled")).VectorIndexes[0].ItemCount, 4000);
});
