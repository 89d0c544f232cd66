#include "wire/caller.h"

#include "model/command.h"
#include "model/refusal.h"

namespace holdfast::wire {

Result<Caller> CallerOf(const auth::Identity& identity, const model::Model& model) {
  std::string realm = identity.issuer + "\n" + identity.tenant;
  if (identity.role == "admin") return Caller{"", true, identity.role, identity.subject, std::move(realm)};
  const model::Role* role = model.FindRole(identity.role);
  if (role == nullptr && !model.roles.empty())
    return model::Refuse("Forbidden", "the role " + identity.role + " has no part in " + model.name);
  bool own = role == nullptr || role->own_tenant;
  // A caller without a tenant sees everybody's.
  if (own && identity.tenant.empty())
    return model::Refuse("Forbidden", "the token names no tenant, and its role acts within one");
  return Caller{own ? identity.tenant : "", false, identity.role, identity.subject, std::move(realm)};
}

}  // namespace holdfast::wire
