#include "model/condition.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/limits.h"
#include "model/instant.h"
#include "value/flat.h"
#include "value/number.h"

namespace holdfast::model {
namespace {

using Op = Condition::Op;
using Type = AttributeValue::Type;

// --- reading ---

bool IsPathChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '[' ||
         c == ']' || c == ':';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<Condition> Parse() {
    if (rest_.size() > limits::kExpressionBytesMax)
      return ValidationError("a condition has at most " + std::to_string(limits::kExpressionBytesMax) +
                             " bytes");
    HF_TRY(Condition condition, Alternatives());
    Space();
    if (!rest_.empty()) return Unexpected();
    return condition;
  }

 private:
  Error Unexpected() const {
    return ValidationError(rest_.empty() ? "the condition ends too early"
                                         : "not understood from here: " + std::string(rest_));
  }
  void Space() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool Take(std::string_view token) {
    Space();
    if (!rest_.starts_with(token)) return false;
    bool word = std::isalpha(static_cast<unsigned char>(token[0])) != 0;
    if (word && rest_.size() > token.size() && IsPathChar(rest_[token.size()])) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Result<Condition> Alternatives() {
    return Joined("or", Op::kOr, [this] { return Conjunction(); });
  }
  Result<Condition> Conjunction() {
    return Joined("and", Op::kAnd, [this] { return Single(); });
  }
  template <class Part>
  Result<Condition> Joined(std::string_view word, Op op, const Part& part) {
    HF_TRY(Condition first, part());
    if (!Take(word)) return first;
    Condition all;
    all.op = op;
    all.parts.push_back(std::move(first));
    do {
      HF_TRY(Condition next, part());
      all.parts.push_back(std::move(next));
    } while (Take(word));
    return all;
  }

  // Runs a part that may hold others of its kind.
  template <class Part>
  auto Deeper(const Part& part) -> decltype(part()) {
    if (depth_ == kDepthMax)
      return ValidationError("a condition is at most " + std::to_string(kDepthMax) + " deep");
    ++depth_;
    auto read = part();
    --depth_;
    return read;
  }

  Result<Condition> Single() {
    return Deeper([this] { return SingleHere(); });
  }
  Result<Condition> SingleHere() {
    Condition condition;
    if (Take("(")) {
      HF_TRY(condition, Alternatives());
      if (!Take(")")) return Unexpected();
      return condition;
    }
    if (Take("if")) {
      condition.op = Op::kIfThen;
      HF_TRY(Condition cause, Conjunction());
      if (!Take("then")) return Unexpected();
      HF_TRY(Condition effect, Conjunction());
      condition.parts = {std::move(cause), std::move(effect)};
      return condition;
    }
    if (Take("unique")) {
      condition.op = Op::kUnique;
      HF_TRY(condition.left, InBrackets());
      return condition;
    }
    HF_TRY(condition.left, Sum());
    return Rest(std::move(condition));
  }

  // What follows the left operand.
  Result<Condition> Rest(Condition condition) {
    if (Take("exists")) return condition.op = Op::kExists, condition;
    if (Take("missing")) return condition.op = Op::kMissing, condition;
    if (Take("in")) return condition.op = Op::kIn, List(std::move(condition));
    if (Take("not in")) return condition.op = Op::kNotIn, List(std::move(condition));
    static constexpr std::array<std::pair<std::string_view, Op>, 9> kInfix{
        {{"<>", Op::kNotEqual},
         {"<=", Op::kLessEqual},
         {">=", Op::kGreaterEqual},
         {"<", Op::kLess},
         {">", Op::kGreater},
         {"=", Op::kEqual},
         {"contains", Op::kContains},
         {"not contains", Op::kNotContains},
         {"begins_with", Op::kBeginsWith}}};
    for (const auto& [token, op] : kInfix) {
      if (!Take(token)) continue;
      condition.op = op;
      HF_TRY(Operand right, Sum());
      condition.right.push_back(std::move(right));
      return condition;
    }
    return Unexpected();
  }

  Result<Condition> List(Condition condition) {
    if (!Take("(")) return Unexpected();
    do {
      HF_TRY(Operand member, Term());
      condition.right.push_back(std::move(member));
    } while (Take(","));
    if (!Take(")")) return Unexpected();
    return condition;
  }

  Result<Operand> InBrackets() {
    if (!Take("(")) return Unexpected();
    HF_TRY(Operand inner, Deeper([this] { return Term(); }));
    if (!Take(")")) return Unexpected();
    return inner;
  }

  Result<Operand> Sum() {
    HF_TRY(Operand first, Term());
    if (!Take("+")) return first;
    Operand sum;
    sum.kind = Operand::Kind::kSum;
    sum.terms.push_back(std::move(first));
    do {
      HF_TRY(Operand next, Term());
      sum.terms.push_back(std::move(next));
    } while (Take("+"));
    return sum;
  }

  Result<Operand> Term() {
    Operand operand;
    Space();
    if (rest_.empty()) return Unexpected();
    if (Take("count")) {
      HF_TRY(operand, InBrackets());
      operand.kind = Operand::Kind::kCount;
      return operand;
    }
    char first = rest_.front();
    if (first == '\'' || first == '{') return Delimited(first == '{' ? '}' : '\'');
    size_t end =
        static_cast<size_t>(std::find_if_not(rest_.begin(), rest_.end(), IsPathChar) - rest_.begin());
    if (end == 0) return Unexpected();
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    if (word == "true" || word == "false") return Literal(AttributeValue(word == "true"));
    if (word[0] == '-' || std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      if (!value::Number::Parse(word)) return ValidationError("no number: " + word);
      return Literal(AttributeValue::Number(word));
    }
    operand.path = std::move(word);
    return operand;
  }

  static Operand Literal(AttributeValue value) {
    Operand operand;
    operand.kind = Operand::Kind::kLiteral;
    operand.literal = std::move(value);
    return operand;
  }

  Result<Operand> Delimited(char close) {
    size_t end = rest_.find(close, 1);
    if (end == std::string_view::npos) return Unexpected();
    std::string inner(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    if (close == '\'') return Literal(AttributeValue(std::move(inner)));
    Operand operand;
    operand.kind = Operand::Kind::kParam;
    operand.path = std::move(inner);
    return operand;
  }

  static constexpr int kDepthMax = 32;

  std::string_view rest_;
  int depth_ = 0;
};

void CollectPaths(const Condition& condition, Operand::Kind kind, std::vector<std::string>* out);
void CollectPaths(const Operand& operand, Operand::Kind kind, std::vector<std::string>* out) {
  bool counts = operand.kind == Operand::Kind::kCount && kind == Operand::Kind::kPath;
  if ((operand.kind == kind || counts) && !operand.path.empty()) {
    std::string name = kind == Operand::Kind::kPath ? operand.path.substr(0, operand.path.find_first_of(".["))
                                                    : operand.path;
    if (std::find(out->begin(), out->end(), name) == out->end()) out->push_back(std::move(name));
  }
  for (const Operand& term : operand.terms) CollectPaths(term, kind, out);
}
void CollectPaths(const Condition& condition, Operand::Kind kind, std::vector<std::string>* out) {
  CollectPaths(condition.left, kind, out);
  for (const Operand& operand : condition.right) CollectPaths(operand, kind, out);
  for (const Condition& part : condition.parts) CollectPaths(part, kind, out);
}

// --- asking ---

using value::ValueView;

class Asker {
 public:
  Asker(const Known& known, const ParamValues& params, Absent absent)
      : known_(known), params_(params), absent_(absent) {}

  bool Holds(const Condition& condition) const {
    switch (condition.op) {
      case Op::kAnd:
        return std::all_of(condition.parts.begin(), condition.parts.end(),
                           [this](const Condition& part) { return Holds(part); });
      case Op::kOr:
        return std::any_of(condition.parts.begin(), condition.parts.end(),
                           [this](const Condition& part) { return Holds(part); });
      // What is absent is no cause.
      case Op::kIfThen:
        return !Asker(known_, params_, Absent::kFails).Holds(condition.parts[0]) || Holds(condition.parts[1]);
      case Op::kExists: return !Values(condition.left).empty();
      case Op::kMissing: return Values(condition.left).empty();
      case Op::kUnique: return Unique(Values(condition.left));
      case Op::kIn: return In(condition).value_or(absent_ == Absent::kPasses);
      case Op::kNotIn: return !In(condition).value_or(false);
      case Op::kContains: return Contains(condition).value_or(absent_ == Absent::kPasses);
      case Op::kNotContains: return !Contains(condition).value_or(false);
      default: return Compare(condition);
    }
  }

 private:
  std::vector<ValueView> Paths(std::string_view path) const {
    std::vector<ValueView> found;
    size_t end = path.find_first_of(".[");
    CollectValues(known_(path.substr(0, end)),
                  end == std::string_view::npos ? std::string_view() : path.substr(end), &found);
    return found;
  }

  std::vector<AttributeValue> Values(const Operand& operand) const {
    std::vector<AttributeValue> values;
    switch (operand.kind) {
      case Operand::Kind::kPath:
        for (ValueView view : Paths(operand.path)) values.push_back(value::ToAttributeValue(view));
        break;
      case Operand::Kind::kParam:
        if (auto value = params_(operand.path)) values.push_back(*value);
        break;
      case Operand::Kind::kLiteral: values.push_back(operand.literal); break;
      case Operand::Kind::kCount: {
        std::vector<ValueView> found = Paths(operand.path);
        bool list = found.size() == 1 && found[0].type() >= Type::kStringSet;
        values.emplace_back(list ? found[0].entries().size() : found.size());
        break;
      }
      case Operand::Kind::kSum: {
        value::Number sum;
        for (const Operand& term : operand.terms) {
          std::vector<AttributeValue> part = Values(term);
          if (part.size() != 1 || part[0].type() != Type::kNumber) return {};
          auto number = value::Number::Parse(part[0].AsText());
          auto more = number ? value::Number::Add(sum, *number) : number;
          if (!more) return {};
          sum = *more;
        }
        values.push_back(AttributeValue::Number(sum.ToString()));
        break;
      }
    }
    return values;
  }

  static bool Unique(const std::vector<AttributeValue>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::find(values.begin() + static_cast<ptrdiff_t>(i) + 1, values.end(), values[i]) != values.end())
        return false;
    }
    return true;
  }

