// Where in a request a value stands, and the texts in which AWS reports that something is wrong with it
// there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/fields.h"

namespace holdfast {

// A constraint that was not kept. `order` is the place of the value in the request, field by field, so that
// violations found while reading and those found afterwards come out in one order.
struct Violation {
  std::vector<int> order;
  std::string text;    // "Value '0' at 'limit' failed to satisfy constraint: …"
  bool alone = false;  // reported on its own, whatever else is wrong
  bool plain = false;  // reported as it stands, without "1 validation error detected: "
};

// Texts are kept for those alone that can be reported, as many as there are reports of either kind: a request
// may have a fault in every third byte.
//
//   if (violations.Reports(place, alone)) violations.Add(path.Missing(rules));
struct Violations {
  std::vector<Violation> list;
  std::vector<std::vector<int>> missing;  // the places of all members that were not there, in no order
  std::string_view refused;               // the first parameter this version does not act on; empty: none

  bool empty() const { return list.empty() && refused.empty(); }
  // Whether one at `place` is among the first that there are so far.
  bool Reports(const std::vector<int>& place, bool alone) const;
  // Also forgets the last one, where there are more of its kind than are ever reported.
  void Add(Violation violation);

 private:
  size_t CountOf(bool alone) const;
};

// Built up and taken down while a request is walked:
//   path.Push(2, "KeySchema"); path.PushElement(0); path.Push(1, "KeyType");   →  keySchema.1.member.keyType
// Walking is cheap; texts are made only when something is wrong. Names are not copied: they must outlive the
// walk.
class FieldPath {
 public:
  void Push(int position, std::string_view wire_name) { steps_.push_back({position, wire_name, false}); }
  void PushElement(int position) { steps_.push_back({position, {}, true}); }
  void PushEntry(int position, std::string_view key) { steps_.push_back({position, key, true}); }
  void Pop() { steps_.pop_back(); }

  // "Value … at 'path' failed to satisfy constraint: …". `value` with its quotes, or null.
  Violation NotKept(std::string_view value, const Rules& rules, std::string_view constraint) const;
  Violation Missing(const Rules& rules) const;
  // Violation::order of what stands here.
  std::vector<int> Place() const;
  // Whether a violation of `rules` is one that is reported on its own.
  static bool IsAlone(const Rules& rules) { return rules.table_name != TableNameRule::kNone; }

 private:
  struct Step {
    int position;
    std::string_view name;  // empty: a list element
    bool is_member;
  };
  enum class Case : unsigned char { kCamel, kWire };
  std::string Text(Case letter_case) const;

  std::vector<Step> steps_;
};

}  // namespace holdfast
