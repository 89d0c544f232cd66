#include "model/generate/reference_page.h"

#include "model/generate/describe.h"
#include "model/generate/routes.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

constexpr std::string_view kStyle =
    R"css(:root { color-scheme: light dark; --line: #8884; --soft: #8882; --mark: #0b7285; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 18rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); font-size: .875rem; }
nav ul { list-style: none; margin: 0 0 .75rem; padding: 0; }
nav h3 { margin: .5rem 0 .25rem; font-size: .75rem; text-transform: uppercase; letter-spacing: .05em; opacity: .7; }
nav summary { cursor: pointer; font-weight: 600; }
nav a { display: block; padding: .125rem 0; overflow-wrap: anywhere; }
main { padding: 1rem 2rem 4rem; max-width: 64rem; }
a { color: var(--mark); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
section:target { background: var(--soft); }
code { font: .875em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; border-radius: .25em; overflow-wrap: anywhere; }
.method { font: 700 .8125rem ui-monospace, monospace; color: var(--mark); margin-right: .5rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border: 0; } main { padding: 1rem; } }
)css";

std::string Escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped.push_back(c);
    }
  }
  return escaped;
}

std::string InCode(std::string_view text) {
  return Cat("<code>", Escape(text), "</code>");
}

// `code` in what the model and the catalogue say.
std::string Prose(std::string_view text) {
  std::string prose;
  bool inside = false;
  for (char c : Escape(text)) {
    if (c != '`') {
      prose.push_back(c);
      continue;
    }
    prose += inside ? "</code>" : "<code>";
    inside = !inside;
  }
  return inside ? prose + "</code>" : prose;
}

std::string Link(std::string_view to, std::string_view text) {
  return Cat("<a href=\"#", Escape(to), "\">", Escape(text), "</a>");
}

// What a value is in JSON.
std::string JsonText(const Attribute& attribute) {
  switch (attribute.kind) {
    case Kind::kString: return "string";
    case Kind::kNumber: return "number";
    case Kind::kBool: return "boolean";
    case Kind::kBinary: return "base64";
    case Kind::kMap: return attribute.schema.empty() ? "object" : attribute.schema;
    case Kind::kList: return attribute.items ? Cat("list of ", JsonText(*attribute.items)) : "list";
    case Kind::kStringSet: return "list of different strings";
    case Kind::kNumberSet: return "list of different numbers";
    case Kind::kAny: return "anything";
    case Kind::kInstant: return "date-time";
    case Kind::kEpoch: return "Unix seconds";
    case Kind::kVector: return Cat("list of ", std::to_string(attribute.dimensions), " numbers");
    default: return std::string(KindName(attribute.kind));
  }
}

using Cells = std::vector<std::string>;  // of HTML

class Page {
 public:
  Page(const std::vector<const Model*>& models, std::string_view version)
      : models_(models), version_(version), routes_(RoutesOf(models)) {}

  std::string Write(std::string_view style) {
    lines_.Add("<!doctype html>").Add("<html lang=\"en\">").Open("<head>").Add("<meta charset=\"utf-8\">");
    lines_.Add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    lines_.Add("<title>holdfast: reference</title>");
    lines_.Add(Cat("<link rel=\"stylesheet\" href=\"", Escape(style), "\">")).Close("</head>").Open("<body>");
    AddNavigation();
    lines_.Open("<main>").Add("<h1>Reference</h1>");
    lines_.Add(Cat("<p>holdfast ", Escape(version_),
                   ". Requests carry <code>Authorization: Bearer …</code>; bodies and answers are JSON. "
                   "The same as an OpenAPI document: <a href=\"/openapi.json\">/openapi.json</a>.</p>"));
    AddRoutes(nullptr);
    for (const Model* model : models_) {
      lines_.Add(Cat("<h1 id=\"", Escape(model->name), "\">", Escape(TitleOf(*model)), "</h1>"));
      AddRoutes(model);
      AddRecords(*model);
    }
    lines_.Close("</main>").Close("</body>").Add("</html>");
    return lines_.Take();
  }

 private:
  static std::string TitleOf(const Model& model) { return model.title.empty() ? model.name : model.title; }
  static std::string Anchor(const Model& model, const std::string& type) {
    return Cat("schema-", SchemaPrefix(model), type);
  }

  // Calls `begin` where another group of the model's routes begins.
  template <class Begin, class Each>
  void ForRoutes(const Model* model, const Begin& begin, const Each& each) const {
    std::string group;
    for (const Route& route : routes_) {
      if (route.model != model) continue;
      if (route.group != group) begin(group.empty(), route.group);
      group = route.group;
      each(route);
    }
  }

  void AddLinks(const Model* model) {
    ForRoutes(
        model,
        [&](bool first, const std::string& group) {
          if (!first) lines_.Close("</ul>");
          lines_.Add(Cat("<h3>", group, "</h3>")).Open("<ul>");
        },
        [&](const Route& route) { lines_.Add(Cat("<li>", Link(route.id, route.title), "</li>")); });
    lines_.Close("</ul>");
  }

