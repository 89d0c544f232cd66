#include "expression/parse.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "expression/testing.h"

namespace holdfast::expression {
namespace {

using testing::Why;

// A tree as text, every operator in parentheses: what precedence made of it.
std::string Text(const Tree& tree, NodeId id) {
  const Node& node = tree.at(id);
  auto join = [&](std::string_view between) {
    std::string text;
    for (NodeId operand : node.operands) {
      if (operand != node.operands.front()) text += between;
      text += Text(tree, operand);
    }
    return text;
  };
  switch (node.op) {
    case Op::kPath: return PathText(node.path);
    case Op::kValue: return std::string(node.text);
    case Op::kFunction: return std::string(node.text) + "(" + join(",") + ")";
    case Op::kPlus: return "(" + join("+") + ")";
    case Op::kMinus: return "(" + join("-") + ")";
    case Op::kEqual: return "(" + join("=") + ")";
    case Op::kNotEqual: return "(" + join("<>") + ")";
    case Op::kLess: return "(" + join("<") + ")";
    case Op::kLessEqual: return "(" + join("<=") + ")";
    case Op::kGreater: return "(" + join(">") + ")";
    case Op::kGreaterEqual: return "(" + join(">=") + ")";
    case Op::kBetween: return "(between " + join(" ") + ")";
    case Op::kIn: return "(in " + join(" ") + ")";
    case Op::kNot: return "(not " + join("") + ")";
    case Op::kAnd: return "(" + join(" and ") + ")";
    case Op::kOr: return "(" + join(" or ") + ")";
  }
  return "?";
}

std::string Condition(std::string_view text) {
  Result<Tree> tree = ParseConditionText("ConditionExpression", text);
  return tree ? Text(*tree, tree->root) : Why(tree);
}

std::string Update(std::string_view text) {
  Result<ParsedUpdate> update = ParseUpdateText(text);
  if (!update) return Why(update);
  std::string parsed;
  for (const UpdateClause& clause : update->clauses) {
    parsed += "SRAD"[static_cast<size_t>(clause.kind)] + Text(update->tree, clause.path);
    if (clause.kind != UpdateClause::Kind::kRemove) parsed += Text(update->tree, clause.value);
    parsed += ";";
  }
  return parsed;
}

TEST(Parse, OperatorsBindAsDocumented) {
  EXPECT_EQ(Condition("a = :a OR b = :b AND c = :c"), "(([a]=:a) or (([b]=:b) and ([c]=:c)))");
  EXPECT_EQ(Condition("NOT a = :a AND b = :b"), "((not ([a]=:a)) and ([b]=:b))");
  EXPECT_EQ(Condition("NOT (a = :a AND b = :b)"), "(not (([a]=:a) and ([b]=:b)))");
  EXPECT_EQ(Condition("a BETWEEN :x AND :y AND b = :b"), "((between [a] :x :y) and ([b]=:b))");
  EXPECT_EQ(Condition("NOT NOT a = :a"), "(not (not ([a]=:a)))");
}

TEST(Parse, EveryConditionHasItsForm) {
  for (auto [text, parsed] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"a<>:a", "([a]<>:a)"},
           {"a<:a", "([a]<:a)"},
           {"a<=:a", "([a]<=:a)"},
           {"a>:a", "([a]>:a)"},
           {"a>=:a", "([a]>=:a)"},
           {"(a) = (:a)", "([a]=:a)"},
           {"a in (:x, b, size(c))", "(in [a] :x [b] size([c]))"},
           {"attribute_exists(a.b[3].#c)", "attribute_exists([a, b, [3], #c])"},
           {"begins_with ( a , :p )", "begins_with([a],:p)"},
           {"size(a) > :n", "(size([a])>:n)"},
           {"a\n=\t:a", "([a]=:a)"}}) {
    EXPECT_EQ(Condition(text), parsed) << text;
  }
}

TEST(Parse, KeywordsAreReadInAnyCaseAndFunctionsAreNot) {
  EXPECT_EQ(Condition("a = :a aNd nOt b bEtween :x AND :y"), "(([a]=:a) and (not (between [b] :x :y)))");
  EXPECT_EQ(Condition("Size(a) = :n"), "(Size([a])=:n)") << "the binder refuses the name";
  EXPECT_EQ(Update("set a = :a remove B"), "S[a]:a;R[B];");
}

