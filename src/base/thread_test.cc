#include "base/thread.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::base {
namespace {

class ContainedTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [this](std::string_view line) { lines_.emplace_back(line); }};
};

// A stored row that throws in a background thread must not end the process: the thread logs and goes on.
TEST_F(ContainedTest, AThreadGoesOnAfterARoundThatThrows) {
  int rounds = 0;
  std::vector<bool> finished;
  std::thread thread([&] {
    for (int i = 0; i < 3; ++i) {
      finished.push_back(RunContained(log_, "sweep", [&] {
        ++rounds;
        if (i == 1) throw std::out_of_range("map::at");
      }));
    }
  });
  thread.join();
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(finished, std::vector<bool>({true, false, true}));
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("error an exception was contained in=sweep"), std::string::npos) << lines_[0];
  EXPECT_NE(lines_[0].find("\"std::out_of_range: map::at\""), std::string::npos) << lines_[0];
}

// Who asked for something gets an answer: an exception becomes the Error that the caller can send.
TEST_F(ContainedTest, AnExceptionBecomesAnInternalError) {
  Result<int> value = CallContained(log_, "command", []() -> Result<int> { return 7; });
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 7);

  Result<int> thrown = CallContained(log_, "command", []() -> Result<int> { throw std::bad_alloc(); });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code(), ErrorCode::kInternal);
  EXPECT_EQ(thrown.error().message(), "command: std::bad_alloc: std::bad_alloc");

  Status refused =
      CallContained(log_, "command", []() -> Status { return ValidationError("the caller's own"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kValidation);
  EXPECT_EQ(lines_.size(), 1U);
}

// What is thrown need not be a std::exception.
TEST_F(ContainedTest, AnythingThrownIsContained) {
  EXPECT_FALSE(RunContained(log_, "round", [] { throw 7; }));
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("exception=int"), std::string::npos) << lines_[0];
}

}  // namespace
}  // namespace holdfast::base
