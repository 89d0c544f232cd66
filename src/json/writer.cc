#include "json/writer.h"

#include <charconv>
#include <cstring>

#include "base/base64.h"

namespace holdfast::json {
namespace {

using value::Type;

// True for bytes that cannot stand in a JSON string as they are: controls, the quote and the backslash.
constexpr bool NeedsEscape(unsigned char c) {
  return c < 0x20 || c == '"' || c == '\\';
}

// The same question for eight bytes at once: nonzero when any of them needs an escape.
uint64_t AnyNeedsEscape(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, 8);
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  auto has_zero = [](uint64_t w) { return (w - kOnes) & ~w & kHighs; };
  uint64_t below_space = (word - kOnes * 0x20) & ~word & kHighs;
  return below_space | has_zero(word ^ (kOnes * '"')) | has_zero(word ^ (kOnes * '\\'));
}

size_t PlainLength(std::string_view text) {
  size_t at = 0;
  while (at + 8 <= text.size() && AnyNeedsEscape(text.data() + at) == 0) at += 8;
  while (at < text.size() && !NeedsEscape(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

void AppendEscaped(char c, std::string* out) {
  switch (c) {
    case '"': out->append("\\\""); return;
    case '\\': out->append("\\\\"); return;
    case '\n': out->append("\\n"); return;
    case '\r': out->append("\\r"); return;
    case '\t': out->append("\\t"); return;
    case '\b': out->append("\\b"); return;
    case '\f': out->append("\\f"); return;
    default: {
      constexpr char kHex[] = "0123456789abcdef";
      out->append("\\u00");
      out->push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out->push_back(kHex[c & 15]);
    }
  }
}

void AppendMember(Type set, ByteView member, std::string* out) {
  switch (set) {
    case Type::kNumberSet:
      out->push_back('"');
      value::AppendNumberText(member, out);
      out->push_back('"');
      return;
    case Type::kBinarySet:
      out->push_back('"');
      base::AppendBase64(member, out);
      out->push_back('"');
      return;
    default: AppendString(member, out);
  }
}

template <class Real>
void AppendReal(Real value, std::string* out) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string_view written(text, static_cast<size_t>(end - text));
  out->append(written);
  // A whole number keeps a fraction, as in AWS's answers: clients may tell integers and doubles apart.
  if (written.find_first_of(".e") == std::string_view::npos) out->append(".0");
}

template <class At>
void AppendFloats(size_t count, const At& at, std::string* out) {
  out->push_back('[');
  for (size_t i = 0; i < count; ++i) {
    out->append(i > 0 ? ",{\"N\":\"" : "{\"N\":\"");
    AppendFloat(at(i), out);
    out->append("\"}");
  }
  out->push_back(']');
}

}  // namespace

void AppendString(std::string_view text, std::string* out) {
  out->push_back('"');
  while (true) {
    size_t plain = PlainLength(text);
    out->append(text, 0, plain);
    if (plain == text.size()) break;
    AppendEscaped(text[plain], out);
    text.remove_prefix(plain + 1);
  }
  out->push_back('"');
}

void AppendInteger(int64_t value, std::string* out) {
  char text[24];
  out->append(text, static_cast<size_t>(std::to_chars(text, text + sizeof text, value).ptr - text));
}

void AppendDouble(double value, std::string* out) {
  AppendReal(value, out);
}

void AppendFloat(float value, std::string* out) {
  AppendReal(value, out);
}

void AppendValue(value::ValueView value, std::string* out) {
  switch (value.type()) {
    case Type::kNull: out->append("{\"NULL\":true}"); return;
    case Type::kFalse: out->append("{\"BOOL\":false}"); return;
    case Type::kTrue: out->append("{\"BOOL\":true}"); return;
    case Type::kNumber:
      out->append("{\"N\":\"");
      value::AppendNumberText(value.payload(), out);
      out->append("\"}");
      return;
    case Type::kString:
      out->append("{\"S\":");
      AppendString(value.payload(), out);
      out->push_back('}');
      return;
    case Type::kBinary:
      out->append("{\"B\":\"");
      base::AppendBase64(value.payload(), out);
      out->append("\"}");
      return;
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet:
    case Type::kList: {
      out->append("{\"").append(value::TypeName(value.type())).append("\":[");
      value::ContainerView entries = value.entries();
      for (uint32_t i = 0; i < entries.size(); ++i) {
        if (i > 0) out->push_back(',');
        if (value.type() == Type::kList) {
          AppendValue(value::ValueView(entries.Entry(i)), out);
        } else {
          AppendMember(value.type(), entries.Entry(i), out);
        }
      }
      out->append("]}");
      return;
    }
    case Type::kMap:
      out->append("{\"M\":");
      AppendItem(value.map(), out);
      out->push_back('}');
      return;
  }
}

void AppendVector(value::ValueView list, std::string* out) {
  value::ContainerView elements = list.entries();
  out->append("{\"L\":");
  AppendFloats(
      elements.size(),
      [&](size_t i) {
        return value::NearestFloat(value::ValueView(elements.Entry(static_cast<uint32_t>(i))).payload());
      },
      out);
  out->push_back('}');
}

void AppendVector(const std::vector<float>& values, std::string* out) {
  AppendFloats(
      values.size(), [&](size_t i) { return values[i]; }, out);
}

void AppendItem(value::MapView item, std::string* out, std::string_view vector) {
  out->push_back('{');
  for (uint32_t i = 0; i < item.size(); ++i) {
    if (i > 0) out->push_back(',');
    value::Attribute attribute = item.At(i);
    AppendString(attribute.name, out);
    out->push_back(':');
    if (!vector.empty() && attribute.name == vector) {
      AppendVector(attribute.value, out);
    } else {
      AppendValue(attribute.value, out);
    }
  }
  out->push_back('}');
}

}  // namespace holdfast::json
