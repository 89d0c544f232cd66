// The decoder that AWS has before SearchVectors, which is another one than before all other operations: it
// does not take null for absent, it refuses types in words of its own, and it says where.
//
//   invalid type: null, expected a string at line 1 column 40
//   missing field `TableName` at line 1 column 77
#pragma once

#include <string_view>

#include "holdfast/fields.h"
#include "json/item_reader.h"

namespace holdfast::json {

// What a required member must be, in the decoder's words.
struct StrictMember {
  std::string_view name;
  std::string_view expected;  // "a string", "a sequence", "i32"
};

// `text` is what `element` was parsed from.
Status CheckStrictMembers(const Element& element, std::string_view text, const StrictMember* members,
                          size_t count);

template <class T>
constexpr std::string_view StrictType() {
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  if constexpr (std::is_same_v<T, int64_t>) return "i32";
  return "a sequence";
}

// The required members of T, before it is read as others are.
template <Described T>
Status CheckStrict(const Element& element, std::string_view text) {
  static constexpr auto kFields = T::Fields();
  StrictMember members[kFields.kSize];
  size_t count = 0;
  auto add = [&]<class S, class M>(const Field<S, M>& field) {
    if (field.rules.required) members[count++] = {field.name, StrictType<M>()};
  };
  kFields.ForEach(add);
  return CheckStrictMembers(element, text, members, count);
}

}  // namespace holdfast::json
