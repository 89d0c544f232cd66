#include "model/cloudformation/plan.h"

#include <algorithm>
#include <cctype>

#include "base/limits.h"
#include "json/struct_writer.h"
#include "model/cloudformation/write.h"
#include "model/live_table.h"
#include "model/refusal.h"
#include "model/table_requests.h"
#include "ops/constraints.h"
#include "ops/table_schema.h"

namespace holdfast::model::cloudformation {
namespace {

template <class T>
std::vector<T> ListOf(const std::optional<std::vector<T>>& list) {
  return list.value_or(std::vector<T>());
}

// Equal definitions have equal texts.
template <class T>
std::string TextOf(const T& value) {
  std::string text;
  json::Write(value, &text);
  return text;
}
template <class T>
bool Same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || TextOf(*a) == TextOf(*b));
}

template <class T>
const T* FindNamed(const std::vector<T>& all, const std::string& name) {
  auto at = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.index_name == name; });
  return at == all.end() ? nullptr : &*at;
}

template <class T>
Status Done(Result<T> result) {
  if (result) return Ok{};
  if (result.error().code() == ErrorCode::kResourceInUse)
    return model::Refuse("Conflict",
                         "somebody else is changing it; apply again: " + result.error().message());
  return FromStore(result.error());
}

// Master keys of holdfast's own are named so.
bool IsOwnKey(std::string_view arn) {
  constexpr size_t kIdSize = 16;
  std::string_view id = arn.substr(std::min(arn.size(), arn.rfind('/') + 1));
  return arn.ends_with("alias/aws/dynamodb") ||
         (id.size() == kIdSize && id.find_first_not_of("0123456789abcdef") == std::string_view::npos);
}
// A key is named by its ARN, its ID or an alias. Which key an alias stands for, only KMS knows.
bool MayBeKey(const std::string& wanted, const std::string& arn) {
  if (wanted.starts_with("arn:")) return wanted == arn;
  if (wanted.starts_with("alias/") && arn.find(":alias/") == std::string::npos) return true;
  return arn.ends_with((wanted.starts_with("alias/") ? ":" : ":key/") + wanted);
}

// --- what is there ---

constexpr int64_t kRecoveryDays = 35;  // unless told

// How warm what has this throughput is unless told.
WarmThroughput LeastWarm(const std::optional<ProvisionedThroughput>& provisioned) {
  if (!provisioned) return {limits::kWarmReadUnits, limits::kWarmWriteUnits};
  return {provisioned->read_capacity_units, provisioned->write_capacity_units};
}
// How warm it is, where that is not what comes with its throughput.
template <class Description>
std::optional<WarmThroughput> WarmOf(const Description& described,
                                     const std::optional<ProvisionedThroughput>& provisioned) {
  if (!described.warm_throughput) return std::nullopt;
  WarmThroughput warm{described.warm_throughput->read_units_per_second,
                      described.warm_throughput->write_units_per_second};
  if (TextOf(warm) == TextOf(LeastWarm(provisioned))) return std::nullopt;
  return warm;
}

GlobalSecondaryIndex IndexOf(const GlobalSecondaryIndexDescription& index, bool provisioned) {
  GlobalSecondaryIndex made;
  made.index_name = index.index_name;
  made.key_schema = index.key_schema;
  made.projection = index.projection;
  if (provisioned && index.provisioned_throughput) {
    made.provisioned_throughput = {index.provisioned_throughput->read_capacity_units,
                                   index.provisioned_throughput->write_capacity_units};
  }
  made.on_demand_throughput = index.on_demand_throughput;
  made.warm_throughput = WarmOf(index, made.provisioned_throughput);
  return made;
}

