#include "model/generate/generate.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

std::string Choices(const Attribute& attribute) {
  // An open list takes any text, without hiding from an editor which ones are known.
  return JoinQuoted(attribute.choices, " | ") + (attribute.open_choices ? " | (string & {})" : "");
}

std::string Union(const std::vector<std::string>& types) {
  return Join(types, " | ");
}

std::string List(const std::string& element) {
  return element.find(' ') == std::string::npos ? element + "[]" : Cat("Array<", element, ">");
}

const TypeWords kWords = {
    "string",      "number",      "boolean", "Uint8Array", "unknown", "Record<string, unknown>",
    "Set<string>", "Set<number>", &List,     &Choices,     &Union};

void AddComment(const std::string& text, Lines* lines) {
  if (!text.empty()) lines->Add(Cat("/** ", Replace(text, "*/", "* /"), " */"));
}

}  // namespace

std::string TypeScriptTypes(const Model& model) {
  Lines lines;
  lines.Add("// " + Notice(model));
  for (const Shape& shape : Shapes(model)) {
    lines.Add();
    AddComment(shape.title, &lines);
    lines.Open(Cat("export interface ", shape.name, " {"));
    for (const Attribute& field : *shape.fields) {
      AddComment(field.description, &lines);
      lines.Add(Cat(IsIdentifier(field.name) ? field.name : Quote(field.name),
                    field.required ? ": " : "?: ", TypeOf(model, shape, field, kWords), ";"));
    }
    lines.Close("}");
  }
  return lines.Take();
}

}  // namespace holdfast::model::generate
