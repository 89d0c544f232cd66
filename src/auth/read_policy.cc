#include "auth/read_policy.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace holdfast::auth {
namespace {

using simdjson::dom::element;

constexpr std::string_view kVersion = "2012-10-17";
constexpr std::string_view kOldVersion = "2008-10-17";

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string Quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// What a tag may be called, as AWS has it.
bool IsTagName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return plain || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view(" _.:/=+-@").find(c) != std::string_view::npos;
  });
}

// The one spelling of what is known of a principal; empty when it is nothing of the kind.
std::string OwnKey(std::string_view name) {
  for (std::string_view known : {"aws:username", "aws:PrincipalArn"}) {
    if (SameIgnoringCase(name, known)) return std::string(known);
  }
  bool tag = name.size() > kTagPrefix.size() &&
             SameIgnoringCase(name.substr(0, kTagPrefix.size()), kTagPrefix) &&
             IsTagName(name.substr(kTagPrefix.size()));
  return tag ? std::string(kTagPrefix).append(name.substr(kTagPrefix.size())) : std::string();
}

std::optional<Fact> FactNamed(std::string_view name) {
  constexpr std::pair<std::string_view, Fact> kFacts[] = {
      {"dynamodb:LeadingKeys", Fact::kLeadingKeys},
      {"dynamodb:Attributes", Fact::kAttributes},
      {"dynamodb:Select", Fact::kSelect},
      {"dynamodb:ReturnValues", Fact::kReturnValues},
      {"dynamodb:ReturnConsumedCapacity", Fact::kReturnConsumedCapacity},
      {"dynamodb:EnclosingOperation", Fact::kEnclosingOperation},
  };
  for (const auto& [known, fact] : kFacts) {
    if (SameIgnoringCase(name, known)) return fact;
  }
  return std::nullopt;
}

