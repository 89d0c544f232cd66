// The parameters from before expressions: still part of the API, still sent by old programs. New programs use
// expressions; a request that mixes the two is refused.
#pragma once

#include "holdfast/ops/common.h"

namespace holdfast {

// One attribute value in a request: an Item with a single attribute of no name, because a request's values
// are kept in the stored form.
class SingleValue : public Item {
 public:
  using Item::Item;
  SingleValue() = default;
  SingleValue(const AttributeValue& value) : Item({{"", value}}) {}  // NOLINT
  SingleValue(Item holder) : Item(std::move(holder)) {}              // NOLINT
  AttributeValue value() const { return Get("").value_or(AttributeValue()); }
};

enum class ConditionalOperator : unsigned char { kAnd, kOr };
template <>
struct EnumNames<ConditionalOperator> {
  static constexpr std::pair<ConditionalOperator, std::string_view> kAll[] = {
      {ConditionalOperator::kOr, "OR"}, {ConditionalOperator::kAnd, "AND"}};
};

enum class AttributeAction : unsigned char { kPut, kAdd, kDelete };
template <>
struct EnumNames<AttributeAction> {
  static constexpr std::pair<AttributeAction, std::string_view> kAll[] = {
      {AttributeAction::kAdd, "ADD"}, {AttributeAction::kDelete, "DELETE"}, {AttributeAction::kPut, "PUT"}};
};

enum class ComparisonOperator : unsigned char {
  kEq,
  kNe,
  kIn,
  kLe,
  kLt,
  kGe,
  kGt,
  kBetween,
  kNotNull,
  kNull,
  kContains,
  kNotContains,
  kBeginsWith
};
template <>
struct EnumNames<ComparisonOperator> {
  static constexpr std::pair<ComparisonOperator, std::string_view> kAll[] = {
      {ComparisonOperator::kIn, "IN"},
      {ComparisonOperator::kNull, "NULL"},
      {ComparisonOperator::kBetween, "BETWEEN"},
      {ComparisonOperator::kLt, "LT"},
      {ComparisonOperator::kNotContains, "NOT_CONTAINS"},
      {ComparisonOperator::kEq, "EQ"},
      {ComparisonOperator::kGt, "GT"},
      {ComparisonOperator::kNotNull, "NOT_NULL"},
      {ComparisonOperator::kNe, "NE"},
      {ComparisonOperator::kLe, "LE"},
      {ComparisonOperator::kBeginsWith, "BEGINS_WITH"},
      {ComparisonOperator::kGe, "GE"},
      {ComparisonOperator::kContains, "CONTAINS"}};
};

struct AttributeValueUpdate {
  std::optional<SingleValue> value;
  std::optional<AttributeAction> action;  // kPut unless given

  static constexpr std::string_view kTypeName = "AttributeValueUpdate";
  static constexpr auto Fields() {
    using S = AttributeValueUpdate;
    return FieldList(Field("Value", &S::value), Field("Action", &S::action));
  }
};
using AttributeUpdates = std::map<std::string, AttributeValueUpdate>;

struct ExpectedAttributeValue {
  std::optional<SingleValue> value;
  std::optional<bool> exists;
  std::optional<ComparisonOperator> comparison_operator;
  std::optional<std::vector<SingleValue>> attribute_value_list;

  static constexpr std::string_view kTypeName = "ExpectedAttributeValue";
  static constexpr auto Fields() {
    using S = ExpectedAttributeValue;
    return FieldList(Field("Value", &S::value), Field("Exists", &S::exists),
                     Field("ComparisonOperator", &S::comparison_operator),
                     Field("AttributeValueList", &S::attribute_value_list));
  }
};
using ExpectedAttributes = std::map<std::string, ExpectedAttributeValue>;

struct LegacyCondition {
  std::optional<std::vector<SingleValue>> attribute_value_list;
  ComparisonOperator comparison_operator = ComparisonOperator::kEq;

  static constexpr std::string_view kTypeName = "Condition";
  static constexpr auto Fields() {
    using S = LegacyCondition;
    return FieldList(Field("AttributeValueList", &S::attribute_value_list),
                     Field("ComparisonOperator", &S::comparison_operator, {.required = true}));
  }
};
using LegacyConditions = std::map<std::string, LegacyCondition>;

using AttributesToGet = std::vector<std::string>;

}  // namespace holdfast
