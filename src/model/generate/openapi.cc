#include "model/generate/openapi.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/generate/json_schema.h"
#include "model/generate/routes.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

constexpr std::string_view kDescription =
    "Applications described by models: their commands, access patterns and entities as plain JSON.\n\n"
    "Every request carries a token: `Authorization: Bearer …`. Its role decides what may be done, its tenant "
    "whose data "
    "is seen. What is refused answers `{\"error\", \"message\", \"requestId\", \"details\"}`; `error` is one "
    "of the names "
    "that the route lists. A page with a `cursor` has a next one: ask again with it. Changes are pushed by a "
    "WebSocket at `/v1/{model}/ws`.";

Node Typed(std::string_view type) {
  return Node::Map().Set("type", type);
}

Node Json(Node schema) {
  return Node::Map().Set("application/json", Node::Map().Set("schema", std::move(schema)));
}

Node Named(std::string_view name) {
  return Node::Map().Set("$ref", Cat(kSchemas, name));
}

Node Texts(std::initializer_list<std::string_view> names) {
  Node properties = Node::Map();
  for (std::string_view name : names) properties.Set(name, Typed("string"));
  return properties;
}

Node Object(Node properties, const std::vector<std::string>& required) {
  return Typed("object").Set("properties", std::move(properties)).Set("required", Node::List(required));
}

Node AnyObject() {
  return Typed("object").Set("additionalProperties", true);
}

// What all models share.
void AddCommonSchemas(Node* schemas) {
  schemas->Set("Error", Object(Texts({"error", "message", "requestId"}).Set("details", AnyObject()),
                               {"error", "message"}));
  schemas->Set("Warning", Object(Texts({"path", "message"}), {"path", "message"}));
  schemas->Set("Emitted", Object(Texts({"name"}).Set("body", AnyObject()), {"name", "body"}));
  Node objects = Typed("array").Set("items", AnyObject());
  schemas->Set("Model", Object(Texts({"name", "title"})
                                   .Set("version", Typed("integer"))
                                   .Set("entities", objects)
                                   .Set("patterns", objects)
                                   .Set("commands", objects),
                               {"name", "version", "entities", "patterns", "commands"}));
}

// A value that the attribute takes, where the model says enough to name one.
std::optional<Node> ExampleOf(const Attribute& attribute) {
  if (!attribute.choices.empty()) return Node(attribute.choices[0]);
  if (!attribute.pattern.empty() || !attribute.schema.empty() || !attribute.schema_by.empty() ||
      attribute.has_fields) {
    return std::nullopt;
  }
  switch (attribute.kind) {
    case Kind::kString: return attribute.min.value_or(0) > 4 ? std::nullopt : std::optional<Node>("text");
    case Kind::kNumber: return Node(attribute.min.value_or(1));
    case Kind::kBool: return Node(true);
    case Kind::kUuid: return Node("5f0c2b1e-2f6b-4d43-9c39-6d3a7f3f3a11");
    case Kind::kUlid: return Node("01JC9Z3T4V6W8X0Y2Z4A6B8C0D");
    case Kind::kInstant: return Node("2026-02-04T10:30:00.000Z");
    case Kind::kDate: return Node("2026-02-04");
    case Kind::kMap: return Node::Map();
    case Kind::kList: return attribute.min.value_or(0) > 0 ? std::nullopt : std::optional<Node>(Node::List());
    default: return std::nullopt;
  }
}

// The least that a body can be.
std::optional<Node> ExampleOf(const RouteBody& body) {
  Node example = Node::Map();
  for (const Attribute& field : body.fields) {
    if (!field.required) continue;
    std::optional<Node> value = ExampleOf(field);
    if (!value) return std::nullopt;
    example.Set(field.name, *std::move(value));
  }
  return example.empty() ? std::nullopt : std::optional<Node>(std::move(example));
}

class Document {
 public:
  Document(const std::vector<const Model*>& models, std::string version)
      : models_(models), version_(std::move(version)) {}

