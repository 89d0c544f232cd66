#include "json/item_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/base64.h"
#include "base/limits.h"

namespace holdfast::json {
namespace {

using simdjson::dom::element_type;
using value::FlatWriter;
using value::Type;

constexpr std::string_view kAttributeValueClass = "com.amazonaws.dynamodb.v20120810.AttributeValue";

// Reads one item; reports the first shape error by return, keeps the first defect. What is larger than any
// item may be is a defect as soon as that is certain: from there on nothing is kept of it.
class Reader {
 public:
  explicit Reader(FlatWriter* writer, size_t bytes_max = limits::kFlatItemBytesMax)
      : writer_(writer), bytes_max_(bytes_max) {}

  Status ReadMap(const Element& element, int depth) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
      if (element.type() == element_type::ARRAY) {
        return SerializationError("Unrecognized collection type java.util.Map<java.lang.String, " +
                                  std::string(kAttributeValueClass) + ">");
      }
      return SerializationError("Unexpected field type");
    }
    if (sound()) writer_->BeginMap();
    for (auto [name, value] : object) {
      if (value.is_null()) continue;
      if (name.size() > limits::kAttributeNameBytesMax) {
        Spoil(ValidationError(
            "One or more parameter values were invalid: Attribute name is too large, must be less "
            "than 65536 bytes"));
      }
      if (name.empty()) {
        Spoil(ValidationError("One or more parameter values were invalid: Empty attribute name"));
      }
      CheckSize(0);
      if (sound()) writer_->Name(name);
      HF_CHECK_OK(ReadValue(value, depth));
      if (!sound() && depth == 1 && spoiled_name_.empty()) spoiled_name_ = name;
    }
    if (sound()) writer_->EndMap();
    return Ok{};
  }

  Status ReadSingle(const Element& element) {
    writer_->BeginMap();
    writer_->Name("");
    HF_CHECK_OK(ReadValue(element, 1));
    if (sound()) writer_->EndMap();
    return Ok{};
  }

  bool sound() const { return !defect_; }
  const std::optional<Error>& defect() const { return defect_; }
  // The top-level attribute in which the defect was found.
  std::string_view spoiled_name() const { return spoiled_name_; }

 private:
  void Spoil(Error why) {
    if (!defect_) defect_ = std::move(why);
  }
  // `more` bytes are about to be written.
  void CheckSize(size_t more) {
    if (writer_->bytes() + more <= bytes_max_) [[likely]]
      return;
    Spoil(value::ItemTooLarge());
  }