  // Nothing when what is asked for is absent.
  std::optional<bool> In(const Condition& condition) const {
    std::vector<AttributeValue> left = Values(condition.left);
    if (left.size() != 1) return std::nullopt;
    return std::any_of(condition.right.begin(), condition.right.end(), [&](const Operand& member) {
      std::vector<AttributeValue> value = Values(member);
      return value.size() == 1 && value[0] == left[0];
    });
  }

  // Negative, zero or positive; nothing when the two cannot be compared.
  static std::optional<int> Order(const AttributeValue& a, const AttributeValue& b) {
    if (a.type() != b.type()) return std::nullopt;
    if (a.type() == Type::kNumber) {
      auto left = value::Number::Parse(a.AsText());
      auto right = value::Number::Parse(b.AsText());
      if (!left || !right) return std::nullopt;
      std::string left_bytes;  // of which the order is that of the numbers
      std::string right_bytes;
      left->Encode(&left_bytes);
      right->Encode(&right_bytes);
      return left_bytes.compare(right_bytes);
    }
    if (a.type() != Type::kString && a.type() != Type::kBinary) return std::nullopt;
    auto left = ParseInstant(a.AsText());
    auto right = left ? ParseInstant(b.AsText()) : std::nullopt;
    if (right) return *left < *right ? -1 : *right < *left ? 1 : 0;
    return a.AsText().compare(b.AsText());
  }

