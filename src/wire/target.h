// The target of a request taken apart: the segments of its path and the parameters of its query, decoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::wire {

// "/v1/a%20b" → {"v1", "a b"}; an empty segment is one too. Fails for what is no UTF-8 in percent code.
Result<std::vector<std::string>> SplitPath(std::string_view path);

// The parameters of a query, each of them once. Those that are taken out say how to answer; the rest is what
// is asked for.
class Query {
 public:
  // "a=1&b=x+y". A parameter without "=" is empty. Fails for one that stands twice.
  static Result<Query> Parse(std::string_view text);

  const std::vector<std::pair<std::string, std::string>>& parameters() const { return parameters_; }
  std::optional<std::string> Take(std::string_view name);
  // "true" or "false"; absent: false.
  Result<bool> TakeFlag(std::string_view name);
  // A whole number.
  Result<std::optional<int64_t>> TakeNumber(std::string_view name);

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace holdfast::wire
