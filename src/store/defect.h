// DefectOf(request): the first item in a request that could not be built (Item::defect), null when all are
// sound. Such an item has no JSON; whoever would send it refuses it here, as an operation of the database
// would.
#pragma once

#include <concepts>
#include <string>
#include <tuple>

#include "holdfast/fields.h"
#include "holdfast/value.h"
#include "json/struct_writer.h"

namespace holdfast::store {

template <class T>
const Error* DefectOf(const T& value) {
  if constexpr (std::derived_from<T, Item>) {
    return value.defect();
  } else if constexpr (Described<T>) {
    const Error* defect = nullptr;
    auto look = [&](const auto& field) {
      if constexpr (requires { field.member; }) {
        if (defect == nullptr) defect = DefectOf(value.*field.member);
      }
    };
    T::Fields().ForEach(look);
    return defect;
  } else if constexpr (json::IsOptional<T>::value) {
    return value ? DefectOf(*value) : nullptr;
  } else if constexpr (requires { value.second; }) {
    return DefectOf(value.second);
  } else if constexpr (requires { value.begin(); } && !std::same_as<T, std::string>) {
    for (const auto& member : value) {
      if (const Error* defect = DefectOf(member)) return defect;
    }
  }
  return nullptr;
}

}  // namespace holdfast::store
