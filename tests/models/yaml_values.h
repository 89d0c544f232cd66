// YAML as test data: nodes to values and items.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/value.h"
#include "model/notation.h"

namespace holdfast::testing {

constexpr int kVectorDimensions = 1024;

inline AttributeValue ValueOf(const YAML::Node& node) {
  if (node.IsScalar())
    return node.Tag() == "!" ? AttributeValue(node.Scalar()) : model::ParsePlainScalar(node.Scalar());
  if (node.IsSequence()) {
    std::vector<AttributeValue> elements;
    for (const auto& element : node) elements.push_back(ValueOf(element));
    return AttributeValue::List(std::move(elements));
  }
  if (!node.IsMap()) return nullptr;
  // {sparse: {0: 0.8}} stands for a vector that is zero elsewhere.
  if (node.size() == 1 && node.begin()->first.Scalar() == "sparse") {
    std::vector<AttributeValue> numbers(kVectorDimensions, AttributeValue(0));
    for (const auto& entry : node["sparse"]) numbers[entry.first.as<size_t>()] = ValueOf(entry.second);
    return AttributeValue::List(std::move(numbers));
  }
  AttributeMap entries;
  for (const auto& entry : node) {
    if (entry.first.Scalar() == "<<")
      entries.merge(AttributeMap(ValueOf(entry.second).AsMap()));
    else
      entries[entry.first.Scalar()] = ValueOf(entry.second);
  }
  return AttributeValue::Map(std::move(entries));
}

inline Item ItemOf(const YAML::Node& node) {
  if (!node || !node.IsMap()) return Item();
  return Item(ValueOf(node).AsMap());
}

// Whether `actual` has all that `expected` says: of maps only what is named, null for what is absent, "*" for
// anything that is there.
inline bool Has(const AttributeValue& expected, const AttributeValue& actual) {
  using Type = AttributeValue::Type;
  if (expected.type() == Type::kString && expected.AsText() == "*") return !actual.is_null();
  if (expected.type() != actual.type()) return false;
  if (expected.type() == Type::kMap) {
    const AttributeMap& entries = actual.AsMap();
    return std::all_of(expected.AsMap().begin(), expected.AsMap().end(), [&](const auto& entry) {
      auto at = entries.find(entry.first);
      return Has(entry.second, at == entries.end() ? AttributeValue() : at->second);
    });
  }
  if (expected.type() == Type::kList) {
    const auto& wanted = expected.AsList();
    const auto& elements = actual.AsList();
    return std::equal(wanted.begin(), wanted.end(), elements.begin(), elements.end(), Has);
  }
  return expected == actual;
}
inline bool Has(const YAML::Node& expected, const Item& actual) {
  return Has(AttributeValue::Map(ItemOf(expected).ToMap()), AttributeValue::Map(actual.ToMap()));
}

}  // namespace holdfast::testing
