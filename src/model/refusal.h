// The errors of a model: the names, HTTP statuses and details that its callers see.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/ops/common.h"
#include "holdfast/result.h"
#include "model/model.h"

namespace holdfast::model {

// One thing wrong with an input.
struct Violation {
  std::string path;  // content.milestones[0].status
  std::string rule;  // "should be one of on_track, at_risk"
  std::string got;   // what stood there, shortened
  // A field of the wrong form, something inside an embedded schema, a rule between fields: each has its
  // error.
  enum class Kind : uint8_t { kField, kSchema, kRule } kind = Kind::kField;
};

// `name` decides the HTTP status.
Error Refuse(std::string_view name, std::string message, AttributeMap details = {});
// A name that a model made up, with its status.
Error Refuse(std::string_view name, int http_status, std::string message, AttributeMap details);
// Of a name of the catalogue; 0 for any other.
int StatusOfRefusal(std::string_view name);

// ValidationError when a field is wrong, else SchemaInvalid, else RuleViolation. Requires: not empty.
Error RefuseInput(const std::vector<Violation>& violations);
Error RefuseField(std::string path, std::string rule, std::string got = {});
Error RefuseMove(const Machine& machine, const std::string& id, std::string_view from, std::string_view to);
Error NotFound(const Entity& entity, const std::string& id);
// For lack of capacity, which there is again in a moment.
Error Throttled(std::string message);

// An error of the store as callers of a model see it: throttling, a missing table, an item too large. Of a
// cancelled transaction what its reasons say; what a failed condition means is for those who made it to say.
Error FromStore(const Error& error);

// The name of a refusal, or empty for any other error.
std::string_view RefusalName(const Error& error);

}  // namespace holdfast::model
