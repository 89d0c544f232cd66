// Who a token says its bearer is.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::auth {

struct Identity {
  std::string issuer;
  std::string subject;     // never empty
  std::string role;        // empty: the token names none
  std::string tenant;      // never empty: the subject when the token names none
  int64_t expires_at = 0;  // seconds since 1970
};

}  // namespace holdfast::auth
