#include <algorithm>
#include <set>

#include "model/generate/generate.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

std::string Choices(const Attribute& attribute) {
  std::string literal = Cat("Literal[", JoinQuoted(attribute.choices, ", "), "]");
  return attribute.open_choices ? Cat("Union[", literal, ", str]") : literal;
}

std::string Union(const std::vector<std::string>& types) {
  return types.size() == 1 ? types[0] : Cat("Union[", Join(types, ", "), "]");
}

std::string List(const std::string& element) {
  return Cat("List[", element, "]");
}

const TypeWords kWords = {"str",      "Number",      "bool", "bytes",  "Any", "Dict[str, Any]",
                          "Set[str]", "Set[Number]", &List,  &Choices, &Union};

// What may stand as a name in a class.
bool IsName(const std::string& name) {
  static const std::set<std::string, std::less<>> kReserved = {
      "False",    "None",  "True",   "and",  "as",    "assert", "async",    "await", "class",
      "continue", "def",   "del",    "elif", "else",  "except", "finally",  "for",   "from",
      "global",   "if",    "import", "in",   "is",    "lambda", "nonlocal", "not",   "or",
      "pass",     "raise", "return", "try",  "while", "with",   "yield",    "break"};
  return IsIdentifier(name) && !kReserved.contains(name);
}

void AddShape(const Model& model, const Shape& shape, Lines* lines) {
  auto type = [&](const Attribute& field) {
    std::string name = TypeOf(model, shape, field, kWords);
    return field.required ? name : Cat("NotRequired[", name, "]");
  };
  bool plain = std::all_of(shape.fields->begin(), shape.fields->end(),
                           [](const Attribute& f) { return IsName(f.name); });
  if (!plain) {
    lines->Open(Cat(shape.name, " = TypedDict("));
    lines->Open(Cat(Quote(shape.name), ", {"));
    for (const Attribute& field : *shape.fields) lines->Add(Cat(Quote(field.name), ": ", type(field), ","));
    lines->Close("},").Close(")");
    return;
  }
  lines->Open(Cat("class ", shape.name, "(TypedDict):"));
  if (!shape.title.empty())
    lines->Add(Cat(R"(""")", Replace(Replace(shape.title, "\\", "\\\\"), "\"", "'"), R"(""")"));
  for (const Attribute& field : *shape.fields) {
    if (!field.description.empty()) lines->Add("# " + Replace(field.description, "\n", " "));
    lines->Add(Cat(field.name, ": ", type(field)));
  }
  if (shape.fields->empty() && shape.title.empty()) lines->Add("pass");
  lines->Back();
}

}  // namespace

std::string PythonTypes(const Model& model) {
  Lines lines(4);
  lines.Add("# " + Notice(model));
  lines.Add("from decimal import Decimal");
  lines.Add("from typing import Any, Dict, List, Literal, NotRequired, Set, TypedDict, Union");
  lines.Add();
  lines.Add("# boto3 reads numbers as Decimal and takes both.");
  lines.Add("Number = Union[int, Decimal]");
  for (const Shape& shape : Shapes(model)) {
    lines.Add().Add();
    AddShape(model, shape, &lines);
  }
  return lines.Take();
}

}  // namespace holdfast::model::generate
