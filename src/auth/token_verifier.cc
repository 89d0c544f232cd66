#include "auth/token_verifier.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "auth/hmac.h"
#include "auth/issuer.h"
#include "auth/jwt.h"
#include "base/thread.h"

namespace holdfast::auth {
namespace {

constexpr int64_t kSkewSeconds = 60;
constexpr int64_t kUrlPauseSeconds = 30;
constexpr int64_t kFilePauseSeconds = 1;
constexpr int64_t kKeysSecondsMax = 600;
constexpr int64_t kRememberedSecondsMax = 300;
constexpr size_t kRememberedPerShardMax = 1024;
constexpr double kTimeMax = 9e15;  // seconds that a double holds exactly

using Type = AttributeValue::Type;

bool IsUrl(const std::string& key_set) {
  return key_set.starts_with("http://") || key_set.starts_with("https://");
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kKeySetBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || !file.is_open()) return Error(ErrorCode::kIo, "cannot read the key set " + path);
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

// The seconds of a time claim; empty when the token has none.
Result<std::optional<int64_t>> TimeIn(const AttributeMap& claims, const std::string& name) {
  auto found = claims.find(name);
  if (found == claims.end()) return std::optional<int64_t>();
  double seconds = found->second.type() == Type::kNumber ? found->second.AsDouble() : kTimeMax + 1;
  if (std::abs(seconds) > kTimeMax) return TokenError("its claim " + name + " is no time");
  return std::optional(static_cast<int64_t>(std::floor(seconds)));
}

Result<int64_t> CheckTimes(const AttributeMap& claims, int64_t now) {
  HF_TRY(std::optional<int64_t> expires, TimeIn(claims, "exp"));
  HF_TRY(std::optional<int64_t> begins, TimeIn(claims, "nbf"));
  HF_TRY(std::optional<int64_t> issued, TimeIn(claims, "iat"));
  if (!expires) return TokenError("it does not say when it expires (exp)");
  if (now >= *expires + kSkewSeconds)
    return TokenError("it expired " + std::to_string(now - *expires) + " seconds ago");
  if (begins && now < *begins - kSkewSeconds)
    return TokenError("it counts only in " + std::to_string(*begins - now) + " seconds (nbf)");
  if (issued && now < *issued - kSkewSeconds) return TokenError("it was issued in the future (iat)");
  return *expires;
}

// A text, or the texts of a list. Anything else makes the claim one of another kind.
Result<std::vector<std::string>> TextsIn(const AttributeMap& claims, const std::string& path) {
  std::vector<std::string> texts;
  const AttributeValue* claim = FindClaim(claims, path);
  if (claim == nullptr || claim->is_null()) return texts;
  const std::vector<AttributeValue> one{*claim};
  for (const AttributeValue& value : claim->type() == Type::kList ? claim->AsList() : one) {
    if (value.type() != Type::kString) return TokenError("its claim " + path + " is no text");
    if (!value.AsText().empty()) texts.push_back(value.AsText());
  }
  return texts;
}

bool Contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

Status CheckAudience(const AttributeMap& claims, const TrustedIssuer& issuer) {
  HF_TRY(std::vector<std::string> audiences, TextsIn(claims, issuer.claims.audience));
  for (const std::string& audience : audiences) {
    if (Contains(issuer.audiences, audience)) return Ok{};
  }
  return TokenError("it is not for this server (" + issuer.claims.audience + " is not " +
                    issuer.audiences[0] +
                    (issuer.audiences.size() > 1 ? " or another that is accepted)" : ")"));
}

Result<Identity> IdentityIn(const AttributeMap& claims, const TrustedIssuer& issuer) {
  HF_TRY(std::vector<std::string> subject, TextsIn(claims, issuer.claims.subject));
  HF_TRY(std::vector<std::string> roles, TextsIn(claims, issuer.claims.role));
  HF_TRY(std::vector<std::string> tenants, TextsIn(claims, issuer.claims.tenant));
  if (subject.size() != 1) return TokenError("it does not say whose it is (" + issuer.claims.subject + ")");
  if (!issuer.roles.empty())
    std::erase_if(roles, [&](const std::string& role) { return !Contains(issuer.roles, role); });
  Identity identity;
  identity.issuer = issuer.name;
  identity.subject = subject[0];
  identity.role = roles.empty() ? "" : roles[0];
  identity.tenant = tenants.empty() ? subject[0] : tenants[0];
  // An empty list is one: it lets its bearer serve nobody.
  if (const AttributeValue* agents = FindClaim(claims, issuer.claims.agents);
      agents != nullptr && !agents->is_null()) {
    HF_TRY(identity.agents, TextsIn(claims, issuer.claims.agents));
  }
  return identity;
}

// The key that a token was signed with, or why there is none.
struct Choice {
  const PublicKey* key = nullptr;
  std::string why;
  bool unknown = false;  // it may be there once the keys have been loaded again
};

Choice ChooseKey(const PublicKeys& keys, const Jwt& jwt) {
  std::string algorithm(NameOf(jwt.algorithm));
  const PublicKey* chosen = nullptr;
  bool has_id = false;
  for (const PublicKey& key : keys) {
    if (!jwt.key_id.empty() && key.id() != jwt.key_id) continue;
    has_id = !jwt.key_id.empty();
    if (key.algorithm() != jwt.algorithm) continue;
    if (chosen != nullptr)
      return {.why = "it does not say which of several keys for " + algorithm + " signed it"};
    chosen = &key;
  }
  if (chosen != nullptr) return {.key = chosen};
  if (has_id) return {.why = "its key " + jwt.key_id + " is not for " + algorithm};
  return {.why = jwt.key_id.empty() ? "its issuer has no key for " + algorithm
                                    : "its key " + jwt.key_id + " is not one of its issuer's",
          .unknown = true};
}

}  // namespace

// An issuer and the keys it has now.
class TokenVerifier::KeyRing {
 public:
  using Load = std::function<Result<PublicKeys>()>;

