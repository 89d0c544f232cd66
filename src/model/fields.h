// What callers see of a stored item, without a copy of it: Record::Fields() field by field.
#pragma once

#include <functional>
#include <string_view>

#include "holdfast/value.h"
#include "model/model.h"
#include "value/flat.h"

namespace holdfast::model {

// In order of name. The views are gone when `visit` returns, but for names.
void VisitFields(const Entity& entity, const Item& stored,
                 const std::function<void(std::string_view name, value::ValueView value)>& visit);

}  // namespace holdfast::model