TableProperties PropertiesOf(const TableDescription& table) {
  TableProperties properties;
  properties.table_name = table.table_name;
  bool provisioned =
      !table.billing_mode_summary || table.billing_mode_summary->billing_mode == BillingMode::kProvisioned;
  properties.billing_mode = provisioned ? BillingMode::kProvisioned : BillingMode::kPayPerRequest;
  if (provisioned) {
    properties.provisioned_throughput = {table.provisioned_throughput.read_capacity_units,
                                         table.provisioned_throughput.write_capacity_units};
  }
  properties.on_demand_throughput = table.on_demand_throughput;
  properties.warm_throughput = WarmOf(table, properties.provisioned_throughput);
  properties.attribute_definitions = ListOf(table.attribute_definitions);
  properties.key_schema = ListOf(table.key_schema);
  for (const LocalSecondaryIndexDescription& index : ListOf(table.local_secondary_indexes)) {
    if (!properties.local_secondary_indexes) properties.local_secondary_indexes.emplace();
    properties.local_secondary_indexes->push_back({index.index_name, index.key_schema, index.projection});
  }
  for (const GlobalSecondaryIndexDescription& index : ListOf(table.global_secondary_indexes)) {
    if (!properties.global_secondary_indexes) properties.global_secondary_indexes.emplace();
    properties.global_secondary_indexes->push_back(IndexOf(index, provisioned));
  }
  for (const VectorIndexDescription& index : ListOf(table.vector_indexes)) {
    if (!properties.vector_indexes) properties.vector_indexes.emplace();
    properties.vector_indexes->push_back(index);
  }
  // STANDARD too: a store shows it only where it was said, and is to show it again.
  if (table.table_class_summary) properties.table_class = table.table_class_summary->table_class;
  if (table.deletion_protection_enabled) properties.deletion_protection = true;
  if (table.stream_specification && table.stream_specification->stream_view_type)
    properties.stream = {*table.stream_specification->stream_view_type};
  if (table.sse_description && table.sse_description->status != SseStatus::kDisabled &&
      table.sse_description->status != SseStatus::kDisabling) {
    properties.encryption = {true, {}, {}};
    const std::optional<std::string>& key = table.sse_description->kms_master_key_arn;
    if (key && !key->empty() && !IsOwnKey(*key)) properties.encryption = {true, SseType::kKms, key};
  }
  return properties;
}

// --- what is wanted ---

// Without what says the default.
TableProperties Normal(TableProperties properties) {
  if (!properties.billing_mode) properties.billing_mode = BillingMode::kProvisioned;
  if (properties.deletion_protection == false) properties.deletion_protection.reset();
  if (properties.time_to_live && !properties.time_to_live->enabled) properties.time_to_live.reset();
  if (properties.point_in_time_recovery) {
    if (!properties.point_in_time_recovery->point_in_time_recovery_enabled)
      properties.point_in_time_recovery.reset();
    else if (properties.point_in_time_recovery->recovery_period_in_days == kRecoveryDays)
      properties.point_in_time_recovery->recovery_period_in_days.reset();
  }
  if (properties.encryption && !properties.encryption->enabled) properties.encryption.reset();
  if (properties.encryption && properties.encryption->kms_master_key_id &&
      IsOwnKey(*properties.encryption->kms_master_key_id))
    properties.encryption->kms_master_key_id.reset();
  properties.contributor_insights.reset();  // it is off
  auto drop_if_empty = [](auto* list) {
    if (*list && (*list)->empty()) list->reset();
  };
  drop_if_empty(&properties.local_secondary_indexes);
  drop_if_empty(&properties.global_secondary_indexes);
  drop_if_empty(&properties.vector_indexes);
  drop_if_empty(&properties.tags);
  if (properties.tags) {
    std::sort(properties.tags->begin(), properties.tags->end(),
              [](const Tag& a, const Tag& b) { return a.key < b.key; });
  }
  return properties;
}

SseSpecification SseRequest(const std::optional<SseProperties>& wanted) {
  if (!wanted) return SseSpecification{false, {}, {}};
  return SseSpecification{true, wanted->sse_type, wanted->kms_master_key_id};
}

