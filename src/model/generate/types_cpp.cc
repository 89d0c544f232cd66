#include <set>

#include "model/generate/generate.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

std::string List(const std::string& element) {
  return Cat("std::vector<", element, ">");
}

const TypeWords kWords = {"std::string",
                          "Number",
                          "bool",
                          "Binary",
                          "holdfast::AttributeValue",
                          "holdfast::AttributeMap",
                          "StringSet",
                          "NumberSet",
                          &List,
                          nullptr,
                          nullptr};

// The parts that every header has. Reading never loses anything: an optional attribute that has not its
// declared type stays in `rest`, as does whatever the model does not name.
constexpr std::string_view kPreamble =
    R"cpp(// A number of up to 38 digits, none of which is lost.
          class Number {
           public:
            Number() : Number(0) {}
            Number(holdfast::NumberLike auto value) : value_(value) {}  // NOLINT
            Number(std::same_as<double> auto value) : value_(value) {}  // NOLINT
            explicit Number(holdfast::AttributeValue value) : value_(std::move(value)) {}

            std::optional<int64_t> AsInt64() const { return value_.AsInt64(); }
            double AsDouble() const { return value_.AsDouble(); }
            const std::string& AsText() const { return value_.AsText(); }
            const holdfast::AttributeValue& value() const { return value_; }
            friend bool operator==(const Number&, const Number&) = default;

           private:
            holdfast::AttributeValue value_;
          };

          struct Binary {
            std::string bytes;
          };
          struct StringSet {
            std::vector<std::string> members;
          };
          struct NumberSet {
            std::vector<std::string> members;
          };

          namespace detail {

          using Type = holdfast::AttributeValue::Type;

          // Records have a list of their fields.
          template <class T>
          concept Record = requires(T& record) {
            T::EachField(record, [](const char*, auto&) {});
          };

          template <class T>
          struct IsOptional : std::false_type {};
          template <class T>
          struct IsOptional<std::optional<T>> : std::true_type {};

          // Whether `value` has the type of *out. What is an error is the path of the attribute that is
          // missing or of another type.
          inline bool Read(const holdfast::AttributeValue& value, std::string* out) {
            return value.type() == Type::kString && (*out = value.AsText(), true);
          }
          inline bool Read(const holdfast::AttributeValue& value, Number* out) {
            return value.type() == Type::kNumber && (*out = Number(value), true);
          }
          inline bool Read(const holdfast::AttributeValue& value, bool* out) {
            *out = value.AsBool();
            return value.type() == Type::kTrue || value.type() == Type::kFalse;
          }
          inline bool Read(const holdfast::AttributeValue& value, Binary* out) {
            return value.type() == Type::kBinary && (out->bytes = value.AsText(), true);
          }
          inline bool Read(const holdfast::AttributeValue& value, StringSet* out) {
            return value.type() == Type::kStringSet && (out->members = value.AsSet(), true);
          }
          inline bool Read(const holdfast::AttributeValue& value, NumberSet* out) {
            return value.type() == Type::kNumberSet && (out->members = value.AsSet(), true);
          }
          inline bool Read(const holdfast::AttributeValue& value, holdfast::AttributeMap* out) {
            return value.type() == Type::kMap && (*out = value.AsMap(), true);
          }
          inline bool Read(const holdfast::AttributeValue& value, holdfast::AttributeValue* out) {
            *out = value;
            return true;
          }
          template <Record T>
          bool Read(const holdfast::AttributeValue& value, T* out);
          template <class T>
          bool Read(const holdfast::AttributeValue& value, std::vector<T>* out) {
            if (value.type() != Type::kList) return false;
            for (const holdfast::AttributeValue& element : value.AsList()) {
              T one{};
              if (!Read(element, &one)) return false;
              out->push_back(std::move(one));
            }
            return true;
          }

          // Fills `record` from `attributes`; the name of the first required field that is absent or of
          // another type, or null.
          template <Record T>
          const char* Fill(holdfast::AttributeMap attributes, T* record) {
            const char* missing = nullptr;
            T::EachField(*record, [&](const char* name, auto& field) {
              using Field = std::remove_cvref_t<decltype(field)>;
              auto at = attributes.find(name);
              bool found = false;
              if constexpr (IsOptional<Field>::value) {
                typename Field::value_type value{};
                found = at != attributes.end() && Read(at->second, &value);
                if (found) field = std::move(value);
              } else {
                found = at != attributes.end() && Read(at->second, &field);
                if (!found && missing == nullptr) missing = name;
              }
              if (found) attributes.erase(at);
            });
            record->rest = std::move(attributes);
            return missing;
          }

          template <Record T>
          bool Read(const holdfast::AttributeValue& value, T* out) {
            return value.type() == Type::kMap && Fill(value.AsMap(), out) == nullptr;
          }

          template <class T>
          holdfast::AttributeValue Write(const T& value) {
            return value;
          }
          inline holdfast::AttributeValue Write(const Number& value) {
            return value.value();
          }
          inline holdfast::AttributeValue Write(const Binary& value) {
            return holdfast::AttributeValue::Binary(value.bytes);
          }
          inline holdfast::AttributeValue Write(const StringSet& value) {
            return holdfast::AttributeValue::StringSet(value.members);
          }
          inline holdfast::AttributeValue Write(const NumberSet& value) {
            return holdfast::AttributeValue::NumberSet(value.members);
          }
          inline holdfast::AttributeValue Write(const holdfast::AttributeMap& value) {
            return holdfast::AttributeValue::Map(value);
          }
          template <Record T>
          holdfast::AttributeValue Write(const T& record);
          template <class T>
          holdfast::AttributeValue Write(const std::vector<T>& values) {
            std::vector<holdfast::AttributeValue> elements;
            for (const T& value : values) elements.push_back(Write(value));
            return holdfast::AttributeValue::List(std::move(elements));
          }

          template <Record T>
          holdfast::AttributeMap ToMap(const T& record) {
            holdfast::AttributeMap attributes = record.rest;
            T::EachField(record, [&](const char* name, const auto& field) {
              if constexpr (IsOptional<std::remove_cvref_t<decltype(field)>>::value) {
                if (field) attributes.insert_or_assign(name, Write(*field));
              } else {
                attributes.insert_or_assign(name, Write(field));
              }
            });
            return attributes;
          }

          template <Record T>
          holdfast::AttributeValue Write(const T& record) {
            return holdfast::AttributeValue::Map(ToMap(record));
          }

          template <Record T>
          holdfast::Result<T> FromItem(const holdfast::Item& item) {
            T record;
            if (const char* missing = Fill(item.ToMap(), &record)) {
              return holdfast::ValidationError(std::string("the attribute ") + missing +
                                               " is absent or of another type");
            }
            return record;
          }

          // The value of the placeholder at `position` in a key that was made of `texts`, each in front of a
          // placeholder.
          inline std::optional<std::string> FromKey(const holdfast::AttributeMap& keys, const char* key,
                                                    const std::vector<std::string_view>& texts,
                                                    size_t position) {
            auto at = keys.find(key);
            if (at == keys.end() || at->second.type() != Type::kString) return std::nullopt;
            std::string_view rest = at->second.AsText();
            for (size_t i = 0; i < texts.size(); ++i) {
              if (!rest.starts_with(texts[i])) return std::nullopt;
              rest.remove_prefix(texts[i].size());
              std::string_view next = i + 1 < texts.size() ? texts[i + 1] : std::string_view();
              size_t end = std::min({rest.size(), rest.find('#'), next.empty() ? rest.size() : rest.find(next)});
              if (i == position) return std::string(rest.substr(0, end));
              rest.remove_prefix(end);
            }
            return std::nullopt;
          }

          }  // namespace detail
    )cpp";

