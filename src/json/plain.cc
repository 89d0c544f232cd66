#include "json/plain.h"

#include <simdjson.h>

#include "base/base64.h"
#include "base/limits.h"
#include "json/writer.h"

namespace holdfast::json {
namespace {

using value::MapView;
using value::Type;
using value::ValueView;

// A member of a set is a payload without its tag.
void AppendMember(Type set, ByteView payload, std::string* out) {
  switch (set) {
    case Type::kNumberSet: value::AppendNumberText(payload, out); break;
    case Type::kBinarySet: AppendString(base::Base64(payload), out); break;
    default: AppendString(payload, out);
  }
}

// The parser reads on demand so that numbers can be taken as texts: a double has not digits enough.
using Value = simdjson::ondemand::value;

constexpr size_t kKeptBytesMax = 64 << 10;

Error NoJson(simdjson::error_code code) {
  return ValidationError(std::string("no JSON: ") + simdjson::error_message(code));
}

Result<value::Number> ReadNumber(Value value) {
  double checked = 0;
  std::string_view token = value.raw_json_token();
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0)
    token.remove_suffix(1);
  if (auto code = value.get_double().get(checked)) return NoJson(code);
  return value::Number::Parse(token);
}

Status ReadNull(Value value) {
  bool null = false;  // its first letter has been looked at so far
  if (auto code = value.is_null().get(null)) return NoJson(code);
  if (!null) return NoJson(simdjson::N_ATOM_ERROR);
  return Ok{};
}

Result<AttributeValue> Read(Value value, int depth);

Result<AttributeMap> ReadObject(simdjson::ondemand::object object, int depth) {
  AttributeMap entries;
  for (auto field : object) {
    std::string_view name;
    Value member;
    if (auto code = field.unescaped_key().get(name)) return NoJson(code);
    std::string key(name);
    if (auto code = field.value().get(member)) return NoJson(code);
    HF_TRY(AttributeValue read, Read(member, depth + 1));
    if (!entries.emplace(key, std::move(read)).second)
      return ValidationError("the member " + key + " stands twice");
  }
  return entries;
}

Result<AttributeValue> Read(Value value, int depth) {
  if (depth > limits::kDocumentDepthMax) return value::NestingTooDeep();
  simdjson::ondemand::json_type type;
  if (auto code = value.type().get(type)) return NoJson(code);
  switch (type) {
    case simdjson::ondemand::json_type::string: {
      std::string_view text;
      if (auto code = value.get_string().get(text)) return NoJson(code);
      return AttributeValue(text);
    }
    case simdjson::ondemand::json_type::number: {
      HF_TRY(value::Number number, ReadNumber(value));
      return AttributeValue::Number(number.ToString());
    }
    case simdjson::ondemand::json_type::boolean: {
      bool flag = false;
      if (auto code = value.get_bool().get(flag)) return NoJson(code);
      return AttributeValue(flag);
    }
    case simdjson::ondemand::json_type::null: {
      HF_CHECK_OK(ReadNull(value));
      return AttributeValue();
    }
    case simdjson::ondemand::json_type::array: {
      simdjson::ondemand::array array;
      if (auto code = value.get_array().get(array)) return NoJson(code);
      std::vector<AttributeValue> elements;
      for (auto element : array) {
        Value member;
        if (auto code = element.get(member)) return NoJson(code);
        HF_TRY(AttributeValue read, Read(member, depth + 1));
        elements.push_back(std::move(read));
      }
      return AttributeValue::List(std::move(elements));
    }
    case simdjson::ondemand::json_type::object: {
      simdjson::ondemand::object object;
      if (auto code = value.get_object().get(object)) return NoJson(code);
      HF_TRY(AttributeMap entries, ReadObject(object, depth));
      return AttributeValue::Map(std::move(entries));
    }
  }
  return ValidationError("no JSON");
}

// --- straight into the flat form ---

class FlatReader {
 public:
  explicit FlatReader(value::FlatWriter* out) : out_(out) {}
  // Of all maps.
  size_t members() const { return members_; }

  Status Object(simdjson::ondemand::object object, int depth) {
    out_->BeginMap();
    for (auto field : object) {
      std::string_view name;
      Value member;
      if (auto code = field.unescaped_key().get(name)) return NoJson(code);
      if (auto code = field.value().get(member)) return NoJson(code);
      ++members_;
      out_->Name(name);  // the parser keeps it until the next text
      HF_CHECK_OK(Any(member, depth + 1));
    }
    out_->EndMap();
    return Ok{};
  }

