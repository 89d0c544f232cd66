// Items as other programs write them, judged by the shipped models: each is the entity it should be, breaks
// no rule, and is remarked on exactly where its fixture says.

#include "models/test_app.h"
#include "models/yaml_values.h"

namespace holdfast {
namespace {

using testing::Must;

class FixtureTest : public ::testing::Test {
 public:
  FixtureTest(ModelPtr model, std::string table, Item item, YAML::Node expect)
      : model_(std::move(model)), table_(std::move(table)), item_(std::move(item)), expect_(expect) {}

  void TestBody() override {
    const model::Table* table = model_->TableNamed(table_);
    ASSERT_NE(table, nullptr) << table_;
    const model::Entity* entity = model_->EntityOf(*table, item_);
    ASSERT_NE(entity, nullptr) << "the model does not know what this is";
    if (!table->type_attribute.empty()) {
      EXPECT_EQ(AttributeValue(entity->type), item_.Get(table->type_attribute));
    }
    model::Judgement judgement = model::Judge(*model_, *entity, item_);
    for (const model::Violation& violation : judgement.violations)
      ADD_FAILURE() << violation.path << ": " << violation.rule << " " << violation.got;
    std::vector<std::string> warned;
    for (const model::Warning& warning : judgement.warnings) warned.push_back(warning.path);
    std::vector<std::string> expected;
    if (expect_.IsMap()) expected = expect_["warnings"].as<std::vector<std::string>>();
    std::sort(warned.begin(), warned.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(warned, expected);
  }

 private:
  const ModelPtr model_;
  const std::string table_;
  const Item item_;
  const YAML::Node expect_;
};

// `whole` with `value` at `path`, as in content.summary.open.
AttributeMap With(AttributeMap whole, const std::string& path, const AttributeValue& value) {
  size_t dot = path.find('.');
  AttributeValue& at = whole[path.substr(0, dot)];
  at = dot == std::string::npos ? value : AttributeValue::Map(With(at.AsMap(), path.substr(dot + 1), value));
  return whole;
}

const int kRegistered = [] {
  int count = 0;
  for (const char* file : {"auto", "pm", "pos", "trip"}) {
    std::string name = std::string(file) + ".yaml";
    ModelPtr model = Must(model::LoadModelFile(testing::kRoot / "models" / name, {}));
    struct Stored {
      std::string table;
      AttributeMap item;
    };
    std::map<std::string, Stored> by_name;
    for (const auto& fixture : YAML::LoadFile(testing::kRoot / "tests/models/fixtures" / name)) {
      Stored stored = fixture["like"]
                          ? by_name.at(fixture["like"].Scalar())
                          : Stored{fixture["table"].Scalar(), testing::ItemOf(fixture["item"]).ToMap()};
      for (const auto& change : fixture["with"])
        stored.item = With(stored.item, change.first.Scalar(), testing::ValueOf(change.second));
      by_name[fixture["name"].Scalar()] = stored;
      ::testing::RegisterTest("Fixtures", (std::string(file) + " " + fixture["name"].Scalar()).c_str(),
                              nullptr, nullptr, __FILE__, __LINE__,
                              [model, stored, expect = YAML::Clone(fixture["expect"])] {
                                return new FixtureTest(model, stored.table, Item(stored.item), expect);
                              });
      ++count;
    }
  }
  return count;
}();

TEST(FixtureFiles, AreThere) {
  EXPECT_GE(kRegistered, 30);
}

}  // namespace
}  // namespace holdfast
