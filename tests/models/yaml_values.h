// YAML as test data: nodes to values and items.
#pragma once

#include <yaml-cpp/yaml.h>

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
  for (const auto& entry : node) entries[entry.first.Scalar()] = ValueOf(entry.second);
  return AttributeValue::Map(std::move(entries));
}

inline Item ItemOf(const YAML::Node& node) {
  if (!node || !node.IsMap()) return Item();
  return Item(ValueOf(node).AsMap());
}

}  // namespace holdfast::testing
