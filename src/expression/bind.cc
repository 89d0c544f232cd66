#include "expression/bind.h"

#include <algorithm>

#include "base/base64.h"
#include "base/limits.h"
#include "base/shown.h"
#include "expression/reserved_words.h"

namespace holdfast::expression {
namespace {

using value::Type;
using value::ValueView;

bool IsPlaceholder(std::string_view key, char lead) {
  if (key.size() < 2 || key[0] != lead) return false;
  return std::all_of(key.begin() + 1, key.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
}

Status CheckPlaceholder(std::string_view map, std::string_view key, char lead) {
  std::string prefix = std::string(map) + " contains invalid key: ";
  if (!IsPlaceholder(key, lead)) {
    return ValidationError(prefix + "Syntax error; key: \"" + base::Shown(key) + "\"");
  }
  if (key.size() > limits::kExpressionSubstitutionBytesMax) {
    return ValidationError(prefix + "The expression attribute map key is too long; key: \"" +
                           base::Shown(key) + "\"");
  }
  return Ok{};
}

std::string_view OperatorText(const Node& node) {
  switch (node.op) {
    case Op::kEqual: return "=";
    case Op::kNotEqual: return "<>";
    case Op::kLess: return "<";
    case Op::kLessEqual: return "<=";
    case Op::kGreater: return ">";
    case Op::kGreaterEqual: return ">=";
    case Op::kBetween: return "BETWEEN";
    case Op::kIn: return "IN";
    case Op::kPlus: return "+";
    case Op::kMinus: return "-";
    case Op::kFunction: return node.text;
    default: return "";
  }
}

}  // namespace

std::string ValueText(ValueView value) {
  std::string text = "AttributeValue: {" + std::string(value::TypeName(value.type())) + ":";
  switch (value.type()) {
    case Type::kNumber: value.number().AppendText(&text); break;
    case Type::kString: text += base::Shown(value.payload()); break;
    case Type::kBinary:
      text += base::Shown(base::Base64(value.payload().substr(0, limits::kShownBytesMax)));
      break;
    case Type::kTrue: text += "true"; break;
    case Type::kFalse: text += "false"; break;
    default: text += "..."; break;
  }
  return text + "}";
}

namespace {

bool IsOrdered(Type type) {
  return type == Type::kNumber || type == Type::kString || type == Type::kBinary;
}

constexpr std::string_view kAttributeTypeNames[] = {"B",  "NULL", "SS", "BOOL", "L",
                                                    "BS", "N",    "NS", "S",    "M"};

class Binder {
 public:
  Binder(std::string_view what, Scope* scope, Tree* tree) : what_(what), scope_(scope), tree_(tree) {}

  Error Fail(const std::string& why) const { return InvalidExpression(what_, why); }

  // --- whole-tree questions, asked one after the other before any placeholder is looked up ---

  Status CheckFunctionNames() const {
    for (const Node& node : tree_->nodes) {
      if (node.op == Op::kFunction && node.function == Function::kUnknown) {
        return Fail("Invalid function name; function: " + std::string(node.text));
      }
    }
    return Ok{};
  }

  Status CheckReservedWords() const {
    for (const Node& node : tree_->nodes) {
      for (const PathStep& step : node.path) {
        if (!step.is_position() && step.name[0] != '#' && IsReservedWord(step.name)) {
          return Fail("Attribute name is a reserved keyword; reserved keyword: " + std::string(step.name));
        }
      }
    }
    return Ok{};
  }

