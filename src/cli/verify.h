// `holdfast verify`: checks a store that no server has open.
#pragma once

#include <string>

namespace holdfast::cli {

struct VerifyConfig {
  std::string directory;
  std::string key_file;
};

// Returns the exit code: 0 sound, 1 faults found or not readable.
int Verify(const VerifyConfig& config);

}  // namespace holdfast::cli
