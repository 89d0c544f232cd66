#include "expression/update.h"

#include <algorithm>

#include "base/limits.h"

namespace holdfast::expression {
namespace {

using value::ContainerView;
using value::FlatWriter;
using value::MapView;
using value::Number;
using value::Type;
using value::ValueView;
using Kind = UpdateClause::Kind;

Error InvalidPath() {
  return ValidationError("The document path provided in the update expression is invalid for update");
}
Error LegacyMismatch() {
  return ValidationError("Type mismatch for attribute to update");
}
Error WrongOperand() {
  return ValidationError("An operand in the update expression has an incorrect data type");
}
Error MissingAttribute() {
  return ValidationError("The provided expression refers to an attribute that does not exist in the item");
}

// A value that is a view into the old item or the request, or was computed and is owned.
struct Computed {
  std::string owned;
  ByteView view;

  ValueView value() const { return ValueView(owned.empty() ? view : ByteView(owned)); }
};

// What becomes of the attribute a clause names.
struct Outcome {
  enum class Kind : uint8_t { kStore, kDrop };
  Kind kind = Kind::kDrop;
  Computed value;
};

std::string EncodeNumber(const Number& number) {
  FlatWriter writer;
  writer.Number(number);
  return writer.TakeValue();
}

int DepthOf(ValueView value) {
  int deepest = 0;
  if (value.type() == Type::kList) {
    ContainerView list = value.entries();
    for (uint32_t i = 0; i < list.size(); ++i) deepest = std::max(deepest, DepthOf(ValueView(list.Entry(i))));
  } else if (value.type() == Type::kMap) {
    MapView map = value.map();
    for (uint32_t i = 0; i < map.size(); ++i) deepest = std::max(deepest, DepthOf(map.At(i).value));
  }
  return deepest + 1;
}

class Application {
 public:
  Application(const ParsedUpdate& parsed, const PathTree& paths, bool legacy, MapView old,
              base::WorkMeter* work)
      : tree_(parsed.tree),
        clauses_(parsed.clauses),
        paths_(paths),
        legacy_(legacy),
        old_(old),
        work_(work) {}

  Result<Item> Run() {
    outcomes_.reserve(clauses_.size());
    for (size_t i = 0; i < clauses_.size(); ++i) {
      HF_TRY(Outcome outcome, Evaluate(clauses_[i], paths_.paths()[i]));
      // All that is stored stands in the new item: it is known to be too large before it is built.
      if (outcome.kind == Outcome::Kind::kStore) {
        HF_CHECK_OK(Take(outcome.value.value().bytes().size() + paths_.paths()[i].back().name.size()));
      }
      outcomes_.push_back(std::move(outcome));
    }
    work_->Spend(old_.bytes().size());
    HF_CHECK_OK(work_->Check());
    FlatWriter writer;
    HF_CHECK_OK(RewriteMap(paths_.root(), old_, &writer));
    return Item::FromFlat(writer.TakeMap());
  }

 private:
  // Of the new item's bytes.
  Status Take(size_t bytes) {
    stored_bytes_ += bytes;
    if (stored_bytes_ > limits::kFlatItemBytesMax) return UpdatedItemTooLarge();
    work_->Spend(bytes);
    return work_->Check();
  }
  // Elements or members of two parts, about to be put together: neither is larger than an item.
  Status CheckBuilt(ByteView a, ByteView b) const {
    if (a.size() + b.size() > limits::kFlatItemBytesMax) return UpdatedItemTooLarge();
    work_->Spend(a.size() + b.size());
    return work_->Check();
  }

  Result<Outcome> Evaluate(const UpdateClause& clause, const Path& path) const {
    switch (clause.kind) {
      case Kind::kRemove: return Outcome{};
      case Kind::kSet: {
        HF_TRY(Computed value, Operand(clause.value));
        work_->Spend(value.value().bytes().size());
        HF_CHECK_OK(work_->Check());
        if (value::IsContainer(value.value().type()) &&
            static_cast<int>(path.size()) - 1 + DepthOf(value.value()) > limits::kDocumentDepthMax) {
          return value::NestingTooDeep();
        }
        return Outcome{Outcome::Kind::kStore, std::move(value)};
      }
      case Kind::kAdd: return Add(Resolve(path, old_, work_), ValueView(tree_.at(clause.value).value));
      case Kind::kDelete: return Delete(Resolve(path, old_, work_), ValueView(tree_.at(clause.value).value));
    }
    HF_ASSERT(false);
  }