  // In a condition only size() gives something to compare, and only the others give a truth value.
  Status CheckFunctionPlaces(NodeId id, bool as_condition) const {
    const Node& node = tree_->at(id);
    if (node.op == Op::kFunction) {
      bool is_update_function =
          node.function == Function::kIfNotExists || node.function == Function::kListAppend;
      bool gives_truth = node.function != Function::kSize && !is_update_function;
      if (is_update_function || gives_truth != as_condition) {
        return Fail("The function is not allowed " +
                    std::string(is_update_function ? "in a condition expression"
                                                   : "to be used this way in an expression") +
                    "; function: " + std::string(node.text));
      }
    }
    bool operands_are_conditions = node.op == Op::kAnd || node.op == Op::kOr || node.op == Op::kNot;
    for (NodeId operand : node.operands) HF_CHECK_OK(CheckFunctionPlaces(operand, operands_are_conditions));
    return Ok{};
  }

  Status CheckUpdateFunctions() const {
    for (const Node& node : tree_->nodes) {
      if (node.op == Op::kFunction && node.function != Function::kIfNotExists &&
          node.function != Function::kListAppend) {
        return Fail("The function is not allowed in an update expression; function: " +
                    std::string(node.text));
      }
    }
    // Only if_not_exists may be the argument of a function.
    for (const Node& node : tree_->nodes) {
      if (node.op != Op::kFunction) continue;
      for (NodeId operand : node.operands) {
        const Node& inner = tree_->at(operand);
        if (inner.op == Op::kFunction && inner.function == Function::kListAppend) {
          return Fail("The function is not allowed to be used this way in an expression; function: " +
                      std::string(inner.text));
        }
      }
    }
    return Ok{};
  }

  // --- placeholders ---

  Status BindNode(NodeId id) {
    Node& node = tree_->nodes[id];
    for (PathStep& step : node.path) {
      if (step.is_position() || step.name[0] != '#') continue;
      auto name = scope_->Name(step.name);
      if (!name) {
        return Fail(
            "An expression attribute name used in the document path is not defined; attribute name: " +
            std::string(step.name));
      }
      step.name = *name;
    }
    if (node.path.size() > limits::kPathElementsMax) {
      return Fail("The document path has too many nesting levels; nesting levels: " +
                  std::to_string(node.path.size()));
    }
    if (node.op == Op::kValue) {
      auto value = scope_->Value(node.text);
      if (!value) {
        return Fail("An expression attribute value used in expression is not defined; attribute value: " +
                    std::string(node.text));
      }
      node.value = value->bytes();
    }
    for (NodeId operand : node.operands) HF_CHECK_OK(BindNode(operand));
    return Ok{};
  }

  // Binds and checks condition by condition, left to right, so that the first bad one is reported.
  Status BindConditions(NodeId id) {
    const Node& node = tree_->at(id);
    if (node.op == Op::kAnd || node.op == Op::kOr || node.op == Op::kNot) {
      for (NodeId operand : node.operands) HF_CHECK_OK(BindConditions(operand));
      return Ok{};
    }
    HF_CHECK_OK(BindNode(id));
    HF_CHECK_OK(CheckOperandCounts(id));
    HF_CHECK_OK(CheckDistinct(id));
    return CheckOperandTypes(id);
  }

  Status CheckOperandCounts(NodeId id) const {
    const Node& node = tree_->at(id);
    for (NodeId operand : node.operands) HF_CHECK_OK(CheckOperandCounts(operand));
    if (node.op != Op::kFunction) return Ok{};
    bool unary = node.function == Function::kAttributeExists ||
                 node.function == Function::kAttributeNotExists || node.function == Function::kSize;
    if (node.operands.size() != (unary ? 1 : 2)) {
      return Fail("Incorrect number of operands for operator or function; operator or function: " +
                  std::string(node.text) + ", number of operands: " + std::to_string(node.operands.size()));
    }
    return Ok{};
  }

  Status CheckDistinct(NodeId id) const {
    const Node& node = tree_->at(id);
    if (node.op == Op::kBetween || node.operands.empty()) return Ok{};
    const Node& first = tree_->at(node.operands[0]);
    if (first.op != Op::kPath) return Ok{};
    for (size_t i = 1; i < node.operands.size(); ++i) {
      const Node& other = tree_->at(node.operands[i]);
      if (other.op == Op::kPath && other.path == first.path) {
        return Fail(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            "operator: " +
            std::string(OperatorText(node)) + ", first operand: " + PathText(first.path));
      }
    }
    return Ok{};
  }

