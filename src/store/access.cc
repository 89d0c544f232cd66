#include "store/access.h"

#include <map>

#include "base/base64.h"
#include "expression/key_condition.h"
#include "expression/parse.h"
#include "ops/table_access.h"
#include "value/flat.h"

namespace holdfast::store {
namespace {

using auth::Action;
using auth::ActionOf;
using auth::Fact;
using auth::Facts;

std::string Arn(const auth::Principal& principal, std::string_view resource) {
  const auth::PrincipalInfo& info = principal.info();
  std::string arn;
  arn.reserve(40 + resource.size());
  return arn.append("arn:aws:dynamodb:")
      .append(info.region)
      .append(":")
      .append(info.account)
      .append(":")
      .append(resource);
}

std::string TableArn(const auth::Principal& principal, std::string_view table, std::string_view index = {}) {
  std::string resource = "table/";
  resource.append(table);
  if (!index.empty()) resource.append("/index/").append(index);
  return Arn(principal, resource);
}

// --- facts ---

std::optional<std::string> KeyText(const Item& item, std::string_view attribute) {
  std::optional<AttributeValue> value = item.Get(attribute);
  if (!value) return std::nullopt;
  switch (value->type()) {
    case AttributeValue::Type::kString:
    case AttributeValue::Type::kNumber: return value->AsText();
    case AttributeValue::Type::kBinary: return base::Base64(value->AsText());
    default: return std::nullopt;
  }
}

// Gathers what requests say of one table. What cannot be read stands for everything: whoever is limited by it
// is refused, and the operation would have been as well.
class Gathering {
 public:
  Gathering(const AccessContext& context, const std::string& table, std::string_view index, Facts* facts)
      : context_(context), table_(table), index_(index), facts_(*facts) {}

  void Key(const Item& key) {
    LeadingKey(key);
    Names(key);
  }
  void Written(const Item& item) { Key(item); }
  void AnyKey() {
    auth::FactValues& keys = facts_[Fact::kLeadingKeys];
    keys.all = keys.unknown = true;
  }
  void AllAttributes() { facts_[Fact::kAttributes].all = true; }

  // The same name may come again: to look for it would cost the square of what a request names.
  void Attribute(std::string_view name) { facts_[Fact::kAttributes].values.emplace_back(name); }
  template <class Value>
  void Names(const std::optional<std::map<std::string, Value>>& named) {
    if (!named) return;
    for (const auto& [name, value] : *named) Attribute(name);
  }
  void Names(const Item& item) {
    if (item.defect() != nullptr) return AllAttributes();
    value::MapView attributes(item);
    for (uint32_t i = 0; i < attributes.size(); ++i) Attribute(attributes.At(i).name);
  }

  void Condition(const std::optional<std::string>& text, const std::optional<ExpressionNames>& names) {
    if (!text) return;
    auto tree = expression::ParseConditionText("ConditionExpression", *text);
    if (!tree) return AllAttributes();
    Paths(*tree, names);
  }
  void Update(const std::optional<std::string>& text, const std::optional<ExpressionNames>& names) {
    if (!text) return;
    auto update = expression::ParseUpdateText(*text);
    if (!update) return AllAttributes();
    Paths(update->tree, names);
  }
  // What a read returns.
  void Returned(const std::optional<std::string>& projection, const std::optional<ExpressionNames>& names,
                const std::optional<AttributesToGet>& attributes) {
    if (attributes) {
      for (const std::string& name : *attributes) Attribute(name);
    } else if (projection) {
      auto parsed = expression::ParseProjectionText(*projection);
      if (!parsed) return AllAttributes();
      Paths(parsed->tree, names);
    } else {
      AllAttributes();
    }
  }
  // It returns the old item as ReturnValues would.
  void OnFailure(std::optional<ReturnValuesOnConditionCheckFailure> values) {
    if (values != ReturnValuesOnConditionCheckFailure::kAllOld) return;
    facts_[Fact::kReturnValues].values.emplace_back(NameOf(ReturnValue::kAllOld));
    AllAttributes();
  }
  void Returns(std::optional<ReturnValue> values) {
    if (!values) return;
    facts_[Fact::kReturnValues].values.emplace_back(NameOf(*values));
    if (*values == ReturnValue::kAllOld || *values == ReturnValue::kAllNew) AllAttributes();
  }
  void Capacity(std::optional<ReturnConsumedCapacity> capacity) {
    if (capacity) facts_[Fact::kReturnConsumedCapacity].values = {std::string(NameOf(*capacity))};
  }
  void Selected(std::optional<Select> select) {
    if (select) facts_[Fact::kSelect].values = {std::string(NameOf(*select))};
  }
  void Within(std::string_view operation) {
    facts_[Fact::kEnclosingOperation].values.emplace_back(operation);
  }

