#include "auth/sigv4.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <sstream>

#include <simdjson.h>

#include "auth/hmac.h"
#include "auth/read_policy.h"

namespace holdfast::auth {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kTerminator = "aws4_request";
constexpr int64_t kSkewSecondsMax = 15 * 60;
constexpr int64_t kPresignedSecondsMax = 7 * 24 * 3600;

using Digest = std::string;  // 32 bytes

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool EqualsLower(std::string_view name, std::string_view lower_case) {
  return name.size() == lower_case.size() &&
         std::equal(name.begin(), name.end(), lower_case.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// Trimmed, and inner runs of blanks made one.
std::string Canonical(std::string_view value) {
  std::string canonical;
  bool blank = false;
  for (char c : value) {
    if (c == ' ' || c == '\t') {
      blank = !canonical.empty();
    } else {
      if (blank) canonical.push_back(' ');
      blank = false;
      canonical.push_back(c);
    }
  }
  return canonical;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      decoded.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

std::string PercentEncode(std::string_view text, bool keep_slash) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                 c == '_' || c == '.' || c == '~' || (keep_slash && c == '/');
    if (plain) {
      encoded.push_back(c);
    } else {
      encoded.push_back('%');
      encoded.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
      encoded.push_back(kDigits[c & 15]);
    }
  }
  return encoded;
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

Parameters ParseQuery(std::string_view query) {
  Parameters parameters;
  while (!query.empty()) {
    size_t end = query.find('&');
    std::string_view part = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (part.empty()) continue;
    size_t equals = part.find('=');
    std::string_view value = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    parameters.emplace_back(PercentDecode(part.substr(0, equals)), PercentDecode(value));
  }
  return parameters;
}

const std::string* FindParameter(const Parameters& parameters, std::string_view name) {
  for (const auto& [key, value] : parameters) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find_first_of(separators);
    if (end != 0) parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

Error Incomplete(std::string message) {
  return Error(ErrorCode::kIncompleteSignature, std::move(message));
}
Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidSignature, std::move(message));
}

void TakeCredential(std::string_view credential, Signature* out) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t slash = credential.find('/');
    parts.push_back(credential.substr(0, slash));
    if (slash == std::string_view::npos) break;
    credential.remove_prefix(slash + 1);
  }
  // An access key may not hold a slash; with fewer parts what is there is kept in order.
  std::string* fields[] = {&out->access_key, &out->date, &out->region, &out->service, &out->terminator};
  for (size_t i = 0; i < parts.size() && i < 5; ++i) fields[i]->assign(parts[i]);
}

Result<Signature> FromHeader(const SignedRequest& request, std::string_view header) {
  Signature signature;
  std::string credential;
  std::vector<std::string_view> parts = Split(header, ", ");
  signature.algorithm = parts.empty() ? "" : std::string(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view name = parts[i].substr(0, equals), value = parts[i].substr(equals + 1);
    if (name == "Credential") credential = value;
    if (name == "SignedHeaders") signature.signed_headers = value;
    if (name == "Signature") signature.signature = value;
  }
  signature.timestamp = request.Header("x-amz-date");
  std::string_view http_date = request.Header("date");
  std::string missing;
  auto require = [&](std::string_view name, const std::string& value) {
    if (value.empty()) missing += "Authorization header requires '" + std::string(name) + "' parameter. ";
  };
  require("Credential", credential);
  require("Signature", signature.signature);
  require("SignedHeaders", signature.signed_headers);
  if (signature.timestamp.empty() && http_date.empty()) {
    missing += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
  }
  if (!missing.empty()) return Incomplete(missing + "Authorization=" + std::string(header));
  if (signature.timestamp.empty()) signature.timestamp = http_date;
  TakeCredential(credential, &signature);
  return signature;
}

