#include "auth/jwt.h"

#include "base/base64.h"
#include "json/plain.h"

namespace holdfast::auth {
namespace {

using Type = AttributeValue::Type;

Result<AttributeMap> ReadPart(std::string_view part, const std::string& name) {
  std::string text;
  if (!base::DecodeBase64Url(part, &text)) return TokenError("its " + name + " is not base64url");
  Result<AttributeValue> read = json::ReadPlainValue(text);
  if (!read) return TokenError("its " + name + " cannot be read: " + read.error().message());
  if (read->type() != Type::kMap) return TokenError("its " + name + " is no JSON object");
  return read->AsMap();
}

// Empty when the header has no such member, or one that is no text.
std::string TextIn(const AttributeMap& header, std::string_view name) {
  auto found = header.find(name);
  return found == header.end() || found->second.type() != Type::kString ? "" : found->second.AsText();
}

}  // namespace

Error TokenError(std::string why) {
  return Error(ErrorCode::kUnrecognizedClient, "the token is not accepted: " + std::move(why));
}

Result<Jwt> ReadJwt(std::string_view token) {
  if (token.size() > kTokenBytesMax)
    return TokenError("it has more than " + std::to_string(kTokenBytesMax) + " bytes");
  size_t first = token.find('.'), second = token.find('.', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos ||
      token.find('.', second + 1) != std::string_view::npos)
    return TokenError("it is not of the form header.claims.signature");
  HF_TRY(AttributeMap header, ReadPart(token.substr(0, first), "header"));
  Jwt jwt;
  std::string algorithm = TextIn(header, "alg");
  if (algorithm != "RS256" && algorithm != "ES256")
    return TokenError("it is signed with \"" + algorithm + "\"; RS256 and ES256 are accepted");
  jwt.algorithm = algorithm == "RS256" ? PublicKey::Algorithm::kRs256 : PublicKey::Algorithm::kEs256;
  if (header.contains("crit")) return TokenError("it needs extensions (crit) that are not known here");
  if (header.contains("kid") && (jwt.key_id = TextIn(header, "kid")).empty())
    return TokenError("the key that it names (kid) is no text");
  HF_TRY(jwt.claims, ReadPart(token.substr(first + 1, second - first - 1), "claims"));
  jwt.signed_text = token.substr(0, second);
  if (!base::DecodeBase64Url(token.substr(second + 1), &jwt.signature) || jwt.signature.empty())
    return TokenError("its signature is not base64url");
  return jwt;
}

const AttributeValue* FindClaim(const AttributeMap& claims, std::string_view path) {
  // Whole first: names such as https://example.com/role have dots of their own.
  if (auto found = claims.find(path); found != claims.end()) return &found->second;
  size_t dot = path.find('.');
  if (dot == std::string_view::npos) return nullptr;
  auto outer = claims.find(path.substr(0, dot));
  if (outer == claims.end() || outer->second.type() != Type::kMap) return nullptr;
  return FindClaim(outer->second.AsMap(), path.substr(dot + 1));
}

}  // namespace holdfast::auth
