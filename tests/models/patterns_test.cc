// Every access pattern of the shipped models, by its ID: data in, the right items in the right order out, the
// plan that the model promises. The data is in cases/*.yaml. HOLDFAST_TEST_ENDPOINT runs the same on a remote
// store, HOLDFAST_TEST_CASES one file alone, HOLDFAST_TEST_MODELS with models of another directory.

#include <gtest/gtest.h>

#include <map>

#include "apps/apps.h"
#include "models/store_world.h"

namespace holdfast {
namespace {

using testing::ItemOf;
using testing::kRoot;
using testing::StoreWorld;

// One file of cases with its model, its store and what was written.
class World : public StoreWorld {
 public:
  explicit World(const std::string& file) : StoreWorld("cases/" + file, Options()) {
    for (const auto& item : cases["items"]) {
      if (failure.empty()) Write(item.first.Scalar(), item.second);
    }
  }

  std::map<std::string, std::string> names;  // stored key → name

  std::string NameOf(const Record& record) const {
    for (const auto& [key, name] : names) {
      if (record.entity() != nullptr && key == KeyOf(record)) return name;
    }
    // Of a search only some attributes are given back.
    if (auto id = record.stored().Get("id")) {
      auto at = by_id_.find(model::ReadableValue(*id));
      if (at != by_id_.end()) return at->second;
    }
    return "unknown " + testing::PlainText(record.stored());
  }

 private:
  static ApplicationOptions Options() {
    ApplicationOptions options;
    options.commands = apps::ShippedCommands(nullptr);
    return options;
  }
  static std::string KeyOf(const Record& record) {
    return record.entity()->table->name + "\n" +
           std::string(model::KeyOf(*record.entity()->table, record.stored()).flat());
  }

  void Write(const std::string& name, const YAML::Node& node) {
    std::string kind = node.begin()->first.Scalar();
    const YAML::Node& fields = node.begin()->second;
    if (kind == "raw") {
      PutItemRequest put;
      put.table_name = fields["table"].Scalar();
      put.item = ItemOf(fields["item"]);
      const model::Table* table = application->model().TableNamed(put.table_name);
      if (table == nullptr) return Fail(ValidationError(name + ": no table " + put.table_name));
      names[put.table_name + "\n" + std::string(model::KeyOf(*table, put.item).flat())] = name;
      if (auto id = put.item.Get("id")) by_id_[model::ReadableValue(*id)] = name;
      if (auto done = store()->Run(put); !done) Fail(done.error());
      return;
    }
    auto written = application->Import(kind, ItemOf(fields));
    if (!written) return Fail(Error(written.error().code(), name + ": " + written.error().message()));
    names[KeyOf(written->record)] = name;
    if (auto id = written->record.stored().Get("id")) by_id_[model::ReadableValue(*id)] = name;
  }

  std::map<std::string, std::string> by_id_;
};

std::map<std::string, std::unique_ptr<World>>& Worlds() {
  static std::map<std::string, std::unique_ptr<World>> worlds;
  return worlds;
}

World& WorldOf(const std::string& file) {
  auto& world = Worlds()[file];
  if (!world) {
    // One at a time: files may share tables.
    for (auto& [other, open] : Worlds()) {
      if (other != file) open.reset();
    }
    world = std::make_unique<World>(file);
  }
  return *world;
}

class PatternTest : public ::testing::Test {
 public:
  PatternTest(std::string file, std::string pattern) : file_(std::move(file)), pattern_(std::move(pattern)) {}

  void TestBody() override {
    World& world = WorldOf(file_);
    ASSERT_EQ(world.failure, "");
    int number = 0;
    for (const auto& one : world.cases["patterns"][pattern_]) {
      SCOPED_TRACE(file_ + " " + pattern_ + " case " + std::to_string(++number));
      Ask(world, one);
    }
  }

