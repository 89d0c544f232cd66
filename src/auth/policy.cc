#include "auth/policy.h"

#include <algorithm>

namespace holdfast::auth {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool Same(char a, char b, Glob::Case letters) {
  return a == b || (letters == Glob::Case::kIgnored && Lower(a) == Lower(b));
}

// The end of the character that begins at `at`.
size_t CharacterEnd(std::string_view text, size_t at) {
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

}  // namespace

void Glob::Finish() {
  size_t literals = 0;
  while (literals < rest_.size() && rest_[literals] < kRun) ++literals;
  for (size_t i = 0; i < literals; ++i) prefix_.push_back(static_cast<char>(rest_[i]));
  rest_.erase(0, literals);
}

// Goes back to the last run only: linear for most patterns, and never worse than the product of the lengths.
bool Glob::Matches(std::string_view text, Case letters) const {
  if (text.size() < prefix_.size()) return false;
  for (size_t i = 0; i < prefix_.size(); ++i) {
    if (!Same(prefix_[i], text[i], letters)) return false;
  }
  text.remove_prefix(prefix_.size());
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t at = 0, part = 0, run = kNone, run_at = 0;
  while (at < text.size()) {
    if (part < rest_.size() && rest_[part] == kRun) {
      run = part++;
      run_at = at;
    } else if (part < rest_.size() && rest_[part] == kOne) {
      at = CharacterEnd(text, at);
      ++part;
    } else if (part < rest_.size() && Same(static_cast<char>(rest_[part]), text[at], letters)) {
      ++at;
      ++part;
    } else if (run != kNone) {
      at = ++run_at;
      part = run + 1;
    } else {
      return false;
    }
  }
  while (part < rest_.size() && rest_[part] == kRun) ++part;
  return part == rest_.size();
}

// --- binding ---

Principal::Principal(PrincipalInfo info, const std::vector<const Policy*>& policies, DenialCounts* counts)
    : info_(std::move(info)), counts_(counts) {
  for (const Policy* policy : policies) {
    for (const PolicyStatement& statement : policy->statements) Add(statement);
  }
}

std::optional<std::string> Principal::Variable(const std::string& name) const {
  if (name == "aws:username") return info_.name;
  if (name == "aws:PrincipalArn") return info_.arn;
  if (!name.starts_with(kTagPrefix)) return std::nullopt;
  auto tag = info_.tags.find(name.substr(kTagPrefix.size()));
  if (tag == info_.tags.end()) return std::nullopt;
  return tag->second;
}

FactValues Principal::OwnFacts(const std::string& key) const {
  FactValues facts;
  if (std::optional<std::string> value = Variable(key)) facts.values.push_back(*std::move(value));
  return facts;
}

std::optional<Glob> Principal::Bind(const PolicyText& text) const {
  Glob glob;
  for (const PolicyText::Part& part : text.parts) {
    switch (part.kind) {
      case PolicyText::Part::Kind::kRun: glob.AddRun(); break;
      case PolicyText::Part::Kind::kOne: glob.AddOne(); break;
      case PolicyText::Part::Kind::kLiteral:
        for (char c : part.text) glob.Add(c);
        break;
      case PolicyText::Part::Kind::kVariable: {
        // What it stands for is taken literally: a user called * is no wildcard.
        std::optional<std::string> value = Variable(part.text);
        if (!value) return std::nullopt;
        for (char c : *value) glob.Add(c);
        break;
      }
    }
  }
  glob.Finish();
  return glob;
}

bool Principal::BindAll(const std::vector<PolicyText>& texts, std::vector<Glob>* globs) const {
  bool all = true;
  for (const PolicyText& text : texts) {
    std::optional<Glob> glob = Bind(text);
    all = all && glob.has_value();
    if (glob) globs->push_back(*std::move(glob));
  }
  return all;
}

// A variable without a meaning matches nothing. A statement that allows is left out altogether, because with
// NotResource and StringNotEquals it would then allow more.
void Principal::Add(const PolicyStatement& given) {
  auto statement = std::make_unique<Statement>();
  statement->place = given.place;
  statement->allows = given.allows;
  statement->other_resources = given.other_resources;
  bool bound = BindAll(given.resources, &statement->resources);
  for (const PolicyTest& test : given.tests) {
    Test own{test.fact.value_or(Fact::kSelect), test.op, test.quantifier, test.negated, test.if_exists, {}};
    bound = BindAll(test.values, &own.values) && bound;
    if (test.fact) {
      statement->tests.push_back(std::move(own));
    } else if (!Holds(own, OwnFacts(test.key), given.allows)) {
      return;  // never holds for this principal
    }
  }
  if (!bound && given.allows) return;
  auto& by_action = given.allows ? allowing_ : denying_;
  for (size_t action = 0; action < kActionCount; ++action) {
    if (given.actions[action]) by_action[action].push_back(statement.get());
  }
  statements_.push_back(std::move(statement));
}

// --- deciding ---

struct Principal::Request {
  std::string_view resource;
  const FactSource* source;
  std::optional<Facts> facts = {};