 private:
  Status Any(Value value, int depth) {
    if (depth > limits::kDocumentDepthMax) return value::NestingTooDeep();
    simdjson::ondemand::json_type type;
    if (auto code = value.type().get(type)) return NoJson(code);
    switch (type) {
      case simdjson::ondemand::json_type::string: {
        std::string_view text;
        if (auto code = value.get_string().get(text)) return NoJson(code);
        out_->String(text);
        return Ok{};
      }
      case simdjson::ondemand::json_type::number: {
        HF_TRY(value::Number number, ReadNumber(value));
        out_->Number(number);
        return Ok{};
      }
      case simdjson::ondemand::json_type::boolean: {
        bool flag = false;
        if (auto code = value.get_bool().get(flag)) return NoJson(code);
        out_->Bool(flag);
        return Ok{};
      }
      case simdjson::ondemand::json_type::null: {
        HF_CHECK_OK(ReadNull(value));
        out_->Null();
        return Ok{};
      }
      case simdjson::ondemand::json_type::array: {
        simdjson::ondemand::array array;
        if (auto code = value.get_array().get(array)) return NoJson(code);
        out_->BeginList();
        for (auto element : array) {
          Value member;
          if (auto code = element.get(member)) return NoJson(code);
          HF_CHECK_OK(Any(member, depth + 1));
        }
        out_->EndList();
        return Ok{};
      }
      case simdjson::ondemand::json_type::object: {
        simdjson::ondemand::object object;
        if (auto code = value.get_object().get(object)) return NoJson(code);
        return Object(object, depth);
      }
    }
    return ValidationError("no JSON");
  }

  value::FlatWriter* const out_;
  size_t members_ = 0;
};

size_t CountMembers(MapView map);

size_t CountMembers(ValueView value) {
  if (value.type() == Type::kMap) return CountMembers(value.map());
  if (value.type() != Type::kList) return 0;
  size_t count = 0;
  for (uint32_t i = 0; i < value.entries().size(); ++i) count += CountMembers(value.element(i));
  return count;
}

size_t CountMembers(MapView map) {
  size_t count = map.size();
  for (uint32_t i = 0; i < map.size(); ++i) count += CountMembers(map.At(i).value);
  return count;
}

}  // namespace

void AppendPlain(ValueView value, std::string* out) {
  switch (value.type()) {
    case Type::kNull: out->append("null"); break;
    case Type::kFalse: out->append("false"); break;
    case Type::kTrue: out->append("true"); break;
    case Type::kNumber: value::AppendNumberText(value.payload(), out); break;
    case Type::kString: AppendString(value.payload(), out); break;
    case Type::kBinary: AppendString(base::Base64(value.payload()), out); break;
    case Type::kMap: AppendPlainItem(value.map(), out); break;
    default:
      out->push_back('[');
      for (uint32_t i = 0; i < value.entries().size(); ++i) {
        if (i > 0) out->push_back(',');
        if (value.type() == Type::kList)
          AppendPlain(value.element(i), out);
        else
          AppendMember(value.type(), value.entries().Entry(i), out);
      }
      out->push_back(']');
  }
}

void AppendPlainItem(MapView item, std::string* out) {
  out->push_back('{');
  for (uint32_t i = 0; i < item.size(); ++i) {
    value::Attribute entry = item.At(i);
    if (i > 0) out->push_back(',');
    AppendString(entry.name, out);
    out->push_back(':');
    AppendPlain(entry.value, out);
  }
  out->push_back('}');
}

Result<AttributeValue> ReadPlainValue(std::string_view text) {
  // A parser's memory costs more than a short text; that for a long one is not kept.
  thread_local simdjson::ondemand::parser kept;
  simdjson::ondemand::parser once;
  simdjson::ondemand::parser& parser = text.size() <= kKeptBytesMax ? kept : once;
  // A document that is one scalar has no on-demand value: it is read as the element of a list.
  std::string padded;
  padded.reserve(text.size() + 2 + simdjson::SIMDJSON_PADDING);
  padded.append("[").append(text).append("]");
  simdjson::ondemand::document document;
  if (auto code = parser.iterate(padded.data(), padded.size(), padded.capacity()).get(document))
    return NoJson(code);
  Value list;
  if (auto code = document.get_value().get(list)) return NoJson(code);
  HF_TRY(AttributeValue read, Read(list, 0));
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
    return NoJson(simdjson::TRAILING_CONTENT);
  if (read.AsList().size() != 1) return ValidationError("no JSON: one value is expected");
  return read.AsList()[0];
}

namespace {

// Straight into the flat form. What it finds wrong is only a reason to look again.
Result<Item> ReadFlat(std::string_view text) {
  constexpr size_t kKeptMax = 1 << 20;
  thread_local simdjson::ondemand::parser parser;
  thread_local std::string padded;
  thread_local value::FlatWriter writer;
  if (padded.capacity() > kKeptMax) padded = {};
  padded.assign(text).append(simdjson::SIMDJSON_PADDING, ' ');
  writer.Clear();
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (auto code = parser.iterate(padded.data(), text.size(), padded.size()).get(document))
    return NoJson(code);
  if (auto code = document.get_object().get(object)) return NoJson(code);
  FlatReader reader(&writer);
  HF_CHECK_OK(reader.Object(object, 1));
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
    return NoJson(simdjson::TRAILING_CONTENT);
  Item item = Item::FromFlat(writer.TakeMap());
  // Of members with one name the writer keeps one.
  if (CountMembers(MapView(item)) != reader.members()) return ValidationError("a member stands twice");
  return item;
}

}  // namespace

Result<Item> ReadPlainItem(std::string_view text) {
  if (Result<Item> item = ReadFlat(text)) return item;
  HF_TRY(AttributeValue read, ReadPlainValue(text));
  if (read.type() != AttributeValue::Type::kMap) return ValidationError("should be a JSON object");
  Item item(read.AsMap());
  if (const Error* defect = item.defect()) return *defect;
  return item;
}

}  // namespace holdfast::json
