#include <openssl/sha.h>

#include <set>

#include "base/limits.h"
#include "engine/ttl/expiry.h"
#include "ops/cancellation.h"
#include "ops/capacity.h"
#include "ops/mutations.h"
#include "ops/operations.h"
#include "ops/single_write.h"
#include "ops/throughput.h"

namespace holdfast::ops {
namespace {

using engine::Change;
using engine::WriteOutcome;

// One action, whichever of the four it is, ready to run. Refers to the request.
struct WritePlan {
  const std::string* table_name = nullptr;
  const Item* key = nullptr;   // of all but Put
  const Item* item = nullptr;  // of Put
  std::optional<ReturnValuesOnConditionCheckFailure> on_failure;
  std::optional<expression::Condition> condition;
  std::optional<expression::Update> update;
  TableRef ref;
  std::string item_key;
  std::unique_ptr<engine::ItemMutation> mutation;
};

template <class Action>
Result<WritePlan> PlanAction(const Action& action) {
  constexpr bool kIsPut = std::is_same_v<Action, TransactPut>;
  constexpr bool kIsUpdate = std::is_same_v<Action, TransactUpdate>;
  WritePlan plan;
  plan.table_name = &action.table_name;
  plan.on_failure = action.return_values_on_condition_check_failure;
  std::optional<std::string> condition_text = action.condition_expression;
  expression::Scope scope = ScopeOf(action);
  bool any = condition_text.has_value() || kIsUpdate;
  HF_CHECK_OK(scope.CheckUsable(any, any, "ConditionExpression is null"));
  HF_CHECK_OK(scope.CheckMaps());
  if constexpr (kIsPut) {
    plan.item = &action.item;
  } else {
    plan.key = &action.key;
  }
  if (const Error* defect = (kIsPut ? plan.item : plan.key)->defect()) return *defect;
  if constexpr (kIsUpdate) {
    HF_TRY(expression::Update update, expression::Update::Parse(action.update_expression, &scope));
    plan.update = std::move(update);
  }
  if constexpr (std::is_same_v<Action, TransactConditionCheck>) {
    HF_TRY(expression::Condition condition,
           expression::Condition::Parse("ConditionExpression", action.condition_expression, &scope));
    plan.condition = std::move(condition);
  } else if (action.condition_expression) {
    HF_TRY(expression::Condition condition,
           expression::Condition::Parse("ConditionExpression", *action.condition_expression, &scope));
    plan.condition = std::move(condition);
  }
  HF_CHECK_OK(scope.CheckAllUsed());
  if constexpr (kIsPut) {
    if (action.item.SizeBytes() > limits::kItemSizeBytesMax) return value::ItemTooLarge();
  }
  return plan;
}

Result<WritePlan> PlanItem(const TransactWriteItem& item) {
  int actions = item.condition_check.has_value() + item.put.has_value() + item.delete_action.has_value() +
                item.update.has_value();
  if (actions != 1) {
    return ValidationError("TransactItems can only contain one of Check, Put, Update or Delete");
  }
  if (item.condition_check) return PlanAction(*item.condition_check);
  if (item.put) return PlanAction(*item.put);
  if (item.delete_action) return PlanAction(*item.delete_action);
  return PlanAction(*item.update);
}

size_t PayloadSize(const TransactWriteItem& item) {
  size_t size = 0;
  auto add = [&](const std::optional<ExpressionValues>& values) { size += values ? values->SizeBytes() : 0; };
  if (item.put) size += item.put->item.SizeBytes(), add(item.put->expression_attribute_values);
  if (item.update) size += item.update->key.SizeBytes(), add(item.update->expression_attribute_values);
  if (item.delete_action) {
    size += item.delete_action->key.SizeBytes(), add(item.delete_action->expression_attribute_values);
  }
  if (item.condition_check) {
    size += item.condition_check->key.SizeBytes(), add(item.condition_check->expression_attribute_values);
  }
  return size;
}

// Everything that is wrong whatever the tables hold.
Result<std::vector<WritePlan>> Validate(const TransactWriteItemsRequest& request) {
  std::vector<WritePlan> plans;
  plans.reserve(request.transact_items.size());
  size_t payload = 0;
  for (const TransactWriteItem& item : request.transact_items) {
    HF_TRY(WritePlan plan, PlanItem(item));
    plans.push_back(std::move(plan));
    payload += PayloadSize(item);
  }
  if (payload > limits::kTransactionBytesMax) {
    return ValidationError("Transaction payload size cannot exceed 4MB. Payload Size: " +
                           std::to_string(payload));
  }
  return plans;
}

// Whatever does not fit the tables: a missing table or an empty key ends the request, the rest cancels it.
Status OpenTables(Context& context, std::vector<WritePlan>* plans) {
  for (WritePlan& plan : *plans) {
    HF_TRY(plan.ref, OpenForItems(context, *plan.table_name));
  }
  std::optional<Error> canceled;
  std::set<std::string_view> distinct;
  for (size_t i = 0; i < plans->size(); ++i) {
    WritePlan& plan = (*plans)[i];
    const engine::TableSchema& schema = *plan.ref.schema;
    bool empty_value = false;
    auto fit = [&]() -> Status {
      if (plan.item != nullptr) {
        HF_TRY(plan.item_key, KeyFromItem(schema, *plan.item, &empty_value));
        HF_CHECK_OK(CheckIndexKeys(schema, value::MapView(*plan.item), IndexKeyCheck::kPut, &empty_value));
      } else {
        HF_TRY(plan.item_key, KeyFromParameter(schema, *plan.key, &empty_value));
      }
      if (plan.update) HF_CHECK_OK(CheckUpdatePaths(schema, *plan.update));
      return CheckConditionPaths(schema, PointerTo(plan.condition));
    };
    if (Status fits = fit(); !fits) {
      if (empty_value) return fits.error();
      if (!canceled) canceled = CanceledBy(fits.error(), i, plans->size());
      continue;
    }
    if (!distinct.insert(plan.item_key).second) {
      return ValidationError("Transaction request cannot include multiple operations on one item");
    }
  }
  if (canceled) return *canceled;
  return Ok{};
}

void MakeMutation(WritePlan* plan, base::WorkMeter* work) {
  const expression::Condition* condition = PointerTo(plan->condition);
  if (plan->item != nullptr) {
    plan->mutation = std::make_unique<PutMutation>(plan->item, condition, work);
  } else if (plan->update) {
    plan->mutation =
        std::make_unique<UpdateMutation>(plan->ref.schema.get(), plan->key, &*plan->update, condition,
                                         UpdateMutation::SizeRule::kTransaction, work);
  } else {
    plan->mutation = std::make_unique<DeleteMutation>(condition, work);
  }
}

// Also counts what stopped it, for the tables that did.
Error WhyCanceled(Context& context, const std::vector<WritePlan>& plans,
                  engine::ItemWriter::Written written) {
  std::vector<CancellationReason> reasons(plans.size());
  if (written.conflict != engine::KeyLocks::kAll) {
    size_t blamed = std::min(written.conflict, plans.size() - 1);
    reasons[blamed] = {"TransactionConflict", "Transaction is ongoing for the item", {}};
    plans[blamed].ref.table->requests.conflicts.fetch_add(1, std::memory_order_relaxed);
    return TransactionCanceled(std::move(reasons));
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    WriteOutcome& outcome = written.outcomes[i];
    if (outcome.error) return CanceledBy(*outcome.error, i, plans.size());
    if (outcome.throttled) reasons[i] = ReasonOf(Throttle(context, plans[i].ref, outcome));
    if (outcome.kind != Change::Kind::kConditionFailed) continue;
    plans[i].ref.table->requests.failed_conditions.fetch_add(1, std::memory_order_relaxed);
    // As of a single write, and twice as everything in a transaction.
    TableUsage(plans[i].ref.table.get(), outcome.schema, TableUsage::Kind::kWrite)
        .AddTable(2 * WriteUnits(outcome.old_billed, 0));
    reasons[i] = {"ConditionalCheckFailed", "The conditional request failed", {}};
    if (plans[i].on_failure == ReturnValuesOnConditionCheckFailure::kAllOld)
      reasons[i].item = std::move(outcome.old);
  }
  return TransactionCanceled(std::move(reasons));
}

// --- idempotency ---

// A token's record: SHA-256 of the request, then for each action the size that a repetition is charged for.
// Stored on disk after the second at which it expires; see docs/format.md.
struct TokenRecord {
  std::string fingerprint;
  std::vector<size_t> sizes;
};

std::string Encode(const TokenRecord& record) {
  std::string bytes = record.fingerprint;
  for (size_t size : record.sizes) base::AppendVarint(&bytes, size);
  return bytes;
}

Result<TokenRecord> DecodeToken(ByteView bytes) {
  TokenRecord record;
  if (bytes.size() < SHA256_DIGEST_LENGTH)
    return Error(ErrorCode::kCorruption, "a token's record is damaged");
  record.fingerprint = bytes.substr(0, SHA256_DIGEST_LENGTH);
  bytes.remove_prefix(SHA256_DIGEST_LENGTH);
  uint64_t size = 0;
  while (base::ReadVarint(&bytes, &size)) record.sizes.push_back(static_cast<size_t>(size));
  return record;
}

// Two requests with one token are the same when every parameter of every action is.
std::string Fingerprint(const TransactWriteItemsRequest& request) {
  std::string text;
  auto add = [&](std::string_view part) {
    base::AppendVarint(&text, part.size());
    text.append(part);
  };
  auto add_optional = [&](const std::optional<std::string>& part) { add(part ? "1" + *part : "0"); };
  auto add_scope = [&](const auto& action) {
    add(action.table_name);
    for (const auto& [placeholder, name] : action.expression_attribute_names.value_or(ExpressionNames())) {
      add(placeholder);
      add(name);
    }
    add("values");
    add(action.expression_attribute_values ? action.expression_attribute_values->flat() : "");
  };
  for (const TransactWriteItem& item : request.transact_items) {
    if (item.condition_check) {
      add("check");
      add_scope(*item.condition_check);
      add(item.condition_check->key.flat());
      add(item.condition_check->condition_expression);
    }
    if (item.put) {
      add("put");
      add_scope(*item.put);
      add(item.put->item.flat());
      add_optional(item.put->condition_expression);
    }
    if (item.delete_action) {
      add("delete");
      add_scope(*item.delete_action);
      add(item.delete_action->key.flat());
      add_optional(item.delete_action->condition_expression);
    }
    if (item.update) {
      add("update");
      add_scope(*item.update);
      add(item.update->key.flat());
      add(item.update->update_expression);
      add_optional(item.update->condition_expression);
    }
  }
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof digest);
}

// A token's lock name; no storage key of an item starts like it.
std::string TokenLock(const std::string& token) {
  return "token/" + token;
}

std::optional<std::vector<ConsumedCapacity>> ReportAll(const std::map<std::string, TableUsage>& usage,
                                                       std::optional<ReturnConsumedCapacity> asked) {
  std::optional<std::vector<ConsumedCapacity>> reports;
  for (const auto& [name, table] : usage) {
    if (auto report = table.Report(asked, TableUsage::Split::kTransaction)) {
      if (!reports) reports.emplace();
      reports->push_back(*std::move(report));
    }
  }
  return reports;
}

// The transaction was carried out before: nothing is written, and what is charged is a read of what it wrote.
Result<TransactWriteItemsResponse> Replay(const TransactWriteItemsRequest& request,
                                          const std::vector<WritePlan>& plans, const TokenRecord& record,
                                          const std::string& fingerprint) {
  if (record.fingerprint != fingerprint) {
    return Error(ErrorCode::kIdempotentParameterMismatch,
                 "The ClientRequestToken was used before with other parameters");
  }
  TransactWriteItemsResponse response;
  std::map<std::string, TableUsage> usage;
  for (size_t i = 0; i < plans.size() && i < record.sizes.size(); ++i) {
    auto [table, is_new] = usage.try_emplace(plans[i].ref.schema->name, plans[i].ref.table.get(),
                                             plans[i].ref.schema, TableUsage::Kind::kRead);
    table->second.AddTable(2 * ReadUnits(record.sizes[i], /*consistent=*/true));
  }
  response.consumed_capacity = ReportAll(usage, request.return_consumed_capacity);
  return response;
}

TransactWriteItemsResponse Answer(Context& context, const TransactWriteItemsRequest& request,
                                  const std::vector<WritePlan>& plans,
                                  const engine::ItemWriter::Written& written) {
  TransactWriteItemsResponse response;
  std::map<std::string, TableUsage> usage;
  for (size_t i = 0; i < plans.size(); ++i) {
    const WritePlan& plan = plans[i];
    auto [table, is_new] = usage.try_emplace(plan.ref.schema->name, plan.ref.table.get(), plan.ref.schema,
                                             TableUsage::Kind::kWrite);
    table->second.AddWrite(written.outcomes[i], /*table_factor=*/2);
    if (auto metrics = CollectionMetrics(context, request.return_item_collection_metrics, *plan.ref.schema,
                                         plan.item != nullptr ? *plan.item : *plan.key)) {
      if (!response.item_collection_metrics) response.item_collection_metrics.emplace();
      (*response.item_collection_metrics)[plan.ref.schema->name].push_back(*std::move(metrics));
    }
  }
  response.consumed_capacity = ReportAll(usage, request.return_consumed_capacity);
  return response;
}

}  // namespace

