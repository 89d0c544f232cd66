// What the machine, or the container around this process, gives it.
#pragma once

#include <cstddef>
#include <string>

namespace holdfast::base {

// The memory that this process may use: the machine's, or less where a control group (a container, a systemd
// unit) says so. `root` is where /proc and /sys are, for tests.
size_t MachineMemoryBytes(const std::string& root = "");

// What this process takes of it at the moment; 0 when that cannot be told.
size_t ResidentBytes();

}  // namespace holdfast::base