// Names that C++ has for itself, and those that every struct has.
std::string MemberName(const std::string& name) {
  static const std::set<std::string, std::less<>> kTaken = {
      "and",       "auto",     "bool",     "break",     "case",    "catch",  "char",     "class",  "concept",
      "const",     "continue", "default",  "delete",    "do",      "double", "else",     "enum",   "explicit",
      "export",    "extern",   "false",    "float",     "for",     "friend", "goto",     "if",     "inline",
      "int",       "long",     "mutable",  "namespace", "new",     "not",    "operator", "or",     "private",
      "protected", "public",   "register", "requires",  "rest",    "return", "short",    "signed", "sizeof",
      "static",    "struct",   "switch",   "template",  "this",    "throw",  "true",     "try",    "typedef",
      "typename",  "union",    "unsigned", "using",     "virtual", "void",   "volatile", "while",  "xor",
      "detail",    "asm"};
  std::string member;
  for (char c : name) member.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_');
  if (kTaken.contains(member) || !IsIdentifier(member)) member.push_back('_');
  return IsIdentifier(member) ? member : "_" + member;
}

// The expression that reads a field which lives in the key alone.
std::string ReadFromKey(const Entity& entity, const std::string& name) {
  for (const KeyPart& key : entity.key) {
    for (const Template& pattern : key.templates) {
      std::vector<std::string> texts;
      size_t position = pattern.parts.size();
      for (size_t i = 0; i < pattern.parts.size(); ++i) {
        if (pattern.parts[i].name == name && !pattern.parts[i].as_date) position = i;
        texts.push_back(Quote(pattern.parts[i].text));
      }
      if (position == pattern.parts.size()) continue;
      return Cat("detail::FromKey(record->rest, ", Quote(key.attribute.name), ", {", Join(texts, ", "), "}, ",
                 std::to_string(position), ")");
    }
  }
  return "std::nullopt";
}

