#include "ops/legacy.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

using expression::Function;
using expression::Node;
using expression::NodeId;
using expression::Op;
using expression::Tree;
using value::Type;
using value::ValueView;
using Comparison = ComparisonOperator;

Status CheckName(const std::string& name) {
  if (name.empty()) return Invalid("Empty attribute name");
  if (name.size() > limits::kAttributeNameBytesMax) {
    return Invalid("Attribute name is too large, must be less than 65536 bytes");
  }
  return Ok{};
}

ValueView ViewOf(const SingleValue& holder) {
  return value::MapView(holder).At(0).value;
}

// Builds a condition's tree from the leaves up.
class TreeBuilder {
 public:
  NodeId Path(const std::string& attribute) {
    Node node{.op = Op::kPath};
    node.path.push_back({.name = attribute});
    return Add(std::move(node));
  }
  NodeId Value(const SingleValue& value) {
    return Add(Node{.op = Op::kValue, .value = ViewOf(value).bytes()});
  }
  NodeId Combine(Op op, std::vector<NodeId> operands) {
    Node node{.op = op};
    node.operands = std::move(operands);
    return Add(std::move(node));
  }
  NodeId Call(Function function, std::vector<NodeId> operands) {
    Node node{.op = Op::kFunction, .function = function};
    node.operands = std::move(operands);
    return Add(std::move(node));
  }
  Tree Take(NodeId root) {
    tree_.root = root;
    return std::move(tree_);
  }

 private:
  NodeId Add(Node node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(tree_.nodes.size() - 1);
  }
  Tree tree_;
};

NodeId AddComparison(const std::string& attribute, Comparison comparison,
                     const std::vector<const SingleValue*>& values, TreeBuilder* builder) {
  NodeId path = builder->Path(attribute);
  std::vector<NodeId> operands{path};
  for (const SingleValue* value : values) operands.push_back(builder->Value(*value));
  switch (comparison) {
    case Comparison::kEq: return builder->Combine(Op::kEqual, operands);
    case Comparison::kNe: return builder->Combine(Op::kNotEqual, operands);
    case Comparison::kLe: return builder->Combine(Op::kLessEqual, operands);
    case Comparison::kLt: return builder->Combine(Op::kLess, operands);
    case Comparison::kGe: return builder->Combine(Op::kGreaterEqual, operands);
    case Comparison::kGt: return builder->Combine(Op::kGreater, operands);
    case Comparison::kIn: return builder->Combine(Op::kIn, operands);
    case Comparison::kBetween: return builder->Combine(Op::kBetween, operands);
    case Comparison::kNotNull: return builder->Call(Function::kAttributeExists, operands);
    case Comparison::kNull: return builder->Call(Function::kAttributeNotExists, operands);
    case Comparison::kContains: return builder->Call(Function::kContains, operands);
    case Comparison::kBeginsWith: return builder->Call(Function::kBeginsWith, operands);
    case Comparison::kNotContains: {
      // What is not there contains nothing, but is no match either.
      NodeId contains = builder->Call(Function::kContains, operands);
      NodeId exists = builder->Call(Function::kAttributeExists, {builder->Path(attribute)});
      return builder->Combine(Op::kAnd, {exists, builder->Combine(Op::kNot, {contains})});
    }
  }
  HF_ASSERT(false);
}

bool AllowsType(Comparison comparison, Type type) {
  bool scalar = type == Type::kString || type == Type::kNumber || type == Type::kBinary;
  switch (comparison) {
    case Comparison::kEq:
    case Comparison::kNe:
    case Comparison::kNull:
    case Comparison::kNotNull: return true;
    case Comparison::kContains:
    case Comparison::kNotContains: return scalar || value::IsBool(type) || type == Type::kNull;
    case Comparison::kBeginsWith: return type == Type::kString || type == Type::kBinary;
    default: return scalar;
  }
}

// What 4 KB of text do for expressions: their parameters and the filters of a page are as large as they say.
Status CheckCount(std::string_view parameter, size_t count, size_t most) {
  if (count <= most) return Ok{};
  return Invalid(std::string(parameter) + " may have " + std::to_string(most) + " elements at most");
}