CreateTableRequest CreateRequestOf(const TableProperties& wanted) {
  CreateTableRequest request;
  request.table_name = *wanted.table_name;
  request.billing_mode = wanted.billing_mode;
  request.provisioned_throughput = wanted.provisioned_throughput;
  request.on_demand_throughput = wanted.on_demand_throughput;
  request.warm_throughput = wanted.warm_throughput;
  request.attribute_definitions = wanted.attribute_definitions;
  request.key_schema = wanted.key_schema;
  request.local_secondary_indexes = wanted.local_secondary_indexes;
  request.global_secondary_indexes = wanted.global_secondary_indexes;
  request.vector_indexes = wanted.vector_indexes;
  request.table_class = wanted.table_class;
  request.deletion_protection_enabled = wanted.deletion_protection;
  request.tags = wanted.tags;
  if (wanted.stream) request.stream_specification = {true, wanted.stream->view_type};
  if (wanted.encryption) request.sse_specification = SseRequest(wanted.encryption);
  return request;
}

std::string ProjectionText(Projection projection) {
  if (projection.non_key_attributes)
    std::sort(projection.non_key_attributes->begin(), projection.non_key_attributes->end());
  return TextOf(projection);
}

// --- from the one to the other ---

class Planner {
 public:
  Planner(const TableProperties& wanted, TablePlan* plan) : wanted_(wanted), plan_(*plan) {}

  void Create() {
    std::string what = "create it: " + SchemaText(wanted_.key_schema, wanted_.attribute_definitions) + ", " +
                       std::string(NameOf(*wanted_.billing_mode));
    auto list = [&](const auto& indexes, const char* kind) {
      for (const auto& index : ListOf(indexes)) what += std::string(", ") + kind + " " + index.index_name;
    };
    list(wanted_.local_secondary_indexes, "local index");
    list(wanted_.global_secondary_indexes, "index");
    list(wanted_.vector_indexes, "vector index");
    if (wanted_.stream) what += ", a stream of " + std::string(NameOf(wanted_.stream->view_type));
    encrypts_ = wanted_.encryption.has_value();
    if (encrypts_) what += ", encrypted";
    Add(what, CreateRequestOf(wanted_));
    if (wanted_.time_to_live) SetTimeToLive(*wanted_.time_to_live);
    if (wanted_.point_in_time_recovery) SetPointInTimeRecovery(wanted_.point_in_time_recovery);
  }

  void Update(const LiveTable& live) {
    live_ = &live.properties;
    arn_ = live.arn;
    CheckWhatCannotChange();
    ChangeEncryption();
    // What cannot be undone comes late, but the billing of an index that goes cannot be changed any more.
    bool deletes_first = wanted_.billing_mode != live_->billing_mode;
    if (deletes_first) DeleteIndexes();
    ChangeBilling();
    ChangeMaximum();
    ChangeWarmth();
    if (!deletes_first) DeleteIndexes();
    ChangeIndexes();
    ChangeVectorIndexes();
    TableClass wanted = wanted_.table_class.value_or(TableClass::kStandard);
    if (wanted != live_->table_class.value_or(TableClass::kStandard)) {
      UpdateTableRequest request = Changing();
      request.table_class = wanted;
      Add("make its class " + std::string(NameOf(wanted)), request);
    }
    if (wanted_.deletion_protection != live_->deletion_protection) {
      UpdateTableRequest request = Changing();
      request.deletion_protection_enabled = wanted_.deletion_protection.has_value();
      Add(wanted_.deletion_protection ? "protect it from deletion" : "no longer protect it from deletion",
          request);
    }
    ChangeStream();
    ChangeTimeToLive();
    if (!Same(wanted_.point_in_time_recovery, live_->point_in_time_recovery))
      SetPointInTimeRecovery(wanted_.point_in_time_recovery);
    ChangeTags();
  }

  const std::vector<std::string>& refusals() const { return refusals_; }
  // Whether the store has to be able to encrypt.
  bool encrypts() const { return encrypts_; }

 private:
  UpdateTableRequest Changing() const {
    UpdateTableRequest request;
    request.table_name = *wanted_.table_name;
    return request;
  }
  template <class Request>
  void Add(std::string what, Request request) {
    plan_.steps.push_back(
        {std::move(what),
         [request = std::move(request), table = *wanted_.table_name](Store* store) -> Status {
           HF_CHECK_OK(Done(store->Run(request)));
           return Done(WaitUntilReady(store, table));
         }});
  }
  void Refuse(const std::string& why) { refusals_.push_back(why); }