  Status CheckOperandTypes(NodeId id) const {
    const Node& node = tree_->at(id);
    for (NodeId operand : node.operands) HF_CHECK_OK(CheckOperandTypes(operand));
    switch (node.op) {
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kGreater:
      case Op::kGreaterEqual:
        for (NodeId operand : node.operands) HF_CHECK_OK(RequireType(node, operand, IsOrdered));
        return Ok{};
      case Op::kBetween: return CheckBetween(node);
      case Op::kPlus:
      case Op::kMinus:
        for (NodeId operand : node.operands) {
          HF_CHECK_OK(RequireType(node, operand, [](Type type) { return type == Type::kNumber; }));
        }
        return Ok{};
      case Op::kFunction: return CheckFunctionOperands(node);
      default: return Ok{};
    }
  }

  Status CheckClauseOperand(const UpdateClause& clause) const {
    const Node& node = tree_->at(clause.value);
    Type type = ValueView(node.value).type();
    bool is_add = clause.kind == UpdateClause::Kind::kAdd;
    if (value::IsSet(type) || (is_add && type == Type::kNumber)) return Ok{};
    static constexpr std::string_view kNames[] = {"NULL",       "BOOLEAN", "BOOLEAN",    "NUMBER",
                                                  "STRING",     "BINARY",  "STRING_SET", "NUMBER_SET",
                                                  "BINARY_SET", "LIST",    "MAP"};
    std::string_view verb = is_add ? "ADD" : "DELETE";
    return Fail("Incorrect operand type for operator or function; operator: " + std::string(verb) +
                ", operand type: " + std::string(kNames[static_cast<size_t>(type)]) +
                ", typeSet: ALLOWED_FOR_" + std::string(verb) + "_OPERAND");
  }

 private:
  std::optional<Type> ConstantType(const Node& node) const {
    if (node.op == Op::kValue) return ValueView(node.value).type();
    if (node.op == Op::kFunction && node.function == Function::kSize) return Type::kNumber;
    return std::nullopt;
  }

  Error WrongType(const Node& node, std::string_view type) const {
    return Fail("Incorrect operand type for operator or function; operator or function: " +
                std::string(OperatorText(node)) + ", operand type: " + std::string(type));
  }

  template <class Allowed>
  Status RequireType(const Node& node, NodeId operand, const Allowed& allowed) const {
    auto type = ConstantType(tree_->at(operand));
    if (type && !allowed(*type)) return WrongType(node, value::TypeName(*type));
    return Ok{};
  }

  Status CheckBetween(const Node& node) const {
    for (NodeId operand : node.operands) HF_CHECK_OK(RequireType(node, operand, IsOrdered));
    const Node& lower = tree_->at(node.operands[1]);
    const Node& upper = tree_->at(node.operands[2]);
    if (lower.op != Op::kValue || upper.op != Op::kValue) return Ok{};
    ValueView low(lower.value), high(upper.value);
    std::string bounds =
        "; lower bound operand: " + ValueText(low) + ", upper bound operand: " + ValueText(high);
    if (low.type() != high.type()) {
      return Fail("The BETWEEN operator requires same data type for lower and upper bounds" + bounds);
    }
    if (low.payload() > high.payload()) {
      return Fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound" +
                  bounds);
    }
    return Ok{};
  }

