#include "model/idempotency.h"

#include <chrono>

#include "auth/hmac.h"
#include "base/random.h"
#include "base/thread.h"
#include "model/expression.h"
#include "model/model.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

constexpr size_t kKeyBytesMax = 255;
// A larger result would not fit into the record: the same request is then answered with this note.
constexpr size_t kResultBytesMax = 350'000;

std::string Digest(std::string_view text) {
  return auth::Hex(auth::HmacSha256(kIdempotencyTable, text));
}

// One caller's keys are not another's, nor their own in another role: who replays may do what they replay.
std::string OwnerOf(const Caller& caller) {
  std::string owner = caller.administrator ? "a" : "c";
  for (const std::string* part : {&caller.realm, &caller.subject, &caller.tenant, &caller.role})
    owner.append(std::to_string(part->size())).append(":").append(*part);
  return owner;
}

}  // namespace

const Table& IdempotencyTable() {
  static const Table kTable = [] {
    Table table;
    table.id = table.name = kIdempotencyTable;
    table.key = {{"PK", 'S'}};
    table.ttl = "expiresAt";
    return table;
  }();
  return kTable;
}

Result<IdempotencyRecord> IdempotencyRecord::Make(const std::string& model, const Caller& caller,
                                                  const RunOptions& options, std::string_view command,
                                                  const Item& input, int64_t now_seconds) {
  const std::string& key = options.idempotency_key;
  if (key.size() > kKeyBytesMax)
    return RefuseField("Idempotency-Key", "is longer than " + std::to_string(kKeyBytesMax) + " bytes");
  IdempotencyRecord record;
  record.key_ = model + "#" + Digest(OwnerOf(caller)) + "#" + key;
  std::string what(command);
  what.push_back('\n');
  what.append(input.flat());
  record.digest_ = Digest(what);
  record.now_seconds_ = now_seconds;
  return record;
}

Result<std::optional<CommandAnswer>> IdempotencyRecord::Find(Store* store) const {
  GetItemRequest request;
  request.table_name = kIdempotencyTable;
  request.key = Item{{"PK", key_}};
  request.consistent_read = true;
  auto got = store->Run(request);
  if (!got) return FromStore(got.error());
  if (!got->item) return std::optional<CommandAnswer>();
  const Item& item = *got->item;
  auto expires = item.Get("expiresAt");
  if (!expires || expires->AsInt64().value_or(0) <= now_seconds_) return std::optional<CommandAnswer>();
  if (item.Get("digest") != AttributeValue(digest_))
    return Refuse("IdempotencyMismatch", "this Idempotency-Key was used with another request");
  if (item.Has("claim"))
    return Refuse("Conflict", "a request with this Idempotency-Key is being carried out: try again",
                  {{"retry_after", 1}});
  CommandAnswer answer;
  answer.replayed = true;
  if (auto created = item.Get("created")) answer.created = created->AsBool();
  if (auto result = value::MapView(item).Find("result")) answer.result = ItemOf(*result);
  return std::optional<CommandAnswer>(std::move(answer));
}

namespace {

template <class Put>
void FillPut(const std::string& key, const std::string& digest, int64_t now_seconds,
             const CommandAnswer& answer, Put* put) {
  put->table_name = kIdempotencyTable;
  bool fits = answer.result.SizeBytes() <= kResultBytesMax;
  AttributeMap item{{"PK", key},
                    {"digest", digest},
                    {"created", answer.created},
                    {"expiresAt", now_seconds + kIdempotencySeconds}};
  item["result"] = AttributeValue::Map(fits ? answer.result.ToMap() : AttributeMap{{"tooLargeToKeep", true}});
  put->item = Item(item);
  ExpressionBuilder builder;
  builder.Text("attribute_not_exists(PK) OR ")
      .Name("expiresAt")
      .Text(" <= ")
      .Value(AttributeValue(now_seconds));
  put->condition_expression = builder.Take();
  builder.Finish(put);
}

}  // namespace

TransactWriteItem IdempotencyRecord::Keep(const CommandAnswer& answer) const {
  TransactPut put;
  FillPut(key_, digest_, now_seconds_, answer, &put);
  TransactWriteItem action;
  action.put = std::move(put);
  return action;
}

std::string IdempotencyRecord::Id() const {
  return Digest(key_ + "\n" + digest_).substr(0, 40);
}

// --- claims ---