  void AddNavigation() {
    lines_.Open("<nav aria-label=\"Routes\">");
    AddLinks(nullptr);
    for (const Model* model : models_) {
      lines_.Open(models_.size() == 1 ? "<details open>" : "<details>");
      lines_.Add(Cat("<summary>", Escape(TitleOf(*model)), "</summary>"));
      AddLinks(model);
      lines_.Add("<h3>Schemas</h3>").Open("<ul>");
      for (const Shape& shape : Shapes(*model))
        lines_.Add(Cat("<li>", Link(Anchor(*model, shape.name), shape.name), "</li>"));
      lines_.Close("</ul>").Close("</details>");
    }
    lines_.Close("</nav>");
  }

  void AddTable(const Cells& head, const std::vector<Cells>& rows) {
    if (rows.empty()) return;
    auto row = [](const Cells& cells, const char* tag) {
      return Cat("<tr>",
                 JoinAll(cells, "",
                         [&](const std::string& cell) { return Cat("<", tag, ">", cell, "</", tag, ">"); }),
                 "</tr>");
    };
    lines_.Open("<table>").Add(row(head, "th"));
    for (const Cells& cells : rows) lines_.Add(row(cells, "td"));
    lines_.Close("</table>");
  }

  // The name of an embedded schema leads to it.
  static std::string TypeCell(const Model* model, const Attribute& attribute) {
    const Schema* schema = model == nullptr ? nullptr : model->FindSchema(attribute.schema);
    if (schema == nullptr) return Escape(JsonText(attribute));
    return Link(Anchor(*model, SchemaTypeName(*model, *schema)), JsonText(attribute));
  }

  static void CollectFields(const Model* model, const std::vector<Attribute>& fields,
                            const std::string& prefix, std::vector<Cells>* rows) {
    for (const Attribute& field : fields) {
      rows->push_back({InCode(prefix + field.name), TypeCell(model, field), field.required ? "required" : "",
                       Prose(Join(Remarks(field), "; "))});
      CollectFields(model, field.fields, Cat(prefix, field.name, "."), rows);
      if (field.items) CollectFields(model, field.items->fields, Cat(prefix, field.name, "[]."), rows);
    }
  }

  void AddFields(const Model* model, std::string_view name, const std::vector<Attribute>& fields) {
    std::vector<Cells> rows;
    CollectFields(model, fields, "", &rows);
    AddTable({std::string(name), "Type", "", ""}, rows);
  }

  void AddRoutes(const Model* model) {
    ForRoutes(
        model, [&](bool, const std::string& group) { lines_.Add(Cat("<h2>", group, "</h2>")); },
        [&](const Route& route) { AddRoute(route); });
  }

  void AddRoute(const Route& route) {
    static constexpr std::string_view kPlaces[] = {"", "header", "path"};
    lines_.Open(Cat("<section id=\"", route.id, "\">"));
    lines_.Add(Cat("<h3>", Link(route.id, route.title), "</h3>"));
    lines_.Add(Cat("<p><span class=\"method\">", route.method, "</span>", InCode(route.path), "</p>"));
    for (const std::string& note : route.notes) lines_.Add(Cat("<p>", Prose(note), "</p>"));
    std::vector<Cells> rows;
    for (const RouteParameter& parameter : route.parameters) {
      const Attribute& attribute = parameter.attribute;
      std::string place(kPlaces[static_cast<size_t>(parameter.in)]);
      rows.push_back({InCode(attribute.name), TypeCell(route.model, attribute),
                      Join({attribute.required ? "required" : "", place}, " "),
                      Prose(Join(Remarks(attribute), "; "))});
    }
    AddTable({"Parameter", "Type", "", ""}, rows);
    if (route.body) AddFields(route.model, "Body", route.body->fields);
    rows.clear();
    for (const RouteReply& reply : route.replies)
      rows.push_back({std::to_string(reply.status), InCode(reply.text)});
    for (const RouteError& error : route.errors)
      rows.push_back({std::to_string(error.status), Cat(InCode(error.name), " ", Prose(error.when))});
    AddTable({"Status", "Answer"}, rows);
    lines_.Close("</section>");
  }

  void AddRecords(const Model& model) {
    lines_.Add("<h2>Schemas</h2>");
    for (const Shape& shape : Shapes(model)) {
      lines_.Open(Cat("<section id=\"", Anchor(model, shape.name), "\">"));
      lines_.Add(Cat("<h3>", Link(Anchor(model, shape.name), shape.name), "</h3>"));
      if (!shape.title.empty()) lines_.Add(Cat("<p>", Prose(shape.title), ".</p>"));
      AddFields(&model, "Field", shape.entity == nullptr ? *shape.fields : ReadAttributes(*shape.entity));
      lines_.Close("</section>");
    }
  }

  const std::vector<const Model*>& models_;
  const std::string_view version_;
  const std::vector<Route> routes_;
  Lines lines_{0};
};

}  // namespace

std::string ReferencePage(const std::vector<const Model*>& models, const std::string& version,
                          std::string_view style) {
  return Page(models, version).Write(style);
}

std::string_view ReferenceStyle() {
  return kStyle;
}

}  // namespace holdfast::model::generate
