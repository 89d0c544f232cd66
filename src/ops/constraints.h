// The constraints of the field lists, checked, and worded as AWS words them:
//   2 validation errors detected: Value 'x' at 'select' failed to satisfy constraint: Member must satisfy …;
//   Value …
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/field_path.h"
#include "base/limits.h"
#include "base/shown.h"
#include "holdfast/fields.h"
#include "holdfast/ops/search_vectors.h"
#include "holdfast/ops/table.h"
#include "holdfast/result.h"
#include "holdfast/value.h"

namespace holdfast::ops {

// The error for a set of violations; OK for none.
Status ToStatus(Violations violations);

// Number of characters (not bytes): what length constraints count.
size_t CharacterCount(std::string_view text);

// How a value looks inside a message: Java's toString, of a large value its beginning.
template <class T>
std::string JavaText(const T& value);

// The parts of that. What is appended is cut in the end, so nothing needs to follow once there is enough.
inline bool HasEnough(const std::string& text) {
  return text.size() > limits::kShownBytesMax;
}
void AppendJavaText(std::string_view value, std::string* out);
void AppendJavaText(const Item& value, std::string* out);
inline void AppendJavaText(int64_t value, std::string* out) {
  out->append(std::to_string(value));
}
inline void AppendJavaText(bool value, std::string* out) {
  out->append(value ? "true" : "false");
}
template <class E>
requires std::is_enum_v<E>
void AppendJavaText(E value, std::string* out) {
  out->append(NameOf(value));
}
template <Described T>
void AppendJavaText(const T& value, std::string* out);
template <class T>
void AppendJavaText(const std::map<std::string, T>& values, std::string* out);
template <class T>
void AppendJavaText(const std::vector<T>& values, std::string* out);
template <class T>
void AppendJavaText(const std::optional<T>& value, std::string* out) {
  if (!value) return static_cast<void>(out->append("null"));
  AppendJavaText(*value, out);
}
template <class T>
void AppendJavaText(const std::vector<T>& values, std::string* out) {
  out->push_back('[');
  for (const T& value : values) {
    if (HasEnough(*out)) return;
    if (&value != values.data()) out->append(", ");
    AppendJavaText(value, out);
  }
  out->push_back(']');
}
template <class T>
void AppendJavaText(const std::map<std::string, T>& values, std::string* out) {
  out->push_back('{');
  for (const auto& entry : values) {
    if (HasEnough(*out)) return;
    if (&entry != &*values.begin()) out->append(", ");
    AppendJavaText(std::string_view(entry.first), out);
    out->push_back('=');
    AppendJavaText(entry.second, out);
  }
  out->push_back('}');
}
template <Described T>
void AppendJavaText(const T& value, std::string* out) {
  out->append(T::kTypeName).push_back('(');
  bool first = true;
  auto add = [&](const auto& field) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, Refused>) {
      if (HasEnough(*out)) return;
      if (!std::exchange(first, false)) out->append(", ");
      std::string name(field.name);
      name[0] = static_cast<char>(name[0] >= 'A' && name[0] <= 'Z' ? name[0] - 'A' + 'a' : name[0]);
      out->append(name).push_back('=');
      AppendJavaText(value.*field.member, out);
    }
  };
  static constexpr auto kFields = T::Fields();
  kFields.ForEach(add);
  out->push_back(')');
}
template <class T>
std::string JavaText(const T& value) {
  std::string text;
  AppendJavaText(value, &text);
  return base::Shown(text);
}

class ConstraintChecker {
 public:
  // `found` are the violations noticed while the request was read. A member that was missing has a default
  // value now: what that breaks was reported as missing already.
  ConstraintChecker(const Violations& found, Violations* violations)
      : missing_(found.missing), violations_(violations) {
    std::sort(missing_.begin(), missing_.end());
  }

  template <Described T>
  void CheckStruct(const T& value) {
    static constexpr auto kFields = T::Fields();
    int position = 0;
    kFields.ForEach([&](const auto& field) { CheckField(field, value, position++); });
  }

 private:
  template <class S, class M>
  void CheckField(const Field<S, M>& field, const auto& value, int position) {
    path_.Push(position, field.name);
    Check(value.*field.member, field.rules);
    path_.Pop();
  }
  template <class S>
  void CheckField(const Refused&, const S&, int) {}