Result<TransactWriteItemsResponse> Perform(Context& context, const TransactWriteItemsRequest& request) {
  HF_TRY(std::vector<WritePlan> plans, Validate(request));
  HF_CHECK_OK(OpenTables(context, &plans));
  for (const WritePlan& plan : plans)
    HF_CHECK_OK(CheckCollectionMetrics(context, request.return_item_collection_metrics, *plan.ref.schema));
  std::vector<engine::WriteAction> actions;
  actions.reserve(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    if (request.transact_items[i].condition_check) {
      plans[i].mutation = std::make_unique<CheckMutation>(&*plans[i].condition, &context.work);
    } else {
      MakeMutation(&plans[i], &context.work);
    }
    actions.push_back({plans[i].ref.table.get(), plans[i].item_key, plans[i].mutation.get()});
  }
  engine::WriteOptions options{.atomicity = engine::Atomicity::kAll, .wait = context.wait, .throttles = true};
  context.await_durability = true;

  if (!request.client_request_token) {
    HF_TRY(engine::ItemWriter::Written written, context.engine->writer().Write(actions, options));
    if (!written.all_applied) return WhyCanceled(context, plans, std::move(written));
    return Answer(context, request, plans, written);
  }

  // The token is looked up and written under its own lock and in the transaction's batch, so that of two
  // callers with one token exactly one carries it out, across crashes too.
  const std::string& token = *request.client_request_token;
  std::string fingerprint = Fingerprint(request);
  std::string record_key = engine::TokenRecordKey(token);
  int64_t now_seconds = context.engine->clock().NowSeconds();
  std::optional<TokenRecord> earlier;
  options.extra_lock = TokenLock(token);
  options.under_lock = [&](const std::vector<WriteOutcome>* outcomes,
                           engine::WriteOptions::Extras* extras) -> Status {
    if (outcomes == nullptr) {
      std::string stored;
      HF_TRY(bool found,
             context.engine->kv().Get(storage::Space::kCatalog, record_key, nullptr, context.wait, &stored));
      if (!found) return Ok{};
      uint64_t expiry = base::ReadBigEndian(stored, 8);
      if (static_cast<int64_t>(expiry) <= now_seconds) return Ok{};
      HF_TRY(earlier, DecodeToken(ByteView(stored).substr(8)));
      return Error(ErrorCode::kTransactionInProgress, "");  // stops the write; never leaves this function
    }
    TokenRecord record{fingerprint, {}};
    for (const WriteOutcome& outcome : *outcomes)
      record.sizes.push_back(std::max(outcome.old_size, outcome.now_size));
    int64_t expiry = now_seconds + limits::kIdempotencySecondsMax;
    std::string value;
    base::AppendBigEndian(&value, static_cast<uint64_t>(expiry), 8);
    value += Encode(record);
    extras->push_back({storage::Space::kCatalog, record_key, std::move(value)});
    extras->push_back({storage::Space::kTtl,
                       engine::ExpiryKey(engine::kTokenTable, expiry, std::string(4, '\0') + token),
                       {}});
    return Ok{};
  };
  Result<engine::ItemWriter::Written> written = context.engine->writer().Write(actions, options);
  if (earlier) return Replay(request, plans, *earlier, fingerprint);
  if (!written) return written.error();
  if (!written->all_applied) return WhyCanceled(context, plans, *std::move(written));
  return Answer(context, request, plans, *written);
}

}  // namespace holdfast::ops
