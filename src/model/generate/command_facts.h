// What can be said of a command without running it: which entities it writes, what it answers with, how it
// may be refused.
#pragma once

#include <string>
#include <vector>

#include "model/command.h"
#include "model/generate/json_schema.h"

namespace holdfast::model::generate {

struct CommandFacts {
  std::vector<const Entity*> written;
  std::vector<const Entity*> result;  // one of these; none: something else
  bool creates = false;
  bool creates_first = false;  // then the answer is 201
  bool changes = false;
  bool expects = false;  // a version
};
CommandFacts FactsOf(const Model& model, const Command& command);

// The schema of what the command answers with.
Node ResultSchema(const Model& model, const Command& command, const SchemaWriter& writer);

// The roles that may run it; none: every caller may.
std::vector<std::string> RolesOf(const Model& model, const Command& command);

}  // namespace holdfast::model::generate