// Within so few letters of "dynamodb" that nothing else can be meant.
bool IsNearlyOurs(std::string_view service) {
  constexpr std::string_view kOurs = "dynamodb";
  constexpr size_t kNear = 2;
  if (service.starts_with("dynamo")) return true;
  if (service.size() + kNear < kOurs.size() || service.size() > kOurs.size() + kNear) return false;
  std::vector<size_t> row(kOurs.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (char c : service) {
    size_t diagonal = std::exchange(row[0], row[0] + 1);
    for (size_t i = 0; i < kOurs.size(); ++i) {
      size_t changed = diagonal + (c == kOurs[i] ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({changed, row[i] + 1, row[i + 1] + 1});
    }
  }
  return row.back() <= kNear;
}

// The service that an ARN names, as far as it stands there.
std::string_view ServiceOf(std::string_view arn) {
  for (int colons = 0; colons < 2; ++colons) {
    size_t colon = arn.find(':');
    if (colon == std::string_view::npos) return {};
    arn.remove_prefix(colon + 1);
  }
  return arn.substr(0, arn.find(':'));
}

// Whether a part of an ARN can begin with `text`, as far as its first wildcard tells.
bool CanBegin(std::string_view part, std::string_view text) {
  size_t wild = part.find_first_of("*?");
  std::string_view head = part.substr(0, wild);
  return head.starts_with(text) || (wild != std::string_view::npos && text.starts_with(head));
}

// Whether a resource of a policy can be the ARN of something that this service has: of a table or what
// belongs to one, or of a global table, which are nowhere here.
bool CanBeOurs(const PolicyText& resource) {
  using Kind = PolicyText::Part::Kind;
  std::vector<std::string> parts(1);
  for (const PolicyText::Part& part : resource.parts) {
    const std::string text = part.kind == Kind::kLiteral ? part.text : part.kind == Kind::kOne ? "?" : "*";
    for (char c : text) {
      if (c == ':' && parts.size() < 6)
        parts.emplace_back();
      else
        parts.back().push_back(c);
    }
  }
  auto can_be = [&](size_t i) {
    const std::string& part = parts[i];
    switch (i) {
      case 0: return part == "arn";
      case 1: return CanBegin(part, "aws");
      case 2: return CanBegin(part, "dynamodb") && (part.size() <= 8 || part.find('*') != std::string::npos);
      case 3: return !part.empty() || parts.back().starts_with("global-table/");
      case 4: return !part.empty();
      default: return (CanBegin(part, "table/") && part != "table/") || CanBegin(part, "global-table/");
    }
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!can_be(i)) return false;
    // With fewer colons than an ARN has, a run stands for some of them, and what comes after may be anything.
    if (parts.size() < 6 && parts[i].find('*') != std::string::npos) return true;
  }
  return parts.size() == 6;
}

// A text whose wildcards are taken apart, or taken literally.
enum class Wildcards : uint8_t { kMeant, kLiteral };

class PolicyReader {
 public:
  explicit PolicyReader(std::string place) : place_(std::move(place)) {}

  Result<Policy> Read(element given) {
    std::optional<element> statements;
    std::string version(kOldVersion);
    HF_CHECK_OK(ForEachMember(given, place_, [&](std::string_view name, element value) -> Status {
      std::string place = place_ + "." + std::string(name);
      if (name == "Statement") {
        statements = value;
      } else if (name == "Version" || name == "Id") {
        std::string_view text;
        if (value.get(text) != simdjson::SUCCESS) return Misread(place, "should be a text");
        if (name == "Id") return Ok{};
        if (text != kVersion && text != kOldVersion)
          return Misread(place, Quoted(text) + " should be " + Quoted(kVersion));
        version = text;
      } else {
        return Misread(place, "is no element of a policy");
      }
      return Ok{};
    }));
    if (!statements) return Misread(place_, "has no \"Statement\"");
    variables_ = version == kVersion;
    std::string place = place_ + ".Statement";
    Policy policy;
    auto add = [&](element one, const std::string& where) -> Status {
      HF_TRY(PolicyStatement statement, ReadStatement(one, where));
      policy.statements.push_back(std::move(statement));
      return Ok{};
    };
    simdjson::dom::array list;
    if (statements->get(list) != simdjson::SUCCESS) {
      HF_CHECK_OK(add(*statements, place));
      return policy;
    }
    for (element one : list)
      HF_CHECK_OK(add(one, place + "[" + std::to_string(policy.statements.size()) + "]"));
    if (policy.statements.empty()) return Misread(place, "has nothing in it");
    return policy;
  }

 private:
  Result<PolicyStatement> ReadStatement(element given, const std::string& place) const {
    PolicyStatement statement;
    statement.place = place;
    bool effect = false, actions = false, others = false;
    std::optional<element> resources, condition;
    HF_CHECK_OK(ForEachMember(given, place, [&](std::string_view name, element value) -> Status {
      std::string at = place + "." + std::string(name);
      if (name == "Sid") {
        std::string_view sid;
        if (value.get(sid) != simdjson::SUCCESS) return Misread(at, "should be a text");
        statement.place += " (" + std::string(sid) + ")";
        return Ok{};
      }
      if (name == "Effect") {
        std::string_view text;
        if (value.get(text) != simdjson::SUCCESS || (text != "Allow" && text != "Deny"))
          return Misread(at, "should be \"Allow\" or \"Deny\"");
        effect = true;
        statement.allows = text == "Allow";
        return Ok{};
      }
      if (name == "Action" || name == "NotAction") {
        if (actions) return Misread(at, "stands beside another of Action and NotAction");
        actions = true;
        HF_TRY(statement.actions, ReadActions(value, at, &others));
        if (name == "NotAction") {
          statement.actions.flip();
          others = true;
        }
        return Ok{};
      }
      if (name == "Resource" || name == "NotResource") {
        if (resources) return Misread(at, "stands beside another of Resource and NotResource");
        resources = value;
        statement.other_resources = name == "NotResource";
        return Ok{};
      }
      if (name == "Condition") {
        condition = value;
        return Ok{};
      }
      return Misread(at, "is no element of a statement of an identity policy");
    }));
    if (!effect) return Misread(place, "has no \"Effect\"");
    if (!actions) return Misread(place, "has neither \"Action\" nor \"NotAction\"");
    if (!resources) return Misread(place, "has neither \"Resource\" nor \"NotResource\"");
    // Of other services' actions alone: it has their resources and condition keys, and never matters here.
    if (statement.actions.none()) return statement;
    std::string at = place + (statement.other_resources ? ".NotResource" : ".Resource");
    HF_CHECK_OK(ReadResources(*resources, at, others, &statement.resources));
    if (condition) HF_CHECK_OK(ReadCondition(*condition, place + ".Condition", &statement.tests));
    return statement;
  }

  // Sets `*others` where actions of other services are among them.
  static Result<std::bitset<kActionCount>> ReadActions(element given, const std::string& place,
                                                       bool* others) {
    std::bitset<kActionCount> actions;
    HF_CHECK_OK(ForEachText(given, place, [&](std::string_view text) -> Status {
      constexpr std::string_view kService = "dynamodb:";
      if (text == "*") {
        actions.set();
        *others = true;
        return Ok{};
      }
      if (!SameIgnoringCase(text.substr(0, kService.size()), kService)) {
        std::string service(text.substr(0, text.find(':')));
        for (char& c : service) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        bool wild = service.find_first_of("*?") != std::string::npos;
        if (wild || service.empty() || service.size() + 1 >= text.size() || IsNearlyOurs(service))
          return Misread(place, Quoted(text) + " is no action: those of DynamoDB begin with \"dynamodb:\"");
        *others = true;
        return Ok{};
      }
      Glob glob;
      for (char c : text.substr(kService.size())) {
        if (c == '*')
          glob.AddRun();
        else if (c == '?')
          glob.AddOne();
        else
          glob.Add(c);
      }
      glob.Finish();
      bool any = false;
      for (size_t i = 0; i < kActionCount; ++i) {
        if (!glob.Matches(kActions[i], Glob::Case::kIgnored)) continue;
        actions.set(i);
        any = true;
      }
      if (!any) return Misread(place, "there is no action " + Quoted(text));
      return Ok{};
    }));
    return actions;
  }

  // With `others`, ARNs of other services may stand there as well; they are left out.
  Status ReadResources(element given, const std::string& place, bool others,
                       std::vector<PolicyText>* resources) const {
    return ForEachText(given, place, [&](std::string_view text) -> Status {
      if (text != "*" && !text.starts_with("arn:"))
        return Misread(place, Quoted(text) + " should be \"*\" or begin with \"arn:\"");
      std::string_view service = ServiceOf(text);
      bool theirs = others && !service.empty() && !IsNearlyOurs(service) &&
                    service.find_first_of("*?$") == std::string_view::npos;
      if (theirs) return Ok{};
      HF_TRY(PolicyText resource, ReadText(text, Wildcards::kMeant, place));
      if (text != "*" && !CanBeOurs(resource)) {
        return Misread(
            place, Quoted(text) + " can be nothing of DynamoDB's: arn:aws:dynamodb:REGION:ACCOUNT:table/…");
      }
      resources->push_back(std::move(resource));
      return Ok{};
    });
  }

  Status ReadCondition(element given, const std::string& place, std::vector<PolicyTest>* tests) const {
    return ForEachMember(given, place, [&](std::string_view name, element keys) -> Status {
      std::string at = place + "." + std::string(name);
      PolicyTest with;
      if (!ReadOperator(name, &with)) return Misread(at, "is no operator that is known here");
      bool any = false;
      HF_CHECK_OK(ForEachMember(keys, at, [&](std::string_view key, element values) -> Status {
        any = true;
        PolicyTest test = with;
        std::string where = at + "." + std::string(key);
        test.fact = FactNamed(key);
        test.key = test.fact ? std::string(key) : OwnKey(key);
        if (test.key.empty()) return Misread(where, "is no condition key that is known here");
        HF_CHECK_OK(ReadValues(values, where, &test));
        tests->push_back(std::move(test));
        return Ok{};
      }));
      return any ? OkStatus() : Status(Misread(at, "has nothing in it"));
    });
  }

  // "ForAllValues:StringNotLikeIfExists" taken apart.
  static bool ReadOperator(std::string_view name, PolicyTest* test) {
    using Operator = PolicyTest::Operator;
    using Quantifier = PolicyTest::Quantifier;
    for (auto [prefix, quantifier] :
         {std::pair(std::string_view("ForAllValues:"), Quantifier::kForAllValues),
          std::pair(std::string_view("ForAnyValue:"), Quantifier::kForAnyValue)}) {
      if (!name.starts_with(prefix)) continue;
      test->quantifier = quantifier;
      name.remove_prefix(prefix.size());
      break;
    }
    constexpr std::string_view kIfExists = "IfExists";
    if (name.ends_with(kIfExists)) {
      test->if_exists = true;
      name.remove_suffix(kIfExists.size());
    }
    struct Named {
      std::string_view name;
      Operator op;
      bool negated;
    };
    constexpr Named kOperators[] = {
        {"StringEquals", Operator::kEquals, false},
        {"StringNotEquals", Operator::kEquals, true},
        {"StringEqualsIgnoreCase", Operator::kEqualsIgnoreCase, false},
        {"StringNotEqualsIgnoreCase", Operator::kEqualsIgnoreCase, true},
        {"StringLike", Operator::kLike, false},
        {"StringNotLike", Operator::kLike, true},
        {"Bool", Operator::kBool, false},
        {"Null", Operator::kNull, false},
    };
    for (const Named& known : kOperators) {
      if (known.name != name) continue;
      test->op = known.op;
      test->negated = known.negated;
      // Null asks whether there is a value: neither goes with it.
      return known.op != Operator::kNull || (test->quantifier == Quantifier::kNone && !test->if_exists);
    }
    return false;
  }

  Status ReadValues(element given, const std::string& place, PolicyTest* test) const {
    using Operator = PolicyTest::Operator;
    bool truth = test->op == Operator::kBool || test->op == Operator::kNull;
    auto add = [&](std::string_view text) -> Status {
      if (truth && text != "true" && text != "false")
        return Misread(place, Quoted(text) + " should be \"true\" or \"false\"");
      Wildcards wildcards = test->op == Operator::kLike ? Wildcards::kMeant : Wildcards::kLiteral;
      HF_TRY(PolicyText value, ReadText(text, wildcards, place));
      test->values.push_back(std::move(value));
      return Ok{};
    };
    bool value = false;
    if (truth && given.get(value) == simdjson::SUCCESS) return add(value ? "true" : "false");
    return ForEachText(given, place, add);
  }

  Result<PolicyText> ReadText(std::string_view text, Wildcards wildcards, const std::string& place) const {
    using Kind = PolicyText::Part::Kind;
    PolicyText read;
    auto literal = [&](char c) {
      if (read.parts.empty() || read.parts.back().kind != Kind::kLiteral)
        read.parts.push_back({Kind::kLiteral, {}});
      read.parts.back().text.push_back(c);
    };
    while (!text.empty()) {
      if (text.starts_with("${")) {
        size_t end = text.find('}');
        std::string_view name = text.substr(2, end == std::string_view::npos ? end : end - 2);
        if (!variables_)
          return Misread(place, "variables need \"Version\": " + Quoted(kVersion) + " in the policy");
        if (end == std::string_view::npos)
          return Misread(place, "\"${" + std::string(name) + "\" has no end");
        if (name == "*" || name == "?" || name == "$") {
          literal(name[0]);
        } else {
          std::string known = OwnKey(name);
          if (known.empty() && name.find(',') != std::string_view::npos)
            return Misread(place, "\"${" + std::string(name) + "}\": default values are not known here");
          if (known.empty()) return Misread(place, "there is no variable \"${" + std::string(name) + "}\"");
          read.parts.push_back({Kind::kVariable, std::move(known)});
        }
        text.remove_prefix(end + 1);
        continue;
      }
      char c = text[0];
      if (wildcards == Wildcards::kMeant && (c == '*' || c == '?'))
        read.parts.push_back({c == '*' ? Kind::kRun : Kind::kOne, {}});
      else
        literal(c);
      text.remove_prefix(1);
    }
    return read;
  }

  const std::string place_;
  bool variables_ = false;
};

}  // namespace

