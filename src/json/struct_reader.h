// Requests from JSON, and responses, by their field lists (holdfast/fields.h).
//
//   Violations violations;
//   HF_TRY(PutItemRequest request, ReadStruct<PutItemRequest>(element, &violations));
//
// Reading reports JSON of the wrong type as a SerializationException at once, and collects what a later check
// must know and a C++ struct cannot hold: required members that were not there, names that are no value of an
// enum. Members the API does not have are ignored; null counts as not there.
//
// Of a list or map that is longer than its rules allow, one element too many is read and no more: enough for
// the check that refuses it. Those without such a rule are bounded together (limits::kRequestElementsMax).
//
// Includes the JSON parser: only files that read requests or responses should include this one.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/field_path.h"
#include "base/limits.h"
#include "base/shown.h"
#include "holdfast/fields.h"
#include "holdfast/ops/common.h"
#include "holdfast/ops/legacy.h"
#include "holdfast/ops/table.h"
#include "json/item_reader.h"

namespace holdfast::json {

class StructReader {
 public:
  explicit StructReader(Violations* violations) : violations_(violations) {}

  template <Described T>
  Status ReadFields(const Element& element, Place place, T* out) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
      if (element.type() == simdjson::dom::element_type::ARRAY) {
        return SerializationError("Unrecognized collection type class com.amazonaws.dynamodb.v20120810." +
                                  std::string(T::kTypeName));
      }
      return SerializationError(place == Place::kField ? "Unexpected field type"
                                                       : "Unexpected value type in payload");
    }
    uint64_t seen = 0;
    for (auto [name, value] : object) {
      if (value.is_null()) continue;
      HF_CHECK_OK(ReadMember(name, value, out, &seen));
    }
    NoteMissing<T>(seen);
    return Ok{};
  }

 private:
  template <class T>
  Status ReadMember(std::string_view name, const Element& value, T* out, uint64_t* seen) {
    static constexpr auto kFields = T::Fields();
    static_assert(kFields.kSize <= 64, "one bit each in *seen");
    Status status = Ok{};
    int position = 0;
    auto read = [&](const auto& field) {
      if (field.name != name) return ++position, false;
      *seen |= uint64_t{1} << position;
      status = ReadField(position, field, value, out);
      return true;
    };
    kFields.Apply([&](const auto&... field) { static_cast<void>((read(field) || ...)); });
    return status;
  }

  template <class S, class M>
  Status ReadField(int position, const Field<S, M>& field, const Element& value, auto* out) {
    path_.Push(position, field.name);
    is_long_ = field.rules.is_long;
    length_max_ = field.rules.length_max;
    Status status = Read(value, Place::kField, &(out->*field.member));
    path_.Pop();
    return status;
  }
  template <class S>
  Status ReadField(int, const Refused& field, const Element&, S*) {
    if (violations_->refused.empty()) violations_->refused = field.name;
    return Ok{};
  }

  template <class T>
  void NoteMissing(uint64_t seen) {
    static constexpr auto kFields = T::Fields();
    int position = 0;
    kFields.ForEach([&](const auto& field) { NoteMissingField(position++, field, seen); });
  }
  template <class S, class M>
  void NoteMissingField(int position, const Field<S, M>& field, uint64_t seen) {
    if (!field.rules.required || (seen >> position & 1) != 0) return;
    path_.Push(position, field.name);
    std::vector<int> place = path_.Place();
    if (violations_->Reports(place, FieldPath::IsAlone(field.rules)))
      violations_->Add(path_.Missing(field.rules));
    // A request whose elements are bounded has no more; one that repeats a name a million times stops
    // counting.
    if (violations_->missing.size() < 4 * limits::kRequestElementsMax)
      violations_->missing.push_back(std::move(place));
    path_.Pop();
  }
  void NoteMissingField(int, const Refused&, uint64_t) {}

  // --- one function per kind of value ---

  Status Read(const Element& element, Place, std::string* out) {
    std::string_view text;
    if (element.get(text) != simdjson::SUCCESS) return WrongJsonType(element, "String");
    out->assign(text);
    return Ok{};
  }

  Status Read(const Element& element, Place, bool* out) {
    HF_TRY(*out, ReadFlag(element));
    return Ok{};
  }

  Status Read(const Element& element, Place, int64_t* out) {
    if (element.get(*out) == simdjson::SUCCESS) return Ok{};
    double fraction = 0;
    if (element.type() == simdjson::dom::element_type::DOUBLE && element.get(fraction) == simdjson::SUCCESS &&
        std::abs(fraction) < 9e18) {
      *out = static_cast<int64_t>(std::floor(fraction));
      return Ok{};
    }
    return WrongJsonType(element, is_long_ ? "Long" : "Integer");
  }

  template <std::floating_point T>
  Status Read(const Element& element, Place, T* out) {
    double value = 0;
    if (element.get(value) != simdjson::SUCCESS) return WrongJsonType(element, "Double");
    *out = static_cast<T>(value);
    return Ok{};
  }

  Status Read(const Element& element, Place place, Timestamp* out) {
    double seconds = 0;
    HF_CHECK_OK(Read(element, place, &seconds));
    out->millis = std::llround(seconds * 1000);
    return Ok{};
  }

  Status Read(const Element& element, Place place, SearchResultItem* out) {
    return Read(element, place, static_cast<Item*>(out));
  }

  Status Read(const Element& element, Place place, Item* out) {
    HF_TRY(*out, ReadItem(element, place));
    return Ok{};
  }

  Status Read(const Element& element, Place, ExpressionValues* out) {
    HF_TRY(*out, ReadExpressionValues(element));
    return Ok{};
  }

  Status Read(const Element& element, Place place, SingleValue* out) {
    HF_TRY(*out, ReadSingleValue(element, place));
    return Ok{};
  }

  Status Read(const Element& element, Place, SearchVector* out) {
    HF_TRY(*out, ReadSearchVector(element));
    return Ok{};
  }

  template <class T>
  Status Read(const Element& element, Place place, std::optional<T>* out) {
    out->emplace();
    return Read(element, place, &**out);
  }

  template <class T>
  Status Read(const Element& element, Place place, std::vector<T>* out) {
    simdjson::dom::array array;
    if (element.get(array) != simdjson::SUCCESS) {
      if (element.type() == simdjson::dom::element_type::OBJECT) {
        return SerializationError("Start of structure or map found where not expected");
      }
      return place == Place::kElement ? NestedCollectionExpected()
                                      : SerializationError("Unexpected field type");
    }
    out->clear();  // a name that comes twice counts once
    size_t read_max = ReadMax();
    out->reserve(std::min({array.size(), read_max, limits::kRequestElementsMax}));
    int position = 0;
    for (Element member : array) {
      if (out->size() == read_max) break;
      if constexpr (!std::is_same_v<T, Item>) HF_CHECK_OK(CountElement());
      out->emplace_back();
      path_.PushElement(position++);
      Status status = Read(member, Place::kElement, &out->back());
      path_.Pop();
      HF_CHECK_OK(std::move(status));
    }
    return Ok{};
  }

  template <class T>
  Status Read(const Element& element, Place, std::map<std::string, T>* out) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
      if (element.type() == simdjson::dom::element_type::ARRAY) {
        return SerializationError("Unrecognized collection type java.util.Map<java.lang.String, " +
                                  JavaType<T>::Name() + ">");
      }
      return SerializationError("Unexpected field type");
    }
    out->clear();
    size_t read_max = ReadMax();
    int position = 0;
    for (auto [name, value] : object) {
      if (value.is_null()) continue;
      if (out->size() == read_max) break;
      HF_CHECK_OK(CountElement());
      path_.PushEntry(position++, name);
      Status status = Read(value, Place::kElement, &(*out)[std::string(name)]);
      path_.Pop();
      HF_CHECK_OK(std::move(status));
    }
    return Ok{};
  }

  template <class E>
  requires std::is_enum_v<E> Status Read(const Element& element, Place, E* out) {
    std::string_view text;
    if (element.get(text) != simdjson::SUCCESS) return WrongJsonType(element, "String");
    for (const auto& [value, name] : EnumNames<E>::kAll) {
      if (name == text) return *out = value, OkStatus();
    }
    if (!violations_->Reports(path_.Place(), /*alone=*/false)) return Ok{};
    std::string known;
    for (const auto& [value, name] : EnumNames<E>::kAll) known.append(known.empty() ? "" : ", ").append(name);
    violations_->Add(path_.NotKept("'" + base::Shown(text) + "'", {},
                                   "Member must satisfy enum value set: [" + known + "]"));
    return Ok{};
  }

  template <Described T>
  Status Read(const Element& element, Place place, T* out) {
    return ReadFields(element, place, out);
  }

  // How many elements of the list or map that begins here are read; its own lists and maps have no such rule.
  size_t ReadMax() {
    int64_t length_max = std::exchange(length_max_, -1);
    return length_max < 0 ? SIZE_MAX : static_cast<size_t>(length_max) + 1;
  }
  Status CountElement() {
    if (++elements_ <= limits::kRequestElementsMax) return Ok{};
    return ValidationError("The lists and maps of a request may have " +
                           std::to_string(limits::kRequestElementsMax) + " elements at most");
  }

  template <class T>
  struct JavaType {
    static std::string Name() {
      if constexpr (std::is_same_v<T, std::string>) {
        return "java.lang.String";
      } else if constexpr (std::is_same_v<T, Item>) {
        return "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>";
      } else {
        return "com.amazonaws.dynamodb.v20120810." + std::string(T::kTypeName);
      }
    }
  };
  template <class T>
  struct JavaType<std::vector<T>> {
    static std::string Name() { return "java.util.List<" + JavaType<T>::Name() + ">"; }
  };

  Violations* const violations_;
  FieldPath path_;
  // Of the field being read.
  bool is_long_ = false;  // how its Java type is called
  int64_t length_max_ = -1;
  size_t elements_ = 0;  // read so far
};

template <Described T>
Result<T> ReadStruct(const Element& element, Violations* violations) {
  T out;
  if (element.type() != simdjson::dom::element_type::OBJECT) return SerializationError({});
  HF_CHECK_OK(StructReader(violations).ReadFields(element, Place::kField, &out));
  return out;
}

}  // namespace holdfast::json