  Result<Computed> Operand(NodeId id) const {
    const Node& node = tree_.at(id);
    switch (node.op) {
      case Op::kValue: return Computed{{}, node.value};
      case Op::kPath: {
        auto found = Resolve(node.path, old_, work_);
        if (!found) return MissingAttribute();
        return Computed{{}, found->bytes()};
      }
      case Op::kPlus:
      case Op::kMinus: return Arithmetic(node);
      case Op::kFunction:
        if (node.function == Function::kListAppend) return ListAppend(node);
        if (auto found = Resolve(tree_.at(node.operands[0]).path, old_, work_))
          return Computed{{}, found->bytes()};
        return Operand(node.operands[1]);
      default: HF_ASSERT(false);
    }
  }

  Result<Computed> Arithmetic(const Node& node) const {
    HF_TRY(Computed left, Operand(node.operands[0]));
    HF_TRY(Computed right, Operand(node.operands[1]));
    if (left.value().type() != Type::kNumber || right.value().type() != Type::kNumber) return WrongOperand();
    Number a = left.value().number(), b = right.value().number();
    HF_TRY(Number result, node.op == Op::kPlus ? Number::Add(a, b) : Number::Subtract(a, b));
    return Computed{EncodeNumber(result), {}};
  }

  Result<Computed> ListAppend(const Node& node) const {
    HF_TRY(Computed head, Operand(node.operands[0]));
    if (head.value().type() != Type::kList) return WrongOperand();
    HF_TRY(Computed tail, Operand(node.operands[1]));
    if (tail.value().type() != Type::kList) return WrongOperand();
    HF_CHECK_OK(CheckBuilt(head.value().bytes(), tail.value().bytes()));
    FlatWriter writer;
    writer.BeginList();
    for (const Computed* part : {&head, &tail}) {
      ContainerView elements = part->value().entries();
      for (uint32_t i = 0; i < elements.size(); ++i) writer.Copy(ValueView(elements.Entry(i)));
    }
    writer.EndList();
    return Computed{writer.TakeValue(), {}};
  }

  Result<Outcome> Add(std::optional<ValueView> old, ValueView operand) const {
    if (!old) return Outcome{Outcome::Kind::kStore, {{}, operand.bytes()}};
    if (old->type() != operand.type()) return legacy_ ? LegacyMismatch() : WrongOperand();
    if (operand.type() == Type::kNumber) {
      HF_TRY(Number sum, Number::Add(old->number(), operand.number()));
      return Outcome{Outcome::Kind::kStore, {EncodeNumber(sum), {}}};
    }
    HF_CHECK_OK(CheckBuilt(old->bytes(), operand.bytes()));
    FlatWriter writer;
    if (operand.type() == Type::kList) {
      writer.BeginList();
      for (ValueView list : {*old, operand}) {
        ContainerView elements = list.entries();
        for (uint32_t i = 0; i < elements.size(); ++i) writer.Copy(ValueView(elements.Entry(i)));
      }
      writer.EndList();
      return Outcome{Outcome::Kind::kStore, {writer.TakeValue(), {}}};
    }
    writer.BeginSet();
    for (ValueView set : {*old, operand}) {
      ContainerView members = set.entries();
      for (uint32_t i = 0; i < members.size(); ++i) writer.Member(members.Entry(i));
    }
    writer.EndSet(operand.type());
    return Outcome{Outcome::Kind::kStore, {writer.TakeValue(), {}}};
  }

  Result<Outcome> Delete(std::optional<ValueView> old, ValueView operand) const {
    if (!old) return Outcome{};
    if (old->type() != operand.type()) return legacy_ ? LegacyMismatch() : WrongOperand();
    HF_CHECK_OK(CheckBuilt(old->bytes(), operand.bytes()));
    ContainerView members = old->entries(), doomed = operand.entries();
    FlatWriter writer;
    writer.BeginSet();
    bool any_left = false;
    for (uint32_t i = 0, j = 0; i < members.size(); ++i) {  // both are sorted
      while (j < doomed.size() && doomed.Entry(j) < members.Entry(i)) ++j;
      if (j < doomed.size() && doomed.Entry(j) == members.Entry(i)) continue;
      writer.Member(members.Entry(i));
      any_left = true;
    }
    writer.EndSet(operand.type());
    if (!any_left) return Outcome{};  // a set is never empty: the attribute goes
    return Outcome{Outcome::Kind::kStore, {writer.TakeValue(), {}}};
  }

  // --- writing the new item ---