  void KeyCondition(const QueryRequest& request) {
    Condition(request.key_condition_expression, request.expression_attribute_names);
    Names(request.key_conditions);
    KeyNames keys = context_.keys(table_, index_);
    if (keys.partition.empty()) return AnyKey();
    for (const std::string& key : keys.partition) {
      std::optional<std::string> value =
          request.key_condition_expression ? FixedByExpression(request, key) : FixedByLegacy(request, key);
      if (!value) return AnyKey();
      facts_[Fact::kLeadingKeys].values.push_back(*std::move(value));
    }
  }

  // Where a page ends is told by the keys of the table and of the index, and may be asked by them.
  void PageKeys(const std::optional<Item>& start) {
    if (start) Names(*start);
    KeyAttributes({});
    if (!index_.empty()) KeyAttributes(index_);
  }

 private:
  void KeyAttributes(std::string_view index) {
    KeyNames keys = context_.keys(table_, index);
    if (keys.partition.empty()) return AllAttributes();
    for (const auto* names : {&keys.partition, &keys.sort}) {
      for (const std::string& name : *names) Attribute(name);
    }
  }
  void LeadingKey(const Item& item) {
    KeyNames keys = context_.keys(table_, index_);
    if (keys.partition.empty() || item.defect() != nullptr) return AnyKey();
    for (const std::string& key : keys.partition) {
      std::optional<std::string> text = KeyText(item, key);
      if (!text) return AnyKey();
      facts_[Fact::kLeadingKeys].values.push_back(*std::move(text));
    }
  }

  static std::optional<std::string_view> Resolve(std::string_view name,
                                                 const std::optional<ExpressionNames>& names) {
    if (!name.starts_with('#')) return name;
    if (!names) return std::nullopt;
    auto at = names->find(std::string(name));
    if (at == names->end()) return std::nullopt;
    return at->second;
  }
  void Paths(const expression::Tree& tree, const std::optional<ExpressionNames>& names) {
    for (const expression::Node& node : tree.nodes) {
      if (node.op != expression::Op::kPath) continue;
      std::optional<std::string_view> name = Resolve(node.path[0].name, names);
      if (!name) return AllAttributes();
      Attribute(*name);
    }
  }

  // What `key = :value` fixes it to.
  static std::optional<std::string> FixedByExpression(const QueryRequest& request, const std::string& key) {
    expression::Scope scope(
        request.expression_attribute_names ? &*request.expression_attribute_names : nullptr,
        request.expression_attribute_values ? &*request.expression_attribute_values : nullptr);
    if (!scope.CheckMaps()) return std::nullopt;
    auto tree = expression::ParseKeyConditionTree(*request.key_condition_expression, &scope);
    if (!tree) return std::nullopt;
    auto conditions = expression::CollectKeyConditions(*tree);
    if (!conditions) return std::nullopt;
    std::optional<std::string> fixed;
    for (const expression::KeyCondition& condition : *conditions) {
      if (condition.attribute != key) continue;
      if (fixed || condition.kind != expression::KeyCondition::Kind::kEqual) return std::nullopt;
      value::FlatWriter writer;
      writer.BeginMap();
      writer.Name(key);
      writer.Copy(value::ValueView(condition.operand));
      writer.EndMap();
      fixed = KeyText(Item::FromFlat(writer.TakeMap()), key);
      if (!fixed) return std::nullopt;
    }
    return fixed;
  }
  static std::optional<std::string> FixedByLegacy(const QueryRequest& request, const std::string& key) {
    if (!request.key_conditions) return std::nullopt;
    auto at = request.key_conditions->find(key);
    if (at == request.key_conditions->end()) return std::nullopt;
    const LegacyCondition& condition = at->second;
    bool fixes = condition.comparison_operator == ComparisonOperator::kEq && condition.attribute_value_list &&
                 condition.attribute_value_list->size() == 1;
    if (!fixes || condition.attribute_value_list->front().defect() != nullptr) return std::nullopt;
    return KeyText(condition.attribute_value_list->front(), "");
  }