  void CheckWhatCannotChange() {
    auto keys = [](const TableProperties& table, const auto& index) {
      return SchemaText(index.key_schema, table.attribute_definitions);
    };
    std::string now = keys(*live_, *live_);
    std::string then = keys(wanted_, wanted_);
    if (now != then)
      Refuse("the key is " + now + " and would become " + then +
             ": that is another table, which would take its place without its items");
    auto local = [&](const TableProperties& table) {
      std::vector<std::string> texts;
      for (const LocalSecondaryIndex& index : ListOf(table.local_secondary_indexes))
        texts.push_back(index.index_name + " " + keys(table, index) + " " + ProjectionText(index.projection));
      std::sort(texts.begin(), texts.end());
      return texts;
    };
    if (local(*live_) != local(wanted_))
      Refuse("local secondary indexes are made with their table and never change");
    for (const GlobalSecondaryIndex& index : ListOf(wanted_.global_secondary_indexes)) {
      auto live = ListOf(live_->global_secondary_indexes);
      const GlobalSecondaryIndex* other = FindNamed(live, index.index_name);
      if (other == nullptr) continue;
      if (keys(*live_, *other) != keys(wanted_, index) ||
          ProjectionText(other->projection) != ProjectionText(index.projection))
        Refuse("the index " + index.index_name +
               " has another key or projection: give the new one another name");
    }
    for (const VectorIndex& index : ListOf(wanted_.vector_indexes)) {
      auto live = ListOf(live_->vector_indexes);
      const VectorIndex* other = FindNamed(live, index.index_name);
      if (other != nullptr && TextOf(*other) != TextOf(index))
        Refuse("the vector index " + index.index_name +
               " is defined otherwise: give the new one another name");
    }
    if (wanted_.time_to_live && live_->time_to_live &&
        wanted_.time_to_live->attribute_name != live_->time_to_live->attribute_name)
      Refuse("TTL is by " + live_->time_to_live->attribute_name + " and would be by " +
             wanted_.time_to_live->attribute_name + ": switch it off first");
  }

  // A key that is no longer named stays: with --tables-only it may only have been left out.
  void ChangeEncryption() {
    const std::optional<SseProperties>& wanted = wanted_.encryption;
    encrypts_ = wanted && !live_->encryption;
    std::string with =
        wanted && wanted->kms_master_key_id ? " with the key " + *wanted->kms_master_key_id : "";
    bool other_key = live_->encryption && !with.empty() &&
                     (!live_->encryption->kms_master_key_id ||
                      !MayBeKey(*wanted->kms_master_key_id, *live_->encryption->kms_master_key_id));
    if (wanted.has_value() == live_->encryption.has_value() && !other_key) return;
    UpdateTableRequest request = Changing();
    request.sse_specification = SseRequest(wanted);
    Add(wanted ? "encrypt it" + with : "no longer ask for encryption", request);
  }

  void ChangeBilling() {
    UpdateTableRequest request = Changing();
    if (wanted_.billing_mode != live_->billing_mode) {
      request.billing_mode = wanted_.billing_mode;
      request.provisioned_throughput = wanted_.provisioned_throughput;
      // Indexes that stay have their throughput changed with the table's.
      if (wanted_.billing_mode == BillingMode::kProvisioned) AddIndexThroughput(&request);
      return Add("bill it as " + std::string(NameOf(*wanted_.billing_mode)), request);
    }
    if (Same(wanted_.provisioned_throughput, live_->provisioned_throughput)) return;
    request.provisioned_throughput = wanted_.provisioned_throughput;
    if (!request.provisioned_throughput) return;  // refused when the request was checked
    Add("provision " + std::to_string(request.provisioned_throughput->read_capacity_units) + " reads and " +
            std::to_string(request.provisioned_throughput->write_capacity_units) + " writes",
        request);
  }
  void AddIndexThroughput(UpdateTableRequest* request) const {
    auto live = ListOf(live_->global_secondary_indexes);
    for (const GlobalSecondaryIndex& index : ListOf(wanted_.global_secondary_indexes)) {
      if (!index.provisioned_throughput || FindNamed(live, index.index_name) == nullptr) continue;
      GlobalSecondaryIndexUpdate update;
      update.update.emplace();
      update.update->index_name = index.index_name;
      update.update->provisioned_throughput = index.provisioned_throughput;
      if (!request->global_secondary_index_updates) request->global_secondary_index_updates.emplace();
      request->global_secondary_index_updates->push_back(std::move(update));
    }
  }