  const Facts& Gathered() {
    if (!facts) {
      facts.emplace();
      if (source != nullptr) source->Gather(&*facts);
    }
    return *facts;
  }
};

bool Principal::Holds(const Test& test, const FactValues& facts, bool allows) {
  using Operator = PolicyTest::Operator;
  using Quantifier = PolicyTest::Quantifier;
  auto hits = [&](const std::string& value) {
    bool ignored = test.op == Operator::kEqualsIgnoreCase || test.op == Operator::kBool;
    return std::any_of(test.values.begin(), test.values.end(), [&](const Glob& glob) {
      return glob.Matches(value, ignored ? Glob::Case::kIgnored : Glob::Case::kMinded);
    });
  };
  if (test.op == Operator::kNull) return hits(facts.absent() ? "true" : "false");
  if (facts.absent()) {
    if (test.if_exists) return true;
    return test.quantifier == Quantifier::kNone ? test.negated : test.quantifier == Quantifier::kForAllValues;
  }
  // An operator for one value that meets several: IAM leaves open what it does. Here what allows needs all of
  // them, and what denies any.
  bool every = test.quantifier == Quantifier::kNone ? allows : test.quantifier == Quantifier::kForAllValues;
  if (facts.all) {
    bool takes_all = std::any_of(test.values.begin(), test.values.end(),
                                 [](const Glob& glob) { return glob.MatchesAll(); });
    if (takes_all) return !test.negated;
    return facts.unknown ? !allows : !every;
  }
  auto fits = [&](const std::string& value) { return hits(value) != test.negated; };
  return every ? std::all_of(facts.values.begin(), facts.values.end(), fits)
               : std::any_of(facts.values.begin(), facts.values.end(), fits);
}

bool Principal::Applies(const Statement& statement, Request* request) {
  bool named = std::any_of(statement.resources.begin(), statement.resources.end(),
                           [&](const Glob& glob) { return glob.Matches(request->resource); });
  if (named == statement.other_resources) return false;
  if (statement.tests.empty()) return true;
  const Facts& facts = request->Gathered();
  if (!facts.told && statement.allows) return false;
  return std::all_of(statement.tests.begin(), statement.tests.end(),
                     [&](const Test& test) { return Holds(test, facts[test.fact], statement.allows); });
}

const Principal::Statement* Principal::FirstOf(const std::vector<const Statement*>& statements,
                                               Request* request) {
  for (const Statement* statement : statements) {
    if (Applies(*statement, request)) return statement;
  }
  return nullptr;
}

Decision Principal::Decide(Action action, std::string_view resource, const FactSource* facts) const {
  Request request{resource, facts};
  if (const Statement* denies = FirstOf(denying_[NumberOf(action)], &request))
    return {Decision::Kind::kDenied, denies->place};
  if (const Statement* allows = FirstOf(allowing_[NumberOf(action)], &request))
    return {Decision::Kind::kAllowed, allows->place};
  return {};
}

Status Principal::Check(Action action, std::string_view resource, const FactSource* facts) const {
  Request request{resource, facts};
  bool denied = FirstOf(denying_[NumberOf(action)], &request) != nullptr;
  if (!denied && FirstOf(allowing_[NumberOf(action)], &request) != nullptr) return Ok{};
  return Refuse(action, resource,
                denied ? " with an explicit deny in an identity-based policy"
                       : " because no identity-based policy allows the dynamodb:" +
                             std::string(NameOf(action)) + " action");
}

Error Principal::Refuse(Action action, std::string_view resource, std::string_view why) const {
  if (counts_ != nullptr) counts_->denied[NumberOf(action)].fetch_add(1, std::memory_order_relaxed);
  return Error(ErrorCode::kAccessDenied, "User: " + info_.arn + " is not authorized to perform: dynamodb:" +
                                             std::string(NameOf(action)) +
                                             " on resource: " + std::string(resource) + std::string(why));
}

}  // namespace holdfast::auth
