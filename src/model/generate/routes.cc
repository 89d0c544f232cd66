#include "model/generate/routes.h"

#include <algorithm>

#include "model/command.h"
#include "model/generate/command_facts.h"
#include "model/generate/describe.h"
#include "model/generate/json_schema.h"
#include "model/generate/repository_plan.h"
#include "model/refusal.h"

namespace holdfast::model::generate {
namespace {

using In = RouteParameter::In;

Attribute Declare(std::string name, Kind kind, std::string description) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.kind = kind;
  attribute.description = std::move(description);
  return attribute;
}

// An attribute that a caller gives: what the server makes of its absence is said in words, since many
// generators of clients take a default for something that is always there.
Attribute Given(const Model& model, Attribute attribute) {
  std::vector<std::string> notes;
  if (!attribute.description.empty()) notes.push_back(attribute.description);
  if (attribute.default_value)
    notes.push_back(Cat("default ", Node(*attribute.default_value).Spell(Node::Style::kJson)));
  if (attribute.default_from) notes.push_back(Cat("default ", ComputedText(*attribute.default_from)));
  bool filled = model.FillsTenant() && attribute.name == model.tenant;
  if (filled) notes.emplace_back("the token's tenant unless told");
  if (attribute.kind == Kind::kEncrypted) {
    notes.emplace_back("a text or a map; it is stored encrypted");
    attribute.kind = Kind::kAny;
  }
  if (attribute.default_value || attribute.default_from || filled) attribute.required = false;
  attribute.description = Join(notes, "; ");
  attribute.default_value.reset();
  attribute.default_from.reset();
  return attribute;
}

// --- errors ---

struct KnownError {
  std::string_view name;
  std::string_view when;
  int status = 0;  // 0: the catalogue's
};
constexpr KnownError kKnownErrors[] = {
    {"ValidationError",
     "a field or parameter is wrong; `details.violations` lists path, rule and what was given"},
    {"InvalidCursor", "the cursor is not of this request"},
    {"Unauthenticated", "there is no token, or it is not valid"},
    {"Forbidden", "the token's role may not do this"},
    {"NotFound", "it is not there, has expired, or is somebody else's"},
    {"MethodNotAllowed", "it would write: ask with `explain=true`", 405},
    {"AlreadyExists", "there is one with this key"},
    {"IllegalTransition", "the state machine does not allow it; `details.allowed` lists what it allows"},
    {"VersionConflict", "the stored version is another one: `details.current`"},
    {"Conflict", "others kept changing what it relies on; try again"},
    {"Gone", "the connection is no longer there"},
    {"ItemTooLarge", "an item would be larger than 400 KB"},
    {"TransactionTooLarge", "more than 100 items or 4 MB in one transaction"},
    {"ResultTooLarge", "the result is sorted as a whole, and more than 20,000 items"},
    {"BodyTooLarge", "the body is larger than the server takes", 413},
    {"UnsupportedMediaType", "the body is not application/json", 415},
    {"SchemaInvalid", "a map breaks its schema; `details.violations` lists the paths"},
    {"RuleViolation", "an item breaks a rule of its entity"},
    {"IdempotencyMismatch", "the Idempotency-Key came before with another body"},
    {"Throttled", "too many requests"},
    {"Internal", "a defect or a failure of the store"},
    {"Unavailable", "a table is missing or the store cannot be used"},
    {"NotConfigured", "no master key or embedder is configured"},
};

// A message as the file has it, with its {paths}.
std::string TextOf(const Expression& message) {
  bool plain =
      message.kind == Expression::Kind::kLiteral && message.literal.type() == AttributeValue::Type::kString;
  return plain ? message.literal.AsText() : message.pattern.ToText();
}

class Errors {
 public:
  explicit Errors(std::initializer_list<std::string_view> names) {
    for (std::string_view name : {"ValidationError", "Unauthenticated", "Forbidden"}) Add(name);
    for (std::string_view name : names) Add(name);
  }

