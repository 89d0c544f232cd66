#include "expression/condition.h"

#include <algorithm>

#include "base/find.h"

namespace holdfast::expression {
namespace {

using value::ContainerView;
using value::MapView;
using value::Type;
using value::ValueView;

// The length of a string in UTF-16 units, which is what DynamoDB's size() counts.
size_t Utf16Length(ByteView text) {
  size_t units = 0;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) continue;
    units += byte >= 0xf0 ? 2 : 1;
  }
  return units;
}

std::optional<int64_t> SizeOf(ValueView value) {
  switch (value.type()) {
    case Type::kString: return static_cast<int64_t>(Utf16Length(value.payload()));
    case Type::kBinary: return static_cast<int64_t>(value.payload().size());
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet:
    case Type::kList:
    case Type::kMap: return value.entries().size();
    default: return std::nullopt;
  }
}

bool Contains(ValueView container, ValueView wanted) {
  switch (container.type()) {
    case Type::kString:
    case Type::kBinary:
      return wanted.type() == container.type() && base::Contains(container.payload(), wanted.payload());
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet: {
      Type member = container.type() == Type::kStringSet   ? Type::kString
                    : container.type() == Type::kNumberSet ? Type::kNumber
                                                           : Type::kBinary;
      if (wanted.type() != member) return false;
      ContainerView members = container.entries();
      for (uint32_t i = 0; i < members.size(); ++i) {
        if (members.Entry(i) == wanted.payload()) return true;
      }
      return false;
    }
    case Type::kList: {
      ContainerView elements = container.entries();
      for (uint32_t i = 0; i < elements.size(); ++i) {
        if (elements.Entry(i) == wanted.bytes()) return true;
      }
      return false;
    }
    default: return false;
  }
}

class Evaluator {
 public:
  Evaluator(const Tree& tree, const MapView* item, base::WorkMeter* work)
      : tree_(tree), item_(item), work_(work) {}

  bool Holds(NodeId id) const {
    const Node& node = tree_.at(id);
    if (work_->exhausted()) [[unlikely]]
      return false;
    work_->Spend(base::WorkMeter::kStepBytes);
    switch (node.op) {
      case Op::kAnd:
        return std::all_of(node.operands.begin(), node.operands.end(), [this](NodeId o) { return Holds(o); });
      case Op::kOr:
        return std::any_of(node.operands.begin(), node.operands.end(), [this](NodeId o) { return Holds(o); });
      case Op::kNot: return !Holds(node.operands[0]);
      case Op::kBetween:
        return Test(Op::kGreaterEqual, node.operands[0], node.operands[1]) &&
               Test(Op::kLessEqual, node.operands[0], node.operands[2]);
      case Op::kIn:
        return std::any_of(node.operands.begin() + 1, node.operands.end(),
                           [&](NodeId o) { return Test(Op::kEqual, node.operands[0], o); });
      case Op::kFunction: return HoldsFunction(node);
      default: return Test(node.op, node.operands[0], node.operands[1]);
    }
  }

 private:
  // A value and, where it was computed, its bytes.
  struct Found {
    std::string computed;
    std::optional<ValueView> value;
  };

  // size() is the only operand that is computed.
  void Find(NodeId id, Found* found) const {
    const Node& node = tree_.at(id);
    switch (node.op) {
      case Op::kValue: found->value = ValueView(node.value); return;
      case Op::kPath:
        if (item_ != nullptr) found->value = Resolve(node.path, *item_, work_);
        return;
      default: {
        Found inner;
        Find(node.operands[0], &inner);
        if (!inner.value) return;
        if (inner.value->type() == Type::kString) work_->Spend(inner.value->payload().size());
        auto size = SizeOf(*inner.value);
        if (!size) return;
        found->computed.push_back(static_cast<char>(Type::kNumber));
        value::Number::FromInt(*size).Encode(&found->computed);
        found->value = ValueView(found->computed);
        return;
      }
    }
  }

  bool Test(Op op, NodeId left, NodeId right) const {
    Found a, b;
    Find(left, &a);
    Find(right, &b);
    if (!a.value || !b.value) return op == Op::kNotEqual;
    work_->Spend(base::WorkMeter::kStepBytes + std::min(a.value->bytes().size(), b.value->bytes().size()));
    return Compare(op, *a.value, *b.value);
  }

  bool HoldsFunction(const Node& node) const {
    Found first;
    Find(node.operands[0], &first);
    switch (node.function) {
      case Function::kAttributeExists: return first.value.has_value();
      case Function::kAttributeNotExists: return !first.value.has_value();
      default: break;
    }
    Found second;
    Find(node.operands[1], &second);
    if (!first.value || !second.value) return false;
    work_->Spend(second.value->bytes().size());
    switch (node.function) {
      case Function::kAttributeType: return value::TypeName(first.value->type()) == second.value->payload();
      case Function::kBeginsWith:
        return first.value->type() == second.value->type() &&
               (first.value->type() == Type::kString || first.value->type() == Type::kBinary) &&
               first.value->payload().starts_with(second.value->payload());
      case Function::kContains:
        work_->Spend(first.value->bytes().size());
        return Contains(*first.value, *second.value);
      default: HF_ASSERT(false);
    }
  }

  const Tree& tree_;
  const MapView* item_;
  base::WorkMeter* const work_;
};

}  // namespace

bool Compare(Op op, ValueView a, ValueView b) {
  if (op == Op::kEqual) return a == b;
  if (op == Op::kNotEqual) return !(a == b);
  bool ordered = a.type() == Type::kNumber || a.type() == Type::kString || a.type() == Type::kBinary;
  if (!ordered || a.type() != b.type()) return false;
  int order = a.payload().compare(b.payload());
  switch (op) {
    case Op::kLess: return order < 0;
    case Op::kLessEqual: return order <= 0;
    case Op::kGreater: return order > 0;
    case Op::kGreaterEqual: return order >= 0;
    default: HF_ASSERT(false);
  }
}

Result<Condition> Condition::Parse(std::string_view what, std::string_view text, Scope* scope) {
  HF_TRY(Tree tree, ParseConditionText(what, text));
  HF_CHECK_OK(BindCondition(what, scope, &tree));
  return Condition(std::move(tree));
}

bool Condition::Holds(const MapView* item, base::WorkMeter* work) const {
  return Evaluator(tree_, item, work).Holds(tree_.root);
}

}  // namespace holdfast::expression
