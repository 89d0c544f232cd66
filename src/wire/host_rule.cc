#include "wire/host_rule.h"

#include <algorithm>

namespace holdfast::wire {
namespace {

// Not "127.evil.example", which is a name that anybody may have lead to this machine.
bool IsLoopbackAddress(std::string_view host) {
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool IsLoopbackName(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || host == "::1" ||
         IsLoopbackAddress(host);
}

std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with("[")) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

bool HostRule::Allows(const HttpRequest& request) const {
  std::string_view host = WithoutPort(request.Get("Host"));
  if (host.empty() || IsLoopbackName(host)) return true;
  return std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& name) { return name == "*" || EqualsIgnoringCase(name, host); });
}

bool IsOwnOrigin(const HttpRequest& request) {
  const std::string_view* origin = request.Find("Origin");
  if (origin == nullptr) return true;
  // The scheme is left aside: a proxy may speak TLS in our place.
  size_t scheme = origin->find("://");
  return scheme != std::string_view::npos &&
         EqualsIgnoringCase(origin->substr(scheme + 3), request.Get("Host"));
}

}  // namespace holdfast::wire