  // Without `status` it is the catalogue's.
  Errors& Add(std::string_view name, std::string when = {}, int status = 0) {
    bool there =
        std::any_of(errors_.begin(), errors_.end(), [&](const RouteError& e) { return e.name == name; });
    if (there) return *this;
    const auto* known = std::find_if(std::begin(kKnownErrors), std::end(kKnownErrors),
                                     [&](const KnownError& error) { return error.name == name; });
    if (known != std::end(kKnownErrors)) {
      if (when.empty()) when = known->when;
      if (status == 0) status = known->status;
    }
    if (status == 0) status = Refuse(name, "").detail()->refusal.http_status;
    errors_.push_back({std::string(name), status, std::move(when)});
    return *this;
  }
  Errors& AddBody() { return Add("BodyTooLarge").Add("UnsupportedMediaType"); }
  Errors& AddIf(bool add, std::string_view name) { return add ? Add(name) : *this; }

  // What a write of this entity is judged by.
  Errors& AddRules(const Entity& entity) {
    AddIf(!entity.checks.empty(), "RuleViolation");
    for (const Attribute& attribute : entity.attributes) {
      AddIf(!attribute.schema.empty() || !attribute.schema_by.empty(), "SchemaInvalid");
      AddIf(attribute.kind == Kind::kEncrypted || !attribute.embed_from.empty(), "NotConfigured");
    }
    AddIf(entity.machine != nullptr, "IllegalTransition");
    return AddIf(!entity.parents.empty(), "NotFound").Add("ItemTooLarge").Add("Conflict").AddBody();
  }

  // By status, those of one status in the order in which they were added.
  std::vector<RouteError> Take() {
    for (std::string_view name : {"Throttled", "Internal", "Unavailable"}) Add(name);
    std::stable_sort(errors_.begin(), errors_.end(),
                     [](const RouteError& a, const RouteError& b) { return a.status < b.status; });
    return std::move(errors_);
  }

 private:
  std::vector<RouteError> errors_;
};

// --- replies ---

Node Warnings() {
  return Node::Map().Set("type", "array").Set("items", Node::Map().Set("$ref", Cat(kSchemas, "Warning")));
}

Node Object(Node properties, const std::vector<std::string>& required) {
  return Node::Map()
      .Set("type", "object")
      .Set("properties", std::move(properties))
      .Set("required", Node::List(required));
}

Node ListOf(Node element) {
  return Node::Map().Set("type", "array").Set("items", std::move(element));
}

Node Page(Node element) {
  return Object(Node::Map()
                    .Set("items", ListOf(std::move(element)))
                    .Set("count", Node::Map().Set("type", "integer"))
                    .Set("cursor", Node::Map().Set("type", "string").Set("description", "there is more")),
                {"items", "count"});
}

RouteReply ItemReply(int status, const SchemaWriter& writer, const Entity& entity) {
  Node item = writer.Reference(EntityTypeName(entity));
  return {status, Cat("{\"item\": ", entity.name, ", \"warnings\"?: […]}"),
          Object(Node::Map().Set("item", std::move(item)).Set("warnings", Warnings()), {"item"})};
}

// --- the routes of one model ---

class ModelRoutes {
 public:
  ModelRoutes(const Model& model, std::vector<Route>* routes)
      : model_(model),
        base_("/v1/" + model.name),
        prefix_(SchemaPrefix(model)),
        writer_(model, Cat(kSchemas, prefix_), SchemaWriter::For::kClients),
        routes_(*routes) {}

  void Add() {
    Start("GET", base_, "Describe", "The model", "What the caller may use of the model").replies = {
        {200, "{\"name\", \"title\", \"version\", \"entities\", \"patterns\", \"commands\"}",
         Node::Map().Set("$ref", Cat(kSchemas, "Model"))}};
    Last().errors = Errors({"NotFound"}).Take();
    for (const auto& command : model_.commands) {
      if (!command->internal) AddCommand(*command);
    }
    for (const auto& pattern : model_.patterns) AddPattern(*pattern);
    for (const auto& entity : model_.entities) AddEntity(*entity);
    AddTransact();
  }

 private:
  Route& Last() { return routes_.back(); }