Status CheckArguments(Comparison comparison, const std::vector<const SingleValue*>& values) {
  for (const SingleValue* value : values) {
    if (const Error* defect = value->defect()) return *defect;
  }
  size_t least = 1, most = 1;
  if (comparison == Comparison::kNull || comparison == Comparison::kNotNull) least = most = 0;
  if (comparison == Comparison::kBetween) least = most = 2;
  if (comparison == Comparison::kIn) most = limits::kInOperandsMax;  // as in expressions
  std::string name(NameOf(comparison));
  if (values.size() < least || values.size() > most) {
    return Invalid("Invalid number of argument(s) for the " + name + " ComparisonOperator");
  }
  if (values.empty()) return Ok{};
  Type first = ViewOf(*values[0]).type();
  for (const SingleValue* value : values) {
    Type type = ViewOf(*value).type();
    if (!AllowsType(comparison, type)) {
      return Invalid("ComparisonOperator " + name + " is not valid for " +
                     std::string(value::TypeName(type)) + " AttributeValue type");
    }
    if (!value::SameType(type, first)) {
      return Invalid("AttributeValues inside AttributeValueList must be of same type");
    }
  }
  if (comparison == Comparison::kBetween && ViewOf(*values[0]).payload() > ViewOf(*values[1]).payload()) {
    return ValidationError(
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound");
  }
  return Ok{};
}

std::vector<const SingleValue*> Pointers(const std::optional<std::vector<SingleValue>>& values) {
  std::vector<const SingleValue*> pointers;
  if (values) {
    for (const SingleValue& value : *values) pointers.push_back(&value);
  }
  return pointers;
}

// The operands have been looked at by now: what is wrong with one of them is reported first.
Result<std::optional<expression::Condition>> Joined(std::vector<NodeId> conditions,
                                                    std::optional<ConditionalOperator> how,
                                                    TreeBuilder* builder) {
  if (how && conditions.empty()) {
    return ValidationError("ConditionalOperator cannot be used without Filter or Expected");
  }
  if (how && conditions.size() == 1) {
    return ValidationError(
        "ConditionalOperator can only be used when Filter or Expected has two or more elements");
  }
  if (conditions.empty()) return std::optional<expression::Condition>();
  NodeId root = conditions[0];
  if (conditions.size() > 1) {
    root = builder->Combine(how == ConditionalOperator::kOr ? Op::kOr : Op::kAnd, std::move(conditions));
  }
  return std::optional(expression::Condition::FromTree(builder->Take(root)));
}

// What one entry of Expected compares, once its four members have been found to go together.
struct Expectation {
  Comparison comparison;
  std::vector<const SingleValue*> values;
};

Result<Expectation> ReadExpectation(const std::string& attribute, const ExpectedAttributeValue& entry) {
  if (entry.value && entry.attribute_value_list) {
    return Invalid("Value and AttributeValueList cannot be used together for Attribute: " + attribute);
  }
  if (entry.comparison_operator) {
    std::string name(NameOf(*entry.comparison_operator));
    if (entry.exists) {
      return Invalid("Exists and ComparisonOperator cannot be used together for Attribute: " + attribute);
    }
    bool unary =
        *entry.comparison_operator == Comparison::kNull || *entry.comparison_operator == Comparison::kNotNull;
    if (!unary && !entry.value && !entry.attribute_value_list) {
      return Invalid("Value or AttributeValueList must be used with ComparisonOperator: " + name +
                     " for Attribute: " + attribute);
    }
    Expectation expectation{*entry.comparison_operator, Pointers(entry.attribute_value_list)};
    if (entry.value) expectation.values.push_back(&*entry.value);
    return expectation;
  }
  if (entry.attribute_value_list) {
    return Invalid("AttributeValueList can only be used with a ComparisonOperator for Attribute: " +
                   attribute);
  }
  bool exists = entry.exists.value_or(true);
  if (exists && !entry.value) {
    return Invalid("Value must be provided when Exists is " + std::string(entry.exists ? "true" : "null") +
                   " for Attribute: " + attribute);
  }
  if (!exists && entry.value) {
    return Invalid("Value cannot be used when Exists is false for Attribute: " + attribute);
  }
  if (!exists) return Expectation{Comparison::kNull, {}};
  return Expectation{Comparison::kEq, {&*entry.value}};
}

}  // namespace

Status CheckNotMixed(std::initializer_list<Parameter> legacy, std::initializer_list<Parameter> expressions) {
  auto list = [](std::initializer_list<Parameter> parameters) {
    std::string names;
    for (const Parameter& parameter : parameters) {
      if (parameter.given) names.append(names.empty() ? "" : ", ").append(parameter.name);
    }
    return names;
  };
  std::string old_names = list(legacy), new_names = list(expressions);
  if (old_names.empty() || new_names.empty()) return Ok{};
  return RequestError(
      "Can not use both expression and non-expression parameters in the same request: Non-expression "
      "parameters: {" +
      old_names + "} Expression parameters: {" + new_names + "}");
}

Result<std::optional<expression::Condition>> ConditionFromExpected(
    const std::optional<ExpectedAttributes>& expected,
    std::optional<ConditionalOperator> conditional_operator) {
  static const ExpectedAttributes kNone;
  HF_CHECK_OK(CheckCount("Expected", expected ? expected->size() : 0, limits::kExpressionOperatorsMax));
  TreeBuilder builder;
  std::vector<NodeId> conditions;
  for (const auto& [attribute, entry] : expected ? *expected : kNone) {
    HF_CHECK_OK(CheckName(attribute));
    HF_TRY(Expectation expectation, ReadExpectation(attribute, entry));
    HF_CHECK_OK(CheckArguments(expectation.comparison, expectation.values));
    conditions.push_back(AddComparison(attribute, expectation.comparison, expectation.values, &builder));
  }
  return Joined(std::move(conditions), conditional_operator, &builder);
}

