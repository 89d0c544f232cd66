// Stored items as applications read them. A writer of the table may store any type under any name: an
// attribute that is missing or of another type reads as empty.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/model.h"
#include "holdfast/value.h"
#include "model/refusal.h"

namespace holdfast::apps {

// Empty where there is none.
inline std::string TextOf(const Item& item, std::string_view name) {
  auto value = item.Get(name);
  return value && value->type() == AttributeValue::Type::kString ? value->AsText() : std::string();
}

// "Project 7f3a": a stored item as warnings name it, by its storage key.
inline std::string NameOf(const Record& record) {
  std::string name;
  for (std::string_view key : {"PK", "SK"}) {
    auto value = record.stored().Get(key);
    if (value) name += (name.empty() ? "" : " / ") + value->AsText().substr(0, 200);
  }
  return name;
}

// A job over many stored items skips a malformed one and warns of it, so that the others are still done.
inline ModelWarning PassedOver(const Record& record, std::string_view why) {
  return {NameOf(record), "the stored item is malformed and was passed over: " + std::string(why)};
}

// The refusal is about the item that was asked for, and will be the same next time.
inline bool IsOfTheItem(const Error& error) {
  std::string_view name = model::RefusalName(error);
  return name == "ValidationError" || name == "SchemaInvalid" || name == "ItemTooLarge";
}

}  // namespace holdfast::apps
