#include "model/load.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::model {
namespace {

std::string ModelProblem(const std::string& yaml) {
  auto model = LoadModel(yaml, "m.yaml", {});
  return model ? "" : model.error().message();
}

std::string Lines(size_t count, const std::string& before, const std::string& after) {
  std::string lines;
  for (size_t i = 0; i < count; ++i) lines += before + std::to_string(i) + after;
  return lines;
}

std::string Desk(const std::string& more) {
  return "model: desk\ntables: {main: {key: {pk: S}}}\n" + more;
}

std::string Entities(size_t count) {
  return "entities:\n" + Lines(count, "  E", ": {attributes: {id: S!}, key: {pk: \"KEY#{id}\"}}\n");
}

// A model may be anybody's. A megabyte of YAML could ask for the square of its lines: of entities compared
// with each other, of attributes that every entity has, of programs for patterns.
TEST(ModelBounds, AreToldWithTheirPlace) {
  EXPECT_EQ(ModelProblem(Desk(Entities(501))),
            "m.yaml:4: entities: has 501 entries; at most 500 are supported");
  EXPECT_EQ(ModelProblem(Desk("patterns:\n" + Lines(1001, "  P", ": {scan: X}\n"))),
            "m.yaml:4: patterns: has 1001 entries; at most 1000 are supported");
  std::string wide = "entities:\n  E:\n    attributes:\n" + Lines(501, "      a", ": S\n");
  EXPECT_NE(ModelProblem(Desk(wide)).find("has 501 entries; at most 500 are supported"), std::string::npos);

  // 400 entities of 100 attributes from five lines each: more than a file of this size could list.
  std::string common = "common:\n" + Lines(100, "  c", ": S\n") + Entities(400);
  EXPECT_NE(ModelProblem(Desk(common)).find("at most 20000 attributes in all"), std::string::npos)
      << ModelProblem(Desk(common));

  std::string patterns = "entities:\n  E:\n    attributes:\n" +
                         Lines(201, "      a", ": {type: S, pattern: \"[a-z]{1,300}\"}\n");
  EXPECT_NE(ModelProblem(Desk(patterns)).find("a200.pattern: a model has at most 200 of them"),
            std::string::npos)
      << ModelProblem(Desk(patterns));
}

// A file that is no YAML, or more than a file may be, is refused with a line like any other.
TEST(ModelBounds, HoldForTheFile) {
  EXPECT_EQ(ModelProblem(std::string(2 << 20, ' ')), "m.yaml:1: the file is larger than 1 MB");
  EXPECT_TRUE(ModelProblem("a: [").starts_with("m.yaml:")) << ModelProblem("a: [");
  EXPECT_EQ(ModelProblem("model: a\n---\nmodel: b\n"),
            "m.yaml:2: a file has one document, and here begins another");
}

}  // namespace
}  // namespace holdfast::model
