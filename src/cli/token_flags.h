// Whose tokens a server accepts: the flags, the `issuers` of the config file, and the verifier they make.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "auth/token_verifier.h"
#include "base/log.h"
#include "holdfast/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace holdfast::cli {

struct TokenFlags {
  std::string issuer_key;  // empty: issuer.pem in the directory of the store; "none": no development tokens
  // One issuer.
  std::string key_set;
  std::string issuer;
  std::string audience;
  auth::ClaimNames claims;
  // More of them, each a YAML map as in the config file.
  std::vector<std::string> issuers;
};
void AddTokenFlags(CLI::App* app, TokenFlags* flags);

// Without the development issuer. Says what is missing or not understood.
Result<std::vector<auth::TrustedIssuer>> TrustedIssuers(const TokenFlags& flags);

// The key of the development issuer: `given`, or the one in the directory of a store. Empty: there is none.
std::string IssuerKeyPath(const std::string& given, const std::string& directory);

// To ask a server as an administrator: the token that is given, or HOLDFAST_TOKEN's, or one for some minutes
// that the key beside the data signs, as whoever may read that could do as well. In a store that has none the
// key is made: its server reads it when the first token comes.
struct AdminTokenFrom {
  std::string given;
  std::string data;     // directory of the server's store
  std::string subject;  // of a token that is made
};
struct AdminToken {
  std::string text;
  std::string hint;  // what may be wrong when the server does not believe it; empty: nothing is known
};
Result<AdminToken> MakeAdminToken(const AdminTokenFrom& from);

// Never null. `directory` is empty for a store in memory. With `make_key` the development issuer's key is
// made.
Result<std::unique_ptr<auth::TokenVerifier>> OpenTokens(const TokenFlags& flags, const std::string& directory,
                                                        bool make_key, const base::Log& log);

}  // namespace holdfast::cli
