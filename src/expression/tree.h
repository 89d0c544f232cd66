// What the parser makes of an expression's text: a tree in one vector, names and values still placeholders.
// bind.cc turns placeholders into names and values; the evaluators never look at text.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_meter.h"
#include "value/flat.h"

namespace holdfast::expression {

// One step of a document path: an attribute or map key, or a list position.
struct PathStep {
  // Empty for a position. In the expression's text or the request's map of names, neither of which it may
  // outlive: 4 KB of text can name an attribute of 64 KB a thousand times.
  std::string_view name;
  int64_t position = -1;

  bool is_position() const { return position >= 0; }
  friend bool operator==(const PathStep&, const PathStep&) = default;
};
using Path = std::vector<PathStep>;

// "[a, b, [0]]": how DynamoDB prints a path in its messages.
std::string PathText(const Path& path);

// What it comes to to look `name` up in a map of so many entries: the names that a binary search compares.
inline size_t FindCost(std::string_view name, size_t entries) {
  return base::WorkMeter::kStepBytes + static_cast<size_t>(std::bit_width(entries)) * (name.size() + 4);
}

// Follows `path` from the top of an item. Empty when it leads nowhere.
std::optional<value::ValueView> Resolve(const Path& path, value::MapView item, base::WorkMeter* work);

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