  Status CheckFunctionOperands(const Node& node) const {
    const Node& first = tree_->at(node.operands[0]);
    switch (node.function) {
      case Function::kAttributeExists:
      case Function::kAttributeNotExists:
      case Function::kIfNotExists:
        if (first.op != Op::kPath) {
          return Fail("Operator or function requires a document path; operator or function: " +
                      std::string(node.text));
        }
        return Ok{};
      case Function::kBeginsWith:
        for (NodeId operand : node.operands) {
          HF_CHECK_OK(RequireType(node, operand,
                                  [](Type type) { return type == Type::kString || type == Type::kBinary; }));
        }
        return Ok{};
      case Function::kSize:
        return RequireType(node, node.operands[0], [](Type type) {
          return type != Type::kNumber && !value::IsBool(type) && type != Type::kNull;
        });
      case Function::kListAppend:
        for (NodeId operand : node.operands) {
          HF_CHECK_OK(RequireType(node, operand, [](Type type) { return type == Type::kList; }));
        }
        return Ok{};
      case Function::kAttributeType: return CheckAttributeType(node);
      default: return Ok{};
    }
  }

  Status CheckAttributeType(const Node& node) const {
    const Node& second = tree_->at(node.operands[1]);
    auto type = ConstantType(second);
    if (!type) return WrongType(node, "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}");
    if (*type != Type::kString) return WrongType(node, value::TypeName(*type));
    ByteView name = ValueView(second.value).payload();
    for (std::string_view known : kAttributeTypeNames) {
      if (name == known) return Ok{};
    }
    return Fail("Invalid attribute type name found; type: " + base::Shown(name) +
                ", valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}");
  }

  const std::string_view what_;
  Scope* scope_;
  Tree* tree_;
};

}  // namespace

Scope::Scope(const NameMap* names, const Item* values) : names_(names), values_(values) {
  if (values_ != nullptr) values_used_.resize(values_->size());
}

Status Scope::CheckUsable(bool any_expression, bool any_value_expression,
                          std::string_view missing_expressions) const {
  if (names_ != nullptr && !any_expression) {
    return ValidationError("ExpressionAttributeNames can only be specified when using expressions");
  }
  if (values_ != nullptr && !any_value_expression) {
    return RequestError("ExpressionAttributeValues can only be specified when using expressions: " +
                        std::string(missing_expressions));
  }
  return Ok{};
}

Status Scope::CheckMaps() const {
  if (names_ != nullptr) HF_CHECK_OK(CheckNames());
  if (values_ != nullptr) HF_CHECK_OK(CheckValues());
  return Ok{};
}

Status Scope::CheckNames() const {
  if (names_->empty()) return ValidationError("ExpressionAttributeNames must not be empty");
  size_t bytes = 0;
  for (const auto& [placeholder, name] : *names_) bytes += placeholder.size() + name.size();
  if (bytes > limits::kExpressionMapBytesMax) {
    return ValidationError("ExpressionAttributeNames exceeds max size");
  }
  for (const auto& [placeholder, name] : *names_) {
    HF_CHECK_OK(CheckPlaceholder("ExpressionAttributeNames", placeholder, '#'));
    if (name.empty() || name.size() > limits::kAttributeNameBytesMax) {
      return ValidationError("ExpressionAttributeNames contains invalid value: " +
                             std::string(name.empty()
                                             ? "Empty attribute name"
                                             : "Attribute name is too large, must be less than 65536 bytes") +
                             "; key: \"" + placeholder + "\"");
    }
  }
  return Ok{};
}

Status Scope::CheckValues() const {
  // A defective map still has its keys.
  value::MapView values(*values_);
  if (values.size() == 0) return ValidationError("ExpressionAttributeValues must not be empty");
  for (uint32_t i = 0; i < values.size(); ++i) {
    HF_CHECK_OK(CheckPlaceholder("ExpressionAttributeValues", values.At(i).name, ':'));
  }
  if (const Error* defect = values_->defect()) return *defect;
  // The flat form takes more than what is counted.
  bool may_exceed = values_->flat().size() > limits::kExpressionMapBytesMax;
  if (may_exceed && value::ItemSize(values) > limits::kExpressionMapBytesMax) {
    return ValidationError("ExpressionAttributeValues exceeds max size");
  }
  return Ok{};
}

Status Scope::CheckAllUsed() const {
  std::string unused;
  auto add = [&](std::string_view key) {
    if (unused.size() <= limits::kShownBytesMax) unused.append(unused.empty() ? "" : ", ").append(key);
  };
  if (names_ != nullptr) {
    std::vector<const std::string*> used = names_used_;
    std::sort(used.begin(), used.end());
    for (const auto& [placeholder, name] : *names_) {
      if (!std::binary_search(used.begin(), used.end(), &placeholder)) add(placeholder);
    }
    if (!unused.empty()) {
      return RequestError("Value provided in ExpressionAttributeNames unused in expressions: keys: {" +
                          base::Shown(unused) + "}");
    }
  }
  if (values_ != nullptr) {
    value::MapView values(*values_);
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (!values_used_[i]) add(values.At(i).name);
    }
    if (!unused.empty()) {
      return RequestError("Value provided in ExpressionAttributeValues unused in expressions: keys: {" +
                          base::Shown(unused) + "}");
    }
  }
  return Ok{};
}

