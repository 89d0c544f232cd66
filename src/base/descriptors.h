// How many files and sockets the process may have open at a time.
#pragma once

#include <cstddef>

namespace holdfast::base {

// The limit in force (RLIMIT_NOFILE).
size_t DescriptorLimit();
// Raises it as far as the process may without privileges, and gives what it is then. The usual 1,024 are for
// programs that call select(); a store of a terabyte has some ten thousand files.
size_t RaiseDescriptorLimit();

}  // namespace holdfast::base