  // What is no longer wanted is taken away by -1.
  static OnDemandThroughput MaximumFor(const std::optional<OnDemandThroughput>& wanted) {
    OnDemandThroughput maximum = wanted.value_or(OnDemandThroughput{});
    maximum.max_read_request_units = maximum.max_read_request_units.value_or(-1);
    maximum.max_write_request_units = maximum.max_write_request_units.value_or(-1);
    return maximum;
  }
  // A store takes all maxima away itself when a table becomes PROVISIONED, and refuses them from then on.
  bool MayHaveMaxima() const { return wanted_.billing_mode != BillingMode::kProvisioned; }
  void ChangeMaximum() {
    if (!MayHaveMaxima() || Same(wanted_.on_demand_throughput, live_->on_demand_throughput)) return;
    UpdateTableRequest request = Changing();
    request.on_demand_throughput = MaximumFor(wanted_.on_demand_throughput);
    Add(wanted_.on_demand_throughput ? "set its maximum on demand" : "take away its maximum on demand",
        request);
  }
  // It can only rise; where the template does not say it, it stays.
  template <class T>
  std::optional<WarmThroughput> WarmerThan(const T& live, const T& wanted, const std::string& of) {
    if (!wanted.warm_throughput) return std::nullopt;
    WarmThroughput now = live.warm_throughput.value_or(LeastWarm(live.provisioned_throughput));
    WarmThroughput then = *wanted.warm_throughput;
    auto compare = [&](std::optional<int64_t> from, std::optional<int64_t>* to, const char* what) {
      if (!*to) *to = from;
      if (*to < from)
        Refuse("WarmThroughput" + of + " is " + std::to_string(*from) + " " + what + " and would become " +
               std::to_string(**to) + ": it can only rise");
    };
    compare(now.read_units_per_second, &then.read_units_per_second, "reads");
    compare(now.write_units_per_second, &then.write_units_per_second, "writes");
    if (TextOf(now) == TextOf(then)) return std::nullopt;
    return then;
  }
  void ChangeWarmth() {
    UpdateTableRequest request = Changing();
    request.warm_throughput = WarmerThan(*live_, wanted_, "");
    if (request.warm_throughput) Add("warm it", request);
  }

  // A table changes one index at a time.
  void DeleteIndexes() {
    auto wanted = ListOf(wanted_.global_secondary_indexes);
    for (const GlobalSecondaryIndex& index : ListOf(live_->global_secondary_indexes)) {
      if (FindNamed(wanted, index.index_name) != nullptr) continue;
      UpdateTableRequest request = Changing();
      request.global_secondary_index_updates.emplace().emplace_back().delete_action.emplace().index_name =
          index.index_name;
      Add("delete the index " + index.index_name, request);
    }
    auto wanted_vectors = ListOf(wanted_.vector_indexes);
    for (const VectorIndex& index : ListOf(live_->vector_indexes)) {
      if (FindNamed(wanted_vectors, index.index_name) != nullptr) continue;
      UpdateTableRequest request = Changing();
      request.vector_index_updates.emplace().emplace_back().delete_action.emplace().index_name =
          index.index_name;
      Add("delete the vector index " + index.index_name, request);
    }
  }