std::optional<std::string_view> Scope::Name(std::string_view placeholder) {
  if (names_ == nullptr) return std::nullopt;
  auto found = names_->find(std::string(placeholder));
  if (found == names_->end()) return std::nullopt;
  names_used_.push_back(&found->first);
  return found->second;
}

std::optional<ValueView> Scope::Value(std::string_view placeholder) {
  if (values_ == nullptr) return std::nullopt;
  value::MapView values(*values_);
  auto position = values.IndexOf(placeholder);
  if (!position) return std::nullopt;
  values_used_[*position] = true;
  return values.At(*position).value;
}

Status BindCondition(std::string_view what, Scope* scope, Tree* tree) {
  Binder binder(what, scope, tree);
  HF_CHECK_OK(binder.CheckFunctionNames());
  HF_CHECK_OK(binder.CheckFunctionPlaces(tree->root, /*as_condition=*/true));
  HF_CHECK_OK(binder.CheckReservedWords());
  return binder.BindConditions(tree->root);
}

Status BindUpdate(Scope* scope, ParsedUpdate* update) {
  Binder binder("UpdateExpression", scope, &update->tree);
  HF_CHECK_OK(binder.CheckReservedWords());
  HF_CHECK_OK(binder.CheckFunctionNames());
  HF_CHECK_OK(binder.CheckUpdateFunctions());
  if (!update->repeated_section.empty()) {
    return binder.Fail("The \"" + std::string(update->repeated_section) +
                       "\" section can only be used once in an update expression;");
  }
  for (const UpdateClause& clause : update->clauses) {
    HF_CHECK_OK(binder.BindNode(clause.path));
    if (clause.kind != UpdateClause::Kind::kRemove) HF_CHECK_OK(binder.BindNode(clause.value));
  }
  return Ok{};
}

Status CheckUpdateOperands(ParsedUpdate* update) {
  Binder binder("UpdateExpression", nullptr, &update->tree);
  for (const UpdateClause& clause : update->clauses) {
    if (clause.kind == UpdateClause::Kind::kAdd || clause.kind == UpdateClause::Kind::kDelete) {
      HF_CHECK_OK(binder.CheckClauseOperand(clause));
    }
  }
  for (const UpdateClause& clause : update->clauses) {
    if (clause.kind != UpdateClause::Kind::kSet) continue;
    HF_CHECK_OK(binder.CheckOperandCounts(clause.value));
    HF_CHECK_OK(binder.CheckOperandTypes(clause.value));
  }
  return Ok{};
}

Status BindProjection(Scope* scope, ParsedProjection* projection) {
  Binder binder("ProjectionExpression", scope, &projection->tree);
  HF_CHECK_OK(binder.CheckReservedWords());
  for (NodeId path : projection->paths) HF_CHECK_OK(binder.BindNode(path));
  return Ok{};
}

}  // namespace holdfast::expression
