// What the parser makes of an expression's text: a tree in one vector, names and values still placeholders.
// bind.cc turns placeholders into names and values; the evaluators never look at text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "value/flat.h"

namespace holdfast::expression {

// One step of a document path: an attribute or map key, or a list position.
struct PathStep {
  std::string name;  // empty for a position
  int64_t position = -1;

  bool is_position() const { return position >= 0; }
  friend bool operator==(const PathStep&, const PathStep&) = default;
};
using Path = std::vector<PathStep>;

// "[a, b, [0]]": how DynamoDB prints a path in its messages.
std::string PathText(const Path& path);

// Follows `path` from the top of an item. Empty when it leads nowhere.
std::optional<value::ValueView> Resolve(const Path& path, value::MapView item);

enum class Op : uint8_t {
  // operands
  kPath,
  kValue,
  kFunction,
  kPlus,
  kMinus,
  // conditions
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kBetween,
  kIn,
  kNot,
  kAnd,
  kOr,
};

enum class Function : uint8_t {
  kAttributeExists,
  kAttributeNotExists,
  kAttributeType,
  kBeginsWith,
  kContains,
  kSize,
  kIfNotExists,
  kListAppend,
  kUnknown,
};

using NodeId = uint32_t;

struct Node {
  Op op;
  Function function = Function::kUnknown;
  bool in_parentheses = false;
  bool has_name_placeholder = false;
  std::string_view text;         // function name or :placeholder, in the expression's text
  std::vector<NodeId> operands;  // in order
  Path path;                     // kPath; steps starting with '#' are placeholders until bound
  ByteView value;                // kValue once bound: the flat value, owned by the request
};

struct Tree {
  std::vector<Node> nodes;
  NodeId root = 0;

  const Node& at(NodeId id) const { return nodes[id]; }
};

inline bool IsCondition(const Node& node) {
  return node.op >= Op::kEqual;
}
inline bool IsComparison(const Node& node) {
  return node.op >= Op::kEqual && node.op <= Op::kGreaterEqual;
}

}  // namespace holdfast::expression
