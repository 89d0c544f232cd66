#include "expression/parse.h"

#include <optional>

#include "base/limits.h"
#include "base/shown.h"
#include "expression/token.h"

namespace holdfast::expression {
namespace {

bool EqualsIgnoringCase(std::string_view a, std::string_view upper) {
  if (a.size() != upper.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    char c = a[i] >= 'a' && a[i] <= 'z' ? static_cast<char>(a[i] - 'a' + 'A') : a[i];
    if (c != upper[i]) return false;
  }
  return true;
}

Function FunctionNamed(std::string_view name) {
  if (name == "attribute_exists") return Function::kAttributeExists;
  if (name == "attribute_not_exists") return Function::kAttributeNotExists;
  if (name == "attribute_type") return Function::kAttributeType;
  if (name == "begins_with") return Function::kBeginsWith;
  if (name == "contains") return Function::kContains;
  if (name == "size") return Function::kSize;
  if (name == "if_not_exists") return Function::kIfNotExists;
  if (name == "list_append") return Function::kListAppend;
  return Function::kUnknown;
}

std::optional<Op> ComparisonNamed(std::string_view symbol) {
  if (symbol == "=") return Op::kEqual;
  if (symbol == "<>") return Op::kNotEqual;
  if (symbol == "<") return Op::kLess;
  if (symbol == "<=") return Op::kLessEqual;
  if (symbol == ">") return Op::kGreater;
  if (symbol == ">=") return Op::kGreaterEqual;
  return std::nullopt;
}

// Recursive descent. Depth is counted where the grammar recurses: parentheses, NOT, function arguments.
class Parser {
 public:
  Parser(std::string_view what, std::string_view text, std::initializer_list<std::string_view> keywords)
      : what_(what), text_(text), keywords_(keywords) {}

  Status Start() {
    if (text_.empty()) return Fail("The expression can not be empty;");
    if (text_.size() > limits::kExpressionBytesMax) {
      return Fail("Expression size has exceeded the maximum allowed size; expression size: " +
                  std::to_string(text_.size()));
    }
    tokens_ = Tokenize(text_);
    return Ok{};
  }

  // What was noticed on the way and is reported only once the whole text has proved well-formed.
  Status Finish() {
    if (!AtEnd()) return SyntaxError();
    if (redundant_parentheses_) return Fail("The expression has redundant parentheses;");
    return Ok{};
  }

  Error Fail(const std::string& why) const { return InvalidExpression(what_, why); }

  // DynamoDB shows the offending token between its neighbours, blanks as written.
  Error SyntaxError() const {
    const Token& token = tokens_[at_];
    size_t begin = at_ > 0 ? tokens_[at_ - 1].begin : token.begin;
    if (token.kind == Token::Kind::kEnd && at_ == 0) begin = 0;
    size_t end = token.kind == Token::Kind::kEnd ? text_.size() : token.end;
    if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind != Token::Kind::kEnd) end = tokens_[at_ + 1].end;
    std::string shown = token.kind == Token::Kind::kEnd ? "<EOF>" : std::string(TextOf(token));
    return Fail("Syntax error; token: \"" + shown + "\", near: \"" +
                std::string(text_.substr(begin, end - begin)) + "\"");
  }

  bool AtEnd() const { return tokens_[at_].kind == Token::Kind::kEnd; }

  bool AcceptSymbol(std::string_view symbol) {
    if (tokens_[at_].kind != Token::Kind::kSymbol || TextOf(tokens_[at_]) != symbol) return false;
    ++at_;
    return true;
  }

  Status ExpectSymbol(std::string_view symbol) {
    if (!AcceptSymbol(symbol)) return SyntaxError();
    return Ok{};
  }

  bool AcceptKeyword(std::string_view upper) {
    if (tokens_[at_].kind != Token::Kind::kWord || !EqualsIgnoringCase(TextOf(tokens_[at_]), upper))
      return false;
    ++at_;
    return true;
  }

  // --- conditions ---

  Result<NodeId> Or() {
    HF_TRY(NodeId first, And());
    return Chain(first, Op::kOr, "OR", &Parser::And);
  }

  Result<NodeId> Condition() {
    HF_TRY(NodeId id, Or());
    if (!CanStandAsCondition(id)) return SyntaxError();
    return id;
  }