  Route& Start(std::string method, std::string path, const std::string& id, std::string group,
               std::string title) {
    Route route;
    route.method = std::move(method);
    route.path = std::move(path);
    route.id = ClientName(id);
    route.model = &model_;
    route.group = std::move(group);
    route.title = std::move(title);
    routes_.push_back(std::move(route));
    return Last();
  }

  // pmProjectCreate; with a number where another method has that name.
  std::string ClientName(const std::string& id) const {
    std::string wanted = prefix_ + id;
    wanted[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(wanted[0])));
    std::string name = wanted;
    auto taken = [&](const Route& route) { return route.id == name; };
    for (int i = 2; std::any_of(routes_.begin(), routes_.end(), taken); ++i)
      name = wanted + std::to_string(i);
    return name;
  }

  void Take(In in, Attribute attribute) { Last().parameters.push_back({in, std::move(attribute)}); }
  void TakePage() {
    Attribute limit = Declare("limit", Kind::kNumber, "how many to a page");
    limit.min = 1;
    limit.max = 1000;
    Take(In::kQuery, std::move(limit));
    Take(In::kQuery, Declare("cursor", Kind::kString, "where the page before ended"));
  }
  void TakeIdempotencyKey() {
    Take(In::kHeader, Declare("Idempotency-Key", Kind::kString,
                              "the same key and body again give the first answer, and write nothing"));
  }

  // --- commands ---

  void AddCommand(const Command& command) {
    CommandFacts facts = FactsOf(model_, command);
    std::string name = PascalName(command.name);
    Start("POST", Cat(base_, "/commands/", command.name), name, "Commands",
          command.title.empty() ? command.name : command.title);
    std::vector<std::string> roles = RolesOf(model_, command);
    if (!command.id.empty()) Last().notes.push_back(command.id + ".");
    if (!command.description.empty()) Last().notes.push_back(command.description);
    if (!roles.empty()) Last().notes.push_back(Cat("For ", Join(roles, ", "), "."));
    TakeIdempotencyKey();
    RouteBody body{Cat(prefix_, name, "Input"), {}};
    std::vector<std::string> order = command.input_order;
    if (order.empty())
      for (const Attribute& input : command.inputs) order.push_back(input.name);
    for (const std::string& input : order) {
      if (const Attribute* attribute = FindAttribute(command.inputs, input))
        body.fields.push_back(Given(model_, *attribute));
    }
    Last().body = std::move(body);
    std::string result =
        facts.result.empty() ? "{…}" : JoinAll(facts.result, " | ", [](const Entity* e) { return e->name; });
    std::string text = Cat("{\"result\": ", result, ", \"warnings\"?: […], \"emitted\"?: […]}");
    auto schema = [&] {
      return Object(Node::Map()
                        .Set("result", ResultSchema(model_, command, writer_))
                        .Set("warnings", Warnings())
                        .Set("emitted", ListOf(Node::Map().Set("$ref", Cat(kSchemas, "Emitted")))),
                    {"result"});
    };
    Last().replies.push_back({200, text, schema()});
    if (facts.creates_first || command.handler) Last().replies.push_back({201, text, schema()});
    Last().errors = CommandErrors(command, facts);
  }

  std::vector<RouteError> CommandErrors(const Command& command, const CommandFacts& facts) const {
    Errors errors({});
    bool must_find = std::any_of(command.reads.begin(), command.reads.end(),
                                 [](const CommandRead& read) { return !read.optional; });
    for (const Refusal& refusal : command.refusals)
      errors.Add(refusal.name, TextOf(refusal.message), refusal.http_status);
    errors.AddIf(must_find || command.handler, "NotFound");
    for (const Entity* entity : facts.written) errors.AddRules(*entity);
    errors.AddIf(facts.creates, "AlreadyExists").AddIf(facts.expects, "VersionConflict");
    for (const std::string& name : command.errors) errors.Add(name);
    return errors.Add("Conflict").Add("TransactionTooLarge").Add("IdempotencyMismatch").AddBody().Take();
  }

  // --- patterns ---

