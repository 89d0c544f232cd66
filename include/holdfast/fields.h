// How a request or response describes itself: the list of its fields, each with its wire name and the
// constraints the API puts on it. JSON in and out, constraint checks and their messages, and every generated
// surface are made from these lists; nothing else names a field twice.
//
// A caller of Database needs none of this. A program that shows, logs or translates requests can walk them:
//
//   T::Fields().ForEach([&](const auto& field) { Show(field.name, request.*field.member); });
//
// (skipping Refused, which has a name and no member). A description looks like this:
//
//   struct DeleteRequest {
//     Item key;
//     static constexpr std::string_view kTypeName = "DeleteRequest";
//     static constexpr auto Fields() {
//       return FieldList(Field("Key", &DeleteRequest::key, {.required = true}));
//     }
//   };
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace holdfast {

// What kind of table name a field holds. Operations on items accept a name or an ARN and are lenient about
// length; operations on tables are not.
enum class TableNameRule : unsigned char { kNone, kOfItems, kOfTable, kOfNewTable, kArn };

// What the API demands of a value before any operation looks at it.
struct Rules {
  bool required = false;
  int64_t value_min = std::numeric_limits<int64_t>::min();
  int64_t value_max = std::numeric_limits<int64_t>::max();
  int64_t length_min = -1;  // of a string, list or map; -1: any
  int64_t length_max = -1;
  // "[a-zA-Z0-9_.-]+": the one pattern there is. Empty: any text.
  std::string_view pattern = {};
  TableNameRule table_name = TableNameRule::kNone;
  // The wire type is Long rather than Integer; only a message about a wrong type tells them apart.
  bool is_long = false;
  // The violation names the parameter as the wire does and leaves the value out.
  bool terse = false;
};

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
  Rules rules;

  constexpr Field(std::string_view wire_name, Member Struct::*pointer, Rules constraints = {})
      : name(wire_name), member(pointer), rules(constraints) {}
};

// A parameter of the API that this version does not act on. A request that carries it is refused by name.
struct Refused {
  std::string_view name;
};

namespace internal {

template <size_t I, class F>
struct Listed {
  F field;
};

template <class Positions, class... F>
struct Listing;

template <size_t... I, class... F>
struct Listing<std::index_sequence<I...>, F...> : Listed<I, F>... {
  constexpr explicit Listing(const F&... fields) : Listed<I, F>{fields}... {}

  template <class Visit>
  constexpr auto Apply(const Visit& visit) const {
    return visit(Listed<I, F>::field...);
  }
};

}  // namespace internal

// The fields of a struct, in order. It is no std::tuple because there are so many of these lists: as tuples
// they take compilers longer than all the rest of the headers that they stand in.
template <class... F>
class FieldList : private internal::Listing<std::index_sequence_for<F...>, F...> {
 public:
  static constexpr size_t kSize = sizeof...(F);

  constexpr explicit FieldList(const F&... fields)
      : internal::Listing<std::index_sequence_for<F...>, F...>(fields...) {}

  // Returns visit(field, field, …), with all of them.
  using internal::Listing<std::index_sequence_for<F...>, F...>::Apply;

  // Calls visit(field) for one after the other.
  template <class Visit>
  constexpr void ForEach(const Visit& visit) const {
    Apply([&](const auto&... field) { (visit(field), ...); });
  }

  // These, then those of the other list.
  template <class... G>
  constexpr FieldList<F..., G...> operator+(const FieldList<G...>& other) const {
    return Apply([&](const auto&... mine) {
      return other.Apply([&](const auto&... theirs) { return FieldList<F..., G...>(mine..., theirs...); });
    });
  }
};

template <class T>
concept Described = requires {
  T::Fields();
};

// The wire names of an enum, in the order in which DynamoDB lists them when it refuses another:
//   template <> struct EnumNames<KeyType> { static constexpr std::pair<KeyType, std::string_view> kAll[] = …;
//   };
template <class Enum>
struct EnumNames;

template <class Enum>
constexpr std::string_view NameOf(Enum value) {
  for (const auto& [known, name] : EnumNames<Enum>::kAll) {
    if (known == value) return name;
  }
  return {};
}

}  // namespace holdfast
