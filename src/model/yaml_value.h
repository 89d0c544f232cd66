// YAML nodes as values.
#pragma once

#include <utility>
#include <vector>

#include "holdfast/value.h"
#include "model/notation.h"
#include "model/yaml_node.h"

namespace holdfast::model {

// Plain scalars are typed as YAML 1.2 does it, quoted ones are texts.
inline AttributeValue ValueOfYaml(const YamlNode& node) {
  if (node.IsScalar())
    return node.Tag() == "!" ? AttributeValue(node.Scalar()) : ParsePlainScalar(node.Scalar());
  if (node.IsSequence()) {
    std::vector<AttributeValue> elements;
    for (const YamlNode& element : node.elements()) elements.push_back(ValueOfYaml(element));
    return AttributeValue::List(std::move(elements));
  }
  if (!node.IsMap()) return nullptr;
  AttributeMap entries;
  for (const auto& [key, value] : node.entries()) entries[key.Scalar()] = ValueOfYaml(value);
  return AttributeValue::Map(std::move(entries));
}

}  // namespace holdfast::model