  Status ReadValue(const Element& element, int depth) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
      if (element.type() == element_type::ARRAY) {
        return SerializationError("Unrecognized collection type class " + std::string(kAttributeValueClass));
      }
      return SerializationError("Unexpected value type in payload");
    }
    if (depth > limits::kDocumentDepthMax) {
      Spoil(value::NestingTooDeep());
      return Ok{};
    }
    int types = 0;
    for (auto [type, content] : object) {
      if (content.is_null()) continue;
      HF_TRY(bool known, ReadContent(type, content, depth, types == 0));
      if (known) ++types;
    }
    if (types == 0) {
      Spoil(ValidationError(
          "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"));
    } else if (types > 1) {
      Spoil(
          ValidationError("Supplied AttributeValue has more than one datatypes set, must contain exactly one "
                          "of the supported "
                          "datatypes"));
    }
    return Ok{};
  }

  // Returns false for a member that is no type of DynamoDB's. A second type is checked but not written.
  Result<bool> ReadContent(std::string_view type, const Element& content, int depth, bool write) {
    if (type == "S") return ReadScalar(Type::kString, content, write);
    if (type == "N") return ReadScalar(Type::kNumber, content, write);
    if (type == "B") return ReadBinary(content, write);
    if (type == "M") return ReadContainer(Type::kMap, content, depth, write);
    if (type == "L") return ReadContainer(Type::kList, content, depth, write);
    if (type == "BOOL" || type == "NULL") return ReadBoolean(type == "NULL", content, write);
    if (type == "SS") return ReadSet(Type::kStringSet, content, write);
    if (type == "NS") return ReadSet(Type::kNumberSet, content, write);
    if (type == "BS") return ReadSet(Type::kBinarySet, content, write);
    return false;
  }

  Result<bool> ReadScalar(Type type, const Element& content, bool write) {
    std::string_view text;
    if (content.get(text) != simdjson::SUCCESS) return WrongJsonType(content, "String");
    if (type == Type::kString) {
      CheckSize(text.size());
      if (sound() && write) writer_->String(text);
      return true;
    }
    Result<value::Number> number = value::Number::Parse(text);
    if (!number) {
      Spoil(number.error());
    } else if (sound() && write) {
      writer_->Number(*number);
    }
    return true;
  }

  Result<bool> ReadBinary(const Element& content, bool write) {
    std::string bytes;
    HF_CHECK_OK(DecodeBinary(content, &bytes));
    CheckSize(bytes.size());
    if (sound() && write) writer_->Binary(bytes);
    return true;
  }

  Result<bool> ReadBoolean(bool is_null, const Element& content, bool write) {
    HF_TRY(bool flag, ReadFlag(content));
    if (is_null && !flag) {
      Spoil(
          RequestError("One or more parameter values were invalid: Null attribute value types must have the "
                       "value of true"));
    } else if (sound() && write) {
      is_null ? writer_->Null() : writer_->Bool(flag);
    }
    return true;
  }

  Result<bool> ReadSet(Type type, const Element& content, bool write) {
    simdjson::dom::array array;
    if (content.get(array) != simdjson::SUCCESS) return WrongCollection(content);
    std::vector<std::string> decoded;  // keeps the bytes of a binary set
    std::vector<ByteView> members;
    bool keeps = sound() && write;
    size_t bytes = 0;
    for (Element member : array) {
      if (type == Type::kBinarySet) {
        std::string one;
        HF_CHECK_OK(DecodeBinary(member, &one));
        bytes += one.size() + 1;
        if (keeps) decoded.push_back(std::move(one));
      } else {
        std::string_view text;
        if (member.get(text) != simdjson::SUCCESS) return WrongJsonType(member, "String");
        bytes += text.size() + 1;
        if (keeps) members.push_back(text);
      }
      // Members are sorted: not before it is known that they can be of an item.
      if (!keeps || bytes <= bytes_max_) continue;
      Spoil(value::ItemTooLarge());
      keeps = false;
    }
    if (!keeps) return true;
    members.insert(members.end(), decoded.begin(), decoded.end());
    if (Status written = value::WriteSet(type, members, writer_); !written) Spoil(written.error());
    return true;
  }

  Result<bool> ReadContainer(Type type, const Element& content, int depth, bool write) {
    if (!write) return true;
    if (type == Type::kMap) {
      HF_CHECK_OK(ReadMap(content, depth + 1));
      return true;
    }
    simdjson::dom::array array;
    if (content.get(array) != simdjson::SUCCESS) return WrongCollection(content);
    if (sound()) writer_->BeginList();
    for (Element element : array) {
      CheckSize(0);
      HF_CHECK_OK(ReadValue(element, depth + 1));
    }
    if (sound()) writer_->EndList();
    return true;
  }

  static Error WrongCollection(const Element& content) {
    if (content.type() == element_type::OBJECT) {
      return SerializationError("Start of structure or map found where not expected");
    }
    return SerializationError("Unexpected field type");
  }

  static Status DecodeBinary(const Element& content, std::string* bytes) {
    std::string_view text;
    if (content.get(text) != simdjson::SUCCESS) {
      switch (content.type()) {
        case element_type::ARRAY:
          return SerializationError("Unrecognized collection type class java.nio.ByteBuffer");
        case element_type::OBJECT:
          return SerializationError("Start of structure or map found where not expected");
        default: return SerializationError("only base-64-encoded strings are convertible to bytes");
      }
    }
    if (text.size() % 4 != 0) {
      return SerializationError("Base64 encoded length is expected a multiple of 4 bytes but found: " +
                                std::to_string(text.size()));
    }
    if (!base::DecodeBase64(text, bytes)) {
      return SerializationError("Invalid last non-pad Base64 character dectected");
    }
    return Ok{};
  }

  FlatWriter* const writer_;
  const size_t bytes_max_;
  std::optional<Error> defect_;
  std::string_view spoiled_name_;
};

FlatWriter* ThreadWriter() {
  thread_local FlatWriter writer;
  writer.Clear();
  return &writer;
}

// Digits and perhaps a fraction, too few for any limit of DynamoDB's: what embeddings are made of.
bool IsPlainNumber(std::string_view text) {
  constexpr size_t kPlainMax = 32;
  if (text.starts_with('-')) text.remove_prefix(1);
  size_t point = std::min(text.find('.'), text.size());
  auto digits = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return text.size() <= kPlainMax && digits(text.substr(0, point)) &&
         (point == text.size() || digits(text.substr(point + 1)));
}

