#include "ops/key_range.h"

#include "value/key_codec.h"

namespace holdfast::ops {
namespace {

using engine::KeyAttribute;
using expression::KeyCondition;
using value::ValueView;
using Conditions = std::vector<KeyCondition>;

const KeyCondition* Find(const Conditions& conditions, const std::string& attribute) {
  for (const KeyCondition& condition : conditions) {
    if (condition.attribute == attribute) return &condition;
  }
  return nullptr;
}

Status CheckOperand(const KeyAttribute& attribute, const KeyCondition& condition) {
  if (condition.kind == KeyCondition::Kind::kNotIndexable) {
    return ValidationError("Attempted conditional constraint is not an indexable operation");
  }
  for (ByteView operand : {condition.operand, condition.upper_operand}) {
    if (operand.empty()) continue;
    ValueView value(operand);
    if (value.type() != attribute.type) {
      return ValidationError(
          "One or more parameter values were invalid: Condition parameter type does not match schema type");
    }
    if (value.type() != value::Type::kNumber && value.payload().empty()) {
      return ValidationError(
          "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain "
          "an "
          "empty " +
          std::string(value.type() == value::Type::kString ? "string" : "binary") +
          " value. Key: " + attribute.name);
    }
  }
  return Ok{};
}

// Keys of several attributes have rules of their own, and are told what they are.
bool IsComposite(const TargetKeys& keys) {
  return keys.partition.size() > 1 || keys.sort.size() > 1;
}

Error HashNeedsEquality(const KeyAttribute& attribute) {
  return ValidationError(
      "Query key condition not supported: every HASH key attribute of the index needs an equality "
      "condition: " +
      attribute.name);
}

Error RangeFromLeft(const std::string& attribute) {
  return ValidationError(
      "Query key condition not supported: RANGE key attributes are used from left to right, all with "
      "equality "
      "conditions except the last one used: " +
      attribute);
}

Result<std::string> PartitionPrefix(const Target& target, const TargetKeys& keys,
                                    const Conditions& conditions, const Item* start) {
  std::vector<ByteView> payloads;
  for (const KeyAttribute& attribute : keys.partition) {
    if (start != nullptr) HF_CHECK_OK(CheckStartAttribute(attribute, *start, /*is_partition=*/true));
    if (!IsComposite(keys) && keys.sort.empty() && conditions.size() > 1) {
      return ValidationError("Query key condition not supported");
    }
    const KeyCondition* condition = Find(conditions, attribute.name);
    if (condition == nullptr) {
      if (IsComposite(keys)) return HashNeedsEquality(attribute);
      return ValidationError("Query condition missed key schema element: " + attribute.name);
    }
    HF_CHECK_OK(CheckOperand(attribute, *condition));
    if (condition->kind != KeyCondition::Kind::kEqual) {
      if (IsComposite(keys)) return HashNeedsEquality(attribute);
      return ValidationError("Query key condition not supported");
    }
    payloads.push_back(ValueView(condition->operand).payload());
  }
  if (target.index != nullptr) return engine::IndexPartitionPrefix(*target.index, payloads);
  return engine::ItemKey(target.schema(), payloads[0], std::nullopt);
}

// Adds the sort attributes that are fixed to `*prefix`; returns the condition on the next one, if there is
// any.
Result<const KeyCondition*> TakeSortConditions(const TargetKeys& keys, const Conditions& conditions,
                                               std::string* prefix) {
  size_t used = keys.partition.size();
  const KeyCondition* range = nullptr;
  for (const KeyAttribute& attribute : keys.sort) {
    const KeyCondition* condition = Find(conditions, attribute.name);
    if (condition == nullptr) break;
    if (range != nullptr) return RangeFromLeft(range->attribute);
    HF_CHECK_OK(CheckOperand(attribute, *condition));
    ++used;
    if (condition->kind == KeyCondition::Kind::kEqual) {
      value::AppendKeyField(ValueView(condition->operand).payload(), prefix);
      continue;
    }
    if (condition->kind == KeyCondition::Kind::kBeginsWith && attribute.type == value::Type::kNumber) {
      return ValidationError(
          "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or "
          "function: "
          "begins_with, operand type: N");
    }
    range = condition;
  }
  if (used == conditions.size()) return range;
  // A condition names something that is no key, or skips a sort attribute.
  if (IsComposite(keys)) {
    for (const KeyAttribute& attribute : keys.sort) {
      if (Find(conditions, attribute.name) == nullptr) return RangeFromLeft(attribute.name);
    }
  } else if (!keys.sort.empty() && Find(conditions, keys.sort[0].name) == nullptr) {
    return ValidationError("Query condition missed key schema element: " + keys.sort[0].name);
  }
  return ValidationError("Query key condition not supported");
}

}  // namespace

TargetKeys KeysOf(const Target& target) {
  if (target.index != nullptr) return {target.index->partition, target.index->sort};
  TargetKeys keys{{target.schema().partition}, {}};
  if (target.schema().sort) keys.sort.push_back(*target.schema().sort);
  return keys;
}

Result<storage::Range> KeyRange(const Target& target, const Conditions& conditions, const Item* start) {
  TargetKeys keys = KeysOf(target);
  if (!IsComposite(keys) && conditions.size() > 2) {
    return ValidationError("Conditions can be of length 1 or 2 only");
  }
  HF_TRY(std::string prefix, PartitionPrefix(target, keys, conditions, start));
  if (start != nullptr) {
    for (const KeyAttribute& attribute : keys.sort)
      HF_CHECK_OK(CheckStartAttribute(attribute, *start, false));
  }
  HF_TRY(const KeyCondition* condition, TakeSortConditions(keys, conditions, &prefix));
  storage::Range whole{prefix, value::PrefixSuccessor(prefix)};
  if (condition == nullptr) return whole;

  auto at = [&](ByteView operand) {
    std::string key = prefix;
    value::AppendKeyField(ValueView(operand).payload(), &key);
    return key;
  };
  auto after = [&](ByteView operand) { return value::PrefixSuccessor(at(operand)); };
  switch (condition->kind) {
    case KeyCondition::Kind::kNotIndexable:
    case KeyCondition::Kind::kEqual: break;  // refused, or part of the prefix
    case KeyCondition::Kind::kLess: return storage::Range{whole.lower, at(condition->operand)};
    case KeyCondition::Kind::kLessEqual: return storage::Range{whole.lower, after(condition->operand)};
    case KeyCondition::Kind::kGreater: return storage::Range{after(condition->operand), whole.upper};
    case KeyCondition::Kind::kGreaterEqual: return storage::Range{at(condition->operand), whole.upper};
    case KeyCondition::Kind::kBetween:
      return storage::Range{at(condition->operand), after(condition->upper_operand)};
    case KeyCondition::Kind::kBeginsWith: {
      std::string start = prefix;
      value::AppendKeyPrefix(ValueView(condition->operand).payload(), &start);
      std::string end = value::PrefixSuccessor(start);
      return storage::Range{std::move(start), std::move(end)};
    }
  }
  HF_ASSERT(false);
}

}  // namespace holdfast::ops
