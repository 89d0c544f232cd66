// What the tests of this layer share: an expression with the names and values of its request.
#pragma once

#include <string>
#include <string_view>

#include "expression/bind.h"

namespace holdfast::expression::testing {

// Outlives what was bound through scope().
struct Request {
  std::string text;
  Item values;
  NameMap names = {};
  Scope scope{&names, &values};
  base::WorkMeter work{base::WorkMeter::Bound::kRequest};
};

// The message of a failure without the "Invalid XExpression: " before it; "ok" when there is none.
template <class T>
std::string Why(const Result<T>& result) {
  if (result) return "ok";
  const std::string& message = result.error().message();
  size_t colon = message.find("Expression: ");
  return message.starts_with("Invalid ") && colon != std::string::npos ? message.substr(colon + 12) : message;
}

}  // namespace holdfast::expression::testing
