#include "expression/key_condition.h"
#include "ops/operations.h"
#include "ops/page.h"
#include "ops/projection.h"
#include "ops/single_write.h"
#include "value/key_codec.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::KeyAttribute;
using expression::KeyCondition;
using value::ValueView;

// The request's expressions; refer to the request.
struct Parsed {
  std::vector<KeyCondition> key_conditions;
  std::optional<expression::Condition> filter;
  std::optional<expression::Projection> projection;
};

Result<Parsed> Validate(const QueryRequest& request) {
  expression::Scope scope = ScopeOf(request);
  bool any = request.key_condition_expression || request.filter_expression || request.projection_expression;
  bool any_value = request.key_condition_expression || request.filter_expression;
  HF_CHECK_OK(scope.CheckMaps(any, any_value, "FilterExpression and KeyConditionExpression are null"));
  if (request.exclusive_start_key && request.exclusive_start_key->defect() != nullptr) {
    return ValidationError("The provided starting key is invalid: " +
                           request.exclusive_start_key->defect()->message());
  }
  HF_CHECK_OK(CheckSelect(request.select, request.projection_expression.has_value(),
                          request.index_name.has_value(), "Querying"));
  if (!request.key_condition_expression) {
    return ValidationError(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
        "request.");
  }
  Parsed parsed;
  HF_TRY(parsed.filter, ParseOptional("FilterExpression", request.filter_expression, &scope));
  HF_TRY(parsed.projection, ParseProjection(request.projection_expression, &scope));
  HF_TRY(parsed.key_conditions, expression::ParseKeyConditions(*request.key_condition_expression, &scope));
  HF_CHECK_OK(scope.CheckAllUsed());
  return parsed;
}

// The key of the target, whether table or index, as one list of each kind.
struct KeySchema {
  std::vector<KeyAttribute> partition;
  std::vector<KeyAttribute> sort;
};

KeySchema KeySchemaOf(const Target& target) {
  if (target.index != nullptr) return {target.index->partition, target.index->sort};
  KeySchema keys{{target.schema().partition}, {}};
  if (target.schema().sort) keys.sort.push_back(*target.schema().sort);
  return keys;
}

const KeyCondition* FindCondition(const std::vector<KeyCondition>& conditions, const std::string& attribute) {
  for (const KeyCondition& condition : conditions) {
    if (condition.attribute == attribute) return &condition;
  }
  return nullptr;
}

Status CheckOperand(const KeyAttribute& attribute, const KeyCondition& condition) {
  for (ByteView operand : {condition.operand, condition.upper_operand}) {
    if (operand.empty()) continue;
    ValueView value(operand);
    if (value.type() != attribute.type) {
      return ValidationError(
          "One or more parameter values were invalid: Condition parameter type does not match schema type");
    }
    if (value.type() != value::Type::kNumber && value.payload().empty()) {
      std::string what = value.type() == value::Type::kString ? "string" : "binary";
      return ValidationError(
          "One or more parameter values are not valid. The AttributeValue for a key attribute "
          "cannot contain an empty " +
          what + " value. Key: " + attribute.name);
    }
  }
  return Ok{};
}