  void AddPattern(const Pattern& pattern) {
    Start("GET", Cat(base_, "/patterns/", pattern.id), "Pattern" + PascalName(pattern.id), "Access patterns",
          pattern.title.empty() ? pattern.id : pattern.title);
    for (const Attribute& param : pattern.params) Take(In::kQuery, Given(model_, param));
    Attribute explain = Declare("explain", Kind::kBool, "with the operations on tables that it takes");
    if (pattern.writes()) {
      Last().notes.emplace_back("It writes, so it can only be explained here: commands and entities write.");
      explain.required = true;
      Take(In::kQuery, std::move(explain));
      Last().replies.push_back({200, "{\"items\": [], \"count\": 0, \"plan\": […]}", Answer(pattern)});
      Last().errors = Errors({"NotFound", "MethodNotAllowed"}).Take();
      return;
    }
    TakePage();
    Take(In::kQuery, std::move(explain));
    std::vector<const Entity*> entities = EntitiesOf(pattern);
    std::string names = JoinAll(entities, " | ", [](const Entity* entity) { return entity->name; });
    std::string text = Cat("{\"items\": [", names, "], \"count\": n, \"cursor\"?, \"plan\"?");
    if (SearchOf(pattern) != nullptr) text += ", \"similarities\"?";
    if (IsBundle(pattern)) text += ", \"parts\"?";
    Last().replies.push_back({200, text + "}", Answer(pattern)});
    Last().errors = Errors({"InvalidCursor", "NotFound"})
                        .AddIf(!pattern.sort.empty(), "ResultTooLarge")
                        .AddIf(SearchOf(pattern) != nullptr, "NotConfigured")
                        .Take();
  }

  static bool IsBundle(const Pattern& pattern) {
    return std::any_of(pattern.cases.begin(), pattern.cases.end(),
                       [](const Case& one) { return !one.bundle.empty(); });
  }

  static const Search* SearchOf(const Pattern& pattern) {
    for (const Case& one : pattern.cases) {
      for (const Step& step : one.steps) {
        if (step.search) return &*step.search;
      }
    }
    return nullptr;
  }

  static std::vector<const Entity*> EntitiesOf(const Pattern& pattern) {
    std::vector<const Entity*> entities;
    auto add = [&](const Entity* entity) {
      if (entity != nullptr && std::find(entities.begin(), entities.end(), entity) == entities.end())
        entities.push_back(entity);
    };
    for (const Case& one : pattern.cases) {
      for (const Step& step : one.steps) {
        for (const Entity* entity : step.returns) add(entity);
        if (step.search) add(step.search->entity);
      }
    }
    return entities;
  }

  // An entity as the pattern gives it, which may be less than all of it.
  Node Element(const Pattern& pattern, const Entity& entity) const {
    const Search* search = SearchOf(pattern);
    bool partly = search != nullptr && !search->select.empty();
    for (const Case& one : pattern.cases) {
      for (const Step& step : one.steps)
        partly = partly || (step.index != nullptr && step.index->projection != "ALL");
    }
    if (!partly) return writer_.Reference(EntityTypeName(entity));
    std::vector<Attribute> attributes = ReadAttributes(entity);
    for (Attribute& attribute : attributes) {
      attribute.required = false;
      attribute.default_value.reset();
    }
    return writer_.Record(attributes);
  }

  Node Answer(const Pattern& pattern) const {
    Node elements = Node::List();
    std::vector<const Entity*> entities = EntitiesOf(pattern);
    for (const Entity* entity : entities) elements.Add(Element(pattern, *entity));
    Node element = entities.size() == 1 ? Element(pattern, *entities[0])
                   : entities.empty()   ? Node::Map()
                                        : Node::Map().Set("anyOf", std::move(elements));
    Node properties =
        Node::Map()
            .Set("items", ListOf(std::move(element)))
            .Set("count", Node::Map().Set("type", "integer"))
            .Set("cursor", Node::Map().Set("type", "string").Set("description", "there is more"))
            .Set("plan", ListOf(Node::Map().Set("type", "string")))
            .Set("warnings", Warnings());
    if (SearchOf(pattern) != nullptr)
      properties.Set("similarities", ListOf(Node::Map().Set("type", "number")));
    if (IsBundle(pattern)) {
      Node parts = Node::Map();
      for (const Case& one : pattern.cases) {
        for (const auto& [name, other] : one.bundle) {
          if (const Pattern* part = model_.FindPattern(other)) parts.Set(name, Answer(*part));
        }
      }
      properties.Set("parts", Node::Map().Set("type", "object").Set("properties", std::move(parts)));
    }
    return Object(std::move(properties), {"items", "count"});
  }