  // --- updates and projections ---

  Result<NodeId> DocumentPath() {
    Node node{.op = Op::kPath};
    HF_CHECK_OK(NamedStep(&node));
    while (true) {
      if (AcceptSymbol(".")) {
        HF_CHECK_OK(NamedStep(&node));
      } else if (AcceptSymbol("[")) {
        HF_CHECK_OK(PositionStep(&node));
      } else {
        break;
      }
    }
    return Add(std::move(node));
  }

  Result<NodeId> ValuePlaceholder() {
    if (tokens_[at_].kind != Token::Kind::kValue) return SyntaxError();
    return Add(Node{.op = Op::kValue, .text = TextOf(tokens_[at_++])});
  }

  // path | :value | function, at most one + or -, each side and the whole in parentheses if one likes.
  Result<NodeId> SetValue() {
    Depth depth(this);
    if (!depth.ok()) return TooDeep();
    HF_TRY(NodeId left, SetOperand());
    Op op = Op::kPlus;
    if (AcceptSymbol("-")) {
      op = Op::kMinus;
    } else if (!AcceptSymbol("+")) {
      return left;
    }
    if (IsSum(left)) {
      --at_;
      return SyntaxError();
    }
    HF_TRY(NodeId right, SetOperand());
    if (IsSum(right)) return SyntaxError();
    Node node{.op = op};
    node.operands = {left, right};
    return Add(std::move(node));
  }

  Tree TakeTree(NodeId root) {
    tree_.root = root;
    return std::move(tree_);
  }

 private:
  class Depth {
   public:
    explicit Depth(Parser* parser) : parser_(parser) { ++parser_->depth_; }
    ~Depth() { --parser_->depth_; }
    bool ok() const { return parser_->depth_ <= limits::kExpressionDepthMax; }

   private:
    Parser* parser_;
  };

  Error TooDeep() const { return Fail("The expression is nested too deeply;"); }

  std::string_view TextOf(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }

  bool IsKeyword(const Token& token) const {
    if (token.kind != Token::Kind::kWord) return false;
    for (std::string_view keyword : keywords_) {
      if (EqualsIgnoringCase(TextOf(token), keyword)) return true;
    }
    return false;
  }

  NodeId Add(Node node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(tree_.nodes.size() - 1);
  }

  Status CountOperator() {
    if (++operators_ > limits::kExpressionOperatorsMax) {
      return Fail("The expression contains too many operators; operator count: " +
                  std::to_string(operators_));
    }
    return Ok{};
  }

  // A bare operand may stand in parentheses, or before a comparison; as a condition only a function may.
  // (Whether that function gives a truth value is the binder's question.)
  bool CanStandAsCondition(NodeId id) const {
    const Node& node = tree_.at(id);
    return IsCondition(node) || node.op == Op::kFunction;
  }
  bool IsSum(NodeId id) const { return tree_.at(id).op == Op::kPlus || tree_.at(id).op == Op::kMinus; }

  Result<NodeId> Chain(NodeId first, Op op, std::string_view keyword, Result<NodeId> (Parser::*next)()) {
    Node chain{.op = op};
    chain.operands = {first};
    while (CanContinue(chain) && AcceptKeyword(keyword)) {
      HF_CHECK_OK(CountOperator());
      HF_TRY(NodeId operand, (this->*next)());
      if (!CanStandAsCondition(operand)) return SyntaxError();
      chain.operands.push_back(operand);
    }
    if (chain.operands.size() == 1) return first;
    return Add(std::move(chain));
  }
  bool CanContinue(const Node& chain) const { return CanStandAsCondition(chain.operands.back()); }

  Result<NodeId> And() {
    HF_TRY(NodeId first, Not());
    return Chain(first, Op::kAnd, "AND", &Parser::Not);
  }

  Result<NodeId> Not() {
    if (!AcceptKeyword("NOT")) return Comparison();
    HF_CHECK_OK(CountOperator());
    Depth depth(this);
    if (!depth.ok()) return TooDeep();
    HF_TRY(NodeId operand, Not());
    if (!CanStandAsCondition(operand)) return SyntaxError();
    Node node{.op = Op::kNot};
    node.operands = {operand};
    return Add(std::move(node));
  }

