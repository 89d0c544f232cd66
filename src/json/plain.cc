#include "json/plain.h"

#include <simdjson.h>

#include "base/base64.h"
#include "base/limits.h"
#include "base/shown.h"
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

// Straight into the flat form. Small parts cost many times their text until a container is closed, so their
// number is bounded.
class FlatReader {
 public:
  explicit FlatReader(value::FlatWriter* out) : out_(out) {}

  Status Object(simdjson::ondemand::object object, int depth) {
    out_->BeginMap();
    for (auto field : object) {
      std::string_view name;
      Value member;
      if (auto code = field.unescaped_key().get(name)) return NoJson(code);
      if (auto code = field.value().get(member)) return NoJson(code);
      out_->Name(name);  // the parser keeps it until the next text
      HF_CHECK_OK(Any(member, depth + 1));
    }
    out_->EndMap();
    if (const auto& name = out_->repeated_name())
      return ValidationError("the member " + base::Shown(*name) + " stands twice");
    return Ok{};
  }

  Status Any(Value value, int depth) {
    if (depth > limits::kDocumentDepthMax) return value::NestingTooDeep();
    if (++values_ > limits::kPlainValuesMax)
      return ValidationError("the document has more than " + std::to_string(limits::kPlainValuesMax) +
                             " values");
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

 private:
  value::FlatWriter* const out_;
  size_t values_ = 0;
};

// A thread's parser, buffer and writer, and a text in them. What a long text took is not kept: the parser
// alone costs ten times its text.
class Reading {
 public:
  explicit Reading(size_t bytes) : kept_(bytes <= kKeptBytesMax) {
    writer().Clear();
    padded().clear();
    padded().reserve(bytes + simdjson::SIMDJSON_PADDING);
  }
  ~Reading() { writer().Clear(); }

  simdjson::ondemand::parser& parser() { return kept_ ? thread().parser : once_.parser; }
  std::string& padded() { return kept_ ? thread().padded : once_.padded; }
  value::FlatWriter& writer() { return kept_ ? thread().writer : once_.writer; }

 private:
  struct Parts {
    simdjson::ondemand::parser parser;
    std::string padded;
    value::FlatWriter writer;
  };
  static Parts& thread() {
    thread_local Parts parts;
    return parts;
  }

  const bool kept_;
  Parts once_;
};

Status ExpectEnd(simdjson::ondemand::document& document) {
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
    return NoJson(simdjson::TRAILING_CONTENT);
  return Ok{};
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
  // A document that is one scalar has no on-demand value: it is read as the element of a list.
  Reading reading(text.size() + 2);
  std::string& padded = reading.padded();
  padded.append("[").append(text).append("]");
  simdjson::ondemand::document document;
  if (auto code = reading.parser().iterate(padded.data(), padded.size(), padded.capacity()).get(document))
    return NoJson(code);
  Value list;
  if (auto code = document.get_value().get(list)) return NoJson(code);
  HF_CHECK_OK(FlatReader(&reading.writer()).Any(list, 0));
  HF_CHECK_OK(ExpectEnd(document));
  ValueView read(reading.writer().value());
  if (read.entries().size() != 1) return ValidationError("no JSON: one value is expected");
  return value::ToAttributeValue(read.element(0));
}

Result<Item> ReadPlainItem(std::string_view text) {
  Reading reading(text.size());
  std::string& padded = reading.padded();
  padded.assign(text);
  simdjson::ondemand::document document;
  simdjson::ondemand::json_type type;
  simdjson::ondemand::object object;
  if (auto code = reading.parser().iterate(padded.data(), padded.size(), padded.capacity()).get(document))
    return NoJson(code);
  if (auto code = document.type().get(type)) return NoJson(code);
  if (type != simdjson::ondemand::json_type::object) return ValidationError("should be a JSON object");
  if (auto code = document.get_object().get(object)) return NoJson(code);
  HF_CHECK_OK(FlatReader(&reading.writer()).Object(object, 1));
  HF_CHECK_OK(ExpectEnd(document));
  return Item::FromFlat(reading.writer().TakeMap());
}

}  // namespace holdfast::json