Error Misread(const std::string& place, const std::string& why) {
  return Error(ErrorCode::kValidation, place + ": " + why);
}

Status ForEachMember(element given, const std::string& place,
                     const std::function<Status(std::string_view name, element value)>& visit) {
  simdjson::dom::object object;
  if (given.get(object) != simdjson::SUCCESS) return Misread(place, "should be an object");
  std::set<std::string_view> seen;
  for (auto [name, value] : object) {
    if (!seen.insert(name).second) return Misread(place + "." + std::string(name), "stands there twice");
    HF_CHECK_OK(visit(name, value));
  }
  return Ok{};
}

Status ForEachText(element given, const std::string& place,
                   const std::function<Status(std::string_view text)>& visit) {
  std::string_view text;
  if (given.get(text) == simdjson::SUCCESS) return visit(text);
  simdjson::dom::array list;
  if (given.get(list) != simdjson::SUCCESS) return Misread(place, "should be a text or a list of texts");
  bool any = false;
  for (element one : list) {
    if (one.get(text) != simdjson::SUCCESS) return Misread(place, "should hold texts alone");
    HF_CHECK_OK(visit(text));
    any = true;
  }
  if (!any) return Misread(place, "has nothing in it");
  return Ok{};
}

Result<Policy> ReadPolicy(element policy, const std::string& place) {
  return PolicyReader(place).Read(policy);
}

}  // namespace holdfast::auth