  // --- entities ---

  Route& StartEntity(std::string method, std::string_view verb, const Entity& entity,
                     std::string_view title) {
    Start(std::move(method), Cat(base_, "/entities/", entity.name), Cat(verb, EntityTypeName(entity)),
          "Entities", Cat(title, entity.name));
    if (!entity.title.empty()) Last().notes.push_back(entity.title + ".");
    if (entity.command_only && Last().method != "GET")
      Last().notes.emplace_back("For administrators: others write it by commands.");
    return Last();
  }

  void TakeKey(const Entity& entity) {
    for (const std::string& name : entity.KeyInputs()) {
      const Attribute* attribute = entity.Find(name);
      Attribute given = Given(model_, attribute == nullptr ? Declare(name, Kind::kString, "") : *attribute);
      given.required = !model_.FillsTenant() || name != model_.tenant;
      given.description.clear();
      Take(In::kQuery, std::move(given));
    }
  }

  void TakeVersion(const Entity& entity, bool if_match) {
    if (entity.version.empty()) return;
    Attribute expected = *entity.Find(entity.version);
    expected = Declare("expectedVersion", expected.kind, Cat("only if this is the stored ", entity.version));
    Take(In::kQuery, expected);
    if (if_match) Take(In::kHeader, Declare("If-Match", Kind::kString, "the same as expectedVersion"));
  }

  // The sets of attributes by which the entity can be listed.
  void TakePartitions(const Entity& entity) {
    std::vector<std::string> names;
    std::vector<std::string> ways;
    auto add = [&](const std::vector<KeyPart>& parts, size_t hashes, const std::string& where) {
      std::vector<std::string> needed;
      for (size_t i = 0; i < parts.size(); ++i) {
        for (const Template& one : parts[i].templates) {
          for (const std::string& name : one.Names()) {
            if (!Contains(names, name)) names.push_back(name);
            if (i < hashes && !Contains(needed, name)) needed.push_back(name);
          }
        }
      }
      ways.push_back(Cat(needed.empty() ? "nothing" : Join(needed, ", "), where));
    };
    add(entity.key, 1, "");
    for (const IndexKey& index : entity.indexes)
      add(index.parts, index.index->hash.size(), Cat(" (", index.index->name, ")"));
    Last().notes.push_back(Cat("By ", Join(ways, " or "), "; with the whole key (",
                               Join(entity.KeyInputs(), ", "), ") the one item."));
    for (const std::string& name : names) {
      const Attribute* attribute = entity.Find(name);
      if (attribute == nullptr) continue;
      Attribute given = Given(model_, *attribute);
      given.required = false;
      given.description.clear();
      Take(In::kQuery, std::move(given));
    }
    TakePage();
  }

  // The fields that a caller gives: all that are not computed or, of a change, that are not fixed.
  std::vector<Attribute> Fields(const Entity& entity, bool change) const {
    RepositoryPlan plan = PlanRepository(model_, entity);
    std::vector<Attribute> fields;
    for (const Attribute& attribute : entity.attributes) {
      if (Contains(change ? plan.fixed : plan.computed, attribute.name)) continue;
      if (attribute.name == entity.version && attribute.kind == Kind::kNumber) continue;
      Attribute field = attribute;
      if (change) {
        field.required = false;
        field.default_value.reset();
        field.default_from.reset();
      }
      fields.push_back(Given(model_, std::move(field)));
    }
    return fields;
  }

