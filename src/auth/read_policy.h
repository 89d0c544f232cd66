// A policy out of its JSON. What is not understood is refused with its place: a condition that were passed
// over would allow what it was written to prevent.
#pragma once

#include <simdjson.h>

#include <functional>
#include <string>
#include <string_view>

#include "auth/policy.h"
#include "holdfast/result.h"

namespace holdfast::auth {

// "<place>: <why>".
Error Misread(const std::string& place, const std::string& why);

// Visits the members of an object, each of which may stand there once.
Status ForEachMember(simdjson::dom::element element, const std::string& place,
                     const std::function<Status(std::string_view name, simdjson::dom::element value)>& visit);
// Visits a text, or each text of a list; of neither there may be none.
Status ForEachText(simdjson::dom::element element, const std::string& place,
                   const std::function<Status(std::string_view text)>& visit);

// `place` is where it stands: "keys.json: policies.audit".
Result<Policy> ReadPolicy(simdjson::dom::element policy, const std::string& place);

}  // namespace holdfast::auth
