// The generated structs and an embedded database: what is stored comes back through a struct without loss
// (MOD-05).
#include <holdfast/database.h>

#include <cstdio>
#include <cstdlib>

#include "pm.h"
#include "pos.h"
#include "trip.h"

namespace {

using holdfast::AttributeMap;
using holdfast::AttributeValue;
using holdfast::Item;

void Check(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "line %d: %s\n", line, what);
  std::exit(1);
}
#define CHECK(condition) Check(static_cast<bool>(condition), #condition, __LINE__)

// Puts the item into a table, reads it as a T, and compares what the T writes with what was put.
template <class T>
T RoundTrip(holdfast::Database& db, const Item& item) {
  CHECK(db.PutItem({.table_name = "Things", .item = item}));
  auto got = db.GetItem({.table_name = "Things", .key = {{"PK", *item.Get("PK")}, {"SK", *item.Get("SK")}}});
  CHECK(got && got->item);
  auto read = T::FromItem(*got->item);
  CHECK(read);
  CHECK(read->ToItem() == *got->item);
  return *read;
}

Item Artefact() {
  AttributeMap option{
      {"option", "wait"}, {"pros", AttributeValue::List({"cheap"})}, {"cons", AttributeValue::List({})}};
  return {{"PK", "PROJECT#p"},
          {"SK", "ARTEFACT#decision_log"},
          {"id", "a"},
          {"projectId", "p"},
          {"type", "decision_log"},
          {"content", AttributeValue::Map(
                          {{"decisions", AttributeValue::List({})}, {"more", AttributeValue::Map(option)}})},
          {"version", AttributeValue::Number("12345678901234567890123456789012345678")},
          {"createdAt", "2026-02-04T10:30:00.000Z"},
          {"updatedAt", "2026-02-04T10:30:00.000Z"},
          {"unknown", AttributeValue::NumberSet({"1", "2.5"})}};
}

}  // namespace

int main() {
  auto opened = holdfast::Database::Open({});
  CHECK(opened);
  holdfast::Database& db = **opened;
  CHECK(db.CreateTable({.table_name = "Things",
                        .key_schema = {{"PK", holdfast::KeyType::kHash}, {"SK", holdfast::KeyType::kRange}},
                        .attribute_definitions = {{"PK"}, {"SK"}},
                        .billing_mode = holdfast::BillingMode::kPayPerRequest}));

  // All 38 digits, and what the model does not name.
  auto artefact = RoundTrip<pm::Artefact>(db, Artefact());
  CHECK(artefact.version.AsText() == "12345678901234567890123456789012345678");
  CHECK(artefact.rest.contains("unknown") && artefact.rest.contains("PK"));

  // Records within lists, one of them with a field that is no longer known.
  Item escalation{{"PK", "PROJECT#p"},   {"SK", "ESCALATION#e"},
                  {"id", "e"},           {"projectId", "p"},
                  {"title", "t"},        {"context", AttributeValue::Map({})},
                  {"status", "pending"}, {"createdAt", "2026-02-04T10:30:00Z"},
                  {"userNotes", nullptr}};
  escalation.Set("options",
                 AttributeValue::List({AttributeValue::Map({{"option", "wait"},
                                                            {"pros", AttributeValue::List({"cheap"})},
                                                            {"cons", AttributeValue::List({})},
                                                            {"weight", 3}})}));
  auto read = RoundTrip<pm::Escalation>(db, escalation);
  CHECK(read.options.size() == 1 && read.options[0].pros[0] == "cheap");
  CHECK(read.options[0].rest.contains("weight"));
  CHECK(!read.userNotes && read.rest.contains("userNotes"));  // NULL stays what it is

  // What lives in the key alone.
  Item reference{{"PK", "GLOBAL"},       {"SK", "EVENT#2026-02-04T10:30:00.000Z#01J"},
                 {"eventType", "error"}, {"severity", "error"},
                 {"summary", "s"},       {"createdAt", "2026-02-04T10:30:00.000Z"},
                 {"TTL", 1772793000}};
  CHECK(RoundTrip<pm::GlobalEventRef>(db, reference).eventId == "01J");

  Item lock{{"PK", "x"},
            {"SK", "lock"},
            {"employeeId", "ACTIVE#e-7"},
            {"activeBookingId", "b"},
            {"createdAt", "2026-02-04T10:30:00.000Z"}};
  CHECK(RoundTrip<trip::ActiveBookingLock>(db, lock).employeeId == "e-7");

  // A struct that was filled by hand, and the refusal of an item that is none.
  trip::Connection connection;
  connection.connectionId = "c";
  connection.ttl = 5;
  CHECK(trip::Connection::FromItem(connection.ToItem())->ttl.AsInt64() == 5);
  auto refused = pos::Task::FromItem({{"pk", "USER#u"}});
  CHECK(!refused && refused.error().code() == holdfast::ErrorCode::kValidation);
  return 0;
}
