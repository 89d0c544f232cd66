#include "expression/key_condition.h"

namespace holdfast::expression {
namespace {

// Without the "Invalid KeyConditionExpression: " that syntax errors have.
Error Fail(const std::string& why) {
  return ValidationError(why);
}

std::string_view OperatorName(const Node& node) {
  switch (node.op) {
    case Op::kOr: return "OR";
    case Op::kNot: return "NOT";
    case Op::kIn: return "IN";
    case Op::kNotEqual: return "<>";
    default: return node.text;
  }
}

KeyCondition::Kind Mirror(KeyCondition::Kind kind) {
  using Kind = KeyCondition::Kind;
  switch (kind) {
    case Kind::kLess: return Kind::kGreater;
    case Kind::kLessEqual: return Kind::kGreaterEqual;
    case Kind::kGreater: return Kind::kLess;
    case Kind::kGreaterEqual: return Kind::kLessEqual;
    default: return kind;
  }
}

class Collector {
 public:
  explicit Collector(const Tree& tree) : tree_(tree) {}

  Status Collect(NodeId id) {
    const Node& node = tree_.at(id);
    switch (node.op) {
      case Op::kAnd:
        for (NodeId operand : node.operands) HF_CHECK_OK(Collect(operand));
        return Ok{};
      case Op::kOr:
      case Op::kNot:
      case Op::kIn:
      case Op::kNotEqual:
        return Fail("Invalid operator used in KeyConditionExpression: " + std::string(OperatorName(node)));
      case Op::kFunction:
        if (node.function != Function::kBeginsWith) {
          return Fail("Invalid operator used in KeyConditionExpression: " + std::string(OperatorName(node)));
        }
        return AddCondition(node, KeyCondition::Kind::kBeginsWith);
      case Op::kBetween: return AddCondition(node, KeyCondition::Kind::kBetween);
      case Op::kEqual: return AddCondition(node, KeyCondition::Kind::kEqual);
      case Op::kLess: return AddCondition(node, KeyCondition::Kind::kLess);
      case Op::kLessEqual: return AddCondition(node, KeyCondition::Kind::kLessEqual);
      case Op::kGreater: return AddCondition(node, KeyCondition::Kind::kGreater);
      case Op::kGreaterEqual: return AddCondition(node, KeyCondition::Kind::kGreaterEqual);
      default: HF_ASSERT(false);
    }
  }

  std::vector<KeyCondition> conditions;

 private:
  Status AddCondition(const Node& node, KeyCondition::Kind kind) {
    bool key_first = kind == KeyCondition::Kind::kBetween || kind == KeyCondition::Kind::kBeginsWith;
    if (key_first && tree_.at(node.operands[0]).op != Op::kPath) {
      return Fail("Invalid condition in KeyConditionExpression: " +
                  std::string(kind == KeyCondition::Kind::kBetween ? "BETWEEN" : "begins_with") +
                  " operator must have the key attribute as its first operand");
    }
    const Node* path = nullptr;
    std::vector<ByteView> values;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Node& operand = tree_.at(node.operands[i]);
      if (operand.op == Op::kFunction)
        return Fail("KeyConditionExpressions cannot contain nested operations");
      if (operand.op == Op::kValue) {
        values.push_back(operand.value);
        continue;
      }
      if (path != nullptr) {
        return Fail(
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition");
      }
      if (operand.path.size() > 1) {
        return Fail("KeyConditionExpressions cannot have conditions on nested attributes");
      }
      path = &operand;
      if (i > 0) kind = Mirror(kind);
    }
    if (path == nullptr)
      return Fail("Invalid condition in KeyConditionExpression: No key attribute specified");
    std::string_view attribute = path->path[0].name;
    for (const KeyCondition& other : conditions) {
      if (other.attribute == attribute)
        return Fail("KeyConditionExpressions must only contain one condition per key");
    }
    conditions.push_back(
        {std::string(attribute), kind, values[0], values.size() > 1 ? values[1] : ByteView()});
    return Ok{};
  }

  const Tree& tree_;
};

}  // namespace

Result<Tree> ParseKeyConditionTree(std::string_view text, Scope* scope) {
  HF_TRY(Tree tree, ParseConditionText("KeyConditionExpression", text));
  HF_CHECK_OK(BindCondition("KeyConditionExpression", scope, &tree));
  return tree;
}

Result<std::vector<KeyCondition>> CollectKeyConditions(const Tree& tree) {
  Collector collector(tree);
  HF_CHECK_OK(collector.Collect(tree.root));
  return std::move(collector.conditions);
}

}  // namespace holdfast::expression