  void ChangeIndexes() {
    auto wanted = ListOf(wanted_.global_secondary_indexes);
    auto live = ListOf(live_->global_secondary_indexes);
    for (const GlobalSecondaryIndex& index : wanted) {
      UpdateTableRequest request = Changing();
      GlobalSecondaryIndexUpdate& update = request.global_secondary_index_updates.emplace().emplace_back();
      const GlobalSecondaryIndex* other = FindNamed(live, index.index_name);
      if (other == nullptr) {
        static_cast<GlobalSecondaryIndex&>(update.create.emplace()) = index;
        request.attribute_definitions = wanted_.attribute_definitions;
        Add("add the index " + index.index_name + ": " +
                SchemaText(index.key_schema, wanted_.attribute_definitions),
            request);
        continue;
      }
      UpdateGlobalSecondaryIndexAction& action = update.update.emplace();
      action.index_name = index.index_name;
      if (wanted_.billing_mode == live_->billing_mode &&
          !Same(index.provisioned_throughput, other->provisioned_throughput))
        action.provisioned_throughput = index.provisioned_throughput;
      if (MayHaveMaxima() && !Same(index.on_demand_throughput, other->on_demand_throughput))
        action.on_demand_throughput = MaximumFor(index.on_demand_throughput);
      action.warm_throughput = WarmerThan(*other, index, " of the index " + index.index_name);
      if (action.provisioned_throughput || action.on_demand_throughput || action.warm_throughput)
        Add("change the throughput of the index " + index.index_name, request);
    }
  }

  void ChangeVectorIndexes() {
    auto wanted = ListOf(wanted_.vector_indexes);
    auto live = ListOf(live_->vector_indexes);
    for (const VectorIndex& index : wanted) {
      if (FindNamed(live, index.index_name) != nullptr) continue;
      UpdateTableRequest request = Changing();
      static_cast<VectorIndex&>(request.vector_index_updates.emplace().emplace_back().create.emplace()) =
          index;
      request.attribute_definitions = wanted_.attribute_definitions;
      Add("add the vector index " + index.index_name, request);
    }
  }

  // A stream keeps its view type: another one is another stream.
  void ChangeStream() {
    if (Same(wanted_.stream, live_->stream)) return;
    if (live_->stream) {
      UpdateTableRequest request = Changing();
      request.stream_specification = {false, {}};
      Add("end its stream of " + std::string(NameOf(live_->stream->view_type)), request);
    }
    if (wanted_.stream) {
      UpdateTableRequest request = Changing();
      request.stream_specification = {true, wanted_.stream->view_type};
      Add("begin a stream of " + std::string(NameOf(wanted_.stream->view_type)), request);
    }
  }

  void ChangeTimeToLive() {
    if (wanted_.time_to_live.has_value() == live_->time_to_live.has_value()) return;
    if (wanted_.time_to_live)
      SetTimeToLive(*wanted_.time_to_live);
    else
      SetTimeToLive({live_->time_to_live->attribute_name, false});
  }
  void SetTimeToLive(const TimeToLiveSpecification& specification) {
    UpdateTimeToLiveRequest request;
    request.table_name = *wanted_.table_name;
    request.time_to_live_specification = specification;
    Add((specification.enabled ? "TTL by " : "no TTL by ") + specification.attribute_name, request);
  }

  void SetPointInTimeRecovery(const std::optional<PointInTimeRecoverySpecification>& wanted) {
    UpdateContinuousBackupsRequest request;
    request.table_name = *wanted_.table_name;
    PointInTimeRecoverySpecification& specification = request.point_in_time_recovery_specification;
    specification = wanted.value_or(PointInTimeRecoverySpecification{});
    if (wanted)
      specification.recovery_period_in_days = wanted->recovery_period_in_days.value_or(kRecoveryDays);
    std::string days = std::to_string(specification.recovery_period_in_days.value_or(0));
    Add(wanted ? "point-in-time recovery of " + days + " days" : "no point-in-time recovery", request);
  }

