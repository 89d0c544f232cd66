#include "model/check_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/base64.h"
#include "base/ulid.h"
#include "model/instant.h"
#include "value/number.h"

namespace holdfast::model {
namespace {

using value::MapView;
using value::Type;
using value::ValueView;

constexpr size_t kMatchedBytesMax = 4096;

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

bool IsOfStoredType(Kind kind, Type type) {
  switch (kind) {
    case Kind::kBool: return value::IsBool(type);
    case Kind::kBinary: return type == Type::kBinary;
    case Kind::kMap: return type == Type::kMap;
    case Kind::kList: return type == Type::kList;
    case Kind::kStringSet: return type == Type::kStringSet;
    case Kind::kNumberSet: return type == Type::kNumberSet;
    default: return true;
  }
}

size_t CharacterCount(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

std::string Numeral(double value) {
  return AttributeValue::Number(value).AsText();
}

const ParamValues kNoParams = [](std::string_view) { return std::nullopt; };

}  // namespace

std::string Shown(ValueView value) {
  constexpr size_t kLongest = 60;
  std::string text = ReadableValue(value::ToAttributeValue(value));
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

std::string FlatValue(const AttributeValue& value) {
  value::FlatWriter writer;
  if (value::WriteAttributeValue(value, &writer)) return writer.TakeValue();
  writer.Clear();
  writer.Null();
  return writer.TakeValue();
}

void ValueCheck::Violate(const std::string& path, std::string rule, std::string got) {
  violations.push_back({path, std::move(rule), std::move(got),
                        schema_depth_ > 0 ? Violation::Kind::kSchema : Violation::Kind::kField});
}

void ValueCheck::Warn(const std::string& path, std::string message) {
  warnings.push_back({path, std::move(message)});
}

ValueView ValueCheck::Keep(std::string flat_value) {
  kept_.push_back(std::move(flat_value));
  return ValueView(kept_.back());
}

ValueView ValueCheck::Keep(const AttributeValue& value) {
  return Keep(FlatValue(value));
}

ValueView ValueCheck::Accept(const Attribute& attribute, ValueView in, const std::string& path,
                             MapView siblings) {
  Shape shape = ShapeOf(attribute, siblings);
  ValueView out = in;
  if (!IsOfStoredType(attribute.kind, in.type())) {
    Violate(path, "should be of type " + std::string(KindName(attribute.kind)), Shown(in));
    return in;
  }
  switch (attribute.kind) {
    case Kind::kString:
    case Kind::kUuid:
    case Kind::kUlid:
    case Kind::kDate: out = Text(attribute, in, path); break;
    case Kind::kEncrypted:
      if (mode_ == Mode::kJudge || in.type() != Type::kMap) out = Text(attribute, in, path);
      break;
    case Kind::kInstant:
    case Kind::kEpoch: out = Instant(attribute, in, path); break;
    case Kind::kNumber: out = Number(attribute, in, path); break;
    case Kind::kList: out = List(attribute, in, path); break;
    case Kind::kVector: out = Vector(attribute, in, path); break;
    case Kind::kMap:
      if (attribute.has_fields) out = Map(attribute.fields, attribute.checks, in, path);
      break;
    default: break;
  }
  if (shape.fields == nullptr && shape.whole == nullptr) return out;
  ++schema_depth_;
  if (shape.whole != nullptr) {
    out = Accept(*shape.whole, out, path, siblings);
  } else if (out.type() != Type::kMap) {
    Violate(path, "should be a map", Shown(out));
  } else {
    out = Map(*shape.fields, *shape.checks, out, path);
  }
  --schema_depth_;
  return out;
}

ValueCheck::Shape ValueCheck::ShapeOf(const Attribute& attribute, MapView siblings) const {
  const Schema* schema = nullptr;
  if (!attribute.schema.empty()) {
    schema = model_.FindSchema(attribute.schema);
  } else if (!attribute.schema_by.empty()) {
    auto name = siblings.Find(attribute.schema_by);
    if (name && name->type() == Type::kString) schema = model_.FindSchema(name->payload());
  }
  if (schema == nullptr) return {};
  if (attribute.schema_field.empty()) return {&schema->fields, &schema->checks, nullptr};
  return {nullptr, nullptr, FindAttribute(schema->fields, attribute.schema_field)};
}

void ValueCheck::CheckBounds(const Attribute& attribute, double size, std::string_view what,
                             const std::string& path) {
  if (attribute.min && size < *attribute.min)
    Violate(path, "should " + std::string(what) + " at least " + Numeral(*attribute.min), Numeral(size));
  if (attribute.max && size > *attribute.max)
    Violate(path, "should " + std::string(what) + " at most " + Numeral(*attribute.max), Numeral(size));
}

ValueView ValueCheck::Text(const Attribute& attribute, ValueView in, const std::string& path) {
  if (in.type() != Type::kString) {
    Violate(path, "should be a text", Shown(in));
    return in;
  }
  std::string_view text = in.payload();
  if (attribute.kind == Kind::kUuid && !IsUuid(text)) Warn(path, "is no lower-case UUID: " + Shown(in));
  if (attribute.kind == Kind::kUlid && !base::IsUlid(text)) Warn(path, "is no ULID: " + Shown(in));
  if (attribute.kind == Kind::kDate && !ParseDate(text))
    Violate(path, "should be a date like 2026-02-04", Shown(in));
  if (!attribute.choices.empty() &&
      std::find(attribute.choices.begin(), attribute.choices.end(), text) == attribute.choices.end()) {
    std::string list;
    for (const std::string& choice : attribute.choices) list += (list.empty() ? "" : ", ") + choice;
    if (attribute.open_choices)
      Warn(path, "is none of the known values " + list + ": " + Shown(in));
    else
      Violate(path, "should be one of " + list, Shown(in));
  }
  CheckBounds(attribute, static_cast<double>(attribute.min || attribute.max ? CharacterCount(text) : 0),
              "have a length of", path);
  // A pattern's worst case is the text times its program.
  if (attribute.compiled && text.size() > kMatchedBytesMax)
    Violate(path, "should match " + attribute.pattern + " and have at most " +
                      std::to_string(kMatchedBytesMax) + " bytes");
  else if (attribute.compiled && !attribute.compiled->Matches(text))
    Violate(path, "should match " + attribute.pattern, Shown(in));
  return in;
}

ValueView ValueCheck::Instant(const Attribute& attribute, ValueView in, const std::string& path) {
  std::optional<int64_t> millis;
  if (in.type() == Type::kString) millis = ParseInstant(in.payload());
  if (attribute.kind == Kind::kInstant) {
    if (!millis) {
      Violate(path, "should be an instant like 2026-02-04T10:30:00Z", Shown(in));
      return in;
    }
    if (mode_ == Mode::kJudge) return in;
    std::string canonical = FormatInstant(*millis);
    return canonical == in.payload() ? in : Keep(AttributeValue(std::move(canonical)));
  }
  int64_t seconds = 0;
  if (in.type() == Type::kNumber && in.number().ToInt64(&seconds)) return in;
  if (millis && mode_ == Mode::kWrite)
    return Keep(AttributeValue((*millis - ((*millis % 1000) + 1000) % 1000) / 1000));
  Violate(path, "should be Unix seconds or an instant", Shown(in));
  return in;
}

ValueView ValueCheck::Number(const Attribute& attribute, ValueView in, const std::string& path) {
  if (in.type() != Type::kNumber) {
    Violate(path, "should be a number", Shown(in));
    return in;
  }
  if (attribute.min || attribute.max) CheckBounds(attribute, in.number().ToDouble(), "be", path);
  return in;
}

ValueView ValueCheck::List(const Attribute& attribute, ValueView in, const std::string& path) {
  value::ContainerView elements = in.entries();
  CheckBounds(attribute, elements.size(), "have a length of", path);
  if (!attribute.items) return in;
  std::vector<ValueView> written;
  bool changed = false;
  for (uint32_t i = 0; i < elements.size(); ++i) {
    ValueView element = in.element(i);
    ValueView out =
        Accept(*attribute.items, element, path + "[" + std::to_string(i) + "]", MapView(Item().flat()));
    changed = changed || out.bytes().data() != element.bytes().data();
    written.push_back(out);
  }
  if (!changed) return in;
  value::FlatWriter writer;
  writer.BeginList();
  for (ValueView element : written) writer.Copy(element);
  writer.EndList();
  return Keep(writer.TakeValue());
}

ValueView ValueCheck::Vector(const Attribute& attribute, ValueView in, const std::string& path) {
  auto count = static_cast<size_t>(attribute.dimensions);
  std::string wrong = "should be " + std::to_string(count) + " numbers";
  if (in.type() == Type::kList) {
    bool zero = true;
    bool sound = in.entries().size() == count;
    for (uint32_t i = 0; sound && i < count; ++i) {
      ValueView element = in.element(i);
      sound = element.type() == Type::kNumber && value::FitsFloat(element.payload());
      zero = zero && sound && element.number().is_zero();
    }
    if (!sound)
      Violate(path, wrong,
              in.entries().size() == count ? "" : std::to_string(in.entries().size()) + " elements");
    else if (zero)
      Violate(path, "should not be all zeros");
    return in;
  }
  // Base64 of little-endian floats, as text or as bytes.
  std::string bytes;
  if (in.type() == Type::kBinary) bytes = in.payload();
  bool read =
      in.type() == Type::kBinary || (in.type() == Type::kString && base::DecodeBase64(in.payload(), &bytes));
  if (!read || bytes.size() != count * sizeof(float)) {
    Violate(path, wrong + ", or Base64 of that many little-endian floats");
    return in;
  }
  value::FlatWriter writer;
  writer.BeginList();
  for (size_t i = 0; i < count; ++i) {
    float number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof(float), sizeof(float));
    if (!std::isfinite(number)) {
      Violate(path, "should hold finite numbers only");
      return in;
    }
    writer.Number(value::Number::FromFloat(number));
  }
  writer.EndList();
  ValueView list = Keep(writer.TakeValue());
  return Vector(attribute, list, path);
}

ValueView ValueCheck::Map(const std::vector<Attribute>& fields, const std::vector<model::Check>& checks,
                          ValueView in, const std::string& path) {
  MapView map = in.map();
  std::vector<value::Attribute> written;
  bool changed = false;
  for (uint32_t i = 0; i < map.size(); ++i) {
    value::Attribute entry = map.At(i);
    const Attribute* field = FindAttribute(fields, entry.name);
    std::string where = path + "." + std::string(entry.name);
    if (field == nullptr) {
      Warn(where, "is not known here");
      written.push_back(entry);
      continue;
    }
    if (entry.value.type() == Type::kNull) {
      if (field->required) Violate(where, "is required");
      written.push_back(entry);
      continue;
    }
    ValueView out = Accept(*field, entry.value, where, map);
    changed = changed || out.bytes().data() != entry.value.bytes().data();
    written.push_back({entry.name, out});
  }
  for (const Attribute& field : fields) {
    if (map.IndexOf(field.name)) continue;
    if (field.default_value && mode_ == Mode::kWrite) {
      written.push_back({field.name, Keep(*field.default_value)});
      changed = true;
    } else if (field.required) {
      Violate(path + "." + field.name, "is required");
    }
  }
  ValueView out = in;
  if (changed) {
    value::FlatWriter writer;
    writer.BeginMap();
    for (const value::Attribute& entry : written) {
      writer.Name(entry.name);
      writer.Copy(entry.value);
    }
    writer.EndMap();
    out = Keep(writer.TakeValue());
  }
  CheckConditions(checks, out.map(), path);
  return out;
}

void ValueCheck::CheckConditions(const std::vector<model::Check>& checks, MapView map,
                                 const std::string& path) {
  for (const model::Check& check : checks) {
    if (Holds(check.condition, map.bytes(), kNoParams, Absent::kPasses)) continue;
    if (check.only_warns)
      Warn(path, "does not hold: " + check.condition.text);
    else if (path.empty())
      violations.push_back({"item", "should hold: " + check.condition.text, "", Violation::Kind::kRule});
    else
      Violate(path, "should hold: " + check.condition.text);
  }
}

}  // namespace holdfast::model
