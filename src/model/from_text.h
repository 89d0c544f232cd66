// Values as people write them where there are only texts, or only JSON, made into what the model wants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/value.h"
#include "model/model.h"

namespace holdfast::model {

// JSON has neither sets nor bytes: a list stands for a set, and Base64 for bytes, where the model wants them.
// `attribute` may be null: nothing is known of it.
AttributeValue FromJson(const Attribute* attribute, AttributeValue value);

// The same for every attribute of an item that is declared.
void FromJson(const std::vector<Attribute>& declared, Item* item);

// A text where the model wants one, otherwise JSON if it is any. What is neither is left to the model to
// refuse.
AttributeValue FromText(const Attribute* attribute, std::string_view text);

}  // namespace holdfast::model