Result<std::optional<expression::Condition>> ConditionFromFilter(
    const std::optional<LegacyConditions>& filter, std::optional<ConditionalOperator> conditional_operator) {
  static const LegacyConditions kNone;
  HF_CHECK_OK(CheckCount("A filter", filter ? filter->size() : 0, limits::kExpressionOperatorsMax));
  TreeBuilder builder;
  std::vector<NodeId> conditions;
  for (const auto& [attribute, condition] : filter ? *filter : kNone) {
    HF_CHECK_OK(CheckName(attribute));
    std::vector<const SingleValue*> values = Pointers(condition.attribute_value_list);
    HF_CHECK_OK(CheckArguments(condition.comparison_operator, values));
    conditions.push_back(AddComparison(attribute, condition.comparison_operator, values, &builder));
  }
  return Joined(std::move(conditions), conditional_operator, &builder);
}

Result<std::optional<expression::Update>> UpdateFromAttributes(
    const std::optional<AttributeUpdates>& updates) {
  if (!updates || updates->empty()) return std::optional<expression::Update>();
  HF_CHECK_OK(CheckCount("AttributeUpdates", updates->size(), limits::kLegacyNamesMax));
  using Kind = expression::UpdateClause::Kind;
  expression::ParsedUpdate parsed;
  for (const auto& [attribute, update] : *updates) {
    HF_CHECK_OK(CheckName(attribute));
    AttributeAction action = update.action.value_or(AttributeAction::kPut);
    if (update.value && update.value->defect() != nullptr) return *update.value->defect();
    if (!update.value && action != AttributeAction::kDelete) {
      return Invalid("Only DELETE action is allowed when no attribute value is specified");
    }
    if (update.value) {
      Type type = ViewOf(*update.value).type();
      bool addable = type == Type::kNumber || value::IsSet(type) || type == Type::kList;
      if (action == AttributeAction::kAdd && !addable) {
        return Invalid("ADD action is not supported for the type " + std::string(value::TypeName(type)));
      }
      if (action == AttributeAction::kDelete && !value::IsSet(type)) {
        return Invalid("DELETE action with value is not supported for the type " +
                       std::string(value::TypeName(type)));
      }
    }
    Kind kind = action == AttributeAction::kPut   ? Kind::kSet
                : action == AttributeAction::kAdd ? Kind::kAdd
                : update.value                    ? Kind::kDelete
                                                  : Kind::kRemove;
    Node path{.op = Op::kPath};
    path.path.push_back({.name = attribute});
    auto path_id = static_cast<NodeId>(parsed.tree.nodes.size());
    parsed.tree.nodes.push_back(std::move(path));
    NodeId value_id = path_id;
    if (update.value) {
      value_id = path_id + 1;
      parsed.tree.nodes.push_back(Node{.op = Op::kValue, .value = ViewOf(*update.value).bytes()});
    }
    parsed.clauses.push_back({kind, path_id, value_id});
  }
  return std::optional(expression::Update::FromLegacy(std::move(parsed)));
}

Result<std::vector<expression::KeyCondition>> KeyConditionsFrom(const LegacyConditions& conditions) {
  using Kind = expression::KeyCondition::Kind;
  std::vector<expression::KeyCondition> keys;
  for (const auto& [attribute, condition] : conditions) {
    HF_CHECK_OK(CheckName(attribute));
    std::vector<const SingleValue*> values = Pointers(condition.attribute_value_list);
    HF_CHECK_OK(CheckArguments(condition.comparison_operator, values));
    Kind kind;
    switch (condition.comparison_operator) {
      case Comparison::kEq: kind = Kind::kEqual; break;
      case Comparison::kLe: kind = Kind::kLessEqual; break;
      case Comparison::kLt: kind = Kind::kLess; break;
      case Comparison::kGe: kind = Kind::kGreaterEqual; break;
      case Comparison::kGt: kind = Kind::kGreater; break;
      case Comparison::kBetween: kind = Kind::kBetween; break;
      case Comparison::kBeginsWith: kind = Kind::kBeginsWith; break;
      default: kind = Kind::kNotIndexable; break;  // refused once it is known to be about a key
    }
    auto operand = [&](size_t i) { return i < values.size() ? ViewOf(*values[i]).bytes() : ByteView(); };
    keys.push_back({attribute, kind, operand(0), operand(1)});
  }
  return keys;
}

Result<std::optional<expression::Projection>> ProjectionFromNames(
    const std::optional<AttributesToGet>& names) {
  if (!names) return std::optional<expression::Projection>();
  HF_CHECK_OK(CheckCount("AttributesToGet", names->size(), limits::kLegacyNamesMax));
  std::set<std::string_view> distinct;
  for (const std::string& name : *names) {
    HF_CHECK_OK(CheckName(name));
    if (!distinct.insert(name).second) return Invalid("Duplicate value in attribute name: " + name);
  }
  return std::optional(expression::Projection::OfAttributes(*names));
}

}  // namespace holdfast::ops
