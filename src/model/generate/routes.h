// What can be asked of a server over HTTP for a set of models: the data behind the OpenAPI document and the
// page at /docs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/generate/text.h"
#include "model/model.h"

namespace holdfast::model::generate {

struct RouteParameter {
  enum class In : unsigned char { kQuery, kHeader, kPath };
  In in = In::kQuery;
  Attribute attribute;

  // Maps, lists and the like are given as JSON.
  bool is_json() const;
};

struct RouteBody {
  std::string name;  // of its schema
  std::vector<Attribute> fields;
  bool changes = false;  // NULL removes a field
};

struct RouteReply {
  int status = 200;
  std::string text;            // what a reader sees: {"item": Project}
  std::optional<Node> schema;  // of the JSON, if there is any
};

// A refusal that a route can answer with.
struct RouteError {
  std::string name;
  int status = 500;
  std::string when;
};

struct Route {
  std::string method;
  std::string path;
  std::string id;                // the name of a client's method
  const Model* model = nullptr;  // null: of the server
  std::string group;             // Entities, Access patterns, …
  std::string title;
  std::vector<std::string> notes;
  std::vector<RouteParameter> parameters;
  std::optional<RouteBody> body;
  std::vector<RouteReply> replies;
  std::vector<RouteError> errors;
};

// In the order of a page: by model, then by group.
std::vector<Route> RoutesOf(const std::vector<const Model*>& models);

// Where schemas stand in an OpenAPI document.
inline constexpr std::string_view kSchemas = "#/components/schemas/";
// Pm, for the model pm: what the names of its schemas begin with.
std::string SchemaPrefix(const Model& model);
// An entity's attributes as they are read: of encrypted ones, whether they are set.
std::vector<Attribute> ReadAttributes(const Entity& entity);

}  // namespace holdfast::model::generate
