#include "wire/agent_access.h"

#include <algorithm>

#include "agent/keys.h"
#include "model/refusal.h"

namespace holdfast::wire {
namespace {

bool IsWorker(const auth::Identity& identity) {
  return identity.role == "worker";
}

template <class Text>
bool Contains(const std::vector<std::string>& texts, const Text& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

bool IsAdmin(const auth::Identity& identity) {
  return identity.role == "admin";
}

bool MayServe(const auth::Identity& identity, std::string_view agent) {
  if (IsAdmin(identity)) return true;
  return IsWorker(identity) && (!identity.agents || Contains(*identity.agents, agent));
}

Status AuthorizeSession(const auth::Identity& identity, std::string_view session, Access access,
                        const std::vector<std::string>& reserved_users) {
  HF_CHECK_OK(agent::ParseSessionKey(session));
  if (IsAdmin(identity)) return Ok{};
  std::string_view user = agent::UserOf(session);
  bool sees = !Contains(reserved_users, user) &&
              (IsWorker(identity) ? MayServe(identity, agent::AgentOf(session)) : identity.tenant == user);
  if (!sees) return model::Refuse("NotFound", "there is no session " + std::string(session));
  bool may = access == Access::kRead || IsWorker(identity) == (access == Access::kWork);
  if (!may) return model::Refuse("Forbidden", "the role " + identity.role + " may not do this");
  return Ok{};
}

Status AuthorizeWorker(const auth::Identity& identity, const std::vector<std::string>& agents) {
  if (!IsAdmin(identity) && !IsWorker(identity))
    return model::Refuse("Forbidden", "this is for workers: tokens with the role worker");
  for (const std::string& agent : agents) {
    if (!MayServe(identity, agent))
      return model::Refuse("Forbidden", "the token does not let its bearer serve the agent " + agent);
  }
  return Ok{};
}

Status AuthorizeAdmin(const auth::Identity& identity) {
  if (!IsAdmin(identity)) return model::Refuse("Forbidden", "this is for administrators");
  return Ok{};
}

}  // namespace holdfast::wire