  void Check(const std::string& text, const Rules& rules) {
    bool is_name = rules.table_name != TableNameRule::kNone && rules.table_name != TableNameRule::kArn;
    if (is_name) return CheckTableName(text, rules);
    CheckPattern(text, rules);
    CheckLength(
        CharacterCount(text), [&] { return Quoted(text); }, rules);
  }
  void Check(int64_t number, const Rules& rules) {
    if (number < rules.value_min) {
      Add([&] { return Quoted(std::to_string(number)); }, rules,
          "Member must have value greater than or equal to " + std::to_string(rules.value_min));
    }
    if (number > rules.value_max) {
      Add([&] { return Quoted(std::to_string(number)); }, rules,
          "Member must have value less than or equal to " + std::to_string(rules.value_max));
    }
  }
  void Check(bool, const Rules&) {}
  void Check(double, const Rules&) {}
  void Check(const Timestamp&, const Rules&) {}
  void Check(const Item&, const Rules&) {}
  template <class E>
  requires std::is_enum_v<E>
  void Check(E, const Rules&) {}
  void Check(const SearchVector& vector, const Rules& rules) {
    CheckLength(
        vector.size(), [] { return std::string(); }, rules);
  }
  template <class T>
  void Check(const std::optional<T>& value, const Rules& rules) {
    if (value) Check(*value, rules);
  }
  template <class T>
  void Check(const std::vector<T>& values, const Rules& rules) {
    CheckLength(
        values.size(), [&] { return Quoted(JavaText(values)); }, rules);
    if constexpr (Described<T>) {
      for (size_t i = 0; i < values.size(); ++i) {
        path_.PushElement(static_cast<int>(i));
        CheckStruct(values[i]);
        path_.Pop();
      }
    }
  }
  template <class T>
  void Check(const std::map<std::string, T>& values, const Rules& rules) {
    CheckLength(
        values.size(), [&] { return Quoted(JavaText(values)); }, rules);
    if constexpr (Described<T>) {
      int position = 0;
      for (const auto& [key, value] : values) {
        path_.PushEntry(position++, key);
        CheckStruct(value);
        path_.Pop();
      }
    }
  }
  template <Described T>
  void Check(const T& value, const Rules&) {
    CheckStruct(value);
  }

  static std::string Quoted(std::string_view text) { return "'" + base::Shown(text) + "'"; }
  void CheckPattern(const std::string& text, const Rules& rules);
  void CheckTableName(const std::string& name, const Rules& rules);
  template <class Text>
  void CheckLength(size_t length, const Text& text, const Rules& rules) {
    if (rules.length_min >= 0 && static_cast<int64_t>(length) < rules.length_min) {
      Add(text, rules,
          "Member must have length greater than or equal to " + std::to_string(rules.length_min));
    }
    if (rules.length_max >= 0 && static_cast<int64_t>(length) > rules.length_max) {
      Add(text, rules, "Member must have length less than or equal to " + std::to_string(rules.length_max));
    }
  }
  // `value()` is how the value is shown.
  template <class Value>
  void Add(const Value& value, const Rules& rules, std::string_view constraint) {
    std::vector<int> place = path_.Place();
    if (violations_->Reports(place, FieldPath::IsAlone(rules)) && !IsMissing(std::move(place)))
      violations_->Add(path_.NotKept(value(), rules, constraint));
  }
  // Whether what stands at `place`, or what that is part of, was not there.
  bool IsMissing(std::vector<int> place) const {
    for (; !missing_.empty() && !place.empty(); place.pop_back()) {
      if (std::binary_search(missing_.begin(), missing_.end(), place)) return true;
    }
    return false;
  }

  std::vector<std::vector<int>> missing_;  // sorted
  Violations* const violations_;
  FieldPath path_;
};

// `found` are the violations noticed while the request was read.
template <Described T>
Status CheckConstraints(const T& request, const Violations& found) {
  Violations all;
  ConstraintChecker(found, &all).CheckStruct(request);
  if (all.list.empty() && found.empty()) return Ok{};
  all.list.insert(all.list.end(), found.list.begin(), found.list.end());
  all.refused = found.refused;
  return ToStatus(std::move(all));
}

}  // namespace holdfast::ops
