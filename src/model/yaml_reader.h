// Reading YAML with the place of every problem: what the loaders of a model's parts share.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "model/model.h"
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
  YAML::Node node;
  std::string path;

  At() = default;
  At(const YAML::Node& at_node, std::string at_path) : node(at_node), path(std::move(at_path)) {}
  At(const At&) = default;
  ~At() = default;
  // Leads to the other node from now on. YAML::Node's own assignment would write it into the document.
  At& operator=(const At& other) {
    node.reset(other.node);
    path = other.path;
    return *this;
  }

  At operator[](const std::string& key) const {
    const YAML::Node& fixed = node;  // so that looking does not make it
    YAML::Node found = node.IsMap() ? fixed[key] : YAML::Node(YAML::NodeType::Undefined);
    // What was not found must not be asked for its type.
    return {found ? found : YAML::Node(YAML::NodeType::Undefined), path.empty() ? key : path + "." + key};
  }
  explicit operator bool() const { return node.IsDefined() && !node.IsNull(); }
  std::string text() const { return node.IsScalar() ? node.Scalar() : std::string(); }
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
  void Problem(const At& at, const std::string& what) { Problem(at.node.Mark().line + 1, at.path, what); }
  void Problem(const Place& place, const std::string& what) { Problem(place.line, place.path, what); }
  static Place PlaceOf(const At& at) { return {at.node.Mark().line + 1, at.path}; }
  // Reports the error of a small notation where it stands.
  template <class T>
  std::optional<T> Take(const At& at, Result<T> result) {
    if (result) return *std::move(result);
    Problem(at, result.error().message());
    return std::nullopt;
  }

  // Aliases can make a small file a large tree: all of it is counted before any of it is read.
  void CountNodes(const YAML::Node& node, int depth) {
    if (++nodes_ > kNodesMax || depth > kDepthMax) {
      if (problems_.empty()) Problem(node.Mark().line + 1, "", "the file is too large or nested too deeply");
      return;
    }
    if (!node.IsMap() && !node.IsSequence()) return;
    std::set<std::string> names;
    for (const auto& entry : node) {
      if (!problems_.empty()) return;
      if (node.IsSequence()) {
        CountNodes(entry, depth + 1);
        continue;
      }
      if (!entry.first.IsScalar() || !names.insert(entry.first.Scalar()).second) {
        Problem(entry.first.Mark().line + 1, "", "the key " + entry.first.Scalar() + " stands here twice");
      }
      CountNodes(entry.second, depth + 1);
    }
  }

  // --- plain YAML ---

  void OnlyKeys(const At& at, std::initializer_list<std::string_view> known) {
    if (!at.node.IsMap()) return;
    for (const auto& entry : at.node) {
      std::string name = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string list;
      for (std::string_view key : known) list.append(list.empty() ? "" : ", ").append(key);
      Problem(entry.first.Mark().line + 1, at.path, "unknown key " + name + "; known here: " + list);
    }
  }

  template <class Visit>
  void EachEntry(const At& at, const Visit& visit) {
    if (!at) return;
    if (!at.node.IsMap()) return Problem(at, "should be a map");
    for (const auto& entry : at.node) visit(entry.first.Scalar(), at[entry.first.Scalar()]);
  }
  // A list, or one that stands for a list of one.
  template <class Visit>
  void EachElement(const At& at, const Visit& visit) {
    if (!at) return;
    if (!at.node.IsSequence()) return visit(at);
    size_t i = 0;
    for (const auto& element : at.node) visit(At{element, at.path + "[" + std::to_string(i++) + "]"});
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
  static constexpr size_t kNodesMax = 100'000;
  static constexpr int kDepthMax = 40;
  static constexpr size_t kProblemsMax = 50;

  const std::string file_;
  std::vector<std::string> problems_;
  size_t nodes_ = 0;
};

}  // namespace holdfast::model
