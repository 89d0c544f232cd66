#include "auth/permissions.h"

#include <fstream>
#include <sstream>

#include "auth/read_policy.h"

namespace holdfast::auth {
namespace {

using simdjson::dom::element;

constexpr size_t kBearersMax = 1024;  // more tokens than that are bound again

std::vector<const Policy*> Pointers(const std::vector<std::shared_ptr<const Policy>>& policies) {
  std::vector<const Policy*> pointers;
  pointers.reserve(policies.size());
  for (const auto& policy : policies) pointers.push_back(policy.get());
  return pointers;
}

}  // namespace

class Permissions::Reader {
 public:
  Reader(std::string where, Permissions* out) : where_(std::move(where)), out_(out) {}

  Status Read(element document) {
    std::optional<element> policies, roles, principals;
    HF_CHECK_OK(ForEachMember(document, where_, [&](std::string_view name, element value) -> Status {
      if (name == "policies")
        policies = value;
      else if (name == "roles")
        roles = value;
      else if (name == "principals")
        principals = value;
      else if (name != "accessKeys")
        return Misread(where_ + ": " + std::string(name),
                       "is not known here; expected accessKeys, policies, roles, principals");
      return Ok{};
    }));
    // Each refers to those before it, whichever way round they stand.
    if (policies)
      HF_CHECK_OK(ForEachMember(*policies, where_ + ": policies", [&](auto name, element value) {
        return ReadNamed(std::string(name), value);
      }));
    if (roles)
      HF_CHECK_OK(ForEachMember(*roles, where_ + ": roles", [&](auto name, element value) {
        return ReadList(value, where_ + ": roles." + std::string(name), &out_->roles_[std::string(name)]);
      }));
    out_->lists_principals_ = principals.has_value();
    if (principals)
      HF_CHECK_OK(ForEachMember(*principals, where_ + ": principals", [&](auto name, element value) {
        return ReadPrincipal(std::string(name), value);
      }));
    return Ok{};
  }

 private:
  Status ReadNamed(const std::string& name, element value) {
    HF_TRY(Policy policy, ReadPolicy(value, where_ + ": policies." + name));
    named_[name] = std::make_shared<const Policy>(std::move(policy));
    return Ok{};
  }

  Status ReadList(element given, const std::string& place, std::vector<PolicyPtr>* policies) {
    simdjson::dom::array list;
    if (given.get(list) != simdjson::SUCCESS)
      return Misread(place, "should be a list of policies, or of their names");
    size_t number = 0;
    for (element one : list) {
      std::string at = place + "[" + std::to_string(number++) + "]";
      std::string_view name;
      if (one.get(name) != simdjson::SUCCESS) {
        HF_TRY(Policy policy, ReadPolicy(one, at));
        policies->push_back(std::make_shared<const Policy>(std::move(policy)));
        continue;
      }
      auto known = named_.find(name);
      if (known == named_.end()) return Misread(at, "there is no policy \"" + std::string(name) + "\"");
      policies->push_back(known->second);
    }
    return Ok{};
  }

  Status ReadPrincipal(const std::string& name, element value) {
    std::string place = where_ + ": principals." + name;
    Listed& listed = out_->principals_[name];
    HF_CHECK_OK(ForEachMember(value, place, [&](std::string_view member, element given) -> Status {
      std::string at = place + "." + std::string(member);
      if (member == "policies") return ReadList(given, at, &listed.policies);
      if (member == "roles") return ReadRoles(given, at, &listed.policies);
      if (member == "tags") return ReadTags(given, at, &listed.tags);
      return Misread(at, "is not known here; expected policies, roles, tags");
    }));
    PrincipalInfo info{name, "arn:aws:iam::" + out_->place_.account + ":user/" + name, out_->place_.region,
                       out_->place_.account, listed.tags};
    listed.principal =
        std::make_unique<const Principal>(std::move(info), Pointers(listed.policies), &out_->counts_);
    return Ok{};
  }

  Status ReadRoles(element given, const std::string& place, std::vector<PolicyPtr>* policies) {
    simdjson::dom::array list;
    if (given.get(list) != simdjson::SUCCESS) return Misread(place, "should be a list of roles");
    for (element one : list) {
      std::string_view name;
      if (one.get(name) != simdjson::SUCCESS) return Misread(place, "should hold texts alone");
      auto role = out_->roles_.find(name);
      if (role == out_->roles_.end()) return Misread(place, "there is no role \"" + std::string(name) + "\"");
      policies->insert(policies->end(), role->second.begin(), role->second.end());
    }
    return Ok{};
  }

