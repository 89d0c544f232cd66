// A booking system on dynamodb-onetable: guests with unique e-mail addresses, rooms, nights that can be sold once, and
// holds that expire. OneTable makes the table, the unique constraints and the pages in its own way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Table } from "dynamodb-onetable";
import { Dynamo } from "dynamodb-onetable/Dynamo";
import { eventually, start } from "./server.js";

const { client } = await start("--ttl-sweep-ms", "50");
const text = { type: String, required: true };
const key = (value) => ({ type: String, value });
const schema = {
  format: "onetable:1.1.0",
  version: "0.1.0",
  indexes: {
    primary: { hash: "pk", sort: "sk" },
    gs1: { hash: "gs1pk", sort: "gs1sk", follow: false, project: "all" },
    gs2: { hash: "gs2pk", sort: "gs2sk", follow: true, project: "keys" },
    ls1: { type: "local", sort: "ls1sk", project: "all" },
  },
  models: {
    Hotel: { pk: key("hotel#${hotel}"), sk: key("hotel#"), hotel: text, name: text, rooms: { type: Number, default: 0 } },
    Room: {
      pk: key("hotel#${hotel}"), sk: key("room#${number}"), ls1sk: key("price#${price}"),
      hotel: text, number: text, price: text, beds: { type: Number, default: 2 }, features: { type: Set },
      cleaning: { type: Object, schema: { by: { type: String }, done: { type: Boolean } } }, notes: { type: Array },
    },
    Guest: {
      pk: key("guest#${id}"), sk: key("guest#"), gs2pk: key("guest"), gs2sk: key("name#${name}"),
      id: { type: String, generate: "ulid" }, name: text, email: { ...text, unique: true, validate: /@/ }, stays: { type: Number, default: 0 },
      passport: { type: String, unique: true }, status: { type: String, enum: ["active", "banned"], default: "active" },
    },
    Booking: {
      pk: key("hotel#${hotel}"), sk: key("booking#${id}"), gs1pk: key("guest#${guest}"), gs1sk: key("from#${from}"),
      id: { type: String, generate: "ulid" }, hotel: text, guest: text, room: text, from: text, nights: { type: Number },
      status: { type: String, default: "confirmed" }, paid: { type: Number, default: 0 },
    },
    Night: { pk: key("room#${hotel}#${room}"), sk: key("night#${date}"), hotel: text, room: text, date: text, booking: text },
    Hold: { pk: key("hold#${hotel}#${room}"), sk: key("hold#"), hotel: text, room: text, expires: { type: Date, ttl: true } },
  },
  params: { isoDates: true, timestamps: true },
};
const table = new Table({ client: new Dynamo({ client }), name: "bookings", schema, partial: true, logger: () => {} });
const [Hotel, Room, Guest, Booking, Night, Hold] = ["Hotel", "Room", "Guest", "Booking", "Night", "Hold"].map((name) => table.getModel(name));
await table.createTable({ TimeToLiveSpecification: { Enabled: true, AttributeName: "expires" } });

const raw = async () => (await client.scan({ TableName: "bookings" })).Items;
const pick = (list, name) => list.map((item) => item[name]);
const days = (from, count) => Array.from({ length: count }, (_, i) => new Date(Date.parse(from) + i * 86400000).toISOString().slice(0, 10));

// A stay is one transaction: the booking, a Night for each date that must be free, and the guest's count.
const book = async (hotel, guest, room, from, nights) => {
  const transaction = {};
  const booking = await Booking.create({ hotel, guest, room, from, nights }, { transaction });
  for (const date of days(from, nights)) await Night.create({ hotel, room, date, booking: booking.id }, { transaction });
  await Guest.update({ id: guest }, { add: { stays: 1 }, where: "${status} = {active}", transaction });
  await table.transact("write", transaction);
  return booking;
};
const refusal = async (promise) => {
  const error = await promise.then(() => assert.fail("was accepted"), (caught) => caught);
  return error.code === "TransactionCanceledException" ? pick(error.context.err.CancellationReasons, "Code") : error.code;
};

test("the table that OneTable makes has its indexes and its time to live", async () => {
  assert.equal(await table.exists(), true);
  const { Table: described } = await table.describeTable();
  assert.deepEqual(pick(described.GlobalSecondaryIndexes, "IndexName").sort(), ["gs1", "gs2"]);
  assert.deepEqual(pick(described.LocalSecondaryIndexes, "IndexName"), ["ls1"]);
  const { TimeToLiveDescription } = await client.describeTimeToLive({ TableName: "bookings" });
  assert.equal(TimeToLiveDescription.AttributeName, "expires");
});

