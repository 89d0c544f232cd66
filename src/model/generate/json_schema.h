// JSON Schema (2020-12) of a model's values, for documents that hold one and for those that hold many.
#pragma once

#include <string>
#include <vector>

#include "model/generate/shape.h"
#include "model/generate/text.h"
#include "model/model.h"

namespace holdfast::model::generate {

class SchemaWriter {
 public:
  // For whom a map is described whose schema another attribute names: to validators by rules, which code
  // generators do not read; to clients as one of several types.
  enum class For : unsigned char { kValidators, kClients };

  // References are `prefix` and the name of a type.
  SchemaWriter(const Model& model, std::string prefix, For whom = For::kValidators)
      : model_(model), prefix_(std::move(prefix)), whom_(whom) {}

  Node Reference(const std::string& name) const { return Node::Map().Set("$ref", prefix_ + name); }
  Node Record(const std::vector<Attribute>& fields) const;
  Node Value(const Attribute& attribute) const;

 private:
  Node Typed(const Attribute& attribute) const;
  Node List(const Attribute& attribute) const;
  Node Chosen(const SchemaByValue& by) const;
  Node OneOf(const std::vector<SchemaByValue>& schemas, const Attribute& field,
             const std::vector<Attribute>& siblings) const;

  const Model& model_;
  const std::string prefix_;
  const For whom_;
};

}  // namespace holdfast::model::generate
