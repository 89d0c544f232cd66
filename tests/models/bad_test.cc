// Bad models, a file each in bad/: refused with the file, the line, the path and the reason that its first
// lines expect (`# expect: <line>: <path>: <part of the message>`), and with nothing else.

#include <fstream>
#include <sstream>

#include "models/test_app.h"

namespace holdfast {
namespace {

class BadModelTest : public ::testing::Test {
 public:
  explicit BadModelTest(std::filesystem::path file) : file_(std::move(file)) {}

  void TestBody() override {
    std::ifstream in(file_);
    std::vector<std::string> expected;
    constexpr std::string_view kMark = "# expect: ";
    for (std::string line; std::getline(in, line) && line.starts_with(kMark);)
      expected.push_back(file_.string() + ":" + line.substr(kMark.size()));
    ASSERT_FALSE(expected.empty()) << "says nothing of what to expect";
    auto model = model::LoadModelFile(file_, {});
    ASSERT_FALSE(model) << "was accepted";
    std::istringstream problems(model.error().message());
    size_t count = 0;
    for (std::string problem; std::getline(problems, problem); ++count) {
      ASSERT_LT(count, expected.size()) << problem;
      // The place is exact; of the message a part is enough.
      EXPECT_TRUE(problem.starts_with(expected[count])) << problem << "\nshould begin with\n"
                                                        << expected[count];
    }
    EXPECT_EQ(count, expected.size()) << model.error().message();
  }

 private:
  const std::filesystem::path file_;
};

const int kRegistered = [] {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::kRoot / "tests/models/bad")) {
    ::testing::RegisterTest("BadModels", entry.path().stem().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path = entry.path()] { return new BadModelTest(path); });
    ++count;
  }
  return count;
}();

TEST(BadModelFiles, AreThere) {
  EXPECT_GE(kRegistered, 20);
}

// The model that the manual makes up is what readers copy.
TEST(GoodModels, TheManualsModelLoads) {
  std::ifstream in(testing::kRoot / "docs/models.md");
  std::stringstream manual;
  manual << in.rdbuf();
  std::string text = manual.str();
  size_t begin = text.find("model: library");
  ASSERT_NE(begin, std::string::npos);
  auto model = model::LoadModel(text.substr(begin, text.find("```", begin) - begin), "models.md", {});
  EXPECT_TRUE(model) << model.error().message();
}

// What no file of a person holds: made here.
TEST(BadModelFiles, OfStrangersAreBounded) {
  auto refused = [](const std::string& text, const std::string& why) {
    auto model = model::LoadModel(text, "x", {});
    ASSERT_FALSE(model);
    EXPECT_NE(model.error().message().find(why), std::string::npos) << model.error().message().substr(0, 300);
  };
  refused("", "a model is a map");
  refused("[1, 2]", "a model is a map");
  refused(std::string(2 << 20, ' '), "larger than 1 MB");
  refused("model: x\ntables: " + std::string(100, '[') + std::string(100, ']'), "nested too deeply");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 7; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  refused(bomb, "too large");
  refused("model: [", "x:1:");
  refused(std::string(50'000, '['), "x:1:");
}

}  // namespace
}  // namespace holdfast
