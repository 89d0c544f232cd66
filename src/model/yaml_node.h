// A YAML document as a tree: what models, templates, settings and made-up worlds are read from. Any of them
// may be a stranger's file.
//
//   HF_TRY(YamlNode root, ReadYaml(text, "models/pm.yaml"));
//   if (root.IsMap()) name = root["model"].Scalar();
//
// Reading takes time and memory in proportion to the text, however the text is made (docs/adr/0041): the
// bytes, the depth and the number of nodes are bounded while the parser still reads, what an alias stands for
// being counted at each place where it stands. A key is a text and stands in its map once.
//
// A node is a handle to part of a tree that does not change: cheap to copy, safe to share between threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::model {

class YamlNode {
 public:
  using Entry = std::pair<YamlNode, YamlNode>;

  YamlNode() = default;  // what is not there

  bool IsDefined() const { return data_ != nullptr; }
  bool IsNull() const;
  bool IsScalar() const;
  bool IsSequence() const;
  bool IsMap() const;

  // The line it begins on, from 1; 0 for what is not there.
  int line() const;
  // "!" for a quoted text, "?" for a plain one, else what the file says: !Ref.
  const std::string& Tag() const;
  // Its text; empty for what is no scalar.
  const std::string& Scalar() const;
  // How many elements or entries.
  size_t size() const;
  // Those of a map, in the file's order, and those of a list; none for anything else.
  const std::vector<Entry>& entries() const;
  const std::vector<YamlNode>& elements() const;
  // What stands in a map under this key, in logarithmic time; otherwise what is not there.
  YamlNode operator[](std::string_view key) const;

 private:
  friend class YamlBuilder;
  struct Data;
  explicit YamlNode(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

// The one document of a text; `file` is for messages, each of which begins with it and the line. A text
// without a document is a null.
Result<YamlNode> ReadYaml(std::string_view text, const std::string& file);
// Of a file. Reads no more of it than a document may have.
Result<YamlNode> ReadYamlFile(const std::string& path);

}  // namespace holdfast::model