  KeyRing(TrustedIssuer trusted, Load load, bool is_remote)
      : trusted_(std::move(trusted)), load_(std::move(load)), is_remote_(is_remote) {}

  const TrustedIssuer& trusted() const { return trusted_; }
  bool is_remote() const { return is_remote_; }

  std::shared_ptr<const PublicKeys> keys() {
    base::MutexLock lock(&mu_);
    return keys_;
  }
  // Whether the keys could not be loaded the last time.
  bool is_failing() {
    base::MutexLock lock(&mu_);
    return !problem_.empty();
  }
  bool IsStale(int64_t now) {
    base::MutexLock lock(&mu_);
    return now - tried_at_ >= kKeysSecondsMax;
  }
  // Whether the keys may be loaded again now; whoever is told so does it.
  bool TakeTurn(int64_t now) {
    base::MutexLock lock(&mu_);
    int64_t pause = is_remote_ ? kUrlPauseSeconds : kFilePauseSeconds;
    if (now >= tried_at_ && now - tried_at_ < pause) return false;
    tried_at_ = now;
    return true;
  }
  // What fails leaves the keys that were there.
  Status LoadNow(const base::Log* log) {
    Result<PublicKeys> loaded = load_();
    base::MutexLock lock(&mu_);
    std::string problem = loaded ? "" : loaded.error().message();
    if (log != nullptr && problem != problem_) {
      if (loaded)
        HF_LOG(*log, kInfo, "keys of a token issuer loaded", {"issuer", trusted_.name});
      else
        HF_LOG(*log, kWarning, "keys of a token issuer cannot be loaded", {"issuer", trusted_.name},
               {"why", problem});
    }
    problem_ = problem;
    if (!loaded) return loaded.error();
    keys_ = std::make_shared<const PublicKeys>(*std::move(loaded));
    return Ok{};
  }

 private:
  const TrustedIssuer trusted_;
  const Load load_;
  const bool is_remote_;

