#include "base/machine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

namespace holdfast::base {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

// The number a file begins with; no limit when there is none, as in "max".
size_t NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  size_t number = kNoLimit;
  if (file >> word) std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

// The least limit of a group and of those around it. In a container the group's path may be one that only
// the machine outside knows; then the groups around it are what can be seen.
size_t LimitOf(const std::string& mount, std::string group, const std::string& file) {
  size_t limit = kNoLimit;
  while (true) {
    limit = std::min(limit, NumberIn(mount + group + "/" + file));
    if (group.empty()) return limit;
    group.erase(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

size_t PhysicalBytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string name;
  size_t kib = 0;
  if (file >> name >> kib && name == "MemTotal:") return kib << 10;
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

size_t MachineMemoryBytes(const std::string& root) {
  size_t bytes = PhysicalBytes(root);
  std::ifstream groups(root + "/proc/self/cgroup");
  // "0::/path" in version 2, "9:cpu,memory:/path" in version 1.
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers == ",,")
      bytes = std::min(bytes, LimitOf(root + "/sys/fs/cgroup", group, "memory.max"));
    else if (controllers.find(",memory,") != std::string::npos)
      bytes = std::min(bytes, LimitOf(root + "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  return bytes;
}

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0, resident = 0;
  if (!(file >> pages >> resident)) return 0;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace holdfast::base