  std::string Write() {
    AddCommonSchemas(&schemas_);
    Node tags = Node::List();
    for (const Model* model : models_) {
      AddSchemas(*model);
      tags.Add(Node::Map()
                   .Set("name", model->name)
                   .Set("description", model->title.empty() ? model->name : model->title));
    }
    tags.Add(Node::Map().Set("name", kServerTag).Set("description", "What is no model's own"));
    std::vector<std::pair<std::string, Node>> paths;  // each with its operations
    for (const Route& route : RoutesOf(models_)) {
      if (paths.empty() || paths.back().first != route.path) paths.emplace_back(route.path, Node::Map());
      std::string method = route.method;
      for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      paths.back().second.Set(method, Operation(route));
    }
    Node all = Node::Map();
    for (auto& [path, operations] : paths) all.Set(path, std::move(operations));
    Node bearer = Node::Map().Set("type", "http").Set("scheme", "bearer").Set("bearerFormat", "JWT");
    return Node::Map()
               .Set("openapi", "3.1.0")
               .Set("info", Node::Map()
                                .Set("title", "holdfast")
                                .Set("version", version_)
                                .Set("description", kDescription)
                                .Set("license",
                                     Node::Map().Set("name", "Apache 2.0").Set("identifier", "Apache-2.0")))
               .Set("servers", Node::List().Add(Node::Map().Set("url", "/")))
               .Set("security", Node::List().Add(Node::Map().Set("bearer", Node::List())))
               .Set("tags", std::move(tags))
               .Set("paths", std::move(all))
               .Set("components", Node::Map()
                                      .Set("schemas", std::move(schemas_))
                                      .Set("responses", std::move(responses_))
                                      .Set("securitySchemes", Node::Map().Set("bearer", std::move(bearer))))
               .Spell(Node::Style::kJson) +
           "\n";
  }

 private:
  static constexpr std::string_view kServerTag = "server";

  static SchemaWriter WriterOf(const Model& model) {
    return {model, Cat(kSchemas, SchemaPrefix(model)), SchemaWriter::For::kClients};
  }

  void AddSchemas(const Model& model) {
    SchemaWriter writer = WriterOf(model);
    auto add = [&](const std::string& name, Node record) {
      taken_.insert(SchemaPrefix(model) + name);
      schemas_.Set(SchemaPrefix(model) + name, std::move(record));
    };
    for (const auto& schema : model.schemas)
      add(SchemaTypeName(model, *schema), writer.Record(schema->fields));
    for (const auto& entity : model.entities) {
      Node record = writer.Record(ReadAttributes(*entity));
      if (!entity->title.empty()) record.Set("description", entity->title);
      Node examples = Node::List();
      for (const AttributeMap& item : entity->defaults) examples.Add(Node(AttributeValue::Map(item)));
      if (!examples.empty()) record.Set("x-defaults", std::move(examples));
      add(EntityTypeName(*entity), std::move(record));
    }
  }

  Node Operation(const Route& route) {
    const Model& model = route.model == nullptr ? no_model_ : *route.model;
    SchemaWriter writer = WriterOf(model);
    Node operation =
        Node::Map()
            .Set("operationId", route.id)
            .Set("summary", route.title)
            .Set("tags", Node::List({route.model == nullptr ? std::string(kServerTag) : model.name}));
    if (!route.notes.empty()) operation.Set("description", Join(route.notes, " "));
    Node parameters = Node::List();
    for (const RouteParameter& parameter : route.parameters) parameters.Add(ParameterNode(parameter, writer));
    if (!parameters.empty()) operation.Set("parameters", std::move(parameters));
    if (route.body) operation.Set("requestBody", BodyNode(*route.body, writer));
    return operation.Set("responses", Responses(route));
  }

  static Node ParameterNode(const RouteParameter& parameter, const SchemaWriter& writer) {
    static constexpr std::string_view kPlaces[] = {"query", "header", "path"};
    Attribute plain = parameter.attribute;
    plain.description.clear();
    Node node = Node::Map()
                    .Set("name", plain.name)
                    .Set("in", kPlaces[static_cast<size_t>(parameter.in)])
                    .Set("required", plain.required);
    if (!parameter.attribute.description.empty()) node.Set("description", parameter.attribute.description);
    Node schema = writer.Value(plain);
    return parameter.is_json() ? node.Set("content", Json(std::move(schema)))
                               : node.Set("schema", std::move(schema));
  }

