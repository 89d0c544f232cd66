#include "model/yaml_node.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace holdfast::model {
namespace {

constexpr size_t kFileBytesMax = 1 << 20;
constexpr size_t kNodesMax = 100'000;
constexpr int kDepthMax = 40;

}  // namespace

struct YamlNode::Data {
  enum class Form { kNull, kScalar, kSequence, kMap };

  Form form = Form::kNull;
  int line = 0;
  std::string tag;
  std::string scalar;
  std::vector<YamlNode> elements;
  std::vector<Entry> entries;
  std::map<std::string_view, size_t> positions;  // of keys among the entries, whose texts they see
  // What an alias to it adds to a document.
  size_t nodes = 1;
  int height = 0;
};

bool YamlNode::IsNull() const {
  return data_ != nullptr && data_->form == Data::Form::kNull;
}
bool YamlNode::IsScalar() const {
  return data_ != nullptr && data_->form == Data::Form::kScalar;
}
bool YamlNode::IsSequence() const {
  return data_ != nullptr && data_->form == Data::Form::kSequence;
}
bool YamlNode::IsMap() const {
  return data_ != nullptr && data_->form == Data::Form::kMap;
}

int YamlNode::line() const {
  return data_ == nullptr ? 0 : data_->line;
}

const std::string& YamlNode::Tag() const {
  static const std::string none;
  return data_ == nullptr ? none : data_->tag;
}

const std::string& YamlNode::Scalar() const {
  static const std::string none;
  return data_ == nullptr ? none : data_->scalar;
}

size_t YamlNode::size() const {
  return data_ == nullptr ? 0 : data_->elements.size() + data_->entries.size();
}

const std::vector<YamlNode::Entry>& YamlNode::entries() const {
  static const std::vector<Entry> none;
  return data_ == nullptr ? none : data_->entries;
}

const std::vector<YamlNode>& YamlNode::elements() const {
  static const std::vector<YamlNode> none;
  return data_ == nullptr ? none : data_->elements;
}

YamlNode YamlNode::operator[](std::string_view key) const {
  if (data_ == nullptr) return {};
  auto found = data_->positions.find(key);
  return found == data_->positions.end() ? YamlNode() : data_->entries[found->second].second;
}

// Makes the tree of what the parser reports, and stops it, by throwing, at the first thing beyond a bound.
// Used only while ReadYaml, below, stands above it to catch that.
class YamlBuilder : public YAML::EventHandler {
 public:
  YamlNode root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (began_) throw YAML::Exception(mark, "a file has one document, and here begins another");
    began_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Begin(mark, Form::kNull, "", anchor);
    End();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Begin(mark, Form::kScalar, tag, anchor);
    open_.back().data->scalar = value;
    End();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(mark, Form::kSequence, tag, anchor);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(mark, Form::kMap, tag, anchor);
  }
  void OnMapEnd() override { End(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto named = anchored_.find(anchor);
    if (named == anchored_.end())
      throw YAML::Exception(mark, "the alias stands within what it is an alias of");
    Count(mark, named->second.data_->nodes, named->second.data_->height);
    Put(mark, named->second);
  }

 private:
  using Form = YamlNode::Data::Form;

  // A node that the parser is still reading the parts of.
  struct Open {
    std::shared_ptr<YamlNode::Data> data;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::optional<YamlNode> key;  // of a map, when its value comes next
    YAML::Mark mark;
  };

  void Count(const YAML::Mark& mark, size_t nodes, int height) {
    nodes_ += nodes;
    if (nodes_ > kNodesMax || static_cast<int>(open_.size()) + height > kDepthMax)
      throw YAML::Exception(mark, "the file is too large or nested too deeply: at most " +
                                      std::to_string(kNodesMax) + " values, " + std::to_string(kDepthMax) +
                                      " deep");
  }

  void Begin(const YAML::Mark& mark, Form form, const std::string& tag, YAML::anchor_t anchor) {
    Count(mark, 1, 0);
    auto data = std::make_shared<YamlNode::Data>();
    data->form = form;
    data->line = mark.line + 1;
    data->tag = tag;
    open_.push_back({std::move(data), anchor, std::nullopt, mark});
  }

  void End() {
    Open done = std::move(open_.back());
    open_.pop_back();
    YamlNode node(std::move(done.data));
    if (done.anchor != YAML::NullAnchor) anchored_[done.anchor] = node;
    Put(done.mark, std::move(node));
  }

  // Gives a finished node to what it stands in.
  void Put(const YAML::Mark& mark, YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    YamlNode::Data& into = *parent.data;
    into.nodes += node.data_->nodes;
    into.height = std::max(into.height, node.data_->height + 1);
    if (into.form == Form::kSequence) {
      into.elements.push_back(std::move(node));
    } else if (!parent.key) {
      if (!node.IsScalar()) throw YAML::Exception(mark, "a key of a map is a text");
      if (!into.positions.emplace(node.Scalar(), into.entries.size()).second)
        throw YAML::Exception(mark, "the key " + node.Scalar() + " stands here twice");
      parent.key = std::move(node);
    } else {
      into.entries.emplace_back(*std::move(parent.key), std::move(node));
      parent.key.reset();
    }
  }

  YamlNode root_;
  bool began_ = false;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  size_t nodes_ = 0;
};

Result<YamlNode> ReadYaml(std::string_view text, const std::string& file) {
  auto bad = [&](int line, const std::string& what) {
    return ValidationError(file + ":" + std::to_string(line + 1) + ": " + what);
  };
  if (text.size() > kFileBytesMax) return bad(0, "the file is larger than 1 MB");
  std::istringstream stream{std::string(text)};
  YamlBuilder builder;
  try {
    // The second call is for a second document, which the builder refuses. More calls need not come to an
    // end: the parser leaves some tokens unread, and reports them as an empty document each time.
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& e) {
    return bad(std::max(e.mark.line, 0), e.msg);
  }
  if (builder.root().IsDefined()) return builder.root();
  builder.OnNull(YAML::Mark(), YAML::NullAnchor);
  return builder.root();
}

Result<YamlNode> ReadYamlFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) return ValidationError(path + ": cannot be read");
  text.resize(static_cast<size_t>(file.gcount()));
  return ReadYaml(text, path);
}

}  // namespace holdfast::model