// Matches the conditions with the key: every partition attribute is fixed, sort attributes are taken from the
// left, and only the last one taken may be a range.
Result<storage::Range> BoundRange(const Target& target, const std::vector<KeyCondition>& conditions) {
  KeySchema keys = KeySchemaOf(target);
  if (conditions.size() > keys.partition.size() + keys.sort.size()) {
    size_t most = keys.partition.size() + keys.sort.size();
    if (most <= 2) return ValidationError("Conditions can be of length 1 or 2 only");
  }
  std::vector<ByteView> partition;
  for (const KeyAttribute& attribute : keys.partition) {
    const KeyCondition* condition = FindCondition(conditions, attribute.name);
    if (condition == nullptr) {
      return ValidationError("Query condition missed key schema element: " + attribute.name);
    }
    HF_CHECK_OK(CheckOperand(attribute, *condition));
    if (condition->kind != KeyCondition::Kind::kEqual)
      return ValidationError("Query key condition not supported");
    partition.push_back(ValueView(condition->operand).payload());
  }
  std::string prefix;
  if (target.index != nullptr) {
    prefix = engine::IndexPartitionPrefix(*target.index, partition);
  } else {
    prefix = engine::ItemKey(target.schema(), partition[0], std::nullopt);
  }

  size_t used = keys.partition.size();
  const KeyCondition* range_condition = nullptr;
  for (const KeyAttribute& attribute : keys.sort) {
    const KeyCondition* condition = FindCondition(conditions, attribute.name);
    if (condition == nullptr) break;
    if (range_condition != nullptr) {
      return ValidationError(
          "Query key condition not supported: only the last sort key attribute used may have a "
          "condition other than equality");
    }
    HF_CHECK_OK(CheckOperand(attribute, *condition));
    ++used;
    if (condition->kind == KeyCondition::Kind::kEqual) {
      value::AppendKeyField(ValueView(condition->operand).payload(), &prefix);
      continue;
    }
    if (condition->kind == KeyCondition::Kind::kBeginsWith && attribute.type == value::Type::kNumber) {
      return ValidationError(
          "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
          "operator or function: begins_with, operand type: N");
    }
    range_condition = condition;
  }
  if (used < conditions.size()) {
    // A condition names something that is no key, or skips a sort attribute.
    for (const auto* part : {&keys.partition, &keys.sort}) {
      for (const KeyAttribute& attribute : *part) {
        if (FindCondition(conditions, attribute.name) == nullptr) {
          return ValidationError("Query condition missed key schema element: " + attribute.name);
        }
      }
    }
    return ValidationError("Query key condition not supported");
  }

  storage::Range whole{prefix, value::PrefixSuccessor(prefix)};
  if (range_condition == nullptr) return whole;
  auto field = [&](ByteView operand) {
    std::string key = prefix;
    value::AppendKeyField(ValueView(operand).payload(), &key);
    return key;
  };
  auto after = [](const std::string& key) { return value::PrefixSuccessor(key); };
  switch (range_condition->kind) {
    case KeyCondition::Kind::kLess: return storage::Range{whole.lower, field(range_condition->operand)};
    case KeyCondition::Kind::kLessEqual:
      return storage::Range{whole.lower, after(field(range_condition->operand))};
    case KeyCondition::Kind::kGreater:
      return storage::Range{after(field(range_condition->operand)), whole.upper};
    case KeyCondition::Kind::kGreaterEqual:
      return storage::Range{field(range_condition->operand), whole.upper};
    case KeyCondition::Kind::kBetween:
      return storage::Range{field(range_condition->operand), after(field(range_condition->upper_operand))};
    case KeyCondition::Kind::kBeginsWith: {
      std::string start = prefix;
      value::AppendKeyPrefix(ValueView(range_condition->operand).payload(), &start);
      std::string end = value::PrefixSuccessor(start);
      return storage::Range{std::move(start), std::move(end)};
    }
    case KeyCondition::Kind::kEqual: break;
  }
  HF_ASSERT(false);
}

Status CheckFilter(const Target& target, const expression::Condition* filter) {
  if (filter == nullptr) return Ok{};
  KeySchema keys = KeySchemaOf(target);
  Status status = Ok{};
  filter->ForEachPath([&](const expression::Path& path) {
    for (const auto* part : {&keys.partition, &keys.sort}) {
      for (const KeyAttribute& attribute : *part) {
        if (status && attribute.name == path[0].name) {
          status = ValidationError(
              "Filter Expression can only contain non-primary key attributes: Primary key "
              "attribute: " +
              attribute.name);
        }
      }
    }
  });
  HF_CHECK_OK(std::move(status));
  return CheckConditionPaths(target.schema(), filter);
}

Status CheckStart(const storage::Range& range, const std::string& start_after) {
  if (start_after >= range.lower && (range.upper.empty() || start_after < range.upper)) return Ok{};
  return ValidationError(
      "The provided starting key is outside query boundaries based on provided conditions");
}

}  // namespace

Result<QueryResponse> Perform(Context& context, const QueryRequest& request) {
  HF_TRY(Parsed parsed, Validate(request));
  bool consistent = request.consistent_read.value_or(false);
  HF_TRY(Target target, OpenTarget(context, request.table_name, request.index_name, consistent));

  PageSpec spec;
  HF_TRY(spec.range, BoundRange(target, parsed.key_conditions));
  HF_CHECK_OK(CheckFilter(target, PointerTo(parsed.filter)));
  HF_CHECK_OK(CheckProjectionPaths(target.schema(), PointerTo(parsed.projection)));
  HF_TRY(spec.shape,
         ChooseShape(target, request.select, PointerTo(parsed.projection), PointerTo(parsed.filter)));
  if (request.exclusive_start_key) {
    HF_TRY(std::string start, StartKey(target, *request.exclusive_start_key));
    HF_CHECK_OK(CheckStart(spec.range, start));
    spec.start_after = std::move(start);
  }
  spec.forward = request.scan_index_forward.value_or(true);
  if (request.limit) spec.limit = static_cast<size_t>(*request.limit);
  spec.consistent = consistent;
  spec.filter = PointerTo(parsed.filter);
  spec.projection = PointerTo(parsed.projection);

  TableUsage usage(target.ref.table.get(), target.ref.schema, TableUsage::Kind::kRead);
  HF_TRY(Page page, ReadPage(context, target, spec, &usage));
  QueryResponse response;
  response.items = std::move(page.items);
  response.count = page.count;
  response.scanned_count = page.scanned_count;
  response.last_evaluated_key = std::move(page.last_evaluated_key);
  response.consumed_capacity = usage.Report(request.return_consumed_capacity);
  return response;
}

}  // namespace holdfast::ops