  base::Mutex mu_;
  std::shared_ptr<const PublicKeys> keys_ HF_GUARDED_BY(mu_) = std::make_shared<const PublicKeys>();
  std::string problem_ HF_GUARDED_BY(mu_);
  int64_t tried_at_ HF_GUARDED_BY(mu_) = 0;
};

TokenVerifier::TokenVerifier(const base::Log* log) : log_(log) {}

Result<std::unique_ptr<TokenVerifier>> TokenVerifier::Make(VerifierOptions options, int64_t now_seconds) {
  std::unique_ptr<TokenVerifier> verifier(new TokenVerifier(options.log));
  if (!options.issuer_key.empty()) {
    TrustedIssuer development{std::string(kDevelopmentIssuer), {std::string(kDevelopmentAudience)}, ""};
    HF_CHECK_OK(verifier->Add(std::move(development), {}, options.issuer_key, now_seconds));
  }
  for (TrustedIssuer& issuer : options.issuers)
    HF_CHECK_OK(verifier->Add(std::move(issuer), options.fetch, "", now_seconds));
  bool remote = std::any_of(verifier->rings_.begin(), verifier->rings_.end(),
                            [](const auto& entry) { return entry.second->is_remote(); });
  if (remote) verifier->fetcher_ = std::thread([raw = verifier.get()] { raw->FetchAsWanted(); });
  return verifier;
}

Status TokenVerifier::Add(TrustedIssuer issuer, const Fetch& fetch, const std::string& issuer_key,
                          int64_t now_seconds) {
  std::string name = issuer.name, key_set = issuer.key_set;
  if (name.empty() || issuer.audiences.empty())
    return ValidationError("an issuer of tokens needs a name and an audience");
  if (rings_.contains(name)) return ValidationError("the issuer " + name + " is named twice");
  bool is_remote = issuer_key.empty() && IsUrl(key_set);
  KeyRing::Load load;
  if (!issuer_key.empty()) {
    load = [issuer_key]() -> Result<PublicKeys> {
      HF_TRY(auth::Issuer own, auth::Issuer::Load(issuer_key));
      PublicKeys keys;
      keys.push_back(std::move(own).TakePublicKey());
      return keys;
    };
  } else {
    load = [key_set, read = is_remote ? fetch : Fetch(&ReadFile)]() -> Result<PublicKeys> {
      HF_TRY(std::string text, read(key_set));
      Result<PublicKeys> keys = ReadKeySet(text);
      if (!keys) return ValidationError(key_set + ": " + keys.error().message());
      return keys;
    };
  }
  auto added = std::make_unique<KeyRing>(std::move(issuer), std::move(load), is_remote);
  // The key of the development issuer may come later.
  if (issuer_key.empty() || std::filesystem::exists(issuer_key)) {
    added->TakeTurn(now_seconds);
    Status loaded = added->LoadNow(is_remote ? log_ : nullptr);
    if (!loaded && !is_remote) return loaded;
  }
  rings_.emplace(std::move(name), std::move(added));
  return Ok{};
}

TokenVerifier::~TokenVerifier() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
  }
  changed_.NotifyAll();
  if (fetcher_.joinable()) fetcher_.join();
}

void TokenVerifier::FetchAsWanted() {
  base::NameThread("token-keys");
  while (true) {
    KeyRing* next = nullptr;
    {
      base::MutexLock lock(&mu_);
      while (!stop_ && wanted_.empty()) changed_.Wait(&mu_);
      if (stop_) return;
      next = wanted_.back();
      wanted_.pop_back();
    }
    // Logged; tokens are told why.
    const base::Log& log = log_ != nullptr ? *log_ : base::FallbackLog();
    base::RunContained(log, "keys of a token issuer", [&] { static_cast<void>(next->LoadNow(log_)); });
  }
}