test("an e-mail address belongs to one guest, through changes and removal", async () => {
  const ann = await Guest.create({ name: "Ann", email: "ann@example.com" });
  assert.equal(await refusal(Guest.create({ name: "Imposter", email: "ann@example.com" })), "UniqueError");
  const bea = await Guest.create({ name: "Bea", email: "bea@example.com", passport: "P1" });
  assert.equal(await refusal(Guest.update({ id: bea.id, email: "ann@example.com" }, { return: "none" })), "UniqueError");
  await Guest.update({ id: ann.id, email: "ann@elsewhere.example" }, { return: "none" });
  await Guest.update({ id: bea.id, email: "ann@example.com" }, { return: "none" });
  assert.equal((await Guest.get({ id: bea.id })).email, "ann@example.com");
  await Guest.remove({ id: bea.id });
  await Guest.create({ name: "Cleo", email: "ann@example.com", passport: "P1" });
  const claims = pick((await raw()).filter((item) => item.pk.S.startsWith("_unique#")), "pk").map(({ S }) => S);
  assert.deepEqual(claims.sort(), [
    "_unique#Guest#email#ann@elsewhere.example", "_unique#Guest#email#ann@example.com", "_unique#Guest#passport#P1",
  ]);
});

test("a night is sold once, however many ask", async () => {
  const guest = await Guest.create({ name: "Dora", email: "dora@example.com" });
  await book("pier", guest.id, "7", "2026-07-01", 3);
  assert.deepEqual(await refusal(book("pier", guest.id, "7", "2026-07-03", 2)), ["None", "ConditionalCheckFailed", "None", "None"]);
  const asked = await Promise.allSettled(Array.from({ length: 10 }, () => book("pier", guest.id, "7", "2026-07-10", 2)));
  assert.equal(asked.filter(({ status }) => status === "fulfilled").length, 1);
  assert.deepEqual(pick(await Night.find({ hotel: "pier", room: "7" }), "date"), ["2026-07-01", "2026-07-02", "2026-07-03", "2026-07-10", "2026-07-11"]);
  assert.equal((await Guest.get({ id: guest.id })).stays, 2);
  await Guest.update({ id: guest.id, status: "banned" });
  assert.deepEqual(await refusal(book("pier", guest.id, "8", "2026-08-01", 1)), ["None", "None", "ConditionalCheckFailed"]);
  assert.equal((await Booking.find({ hotel: "pier" })).length, 2);
});

test("a guest's bookings are found by the index, in order and in pages both ways", async () => {
  const guest = await Guest.create({ name: "Emil", email: "emil@example.com" });
  const months = ["01", "02", "03", "04", "05", "06", "07"].map((month) => `2027-${month}-01`);
  for (const from of [...months].reverse()) await book("cove", guest.id, "1", from, 1);
  const query = (where, more) => Booking.find({ guest: guest.id, ...where }, { index: "gs1", ...more });
  assert.deepEqual(pick(await query(), "from"), months);
  assert.deepEqual(pick(await query({ gs1sk: { between: [`from#${months[1]}`, `from#${months[3]}`] } }), "from"), months.slice(1, 4));
  assert.deepEqual(pick(await query({ gs1sk: { ">=": `from#${months[5]}` } }, { reverse: true }), "from"), [months[6], months[5]]);
  const first = await query({}, { limit: 3 });
  const second = await query({}, { limit: 3, next: first.next });
  const third = await query({}, { limit: 3, next: second.next });
  assert.deepEqual([first, second, third].map((page) => pick(page, "from")), [months.slice(0, 3), months.slice(3, 6), months.slice(6)]);
  assert.equal(third.next, undefined);
  assert.deepEqual(pick(await query({}, { limit: 3, prev: second.prev }), "from"), months.slice(0, 3));
  assert.equal((await query({}, { count: true })).count, 7);
  const paid = await query({}, { where: "${paid} > {0} or ${from} = {" + months[2] + "}" });
  assert.deepEqual(pick(paid, "from"), [months[2]]);
});

test("an index that holds only keys is followed to the items", async () => {
  await Guest.create({ name: "Zed", email: "zed@example.com" });
  const guests = await Guest.find({ gs2pk: "guest", gs2sk: { begins: "name#Z" } }, { index: "gs2", follow: true });
  assert.deepEqual(pick(guests, "email"), ["zed@example.com"]);
});

