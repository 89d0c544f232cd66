// The constraints of the field lists, checked, and worded as AWS words them:
//   2 validation errors detected: Value 'x' at 'select' failed to satisfy constraint: Member must satisfy …;
//   Value …
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/field_path.h"
#include "holdfast/fields.h"
#include "holdfast/ops/search_vectors.h"
#include "holdfast/ops/table.h"
#include "holdfast/result.h"
#include "holdfast/value.h"

namespace holdfast::ops {

// The error for a set of violations; OK for none.
Status ToStatus(Violations violations);

// What is wrong with a table name, under the rule for its kind of operation.
void CheckTableName(const FieldPath& path, const Rules& rules, const std::string& name,
                    Violations* violations);

// Number of characters (not bytes): what length constraints count.
size_t CharacterCount(std::string_view text);

// How a value looks inside a message: Java's toString.
inline std::string JavaText(const std::string& value) {
  return value;
}
inline std::string JavaText(int64_t value) {
  return std::to_string(value);
}
inline std::string JavaText(bool value) {
  return value ? "true" : "false";
}
std::string JavaText(const Item& value);
template <class E>
requires std::is_enum_v<E> std::string JavaText(E value) {
  return std::string(NameOf(value));
}
template <Described T>
std::string JavaText(const T& value);
template <class T>
std::string JavaText(const std::map<std::string, T>& values);
template <class T>
std::string JavaText(const std::vector<T>& values);
template <class T>
std::string JavaText(const std::optional<T>& value) {
  return value ? JavaText(*value) : "null";
}
template <class T>
std::string JavaText(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text.append(text.size() > 1 ? ", " : "").append(JavaText(value));
  return text + "]";
}
template <class T>
std::string JavaText(const std::map<std::string, T>& values) {
  std::string text = "{";
  for (const auto& [key, value] : values) {
    text.append(text.size() > 1 ? ", " : "").append(key).append("=").append(JavaText(value));
  }
  return text + "}";
}
template <Described T>
std::string JavaText(const T& value) {
  std::string text(T::kTypeName);
  text += "(";
  bool first = true;
  auto add = [&](const auto& field) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, Refused>) {
      if (!std::exchange(first, false)) text += ", ";
      std::string name(field.name);
      name[0] = static_cast<char>(name[0] >= 'A' && name[0] <= 'Z' ? name[0] - 'A' + 'a' : name[0]);
      text.append(name).append("=").append(JavaText(value.*field.member));
    }
  };
  static constexpr auto kFields = T::Fields();
  kFields.ForEach(add);
  return text + ")";
}

class ConstraintChecker {
 public:
  explicit ConstraintChecker(Violations* violations) : violations_(violations) {}

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
    if (is_name) return CheckTableName(path_, rules, text, violations_);
    CheckPattern(text, rules);
    CheckLength(
        CharacterCount(text), [&] { return "'" + text + "'"; }, rules);
  }
  void Check(int64_t number, const Rules& rules) {
    if (number < rules.value_min) {
      Add("'" + std::to_string(number) + "'", rules,
          "Member must have value greater than or equal to " + std::to_string(rules.value_min));
    }
    if (number > rules.value_max) {
      Add("'" + std::to_string(number) + "'", rules,
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
        values.size(), [&] { return "'" + JavaText(values) + "'"; }, rules);
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
        values.size(), [&] { return "'" + JavaText(values) + "'"; }, rules);
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

  void CheckPattern(const std::string& text, const Rules& rules);
  template <class Text>
  void CheckLength(size_t length, const Text& text, const Rules& rules) {
    if (rules.length_min >= 0 && static_cast<int64_t>(length) < rules.length_min) {
      Add(text(), rules,
          "Member must have length greater than or equal to " + std::to_string(rules.length_min));
    }
    if (rules.length_max >= 0 && static_cast<int64_t>(length) > rules.length_max) {
      Add(text(), rules, "Member must have length less than or equal to " + std::to_string(rules.length_max));
    }
  }
  void Add(const std::string& value, const Rules& rules, const std::string& constraint) {
    violations_->list.push_back(path_.NotKept(value, rules, constraint));
  }

  Violations* const violations_;
  FieldPath path_;
};

// `found` are the violations noticed while the request was read.
template <Described T>
Status CheckConstraints(const T& request, const Violations& found) {
  Violations all;
  ConstraintChecker(&all).CheckStruct(request);
  if (all.list.empty() && found.empty()) return Ok{};
  // A member that was missing has a default value here: what that breaks was reported as missing already.
  std::erase_if(all.list, [&](const Violation& violation) {
    return std::any_of(found.list.begin(), found.list.end(), [&](const Violation& missing) {
      return missing.order.size() <= violation.order.size() &&
             std::equal(missing.order.begin(), missing.order.end(), violation.order.begin());
    });
  });
  all.list.insert(all.list.end(), found.list.begin(), found.list.end());
  all.refused = found.refused;
  return ToStatus(std::move(all));
}

}  // namespace holdfast::ops