  void AddEntity(const Entity& entity) {
    std::string type = prefix_ + EntityTypeName(entity);
    StartEntity("GET", "List", entity, "Find ");
    TakePartitions(entity);
    Node either = Node::List();
    Node element = writer_.Reference(EntityTypeName(entity));
    either.Add(Page(element)).Add(Object(Node::Map().Set("item", element), {"item"}));
    Last().replies.push_back(
        {200,
         Cat("{\"items\": [", entity.name, "], \"count\": n, \"cursor\"?}, or {\"item\": ", entity.name, "}"),
         Node::Map().Set("anyOf", std::move(either))});
    Last().errors = Errors({"InvalidCursor", "NotFound"}).Take();

    StartEntity("POST", "Create", entity, "Create ");
    Last().body = RouteBody{type + "New", Fields(entity, false)};
    Last().replies.push_back(ItemReply(201, writer_, entity));
    Last().errors = Errors({"AlreadyExists"}).AddRules(entity).Take();
    if (entity.append_only) return;

    StartEntity("PUT", "Replace", entity, "Create or replace ");
    TakeVersion(entity, true);
    Last().body = RouteBody{type + "New", Fields(entity, false)};
    Last().replies = {ItemReply(200, writer_, entity), ItemReply(201, writer_, entity)};
    Last().errors = Errors({}).AddIf(!entity.version.empty(), "VersionConflict").AddRules(entity).Take();

    StartEntity("PATCH", "Patch", entity, "Change ");
    TakeKey(entity);
    TakeVersion(entity, true);
    Last().body = RouteBody{type + "Changes", Fields(entity, true), true};
    Last().replies.push_back(ItemReply(200, writer_, entity));
    Last().errors =
        Errors({"NotFound"}).AddIf(!entity.version.empty(), "VersionConflict").AddRules(entity).Take();

    StartEntity("DELETE", "Delete", entity, "Delete ");
    TakeKey(entity);
    TakeVersion(entity, true);
    Last().replies.push_back({204, "nothing", std::nullopt});
    Last().errors =
        Errors({"NotFound"}).AddIf(!entity.version.empty(), "VersionConflict").Add("Conflict").Take();
  }

  // --- transactions ---

  void AddTransact() {
    Start("POST", base_ + "/transact", "Transact", "Transactions", "Several writes in one transaction");
    Last().notes.emplace_back(
        "Up to 100 entries, each under its entity's own rules; what refuses one refuses all, and "
        "`details.index` says which. Entries are {\"put\": Entity, \"item\"}, {\"patch\": Entity, \"key\", "
        "\"changes\", \"expectedVersion\"?, \"that\"?}, {\"delete\": Entity, \"key\", \"expectedVersion\"?, "
        "\"that\"?} and {\"check\": Entity, \"key\", \"that\"}.");
    TakeIdempotencyKey();
    Attribute entries = Declare("entries", Kind::kList, "");
    entries.required = true;
    entries.min = 1;
    entries.max = 100;
    auto element = std::make_shared<Attribute>(Declare("entry", Kind::kMap, ""));
    element->has_fields = true;
    for (const char* form : {"put", "patch", "delete", "check"}) {
      Attribute entity = Declare(form, Kind::kString, "an entity");
      for (const auto& one : model_.entities) entity.choices.push_back(one->name);
      element->fields.push_back(std::move(entity));
    }
    for (const char* map : {"item", "key", "changes"})
      element->fields.push_back(Declare(map, Kind::kMap, ""));
    element->fields.push_back(Declare("expectedVersion", Kind::kAny, "only if this is the stored version"));
    element->fields.push_back(Declare("that", Kind::kString, "a condition that the stored item must fulfil"));
    entries.items = std::move(element);
    Last().body = RouteBody{prefix_ + "Transaction", {std::move(entries)}};
    Node item = Node::Map().Set("type", Node::List({"object", "null"})).Set("additionalProperties", true);
    Last().replies.push_back(
        {200, "{\"items\": [item or null, …], \"warnings\"?: […]}",
         Object(Node::Map().Set("items", ListOf(std::move(item))).Set("warnings", Warnings()), {"items"})});
    Errors errors({"NotFound", "AlreadyExists", "VersionConflict", "Conflict", "TransactionTooLarge",
                   "RuleViolation", "IdempotencyMismatch"});
    for (const auto& entity : model_.entities) errors.AddRules(*entity);
    Last().errors = errors.Take();
  }

  const Model& model_;
  const std::string base_;
  const std::string prefix_;
  const SchemaWriter writer_;
  std::vector<Route>& routes_;
};