test("a hotel and all that is in it come in one query, by kind and by price", async () => {
  await Hotel.create({ hotel: "mill", name: "The Mill" });
  const transaction = {};
  const prices = { 1: "0300", 2: "0100", 3: "0200" };
  for (const number in prices) await Room.create({ hotel: "mill", number, price: prices[number] }, { transaction });
  await Hotel.update({ hotel: "mill" }, { add: { rooms: 3 }, transaction });
  await table.transact("write", transaction);
  const guest = await Guest.create({ name: "Fay", email: "fay@example.com" });
  await book("mill", guest.id, "2", "2026-09-09", 1);
  const inside = await table.fetch(["Hotel", "Room", "Booking"], { pk: "hotel#mill" });
  assert.deepEqual([inside.Hotel[0].rooms, pick(inside.Room, "number"), inside.Booking[0].room], [3, ["1", "2", "3"], "2"]);
  assert.deepEqual(pick(await Room.find({ hotel: "mill" }, { index: "ls1" }), "number"), ["2", "3", "1"]);
});

test("a room is changed attribute by attribute", async () => {
  const room = { hotel: "barn", number: "12" };
  assert.equal(await refusal(Room.update({ ...room, beds: 3 })), "ConditionalCheckFailedException");
  await Room.create({ ...room, price: "0090", features: new Set(["bath"]), cleaning: { by: "Gus", done: false }, notes: ["north"] });
  assert.equal(await refusal(Room.create({ ...room, price: "0001" })), "ConditionalCheckFailedException");
  const changed = await Room.update(room, {
    add: { beds: 1, features: new Set(["view"]) }, set: { "cleaning.done": true, "notes[1]": "quiet" }, where: "${cleaning.by} = {Gus}",
  });
  assert.deepEqual(
    [changed.beds, [...changed.features].sort(), changed.cleaning, changed.notes],
    [3, ["bath", "view"], { by: "Gus", done: true }, ["north", "quiet"]],
  );
  assert.ok(changed.updated instanceof Date && changed.updated >= changed.created);
  const trimmed = await Room.update(room, { delete: { features: new Set(["bath"]) }, remove: ["cleaning.by"], push: { notes: ["late"] } });
  assert.deepEqual([[...trimmed.features], trimmed.cleaning, trimmed.notes], [["view"], { done: true }, ["north", "quiet", "late"]]);
  assert.equal(await refusal(Room.update({ ...room, beds: 9 }, { where: "${beds} = {1}" })), "ConditionalCheckFailedException");
  const upserted = await Room.upsert({ hotel: "barn", number: "13", price: "0100" });
  assert.equal(upserted.price, "0100");
  assert.equal((await Room.remove(room)).number, "12");
  assert.equal(await Room.get(room), undefined);
});

test("batches load and fetch, and a scan meets them all", async () => {
  const numbers = Array.from({ length: 25 }, (_, i) => String(i).padStart(2, "0"));
  let batch = {};
  for (const number of numbers) await Room.create({ hotel: "loft", number, price: "0050", beds: Number(number) }, { batch, exists: null });
  await table.batchWrite(batch);
  batch = {};
  for (const number of ["03", "04", "99"]) await Room.get({ hotel: "loft", number }, { batch });
  const got = await table.batchGet(batch, { parse: true, consistent: true });
  assert.deepEqual(pick(got, "number").sort(), ["03", "04"]);
  const transaction = {};
  for (const number of ["05", "06"]) await Room.get({ hotel: "loft", number }, { transaction });
  assert.deepEqual(pick(await table.transact("get", transaction, { parse: true }), "number"), ["05", "06"]);
  const segments = await Promise.all([0, 1, 2].map((segment) => Room.scan({ hotel: "loft" }, { segments: 3, segment })));
  assert.deepEqual(pick(segments.flat(), "number").sort(), numbers);
  await Room.remove({ hotel: "loft" }, { many: true, where: "${beds} > {9}" });
  assert.equal((await Room.find({ hotel: "loft" }, { count: true })).count, 10);
});

test("a hold gives the room back when its time is over", async () => {
  await Hold.create({ hotel: "quay", room: "1", expires: new Date(Date.now() - 5000) });
  await Hold.create({ hotel: "quay", room: "2", expires: new Date(Date.now() + 3600000) });
  await eventually(async () => !(await Hold.get({ hotel: "quay", room: "1" })));
  const left = await Hold.get({ hotel: "quay", room: "2" });
  assert.ok(left.expires > new Date());
});
