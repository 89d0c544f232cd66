// Who a token says its bearer is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::auth {

struct Identity {
  std::string issuer;
  std::string subject;     // never empty
  std::string role;        // empty: the token names none
  std::string tenant;      // never empty: the subject when the token names none
  int64_t expires_at = 0;  // seconds since 1970
  // Of a worker: the agents that it may serve. Empty: the token does not say, so all.
  std::optional<std::vector<std::string>> agents = {};
};

}  // namespace holdfast::auth