  // The same; of "options[].name contains choice" one of the elements is it.
  std::optional<bool> Contains(const Condition& condition) const {
    std::vector<AttributeValue> left = Values(condition.left);
    std::vector<AttributeValue> right = Values(condition.right[0]);
    if (right.size() != 1) return std::nullopt;
    if (condition.left.path.find("[]") != std::string::npos)
      return std::find(left.begin(), left.end(), right[0]) != left.end();
    if (left.size() != 1) return std::nullopt;
    return Contains(left[0], right[0]);
  }

  static bool Contains(const AttributeValue& whole, const AttributeValue& part) {
    switch (whole.type()) {
      case Type::kString:
        return part.type() == Type::kString && whole.AsText().find(part.AsText()) != std::string::npos;
      case Type::kList: {
        const auto& list = whole.AsList();
        return std::find(list.begin(), list.end(), part) != list.end();
      }
      case Type::kStringSet: {
        const auto& set = whole.AsSet();
        return part.type() == Type::kString && std::find(set.begin(), set.end(), part.AsText()) != set.end();
      }
      default: return false;
    }
  }

  bool Compare(const Condition& condition) const {
    std::vector<AttributeValue> left = Values(condition.left);
    std::vector<AttributeValue> right = Values(condition.right[0]);
    if (left.size() != 1 || right.size() != 1)
      return absent_ == Absent::kPasses || condition.op == Op::kNotEqual;
    const AttributeValue& a = left[0];
    const AttributeValue& b = right[0];
    std::optional<int> order = Order(a, b);
    switch (condition.op) {
      case Op::kEqual: return order ? *order == 0 : a == b;
      case Op::kNotEqual: return order ? *order != 0 : !(a == b);
      case Op::kLess: return order && *order < 0;
      case Op::kLessEqual: return order && *order <= 0;
      case Op::kGreater: return order && *order > 0;
      case Op::kGreaterEqual: return order && *order >= 0;
      case Op::kBeginsWith:
        return a.type() == Type::kString && b.type() == Type::kString && a.AsText().starts_with(b.AsText());
      default: return false;
    }
  }