// Clients show these messages; the token and its neighbours are as DynamoDB prints them.
TEST(Parse, SyntaxErrorsShowTheTokenAndItsNeighbours) {
  EXPECT_EQ(Condition(""), "The expression can not be empty;");
  EXPECT_EQ(Condition("   "), "Syntax error; token: \"<EOF>\", near: \"   \"");
  EXPECT_EQ(Condition("a = "), "Syntax error; token: \"<EOF>\", near: \"= \"");
  EXPECT_EQ(Condition("a = :a b"), "Syntax error; token: \"b\", near: \":a b\"");
  EXPECT_EQ(Condition("a ! :a"), "Syntax error; token: \"!\", near: \"a ! :a\"");
  EXPECT_EQ(Condition("(a = :a"), "Syntax error; token: \"<EOF>\", near: \":a\"");
  EXPECT_EQ(Condition("a = é"), "Syntax error; token: \"é\", near: \"= é\"");
  EXPECT_EQ(Condition("((a = :a))"), "The expression has redundant parentheses;");
  for (std::string_view text : {"a",
                                ":a",
                                "a = :a AND",
                                "AND a = :a",
                                "a = :a OR b",
                                "NOT a",
                                "a BETWEEN :x",
                                "a BETWEEN :x OR :y",
                                "a IN ()",
                                "a IN :x",
                                "a[b] = :a",
                                "a[-1] = :a",
                                "a. = :a",
                                "a..b = :a",
                                "f()",
                                "f(a",
                                "= :a",
                                "a == :a",
                                "a = :a = :b",
                                "(a = :a) = :b",
                                "1a = :a",
                                "a = 5",
                                "#",
                                ":",
                                "a = \"x\"",
                                "a[1 = :a",
                                "a b"}) {
    EXPECT_TRUE(Condition(text).starts_with("Syntax error")) << text << " → " << Condition(text);
  }
}

TEST(Parse, UpdatesHaveFourSectionsInAnyOrder) {
  EXPECT_EQ(Update("REMOVE a, b.c[0] SET d = :d, e = f + :n ADD g :g DELETE h :h"),
            "R[a];R[b, c, [0]];S[d]:d;S[e]([f]+:n);A[g]:g;D[h]:h;");
  EXPECT_EQ(Update("SET a = if_not_exists(b, :z) - :n"), "S[a](if_not_exists([b],:z)-:n);");
  EXPECT_EQ(Update("SET a = (b + (c))"), "S[a]([b]+[c]);");
  EXPECT_EQ(Update("SET a = list_append(b, :l)"), "S[a]list_append([b],:l);");
  for (std::string_view text :
       {"SET", "a = :a", "SET a", "SET a = ", "SET a = :a,", "SET a = b + c + d", "SET a = (b + c) + d",
        "SET a = b * c", "ADD a b", "ADD a", "REMOVE", "REMOVE a = :a", "DELETE a", "SET SET = :a",
        "SET :a = b", "SET a = :a REMOVE"}) {
    EXPECT_TRUE(Update(text).starts_with("Syntax error")) << text << " → " << Update(text);
  }
}

TEST(Parse, PositionsInListsHaveABound) {
  EXPECT_EQ(Condition("a[2147483647] = :a"), "([a, [2147483647]]=:a)");
  EXPECT_EQ(Condition("a[2147483648] = :a"),
            "List index is not within the allowable range; index: [2147483648]");
  EXPECT_EQ(Condition("a[" + std::string(500, '9') + "] = :a"),
            "List index is not within the allowable range; index: [" + std::string(500, '9') + "]");
}

TEST(Parse, AnExpressionMayHave4096BytesAnd300OperatorsAnd100Operands) {
  std::string name(limits::kExpressionBytesMax - 5, 'n');
  EXPECT_EQ(Condition(name + " = :a"), "([" + name + "]=:a)");
  EXPECT_EQ(Condition(name + "n = :a"),
            "Expression size has exceeded the maximum allowed size; expression size: 4097");

  auto comparisons = [](int count) {
    std::string text = "a=:a";
    for (int i = 1; i < count; ++i) text += " OR a=:a";
    return text;
  };
  EXPECT_TRUE(Condition(comparisons(150)).starts_with("(([a]=:a) or ")) << "150 = and 149 OR";
  EXPECT_EQ(Condition(comparisons(151)), "The expression contains too many operators; operator count: 301");

  auto in = [](int count) {
    std::string text = "a IN (:a";
    for (int i = 1; i < count; ++i) text += ",:a";
    return text + ")";
  };
  EXPECT_TRUE(Condition(in(100)).starts_with("(in "));
  EXPECT_EQ(Condition(in(101)),
            "The IN operator is provided with too many operands; number of operands: 101");
}

}  // namespace
}  // namespace holdfast::expression
