#include "cli/arguments.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/output.h"
#include "json/plain.h"
#include "model/from_text.h"

namespace holdfast::cli {
namespace {

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

}  // namespace

Result<AttributeMap> ReadFields(const std::vector<std::string>& words, const Declared& declared) {
  AttributeMap fields;
  for (const std::string& word : words) {
    if (word == "-" || word.starts_with('@') || word.starts_with('{')) {
      HF_TRY(AttributeMap object, ReadObject(word));
      for (const auto& [name, value] : object)
        fields.insert_or_assign(name, model::FromJson(declared(name), value));
      continue;
    }
    size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return UsageError("expected name=value, name:=json, @file.json or -, not " + word);
    bool typed = word[equals - 1] == ':';
    std::string name = word.substr(0, typed ? equals - 1 : equals);
    std::string text = word.substr(equals + 1);
    if (!typed) {
      fields.insert_or_assign(name, model::FromText(declared(name), text));
      continue;
    }
    Result<AttributeValue> json = json::ReadPlainValue(text);
    if (!json) return UsageError(word + ": " + json.error().message());
    fields.insert_or_assign(name, model::FromJson(declared(name), *std::move(json)));
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
        name,
        model::FromText(declared(name), equals == std::string::npos ? words[i] : word.substr(equals + 1)));
  }
  return parameters;
}

}  // namespace holdfast::cli