Route ServerRoute(std::string method, std::string path, std::string id, std::string title, RouteReply reply) {
  Route route;
  route.method = std::move(method);
  route.path = std::move(path);
  route.id = std::move(id);
  route.group = "The server";
  route.title = std::move(title);
  route.replies.push_back(std::move(reply));
  return route;
}

// --- agents (docs/agents.md) ---

struct AgentRoute {
  std::string_view method;
  std::string_view path;  // after /v1; what is in braces is a parameter
  std::string_view id;
  std::string_view title;
  std::string_view query;  // names
  std::string_view body;   // names of fields, ! after those that must be there; empty: none
  std::string_view reply;  // names of members
  int status = 200;
};
constexpr AgentRoute kAgentRoutes[] = {
    {"POST", "/sessions/{session}/events", "appendEvent", "Say something", "", "id type! payload!",
     "seq id duplicate", 201},
    {"GET", "/sessions/{session}/events", "listEvents", "Events in order", "after limit id", "",
     "items next"},
    {"GET", "/sessions/{session}/events/{seq}", "getEvent", "One event", "", "",
     "id session_key seq type payload created_at"},
    {"GET", "/sessions/{session}", "getSession", "How far a session is", "", "",
     "session_key state last_seq event_seq checkpoint_id last_n epoch owner updated_at"},
    {"DELETE", "/sessions/{session}", "deleteSession", "Remove a session", "", "", "state"},
    {"GET", "/sessions/{session}/messages", "listMessages", "Messages in order", "after limit", "",
     "items next"},
    {"GET", "/sessions/{session}/effects", "listEffects", "What workers asked for, and what became of it",
     "status checkpoint", "", "items"},
    {"GET", "/sessions/{session}/effects/{seq}/{i}", "getEffect", "One effect", "", "",
     "id type payload status"},
    {"GET", "/sessions/{session}/timers", "listTimers", "Timers", "status", "", "items"},
    {"DELETE", "/sessions/{session}/timers", "cancelTimers", "Cancel all pending timers", "", "",
     "cancelled"},
    {"DELETE", "/sessions/{session}/timers/{timer}", "cancelTimer", "Cancel a timer", "", "", "cancelled"},
    {"GET", "/sessions/{session}/checkpoints/{seq}", "getCheckpoint", "A state; `latest` is the newest", "",
     "", "id state metadata decisions created_at"},
    {"POST", "/sessions/{session}/pause", "pauseSession", "Hand out no more work", "", "", "state"},
    {"POST", "/sessions/{session}/resume", "resumeSession", "Go on, from paused or blocked", "", "", "state"},
    {"POST", "/sessions/{session}/cancel", "cancelTurn", "Ask the running turn to stop", "", "", ""},
    {"POST", "/work/claim", "claimWork", "Wait for sessions that have events", "",
     "worker! req agents! max lease_ms wait_ms", "work"},
    {"POST", "/work/commit", "commitWork", "Commit a turn: its state and its effects", "",
     "session! epoch! upto! token! checkpoint effects usage then", "seq messages suppressed next"},
    {"POST", "/work/heartbeat", "heartbeat", "Keep leases alive", "", "leases!", "ok lost cancel"},
    {"POST", "/work/release", "releaseWork", "Give a session back", "",
     "session! epoch! error retry_after_ms", ""},
    {"GET", "/agents/{agent}/policy", "getPolicy", "An agent's policy", "", "", "cap cooldown_ms"},
    {"PUT", "/agents/{agent}/policy", "putPolicy", "Set an agent's policy", "",
     "cap cooldown_ms on_cap on_cooldown on_superseded allow_equal debounce_ms interrupt turn_max_ms "
     "on_poison schema",
     "cap cooldown_ms"},
    {"GET", "/agents/autonomy", "getAutonomy", "Whether agents may act on their own", "", "",
     "enabled by at forced_off"},
    {"PUT", "/agents/autonomy", "setAutonomy", "Let agents act on their own, or not", "", "enabled!",
     "enabled"},
    {"GET", "/dead-letters", "listDeadLetters", "What was given up", "after limit", "", "items next"},
    {"POST", "/dead-letters/{id}/redrive", "redrive", "Try it anew", "", "", ""},
};

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

