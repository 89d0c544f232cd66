#include "model/idempotency.h"

#include "auth/hmac.h"
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

Status IdempotencyRecord::KeepAlone(Store* store, const CommandAnswer& answer) const {
  PutItemRequest put;
  FillPut(key_, digest_, now_seconds_, answer, &put);
  auto done = store->Run(put);
  // Somebody with the same key was faster: that answer is kept.
  if (done || done.error().code() == ErrorCode::kConditionalCheckFailed) return Ok{};
  return FromStore(done.error());
}

}  // namespace holdfast::model