namespace {

constexpr int64_t kLeaseMillis = 30'000;
constexpr auto kRenewEvery = std::chrono::seconds(10);

}  // namespace

IdempotencyClaim::IdempotencyClaim(Store* store, const base::Clock* clock, const IdempotencyRecord* record)
    : store_(store), clock_(clock), record_(*record), name_(base::Random().Uuid()) {}

Result<std::unique_ptr<IdempotencyClaim>> IdempotencyClaim::Take(Store* store, const base::Clock* clock,
                                                                 const IdempotencyRecord* record) {
  std::unique_ptr<IdempotencyClaim> claim(new IdempotencyClaim(store, clock, record));
  int64_t now = clock->NowMillis();
  PutItemRequest put;
  put.table_name = kIdempotencyTable;
  put.item = Item{{"PK", record->key_},
                  {"digest", record->digest_},
                  {"claim", claim->name_},
                  {"claimedUntil", now + kLeaseMillis},
                  {"expiresAt", record->now_seconds_ + kIdempotencySeconds}};
  ExpressionBuilder builder;
  builder.Text("attribute_not_exists(PK) OR ")
      .Name("expiresAt")
      .Text(" <= ")
      .Value(AttributeValue(record->now_seconds_))
      .Text(" OR (")
      .Name("digest")
      .Text(" = ")
      .Value(AttributeValue(record->digest_))
      .Text(" AND ")
      .Name("claimedUntil")
      .Text(" < ")
      .Value(AttributeValue(now))
      .Text(")");
  put.condition_expression = builder.Take();
  builder.Finish(&put);
  auto done = store->Run(put);
  if (!done && done.error().code() == ErrorCode::kConditionalCheckFailed)
    return std::unique_ptr<IdempotencyClaim>();
  if (!done) return FromStore(done.error());
  claim->renewing_ = std::thread([raw = claim.get()] { raw->KeepRenewed(); });
  return claim;
}

IdempotencyClaim::~IdempotencyClaim() {
  StopRenewing();
  if (finished_) return;
  // Nothing is kept of a refusal: the next attempt is a new one. A claim that cannot be given up lapses.
  DeleteItemRequest request;
  request.table_name = kIdempotencyTable;
  request.key = Item{{"PK", record_.key_}};
  ExpressionBuilder builder;
  builder.Name("claim").Text(" = ").Value(AttributeValue(name_));
  request.condition_expression = builder.Take();
  builder.Finish(&request);
  static_cast<void>(store_->Run(request));
}

void IdempotencyClaim::KeepRenewed() {
  base::NameThread("idempotency");
  base::MutexLock lock(&mu_);
  for (auto next = std::chrono::steady_clock::now() + kRenewEvery; !stop_;) {
    if (changed_.WaitUntil(&mu_, next)) continue;
    next += kRenewEvery;
    mu_.Unlock();
    base::RunContained(base::FallbackLog(), "claim of an Idempotency-Key",
                       [&] { static_cast<void>(Renew()); });
    mu_.Lock();
  }
}

Result<UpdateItemResponse> IdempotencyClaim::Renew() {
  UpdateItemRequest request;
  request.table_name = kIdempotencyTable;
  request.key = Item{{"PK", record_.key_}};
  request.update_expression = "SET claimedUntil = :until, expiresAt = :expires";
  request.condition_expression = "claim = :claim";
  request.expression_attribute_values = Item{{":until", clock_->NowMillis() + kLeaseMillis},
                                             {":expires", clock_->NowSeconds() + kIdempotencySeconds},
                                             {":claim", name_}};
  return store_->Run(request);
}

void IdempotencyClaim::StopRenewing() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (renewing_.joinable()) renewing_.join();
}

Status IdempotencyClaim::Finish(const CommandAnswer& answer) {
  StopRenewing();
  PutItemRequest put;
  FillPut(record_.key_, record_.digest_, record_.now_seconds_, answer, &put);
  put.expression_attribute_names.reset();
  ExpressionBuilder builder;
  builder.Name("claim").Text(" = ").Value(AttributeValue(name_));
  put.condition_expression = builder.Take();
  builder.Finish(&put);
  auto done = store_->Run(put);
  // Even where the answer could not be kept, the command was carried out: the claim is not given up, so that
  // another attempt waits until it has lapsed.
  finished_ = true;
  if (done || done.error().code() == ErrorCode::kConditionalCheckFailed) return Ok{};
  return FromStore(done.error());
}

}  // namespace holdfast::model