  void ChangeTags() {
    auto wanted = ListOf(wanted_.tags);
    auto live = ListOf(live_->tags);
    auto find = [](const std::vector<Tag>& tags, const std::string& key) {
      return std::find_if(tags.begin(), tags.end(), [&](const Tag& tag) { return tag.key == key; });
    };
    TagResourceRequest tag{arn_, {}};
    UntagResourceRequest untag{arn_, {}};
    for (const Tag& one : wanted) {
      auto there = find(live, one.key);
      if (there == live.end() || there->value != one.value) tag.tags.push_back(one);
    }
    for (const Tag& one : live) {
      if (find(wanted, one.key) == wanted.end()) untag.tag_keys.push_back(one.key);
    }
    std::string names;
    for (const std::string& key : untag.tag_keys) names += " " + key;
    if (!untag.tag_keys.empty()) Add("remove the tags" + names, untag);
    names.clear();
    for (const Tag& one : tag.tags) names += " " + one.key + "=" + one.value;
    if (!tag.tags.empty()) Add("tag it" + names, tag);
  }

  const TableProperties& wanted_;
  const TableProperties* live_ = nullptr;
  std::string arn_;
  TablePlan& plan_;
  std::vector<std::string> refusals_;
  bool encrypts_ = false;
};

// What CreateTable would say to it.
Status CheckAsRequest(const TableProperties& wanted) {
  CreateTableRequest request = CreateRequestOf(wanted);
  HF_CHECK_OK(ops::CheckConstraints(request, {}));
  return Done(ops::SchemaFrom(request));
}

// Whether a store can encrypt is asked by a request for a table that is not there: it changes nothing.
Status CheckCanEncrypt(Store* store) {
  UpdateTableRequest request;
  request.table_name = "holdfast-asks-before-it-applies";
  request.sse_specification = {true, {}, {}};
  auto asked = store->Run(request);
  // Some answer otherwise to a request that changes nothing else.
  if (asked || asked.error().message().find("no master key") == std::string::npos) return Ok{};
  return asked.error();
}

// A name that CloudFormation takes for a resource, and that no other has: ‹…›Table, where what comes before
// is unique, too, and begins the names of its outputs.
constexpr std::string_view kIdEnd = "Table";
std::string ResourceId(const std::string& table, const std::vector<WrittenTable>& others) {
  std::string id;
  bool upper = true;
  for (char c : table) {
    bool word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (word) id.push_back(upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c);
    upper = !word;
  }
  if (id.ends_with(kIdEnd)) id.resize(id.size() - kIdEnd.size());
  std::string unique = id + std::string(kIdEnd);
  auto taken = [&](const WrittenTable& other) { return other.id == unique; };
  for (int number = 2; std::any_of(others.begin(), others.end(), taken); ++number)
    unique = id + std::to_string(number) + std::string(kIdEnd);
  return unique;
}

}  // namespace

Result<std::optional<LiveTable>> ReadLive(Store* store, const std::string& table) {
  HF_TRY(std::optional<TableDescription> described, DescribeLive(store, table));
  if (!described) return std::optional<LiveTable>();
  LiveTable live{PropertiesOf(*described), described->table_arn, described->table_id, {}};
  if (live.properties.stream) live.stream_arn = described->latest_stream_arn.value_or("");
  if (store->abilities().time_to_live) {
    auto ttl = store->Run(DescribeTimeToLiveRequest{.table_name = table});
    if (!ttl) return FromStore(ttl.error());
    const TimeToLiveDescription& description = ttl->time_to_live_description;
    bool enabled = description.time_to_live_status == TimeToLiveStatus::kEnabled ||
                   description.time_to_live_status == TimeToLiveStatus::kEnabling;
    if (enabled) live.properties.time_to_live = {description.attribute_name.value_or(""), true};
  }
  auto backups = store->Run(DescribeContinuousBackupsRequest{.table_name = table});
  // DynamoDB Local and its like have none.
  if (!backups && backups.error().code() != ErrorCode::kUnknownOperation) return FromStore(backups.error());
  if (backups) {
    const PointInTimeRecoveryDescription& recovery =
        backups->continuous_backups_description.point_in_time_recovery_description;
    live.properties.point_in_time_recovery = {
        recovery.point_in_time_recovery_status == ContinuousBackupsStatus::kEnabled,
        recovery.recovery_period_in_days};
  }
  if (store->abilities().tags) {
    ListTagsOfResourceRequest request{live.arn, {}};
    do {
      auto tags = store->Run(request);
      if (!tags) return FromStore(tags.error());
      if (!live.properties.tags) live.properties.tags.emplace();
      live.properties.tags->insert(live.properties.tags->end(), tags->tags.begin(), tags->tags.end());
      request.next_token = tags->next_token;
    } while (request.next_token);
  }
  live.properties = Normal(std::move(live.properties));
  return live;
}

