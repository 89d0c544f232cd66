// Who is held to which policies: what the credentials file says besides its access keys.
//
//   {"policies":   {"audit-writer": {"Version": "2012-10-17", "Statement": {…}}},
//    "roles":      {"trip-worker": ["audit-writer"]},
//    "principals": {"worker-1": {"roles": ["trip-worker"], "policies": [{…}], "tags": {"team": "blue"}}}}
//
//   HF_TRY(auto permissions, Permissions::Load("keys.json", {.region = "us-east-1", .account =
//   "123456789012"})); if (auto worker = permissions->Named("worker-1")) HF_CHECK_OK(worker->Check(…));
//
// A list of policies has names, or policies as they are. Who is listed here is held to the policies given to
// them, be it none; a token of which neither the subject nor the role is, to nothing. Once there are
// `principals`, they must list those of all access keys (CheckKeys). docs/access.md describes it.
//
// Thread-safe. Must outlive the principals that it gives.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "auth/identity.h"
#include "auth/policy.h"
#include "auth/sigv4.h"
#include "base/mutex.h"
#include "holdfast/result.h"

namespace holdfast::auth {

using PrincipalPtr = std::shared_ptr<const Principal>;

// What appears in ARNs.
struct ArnPlace {
  std::string region = "us-east-1";
  std::string account = "123456789012";
};

class Permissions {
 public:
  // Fails with file and place of what is not understood.
  static Result<std::unique_ptr<Permissions>> Load(const std::string& path, ArnPlace place);
  static Result<std::unique_ptr<Permissions>> Parse(std::string_view json, const std::string& where,
                                                    ArnPlace place);

  // Nobody is held to anything.
  bool empty() const { return roles_.empty() && !lists_principals_; }
  // There are `principals`, be it none.
  bool lists_principals() const { return lists_principals_; }
  // Fails with what to write when an access key belongs to somebody who is not among the `principals`: held
  // to nothing, a misspelt name would open every table.
  Status CheckKeys(const Credentials& credentials) const;

  // The principal of an access key; null when it is held to nothing.
  const Principal* Named(std::string_view name) const;
  // The bearer of a token: what is said of its subject and of its role holds together. Null when neither is
  // listed. Its tags `tenant` and `role` are the token's.
  PrincipalPtr Of(const Identity& bearer) const;

  // How often somebody was denied, in Prometheus' text form.
  std::string Metrics() const;

 private:
  using PolicyPtr = std::shared_ptr<const Policy>;
  struct Listed {
    std::vector<PolicyPtr> policies;  // its own, and those of its roles
    std::map<std::string, std::string> tags;
    std::unique_ptr<const Principal> principal;
  };
  class Reader;

  Permissions() = default;
  PrincipalPtr Make(const Identity& bearer) const;

  ArnPlace place_;
  std::string where_;
  bool lists_principals_ = false;
  mutable DenialCounts counts_;
  std::map<std::string, std::vector<PolicyPtr>, std::less<>> roles_;
  std::map<std::string, Listed, std::less<>> principals_;

  // Of tokens, by subject, role and tenant.
  mutable base::Mutex mu_;
  mutable std::map<std::tuple<std::string, std::string, std::string>, PrincipalPtr> bearers_
      HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::auth