Route RouteOf(const AgentRoute& agent) {
  Node members = Node::Map();
  std::string text;
  for (const std::string& member : Words(agent.reply)) {
    members.Set(member, Node::Map());
    text.append(text.empty() ? "{\"" : ", \"").append(member).append("\"");
  }
  Route route = ServerRoute(std::string(agent.method), Cat("/v1", agent.path), std::string(agent.id),
                            std::string(agent.title),
                            {agent.status, text.empty() ? "{}" : text + "}", Object(std::move(members), {})});
  route.group = "Agents";
  std::string_view path = agent.path;
  for (size_t open = path.find('{'); open != std::string_view::npos; open = path.find('{', open + 1)) {
    Attribute parameter =
        Declare(std::string(path.substr(open + 1, path.find('}', open) - open - 1)), Kind::kString, "");
    parameter.required = true;
    route.parameters.push_back({In::kPath, std::move(parameter)});
  }
  for (const std::string& name : Words(agent.query))
    route.parameters.push_back({In::kQuery, Declare(name, Kind::kString, "")});
  Errors errors({"NotFound"});
  if (!agent.body.empty()) {
    std::vector<Attribute> fields;
    for (std::string name : Words(agent.body)) {
      bool required = name.ends_with('!');
      if (required) name.pop_back();
      fields.push_back(Declare(name, Kind::kAny, ""));
      fields.back().required = required;
    }
    std::string schema(agent.id);
    schema[0] = static_cast<char>(schema[0] - 'a' + 'A');
    route.body = RouteBody{"Agent" + schema, std::move(fields)};
    errors.Add("Fenced")
        .Add("Rejected")
        .Add("Gone")
        .Add("TransactionTooLarge")
        .Add("ReservedEventType")
        .AddBody();
  }
  route.errors = errors.Take();
  return route;
}

}  // namespace

bool RouteParameter::is_json() const {
  std::string_view stored = StoredType(attribute.kind);
  return stored.empty() || stored == "M" || stored == "L" || stored == "SS" || stored == "NS";
}

std::string SchemaPrefix(const Model& model) {
  return PascalName(model.name);
}

std::vector<Attribute> ReadAttributes(const Entity& entity) {
  std::vector<Attribute> attributes = entity.attributes;
  for (Attribute& attribute : attributes) {
    if (attribute.kind != Kind::kEncrypted) continue;
    attribute.kind = Kind::kBool;
    attribute.description += attribute.description.empty() ? "whether it is set" : "; whether it is set";
  }
  return attributes;
}

std::vector<Route> RoutesOf(const std::vector<const Model*>& models) {
  std::vector<Route> routes;
  Node list = ListOf(Node::Map().Set("$ref", Cat(kSchemas, "Model")));
  routes.push_back(
      ServerRoute("GET", "/v1/models", "listModels", "What the caller may use of all models",
                  {200, "{\"models\": […]}", Object(Node::Map().Set("models", list), {"models"})}));
  routes.back().errors = Errors({}).Take();
  routes.push_back(ServerRoute(
      "GET", "/v1/alarms", "listAlarms", "The server's alarms and their history, for administrators",
      {200, "{\"alarms\": […]}",
       Object(Node::Map().Set("alarms", ListOf(Node::Map().Set("type", "object"))), {"alarms"})}));
  routes.back().errors = Errors({"NotConfigured"}).Take();
  routes.push_back(ServerRoute("POST", "/v1/connections/{id}", "sendToConnection",
                               "Send the body to an open WebSocket",
                               {200, "{}", Node::Map().Set("type", "object")}));
  Attribute id = Declare("id", Kind::kString, "the connectionId that its first message said");
  id.required = true;
  routes.back().parameters.push_back({In::kPath, std::move(id)});
  routes.back().body = RouteBody{"Message", {}};
  routes.back().errors = Errors({"Gone"}).AddBody().Take();
  for (const AgentRoute& agent : kAgentRoutes) routes.push_back(RouteOf(agent));
  for (const Model* model : models) ModelRoutes(*model, &routes).Add();
  return routes;
}

}  // namespace holdfast::model::generate