  Status RewriteMap(const PathNode& node, MapView old, FlatWriter* writer) {
    writer->BeginMap();
    uint32_t i = 0;
    auto field = node.fields.begin();
    while (i < old.size() || field != node.fields.end()) {
      int order = i == old.size() ? 1 : field == node.fields.end() ? -1 : old.At(i).name.compare(field->key);
      if (order < 0) {
        value::Attribute kept = old.At(i++);
        writer->Name(kept.name);
        writer->Copy(kept.value);
        continue;
      }
      std::optional<ValueView> present;
      if (order == 0) present = old.At(i++).value;
      writer->Name(field->key);
      HF_CHECK_OK(Rewrite(field->node, present, writer));
      ++field;
    }
    writer->EndMap();
    return Ok{};
  }

  Status RewriteList(const PathNode& node, ContainerView old, FlatWriter* writer) {
    writer->BeginList();
    auto element = node.elements.begin();
    for (uint32_t i = 0; i < old.size(); ++i) {
      ValueView present(old.Entry(i));
      if (element != node.elements.end() && element->key == i) {
        HF_CHECK_OK(Rewrite(element->node, present, writer));
        ++element;
      } else {
        writer->Copy(present);
      }
    }
    // Positions past the end append, in order of position.
    for (; element != node.elements.end(); ++element)
      HF_CHECK_OK(Rewrite(element->node, std::nullopt, writer));
    writer->EndList();
    return Ok{};
  }

  // Writes nothing where the attribute goes away.
  Status Rewrite(const PathNode& node, std::optional<ValueView> present, FlatWriter* writer) {
    if (node.leaf != PathNode::kInner) {
      const Outcome& outcome = outcomes_[static_cast<size_t>(node.leaf)];
      if (outcome.kind == Outcome::Kind::kStore) writer->Copy(outcome.value.value());
      return Ok{};
    }
    if (!node.fields.empty() && present && present->type() == Type::kMap) {
      return RewriteMap(node, present->map(), writer);
    }
    if (!node.elements.empty() && present && present->type() == Type::kList) {
      return RewriteList(node, present->entries(), writer);
    }
    return InvalidPath();
  }

  const Tree& tree_;
  const std::vector<UpdateClause>& clauses_;
  const PathTree& paths_;
  const bool legacy_;
  const MapView old_;
  base::WorkMeter* const work_;
  std::vector<Outcome> outcomes_;
  size_t stored_bytes_ = 0;  // of outcomes_
};

}  // namespace

Result<Update> Update::Parse(std::string_view text, Scope* scope) {
  HF_TRY(ParsedUpdate parsed, ParseUpdateText(text));
  HF_CHECK_OK(BindUpdate(scope, &parsed));
  std::vector<Path> paths;
  for (const UpdateClause& clause : parsed.clauses) paths.push_back(parsed.tree.at(clause.path).path);
  HF_TRY(PathTree tree, PathTree::Build("UpdateExpression", std::move(paths)));
  HF_CHECK_OK(CheckUpdateOperands(&parsed));
  return Update(std::move(parsed), std::move(tree), /*legacy=*/false);
}

Update Update::FromLegacy(ParsedUpdate parsed) {
  std::vector<Path> paths;
  for (const UpdateClause& clause : parsed.clauses) paths.push_back(parsed.tree.at(clause.path).path);
  Result<PathTree> tree = PathTree::Build("AttributeUpdates", std::move(paths));
  HF_ASSERT(tree.has_value());
  return Update(std::move(parsed), *std::move(tree), /*legacy=*/true);
}

Error UpdatedItemTooLarge() {
  return ValidationError("Item size to update has exceeded the maximum allowed size");
}

Result<Item> Update::Apply(MapView old, base::WorkMeter* work) const {
  return Application(parsed_, paths_, legacy_, old, work).Run();
}

bool Update::only_removes() const {
  return std::all_of(parsed_.clauses.begin(), parsed_.clauses.end(), [](const UpdateClause& clause) {
    return clause.kind == Kind::kRemove || clause.kind == Kind::kDelete;
  });
}

std::optional<Type> Update::ConstantType(size_t clause) const {
  const UpdateClause& c = parsed_.clauses[clause];
  if (c.kind == Kind::kRemove || c.kind == Kind::kDelete) return std::nullopt;
  const Node* node = &parsed_.tree.at(c.value);
  switch (node->op) {
    case Op::kValue: return ValueView(node->value).type();
    case Op::kPlus:
    case Op::kMinus: return Type::kNumber;
    case Op::kFunction:
      if (node->function == Function::kListAppend) return Type::kList;
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace holdfast::expression
