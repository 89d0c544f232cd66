// Identity policies as IAM has them: who may do what to which table, index, stream or backup.
//
//   HF_TRY(Policy policy, ReadPolicy(json_element, "keys.json: policies.audit"));     // auth/read_policy.h
//   Principal worker({.name = "worker-1", .arn = "arn:aws:iam::123456789012:user/worker-1"}, {&policy},
//   nullptr); HF_CHECK_OK(worker.Check(ActionOf("PutItem"),
//   "arn:aws:dynamodb:us-east-1:123456789012:table/Log", facts));
//
// A policy is read once. Binding it to a principal fills in its variables, drops what can never apply and
// sorts the statements by action, so that a check looks at those few that speak of its action, and at the
// request's keys and attributes only where a statement asks for them. docs/access.md says what is understood;
// everything else is refused when it is read, by name.
//
// Immutable once made; thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/actions.h"
#include "holdfast/result.h"

namespace holdfast::auth {

// --- what a request is about, besides its action and resource ---

enum class Fact : uint8_t {
  kLeadingKeys,
  kAttributes,
  kSelect,
  kReturnValues,
  kReturnConsumedCapacity,
  kEnclosingOperation,
};
inline constexpr size_t kFactCount = 6;

struct FactValues {
  std::vector<std::string> values;
  // Every value there could be: a read that returns all attributes, a key whose table nobody knows.
  bool all = false;
  // Nobody knows which of them: then what denies applies, and what allows does not.
  bool unknown = false;

  bool absent() const { return values.empty() && !all; }
};

struct Facts {
  std::array<FactValues, kFactCount> by_fact;
  // False: the operation tells of no facts. What allows under conditions on them does not apply to it; what
  // denies meets them absent.
  bool told = true;

  FactValues& operator[](Fact fact) { return by_fact[static_cast<size_t>(fact)]; }
  const FactValues& operator[](Fact fact) const { return by_fact[static_cast<size_t>(fact)]; }
};

// Gathers them, when a statement asks.
class FactSource {
 public:
  virtual void Gather(Facts* facts) const = 0;

 protected:
  ~FactSource() = default;
};

// --- patterns ---

// A text with wildcards: `*` for any run of characters, `?` for one.
class Glob {
 public:
  enum class Case : uint8_t { kMinded, kIgnored };

  void Add(char literal) { rest_.push_back(static_cast<unsigned char>(literal)); }
  void AddRun() { rest_.push_back(kRun); }
  void AddOne() { rest_.push_back(kOne); }
  // After the last of them.
  void Finish();

  bool Matches(std::string_view text, Case letters = Case::kMinded) const;
  // `*` alone.
  bool MatchesAll() const { return prefix_.empty() && rest_.size() == 1 && rest_[0] == kRun; }

 private:
  static constexpr char16_t kRun = 0x100;
  static constexpr char16_t kOne = 0x101;

  std::string prefix_;   // up to the first wildcard
  std::u16string rest_;  // from there on: bytes and wildcards
};

// A text of a policy with variables, ${aws:username}, to be filled in.
struct PolicyText {
  struct Part {
    enum class Kind : uint8_t { kLiteral, kRun, kOne, kVariable };
    Kind kind;
    std::string text;  // of kLiteral and kVariable
  };
  std::vector<Part> parts;
};

// --- policies ---

inline constexpr std::string_view kTagPrefix = "aws:PrincipalTag/";

struct PolicyTest {
  enum class Operator : uint8_t { kEquals, kEqualsIgnoreCase, kLike, kBool, kNull };
  enum class Quantifier : uint8_t { kNone, kForAllValues, kForAnyValue };

  std::string key;           // as IAM spells it: "dynamodb:LeadingKeys", "aws:PrincipalTag/team"
  std::optional<Fact> fact;  // what it is about; nothing: about the principal
  Operator op = Operator::kEquals;
  Quantifier quantifier = Quantifier::kNone;
  bool negated = false;
  bool if_exists = false;
  std::vector<PolicyText> values;
};

struct PolicyStatement {
  std::string place;  // "policies.audit.Statement[0] (WriteOnly)"
  bool allows = false;
  std::bitset<kActionCount> actions;
  std::vector<PolicyText> resources;
  bool other_resources = false;  // NotResource: all but those
  std::vector<PolicyTest> tests;
};

struct Policy {
  std::vector<PolicyStatement> statements;
};

// --- principals ---

struct PrincipalInfo {
  std::string name;
  std::string arn;
  std::string region = "us-east-1";
  std::string account = "123456789012";
  std::map<std::string, std::string> tags;
};

// How often principals were denied, by action.
struct DenialCounts {
  std::array<std::atomic<uint64_t>, kActionCount> denied{};
};

struct Decision {
  enum class Kind : uint8_t { kAllowed, kDenied, kNotAllowed };
  Kind kind = Kind::kNotAllowed;
  std::string place;  // of the statement that decided; empty with kNotAllowed

  bool allowed() const { return kind == Kind::kAllowed; }
};

class Principal {
 public:
  // `counts`, which may be null, must outlive it.
  Principal(PrincipalInfo info, const std::vector<const Policy*>& policies, DenialCounts* counts);
  Principal(const Principal&) = delete;
  Principal& operator=(const Principal&) = delete;

  // A statement that denies wins over all that allow; what none allows is denied. `facts` may be null: there
  // are none.
  Decision Decide(Action action, std::string_view resource, const FactSource* facts) const;
  // The same as IAM words it: kAccessDenied.
  Status Check(Action action, std::string_view resource, const FactSource* facts) const;
  // That refusal, counted. `why`: " because …".
  Error Refuse(Action action, std::string_view resource, std::string_view why) const;

  const PrincipalInfo& info() const { return info_; }

 private:
  struct Test {
    Fact fact;
    PolicyTest::Operator op;
    PolicyTest::Quantifier quantifier;
    bool negated;
    bool if_exists;
    std::vector<Glob> values;
  };
  struct Statement {
    std::string place;
    bool allows = false;
    bool other_resources = false;
    std::vector<Glob> resources;
    std::vector<Test> tests;
  };
  struct Request;

  static bool Holds(const Test& test, const FactValues& facts, bool allows);
  static bool Applies(const Statement& statement, Request* request);
  static const Statement* FirstOf(const std::vector<const Statement*>& statements, Request* request);
  std::optional<std::string> Variable(const std::string& name) const;
  std::optional<Glob> Bind(const PolicyText& text) const;
  // False when a variable means nothing to this principal; the texts without one are bound all the same.
  bool BindAll(const std::vector<PolicyText>& texts, std::vector<Glob>* globs) const;
  void Add(const PolicyStatement& statement);
  // Of a test about the principal itself.
  FactValues OwnFacts(const std::string& key) const;

  const PrincipalInfo info_;
  DenialCounts* const counts_;
  std::vector<std::unique_ptr<const Statement>> statements_;
  // By action: those that speak of it.
  std::array<std::vector<const Statement*>, kActionCount> denying_, allowing_;
};

}  // namespace holdfast::auth