  Result<NodeId> Comparison() {
    HF_TRY(NodeId left, Primary());
    if (IsCondition(tree_.at(left))) return left;
    const Token& token = tokens_[at_];
    if (token.kind == Token::Kind::kSymbol) {
      if (auto op = ComparisonNamed(TextOf(token))) {
        ++at_;
        HF_CHECK_OK(CountOperator());
        HF_TRY(NodeId right, Operand());
        return AddComparison(*op, {left, right});
      }
    }
    if (AcceptKeyword("BETWEEN")) {
      HF_CHECK_OK(CountOperator());
      HF_TRY(NodeId lower, Operand());
      if (!AcceptKeyword("AND")) return SyntaxError();
      HF_TRY(NodeId upper, Operand());
      return AddComparison(Op::kBetween, {left, lower, upper});
    }
    if (AcceptKeyword("IN")) {
      HF_CHECK_OK(CountOperator());
      HF_CHECK_OK(ExpectSymbol("("));
      std::vector<NodeId> operands{left};
      HF_CHECK_OK(OperandList(&operands));
      if (operands.size() - 1 > limits::kInOperandsMax) {
        return Fail("The IN operator is provided with too many operands; number of operands: " +
                    std::to_string(operands.size() - 1));
      }
      return AddComparison(Op::kIn, std::move(operands));
    }
    return left;
  }

  Result<NodeId> AddComparison(Op op, std::vector<NodeId> operands) {
    Node node{.op = op};
    node.operands = std::move(operands);
    return Add(std::move(node));
  }

  // An operand, or anything at all in parentheses.
  Result<NodeId> Primary() {
    if (AcceptSymbol("(")) {
      Depth depth(this);
      if (!depth.ok()) return TooDeep();
      HF_TRY(NodeId inner, Or());
      HF_CHECK_OK(ExpectSymbol(")"));
      return MarkParentheses(inner);
    }
    return BareOperand();
  }

  Result<NodeId> Operand() {
    if (AcceptSymbol("(")) {
      Depth depth(this);
      if (!depth.ok()) return TooDeep();
      HF_TRY(NodeId inner, Operand());
      HF_CHECK_OK(ExpectSymbol(")"));
      return MarkParentheses(inner);
    }
    return BareOperand();
  }

  NodeId MarkParentheses(NodeId inner) {
    Node& node = tree_.nodes[inner];
    if (node.in_parentheses) redundant_parentheses_ = true;
    node.in_parentheses = true;
    return inner;
  }

  Result<NodeId> BareOperand() {
    const Token& token = tokens_[at_];
    if (token.kind == Token::Kind::kValue) return ValuePlaceholder();
    if (token.kind == Token::Kind::kWord && !IsKeyword(token)) {
      const Token& next = tokens_[at_ + 1];
      if (next.kind == Token::Kind::kSymbol && TextOf(next) == "(") return Call();
    }
    return DocumentPath();
  }

  Result<NodeId> Call() {
    Depth depth(this);
    if (!depth.ok()) return TooDeep();
    Node node{.op = Op::kFunction, .text = TextOf(tokens_[at_])};
    node.function = FunctionNamed(node.text);
    at_ += 2;  // the name and its parenthesis
    HF_CHECK_OK(OperandList(&node.operands));
    return Add(std::move(node));
  }

  // operand, … )
  Status OperandList(std::vector<NodeId>* operands) {
    do {
      HF_TRY(NodeId operand, Operand());
      operands->push_back(operand);
    } while (AcceptSymbol(","));
    return ExpectSymbol(")");
  }

  Result<NodeId> SetOperand() {
    if (AcceptSymbol("(")) {
      HF_TRY(NodeId inner, SetValue());
      HF_CHECK_OK(ExpectSymbol(")"));
      return MarkParentheses(inner);
    }
    return BareOperand();
  }

  Status NamedStep(Node* node) {
    const Token& token = tokens_[at_];
    bool placeholder = token.kind == Token::Kind::kName;
    if (!placeholder && (token.kind != Token::Kind::kWord || IsKeyword(token))) return SyntaxError();
    node->path.push_back({.name = TextOf(token)});
    node->has_name_placeholder |= placeholder;
    ++at_;
    return Ok{};
  }

