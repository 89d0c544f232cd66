// An agent that keeps its sessions and their events in a directory, without a server:
//
//   embed DIRECTORY
//
// Every run opens a session, records what happens in it, and shows all sessions that are open, those of
// earlier runs included. An event is appended together with the session's event count, in one transaction, so
// that two writers can never both record event number 3.
#include <holdfast/database.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace {

using holdfast::Database;
using holdfast::Error;
using holdfast::ErrorCode;
using holdfast::Item;
using holdfast::KeyType;
using holdfast::Result;
using holdfast::ScalarAttributeType;
using holdfast::Status;

// Creates a table unless an earlier run did.
Status EnsureTable(Database& db, const holdfast::CreateTableRequest& request) {
  auto created = db.CreateTable(request);
  if (created || created.error().code() == ErrorCode::kResourceInUse) return holdfast::OkStatus();
  return created.error();
}

Status EnsureTables(Database& db) {
  HF_CHECK_OK(EnsureTable(db, {.table_name = "Sessions",
                               .key_schema = {{"Id", KeyType::kHash}},
                               .attribute_definitions = {{"Id", ScalarAttributeType::kString},
                                                         {"State", ScalarAttributeType::kString},
                                                         {"Number", ScalarAttributeType::kNumber}},
                               .billing_mode = holdfast::BillingMode::kPayPerRequest,
                               .global_secondary_indexes = {
                                   {{.index_name = "ByState",
                                     .key_schema = {{"State", KeyType::kHash}, {"Number", KeyType::kRange}},
                                     .projection = {holdfast::ProjectionType::kAll}}}}}));
  return EnsureTable(db, {.table_name = "Events",
                          .key_schema = {{"Session", KeyType::kHash}, {"Sequence", KeyType::kRange}},
                          .attribute_definitions = {{"Session", ScalarAttributeType::kString},
                                                    {"Sequence", ScalarAttributeType::kNumber}},
                          .billing_mode = holdfast::BillingMode::kPayPerRequest});
}

// Opens the session with the next free number and returns its id. The counter has no State, so the index of
// sessions does not hold it.
Result<std::string> OpenSession(Database& db) {
  HF_TRY(auto counted, db.UpdateItem({.table_name = "Sessions",
                                      .key = {{"Id", "counter"}},
                                      .update_expression = "ADD Opened :one",
                                      .expression_attribute_values = {{{":one", 1}}},
                                      .return_values = holdfast::ReturnValue::kUpdatedNew}));
  int64_t number = *counted.attributes->Get("Opened")->AsInt64();
  std::string id = "session-" + std::to_string(number);
  HF_CHECK_OK(db.PutItem({.table_name = "Sessions",
                          .item = {{"Id", id}, {"State", "open"}, {"Number", number}, {"Events", 0}},
                          .condition_expression = "attribute_not_exists(Id)"}));
  return id;
}

// Records event number `sequence` of a session that has one event less. All or nothing.
Status Append(Database& db, const std::string& session, int64_t sequence, const Item& what) {
  Item event = what;
  event.Set("Session", session);
  event.Set("Sequence", sequence);
  HF_CHECK_OK(db.TransactWriteItems(
      {.transact_items = {
           {.put = {{.table_name = "Events", .item = event}}},
           {.update = {{.table_name = "Sessions",
                        .key = {{"Id", session}},
                        .update_expression = "SET Events = :now",
                        .condition_expression = "Events = :before AND #s = :open",
                        .expression_attribute_names = {{{"#s", "State"}}},
                        .expression_attribute_values = {
                            {{":now", sequence}, {":before", sequence - 1}, {":open", "open"}}}}}}}}));
  return holdfast::OkStatus();
}

// Calls use(item) for every item of a query, page by page.
template <class Use>
Status ForEach(Database& db, holdfast::QueryRequest request, Use use) {
  do {
    HF_TRY(auto page, db.Query(request));
    for (const Item& item : *page.items) use(item);
    request.exclusive_start_key = page.last_evaluated_key;
  } while (request.exclusive_start_key);
  return holdfast::OkStatus();
}

std::string Text(const Item& item, std::string_view name) {
  auto value = item.Get(name);
  return value ? value->AsText() : std::string();
}

Status Work(Database& db) {
  HF_CHECK_OK(EnsureTables(db));
  HF_TRY(std::string session, OpenSession(db));
  HF_CHECK_OK(Append(db, session, 1, {{"Kind", "user"}, {"Text", "Find a quiet hotel in Lisbon"}}));
  HF_CHECK_OK(Append(db, session, 2, {{"Kind", "tool"}, {"Text", "hotels.search"}, {"Seconds", 0.25}}));
  HF_CHECK_OK(Append(db, session, 3, {{"Kind", "agent"}, {"Text", "Casa do Jardim has a room"}}));

  // Another worker that believes the session has two events must not overwrite the third.
  Status late = Append(db, session, 3, {{"Kind", "agent"}, {"Text", "There is no room"}});
  if (late || late.error().code() != ErrorCode::kTransactionCanceled) {
    return Error(ErrorCode::kInternal, "a late writer was not turned away");
  }
  for (const holdfast::CancellationReason& reason : late.error().detail()->reasons) {
    if (reason.code != "None") std::cout << "late writer turned away: " << reason.code << "\n";
  }

  std::cout << "events of " << session << ":\n";
  HF_CHECK_OK(ForEach(db,
                      {.table_name = "Events",
                       .key_condition_expression = "#s = :session",
                       .expression_attribute_names = {{{"#s", "Session"}}},
                       .expression_attribute_values = {{{":session", session}}}},
                      [](const Item& event) {
                        std::cout << "  " << Text(event, "Sequence") << " " << Text(event, "Kind") << ": "
                                  << Text(event, "Text") << "\n";
                      }));
  std::cout << "open sessions, newest first:\n";
  return ForEach(db,
                 {.table_name = "Sessions",
                  .index_name = "ByState",
                  .key_condition_expression = "#s = :open",
                  .expression_attribute_names = {{{"#s", "State"}}},
                  .expression_attribute_values = {{{":open", "open"}}},
                  .scan_index_forward = false},
                 [](const Item& open) {
                   std::cout << "  " << Text(open, "Id") << " with " << Text(open, "Events") << " events\n";
                 });
}

int Fail(const Error& error) {
  std::cerr << "embed: " << error.ToString() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: embed DIRECTORY\n";
    return 2;
  }
  auto db = Database::Open({.directory = argv[1]});
  if (!db) return Fail(db.error());
  if (Status worked = Work(**db); !worked) return Fail(worked.error());
  return 0;
}
