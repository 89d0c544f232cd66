// YAML nodes as values.
#pragma once

#include <yaml-cpp/yaml.h>

#include <utility>
#include <vector>

#include "holdfast/value.h"
#include "model/notation.h"

namespace holdfast::model {

// Plain scalars are typed as YAML 1.2 does it, quoted ones are texts.
inline AttributeValue ValueOfYaml(const YAML::Node& node) {
  if (node.IsScalar())
    return node.Tag() == "!" ? AttributeValue(node.Scalar()) : ParsePlainScalar(node.Scalar());
  if (node.IsSequence()) {
    std::vector<AttributeValue> elements;
    for (const auto& element : node) elements.push_back(ValueOfYaml(element));
    return AttributeValue::List(std::move(elements));
  }
  if (!node.IsMap()) return nullptr;
  AttributeMap entries;
  for (const auto& entry : node) entries[entry.first.Scalar()] = ValueOfYaml(entry.second);
  return AttributeValue::Map(std::move(entries));
}

}  // namespace holdfast::model
