// What the roles of a model allow: the one place that knows.

#include <algorithm>

#include "model/command.h"

namespace holdfast::model {
namespace {

// Whom nothing but tenancy limits.
bool IsFree(const Model& model, const Caller& caller) {
  return caller.administrator || caller.role.empty() || model.roles.empty();
}

}  // namespace

bool MatchesAny(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(), [&](std::string_view glob) {
    size_t star = glob.find('*');
    if (star == std::string_view::npos) return glob == name;
    std::string_view head = glob.substr(0, star);
    std::string_view tail = glob.substr(star + 1);
    return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
  });
}

bool MayRun(const Model& model, const Caller& caller, const Command& command) {
  if (caller.administrator || caller.role.empty()) return true;
  bool listed = !command.roles ||
                std::find(command.roles->begin(), command.roles->end(), caller.role) != command.roles->end();
  const Role* role = model.FindRole(caller.role);
  return listed && (model.roles.empty() || (role != nullptr && MatchesAny(role->commands, command.name)));
}

bool MayRead(const Model& model, const Caller& caller, const Entity& entity) {
  const Role* role = model.FindRole(caller.role);
  return IsFree(model, caller) || (role != nullptr && MatchesAny(role->read, entity.name));
}

bool MayWrite(const Model& model, const Caller& caller, const Entity& entity) {
  const Role* role = model.FindRole(caller.role);
  return IsFree(model, caller) || (role != nullptr && MatchesAny(role->write, entity.name));
}

bool MayHear(const Model& model, const Caller& caller) {
  const Role* role = model.FindRole(caller.role);
  return IsFree(model, caller) || (role != nullptr && !role->read.empty());
}

}  // namespace holdfast::model