Result<std::vector<TablePlan>> PlanTables(Store* store, const Template& wanted, const std::string& file) {
  std::vector<TablePlan> plans;
  std::string invalid;
  std::string refused;
  std::optional<Status> can_encrypt;
  for (const TableResource& resource : wanted.tables) {
    std::string place = file + ":" + std::to_string(resource.place.line) + ": " + resource.place.path + ": ";
    TableProperties properties = Normal(resource.properties);
    if (Status sound = CheckAsRequest(properties); !sound) {
      invalid += (invalid.empty() ? "" : "\n") + place + sound.error().message();
      continue;
    }
    TablePlan plan{resource.id, *properties.table_name, false, {}};
    HF_TRY(std::optional<LiveTable> live, ReadLive(store, plan.table));
    plan.exists = live.has_value();
    Planner planner(properties, &plan);
    if (live)
      planner.Update(*live);
    else
      planner.Create();
    if (planner.encrypts() && !can_encrypt) can_encrypt = CheckCanEncrypt(store);
    if (planner.encrypts() && !*can_encrypt)
      invalid += (invalid.empty() ? "" : "\n") + place + can_encrypt->error().message();
    for (const std::string& why : planner.refusals())
      refused += (refused.empty() ? "" : "\n") + place + "the table " + plan.table + ": " + why;
    plans.push_back(std::move(plan));
  }
  if (!invalid.empty()) return ValidationError(std::move(invalid));
  if (!refused.empty()) return model::Refuse("Conflict", std::move(refused));
  return plans;
}

Result<std::vector<TableReport>> Execute(Store* store, const std::vector<TablePlan>& plans) {
  std::vector<TableReport> reports;
  for (const TablePlan& plan : plans) {
    TableReport report{plan.table, plan.exists ? "as it should be" : "created", {}};
    for (const TablePlan::Step& step : plan.steps) {
      if (Status done = step.run(store); !done) {
        const Error& error = done.error();
        return model::Refuse(RefusalName(error), "the table " + plan.table + ", " + step.what + ": " +
                                                     error.message() + ". What came before it is done");
      }
      report.details.push_back(step.what);
    }
    if (plan.exists && !plan.steps.empty()) report.status = "updated";
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<std::vector<Template::Output>> OutputsOf(Store* store, std::string_view text, const std::string& file,
                                                ReadOptions options, const Template& applied) {
  for (const TableResource& resource : applied.tables) {
    HF_TRY(std::optional<LiveTable> live, ReadLive(store, *resource.properties.table_name));
    if (!live) continue;
    options.attributes[{resource.id, "Arn"}] = live->arn;
    if (!live->table_id.empty()) options.attributes[{resource.id, "TableId"}] = live->table_id;
    if (!live->stream_arn.empty()) options.attributes[{resource.id, "StreamArn"}] = live->stream_arn;
  }
  HF_TRY(Template again, ReadTemplate(text, file, options));
  return std::move(again.outputs);
}

Result<std::string> ExportTemplate(Store* store, const std::vector<std::string>& tables) {
  WrittenTemplate written;
  written.description = "Tables of " + store->name();
  for (const std::string& name : tables) {
    HF_TRY(std::optional<LiveTable> live, ReadLive(store, name));
    if (!live)
      return Error(ErrorCode::kResourceNotFound, "there is no table " + name + " in " + store->name());
    std::string id = ResourceId(name, written.tables);
    std::string prefix = tables.size() == 1 ? "" : id.substr(0, id.size() - kIdEnd.size());
    written.tables.push_back({std::move(id), std::move(prefix), std::move(live->properties)});
  }
  return WriteTemplate(written);
}

}  // namespace holdfast::model::cloudformation