// {"N":"0.1"} to the nearest float. False for what is no number of DynamoDB's or too large for a float.
bool ReadFloat(const Element& element, float* out) {
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return false;
  std::string_view text;
  bool found = false;
  for (auto [type, content] : object) {
    if (content.is_null()) continue;
    if (found || type != "N" || content.get(text) != simdjson::SUCCESS) return false;
    found = true;
  }
  if (!found) return false;
  if (IsPlainNumber(text)) {
    return std::from_chars(text.data(), text.data() + text.size(), *out).ec == std::errc();
  }
  Result<value::Number> number = value::Number::Parse(text);
  if (!number) return false;
  std::string encoded;
  number->Encode(&encoded);
  *out = value::NearestFloat(encoded);
  return std::isfinite(*out);
}

}  // namespace

Result<bool> ReadFlag(const Element& element) {
  bool flag = false;
  if (element.get(flag) == simdjson::SUCCESS) return flag;
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return WrongJsonType(element, "Boolean");
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper == "TRUE" || upper == "1" || upper == "YES") return true;
  if (upper == "FALSE" || upper == "0" || upper == "NO") return false;
  return SerializationError("Unexpected token received from parser");
}

Error NestedCollectionExpected() {
  return SerializationError(
      "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
      "java.lang.Class "
      "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module "
      "java.base of "
      "loader 'bootstrap')");
}

Error SerializationError(std::string message) {
  return Error(ErrorCode::kSerialization, std::move(message));
}

Error WrongJsonType(const Element& element, std::string_view java_type) {
  std::string type(java_type);
  switch (element.type()) {
    case element_type::BOOL: {
      bool value = element.get_bool().value_unsafe();
      return SerializationError(std::string(value ? "TRUE_VALUE" : "FALSE_VALUE") +
                                " cannot be converted to " + type);
    }
    case element_type::INT64:
    case element_type::UINT64: return SerializationError("NUMBER_VALUE cannot be converted to " + type);
    case element_type::DOUBLE: return SerializationError("DECIMAL_VALUE cannot be converted to " + type);
    case element_type::STRING: return SerializationError("STRING_VALUE cannot be converted to " + type);
    case element_type::ARRAY:
      return SerializationError("Unrecognized collection type class java.lang." + type);
    default: return SerializationError("Start of structure or map found where not expected");
  }
}

Result<Item> ReadItem(const Element& element, Place place) {
  bool collection = element.type() == element_type::OBJECT || element.type() == element_type::ARRAY;
  if (place == Place::kElement && !collection) return NestedCollectionExpected();
  FlatWriter* writer = ThreadWriter();
  Reader reader(writer);
  HF_CHECK_OK(reader.ReadMap(element, 1));
  if (!reader.sound()) return Item::Defective(*reader.defect());
  return Item::FromFlat(writer->TakeMap());
}

Result<Item> ReadSingleValue(const Element& element, Place place) {
  bool collection = element.type() == element_type::OBJECT || element.type() == element_type::ARRAY;
  if (place == Place::kField && !collection) return SerializationError("Unexpected field type");
  FlatWriter* writer = ThreadWriter();
  Reader reader(writer);
  HF_CHECK_OK(reader.ReadSingle(element));
  if (!reader.sound()) return Item::Defective(*reader.defect());
  return Item::FromFlat(writer->TakeMap());
}

Result<Item> ReadExpressionValues(const Element& element) {
  FlatWriter* writer = ThreadWriter();
  Reader reader(writer, limits::kFlatValuesBytesMax);
  HF_CHECK_OK(reader.ReadMap(element, 1));
  if (reader.sound()) return Item::FromFlat(writer->TakeMap());
  const Error& defect = *reader.defect();
  // The names are checked before the values: they are kept.
  writer->Clear();
  writer->BeginMap();
  for (auto [name, value] : simdjson::dom::object(element)) {
    if (value.is_null()) continue;
    writer->Name(name);
    writer->Null();
  }
  writer->EndMap();
  std::string names = writer->TakeMap();
  if (defect.message() == value::NestingTooDeep().message()) return Item::Defective(defect, std::move(names));
  if (defect.message() == value::ItemTooLarge().message())
    return Item::Defective(ValidationError("ExpressionAttributeValues exceeds max size"), std::move(names));
  std::string message = "ExpressionAttributeValues contains invalid value: " + defect.message() +
                        " for key " + std::string(reader.spoiled_name());
  return Item::Defective(
      defect.is_request_family() ? RequestError(std::move(message)) : ValidationError(std::move(message)),
      std::move(names));
}

Result<SearchVector> ReadSearchVector(const Element& element) {
  simdjson::dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return SerializationError("Unexpected field type");
  std::vector<float> values;
  values.reserve(array.size());
  bool sound = true;
  for (Element member : array) {
    values.push_back(0);
    sound = sound && ReadFloat(member, &values.back());
  }
  return sound ? SearchVector(std::move(values)) : SearchVector::Unsound(values.size());
}

}  // namespace holdfast::json