Result<Signature> FromQuery(const Parameters& parameters) {
  Signature signature;
  signature.in_query = true;
  std::string missing, credential, expires;
  auto take = [&](std::string_view name, std::string* value, bool required) {
    const std::string* found = FindParameter(parameters, name);
    if (found != nullptr) *value = *found;
    if (required && value->empty())
      missing += "AWS query-string parameters must include '" + std::string(name) + "'. ";
  };
  take("X-Amz-Algorithm", &signature.algorithm, true);
  take("X-Amz-Credential", &credential, true);
  take("X-Amz-Signature", &signature.signature, true);
  take("X-Amz-SignedHeaders", &signature.signed_headers, true);
  take("X-Amz-Date", &signature.timestamp, true);
  take("X-Amz-Expires", &expires, false);
  if (!missing.empty()) return Incomplete(missing + "Re-examine the query-string parameters.");
  if (!expires.empty()) {
    const char* end = expires.data() + expires.size();
    auto [read, error] = std::from_chars(expires.data(), end, signature.expires_seconds);
    bool fits = error == std::errc() && read == end && signature.expires_seconds > 0 &&
                signature.expires_seconds <= kPresignedSecondsMax;
    if (!fits)
      return Invalid("X-Amz-Expires must be a number of seconds, from 1 to " +
                     std::to_string(kPresignedSecondsMax) + ", not '" + expires + "'.");
  }
  TakeCredential(credential, &signature);
  return signature;
}

// "20260101T120000Z" to seconds since 1970; false when it is anything else.
bool ParseTimestamp(const std::string& text, int64_t* seconds) {
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return false;
  std::tm time{};
  auto number = [&](size_t at, size_t length) {
    int value = 0;
    for (size_t i = at; i < at + length; ++i) value = value * 10 + (text[i] - '0');
    return value;
  };
  for (size_t i = 0; i < 15; ++i) {
    if (i != 8 && (text[i] < '0' || text[i] > '9')) return false;
  }
  time.tm_year = number(0, 4) - 1900;
  time.tm_mon = number(4, 2) - 1;
  time.tm_mday = number(6, 2);
  time.tm_hour = number(9, 2);
  time.tm_min = number(11, 2);
  time.tm_sec = number(13, 2);
  *seconds = ::timegm(&time);
  return true;
}

Status CheckAge(const Signature& signature, int64_t now) {
  int64_t signed_at = 0;
  if (!ParseTimestamp(signature.timestamp, &signed_at)) {
    return Incomplete("Date must be in ISO-8601 'basic format'. Got '" + signature.timestamp +
                      "'. See http://en.wikipedia.org/wiki/ISO_8601");
  }
  int64_t lifetime =
      signature.in_query && signature.expires_seconds > 0 ? signature.expires_seconds : kSkewSecondsMax;
  if (signed_at + lifetime < now) {
    return Invalid("Signature expired: " + signature.timestamp + " is now earlier than " +
                   FormatTimestamp(now - lifetime) + " (" + FormatTimestamp(now) + " - " +
                   std::to_string(lifetime / 60) + " min.)");
  }
  if (signed_at - kSkewSecondsMax > now) {
    return Invalid("Signature not yet current: " + signature.timestamp + " is still later than " +
                   FormatTimestamp(now + kSkewSecondsMax) + " (" + FormatTimestamp(now) + " + 15 min.)");
  }
  return Ok{};
}

Status CheckScope(const SignedRequest& request, const Signature& signature, std::string_view region) {
  if (signature.algorithm != kAlgorithm) {
    return Incomplete("Unsupported AWS 'algorithm': '" + signature.algorithm +
                      "' (only AWS4-HMAC-SHA256 for now). ");
  }
  std::string wrong;
  if (!region.empty() && signature.region != region)
    wrong += "Credential should be scoped to a valid region, not '" + signature.region + "'. ";
  if (signature.service != "dynamodb")
    wrong += "Credential should be scoped to correct service: 'dynamodb'. ";
  if (signature.terminator != kTerminator) {
    wrong += "Credential should be scoped with a valid terminator: 'aws4_request', not '" +
             signature.terminator + "'. ";
  }
  if (signature.date != signature.timestamp.substr(0, 8)) {
    wrong += "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '" +
             signature.date + "' != '" + signature.timestamp.substr(0, 8) + "', from '" +
             signature.timestamp + "'.";
  }
  if (!wrong.empty()) return Invalid(wrong);
  std::vector<std::string_view> names = Split(signature.signed_headers, ";");
  auto covers = [&](std::string_view header) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return EqualsLower(name, header); });
  };
  // As SigV4 has them. One that stood twice would be canonicalized twice, and a thousand times a thousand
  // times.
  bool in_order = std::adjacent_find(names.begin(), names.end(), [](std::string_view a, std::string_view b) {
                    return Lower(a) >= Lower(b);
                  }) == names.end();
  if (!in_order) return Invalid("'SignedHeaders' must be sorted, and each header must stand there once.");
  if (!covers("host")) return Invalid("'Host' must be a 'SignedHeader' in the AWS Authorization.");
  // One that is not covered could be changed under the same signature: another operation, for one.
  for (std::string_view header : {"X-Amz-Target", "X-Amz-Date", "X-Amz-Security-Token"}) {
    std::string lower = Lower(header);
    if (request.Has(lower) && !covers(lower))
      return Invalid("'" + std::string(header) + "' must be a 'SignedHeader' in the AWS Authorization.");
  }
  return Ok{};
}

