// Under which names this server answers, and to which pages in browsers.
//
// A page could make its victim's browser talk to us under a name of its own (DNS rebinding): a name that we
// were not given is refused. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/http_parser.h"

namespace holdfast::wire {

class HostRule {
 public:
  // `names` besides loopback ones; "*": any.
  explicit HostRule(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  bool Allows(const HttpRequest& request) const;
  static constexpr std::string_view kRefusal =
      "This server answers to loopback names only; start it with --allow-host to add the name you used.";

 private:
  std::vector<std::string> names_;
};

// False when a browser sent the request for a page of another place. Programs name no origin.
bool IsOwnOrigin(const HttpRequest& request);

}  // namespace holdfast::wire
