// Is the store what it should be? Every item is well-formed and stands under its own key, every index holds
// exactly what a rebuild would, every expiry entry stands for an item that has that expiry.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace holdfast::engine {

struct VerifyReport {
  uint64_t tables = 0;
  uint64_t items = 0;
  uint64_t index_entries = 0;
  uint64_t expiry_entries = 0;
  std::vector<std::string> faults;  // at most 100
};

// Of one moment; only no vector may be written meanwhile, for those in memory are compared as they come.
Result<VerifyReport> VerifyStore(Engine* engine);

}  // namespace holdfast::engine
