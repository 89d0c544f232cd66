// Values of every kind, judged and brought to their written form.
#include "model/check_value.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "model/load.h"

namespace holdfast::model {
namespace {

constexpr std::string_view kModel = R"(model: kinds
tables: {main: {name: Kinds, key: {key: S}}}
entities:
  All:
    attributes:
      key: S!
      s: {type: S, min: 2, max: 4}
      word: {type: S, pattern: "[a-z]+"}
      closed: S {a|b}
      open: "S {a|b|…}"
      n: {type: N, min: -1, max: 2.5}
      bool: BOOL
      bin: B
      set: SS
      numbers: NS
      any: Any
      uuid: uuid
      ulid: ulid
      at: ts
      day: date
      epoch: epoch
      v: vector(2)
      list: {type: L, min: 1, max: 2, items: "S {x|y}"}
      map: {type: M, fields: {in: N! = 5, text: S!, more: {type: M, fields: {deep: ts}}}, checks: ["in < 9"]}
      free: M
      point: {type: M, schema: point}
      points: {type: L, items: {type: M, schema: point}}
      byKey: {type: Any, schema: "{key}"}
schemas:
  point: {fields: {x: N!, y: N = 0}, checks: [{warn: x <> y}]}
)";

class CheckValueTest : public ::testing::Test {
 protected:
  struct Outcome {
    AttributeValue written;
    std::vector<std::string> violations;
    std::vector<std::string> warnings;
  };
  Outcome Accept(const std::string& name, const AttributeValue& value,
                 ValueCheck::Mode mode = ValueCheck::Mode::kWrite) {
    ValueCheck check(*model_, mode);
    std::string flat = FlatValue(value);
    Item siblings{{"key", "point"}};
    value::ValueView out =
        check.Accept(*entity_.Find(name), value::ValueView(flat), name, value::MapView(siblings));
    Outcome outcome{value::ToAttributeValue(out), {}, {}};
    for (const Violation& violation : check.violations) outcome.violations.push_back(violation.path);
    for (const Warning& warning : check.warnings) outcome.warnings.push_back(warning.path);
    return outcome;
  }
  bool Takes(const std::string& name, const AttributeValue& value) {
    Outcome outcome = Accept(name, value);
    return outcome.violations.empty() && outcome.warnings.empty();
  }
  bool Refuses(const std::string& name, const AttributeValue& value) {
    return !Accept(name, value).violations.empty();
  }