  const Known& known_;
  const ParamValues& params_;
  const Absent absent_;
};

// --- as an expression ---

Status AppendOperand(const Operand& operand, const ParamValues& params, ExpressionBuilder* builder) {
  switch (operand.kind) {
    case Operand::Kind::kPath: builder->Path(operand.path); return Ok{};
    case Operand::Kind::kLiteral: builder->Value(operand.literal); return Ok{};
    case Operand::Kind::kParam:
      if (auto value = params(operand.path)) {
        builder->Value(*value);
        return Ok{};
      }
      return ValidationError("the parameter " + operand.path + " is missing");
    default: return ValidationError("a filter cannot count or add");
  }
}

std::string_view Sign(Op op) {
  switch (op) {
    case Op::kEqual: return " = ";
    case Op::kNotEqual: return " <> ";
    case Op::kLess: return " < ";
    case Op::kLessEqual: return " <= ";
    case Op::kGreater: return " > ";
    case Op::kGreaterEqual: return " >= ";
    default: return {};
  }
}

}  // namespace

std::vector<std::string> Condition::Attributes() const {
  std::vector<std::string> names;
  CollectPaths(*this, Operand::Kind::kPath, &names);
  return names;
}

std::vector<std::string> Condition::Params() const {
  std::vector<std::string> names;
  CollectPaths(*this, Operand::Kind::kParam, &names);
  return names;
}

Result<Condition> ParseCondition(std::string_view text) {
  HF_TRY(Condition condition, Parser(text).Parse());
  condition.text = text;
  return condition;
}

bool Holds(const Condition& condition, const Known& known, const ParamValues& params, Absent absent) {
  return Asker(known, params, absent).Holds(condition);
}

bool Holds(const Condition& condition, std::string_view item, const ParamValues& params, Absent absent) {
  value::MapView map(item);
  return Holds(
      condition, [&map](std::string_view name) { return map.Find(name); }, params, absent);
}

void CollectValues(std::optional<ValueView> at, std::string_view path, std::vector<ValueView>* out) {
  if (!at || at->type() == Type::kNull) return;
  if (path.starts_with('.')) path.remove_prefix(1);
  if (path.empty()) {
    out->push_back(*at);
    return;
  }
  if (path.starts_with("[]")) {
    if (at->type() != Type::kList) return;
    for (uint32_t i = 0; i < at->entries().size(); ++i) CollectValues(at->element(i), path.substr(2), out);
    return;
  }
  if (at->type() != Type::kMap) return;
  size_t end = path.find_first_of(".[");
  CollectValues(at->map().Find(path.substr(0, end)),
                end == std::string_view::npos ? std::string_view() : path.substr(end), out);
}

Status AppendCondition(const Condition& condition, const ParamValues& params, ExpressionBuilder* builder) {
  auto function = [&](std::string_view name) -> Status {
    builder->Text(name).Text("(");
    HF_CHECK_OK(AppendOperand(condition.left, params, builder));
    for (const Operand& operand : condition.right) {
      builder->Text(", ");
      HF_CHECK_OK(AppendOperand(operand, params, builder));
    }
    builder->Text(")");
    return Ok{};
  };
  switch (condition.op) {
    case Op::kAnd:
      for (size_t i = 0; i < condition.parts.size(); ++i) {
        if (i > 0) builder->And();
        HF_CHECK_OK(AppendCondition(condition.parts[i], params, builder));
      }
      return Ok{};
    case Op::kOr:
      builder->Text("(");
      for (size_t i = 0; i < condition.parts.size(); ++i) {
        builder->Text(i > 0 ? " OR (" : "(");
        HF_CHECK_OK(AppendCondition(condition.parts[i], params, builder));
        builder->Text(")");
      }
      builder->Text(")");
      return Ok{};
    case Op::kExists: return function("attribute_exists");
    case Op::kMissing: return function("attribute_not_exists");
    case Op::kContains: return function("contains");
    case Op::kNotContains: builder->Text("NOT "); return function("contains");
    case Op::kBeginsWith: return function("begins_with");
    case Op::kIn:
    case Op::kNotIn:
      if (condition.op == Op::kNotIn) builder->Text("NOT ");
      HF_CHECK_OK(AppendOperand(condition.left, params, builder));
      builder->Text(" IN (");
      for (size_t i = 0; i < condition.right.size(); ++i) {
        if (i > 0) builder->Text(", ");
        HF_CHECK_OK(AppendOperand(condition.right[i], params, builder));
      }
      builder->Text(")");
      return Ok{};
    case Op::kUnique:
    case Op::kIfThen: return ValidationError("only memory can decide: " + condition.text);
    default:
      HF_CHECK_OK(AppendOperand(condition.left, params, builder));
      builder->Text(Sign(condition.op));
      return AppendOperand(condition.right[0], params, builder);
  }
}

}  // namespace holdfast::model