// Of temporary credentials, which nobody issues here.
bool HasSessionToken(const SignedRequest& request, const Signature& signature) {
  if (request.Has("x-amz-security-token")) return true;
  return signature.in_query && FindParameter(ParseQuery(request.query), "X-Amz-Security-Token") != nullptr;
}

std::string CanonicalRequest(const SignedRequest& request, std::string_view signed_headers, bool in_query) {
  std::string text(request.method);
  text += "\n" + PercentEncode(PercentDecode(request.path), /*keep_slash=*/true) + "\n";
  Parameters parameters;
  for (const auto& [name, value] : ParseQuery(request.query)) {
    if (in_query && name == "X-Amz-Signature") continue;
    parameters.emplace_back(PercentEncode(name, false), PercentEncode(value, false));
  }
  std::sort(parameters.begin(), parameters.end());
  for (const auto& [name, value] : parameters) {
    if (text.back() != '\n') text += "&";
    text += name + "=" + value;
  }
  text += "\n";
  for (std::string_view name : Split(signed_headers, ";")) {
    // A header sent more than once counts as one list.
    std::string lower = Lower(name), values;
    for (size_t i = 0; i < request.header_count; ++i) {
      if (!EqualsLower(request.headers[i].name, lower)) continue;
      values.append(values.empty() ? "" : ",").append(Canonical(request.headers[i].value));
    }
    text += std::string(name) + ":" + values + "\n";
  }
  return text + "\n" + std::string(signed_headers) + "\n" + Hex(Sha256(request.body));
}

std::string ComputeSignature(const SignedRequest& request, std::string_view secret, std::string_view date,
                             std::string_view region, std::string_view service, std::string_view timestamp,
                             std::string_view signed_headers, bool in_query) {
  Digest key = HmacSha256("AWS4" + std::string(secret), date);
  key = HmacSha256(key, region);
  key = HmacSha256(key, service);
  key = HmacSha256(key, kTerminator);
  std::string scope = std::string(date) + "/" + std::string(region) + "/" + std::string(service) + "/" +
                      std::string(kTerminator);
  std::string to_sign = std::string(kAlgorithm) + "\n" + std::string(timestamp) + "\n" + scope + "\n" +
                        Hex(Sha256(CanonicalRequest(request, signed_headers, in_query)));
  return Hex(HmacSha256(key, to_sign));
}

}  // namespace

std::string_view SignedRequest::Header(std::string_view lower_case_name) const {
  for (size_t i = 0; i < header_count; ++i) {
    if (EqualsLower(headers[i].name, lower_case_name)) return headers[i].value;
  }
  return {};
}

bool SignedRequest::Has(std::string_view lower_case_name) const {
  return std::any_of(headers, headers + header_count,
                     [&](const HeaderView& header) { return EqualsLower(header.name, lower_case_name); });
}

