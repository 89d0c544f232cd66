// How a request or response describes itself: the list of its fields, each with its wire name and the
// constraints the API puts on it. JSON in and out, constraint checks and their messages, and every generated
// surface are made from these lists; nothing else names a field twice.
//
// A caller of Database needs none of this. A program that shows, logs or translates requests can walk them:
//
//   std::apply([&](const auto&... field) { (Show(field.name, request.*field.member), ...); }, T::Fields());
//
// (skipping Refused, which has a name and no member). A description looks like this:
//
//   struct DeleteRequest {
//     Item key;
//     static constexpr std::string_view kTypeName = "DeleteRequest";
//     static constexpr auto Fields() {
//       return std::tuple(Field("Key", &DeleteRequest::key, {.required = true}));
//     }
//   };
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
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
