#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

// What a cut left behind, readable by all, must not lend its mode or its bytes to a private file.
TEST(FileTest, ReplacesWholeFilesAndSetsTheirMode) {
  std::filesystem::path directory = testing::TempDir() + "file_test." + std::to_string(::getpid());
  std::filesystem::create_directory(directory);
  std::string path = directory / "secret";
  std::ofstream(path + ".new") << "half of an earlier attempt";
  ASSERT_TRUE(ReplaceFile(path, "first", 0600));
  ASSERT_TRUE(ReplaceFile(path, "2nd", 0600));
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "2nd");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  std::filesystem::remove_all(directory);
  EXPECT_EQ(ReplaceFile(path, "third", 0600).error().code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace holdfast::base
