// Commands as the loader gives them: what a caller gives, what is read, when it is refused, what is written
// in one transaction, what is told afterwards. docs/commands.md describes the file.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/model.h"
#include "model/expression.h"
#include "model/model.h"

namespace holdfast::model {

// An item that a command looks at, by its key.
struct CommandRead {
  std::string name;
  const Entity* entity = nullptr;
  Fields key;
  bool optional = false;
  bool loose = false;  // may change before the command commits
  std::optional<Condition> when;
  // Attributes that conditions and values of the command look at: they must not change meanwhile.
  std::set<std::string> relied_on;
  bool looked_at = false;  // its existence counts
  Place place;
};

struct Refusal {
  std::string name;
  // Refused when `when` holds, or there is none, and `unless` does not.
  std::optional<Condition> when;
  std::optional<Condition> unless;
  int http_status = 409;
  Expression message;
  Fields details;
  std::optional<Expression> retry_after;  // seconds
  Place place;
};

struct WriteStep {
  enum class Form : uint8_t { kPut, kPatch, kSave, kDelete, kCheck, kUse, kCases, kForEach };
  Form form = Form::kPut;
  std::optional<Condition> when;
  const Entity* entity = nullptr;  // kPut; kDelete and kCheck of what was not read
  Fields key;                      // of such a kDelete or kCheck
  std::string as;                  // kPut: what later steps call it; kForEach: the element
  std::string read;                // kPatch, kSave, kDelete, kCheck
  // kPut, kPatch, kSave: of this map all that is an attribute of the entity; `set` comes over it.
  std::optional<Expression> from;
  Fields set;                             // kUse: what the function gets as `with`
  Fields fresh;                           // kSave: only of a new item
  std::string bump;                       // kPut: an instant in the key, moved on until the place is free
  std::optional<Expression> expect;       // kPatch, kSave, kDelete: the version
  std::vector<std::string> expect_state;  // kPatch, kSave: the machine's state before
  bool any_state = false;                 // kPatch, kSave: whatever the machine says
  std::string function;                   // kUse
  std::vector<WriteStep> steps;           // kForEach: the body; kCases: one step of form kCases a case
  std::optional<Expression> list;         // kForEach
  Place place;
};

struct Emission {
  std::string name;
  std::optional<Condition> when;
  std::optional<Expression> to;
  Fields body;
};

// Writes that several commands share.
struct CommandFunction {
  std::string name;
  Fields let;
  std::vector<WriteStep> write;
  Place place;
};

struct Command {
  std::string name;  // project.create
  std::string id;    // PM-C-01
  std::string title;
  std::string description;
  // Who may, of those whom the model's roles allow; none: all of them.
  std::optional<std::vector<std::string>> roles;
  std::vector<Attribute> inputs;         // in order of name
  std::vector<std::string> input_order;  // as the file has them
  std::vector<CommandRead> reads;
  Fields let;
  std::string compute;  // a function in C++
  std::vector<Refusal> refusals;
  std::optional<Condition> unchanged_when;
  std::vector<WriteStep> writes;
  std::vector<Emission> emits;
  std::optional<Expression> result;
  bool handler = false;             // all of it is C++
  bool internal = false;            // for C++ only
  std::vector<std::string> errors;  // names that it refuses with, for documents
  Place place;

  const CommandRead* FindRead(std::string_view name) const;
};

// What the bearer of a role may do. `*` stands for any text.
struct Role {
  std::string name;
  bool own_tenant = true;  // acts within one tenant
  std::vector<std::string> commands;
  std::vector<std::string> read;   // entities
  std::vector<std::string> write;  // entities
  Place place;
};
bool MatchesAny(const std::vector<std::string>& globs, std::string_view name);

// What a caller's role allows. Administrators, and callers without a role, are limited by nothing here.
bool MayRun(const Model& model, const Caller& caller, const Command& command);
bool MayRead(const Model& model, const Caller& caller, const Entity& entity);
bool MayWrite(const Model& model, const Caller& caller, const Entity& entity);
// Events, which belong to no entity: those may who may read something.
bool MayHear(const Model& model, const Caller& caller);

}  // namespace holdfast::model
