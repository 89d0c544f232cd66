// Texts of items whose shape a model has checked.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/value.h"

namespace holdfast::apps {

// Empty where there is none.
inline std::string TextOf(const Item& item, std::string_view name) {
  auto value = item.Get(name);
  return value && value->type() == AttributeValue::Type::kString ? value->AsText() : std::string();
}

}  // namespace holdfast::apps