  Status PositionStep(Node* node) {
    const Token& token = tokens_[at_];
    if (token.kind != Token::Kind::kDigits) return SyntaxError();
    std::string_view digits = TextOf(token);
    int64_t position = 0;
    for (char digit : digits) {
      position = position * 10 + (digit - '0');
      if (position > INT32_MAX) {
        return Fail("List index is not within the allowable range; index: [" + std::string(digits) + "]");
      }
    }
    ++at_;
    node->path.push_back({.name = {}, .position = position});
    return ExpectSymbol("]");
  }

  const std::string_view what_;
  const std::string_view text_;
  const std::vector<std::string_view> keywords_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Tree tree_;
  int depth_ = 0;
  int operators_ = 0;
  bool redundant_parentheses_ = false;
};

}  // namespace

Error InvalidExpression(std::string_view what, const std::string& why) {
  return RequestError("Invalid " + std::string(what) + ": " + why);
}

Result<Tree> ParseConditionText(std::string_view what, std::string_view text) {
  Parser parser(what, text, {"AND", "OR", "NOT", "BETWEEN", "IN"});
  HF_CHECK_OK(parser.Start());
  HF_TRY(NodeId root, parser.Condition());
  HF_CHECK_OK(parser.Finish());
  return parser.TakeTree(root);
}

Result<ParsedUpdate> ParseUpdateText(std::string_view text) {
  using Kind = UpdateClause::Kind;
  Parser parser("UpdateExpression", text, {"SET", "REMOVE", "ADD", "DELETE"});
  HF_CHECK_OK(parser.Start());
  ParsedUpdate update;
  bool seen[4] = {};
  do {
    static constexpr std::string_view kNames[] = {"SET", "REMOVE", "ADD", "DELETE"};
    int section = 0;
    while (section < 4 && !parser.AcceptKeyword(kNames[section])) ++section;
    if (section == 4) return parser.SyntaxError();
    if (seen[section] && update.repeated_section.empty()) update.repeated_section = kNames[section];
    seen[section] = true;
    do {
      UpdateClause clause{static_cast<Kind>(section), 0, 0};
      HF_TRY(clause.path, parser.DocumentPath());
      if (clause.kind == Kind::kSet) {
        HF_CHECK_OK(parser.ExpectSymbol("="));
        HF_TRY(clause.value, parser.SetValue());
      } else if (clause.kind != Kind::kRemove) {
        HF_TRY(clause.value, parser.ValuePlaceholder());
      }
      update.clauses.push_back(clause);
    } while (parser.AcceptSymbol(","));
  } while (!parser.AtEnd());
  HF_CHECK_OK(parser.Finish());
  update.tree = parser.TakeTree(0);
  return update;
}

Result<ParsedProjection> ParseProjectionText(std::string_view text) {
  Parser parser("ProjectionExpression", text, {});
  HF_CHECK_OK(parser.Start());
  ParsedProjection projection;
  do {
    HF_TRY(NodeId path, parser.DocumentPath());
    projection.paths.push_back(path);
  } while (parser.AcceptSymbol(","));
  HF_CHECK_OK(parser.Finish());
  projection.tree = parser.TakeTree(0);
  return projection;
}

std::string PathText(const Path& path) {
  std::string text = "[";
  for (const PathStep& step : path) {
    if (text.size() > limits::kExpressionBytesMax) break;
    if (text.size() > 1) text += ", ";
    text += step.is_position() ? "[" + std::to_string(step.position) + "]"
                               : base::Shown(step.name, limits::kExpressionBytesMax);
  }
  return text + "]";
}

std::optional<value::ValueView> Resolve(const Path& path, value::MapView item, base::WorkMeter* work) {
  work->Spend(FindCost(path[0].name, item.size()));
  std::optional<value::ValueView> found = item.Find(path[0].name);
  for (size_t i = 1; found && i < path.size(); ++i) {
    const PathStep& step = path[i];
    if (step.is_position()) {
      if (found->type() != value::Type::kList) return std::nullopt;
      value::ContainerView list = found->entries();
      if (step.position >= list.size()) return std::nullopt;
      found = value::ValueView(list.Entry(static_cast<uint32_t>(step.position)));
    } else {
      if (found->type() != value::Type::kMap) return std::nullopt;
      value::MapView map = found->map();
      work->Spend(FindCost(step.name, map.size()));
      found = map.Find(step.name);
    }
  }
  return found;
}

}  // namespace holdfast::expression