  std::shared_ptr<const Model> model_ = LoadModel(kModel, "kinds", {}).value();
  const Entity& entity_ = *model_->FindEntity("All");
};

using Paths = std::vector<std::string>;

// Of each kind what it takes; it refuses what all others take.
TEST_F(CheckValueTest, EveryKindTakesItsOwn) {
  const AttributeValue list = AttributeValue::List({"x"});
  const AttributeValue map = AttributeValue::Map({{"a", 1}});
  const std::map<std::string, std::vector<AttributeValue>> own{
      {"s", {"ab"}},
      {"n", {1}},
      {"bool", {true, false}},
      {"bin", {AttributeValue::Binary("ab")}},
      {"set", {AttributeValue::StringSet({"ab"})}},
      {"numbers", {AttributeValue::NumberSet({"1"})}},
      {"at", {"2026-02-04T10:30:00Z"}},
      {"day", {"2026-02-04"}},
      {"epoch", {1'770'201'000}},
      {"list", {list}},
      {"free", {map}},
      {"v", {AttributeValue::List({1, 2})}},
  };
  for (const auto& [name, values] : own) {
    for (const AttributeValue& value : values) EXPECT_TRUE(Takes(name, value)) << name;
    for (const auto& [other, strange] : own) {
      for (const AttributeValue& value : strange) {
        bool same = std::find(values.begin(), values.end(), value) != values.end();
        // Numbers are instants for an epoch, and instants are texts.
        bool kin = (name == "epoch" && (other == "n" || other == "at")) || (name == "v" && other == "bin") ||
                   (name == "list" && other == "v");
        if (!same && !kin) {
          EXPECT_TRUE(Refuses(name, value)) << name << " of " << other;
        }
        EXPECT_TRUE(Takes("any", value));
      }
    }
  }
}

TEST_F(CheckValueTest, BoundsAreIncluded) {
  for (const char* text : {"ab", "abcd", "äöüß"}) EXPECT_TRUE(Takes("s", text)) << text;
  for (const char* text : {"", "a", "abcde"}) EXPECT_TRUE(Refuses("s", text)) << text;
  for (double number : {-1.0, 0.0, 2.5}) EXPECT_TRUE(Takes("n", number)) << number;
  for (double number : {-1.001, 2.501}) EXPECT_TRUE(Refuses("n", number)) << number;
  EXPECT_TRUE(Refuses("list", AttributeValue::List({})));
  EXPECT_TRUE(Refuses("list", AttributeValue::List({"x", "y", "x"})));
  EXPECT_TRUE(Takes("word", "abc"));
  for (const char* text : {"", "abc1", "1abc", "ABC"}) EXPECT_TRUE(Refuses("word", text)) << text;
}

TEST_F(CheckValueTest, ChoicesAreClosedOrOpen) {
  EXPECT_TRUE(Takes("closed", "a"));
  EXPECT_TRUE(Refuses("closed", "c"));
  EXPECT_TRUE(Takes("open", "b"));
  EXPECT_EQ(Accept("open", "c").warnings, Paths{"open"});
  EXPECT_TRUE(Accept("open", "c").violations.empty());
  EXPECT_EQ(Accept("list", AttributeValue::List({"x", "z"})).violations, Paths{"list[1]"});
}

TEST_F(CheckValueTest, IdsOfAnotherFormAreRemarkedOn) {
  EXPECT_TRUE(Takes("uuid", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"));
  EXPECT_TRUE(Takes("ulid", "01ARYZ6S41TSV4RRFFQ69G5FAV"));
  for (const char* name : {"uuid", "ulid"}) {
    EXPECT_EQ(Accept(name, "legacy-7").warnings, Paths{name});
    EXPECT_TRUE(Refuses(name, 7));
  }
  EXPECT_EQ(Accept("uuid", "3F2504E0-4F89-41D3-9A0C-0305E82C3301").warnings, Paths{"uuid"});
}

TEST_F(CheckValueTest, TimesAreBroughtToOneForm) {
  EXPECT_EQ(Accept("at", "2026-02-04T11:30:00+01:00").written, AttributeValue("2026-02-04T10:30:00.000Z"));
  EXPECT_EQ(Accept("at", "2026-02-04T10:30:00Z", ValueCheck::Mode::kJudge).written,
            AttributeValue("2026-02-04T10:30:00Z"));
  EXPECT_EQ(Accept("epoch", "1970-01-01T00:00:59.999Z").written, AttributeValue(59));
  EXPECT_EQ(Accept("epoch", "1969-12-31T23:59:59.500Z").written, AttributeValue(-1));
  EXPECT_TRUE(Refuses("epoch", AttributeValue::Number(1.5)));
  EXPECT_TRUE(Refuses("day", "2026-02-30"));
  EXPECT_TRUE(Refuses("at", "2026-02-04"));
}

TEST_F(CheckValueTest, VectorsAreNumbersOrTheirBytes) {
  const float numbers[] = {0.5F, -2.F};
  std::string bytes(reinterpret_cast<const char*>(numbers), sizeof numbers);
  const AttributeValue same = AttributeValue::List({AttributeValue(0.5), -2});
  EXPECT_EQ(Accept("v", AttributeValue::Binary(bytes)).written, same);
  EXPECT_EQ(Accept("v", base::Base64(bytes)).written, same);
  const float bad[] = {1.F, std::numeric_limits<float>::infinity()};
  for (const AttributeValue& value :
       {AttributeValue::List({1}), AttributeValue::List({1, 2, 3}), AttributeValue::List({1, "2"}),
        AttributeValue::List({0, 0}), AttributeValue::List({1, AttributeValue::Number(std::string("1e100"))}),
        AttributeValue::Binary("abc"), AttributeValue("not base64!"),
        AttributeValue::Binary(std::string(reinterpret_cast<const char*>(bad), sizeof bad)),
        AttributeValue::Binary(std::string(8, '\0'))})
    EXPECT_TRUE(Refuses("v", value));
}

TEST_F(CheckValueTest, MapsAreFilledAndJudgedWithin) {
  Outcome filled = Accept("map", AttributeValue::Map({{"text", "a"}}));
  EXPECT_EQ(filled.written, AttributeValue::Map({{"text", "a"}, {"in", 5}}));
  EXPECT_EQ(Accept("map", AttributeValue::Map({{"text", "a"}}), ValueCheck::Mode::kJudge).violations,
            Paths{"map.in"});
  EXPECT_EQ(Accept("map", AttributeValue::Map({{"in", 1}})).violations, Paths{"map.text"});
  EXPECT_EQ(Accept("map", AttributeValue::Map({{"text", nullptr}})).violations, Paths{"map.text"});
  EXPECT_EQ(Accept("map", AttributeValue::Map({{"text", "a"}, {"in", 9}})).violations, Paths{"map"});
  EXPECT_EQ(Accept("map", AttributeValue::Map({{"text", "a"}, {"new", 1}})).warnings, Paths{"map.new"});
  AttributeValue more = AttributeValue::Map({{"deep", "2026-02-04T11:30:00+01:00"}});
  EXPECT_EQ(Accept("map", AttributeValue::Map({{"text", "a"}, {"more", more}})).written.AsMap().at("more"),
            AttributeValue::Map({{"deep", "2026-02-04T10:30:00.000Z"}}));
}

TEST_F(CheckValueTest, SchemasHoldAtEveryDepth) {
  Outcome good = Accept("points", AttributeValue::List({AttributeValue::Map({{"x", 1}})}));
  EXPECT_EQ(good.written, AttributeValue::List({AttributeValue::Map({{"x", 1}, {"y", 0}})}));
  EXPECT_EQ(Accept("points", AttributeValue::List({AttributeValue::Map({})})).violations,
            Paths{"points[0].x"});
  EXPECT_EQ(Accept("point", AttributeValue::Map({{"x", 0}})).warnings, Paths{"point"});
  EXPECT_EQ(Accept("byKey", AttributeValue::Map({})).violations, Paths{"byKey.x"});
  EXPECT_EQ(Accept("byKey", 7).violations, Paths{"byKey"});
}

}  // namespace
}  // namespace holdfast::model