void AddItemFunctions(const Shape& shape, const std::vector<const Attribute*>& keyed, Lines* lines) {
  lines->Add();
  lines->Open(Cat("static holdfast::Result<", shape.name, "> FromItem(const holdfast::Item& item) {"));
  if (keyed.empty()) {
    lines->Add(Cat("return detail::FromItem<", shape.name, ">(item);"));
  } else {
    lines->Add(Cat("auto record = detail::FromItem<", shape.name, ">(item);"));
    lines->Open("if (record) {");
    for (const Attribute* field : keyed) {
      lines->Add(
          Cat("record->", MemberName(field->name), " = ", ReadFromKey(*shape.entity, field->name), ";"));
    }
    lines->Close("}").Add("return record;");
  }
  lines->Close("}");
  lines->Add("holdfast::Item ToItem() const { return holdfast::Item(detail::ToMap(*this)); }");
}

void AddShape(const Model& model, const Shape& shape, Lines* lines) {
  std::vector<const Attribute*> keyed;  // in the key alone
  lines->Add();
  if (!shape.title.empty()) lines->Add("// " + Replace(shape.title, "\n", " "));
  lines->Open(Cat("struct ", shape.name, " {"));
  for (const Attribute& field : *shape.fields) {
    std::string type = TypeOf(model, shape, field, kWords);
    if (!field.stored && shape.entity != nullptr) keyed.push_back(&field);
    bool sure = field.required && field.stored;
    std::string comment = field.stored ? "" : "  // read from the key";
    if (!field.choices.empty())
      comment = Cat("  // ", Join(field.choices, ", "), field.open_choices ? ", …" : "");
    lines->Add(Cat(sure ? type : Cat("std::optional<", field.stored ? type : "std::string", ">"), " ",
                   MemberName(field.name), sure && type == "bool" ? " = false;" : ";", comment));
  }
  lines->Add("holdfast::AttributeMap rest;  // keys, and what the model does not name");
  lines->Add();
  lines->Add("template <class Self, class Visit>");
  lines->Open("static void EachField(Self& self, Visit&& visit) {");
  for (const Attribute& field : *shape.fields) {
    if (field.stored) lines->Add(Cat("visit(", Quote(field.name), ", self.", MemberName(field.name), ");"));
  }
  if (keyed.size() == shape.fields->size()) lines->Add("static_cast<void>(self), static_cast<void>(visit);");
  lines->Close("}");
  if (shape.entity != nullptr) AddItemFunctions(shape, keyed, lines);
  lines->Close("};");
}

}  // namespace

std::string CppTypes(const Model& model) {
  std::string space = MemberName(model.name);
  Lines lines;
  lines.Add("// " + Notice(model));
  lines.Add("#pragma once").Add();
  for (const char* header :
       {"algorithm", "cstdint", "optional", "string", "string_view", "type_traits", "utility", "vector"}) {
    lines.Add(Cat("#include <", header, ">"));
  }
  lines.Add().Add("#include \"holdfast/result.h\"").Add("#include \"holdfast/value.h\"").Add();
  lines.Add(Cat("namespace ", space, " {")).Add();
  lines.Add(kPreamble.substr(0, kPreamble.size() - 1));
  for (const Shape& shape : Shapes(model)) AddShape(model, shape, &lines);
  lines.Add().Add(Cat("}  // namespace ", space));
  return lines.Take();
}

}  // namespace holdfast::model::generate
