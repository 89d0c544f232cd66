#include "cli/arguments.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/output.h"
#include "json/plain.h"

namespace holdfast::cli {
namespace {

using model::Kind;

Result<AttributeMap> ParseObject(const std::string& text, const std::string& name) {
  Result<Item> item = json::ReadPlainItem(text);
  if (!item) return UsageError(name + ": " + item.error().message());
  return item->ToMap();
}

// {"name": …}, @file.json or -
Result<AttributeMap> ReadObject(const std::string& word) {
  if (word.starts_with('{')) return ParseObject(word, "the object");
  std::ifstream file;
  if (word != "-") file.open(word.substr(1));
  std::istream& in = word == "-" ? std::cin : file;
  std::string name = word == "-" ? "standard input" : word.substr(1);
  if (!in) return UsageError("cannot read " + name);
  return ParseObject(std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()),
                     name);
}

bool IsText(Kind kind) {
  return kind == Kind::kString || kind == Kind::kUuid || kind == Kind::kUlid || kind == Kind::kInstant ||
         kind == Kind::kDate;
}

// JSON has no sets: a list stands for one where the model wants it.
AttributeValue Fit(const model::Attribute* attribute, AttributeValue value) {
  Kind kind = attribute == nullptr ? Kind::kAny : attribute->kind;
  bool is_set = kind == Kind::kStringSet || kind == Kind::kNumberSet;
  if (!is_set || value.type() != AttributeValue::Type::kList) return value;
  auto wanted = kind == Kind::kStringSet ? AttributeValue::Type::kString : AttributeValue::Type::kNumber;
  std::vector<std::string> members;
  for (const AttributeValue& element : value.AsList()) {
    if (element.type() != wanted) return value;
    members.push_back(element.AsText());
  }
  return kind == Kind::kStringSet ? AttributeValue::StringSet(std::move(members))
                                  : AttributeValue::NumberSet(std::move(members));
}

}  // namespace

AttributeValue ReadValue(const model::Attribute* attribute, const std::string& text) {
  Kind kind = attribute == nullptr ? Kind::kString : attribute->kind;
  // A secret that happens to be a number is a text all the same.
  if (IsText(kind) || (kind == Kind::kEncrypted && !text.starts_with('{'))) return text;
  Result<AttributeValue> json = json::ReadPlainValue(text);
  return json ? Fit(attribute, *std::move(json)) : text;
}

Result<AttributeMap> ReadFields(const std::vector<std::string>& words, const Declared& declared) {
  AttributeMap fields;
  for (const std::string& word : words) {
    if (word == "-" || word.starts_with('@') || word.starts_with('{')) {
      HF_TRY(AttributeMap object, ReadObject(word));
      for (const auto& [name, value] : object) fields.insert_or_assign(name, Fit(declared(name), value));
      continue;
    }
    size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return UsageError("expected name=value, name:=json, @file.json or -, not " + word);
    bool typed = word[equals - 1] == ':';
    std::string name = word.substr(0, typed ? equals - 1 : equals);
    std::string text = word.substr(equals + 1);
    if (!typed) {
      fields.insert_or_assign(name, ReadValue(declared(name), text));
      continue;
    }
    Result<AttributeValue> json = json::ReadPlainValue(text);
    if (!json) return UsageError(word + ": " + json.error().message());
    fields.insert_or_assign(name, Fit(declared(name), *std::move(json)));
  }
  return fields;
}

Result<AttributeMap> ReadParameters(const std::vector<std::string>& words, const Declared& declared) {
  AttributeMap parameters;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) return UsageError("expected --name value, not " + word);
    size_t equals = word.find('=');
    std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (equals == std::string::npos && ++i == words.size()) return UsageError("--" + name + " needs a value");
    parameters.insert_or_assign(
        name, ReadValue(declared(name), equals == std::string::npos ? words[i] : word.substr(equals + 1)));
  }
  return parameters;
}

}  // namespace holdfast::cli
