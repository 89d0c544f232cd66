#include "base/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace holdfast::base {
namespace {

class MachineMemory : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("holdfast-machine-" + std::to_string(::getpid()));
    Write("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(MachineMemory, IsTheMachinesWhereNoGroupLimitsIt) {
  EXPECT_EQ(MachineMemoryBytes(root_), size_t{16} << 30);
  Write("/proc/self/cgroup", "0::/user.slice\n");
  Write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(MachineMemoryBytes(root_), size_t{16} << 30);
}

// A server in a container must take its quarter of what the container has.
TEST_F(MachineMemory, IsTheLeastLimitOfTheGroupsAroundTheProcess) {
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/memory.max", "1073741824\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(MachineMemoryBytes(root_), size_t{1} << 30);
  Write("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
  EXPECT_EQ(MachineMemoryBytes(root_), size_t{512} << 20);
}

// Of the groups outside a container only the mount's own root can be seen.
TEST_F(MachineMemory, IsTheLimitAtTheRootWhereTheGroupCannotBeSeen) {
  Write("/proc/self/cgroup", "5:cpu,memory:/docker/0123\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(MachineMemoryBytes(root_), size_t{2} << 30);
}

TEST_F(MachineMemory, ResidentBytesGrowWithWhatIsTouched) {
  size_t before = ResidentBytes();
  ASSERT_GT(before, 0u);
  std::vector<char> touched(32 << 20, 1);
  EXPECT_GE(ResidentBytes(), before + (size_t{24} << 20)) << touched[touched.size() / 2];
}

}  // namespace
}  // namespace holdfast::base
