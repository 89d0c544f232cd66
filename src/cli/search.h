// `holdfast search`: a vector search in a store that no server has open.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

struct SearchConfig {
  std::string directory;
  std::string key_file;
  std::string table;
  std::string index;
  // One of the three.
  std::string vector;       // "[0.1,0.2]"
  std::string vector_file;  // a file of that
  std::string like;         // the key of an item whose own vector is taken, in DynamoDB JSON

  int64_t top_k = 10;
  std::string where;                // "tenant = :t"
  std::vector<std::string> values;  // ":t={\"S\":\"x\"}"
  std::optional<double> threshold;
  bool json = false;
};

// Returns the exit code: 0 searched, 1 not possible, 2 bad arguments.
int Search(const SearchConfig& config);

}  // namespace holdfast::cli
