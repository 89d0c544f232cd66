#include "wire/host_rule.h"

#include <gtest/gtest.h>

namespace holdfast::wire {
namespace {

HttpRequest From(std::string_view host, std::string_view origin = {}) {
  HttpRequest request;
  if (!host.empty()) request.headers.push_back({"Host", host});
  if (!origin.empty()) request.headers.push_back({"Origin", origin});
  return request;
}

// A page that has its own name lead to this machine must get nothing.
TEST(HostRule, OnlyLoopbackAndGivenNames) {
  HostRule none;
  for (const char* host : {"", "localhost", "localhost:8000", "db.localhost", "127.0.0.1:1", "[::1]:8000"})
    EXPECT_TRUE(none.Allows(From(host))) << host;
  for (const char* host : {"evil.example", "localhost.evil.example:8000", "10.0.0.1", "127.evil.example",
                           "127.0.0.1.evil.example:8000"})
    EXPECT_FALSE(none.Allows(From(host))) << host;
  EXPECT_TRUE(HostRule({"Db.Example"}).Allows(From("db.example:443")));
  EXPECT_TRUE(HostRule({"*"}).Allows(From("evil.example")));
}

// A browser names the page that sends a request: only our own may.
TEST(HostRule, OtherOrigins) {
  EXPECT_TRUE(IsOwnOrigin(From("localhost:8000")));
  EXPECT_TRUE(IsOwnOrigin(From("localhost:8000", "http://localhost:8000")));
  EXPECT_TRUE(IsOwnOrigin(From("db.example", "https://db.example")));
  EXPECT_FALSE(IsOwnOrigin(From("localhost:8000", "http://localhost:3000")));
  EXPECT_FALSE(IsOwnOrigin(From("localhost:8000", "http://evil.example")));
  EXPECT_FALSE(IsOwnOrigin(From("localhost:8000", "null")));
}

}  // namespace
}  // namespace holdfast::wire
