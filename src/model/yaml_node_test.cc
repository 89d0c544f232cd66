#include "model/yaml_node.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::model {
namespace {

YamlNode Read(std::string_view text) {
  auto node = ReadYaml(text, "f");
  EXPECT_TRUE(node.has_value()) << node.error().message();
  return node ? *node : YamlNode();
}

std::string YamlProblem(std::string_view text) {
  auto node = ReadYaml(text, "f");
  return node ? "" : node.error().message();
}

std::string Repeated(std::string_view unit, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text.append(unit);
  return text;
}

// Everything that reads YAML here asks these questions of a node, and of one that is not there.
TEST(YamlNodeTest, IsTheTreeOfItsText) {
  YamlNode root = Read("# a comment\nname: pm\nparts: [1, 'two', ~]\nof: &x {a: !Ref b}\nagain: *x\n");
  ASSERT_TRUE(root.IsMap());
  EXPECT_EQ(root.size(), 4U);
  EXPECT_EQ(root["name"].Scalar(), "pm");
  EXPECT_EQ(root["name"].Tag(), "?");
  EXPECT_EQ(root["name"].line(), 2);
  ASSERT_TRUE(root["parts"].IsSequence());
  EXPECT_EQ(root["parts"].elements()[1].Tag(), "!");
  EXPECT_TRUE(root["parts"].elements()[2].IsNull());
  EXPECT_EQ(root["again"]["a"].Scalar(), "b");
  EXPECT_EQ(root["again"]["a"].Tag(), "!Ref");
  EXPECT_EQ(root.entries()[3].first.Scalar(), "again");

  YamlNode none = root["none"]["deeper"];
  EXPECT_FALSE(none.IsDefined());
  EXPECT_FALSE(none.IsNull() || none.IsScalar() || none.IsMap() || none.IsSequence());
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.Scalar(), "");
  EXPECT_EQ(none.line(), 0);
  EXPECT_TRUE(Read("").IsNull());
  EXPECT_TRUE(Read("# nothing\n").IsNull());
  EXPECT_TRUE(Read("---\na: b\n...\n").IsMap());
}

// The parser stands still at some tokens, and reports an empty document for each look at them: a reader of
// all documents never came to an end.
TEST(YamlNodeTest, EndsWhereTheParserStandsStill) {
  for (const char* text : {",", "]", "a: b\n,", "- a\n]", "a: [b]]", "a\n---\nb", "---\n---\n"})
    EXPECT_NE(YamlProblem(text), "") << text;
  EXPECT_EQ(YamlProblem("a: b\n---\nc: d\n"), "f:2: a file has one document, and here begins another");
}

// A file of a few lines can stand for a tree of any size: each line here has ten of the line before.
TEST(YamlNodeTest, CountsWhatAliasesStandFor) {
  std::string bomb = "a0: &a0 x\n";
  for (int i = 1; i < 12; ++i) {
    std::string alias = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias + Repeated(", " + alias, 9) +
            "]\n";
  }
  EXPECT_NE(YamlProblem(bomb).find("too large or nested too deeply"), std::string::npos) << YamlProblem(bomb);
  EXPECT_NE(YamlProblem("a: &a [*a]").find("within what it is an alias of"), std::string::npos);

  std::string deep = "a0: &a0 x\n";
  for (int i = 1; i < 60; ++i)
    deep += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_NE(YamlProblem(deep).find("nested too deeply"), std::string::npos) << YamlProblem(deep);
}

// Recursions over a tree, ours and the parser's, rest on this.
TEST(YamlNodeTest, BoundsDepthAndSizeWhileItReads) {
  EXPECT_EQ(YamlProblem(Repeated("[", 39) + Repeated("]", 39)), "");
  for (const char* unit : {"[", "{a: ", "- ", "? ", "[{a: "})
    EXPECT_NE(YamlProblem(Repeated(unit, 100'000)).find("nested too deeply"), std::string::npos) << unit;
  EXPECT_NE(YamlProblem("[" + Repeated("a,", 200'000) + "]").find("too large"), std::string::npos);
  EXPECT_EQ(YamlProblem(std::string((1 << 20) + 1, ' ')), "f:1: the file is larger than 1 MB");
}

// Looking a key up used to compare it with each key before it: reading a map took the square of its entries.
TEST(YamlNodeTest, FindsAKeyAmongManyByItself) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "key" + std::to_string(i) + ": v" + std::to_string(i) + "\n";
  YamlNode root = Read(text);
  ASSERT_EQ(root.size(), 40'000U);
  for (const auto& [key, value] : root.entries()) EXPECT_EQ(root[key.Scalar()].Scalar(), value.Scalar());
}

// A setting or an attribute that is given twice, or under a list, has no meaning that two readers agree on.
TEST(YamlNodeTest, TakesEachKeyOnceAndAsAText) {
  EXPECT_EQ(YamlProblem("a: 1\nb: 2\na: 3\n"), "f:3: the key a stands here twice");
  EXPECT_EQ(YamlProblem("a: 1\n? [x, y]\n: 2\n"), "f:2: a key of a map is a text");
  EXPECT_EQ(YamlProblem("{}: 1"), "f:1: a key of a map is a text");
}

}  // namespace
}  // namespace holdfast::model