  Node BodyNode(const RouteBody& body, const SchemaWriter& writer) {
    // A body named like an entity gets another name; one that several routes take is written once.
    std::string name = taken_.count(body.name) > 0 ? body.name + "Body" : body.name;
    if (bodies_.insert(name).second) schemas_.Set(name, BodySchema(body, writer));
    Node media = Node::Map().Set("schema", Named(name));
    if (std::optional<Node> example = ExampleOf(body)) media.Set("example", *std::move(example));
    return Node::Map()
        .Set("required", true)
        .Set("content", Node::Map().Set("application/json", std::move(media)));
  }

  static Node BodySchema(const RouteBody& body, const SchemaWriter& writer) {
    if (body.fields.empty() && !body.changes && body.name == "Message") return AnyObject();
    if (!body.changes) return writer.Record(body.fields).Set("additionalProperties", false);
    Node properties = Node::Map();
    for (const Attribute& field : body.fields) {
      Node either = Node::List().Add(writer.Value(field)).Add(Typed("null"));
      properties.Set(field.name, Node::Map().Set("anyOf", std::move(either)));
    }
    return Typed("object").Set("properties", std::move(properties)).Set("additionalProperties", false);
  }

  Node Responses(const Route& route) {
    Node responses = Node::Map();
    bool replays = std::any_of(
        route.parameters.begin(), route.parameters.end(),
        [](const RouteParameter& parameter) { return parameter.attribute.name == "Idempotency-Key"; });
    for (const RouteReply& reply : route.replies) {
      Node response = Node::Map().Set("description", reply.status == 201   ? "Created"
                                                     : reply.status == 204 ? "Deleted"
                                                                           : "Done");
      if (replays) {
        response.Set("headers", Header("Idempotency-Replayed", "true: the answer of an earlier request"));
      }
      if (reply.schema) response.Set("content", Json(*reply.schema));
      responses.Set(std::to_string(reply.status), std::move(response));
    }
    for (size_t i = 0; i < route.errors.size();) {
      int status = route.errors[i].status;
      std::vector<RouteError> same;
      while (i < route.errors.size() && route.errors[i].status == status) same.push_back(route.errors[i++]);
      responses.Set(std::to_string(status), Refusals(status, same));
    }
    return responses;
  }

  static Node Header(std::string_view name, std::string_view description) {
    return Node::Map().Set(name, Node::Map().Set("description", description).Set("schema", Typed("string")));
  }

  // Routes that refuse alike share a component.
  Node Refusals(int status, const std::vector<RouteError>& errors) {
    std::string description = JoinAll(errors, "; ", [](const RouteError& error) {
      return error.when.empty() ? error.name : Cat(error.name, ": ", error.when);
    });
    std::string& name = response_names_[description];
    if (name.empty()) {
      std::string wanted = JoinAll(errors, "Or", [](const RouteError& error) { return error.name; });
      name = wanted;
      for (int i = 2; !taken_responses_.insert(name).second; ++i) name = wanted + std::to_string(i);
      std::vector<std::string> names;
      for (const RouteError& error : errors) names.push_back(error.name);
      Node only = Node::Map().Set("properties",
                                  Node::Map().Set("error", Typed("string").Set("enum", Node::List(names))));
      Node response = Node::Map().Set("description", description);
      if (status == 429 || status == 503)
        response.Set("headers", Header("Retry-After", "seconds to wait before trying again"));
      response.Set("content", Json(Node::Map().Set("allOf", Node::List().Add(Named("Error")).Add(only))));
      responses_.Set(name, std::move(response));
    }
    return Node::Map().Set("$ref", "#/components/responses/" + name);
  }

  const std::vector<const Model*>& models_;
  const std::string version_;
  const Model no_model_;
  Node schemas_ = Node::Map();
  Node responses_ = Node::Map();
  std::set<std::string> taken_;   // names of schemas of models
  std::set<std::string> bodies_;  // names of schemas of bodies
  std::map<std::string, std::string> response_names_;
  std::set<std::string> taken_responses_;
};

}  // namespace

std::string OpenApiOf(const std::vector<const Model*>& models, const std::string& version) {
  return Document(models, version).Write();
}

}  // namespace holdfast::model::generate
