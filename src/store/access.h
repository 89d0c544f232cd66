// Which actions on which resources a request comes to, checked against a principal's policies.
//
//   HF_CHECK_OK(CheckAccess({.principal = principal, .keys = KeysOf(engine)}, put_request));
//
// access.cc has the table: every operation of ops/operations.inc needs its line there, or does not compile.
// BatchGetItem and BatchWriteItem are checked for each table, transactions for each action under the name of
// the single operation, Query and Scan of an index against the index. Nothing is looked up but the names of
// keys, and nothing that is found there shows: a table that nobody knows has every key.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/policy.h"
#include "engine/engine.h"
#include "holdfast/result.h"
#include "ops/operations.h"

namespace holdfast::store {

// The attributes of the key of a table, or of an index of it (empty: of the table itself). None: there is no
// such thing.
struct KeyNames {
  std::vector<std::string> partition;
  std::vector<std::string> sort = {};
};
using TableKeys = std::function<KeyNames(const std::string& table, std::string_view index)>;

// As the engine's catalog has them. The engine must outlive it.
TableKeys KeysOf(engine::Engine* engine);

struct AccessContext {
  const auth::Principal& principal;
  const TableKeys& keys;
  // Of the program's own bookkeeping: no caller names it, and none is checked. Empty: there is none.
  std::string_view own_table = {};
};

// kAccessDenied in IAM's words, or Ok.
#define HF_OPERATION(name, ...) \
  Status CheckAccess(const AccessContext& context, const name##Request& request);
#include "ops/operations.inc"
#undef HF_OPERATION

// Whether a check of a model's own, beside what the caller asks for, may be made on the caller's behalf: how
// it ends would tell of an item.
bool MayCheck(const AccessContext& context, const TransactConditionCheck& check);

// To hear of the changes of a table: GetRecords of its streams.
Status CheckFeed(const auth::Principal& principal, std::string_view table);
// To push something into connections, which are fed with changes: PutItem on all feeds.
Status CheckPush(const auth::Principal& principal);
// To have the program read, or write as well, what a table holds: GetItem and Query, and PutItem, UpdateItem
// and DeleteItem.
enum class Use : uint8_t { kRead, kWrite };
Status CheckUse(const auth::Principal& principal, std::string_view table, Use use);

}  // namespace holdfast::store
