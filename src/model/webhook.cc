#include "model/webhook.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "auth/hmac.h"
#include "base/bytes.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

template <class T, void (*Free)(T*)>
struct Freeing {
  void operator()(T* one) const { Free(one); }
};
using Easy = std::unique_ptr<CURL, Freeing<CURL, curl_easy_cleanup>>;
using Headers = std::unique_ptr<curl_slist, Freeing<curl_slist, curl_slist_free_all>>;
using Url = std::unique_ptr<CURLU, Freeing<CURLU, curl_url_cleanup>>;

struct Network {
  uint32_t address;
  int bits;
};
// What RFC 6890 and its heirs set apart.
constexpr Network kNotPublic[] = {
    {0x00000000, 8},   // this network
    {0x0a000000, 8},   // private
    {0x64400000, 10},  // shared, behind a carrier's NAT
    {0x7f000000, 8},   // loopback
    {0xa9fe0000, 16},  // link-local; cloud metadata
    {0xac100000, 12},  // private
    {0xc0000000, 24},  // protocol assignments
    {0xc0a80000, 16},  // private
    {0xc6120000, 15},  // benchmarks
    {0xe0000000, 4},   // multicast
    {0xf0000000, 4},   // reserved, broadcast
};

bool IsPublic(uint32_t address) {
  return std::none_of(std::begin(kNotPublic), std::end(kNotPublic), [&](const Network& network) {
    return (address ^ network.address) >> (32 - network.bits) == 0;
  });
}

// Global unicast, without the tunnels (Teredo, 6to4) that lead to some IPv4 address, and IPv4 in IPv6's
// clothes.
bool IsPublic(const in6_addr& address) {
  std::string_view bytes(reinterpret_cast<const char*>(&address), sizeof address);
  if (IN6_IS_ADDR_V4MAPPED(&address))
    return IsPublic(static_cast<uint32_t>(base::ReadBigEndian(bytes.substr(12), 4)));
  uint64_t prefix = base::ReadBigEndian(bytes, 4);
  return prefix >> 29 == 1 && prefix != 0x20010000 && prefix >> 16 != 0x2002;
}

std::string TextOf(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
  }
  return text;
}

// Null when it is none.
Url Parse(const std::string& text) {
  Url url(curl_url());
  // Without user names: whoever logs a URL must not log a password.
  if (url != nullptr &&
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK) {
    url.reset();
  }
  return url;
}

std::string PartOf(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (url != nullptr) curl_url_get(url.get(), part, &text, 0);
  std::string copy(text == nullptr ? "" : text);
  curl_free(text);
  return copy;
}

std::string HostOf(const Url& url) {
  std::string host = PartOf(url, CURLUPART_HOST);
  for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

// One call, as its callbacks see it.
struct Calling {
  const AllowedHost& host;
  size_t bytes_max;
  std::string answer;
  bool too_long = false;
  std::string refused_address;

  static curl_socket_t Open(void* self, curlsocktype, curl_sockaddr* address) {
    auto* call = static_cast<Calling*>(self);
    std::string text = TextOf(address->addr);
    const auto& listed = call->host.private_addresses;
    if (!IsPublicAddress(text) && text != call->host.name &&
        std::find(listed.begin(), listed.end(), text) == listed.end()) {
      call->refused_address = text;
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  static size_t Take(char* bytes, size_t, size_t size, void* self) {
    auto* call = static_cast<Calling*>(self);
    call->too_long = call->answer.size() + size > call->bytes_max;
    if (call->too_long) return 0;
    call->answer.append(bytes, size);
    return size;
  }
};

}  // namespace

bool IsPublicAddress(const std::string& address) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return IsPublic(ntohl(four.s_addr));
  return inet_pton(AF_INET6, address.c_str(), &six) == 1 && IsPublic(six);
}

std::string HostOfUrl(const std::string& url) {
  return HostOf(Parse(url));
}

Result<Webhook> Webhook::Make(WebhookOptions options) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) return Error(ErrorCode::kInternal, "libcurl does not start");
  auto refuse = [&](const std::string& why) {
    return Refuse("NotConfigured", "the webhook " + options.url + " cannot be used: " + why);
  };
  Url url = Parse(options.url);
  std::string scheme = PartOf(url, CURLUPART_SCHEME), name = HostOf(url);
  if (name.empty()) return refuse("it is no URL, or one with a user name in it");
  if (scheme != "http" && scheme != "https") return refuse("it is neither http nor https");
  auto listed = std::find_if(options.allowed.begin(), options.allowed.end(),
                             [&](const AllowedHost& allowed) { return allowed.name == name; });
  if (listed == options.allowed.end()) return refuse(name + " is not among the allowed hosts");
  AllowedHost allowed = *listed;
  options.url =
      PartOf(url, CURLUPART_URL);  // as it was understood here, so that nothing else can be understood later
  return Webhook(std::move(options), std::move(allowed));
}

Result<std::string> Webhook::Post(std::string_view body) const {
  HF_TRY(WebhookAnswer answer, Call(body, {}));
  if (answer.status == 200) return std::move(answer.body);
  return Refuse("Unavailable", options_.url + ": it answered with status " + std::to_string(answer.status));
}

Result<WebhookAnswer> Webhook::Call(std::string_view body, const std::vector<std::string>& lines) const {
  Calling call{host_, options_.answer_bytes_max};
  Easy easy(curl_easy_init());
  Headers headers(curl_slist_append(nullptr, "Content-Type: application/json"));
  if (easy == nullptr || headers == nullptr) return Error(ErrorCode::kInternal, "libcurl has no memory");
  // Appending returns the first element, which stays the same.
  static_cast<void>(curl_slist_append(headers.get(), "Expect:"));
  for (const std::string& line : lines) static_cast<void>(curl_slist_append(headers.get(), line.c_str()));
  if (!options_.secret.empty()) {
    std::string signature =
        "X-Holdfast-Signature: sha256=" + auth::Hex(auth::HmacSha256(options_.secret, body));
    static_cast<void>(curl_slist_append(headers.get(), signature.c_str()));
  }
  char problem[CURL_ERROR_SIZE] = "";
  auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy.get(), option, value); };
  set(CURLOPT_URL, options_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");  // whatever the environment says: behind a proxy no address could be checked
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_OPENSOCKETFUNCTION, &Calling::Open);
  set(CURLOPT_OPENSOCKETDATA, &call);
  set(CURLOPT_CONNECTTIMEOUT_MS, options_.connect_millis);
  set(CURLOPT_TIMEOUT_MS, options_.total_millis);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_POSTFIELDS, body.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_WRITEFUNCTION, &Calling::Take);
  set(CURLOPT_WRITEDATA, &call);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(problem));

  CURLcode done = curl_easy_perform(easy.get());
  long status = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after);
  auto failed = [&](const std::string& why) { return Refuse("Unavailable", options_.url + ": " + why); };
  if (done == CURLE_OK)
    return WebhookAnswer{static_cast<int>(status), std::move(call.answer), static_cast<int64_t>(retry_after)};
  if (call.too_long) return failed("its answer is longer than " + std::to_string(call.bytes_max) + " bytes");
  if (!call.refused_address.empty()) {
    return Refuse("NotConfigured", options_.url + ": " + host_.name + " is at " + call.refused_address +
                                       ", a private address that is not listed with it");
  }
  return failed(*problem != '\0' ? problem : curl_easy_strerror(done));
}

}  // namespace holdfast::model