bool TokenVerifier::Reload(KeyRing* ring, int64_t now_seconds) {
  if (!ring->is_remote()) {
    // Whoever comes while the file is being read waits for what it says.
    base::MutexLock lock(&loading_);
    return !ring->TakeTurn(now_seconds) || ring->LoadNow(log_).has_value();
  }
  if (!ring->TakeTurn(now_seconds)) return false;
  {
    base::MutexLock lock(&mu_);
    wanted_.push_back(ring);
  }
  changed_.NotifyAll();
  return false;
}

Status TokenVerifier::CheckSignature(const Jwt& jwt, KeyRing* ring, int64_t now_seconds) {
  auto keys = ring->keys();
  Choice choice = ChooseKey(*keys, jwt);
  if ((choice.unknown || ring->IsStale(now_seconds)) && Reload(ring, now_seconds)) {
    keys = ring->keys();
    choice = ChooseKey(*keys, jwt);
  }
  if (choice.key == nullptr) {
    // Where the keys should be is for the log, not for strangers.
    bool failing = choice.unknown && ring->is_failing();
    return TokenError(choice.why +
                      (failing ? "; the keys could not be loaded, the server's log says why" : ""));
  }
  if (!choice.key->Verifies(jwt.signed_text, jwt.signature)) return TokenError("its signature is wrong");
  return Ok{};
}

Result<Identity> TokenVerifier::VerifyAnew(std::string_view token, int64_t now_seconds) {
  HF_TRY(Jwt jwt, ReadJwt(token));
  auto name = jwt.claims.find("iss");
  if (name == jwt.claims.end() || name->second.type() != Type::kString)
    return TokenError("it does not say who issued it (iss)");
  auto ring = rings_.find(name->second.AsText());
  if (ring == rings_.end()) return TokenError("its issuer " + name->second.AsText() + " is not trusted here");
  const TrustedIssuer& trusted = ring->second->trusted();
  // What costs nothing comes first: only a token that could count makes us verify or fetch.
  HF_TRY(int64_t expires_at, CheckTimes(jwt.claims, now_seconds));
  HF_CHECK_OK(CheckAudience(jwt.claims, trusted));
  HF_TRY(Identity identity, IdentityIn(jwt.claims, trusted));
  HF_CHECK_OK(CheckSignature(jwt, ring->second.get(), now_seconds));
  identity.expires_at = expires_at;
  return identity;
}

size_t TokenVerifier::FirstBytes::operator()(const std::string& digest) const {
  size_t bytes = 0;
  std::memcpy(&bytes, digest.data(), sizeof bytes);
  return bytes;
}

TokenVerifier::Shard& TokenVerifier::ShardOf(const std::string& digest) {
  return shards_[static_cast<unsigned char>(digest.back()) % kShards];
}

void TokenVerifier::Remember(const std::string& digest, const Identity& identity, int64_t now_seconds) {
  int64_t until = std::min(identity.expires_at + kSkewSeconds, now_seconds + kRememberedSecondsMax);
  Shard& shard = ShardOf(digest);
  base::MutexLock lock(&shard.mu);
  if (shard.tokens.size() >= kRememberedPerShardMax) {
    std::erase_if(shard.tokens, [&](const auto& entry) { return entry.second.until <= now_seconds; });
    if (shard.tokens.size() >= kRememberedPerShardMax) shard.tokens.erase(shard.tokens.begin());
  }
  shard.tokens.insert_or_assign(digest, Remembered{identity, until});
}

Result<Identity> TokenVerifier::Verify(std::string_view jwt, int64_t now_seconds) {
  std::string digest = Sha256(jwt);
  {
    Shard& shard = ShardOf(digest);
    base::MutexLock lock(&shard.mu);
    auto found = shard.tokens.find(digest);
    if (found != shard.tokens.end()) {
      if (now_seconds < found->second.until) return found->second.identity;
      shard.tokens.erase(found);
    }
  }
  HF_TRY(Identity identity, VerifyAnew(jwt, now_seconds));
  Remember(digest, identity, now_seconds);
  return identity;
}

}  // namespace holdfast::auth