 private:
  void Ask(World& world, const YAML::Node& one) {
    Caller caller = one["as"] ? Caller::Tenant(one["as"].Scalar()) : Caller::Administrator();
    Item parameters = ItemOf(one["ask"]);
    if (one["plan"]) {
      auto lines = world.application->Explain(caller, pattern_, parameters);
      ASSERT_TRUE(lines) << lines.error().ToString();
      EXPECT_EQ(*lines, one["plan"].as<std::vector<std::string>>());
    }
    PageRequest page;
    if (one["limit"]) page.limit = one["limit"].as<int64_t>();
    auto answer = world.application->Ask(caller, pattern_, parameters, page);
    if (one["error"]) {
      ASSERT_FALSE(answer) << "expected " << one["error"].Scalar();
      EXPECT_EQ(model::RefusalName(answer.error()), one["error"].Scalar()) << answer.error().message();
      return;
    }
    ASSERT_TRUE(answer) << answer.error().ToString();
    if (one["pages"]) return Pages(world, one, caller, parameters, page, *answer);
    if (!one["gives"]) return;
    if (one["gives"].IsMap()) {
      for (const auto& [name, part] : answer->parts)
        EXPECT_EQ(Names(world, part), Expected(one["gives"][name])) << name;
      EXPECT_EQ(answer->parts.size(), one["gives"].size());
      return;
    }
    std::vector<std::string> got = Names(world, *answer);
    std::vector<std::string> expected = Expected(one["gives"]);
    bool unordered = one["plan"] && one["plan"].size() == 1 && one["plan"][0].Scalar().starts_with("Scan");
    if (unordered) {
      std::sort(got.begin(), got.end());
      std::sort(expected.begin(), expected.end());
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(answer->cursor, "");
    if (!one["shows"]) return;
    ASSERT_EQ(one["shows"].size(), answer->records.size());
    for (size_t i = 0; i < answer->records.size(); ++i) {
      Item fields = answer->records[i].Fields();
      EXPECT_TRUE(testing::Has(one["shows"][i], fields)) << testing::PlainText(fields);
    }
  }

  void Pages(World& world, const YAML::Node& one, const Caller& caller, const Item& parameters,
             PageRequest page, Answer answer) {
    for (size_t i = 0; i < one["pages"].size(); ++i) {
      EXPECT_EQ(Names(world, answer), Expected(one["pages"][i])) << "page " << i + 1;
      bool last = i + 1 == one["pages"].size();
      EXPECT_EQ(answer.cursor.empty(), last) << "page " << i + 1;
      if (answer.cursor.empty()) return;
      page.cursor = answer.cursor;
      auto next = world.application->Ask(caller, pattern_, parameters, page);
      ASSERT_TRUE(next) << next.error().ToString();
      answer = *std::move(next);
    }
  }

  static std::vector<std::string> Expected(const YAML::Node& names) {
    return names.IsDefined() && names.IsSequence() ? names.as<std::vector<std::string>>()
                                                   : std::vector<std::string>();
  }
  static std::vector<std::string> Names(const World& world, const Answer& answer) {
    std::vector<std::string> names;
    for (const Record& record : answer.records) names.push_back(world.NameOf(record));
    return names;
  }

  const std::string file_;
  const std::string pattern_;
};

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (const char* file : {"auto.yaml", "pm.yaml", "pos.yaml", "pos-tenant-scope.yaml", "trip.yaml"}) {
    if (const char* only = std::getenv("HOLDFAST_TEST_CASES"); only != nullptr && std::string(file) != only)
      continue;
    YAML::Node cases = YAML::LoadFile(holdfast::kRoot / "tests/models/cases" / file);
    for (const auto& pattern : cases["patterns"]) {
      std::string id = pattern.first.Scalar();
      std::string suite = std::string(file).substr(0, std::string(file).find('.'));
      ::testing::RegisterTest(suite.c_str(), id.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [file = std::string(file), id] { return new holdfast::PatternTest(file, id); });
    }
  }
  int failed = RUN_ALL_TESTS();
  holdfast::Worlds().clear();  // while a remote store can still be spoken to
  return failed;
}
