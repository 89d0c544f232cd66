#include "model/expression.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/limits.h"
#include "model/check_value.h"
#include "model/instant.h"
#include "model/item_builder.h"
#include "model/notation.h"

namespace holdfast::model {
namespace {

using value::MapView;
using value::Type;
using value::ValueView;

bool IsPath(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_.-[]") == std::string_view::npos;
}

Expression LiteralOf(AttributeValue value) {
  Expression literal;
  literal.kind = Expression::Kind::kLiteral;
  literal.literal = std::move(value);
  return literal;
}

// $name, or a plain scalar.
Result<Expression> ParseTerm(std::string_view text) {
  text = Trim(text);
  if (text.empty()) return ValidationError("a value is missing");
  if (!text.starts_with('$')) {
    bool quoted = text.size() > 1 && text.front() == '\'' && text.back() == '\'';
    return LiteralOf(quoted ? AttributeValue(text.substr(1, text.size() - 2))
                            : ParsePlainScalar(std::string(text)));
  }
  text.remove_prefix(1);
  Expression term;
  if (text == "uuid")
    term.kind = Expression::Kind::kUuid;
  else if (text == "ulid")
    term.kind = Expression::Kind::kUlid;
  else if (text == "nothing")
    term.kind = Expression::Kind::kNothing;
  else if (IsPath(text))
    term.kind = Expression::Kind::kPath, term.path = text;
  else
    return ValidationError("no path like $input.name: $" + std::string(text));
  return term;
}

constexpr std::array<std::pair<std::string_view, int64_t>, 4> kUnits{
    {{" seconds", 1000}, {" minutes", 60'000}, {" hours", 3'600'000}, {" days", 86'400'000}}};

// What is added to, or taken from, `left`: a number, or a duration.
Result<Expression> ParseAmount(Expression left, bool minus, std::string_view amount) {
  Expression sum;
  sum.parts.push_back(std::move(left));
  sum.parts.emplace_back();
  for (const auto& [unit, millis] : kUnits) {
    if (!amount.ends_with(unit)) continue;
    sum.kind = Expression::Kind::kShift;
    sum.unit_millis = minus ? -millis : millis;
    HF_TRY(sum.parts[1], ParseTerm(amount.substr(0, amount.size() - unit.size())));
    return sum;
  }
  if (auto seconds = ParseDuration(amount)) {
    sum.kind = Expression::Kind::kShift;
    sum.unit_millis = minus ? -1000 : 1000;
    sum.parts[1] = LiteralOf(*seconds);
    return sum;
  }
  sum.kind = Expression::Kind::kAdd;
  sum.minus = minus;
  HF_TRY(sum.parts[1], ParseTerm(amount));
  const Expression& added = sum.parts[1];
  if (added.kind == Expression::Kind::kLiteral && added.literal.type() != Type::kNumber)
    return ValidationError("neither a number nor a duration: " + std::string(amount));
  return sum;
}

// $x, $x + 1, $now - 24h, $now + $hold.value minutes, $a + $b - $c
Result<Expression> ParseSum(std::string_view text) {
  auto next_sign = [&] { return std::min(text.find(" + "), text.find(" - ")); };
  size_t sign = next_sign();
  HF_TRY(Expression sum, ParseTerm(text.substr(0, sign)));
  while (sign != std::string_view::npos) {
    bool minus = text[sign + 1] == '-';
    text.remove_prefix(sign + 3);
    sign = next_sign();
    HF_TRY(sum, ParseAmount(std::move(sum), minus, Trim(text.substr(0, sign))));
  }
  return sum;
}

}  // namespace

Result<Expression> ParseExpression(std::string_view text) {
  // A sum is as deep as it has terms.
  if (text.starts_with('$') && text.size() > limits::kExpressionBytesMax)
    return ValidationError("an expression has at most " + std::to_string(limits::kExpressionBytesMax) +
                           " bytes");
  if (!text.starts_with('$')) {
    if (text.find('{') == std::string_view::npos) return LiteralOf(AttributeValue(text));
    Expression templated;
    templated.kind = Expression::Kind::kTemplate;
    HF_TRY(templated.pattern, ParseTemplate(text));
    return templated;
  }
  Expression first;
  first.kind = Expression::Kind::kFirst;
  while (true) {
    size_t next = text.find(" ?? ");
    HF_TRY(Expression alternative, ParseSum(Trim(text.substr(0, next))));
    first.parts.push_back(std::move(alternative));
    if (next == std::string_view::npos) break;
    text.remove_prefix(next + 4);
  }
  if (first.parts.size() == 1) return std::move(first.parts[0]);
  return first;
}

// --- what it looks at ---

namespace {

void VisitOperand(const Operand& operand, const std::function<void(std::string_view)>& visit) {
  bool path = operand.kind == Operand::Kind::kPath || operand.kind == Operand::Kind::kCount;
  if (path && !operand.path.empty()) visit(operand.path);
  for (const Operand& term : operand.terms) VisitOperand(term, visit);
}

}  // namespace

void VisitPaths(const Condition& condition, const std::function<void(std::string_view)>& visit) {
  VisitOperand(condition.left, visit);
  for (const Operand& operand : condition.right) VisitOperand(operand, visit);
  for (const Condition& part : condition.parts) VisitPaths(part, visit);
}

void VisitPaths(const Expression& expression, const std::function<void(std::string_view)>& visit) {
  if (expression.kind == Expression::Kind::kPath) visit(expression.path);
  for (const Template::Part& part : expression.pattern.parts) {
    if (!part.name.empty()) visit(part.name);
  }
  for (const Expression& part : expression.parts) VisitPaths(part, visit);
  for (const auto& [name, field] : expression.fields) VisitPaths(field, visit);
  if (expression.condition) VisitPaths(*expression.condition, visit);
}

// --- evaluating ---

std::string FlatMap(const Item& item) {
  std::string flat(1, static_cast<char>(Type::kMap));
  flat.append(item.flat());
  return flat;
}

Item ItemOf(ValueView map) {
  return map.type() == Type::kMap ? Item::FromFlat(std::string(map.payload())) : Item();
}

ValueView Scope::Keep(std::string flat_value) {
  kept_.push_back(std::move(flat_value));
  return ValueView(kept_.back());
}

void Scope::Set(std::string_view name, const Item& item) {
  Set(name, Keep(FlatMap(item)));
}

void Scope::Set(std::string_view name, std::optional<ValueView> value) {
  names_.emplace_back(name, value);
}

void Scope::Leave(size_t mark) {
  names_.erase(names_.begin() + static_cast<ptrdiff_t>(mark), names_.end());
}

std::optional<ValueView> Scope::Root(std::string_view name) const {
  auto at = std::find_if(names_.rbegin(), names_.rend(), [&](const auto& one) { return one.first == name; });
  return at == names_.rend() ? std::nullopt : at->second;
}

std::optional<ValueView> Scope::Find(std::string_view path) {
  size_t end = path.find_first_of(".[");
  std::string_view rest = end == std::string_view::npos ? std::string_view() : path.substr(end);
  std::vector<ValueView> found;
  CollectValues(Root(path.substr(0, end)), rest, &found);
  if (rest.find("[]") == std::string_view::npos)
    return found.empty() ? std::nullopt : std::optional<ValueView>(found[0]);
  value::FlatWriter list;
  list.BeginList();
  for (ValueView element : found) list.Copy(element);
  list.EndList();
  return Keep(list.TakeValue());
}

bool Scope::Holds(const Condition& condition) {
  static const ParamValues kNone = [](std::string_view) { return std::nullopt; };
  return model::Holds(
      condition, [this](std::string_view name) { return Root(name); }, kNone, Absent::kFails);
}

Result<std::optional<ValueView>> Scope::Evaluate(const Expression& expression) {
  using Kind = Expression::Kind;
  switch (expression.kind) {
    case Kind::kLiteral:
      if (expression.literal.is_null()) return std::optional<ValueView>();
      return std::optional<ValueView>(Keep(FlatValue(expression.literal)));
    case Kind::kPath: return Find(expression.path);
    case Kind::kNothing: return std::optional<ValueView>();
    case Kind::kUuid:
      return std::optional<ValueView>(Keep(FlatValue(AttributeValue(sources_->random->Uuid()))));
    case Kind::kUlid:
      return std::optional<ValueView>(Keep(FlatValue(AttributeValue(sources_->ulids->Next()))));
    case Kind::kTemplate: {
      std::string text;
      for (const Template::Part& part : expression.pattern.parts) {
        text += part.text;
        if (part.name.empty()) continue;
        if (auto value = Find(part.name)) text += ReadableValue(value::ToAttributeValue(*value));
      }
      return std::optional<ValueView>(Keep(FlatValue(AttributeValue(std::move(text)))));
    }
    case Kind::kFirst:
      for (const Expression& part : expression.parts) {
        HF_TRY(std::optional<ValueView> value, Evaluate(part));
        if (value) return value;
      }
      return std::optional<ValueView>();
    case Kind::kIf:
      if (Holds(*expression.condition)) return Evaluate(expression.parts[0]);
      if (expression.parts.size() > 1) return Evaluate(expression.parts[1]);
      return std::optional<ValueView>();
    case Kind::kMap: {
      HF_TRY(Item map, Evaluate(expression.fields));
      return std::optional<ValueView>(Keep(FlatMap(map)));
    }
    case Kind::kList: {
      value::FlatWriter list;
      list.BeginList();
      for (const Expression& part : expression.parts) {
        HF_TRY(std::optional<ValueView> value, Evaluate(part));
        if (value) list.Copy(*value);
      }
      list.EndList();
      return std::optional<ValueView>(Keep(list.TakeValue()));
    }
    default: return Operate(expression);
  }
}

// Those that take two values. What one of them is not there for is not there either.
Result<std::optional<ValueView>> Scope::Operate(const Expression& expression) {
  using Kind = Expression::Kind;
  const std::optional<ValueView> nothing;
  HF_TRY(std::optional<ValueView> left, Evaluate(expression.parts[0]));
  HF_TRY(std::optional<ValueView> right, Evaluate(expression.parts[1]));
  switch (expression.kind) {
    case Kind::kAdd: {
      if (!left || !right || left->type() != Type::kNumber || right->type() != Type::kNumber) return nothing;
      auto sum = expression.minus ? value::Number::Subtract(left->number(), right->number())
                                  : value::Number::Add(left->number(), right->number());
      if (!sum) return RefuseField(expression.parts[0].path, "grows beyond what a number can hold");
      return std::optional<ValueView>(Keep(FlatValue(AttributeValue::Number(sum->ToString()))));
    }
    case Kind::kShift: {
      auto from = left ? MillisOf(*left) : std::nullopt;
      if (!from || !right || right->type() != Type::kNumber) return nothing;
      double amount = right->number().ToDouble() * static_cast<double>(expression.unit_millis);
      constexpr double kLongest = 1e14;  // some three thousand years
      if (!(amount > -kLongest && amount < kLongest))
        return RefuseField(expression.parts[1].path, "is no time that can be reached");
      bool seconds = left->type() == Type::kNumber;
      return std::optional<ValueView>(Keep(FlatValue(
          TimeValue(seconds ? model::Kind::kEpoch : model::Kind::kInstant, *from + std::llround(amount)))));
    }
    case Kind::kAppend: {
      if (!right) return left;
      value::FlatWriter list;
      list.BeginList();
      if (left && left->type() == Type::kList)
        for (uint32_t i = 0; i < left->entries().size(); ++i) list.Copy(left->element(i));
      list.Copy(*right);
      list.EndList();
      return std::optional<ValueView>(Keep(list.TakeValue()));
    }
    case Kind::kMerge: {
      value::FlatWriter map;
      map.BeginMap();
      for (const auto& side : {left, right}) {
        if (!side || side->type() != Type::kMap) continue;
        MapView entries = side->map();
        for (uint32_t i = 0; i < entries.size(); ++i) {
          map.Name(entries.At(i).name);
          map.Copy(entries.At(i).value);
        }
      }
      map.EndMap();
      return std::optional<ValueView>(Keep(map.TakeValue()));
    }
    default: {  // kElement
      int64_t position = 0;
      if (!left || left->type() != Type::kList || !right || right->type() != Type::kNumber ||
          !right->number().ToInt64(&position) || position < 1 ||
          position > static_cast<int64_t>(left->entries().size()))
        return nothing;
      return std::optional<ValueView>(left->element(static_cast<uint32_t>(position - 1)));
    }
  }
}

Result<Item> Scope::Evaluate(const Fields& fields, bool nulls) {
  value::FlatWriter map;
  map.BeginMap();
  for (const auto& [name, field] : fields) {
    HF_TRY(std::optional<ValueView> value, Evaluate(field));
    if (!value && !nulls) continue;
    map.Name(name);
    if (value)
      map.Copy(*value);
    else
      map.Null();
  }
  map.EndMap();
  return Item::FromFlat(map.TakeMap());
}

}  // namespace holdfast::model