  static Status ReadTags(element given, const std::string& place, std::map<std::string, std::string>* tags) {
    return ForEachMember(given, place, [&](std::string_view name, element value) -> Status {
      std::string_view text;
      if (value.get(text) != simdjson::SUCCESS)
        return Misread(place + "." + std::string(name), "should be a text");
      tags->emplace(name, text);
      return Ok{};
    });
  }

  const std::string where_;
  Permissions* const out_;
  std::map<std::string, PolicyPtr, std::less<>> named_;
};

Result<std::unique_ptr<Permissions>> Permissions::Load(const std::string& path, ArnPlace place) {
  std::ifstream in(path);
  if (!in) return Error(ErrorCode::kIo, "cannot read the file of policies " + path);
  std::stringstream text;
  text << in.rdbuf();
  return Parse(text.str(), path, std::move(place));
}

Result<std::unique_ptr<Permissions>> Permissions::Parse(std::string_view json, const std::string& where,
                                                        ArnPlace place) {
  simdjson::dom::parser parser;
  element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS)
    return Misread(where, "is not JSON");
  std::unique_ptr<Permissions> permissions(new Permissions);
  permissions->place_ = std::move(place);
  permissions->where_ = where;
  HF_CHECK_OK(Reader(where, permissions.get()).Read(document));
  return permissions;
}

Status Permissions::CheckKeys(const Credentials& credentials) const {
  if (!lists_principals_) return Ok{};
  for (const auto& [access_key, credential] : credentials.all()) {
    if (Named(credential.principal) != nullptr) continue;
    return Misread(where_ + ": principals",
                   "does not list \"" + credential.principal + "\", to whom the access key " + access_key +
                       " belongs. To let them do everything, write \"" + credential.principal +
                       R"(": {"policies": [{"Statement": {"Effect": "Allow", "Action": "dynamodb:*", )" +
                       R"("Resource": "*"}}]})");
  }
  return Ok{};
}

const Principal* Permissions::Named(std::string_view name) const {
  auto found = principals_.find(name);
  return found == principals_.end() ? nullptr : found->second.principal.get();
}

PrincipalPtr Permissions::Of(const Identity& bearer) const {
  if (principals_.find(bearer.subject) == principals_.end() && roles_.find(bearer.role) == roles_.end())
    return nullptr;
  base::MutexLock lock(&mu_);
  auto key = std::make_tuple(bearer.subject, bearer.role, bearer.tenant);
  if (auto known = bearers_.find(key); known != bearers_.end()) return known->second;
  if (bearers_.size() >= kBearersMax) bearers_.clear();
  return bearers_[std::move(key)] = Make(bearer);
}

PrincipalPtr Permissions::Make(const Identity& bearer) const {
  PrincipalInfo info;
  info.name = bearer.subject;
  info.arn = "arn:aws:iam::" + place_.account + ":user/" + bearer.subject;
  info.region = place_.region;
  info.account = place_.account;
  std::vector<const Policy*> policies;
  if (auto listed = principals_.find(bearer.subject); listed != principals_.end()) {
    policies = Pointers(listed->second.policies);
    info.tags = listed->second.tags;
  }
  if (auto role = roles_.find(bearer.role); role != roles_.end()) {
    std::vector<const Policy*> more = Pointers(role->second);
    policies.insert(policies.end(), more.begin(), more.end());
    info.arn = "arn:aws:sts::" + place_.account + ":assumed-role/" + bearer.role + "/" + bearer.subject;
  }
  // The token proves these; the file cannot know better.
  info.tags["tenant"] = bearer.tenant;
  info.tags["role"] = bearer.role;
  return std::make_shared<const Principal>(std::move(info), policies, &counts_);
}

std::string Permissions::Metrics() const {
  std::string text =
      "# HELP holdfast_access_denied_total Requests that policies denied, by action.\n"
      "# TYPE holdfast_access_denied_total counter\n";
  for (size_t i = 0; i < kActionCount; ++i) {
    uint64_t count = counts_.denied[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    text.append("holdfast_access_denied_total{operation=\"")
        .append(kActions[i])
        .append("\"} ")
        .append(std::to_string(count))
        .append("\n");
  }
  return text;
}

}  // namespace holdfast::auth
