#include "model/cloudformation/write.h"

#include "model/generate/text.h"

namespace holdfast::model::cloudformation {
namespace {

using generate::Node;

template <Described T>
Node NodeOf(const T& value);
template <class T>
Node NodeOf(const std::vector<T>& values);

template <class T>
requires std::is_enum_v<T> Node NodeOf(T value) {
  return {NameOf(value)};
}
template <class T>
requires(!Described<T> && !std::is_enum_v<T>) Node NodeOf(const T& value) {
  return {value};
}
template <class T>
Node NodeOf(const std::vector<T>& values) {
  Node list = Node::List();
  for (const T& value : values) list.Add(NodeOf(value));
  return list;
}

template <class T>
void SetField(std::string_view name, const T& value, Node* map) {
  map->Set(name, NodeOf(value));
}
template <class T>
void SetField(std::string_view name, const std::optional<T>& value, Node* map) {
  if (value) map->Set(name, NodeOf(*value));
}

template <Described T>
Node NodeOf(const T& value) {
  Node map = Node::Map();
  auto set = [&](const auto& field) {
    if constexpr (requires { field.member; }) SetField(field.name, value.*field.member, &map);
  };
  static constexpr auto kFields = T::Fields();
  kFields.ForEach(set);
  return map;
}

}  // namespace

std::string WriteTemplate(const WrittenTemplate& written) {
  Node resources = Node::Map();
  Node outputs = Node::Map();
  std::string previous;  // the last table with indexes: DynamoDB makes only so many of them at a time
  for (const WrittenTable& table : written.tables) {
    Node resource = Node::Map().Set("Type", TableProperties::kTypeName);
    bool indexed = table.properties.global_secondary_indexes || table.properties.vector_indexes;
    if (indexed && !previous.empty()) resource.Set("DependsOn", previous);
    if (indexed) previous = table.id;
    resources.Set(table.id, std::move(resource.Set("Properties", NodeOf(table.properties))));
    auto add_output = [&](std::string_view name, const std::string& value) {
      outputs.Set(table.output_prefix + std::string(name), Node::Map().Set("Value", Node::Raw(value)));
    };
    add_output("TableName", "!Ref " + table.id);
    add_output("TableArn", "!GetAtt " + table.id + ".Arn");
    if (table.properties.stream) add_output("StreamArn", "!GetAtt " + table.id + ".StreamArn");
  }
  return written.remarks + Node::Map()
                               .Set("AWSTemplateFormatVersion", "2010-09-09")
                               .Set("Description", written.description)
                               .Set("Resources", std::move(resources))
                               .Set("Outputs", std::move(outputs))
                               .ToYaml();
}

}  // namespace holdfast::model::cloudformation