  const AccessContext& context_;
  const std::string& table_;
  const std::string_view index_;
  Facts& facts_;
};

// --- one check ---

template <class Fill>
class Source final : public auth::FactSource {
 public:
  explicit Source(const Fill& fill) : fill_(fill) {}
  void Gather(Facts* facts) const override { fill_(facts); }

 private:
  const Fill& fill_;
};

// For what reaches all that a table holds: whoever is limited to some keys or attributes is refused.
class Everything final : public auth::FactSource {
 public:
  void Gather(Facts* facts) const override {
    (*facts)[Fact::kLeadingKeys].all = true;
    (*facts)[Fact::kAttributes].all = true;
  }
};

// What a request calls a table, by name or by ARN, in the form that policies are asked about.
struct Named {
  std::string_view table;  // its name; empty: it is in another account or region
  std::string arn;
};

Named TableNamed(const AccessContext& context, std::string_view name_or_arn, std::string_view index = {}) {
  if (!name_or_arn.starts_with("arn:")) return {name_or_arn, TableArn(context.principal, name_or_arn, index)};
  std::string_view table = name_or_arn;
  size_t at = name_or_arn.find(":table/");
  if (at != std::string_view::npos) table.remove_prefix(at + std::string_view(":table/").size());
  std::string own = TableArn(context.principal, table);
  if (at == std::string_view::npos || own == name_or_arn)
    return {table, TableArn(context.principal, table, index)};
  return {{}, std::string(name_or_arn)};
}

// Of a table elsewhere: nobody there has allowed anything to principals from here.
Error Elsewhere(const AccessContext& context, Action action, std::string_view arn) {
  return context.principal.Refuse(
      action, arn,
      " because no resource-based policy allows the dynamodb:" + std::string(NameOf(action)) + " action");
}

// An action on a table or an index of it, named as the request names the table; `gather(Gathering&)` tells
// what the request says.
template <class Gather>
Status CheckItems(const AccessContext& context, Action action, const std::string& name_or_arn,
                  std::string_view index, const Gather& gather) {
  Named named = TableNamed(context, name_or_arn, index);
  if (named.table.empty()) return Elsewhere(context, action, named.arn);
  if (!context.own_table.empty() && named.table == context.own_table) return Ok{};
  auto fill = [&](Facts* facts) {
    const std::string table(named.table);
    Gathering gathering(context, table, index, facts);
    gather(gathering);
  };
  Source source(fill);
  return context.principal.Check(action, named.arn, &source);
}

Status CheckTable(const AccessContext& context, Action action, const std::string& name_or_arn,
                  const auth::FactSource* facts = nullptr) {
  Named named = TableNamed(context, name_or_arn);
  if (named.table.empty()) return Elsewhere(context, action, named.arn);
  return context.principal.Check(action, named.arn, facts);
}

// What a request names by ARN, a stream or a backup, in this store's own place whatever place it names: where
// it is looked for does not depend on that either.
Status CheckNamed(const AccessContext& context, Action action, std::string_view arn) {
  std::string_view resource = arn;
  for (int colons = 0; colons < 5 && resource.find(':') != std::string_view::npos; ++colons)
    resource.remove_prefix(resource.find(':') + 1);
  return context.principal.Check(action, Arn(context.principal, resource), nullptr);
}

// --- the table: what each operation comes to ---

#define HF_ON_TABLE(name, member)                                            \
  Status Check(const AccessContext& context, const name##Request& request) { \
    return CheckTable(context, ActionOf(#name), request.member);             \
  }
#define HF_ON_ALL_TABLES(name)                                                                   \
  Status Check(const AccessContext& context, const name##Request&) {                             \
    return context.principal.Check(ActionOf(#name), Arn(context.principal, "table/*"), nullptr); \
  }
#define HF_ON_NOTHING(name)                                          \
  Status Check(const AccessContext& context, const name##Request&) { \
    return context.principal.Check(ActionOf(#name), "*", nullptr);   \
  }

#define HF_ON_NAMED(name, member)                                            \
  Status Check(const AccessContext& context, const name##Request& request) { \
    return CheckNamed(context, ActionOf(#name), request.member);             \
  }

HF_ON_TABLE(CreateBackup, table_name)
HF_ON_TABLE(CreateTable, table_name)
HF_ON_NAMED(DeleteBackup, backup_arn)
HF_ON_TABLE(DeleteTable, table_name)
HF_ON_NAMED(DescribeBackup, backup_arn)
HF_ON_TABLE(DescribeContinuousBackups, table_name)
HF_ON_NOTHING(DescribeEndpoints)
HF_ON_NOTHING(DescribeLimits)
HF_ON_NAMED(DescribeStream, stream_arn)
HF_ON_TABLE(DescribeTable, table_name)
HF_ON_TABLE(DescribeTimeToLive, table_name)
HF_ON_NAMED(GetShardIterator, stream_arn)
HF_ON_ALL_TABLES(ListBackups)
HF_ON_ALL_TABLES(ListTables)
HF_ON_TABLE(ListTagsOfResource, resource_arn)
HF_ON_TABLE(TagResource, resource_arn)
HF_ON_TABLE(UntagResource, resource_arn)
HF_ON_TABLE(UpdateContinuousBackups, table_name)
HF_ON_TABLE(UpdateTable, table_name)
HF_ON_TABLE(UpdateTimeToLive, table_name)

#undef HF_ON_TABLE
#undef HF_ON_ALL_TABLES
#undef HF_ON_NOTHING
#undef HF_ON_NAMED

Status Check(const AccessContext& context, const ListStreamsRequest& request) {
  std::string table = request.table_name ? ops::TableNameOf(*request.table_name) : "*";
  return CheckNamed(context, ActionOf("ListStreams"), "table/" + table + "/stream/*");
}

// An iterator begins with the ARN of its stream.
Status Check(const AccessContext& context, const GetRecordsRequest& request) {
  std::string_view iterator = request.shard_iterator;
  return CheckNamed(context, ActionOf("GetRecords"), iterator.substr(0, iterator.find('|')));
}

// A restore reads one thing and makes another, which takes what it takes to fill a table and to read it.
Status CheckRestored(const AccessContext& context, Action action, const std::string& target) {
  HF_CHECK_OK(CheckTable(context, action, target));
  Everything everything;
  for (Action filling : {ActionOf("BatchWriteItem"), ActionOf("PutItem"), ActionOf("UpdateItem"),
                         ActionOf("DeleteItem"), ActionOf("GetItem"), ActionOf("Query"), ActionOf("Scan")}) {
    HF_CHECK_OK(CheckTable(context, filling, target, &everything));
  }
  return Ok{};
}

Status Check(const AccessContext& context, const RestoreTableFromBackupRequest& request) {
  HF_CHECK_OK(CheckNamed(context, ActionOf("RestoreTableFromBackup"), request.backup_arn));
  return CheckRestored(context, ActionOf("RestoreTableFromBackup"), request.target_table_name);
}

Status Check(const AccessContext& context, const RestoreTableToPointInTimeRequest& request) {
  Action action = ActionOf("RestoreTableToPointInTime");
  for (const auto& source : {request.source_table_name, request.source_table_arn}) {
    if (source) HF_CHECK_OK(CheckTable(context, action, *source));
  }
  return CheckRestored(context, action, request.target_table_name);
}

// What a write has besides its item or key; of an action in a transaction some are not there.
template <class Request>
void GatherWrite(const Request& request, Gathering& gathering) {
  gathering.Condition(request.condition_expression, request.expression_attribute_names);
  gathering.OnFailure(request.return_values_on_condition_check_failure);
  if constexpr (requires { request.expected; }) {
    gathering.Names(request.expected);
    gathering.Returns(request.return_values);
    gathering.Capacity(request.return_consumed_capacity);
  }
}

Status Check(const AccessContext& context, const PutItemRequest& request) {
  return CheckItems(context, ActionOf("PutItem"), request.table_name, {}, [&](Gathering& gathering) {
    gathering.Written(request.item);
    GatherWrite(request, gathering);
  });
}

Status Check(const AccessContext& context, const DeleteItemRequest& request) {
  return CheckItems(context, ActionOf("DeleteItem"), request.table_name, {}, [&](Gathering& gathering) {
    gathering.Key(request.key);
    GatherWrite(request, gathering);
  });
}

Status Check(const AccessContext& context, const UpdateItemRequest& request) {
  return CheckItems(context, ActionOf("UpdateItem"), request.table_name, {}, [&](Gathering& gathering) {
    gathering.Key(request.key);
    gathering.Update(request.update_expression, request.expression_attribute_names);
    gathering.Names(request.attribute_updates);
    GatherWrite(request, gathering);
  });
}

Status Check(const AccessContext& context, const GetItemRequest& request) {
  return CheckItems(context, ActionOf("GetItem"), request.table_name, {}, [&](Gathering& gathering) {
    gathering.Key(request.key);
    gathering.Returned(request.projection_expression, request.expression_attribute_names,
                       request.attributes_to_get);
    gathering.Capacity(request.return_consumed_capacity);
  });
}

// What Query and Scan have in common.
template <class Request>
void GatherPage(const Request& request, Gathering& gathering) {
  gathering.Condition(request.filter_expression, request.expression_attribute_names);
  gathering.PageKeys(request.exclusive_start_key);
  gathering.Selected(request.select);
  gathering.Capacity(request.return_consumed_capacity);
  if (request.select != Select::kCount) {
    gathering.Returned(request.projection_expression, request.expression_attribute_names,
                       request.attributes_to_get);
  }
}

Status Check(const AccessContext& context, const QueryRequest& request) {
  std::string_view index = request.index_name ? std::string_view(*request.index_name) : std::string_view();
  return CheckItems(context, ActionOf("Query"), request.table_name, index, [&](Gathering& gathering) {
    gathering.KeyCondition(request);
    gathering.Names(request.query_filter);
    GatherPage(request, gathering);
  });
}

// A scan names no key: ForAllValues on dynamodb:LeadingKeys lets it pass, as on AWS.
Status Check(const AccessContext& context, const ScanRequest& request) {
  std::string_view index = request.index_name ? std::string_view(*request.index_name) : std::string_view();
  return CheckItems(context, ActionOf("Scan"), request.table_name, index, [&](Gathering& gathering) {
    gathering.Names(request.scan_filter);
    GatherPage(request, gathering);
  });
}

// AWS tells conditions nothing about searches.
Status Check(const AccessContext& context, const SearchVectorsRequest& request) {
  Action action = ActionOf("SearchVectors");
  auto untold = [](Facts* facts) { facts->told = false; };
  Source source(untold);
  Named named = TableNamed(context, request.table_name, request.index_name);
  if (named.table.empty()) return Elsewhere(context, action, named.arn);
  return context.principal.Check(action, named.arn, &source);
}

Status Check(const AccessContext& context, const BatchGetItemRequest& request) {
  for (const auto& of_table : request.request_items) {
    const auto& wanted = of_table.second;
    HF_CHECK_OK(CheckItems(context, ActionOf("BatchGetItem"), of_table.first, {}, [&](Gathering& gathering) {
      for (const Item& key : wanted.keys) gathering.Key(key);
      gathering.Returned(wanted.projection_expression, wanted.expression_attribute_names,
                         wanted.attributes_to_get);
      gathering.Capacity(request.return_consumed_capacity);
    }));
  }
  return Ok{};
}

Status Check(const AccessContext& context, const BatchWriteItemRequest& request) {
  for (const auto& of_table : request.request_items) {
    HF_CHECK_OK(
        CheckItems(context, ActionOf("BatchWriteItem"), of_table.first, {}, [&](Gathering& gathering) {
          for (const WriteRequest& write : of_table.second) {
            if (write.put_request) gathering.Written(write.put_request->item);
            if (write.delete_request) gathering.Key(write.delete_request->key);
          }
          gathering.Capacity(request.return_consumed_capacity);
        }));
  }
  return Ok{};
}

Status Check(const AccessContext& context, const TransactGetItemsRequest& request) {
  for (const TransactGetItem& item : request.transact_items) {
    const TransactGet& get = item.get;
    HF_CHECK_OK(CheckItems(context, ActionOf("GetItem"), get.table_name, {}, [&](Gathering& gathering) {
      gathering.Key(get.key);
      gathering.Returned(get.projection_expression, get.expression_attribute_names, std::nullopt);
      gathering.Capacity(request.return_consumed_capacity);
      gathering.Within("TransactGetItems");
    }));
  }
  return Ok{};
}

Status Check(const AccessContext& context, const TransactWriteItemsRequest& request) {
  auto check = [&](Action action, const auto& given, const auto& gather) {
    return CheckItems(context, action, given.table_name, {}, [&](Gathering& gathering) {
      gather(gathering);
      if constexpr (requires { given.update_expression; })
        gathering.Update(given.update_expression, given.expression_attribute_names);
      GatherWrite(given, gathering);
      gathering.Capacity(request.return_consumed_capacity);
      gathering.Within("TransactWriteItems");
    });
  };
  for (const TransactWriteItem& item : request.transact_items) {
    if (item.put) {
      HF_CHECK_OK(check(ActionOf("PutItem"), *item.put, [&](Gathering& g) { g.Written(item.put->item); }));
    }
    if (item.update) {
      HF_CHECK_OK(
          check(ActionOf("UpdateItem"), *item.update, [&](Gathering& g) { g.Key(item.update->key); }));
    }
    if (item.delete_action) {
      HF_CHECK_OK(check(ActionOf("DeleteItem"), *item.delete_action,
                        [&](Gathering& g) { g.Key(item.delete_action->key); }));
    }
    if (item.condition_check && !item.condition_check->of_model) {
      HF_CHECK_OK(check(ActionOf("ConditionCheckItem"), *item.condition_check,
                        [&](Gathering& g) { g.Key(item.condition_check->key); }));
    }
  }
  return Ok{};
}

}  // namespace

TableKeys KeysOf(engine::Engine* engine) {
  return [engine](const std::string& name, std::string_view index) {
    KeyNames keys;
    engine::TablePtr table = engine->catalog().Find(name);
    if (table == nullptr) return keys;
    engine::SchemaPtr schema = table->schema();
    if (index.empty()) {
      keys.partition.push_back(schema->partition.name);
      if (schema->sort) keys.sort.push_back(schema->sort->name);
    } else if (const engine::IndexSchema* found = schema->FindIndex(index)) {
      for (const engine::KeyAttribute& attribute : found->partition) keys.partition.push_back(attribute.name);
      for (const engine::KeyAttribute& attribute : found->sort) keys.sort.push_back(attribute.name);
    }
    return keys;
  };
}

bool MayCheck(const AccessContext& context, const TransactConditionCheck& check) {
  auto fill = [&](Facts* facts) {
    Gathering gathering(context, check.table_name, {}, facts);
    gathering.Key(check.key);
    GatherWrite(check, gathering);
    gathering.Within("TransactWriteItems");
  };
  Source source(fill);
  std::string arn = TableArn(context.principal, check.table_name);
  return context.principal.Decide(ActionOf("ConditionCheckItem"), arn, &source).allowed();
}

// An operation without its line in the table above does not compile here.
#define HF_OPERATION(name, ...)                                                    \
  Status CheckAccess(const AccessContext& context, const name##Request& request) { \
    return Check(context, request);                                                \
  }
#include "ops/operations.inc"
#undef HF_OPERATION

Status CheckFeed(const auth::Principal& principal, std::string_view table) {
  std::string arn = TableArn(principal, table) + "/stream/feed";
  Everything everything;
  return principal.Check(ActionOf("GetRecords"), arn, &everything);
}

Status CheckPush(const auth::Principal& principal) {
  Everything everything;
  return principal.Check(ActionOf("PutItem"), TableArn(principal, "*") + "/stream/feed", &everything);
}

Status CheckUse(const auth::Principal& principal, std::string_view table, Use use) {
  std::string arn = TableArn(principal, table);
  Everything everything;
  auto check = [&](Action action) { return principal.Check(action, arn, &everything); };
  HF_CHECK_OK(check(ActionOf("GetItem")));
  HF_CHECK_OK(check(ActionOf("Query")));
  if (use == Use::kRead) return Ok{};
  HF_CHECK_OK(check(ActionOf("PutItem")));
  HF_CHECK_OK(check(ActionOf("UpdateItem")));
  return check(ActionOf("DeleteItem"));
}

}  // namespace holdfast::store
