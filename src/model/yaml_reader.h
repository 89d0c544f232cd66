// Reading YAML with the place of every problem: what the loaders of a model's parts share.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "model/model.h"
#include "model/yaml_node.h"
#include "value/number.h"

namespace holdfast::model {

template <class T>
bool Has(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

template <class T>
void SortByName(std::vector<T>* all) {
  std::sort(all->begin(), all->end(), [](const T& a, const T& b) { return a.name < b.name; });
}

// A node with the path that leads to it.
struct At {
  YamlNode node;
  std::string path;

  At operator[](const std::string& key) const { return {node[key], path.empty() ? key : path + "." + key}; }
  explicit operator bool() const { return node.IsDefined() && !node.IsNull(); }
  const std::string& text() const { return node.Scalar(); }
};

class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  const std::vector<std::string>& problems() const { return problems_; }

  // --- problems ---

  void Problem(int line, const std::string& path, const std::string& what) {
    if (problems_.size() == kProblemsMax) return;
    std::string text = file_ + ":" + std::to_string(line) + ": " + (path.empty() ? "" : path + ": ") + what;
    if (!Has(problems_, text)) problems_.push_back(std::move(text));
  }
  void Problem(const At& at, const std::string& what) { Problem(at.node.line(), at.path, what); }
  void Problem(const Place& place, const std::string& what) { Problem(place.line, place.path, what); }
  static Place PlaceOf(const At& at) { return {at.node.line(), at.path}; }
  // Reports the error of a small notation where it stands.
  template <class T>
  std::optional<T> Take(const At& at, Result<T> result) {
    if (result) return *std::move(result);
    Problem(at, result.error().message());
    return std::nullopt;
  }

  // --- plain YAML ---

  void OnlyKeys(const At& at, std::initializer_list<std::string_view> known) {
    if (!at.node.IsMap()) return;
    for (const auto& entry : at.node.entries()) {
      const std::string& name = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string list;
      for (std::string_view key : known) list.append(list.empty() ? "" : ", ").append(key);
      Problem(entry.first.line(), at.path, "unknown key " + name + "; known here: " + list);
    }
  }

  template <class Visit>
  void EachEntry(const At& at, const Visit& visit) {
    if (!at) return;
    if (!at.node.IsMap()) return Problem(at, "should be a map");
    for (const auto& [key, value] : at.node.entries())
      visit(key.Scalar(), At{value, at.path.empty() ? key.Scalar() : at.path + "." + key.Scalar()});
  }
  // Whether a map or list has no more than so many; reports it where it has. For parts that are compared with
  // each other: a file of a megabyte could make their number squared.
  bool AtMost(const At& at, size_t max) {
    if (at.node.size() <= max) return true;
    Problem(at, "has " + std::to_string(at.node.size()) + " entries; at most " + std::to_string(max) +
                    " are supported");
    return false;
  }
  // A list, or one that stands for a list of one.
  template <class Visit>
  void EachElement(const At& at, const Visit& visit) {
    if (!at) return;
    if (!at.node.IsSequence()) return visit(at);
    size_t i = 0;
    for (const YamlNode& element : at.node.elements())
      visit(At{element, at.path + "[" + std::to_string(i++) + "]"});
  }
  std::vector<std::string> Texts(const At& at) {
    std::vector<std::string> texts;
    EachElement(at, [&](const At& element) { texts.push_back(element.text()); });
    return texts;
  }
  bool Flag(const At& at, bool fallback) {
    if (!at) return fallback;
    if (at.text() == "true" || at.text() == "false") return at.text() == "true";
    Problem(at, "should be true or false");
    return fallback;
  }
  int64_t Integer(const At& at, int64_t fallback, int64_t min, int64_t max) {
    if (!at) return fallback;
    int64_t value = 0;
    auto number = value::Number::Parse(at.text());
    if (number && number->ToInt64(&value) && value >= min && value <= max) return value;
    Problem(at, "should be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    return fallback;
  }
  std::optional<double> Decimal(const At& at) {
    if (!at) return std::nullopt;
    if (auto number = value::Number::Parse(at.text())) return number->ToDouble();
    Problem(at, "should be a number");
    return std::nullopt;
  }
  template <class T>
  void Unique(std::set<std::string>* seen, const std::string& id, const T& where) {
    if (!id.empty() && !seen->insert(id).second) Problem(where, "the id " + id + " is taken already");
  }

 private:
  static constexpr size_t kProblemsMax = 50;

  const std::string file_;
  std::vector<std::string> problems_;
};

}  // namespace holdfast::model
