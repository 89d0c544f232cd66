#include "model/expression_builder.h"

#include "json/writer.h"
#include "value/flat.h"

namespace holdfast::model {

std::string ReadableValue(const AttributeValue& value) {
  using Type = AttributeValue::Type;
  switch (value.type()) {
    case Type::kString:
    case Type::kNumber: return value.AsText();
    case Type::kTrue: return "true";
    case Type::kFalse: return "false";
    case Type::kNull: return "null";
    default: {
      std::string text;
      Item holder{{"", value}};
      json::AppendValue(*value::MapView(holder).Find(""), &text);
      return text;
    }
  }
}

ExpressionBuilder& ExpressionBuilder::Text(std::string_view text) {
  text_ += text;
  readable_ += text;
  return *this;
}

ExpressionBuilder& ExpressionBuilder::Path(std::string_view path) {
  readable_ += path;
  while (!path.empty()) {
    size_t end = path.find_first_of(".[");
    std::string_view name = path.substr(0, end);
    if (!name.empty()) AppendAlias(name);
    if (end == std::string_view::npos) break;
    if (path[end] == '[') {
      size_t close = path.find(']', end);
      text_ += path.substr(end, close - end + 1);
      path.remove_prefix(close + 1);
      if (path.starts_with('.')) {
        text_ += '.';
        path.remove_prefix(1);
      }
      continue;
    }
    text_ += '.';
    path.remove_prefix(end + 1);
  }
  return *this;
}

ExpressionBuilder& ExpressionBuilder::Name(std::string_view name) {
  readable_ += name;
  AppendAlias(name);
  return *this;
}

void ExpressionBuilder::AppendAlias(std::string_view name) {
  auto [alias, fresh] = aliases_.emplace(name, "#n" + std::to_string(aliases_.size()));
  if (fresh) names_.emplace(alias->second, name);
  text_ += alias->second;
}

ExpressionBuilder& ExpressionBuilder::Value(const AttributeValue& value) {
  std::string name = ":v" + std::to_string(values_.size());
  text_ += name;
  readable_ += ReadableValue(value);
  values_.emplace(std::move(name), value);
  return *this;
}

ExpressionBuilder& ExpressionBuilder::And() {
  if (text_.empty()) return *this;
  text_ += " AND ";
  readable_ += " and ";
  return *this;
}

ExpressionBuilder& ExpressionBuilder::Update(const Item& item, const std::vector<std::string>& set,
                                             const std::vector<std::string>& removed) {
  for (size_t i = 0; i < set.size(); ++i)
    Text(i == 0 ? "SET " : ", ").Name(set[i]).Text(" = ").Value(*item.Get(set[i]));
  for (size_t i = 0; i < removed.size(); ++i)
    Text(i > 0 ? ", " : set.empty() ? "REMOVE " : " REMOVE ").Name(removed[i]);
  return *this;
}

ExpressionBuilder& ExpressionBuilder::AndUnchanged(std::string_view name, const Item& read) {
  if (auto value = read.Get(name)) return And().Name(name).Text(" = ").Value(*value);
  return And().Text("attribute_not_exists(").Name(name).Text(")");
}

std::string ExpressionBuilder::Take() {
  readable_.clear();
  return std::exchange(text_, {});
}

}  // namespace holdfast::model
