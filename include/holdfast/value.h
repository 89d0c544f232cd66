// AttributeValue and Item: DynamoDB's data, for C++ callers.
//
//   Item song{{"Artist", "Acme Band"}, {"Year", 2024}, {"Score", 0.5}, {"Live", true}};
//   song.Set("Genres", AttributeValue::StringSet({"pop", "folk"}));
//   song.Set("Length", AttributeValue::Number("247.30"));  // a number of up to 38 digits, as text
//   if (std::optional<AttributeValue> year = song.Get("Year")) Use(year->AsInt64());
//
// An Item owns one contiguous buffer in the form that the database stores (docs/format.md), so reading an
// item and writing it back copies bytes and parses nothing. AttributeValue is a convenience built on demand:
// Get gives a copy that lives on its own, and changing it does not change the item.
//
// Errors: building never fails on the spot. An item made from something DynamoDB has no place for (a text
// that is no number, an empty set, too deep a nesting) says so in defect(), and every operation that is given
// it refuses it in the same words.
//
// Thread safety: const methods may be called concurrently; a writer needs the object to itself. Copies share
// nothing that changes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/result.h"

namespace holdfast {

class AttributeValue;
using AttributeMap = std::map<std::string, AttributeValue, std::less<>>;

// The C++ integers that are numbers: bool has a type of its own, and a char is more likely meant as text.
template <class T>
concept NumberLike =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// One of DynamoDB's ten types. Numbers are kept as text and lose nothing; a text that is no number is noticed
// when the value enters an Item.
class HOLDFAST_EXPORT AttributeValue {
 public:
  // Stored on disk as the tag byte of a value: never renumber.
  enum class Type : unsigned char {
    kNull = 0,
    kFalse = 1,  // BOOL has two tags and no payload
    kTrue = 2,
    kNumber = 3,
    kString = 4,
    kBinary = 5,
    kStringSet = 6,
    kNumberSet = 7,
    kBinarySet = 8,
    kList = 9,
    kMap = 10,
  };

  // Only what says its type converts by itself: a pointer is no bool, and a char is no number.
  AttributeValue() = default;                                                                    // NULL
  AttributeValue(std::nullptr_t) {}                                                              // NOLINT
  AttributeValue(std::same_as<bool> auto value) : type_(value ? Type::kTrue : Type::kFalse) {}   // NOLINT
  AttributeValue(const char* text) : type_(Type::kString), data_(std::string(text)) {}           // NOLINT
  AttributeValue(std::string text) : type_(Type::kString), data_(std::move(text)) {}             // NOLINT
  AttributeValue(std::string_view text) : type_(Type::kString), data_(std::string(text)) {}      // NOLINT
  AttributeValue(NumberLike auto value) : type_(Type::kNumber), data_(std::to_string(value)) {}  // NOLINT
  AttributeValue(std::same_as<double> auto value) : AttributeValue(Number(value)) {}             // NOLINT

  static AttributeValue Number(std::string text) { return {Type::kNumber, std::move(text)}; }
  // The shortest decimal that reads back as `value`. NaN and infinities are no DynamoDB numbers.
  static AttributeValue Number(double value);
  static AttributeValue Binary(std::string bytes) { return {Type::kBinary, std::move(bytes)}; }
  static AttributeValue StringSet(std::vector<std::string> members) {
    return {Type::kStringSet, std::move(members)};
  }
  static AttributeValue NumberSet(std::vector<std::string> members) {
    return {Type::kNumberSet, std::move(members)};
  }
  static AttributeValue BinarySet(std::vector<std::string> members) {
    return {Type::kBinarySet, std::move(members)};
  }
  static AttributeValue List(std::vector<AttributeValue> elements);
  static AttributeValue Map(AttributeMap entries);

  Type type() const { return type_; }
  bool is_null() const { return type_ == Type::kNull; }

  // What the value holds. A stored item may hold any type under any name, so these never throw: where the
  // value has another type they return false, an empty text, set, list or map, or 0. Check type() where that
  // would be mistaken for data. References are valid as long as this value.
  bool AsBool() const { return type_ == Type::kTrue; }
  // S, B, and N (canonical when it comes from the database).
  const std::string& AsText() const;
  const std::vector<std::string>& AsSet() const;
  const std::vector<AttributeValue>& AsList() const;
  const AttributeMap& AsMap() const;
  // Empty unless this is a number without a fraction that fits.
  std::optional<int64_t> AsInt64() const;
  // The nearest double.
  double AsDouble() const;

  // Sets compare as sets, numbers as numbers: what DynamoDB calls equal.
  friend HOLDFAST_EXPORT bool operator==(const AttributeValue& a, const AttributeValue& b);

 private:
  using Data =
      std::variant<std::monostate, std::string, std::vector<std::string>,
                   std::shared_ptr<const std::vector<AttributeValue>>, std::shared_ptr<const AttributeMap>>;
  AttributeValue(Type type, Data data) : type_(type), data_(std::move(data)) {}

  Type type_ = Type::kNull;
  Data data_;
};

// Attributes by name, with nothing said about keys: what PutItem stores, what names a key, what reads return.
class HOLDFAST_EXPORT Item {
 public:
  Item();
  Item(std::initializer_list<std::pair<std::string_view, AttributeValue>> attributes);
  explicit Item(const AttributeMap& attributes);
  // Adopts bytes in the stored form. Requires: they came from flat() or from the database.
  static Item FromFlat(std::string bytes);
  // An item that could not be built. Operations that are given it answer `why` and change nothing.
  // `flat` may hold what could be read of it.
  static Item Defective(Error why, std::string flat = {});

  // How many attributes there are. SizeBytes() is what they weigh.
  size_t size() const;
  bool empty() const { return size() == 0; }
  bool Has(std::string_view name) const;
  // Empty when there is no such attribute.
  std::optional<AttributeValue> Get(std::string_view name) const;
  // Adds or replaces one attribute. Linear in the size of the item.
  void Set(std::string_view name, const AttributeValue& value);
  // Removing what is not there does nothing. Linear in the size of the item.
  void Remove(std::string_view name);
  AttributeMap ToMap() const;

  // What DynamoDB would charge for: names and values by its exact size rule.
  size_t SizeBytes() const;
  // The stored form. Valid until the item changes.
  std::string_view flat() const { return flat_; }
  std::string TakeFlat() && { return std::move(flat_); }
  // Null when the item is sound.
  const Error* defect() const { return defect_.get(); }

  // The same attributes with equal values, whatever the order in which they were set.
  friend bool operator==(const Item& a, const Item& b) { return a.flat_ == b.flat_; }

 private:
  std::string flat_;  // always a well-formed map; equal items have equal bytes
  std::shared_ptr<const Error> defect_;
};

}  // namespace holdfast