Result<Signature> ParseSignature(const SignedRequest& request) {
  std::string_view header = request.Header("authorization");
  bool in_query = request.query.find("X-Amz-Algorithm") != std::string_view::npos;
  if (!header.empty() && in_query) {
    return Invalid(
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.");
  }
  if (in_query) return FromQuery(ParseQuery(request.query));
  while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
  if (!header.starts_with("AWS4-")) {
    return Error(ErrorCode::kMissingAuthenticationToken, "Request is missing Authentication Token");
  }
  return FromHeader(request, header);
}

Status CheckSignatureShape(const SignedRequest& request) {
  // The usual header has all its parts: no need to take it apart.
  std::string_view header = request.Header("authorization");
  auto has = [&](std::string_view part) {
    size_t at = header.find(part);
    return at != std::string_view::npos && at + part.size() < header.size() &&
           header[at + part.size()] != ',' && header[at + part.size()] != ' ';
  };
  bool usual = header.starts_with(kAlgorithm) && has(" Credential=") && has("SignedHeaders=") &&
               has(" Signature=") && request.query.empty() && !request.Header("x-amz-date").empty();
  if (usual) return Ok{};
  return ParseSignature(request).transform([](const Signature&) { return Ok{}; });
}

Result<Credentials> Credentials::Load(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Error(ErrorCode::kIo, "cannot read the credentials file " + path);
  std::stringstream text;
  text << in.rdbuf();
  return Parse(text.str(), path);
}

Result<Credentials> Credentials::Parse(std::string_view json, const std::string& where) {
  auto bad = [&](const std::string& why) {
    return Error(
        ErrorCode::kValidation,
        where + ": " + why +
            R"(; expected {"accessKeys": {"<access key>": {"secret": "<secret>", "principal": "<name>"}}})");
  };
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS) return bad("is not JSON");
  simdjson::dom::element keys;
  if (document["accessKeys"].get(keys) != simdjson::SUCCESS || !keys.is_object())
    return bad("has no \"accessKeys\"");
  Credentials credentials;
  auto add = [&](std::string_view access_key, simdjson::dom::element entry) -> Status {
    std::string key = "access key " + std::string(access_key);
    std::string_view secret, principal = access_key;
    if (!entry.is_object()) return bad(key + " has no \"secret\"");
    // What is misspelt here would be passed over, and leave the key without the policies meant for it.
    HF_CHECK_OK(ForEachMember(entry, where + ": " + key, [&](auto name, auto value) -> Status {
      if (name == "secret") {
        if (value.get(secret) != simdjson::SUCCESS) return bad(key + " has no \"secret\"");
      } else if (name == "principal") {
        if (value.get(principal) != simdjson::SUCCESS || principal.empty())
          return bad(key + " has a \"principal\" that is no text");
      } else {
        return bad(key + " has an unknown \"" + std::string(name) + "\"");
      }
      return Ok{};
    }));
    if (secret.empty()) return bad(key + " has no \"secret\"");
    credentials.Add(std::string(access_key), {std::string(secret), std::string(principal)});
    return Ok{};
  };
  HF_CHECK_OK(ForEachMember(keys, where + ": accessKeys", add));
  if (credentials.all().empty()) return bad("names no access key");
  return credentials;
}

void Credentials::Add(std::string access_key, Credential credential) {
  keys_[std::move(access_key)] = std::move(credential);
}

const Credential* Credentials::Find(std::string_view access_key) const {
  auto found = keys_.find(access_key);
  return found == keys_.end() ? nullptr : &found->second;
}

Result<std::string> Verify(const SignedRequest& request, const Credentials& credentials,
                           std::string_view region, const base::Clock& clock) {
  HF_TRY(Signature signature, ParseSignature(request));
  HF_CHECK_OK(CheckAge(signature, clock.NowSeconds()));
  HF_CHECK_OK(CheckScope(request, signature, region));
  Error unrecognized(ErrorCode::kUnrecognizedClient,
                     "The security token included in the request is invalid.");
  const Credential* credential = credentials.Find(signature.access_key);
  if (credential == nullptr || HasSessionToken(request, signature)) return unrecognized;
  std::string expected =
      ComputeSignature(request, credential->secret, signature.date, signature.region, signature.service,
                       signature.timestamp, signature.signed_headers, signature.in_query);
  // In constant time: how much of a guess was right must not show.
  bool same = expected.size() == signature.signature.size() &&
              CRYPTO_memcmp(expected.data(), signature.signature.data(), expected.size()) == 0;
  if (!same) {
    return Error(ErrorCode::kUnrecognizedClient,
                 "The request signature we calculated does not match the signature you provided. Check your "
                 "AWS Secret "
                 "Access Key and signing method. Consult the service documentation for details.");
  }
  return credential->principal;
}

std::string FormatTimestamp(int64_t seconds) {
  auto when = static_cast<std::time_t>(seconds);
  std::tm utc{};
  gmtime_r(&when, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return text;
}

std::string Sign(const SignedRequest& request, std::string_view access_key, std::string_view secret,
                 std::string_view region, std::string_view service, std::string_view timestamp,
                 std::string_view signed_headers) {
  std::string_view date = timestamp.substr(0, 8);
  std::string signature =
      ComputeSignature(request, secret, date, region, service, timestamp, signed_headers, /*in_query=*/false);
  return std::string(kAlgorithm) + " Credential=" + std::string(access_key) + "/" + std::string(date) + "/" +
         std::string(region) + "/" + std::string(service) + "/" + std::string(kTerminator) +
         ", SignedHeaders=" + std::string(signed_headers) + ", Signature=" + signature;
}

}  // namespace holdfast::auth
