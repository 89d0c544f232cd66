// What stands in a template once its functions have been evaluated, and how it becomes a struct: by the
// struct's field list, with everything that does not fit reported where it stands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/fields.h"
#include "model/cloudformation/properties.h"
#include "model/yaml_reader.h"

namespace holdfast::model::cloudformation {

struct Value {
  enum class Kind : unsigned char { kAbsent, kText, kList, kMap };

  Kind kind = Kind::kAbsent;
  Place place;
  std::string text;
  std::vector<Value> children;
  std::string name;  // in a map

  const Value* Find(std::string_view wanted) const {
    for (const Value& child : children) {
      if (child.name == wanted) return &child;
    }
    return nullptr;
  }
};

class PropertyReader {
 public:
  // Where problems go.
  explicit PropertyReader(YamlReader* problems) : problems_(*problems) {}

  template <Described T>
  void Read(const Value& value, const Rules&, T* out) {
    if (!Is(value, Value::Kind::kMap, "should be a map")) return;
    for (const Value& child : value.children) {
      bool known = false;
      auto read = [&]<class S, class M>(const Field<S, M>& field) {
        if (field.name != child.name) return;
        known = true;
        Read(child, field.rules, &(out->*field.member));
      };
      auto refuse = [&](const Refused& refused) {
        if (refused.name != child.name) return;
        known = true;
        problems_.Problem(child.place, "not supported by holdfast (" + std::string(T::kTypeName) + ")");
      };
      static constexpr auto kFields = T::Fields();
      kFields.ForEach([&](const auto& field) { Either(field, read, refuse); });
      if (!known) problems_.Problem(child.place, "no property of " + std::string(T::kTypeName));
    }
    auto note_missing = [&]<class S, class M>(const Field<S, M>& field) {
      if (field.rules.required && value.Find(field.name) == nullptr)
        problems_.Problem(value.place, "has no " + std::string(field.name));
    };
    static constexpr auto kFields = T::Fields();
    kFields.ForEach([&](const auto& field) { Either(field, note_missing, [](const Refused&) {}); });
  }

  void Read(const Value& value, const Rules& rules, TimeToLiveSpecification* out) {
    TimeToLiveProperties read;
    Read(value, rules, &read);
    if (read.enabled && !read.attribute_name) problems_.Problem(value.place, "has no AttributeName");
    *out = {read.attribute_name.value_or(""), read.enabled};
  }
  void Read(const Value& value, const Rules& rules, PointInTimeRecoverySpecification* out) {
    PointInTimeRecoveryProperties read;
    Read(value, rules, &read);
    *out = {read.enabled, read.recovery_period_in_days};
  }
  void Read(const Value& value, const Rules& rules, GlobalSecondaryIndex* out) {
    IndexProperties read;
    Read(value, rules, &read);
    *out = std::move(read);
  }

  template <class T>
  void Read(const Value& value, const Rules& rules, std::optional<T>* out) {
    Read(value, rules, &out->emplace());
  }
  template <class T>
  void Read(const Value& value, const Rules& rules, std::vector<T>* out) {
    if (!Is(value, Value::Kind::kList, "should be a list")) return;
    CheckLength(value, value.children.size(), "elements", rules);
    for (const Value& child : value.children) Read(child, {}, &out->emplace_back());
  }
  void Read(const Value& value, const Rules&, std::map<std::string, std::string>* out) {
    if (!Is(value, Value::Kind::kMap, "should be a map")) return;
    for (const Value& child : value.children) Read(child, {}, &(*out)[child.name]);
  }
  void Read(const Value& value, const Rules& rules, std::string* out) {
    if (!Is(value, Value::Kind::kText, "should be a text")) return;
    CheckLength(value, value.text.size(), "characters", rules);
    *out = value.text;
  }
  // CloudFormation takes flags and numbers that are written as texts.
  void Read(const Value& value, const Rules& rules, bool* out) {
    *out = value.text == "true" || value.text == "True";
    if (!*out && value.text != "false" && value.text != "False")
      problems_.Problem(value.place, "should be true or false");
    if (*out && rules.value_max == 0)
      problems_.Problem(value.place, "not supported by holdfast, and may only be false");
  }
  void Read(const Value& value, const Rules& rules, int64_t* out) {
    auto number = value::Number::Parse(value.text);
    if (value.kind != Value::Kind::kText || !number || !number->ToInt64(out))
      return problems_.Problem(value.place, "should be a whole number");
    if (*out < rules.value_min)
      problems_.Problem(value.place, "should be at least " + std::to_string(rules.value_min));
    if (*out > rules.value_max)
      problems_.Problem(value.place, "should be at most " + std::to_string(rules.value_max));
  }
  template <class E>
  requires std::is_enum_v<E>
  void Read(const Value& value, const Rules&, E* out) {
    std::string known;
    for (const auto& [one, name] : EnumNames<E>::kAll) {
      if (name == value.text) {
        *out = one;
        return;
      }
      known.append(known.empty() ? "" : ", ").append(name);
    }
    problems_.Problem(value.place, "should be one of " + known);
  }

 private:
  template <class S, class M, class Known, class Unknown>
  static void Either(const Field<S, M>& field, const Known& known, const Unknown&) {
    known(field);
  }
  template <class Known, class Unknown>
  static void Either(const Refused& refused, const Known&, const Unknown& unknown) {
    unknown(refused);
  }

  bool Is(const Value& value, Value::Kind kind, const char* otherwise) {
    if (value.kind != kind) problems_.Problem(value.place, otherwise);
    return value.kind == kind;
  }
  void CheckLength(const Value& value, size_t length, const char* of, const Rules& rules) {
    auto off = [&](const char* bound, int64_t limit) {
      problems_.Problem(value.place,
                        std::string("should have at ") + bound + " " + std::to_string(limit) + " " + of);
    };
    if (rules.length_min >= 0 && static_cast<int64_t>(length) < rules.length_min)
      off("least", rules.length_min);
    if (rules.length_max >= 0 && static_cast<int64_t>(length) > rules.length_max)
      off("most", rules.length_max);
  }

  YamlReader& problems_;
};

}  // namespace holdfast::model::cloudformation
