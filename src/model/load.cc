#include "model/load.h"

#include <algorithm>
#include <set>

#include "model/load_commands.h"
#include "model/notation.h"
#include "model/yaml_reader.h"
#include "model/yaml_value.h"

namespace holdfast::model {
namespace {

class Loader : private YamlReader {
 public:
  Loader(std::string file, const LoadOptions& options) : YamlReader(std::move(file)), options_(options) {}

  Result<std::shared_ptr<const Model>> Load(const YamlNode& root) {
    At top{root, ""};
    ReadTop(top);
    if (problems().empty()) return std::shared_ptr<const Model>(std::move(model_));
    std::string message;
    for (const std::string& problem : problems()) message += (message.empty() ? "" : "\n") + problem;
    return ValidationError(std::move(message));
  }

 private:
  // What a file may have. Its bytes alone would not bound what is made of it: each entity has the common
  // attributes, and entities are compared with each other.
  static constexpr size_t kAttributesMax = 500;
  static constexpr size_t kAllAttributesMax = 20'000;
  static constexpr size_t kCompiledMax = 200;
  static constexpr std::pair<const char*, size_t> kPartsMax[] = {
      {"tables", 64},    {"schemas", 500},   {"entities", 500}, {"patterns", 1000},
      {"machines", 500}, {"functions", 500}, {"commands", 500}, {"roles", 100}};

  // --- the parts of a file ---

  void ReadTop(const At& top) {
    if (!top.node.IsMap()) return Problem(top, "a model is a map that begins with `model: <name>`");
    OnlyKeys(top, {"model", "version", "title", "options", "tenancy", "common", "tables", "schemas",
                   "entities", "patterns", "machines", "functions", "commands", "roles"});
    for (const auto& [part, max] : kPartsMax) {
      if (!AtMost(top[part], max)) return;
    }
    model_->file = file();
    model_->name = top["model"].text();
    if (model_->name.empty()) Problem(top, "has no `model: <name>`");
    static const std::set<std::string> kReserved{"models",       "sessions", "work",        "agents",
                                                 "dead-letters", "connect",  "connections", "commands",
                                                 "transact",     "alarms"};
    if (kReserved.count(model_->name) > 0) Problem(top["model"], "the name " + model_->name + " is reserved");
    model_->version = Integer(top["version"], 1, 1, 1'000'000);
    model_->title = top["title"] ? top["title"].text() : model_->name;
    model_->stage = options_.stage;
    EachEntry(top["options"],
              [&](const std::string& name, const At& at) { model_->options[name] = Flag(at, false); });
    for (const auto& [name, value] : options_.options) {
      if (auto known = model_->options.find(name); known != model_->options.end())
        known->second = value;
      else
        Problem(top["options"] ? top["options"] : top, "has no option " + name);
    }
    OnlyKeys(top["tenancy"], {"attribute", "until"});
    model_->tenant = top["tenancy"]["attribute"].text();
    model_->tenant_until = top["tenancy"]["until"].text();

    EachEntry(top["tables"], [&](const std::string& name, const At& at) { ReadTable(name, at); });
    if (model_->tables.empty()) return Problem(top, "has no tables");
    for (const auto& table : model_->tables) {
      if (table->key.empty()) return;  // what follows rests on the tables' keys
    }
    EachEntry(top["schemas"], [&](const std::string& name, const At& at) { ReadSchema(name, at); });
    common_ = ReadAttributes(top["common"]);
    for (Attribute& attribute : common_) attribute.common = true;
    EachEntry(top["entities"], [&](const std::string& name, const At& at) { ReadEntity(name, at); });
    EachEntry(top["entities"],
              [&](const std::string& name, const At& at) { ReadParents(name, at["parent"]); });
    EachEntry(top["machines"], [&](const std::string& name, const At& at) { ReadMachine(name, at); });
    EachEntry(top["patterns"], [&](const std::string& name, const At& at) { ReadPattern(name, at); });
    for (const auto& [name, place] : schemas_named_) {
      if (model_->FindSchema(name) == nullptr) Problem(place, "no schema of this model: " + name);
    }
    ReadCommands(
        this, top, [this](const At& at) { return ReadAttributes(at); }, model_.get());
    if (problems().empty()) CheckCollisions();
    if (problems().empty()) {
      for (auto& pattern : model_->patterns) CheckPattern(*pattern);
    }
    if (problems().empty()) {
      for (auto& pattern : model_->patterns) CheckParts(*pattern);
    }
    if (problems().empty()) {
      for (auto& pattern : model_->patterns) TakeParamsOfParts(pattern.get());
    }
  }

  // {PK: S, SK: S}
  std::vector<KeyAttribute> ReadKeyAttributes(const At& at) {
    std::vector<KeyAttribute> key;
    EachEntry(at, [&](const std::string& name, const At& type) {
      std::string text = type.text();
      if (text != "S" && text != "N" && text != "B") Problem(type, "a key attribute is of type S, N or B");
      key.push_back({name, text.empty() ? 'S' : text[0]});
    });
    return key;
  }

  void ReadTable(const std::string& id, const At& at) {
    OnlyKeys(at, {"name", "key", "type_attribute", "ttl", "indexes", "vectors", "enforce", "template"});
    auto table = std::make_unique<Table>();
    table->id = id;
    table->place = PlaceOf(at);
    table->name = at["name"] ? at["name"].text() : id;
    constexpr std::string_view kStage = "{stage}";
    if (size_t stage = table->name.find(kStage); stage != std::string::npos) {
      table->name.replace(stage, kStage.size(), model_->stage);
    }
    table->key = ReadKeyAttributes(at["key"]);
    if (table->key.empty() || table->key.size() > 2) Problem(at, "needs a key of one or two attributes");
    table->type_attribute = at["type_attribute"].text();
    table->ttl = at["ttl"].text();
    EachEntry(at["indexes"],
              [&](const std::string& name, const At& index) { ReadIndex(name, index, table.get()); });
    EachEntry(at["vectors"],
              [&](const std::string& name, const At& index) { ReadVectorIndex(name, index, table.get()); });
    std::string enforce = at["enforce"] ? at["enforce"].text() : "off";
    if (enforce == "warn")
      table->enforce = Enforce::kWarn;
    else if (enforce == "strict")
      table->enforce = Enforce::kStrict;
    else if (enforce != "off" && enforce != "false")
      Problem(at["enforce"], "should be off, warn or strict");
    At more = at["template"];
    OnlyKeys(more, {"region", "pitr", "sse", "tags"});
    table->region = more["region"].text();
    table->point_in_time_recovery = Flag(more["pitr"], false);
    table->encryption = Flag(more["sse"], false);
    EachEntry(more["tags"],
              [&](const std::string& name, const At& value) { table->tags[name] = value.text(); });
    if (model_->TableNamed(table->name) != nullptr) Problem(at, "another table is called " + table->name);
    model_->tables.push_back(std::move(table));
  }

  void ReadIndex(const std::string& name, const At& at, Table* table) {
    OnlyKeys(at, {"key", "hash", "range", "projection", "scopes", "if"});
    if (at["if"]) {
      auto option = model_->options.find(at["if"].text());
      if (option == model_->options.end()) return Problem(at["if"], "no option of this model");
      if (!option->second) return;
    }
    Index index;
    index.name = name;
    index.place = PlaceOf(at);
    index.scopes = at["scopes"].text();
    if (!index.scopes.empty()) {
      const Index* scoped = table->FindIndex(index.scopes);
      if (scoped == nullptr) return Problem(at["scopes"], "no index that stands before this one");
      if (!model_->FillsTenant())
        return Problem(at["scopes"], "only a model whose `tenancy` is a whole attribute can scope an index");
      index.hash = scoped->hash;
      index.hash.push_back({model_->tenant, 'S'});
      index.range = scoped->range;
    } else if (at["key"]) {
      std::vector<KeyAttribute> key = ReadKeyAttributes(at["key"]);
      if (key.empty() || key.size() > 2)
        return Problem(at["key"], "needs one or two attributes; use hash and range for more");
      index.hash = {key[0]};
      if (key.size() == 2) index.range = {key[1]};
    } else {
      index.hash = ReadKeyAttributes(at["hash"]);
      index.range = ReadKeyAttributes(at["range"]);
      if (index.hash.empty() || index.hash.size() > 4 || index.range.size() > 4)
        return Problem(at, "needs `key`, or `hash` and `range` of up to four attributes each");
    }
    if (at["projection"].node.IsDefined() && at["projection"].node.IsSequence()) {
      index.projection = "INCLUDE";
      index.include = Texts(at["projection"]);
    } else if (at["projection"]) {
      index.projection = at["projection"].text();
      if (index.projection != "ALL" && index.projection != "KEYS_ONLY")
        Problem(at["projection"], "should be ALL, KEYS_ONLY or a list of attributes");
    }
    table->indexes.push_back(std::move(index));
  }

  void ReadVectorIndex(const std::string& name, const At& at, Table* table) {
    OnlyKeys(at, {"attribute", "dimensions", "distance", "filters", "settings"});
    OnlyKeys(at["settings"], {"m", "ef_construction"});
    VectorIndex index;
    index.name = name;
    index.place = PlaceOf(at);
    index.attribute = at["attribute"].text();
    index.dimensions = static_cast<int>(Integer(at["dimensions"], 0, 1, 65'536));
    if (index.attribute.empty() || index.dimensions == 0) Problem(at, "needs `attribute` and `dimensions`");
    if (at["distance"]) {
      index.distance = at["distance"].text();
      std::transform(index.distance.begin(), index.distance.end(), index.distance.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (index.distance != "COSINE" && index.distance != "EUCLIDEAN" && index.distance != "DOT_PRODUCT")
        Problem(at["distance"], "should be cosine, euclidean or dot_product");
    }
    At settings = at["settings"];
    if (settings["m"]) index.m = Integer(settings["m"], 16, 2, 128);
    if (settings["ef_construction"])
      index.ef_construction = Integer(settings["ef_construction"], 200, 8, 4096);
    index.filters = ReadKeyAttributes(at["filters"]);
    table->vector_indexes.push_back(std::move(index));
  }

  // --- attributes ---

  std::vector<Attribute> ReadAttributes(const At& at) {
    std::vector<Attribute> attributes;
    if (!AtMost(at, kAttributesMax)) return attributes;
    EachEntry(at, [&](const std::string& name, const At& line) {
      attributes.push_back(ReadAttribute(name, line));
    });
    SortByName(&attributes);
    return attributes;
  }

  Attribute ReadAttribute(const std::string& name, const At& at) {
    Attribute attribute;
    attribute.name = name;
    attribute.place = PlaceOf(at);
    if (++attributes_ > kAllAttributesMax) {
      if (problems().empty())
        Problem(at, "a model has at most " + std::to_string(kAllAttributesMax) + " attributes in all");
      return attribute;
    }
    if (at.node.IsScalar()) {
      Take(at, ParseAttributeLine(at.text(), &attribute));
    } else if (at.node.IsMap()) {
      ReadAttributeMap(at, &attribute);
    } else {
      Problem(at, "an attribute is a line like S! or a map with `type`");
    }
    CheckAttribute(attribute);
    return attribute;
  }

  void ReadAttributeMap(const At& at, Attribute* attribute) {
    OnlyKeys(at, {"type", "default", "always", "min", "max", "pattern", "fields", "items", "schema", "stored",
                  "immutable", "context", "revealed_to", "embed", "description", "checks"});
    // Fields alone make a map, items a list.
    if (at["type"])
      Take(at["type"], ParseAttributeLine(at["type"].text(), attribute));
    else if (at["fields"])
      attribute->kind = Kind::kMap, attribute->required = true;
    else if (at["items"])
      attribute->kind = Kind::kList, attribute->required = true;
    else
      Problem(at, "has no `type`");
    attribute->description = at["description"].text();
    if (at["default"]) {
      std::string text = at["default"].text();
      if (text.ends_with("()"))
        attribute->default_from = Take(at["default"], ParseComputed(text));
      else
        attribute->default_value = ValueOfYaml(at["default"].node);
    }
    if (at["always"]) attribute->always = Take(at["always"], ParseComputed(at["always"].text()));
    attribute->min = Decimal(at["min"]);
    attribute->max = Decimal(at["max"]);
    if (at["pattern"]) {
      attribute->pattern = at["pattern"].text();
      if (++compiled_ > kCompiledMax)
        return Problem(at["pattern"], "a model has at most " + std::to_string(kCompiledMax) + " of them");
      attribute->compiled = Take(at["pattern"], TextPattern::Compile(attribute->pattern));
    }
    if (at["fields"]) {
      attribute->has_fields = true;
      attribute->fields = ReadAttributes(at["fields"]);
    }
    if (at["items"]) attribute->items = std::make_shared<const Attribute>(ReadAttribute("", at["items"]));
    if (at["schema"]) ReadSchemaName(at["schema"], attribute);
    attribute->stored = Flag(at["stored"], true);
    attribute->immutable = Flag(at["immutable"], false);
    if (at["context"]) attribute->context = Texts(at["context"]);
    attribute->revealed_to = at["revealed_to"].text();
    attribute->checks = ReadChecks(at["checks"]);
    OnlyKeys(at["embed"], {"from", "via"});
    attribute->embed_from = at["embed"]["from"].text();
    attribute->embed_via = at["embed"]["via"].text();
  }

  // "option", "{type}", "{event}.input"
  void ReadSchemaName(const At& at, Attribute* attribute) {
    std::string name = at.text();
    size_t close = name.find('}');
    if (!name.starts_with('{') || close == std::string::npos) {
      attribute->schema = name;
      schemas_named_.push_back({name, PlaceOf(at)});
      return;
    }
    attribute->schema_by = name.substr(1, close - 1);
    if (close + 1 < name.size()) attribute->schema_field = name.substr(close + 2);
  }

  void CheckAttribute(const Attribute& attribute) {
    auto problem = [&](const std::string& what) { Problem(attribute.place, what); };
    if (!attribute.context.empty() && attribute.kind != Kind::kEncrypted)
      problem("only an encrypted attribute has a context");
    if (!attribute.embed_from.empty() && attribute.kind != Kind::kVector)
      problem("only a vector has an `embed`");
    if (attribute.always && (attribute.default_value || attribute.default_from))
      problem("has both `always` and a default");
    if (attribute.has_fields && attribute.kind != Kind::kMap) problem("only a map has `fields`");
    if (attribute.items && attribute.kind != Kind::kList) problem("only a list has `items`");
    if (attribute.default_value && !attribute.choices.empty() && !attribute.open_choices) {
      bool known = attribute.default_value->type() == AttributeValue::Type::kString &&
                   Has(attribute.choices, attribute.default_value->AsText());
      if (!known) problem("the default is none of the choices");
    }
    for (const auto& computed : {attribute.always, attribute.default_from}) {
      if (!computed) continue;
      bool time =
          attribute.kind == Kind::kInstant || attribute.kind == Kind::kDate || attribute.kind == Kind::kEpoch;
      bool id = computed->source == Computed::Source::kUuid || computed->source == Computed::Source::kUlid;
      if (computed->source == Computed::Source::kNow && !time) problem("now() makes a ts, date or epoch");
      if (id && StoredType(attribute.kind) != "S") problem("an id is a text");
      if (computed->shift_seconds != 0 && !time) problem("only a time can be shifted");
    }
  }

  void ReadSchema(const std::string& name, const At& at) {
    OnlyKeys(at, {"id", "title", "fields", "checks"});
    auto schema = std::make_unique<Schema>();
    schema->name = name;
    schema->id = at["id"].text();
    schema->place = PlaceOf(at);
    Unique(&ids_, schema->id, at);
    schema->fields = ReadAttributes(at["fields"]);
    schema->checks = ReadChecks(at["checks"]);
    model_->schemas.push_back(std::move(schema));
  }

  std::vector<Check> ReadChecks(const At& at) {
    std::vector<Check> checks;
    EachElement(at, [&](const At& element) {
      Check check;
      check.only_warns = element.node.IsMap();
      OnlyKeys(element, {"warn"});
      At text = check.only_warns ? element["warn"] : element;
      if (auto condition = Take(text, ParseCondition(text.text()))) {
        check.condition = *std::move(condition);
        checks.push_back(std::move(check));
      }
    });
    return checks;
  }

  std::vector<Condition> ReadConditions(const At& at) {
    std::vector<Condition> conditions;
    EachElement(at, [&](const At& element) {
      if (auto condition = Take(element, ParseCondition(element.text())))
        conditions.push_back(*std::move(condition));
    });
    return conditions;
  }

  // --- entities ---

  void ReadEntity(const std::string& name, const At& at) {
    OnlyKeys(at, {"id", "title", "table", "type", "key", "indexes", "parent", "version", "flags",
                  "attributes", "checks", "overlaps", "defaults"});
    auto entity = std::make_unique<Entity>();
    entity->name = name;
    entity->id = at["id"].text();
    entity->title = at["title"].text();
    entity->place = PlaceOf(at);
    Unique(&ids_, entity->id, at);
    entity->type = at["type"] ? at["type"].text() : name;
    entity->table = at["table"] ? model_->FindTable(at["table"].text()) : model_->tables[0].get();
    if (entity->table == nullptr)
      return Problem(at["table"], "no table of this model: " + at["table"].text());
    if (!at["table"] && model_->tables.size() > 1) Problem(at, "says no `table`, and the model has several");

    entity->attributes = ReadAttributes(at["attributes"]);
    if (attributes_ > kAllAttributesMax) return;
    std::vector<Attribute> more;
    for (const Attribute& common : common_) {
      if (entity->Find(common.name) == nullptr) more.push_back(common);
    }
    attributes_ += more.size();
    std::move(more.begin(), more.end(), std::back_inserter(entity->attributes));
    SortByName(&entity->attributes);
    ReadKey(at, entity.get());
    ReadIndexKeys(at, entity.get());
    for (const std::string& flag : Texts(at["flags"])) {
      if (flag == "append_only")
        entity->append_only = true;
      else if (flag == "command_only")
        entity->command_only = true;
      else
        Problem(at["flags"], "unknown flag " + flag + "; known are append_only and command_only");
    }
    entity->version = at["version"].text();
    if (!entity->version.empty()) {
      const Attribute* version = entity->Find(entity->version);
      if (version == nullptr || (version->kind != Kind::kNumber && version->kind != Kind::kInstant))
        Problem(at["version"], "should name an attribute of type N or ts");
    }
    entity->checks = ReadChecks(at["checks"]);
    for (const std::string& other : Texts(at["overlaps"])) overlaps_.insert({name, other});
    EachElement(at["defaults"], [&](const At& item) {
      if (!item.node.IsMap()) return Problem(item, "should be a map of attributes");
      entity->defaults.push_back(ValueOfYaml(item.node).AsMap());
    });
    CheckEntity(at, *entity);
    model_->entities.push_back(std::move(entity));
  }

  Templates ReadTemplates(const At& at) {
    Templates templates;
    EachElement(at, [&](const At& element) {
      if (auto parsed = Take(element, ParseTemplate(element.text()))) templates.push_back(*std::move(parsed));
    });
    return templates;
  }

  static Templates Itself(const std::string& attribute) {
    Template itself;
    itself.parts.push_back({"", attribute, false});
    return {std::move(itself)};
  }

  void ReadKey(const At& at, Entity* entity) {
    EachEntry(at["key"], [&](const std::string& name, const At& part) {
      bool known = std::any_of(entity->table->key.begin(), entity->table->key.end(),
                               [&](const KeyAttribute& key) { return key.name == name; });
      if (!known) Problem(part, "the table's key has no attribute " + name);
    });
    for (const KeyAttribute& attribute : entity->table->key) {
      At part = at["key"][attribute.name];
      KeyPart key{attribute, part ? ReadTemplates(part) : Itself(attribute.name)};
      if (!part && entity->Find(attribute.name) == nullptr)
        Problem(at, "has neither a template nor an attribute for the key " + attribute.name);
      CheckKeyPart(part ? part : at, *entity, key, /*primary=*/true);
      entity->key.push_back(std::move(key));
    }
  }

  void ReadIndexKeys(const At& at, Entity* entity) {
    EachEntry(at["indexes"], [&](const std::string& name, const At& index) {
      if (entity->table->FindIndex(name) == nullptr) Problem(index, "the table has no index " + name);
    });
    for (const Index& index : entity->table->indexes) {
      // One that answers for a tenant is made of the keys of the index it scopes.
      At templates = at["indexes"][index.scopes.empty() ? index.name : index.scopes];
      std::vector<KeyAttribute> attributes = index.hash;
      attributes.insert(attributes.end(), index.range.begin(), index.range.end());
      IndexKey key{&index, {}};
      bool complete = true;
      for (const KeyAttribute& attribute : attributes) {
        At part = templates ? templates[attribute.name] : At{YamlNode(), at.path};
        if (part) {
          key.parts.push_back({attribute, ReadTemplates(part)});
          CheckKeyPart(part, *entity, key.parts.back(), /*primary=*/false);
        } else if (entity->Find(attribute.name) != nullptr) {
          key.parts.push_back({attribute, Itself(attribute.name)});
          CheckKeyPart(at, *entity, key.parts.back(), /*primary=*/false);
        } else {
          complete = false;
        }
      }
      if (complete)
        entity->indexes.push_back(std::move(key));
      else if (templates && index.scopes.empty())
        Problem(templates, "does not say all keys of the index " + index.name);
    }
  }

  void CheckKeyPart(const At& at, const Entity& entity, const KeyPart& part, bool primary) {
    for (const Template& pattern : part.templates) {
      for (const Template::Part& piece : pattern.parts) {
        if (piece.name.empty()) continue;
        const Attribute* attribute = entity.Find(piece.name);
        if (attribute == nullptr) {
          Problem(at, "the template names {" + piece.name + "}, which is no attribute of " + entity.name);
          continue;
        }
        if (attribute->kind == Kind::kEncrypted)
          Problem(at, "an encrypted attribute cannot be part of a key: " + piece.name);
        std::string_view stored = StoredType(attribute->kind);
        if (stored != "S" && stored != "N" && stored != "B")
          Problem(at, "an attribute of type " + std::string(KindName(attribute->kind)) +
                          " cannot be part of a key: " + piece.name);
        if (piece.as_date && attribute->kind != Kind::kInstant)
          Problem(at, "{" + piece.name + ":date} needs an attribute of type ts");
        if (piece.width != 0 && attribute->kind != Kind::kNumber)
          Problem(at,
                  "{" + piece.name + ":" + std::to_string(piece.width) + "} needs an attribute of type N");
        bool filled =
            attribute->required || attribute->default_value || attribute->default_from || attribute->always;
        if (primary && !filled && &pattern == &part.templates.back())
          Problem(at, "the key needs " + piece.name + ", which is optional");
      }
    }
  }

  void CheckEntity(const At& at, const Entity& entity) {
    for (const Attribute& attribute : entity.attributes) {
      for (const auto& computed : {attribute.always, attribute.default_from}) {
        if (!computed || computed->source != Computed::Source::kAttribute) continue;
        if (entity.Find(computed->attribute) == nullptr)
          Problem(attribute.place,
                  "computed from " + computed->attribute + ", which is no attribute of " + entity.name);
      }
      if (!attribute.schema_by.empty() && entity.Find(attribute.schema_by) == nullptr)
        Problem(attribute.place, "the schema is named by " + attribute.schema_by + ", which is no attribute");
      for (const std::string& name : attribute.context) {
        if (entity.Find(name) == nullptr)
          Problem(attribute.place, "the context names " + name + ", which is no attribute");
      }
      if (!attribute.embed_from.empty() && entity.Find(attribute.embed_from) == nullptr)
        Problem(attribute.place, "embedded from " + attribute.embed_from + ", which is no attribute");
      if (attribute.name == entity.table->ttl && attribute.kind != Kind::kEpoch)
        Problem(attribute.place, "is the table's TTL attribute and must be of type epoch");
      if (!attribute.stored && !Has(entity.KeyInputs(), attribute.name))
        Problem(attribute.place, "is neither stored nor part of the key");
      if (attribute.name == entity.table->type_attribute)
        Problem(attribute.place, "is the table's type attribute, which is written by itself");
      for (const KeyPart& part : entity.key) {
        bool itself = part.templates.size() == 1 && part.templates[0].ToText() == "{" + attribute.name + "}";
        if (part.attribute.name == attribute.name && !itself && attribute.stored)
          Problem(attribute.place, "has the name of a key attribute, which is derived");
      }
    }
    for (const VectorIndex& index : entity.table->vector_indexes) {
      const Attribute* vector = entity.Find(index.attribute);
      if (vector != nullptr && vector->dimensions != index.dimensions)
        Problem(vector->place,
                "the index " + index.name + " has " + std::to_string(index.dimensions) + " dimensions");
    }
    CheckConditions(at["checks"], entity, entity.checks);
  }

  void CheckConditions(const At& at, const Entity& entity, const std::vector<Check>& checks) {
    for (const Check& check : checks) {
      for (const std::string& name : check.condition.Attributes()) {
        if (entity.Find(name) == nullptr)
          Problem(at, "asks for " + name + ", which is no attribute of " + entity.name);
      }
    }
  }

  Entity* MutableEntity(const std::string& name) {
    for (auto& entity : model_->entities) {
      if (entity->name == name) return entity.get();
    }
    return nullptr;
  }

  void ReadParents(const std::string& name, const At& at) {
    Entity* entity = MutableEntity(name);
    if (entity == nullptr) return;
    EachElement(at, [&](const At& one) { ReadParent(one, entity); });
  }

  void ReadParent(const At& at, Entity* entity) {
    EachEntry(at, [&](const std::string& parent_name, const At& bind) {
      const Entity* parent = model_->FindEntity(parent_name);
      if (parent == nullptr) return Problem(bind, "no entity of this model: " + parent_name);
      Parent link{parent_name, {}};
      EachEntry(bind, [&](const std::string& theirs, const At& own) {
        if (entity->Find(own.text()) == nullptr)
          Problem(own, "no attribute of " + entity->name + ": " + own.text());
        link.bind[theirs] = own.text();
      });
      for (const std::string& input : parent->KeyInputs()) {
        if (link.bind.count(input) == 0 && input != model_->tenant)
          Problem(bind, "does not say the parent's " + input);
        if (link.bind.count(input) == 0 && input == model_->tenant) link.bind[input] = model_->tenant;
      }
      entity->parents.push_back(std::move(link));
    });
  }

  // --- machines ---

  void ReadMachine(const std::string& name, const At& at) {
    OnlyKeys(at, {"title", "entity", "entities", "field", "states", "initial", "moves"});
    std::vector<std::string> entities = Texts(at["entity"] ? at["entity"] : at["entities"]);
    if (entities.empty()) Problem(at, "has no `entity`");
    for (const std::string& entity_name : entities) {
      Entity* entity = MutableEntity(entity_name);
      if (entity == nullptr) {
        Problem(at, "no entity of this model: " + entity_name);
        continue;
      }
      auto machine = std::make_unique<Machine>();
      machine->name = name;
      machine->entity = entity;
      machine->place = PlaceOf(at);
      machine->field = at["field"].text();
      if (entity->machine != nullptr) Problem(at, entity_name + " has a state machine already");
      ReadStates(at, *entity, machine.get());
      entity->machine = machine.get();
      model_->machines.push_back(std::move(machine));
    }
  }

  void ReadStates(const At& at, const Entity& entity, Machine* machine) {
    if (machine->field.empty()) {
      EachEntry(at["states"], [&](const std::string& state, const At& when) {
        std::vector<Condition> conditions = ReadConditions(when);
        State derived{state, std::nullopt};
        if (conditions.size() == 1) {
          derived.when = std::move(conditions[0]);
        } else if (!conditions.empty()) {
          derived.when.emplace();
          derived.when->op = Condition::Op::kAnd;
          derived.when->parts = std::move(conditions);
        }
        machine->states.push_back(std::move(derived));
      });
      if (machine->states.empty()) Problem(at, "needs `field`, or `states` that are derived");
    } else {
      const Attribute* field = entity.Find(machine->field);
      if (field == nullptr)
        return Problem(at["field"], "no attribute of " + entity.name + ": " + machine->field);
      if (field->choices.empty())
        Problem(at["field"], "the attribute " + machine->field + " lists no values");
      for (const std::string& state : field->choices) machine->states.push_back({state, std::nullopt});
    }
    auto declared = [&](const std::string& state) {
      return std::any_of(machine->states.begin(), machine->states.end(),
                         [&](const State& s) { return s.name == state; });
    };
    machine->initial = Texts(at["initial"]);
    if (machine->initial.empty()) Problem(at, "has no `initial` state");
    for (const std::string& state : machine->initial) {
      if (!declared(state)) Problem(at["initial"], "no state of " + entity.name + ": " + state);
    }
    EachEntry(at["moves"], [&](const std::string& from, const At& to) {
      if (!declared(from)) Problem(to, "no state of " + entity.name + ": " + from);
      for (const std::string& state : Texts(to)) {
        if (!declared(state)) Problem(to, "a move to " + state + ", which is no state of " + entity.name);
        machine->moves[from].push_back(state);
      }
    });
  }

  // --- patterns ---

  // A step sees its own keys and those of the pattern around it.
  struct Scope {
    std::vector<At> levels;  // innermost first
    At operator[](const std::string& key) const {
      for (const At& level : levels) {
        if (At found = level[key]) return found;
      }
      return levels[0][key];
    }
    const At& own() const { return levels[0]; }
  };

  void ReadPattern(const std::string& id, const At& at) {
    auto pattern = std::make_unique<Pattern>();
    pattern->id = id;
    pattern->place = PlaceOf(at);
    Unique(&ids_, id, at);
    OnlyPatternKeys(at);
    pattern->title = at["title"] ? at["title"].text() : id;
    pattern->limit = Integer(at["limit"], 50, 1, 1000);
    pattern->sort = at["sort"].text();
    EachEntry(at["let"], [&](const std::string& name, const At& text) {
      if (auto computed = Take(text, ParseComputed(text.text()))) pattern->let.emplace_back(name, *computed);
    });
    if (at["cases"]) {
      EachElement(at["cases"], [&](const At& one) { ReadCase(Scope{{one, at}}, pattern.get()); });
    } else {
      ReadCase(Scope{{at}}, pattern.get());
    }
    InferParams(at, pattern.get());
    model_->patterns.push_back(std::move(pattern));
  }

  void OnlyPatternKeys(const At& at) {
    OnlyKeys(at, {"title",      "get",    "query",      "batch_get", "for",    "for_each", "scan",
                  "union",      "cases",  "bundle",     "search",    "put",    "put_all",  "update",
                  "where",      "delete", "delete_all", "transact",  "memory", "returns",  "index",
                  "filter",     "params", "let",        "keep",      "order",  "sort",     "limit",
                  "consistent", "when",   "given",      "through",   "keys"});
  }

  void ReadCase(const Scope& scope, Pattern* pattern) {
    Case one;
    OnlyPatternKeys(scope.own());
    EachEntry(scope.own()["when"],
              [&](const std::string& name, const At& value) { one.when[name] = value.text(); });
    one.given = Texts(scope.own()["given"]);
    if (scope["bundle"]) {
      EachEntry(scope["bundle"], [&](const std::string& name, const At& other) {
        one.bundle.emplace_back(name, other.text());
      });
    } else if (scope.own()["union"]) {
      EachElement(scope.own()["union"], [&](const At& step) {
        OnlyPatternKeys(step);
        Scope inner{{step}};
        inner.levels.insert(inner.levels.end(), scope.levels.begin(), scope.levels.end());
        ReadStep(inner, &one);
      });
    } else {
      ReadStep(scope, &one);
    }
    pattern->cases.push_back(std::move(one));
  }

  const Entity* EntityNamed(const At& at) {
    const Entity* entity = model_->FindEntity(at.text());
    if (entity == nullptr) Problem(at, "no entity of this model: " + at.text());
    return entity;
  }

  // The level that says the form: the innermost that says any.
  static const At* FormLevel(const Scope& scope) {
    for (const At& level : scope.levels) {
      for (const char* key : {"get", "query", "batch_get", "scan", "search", "put", "put_all", "update",
                              "delete", "delete_all", "transact", "memory", "through"}) {
        if (level[key]) return &level;
      }
    }
    return nullptr;
  }

  void ReadStep(const Scope& scope, Case* one) {
    using Form = Step::Form;
    static const std::vector<std::pair<std::string, Form>> kEntityForms{
        {"get", Form::kGet},       {"batch_get", Form::kBatchGet},  {"scan", Form::kScan},
        {"put", Form::kPut},       {"put_all", Form::kPutAll},      {"update", Form::kUpdate},
        {"delete", Form::kDelete}, {"delete_all", Form::kDeleteAll}};
    const At* form = FormLevel(scope);
    if (form == nullptr) {
      return Problem(scope.own(),
                     "says no form: get, query, batch_get, scan, union, cases, bundle, search, put, "
                     "put_all, update, delete, delete_all, transact, memory or through");
    }
    Step step;
    step.form = Form::kQuery;
    for (const auto& [key, entity_form] : kEntityForms) {
      if (!(*form)[key]) continue;
      const Entity* entity = EntityNamed((*form)[key]);
      if (entity == nullptr) return;
      step.form = entity_form;
      step.returns = {entity};
      step.table = entity->table;
    }
    EachElement(scope["returns"], [&](const At& name) {
      if (const Entity* entity = EntityNamed(name)) {
        if (!Has(step.returns, entity)) step.returns.push_back(entity);
      }
    });
    if (step.table == nullptr && !step.returns.empty()) step.table = step.returns[0]->table;
    if ((*form)["search"]) {
      step.form = Form::kSearch;
      if (!ReadSearch((*form)["search"], &step)) return;
    } else if ((*form)["transact"]) {
      step.form = Form::kTransact;
      ReadWrites((*form)["transact"], &step);
    } else if ((*form)["memory"]) {
      step.form = Form::kMemory;
      step.memory_from = (*form)["memory"]["from"].text();
      step.memory_by = (*form)["memory"]["by"].text();
    } else if ((*form)["through"]) {
      step.form = Form::kThrough;
      step.through = Texts((*form)["through"]);
      if (step.returns.empty()) return Problem((*form)["through"], "says no `returns`");
    } else if ((*form)["query"]) {
      if (!ReadQuery(scope, &step)) return;
    }
    step.where = ReadConditions(scope["where"]);
    EachEntry(scope["for"], [&](const std::string& name, const At& values) {
      step.for_values.emplace_back(name, Texts(values));
    });
    step.keys = scope["keys"].text();
    if (scope["for_each"]) {
      step.for_each = scope["for_each"]["pattern"].text();
      EachEntry(scope["for_each"]["bind"],
                [&](const std::string& param, const At& attribute) { step.bind[param] = attribute.text(); });
    }
    step.filter = ReadConditions(scope["filter"]);
    step.keep = ReadConditions(scope["keep"]);
    std::string order = scope["order"].text();
    if (!order.empty() && order != "ascending" && order != "descending")
      Problem(scope["order"], "should be ascending or descending");
    step.descending = order == "descending";
    step.consistent = Flag(scope["consistent"], false);
    CheckFilters(scope, step);
    if (step.form == Form::kQuery && step.index != nullptr) AskTenantsIndex(&step);
    one->steps.push_back(std::move(step));
  }

  // An index that scopes the one asked answers for a single tenant without the filter.
  void AskTenantsIndex(Step* step) {
    auto scoped = std::find_if(step->table->indexes.begin(), step->table->indexes.end(),
                               [&](const Index& index) { return index.scopes == step->index->name; });
    auto filter = std::find_if(step->filter.begin(), step->filter.end(), [&](const Condition& condition) {
      return condition.op == Condition::Op::kEqual && condition.left.path == model_->tenant &&
             condition.Params() == std::vector<std::string>{model_->tenant};
    });
    if (scoped == step->table->indexes.end() || filter == step->filter.end()) return;
    step->index = &*scoped;
    step->filter.erase(filter);
    step->partition.emplace_back(KeyAttribute{model_->tenant, 'S'}, Itself(model_->tenant)[0]);
  }

  void CheckFilters(const Scope& scope, const Step& step) {
    for (const std::vector<Condition>* list : {&step.filter, &step.keep}) {
      for (const Condition& condition : *list) {
        for (const std::string& name : condition.Attributes()) {
          bool known = step.returns.empty();
          for (const Entity* entity : step.returns) {
            const Attribute* attribute = entity->Find(name);
            known = known || attribute != nullptr;
            if (attribute != nullptr && attribute->kind == Kind::kEncrypted)
              Problem(scope.own(), "an encrypted attribute cannot be filtered by: " + name);
          }
          if (!known)
            Problem(scope["filter"], "filters by " + name + ", which is no attribute of what it returns");
        }
      }
    }
  }

  bool ReadQuery(const Scope& scope, Step* step) {
    At query = scope["query"];
    if (step->returns.empty()) return Problem(query, "says no `returns`"), false;
    const Table& table = *step->table;
    std::vector<KeyAttribute> hash{table.key[0]};
    std::vector<KeyAttribute> range(table.key.begin() + 1, table.key.end());
    std::string served_by = "the table " + table.name;
    if (scope["index"]) {
      step->index = table.FindIndex(scope["index"].text());
      if (step->index == nullptr)
        return Problem(scope["index"], "the table has no index " + scope["index"].text()), false;
      hash = step->index->hash;
      range = step->index->range;
      served_by = "the index " + step->index->name;
    }
    bool sound = true;
    EachEntry(query, [&](const std::string& name, const At& condition) {
      auto names = [&](const KeyAttribute& key) { return key.name == name; };
      auto part = std::find_if(hash.begin(), hash.end(), names);
      if (part != hash.end()) {
        if (auto pattern = Take(condition, ParseTemplate(condition.text())))
          step->partition.emplace_back(*part, *std::move(pattern));
        return;
      }
      if (!range.empty() && range[0].name == name) {
        step->sort_key = range[0];
        if (auto sort = Take(condition, ParseSortCondition(condition.text()))) step->sort = *std::move(sort);
        return;
      }
      sound = false;
      Problem(condition, "no index serves this: " + name + " is no key of " + served_by);
    });
    if (step->sort_key.name.empty() && !range.empty()) step->sort_key = range[0];
    if (sound && step->partition.size() != hash.size()) {
      Problem(query,
              "no index serves this: it must say the partition key " + hash[0].name + " of " + served_by);
      sound = false;
    }
    return sound;
  }

  bool ReadSearch(const At& at, Step* step) {
    OnlyKeys(at, {"entity", "index", "each", "match", "threshold", "top_k", "select"});
    Search search;
    search.entity = EntityNamed(at["entity"]);
    if (search.entity == nullptr) return false;
    step->table = search.entity->table;
    step->returns = {search.entity};
    for (const VectorIndex& index : step->table->vector_indexes) {
      if (index.name == at["index"].text()) search.index = &index;
    }
    if (search.index == nullptr)
      return Problem(at["index"], "the table has no vector index " + at["index"].text()), false;
    search.each_pattern = at["each"]["pattern"].text();
    search.each_where = ReadConditions(at["each"]["where"]);
    EachEntry(at["match"], [&](const std::string& name, const At& text) {
      bool filter = std::any_of(search.index->filters.begin(), search.index->filters.end(),
                                [&](const KeyAttribute& key) { return key.name == name; });
      if (!filter) Problem(text, "no filter of the index " + search.index->name + ": " + name);
      if (auto pattern = Take(text, ParseTemplate(text.text())))
        search.match.emplace_back(name, *std::move(pattern));
    });
    search.threshold = Decimal(at["threshold"]).value_or(0);
    search.top_k = Integer(at["top_k"], 10, 1, 100);
    search.select = Texts(at["select"]);
    step->search = std::move(search);
    return true;
  }

  void ReadWrites(const At& at, Step* step) {
    EachElement(at, [&](const At& write) {
      OnlyKeys(write, {"put", "set"});
      PatternWrite one;
      one.entity = EntityNamed(write["put"]);
      if (one.entity == nullptr) return;
      EachEntry(write["set"], [&](const std::string& name, const At& text) {
        if (one.entity->Find(name) == nullptr)
          Problem(text, "no attribute of " + one.entity->name + ": " + name);
        if (auto pattern = Take(text, ParseTemplate(text.text())))
          one.set.emplace_back(name, *std::move(pattern));
      });
      if (step->table == nullptr) step->table = one.entity->table;
      step->returns.push_back(one.entity);
      step->writes.push_back(std::move(one));
    });
  }

  // --- parameters ---

  static void Collect(const Template& pattern, std::vector<std::string>* names) {
    for (std::string& name : pattern.Names()) names->push_back(std::move(name));
  }

  static std::vector<std::string> ParamNames(const Step& step) {
    using Form = Step::Form;
    std::vector<std::string> names;
    if (step.form == Form::kGet || step.form == Form::kBatchGet || step.form == Form::kDelete ||
        step.form == Form::kUpdate)
      names = step.returns[0]->KeyInputs();
    for (const auto& [attribute, pattern] : step.partition) Collect(pattern, &names);
    Collect(step.sort.low, &names);
    Collect(step.sort.high, &names);
    for (const auto* list : {&step.filter, &step.keep, &step.where}) {
      for (const Condition& condition : *list) {
        for (std::string& name : condition.Params()) names.push_back(std::move(name));
      }
    }
    if (step.search) {
      for (const auto& [name, pattern] : step.search->match) Collect(pattern, &names);
    }
    for (const PatternWrite& write : step.writes) {
      for (const auto& [name, pattern] : write.set) Collect(pattern, &names);
    }
    if (step.form == Form::kMemory) names.push_back(step.memory_by);
    if (!step.keys.empty()) names = {step.keys};
    std::erase_if(names, [&](const std::string& name) {
      bool for_value = std::any_of(step.for_values.begin(), step.for_values.end(),
                                   [&](const auto& f) { return f.first == name; });
      return for_value || step.bind.count(name) > 0 || name.starts_with("each.");
    });
    return names;
  }

  void InferParams(const At& at, Pattern* pattern) {
    for (Attribute& declared : ReadParamLines(at["params"], *pattern))
      pattern->params.push_back(std::move(declared));
    bool single = pattern->cases.size() == 1;
    auto add = [&](const std::string& name, const Step* step, bool required) {
      bool computed = std::any_of(pattern->let.begin(), pattern->let.end(),
                                  [&](const auto& let) { return let.first == name; });
      if (computed || std::any_of(pattern->params.begin(), pattern->params.end(),
                                  [&](const Attribute& p) { return p.name == name; }))
        return;
      pattern->params.push_back(ParamLike(name, step, required));
    };
    for (const Case& one : pattern->cases) {
      for (const auto& [name, value] : one.when) add(name, nullptr, false);
      for (const Step& step : one.steps) {
        for (const std::string& name : ParamNames(step)) add(name, &step, single);
        if (step.search) AddSearchParams(*step.search, pattern);
        if (step.form == Step::Form::kPut || step.form == Step::Form::kUpdate) {
          // The fields of the entity are the parameters, and are checked as such.
          for (const Attribute& attribute : step.returns[0]->attributes) add(attribute.name, &step, false);
        }
      }
    }
    SortByName(&pattern->params);
  }

  static void AddSearchParams(const Search& search, Pattern* pattern) {
    auto optional = [&](const std::string& name, Kind kind) {
      Attribute param;
      param.name = name;
      param.kind = kind;
      if (kind == Kind::kVector) param.dimensions = search.index->dimensions;
      bool known = std::any_of(pattern->params.begin(), pattern->params.end(),
                               [&](const Attribute& p) { return p.name == name; });
      if (!known) pattern->params.push_back(std::move(param));
    };
    optional("vector", Kind::kVector);
    optional("text", Kind::kString);
    optional("threshold", Kind::kNumber);
    optional("top_k", Kind::kNumber);
  }

  // Parameter lines may leave the type to the attribute of the same name: `type: "?"`.
  std::vector<Attribute> ReadParamLines(const At& at, const Pattern& pattern) {
    std::vector<Attribute> params;
    EachEntry(at, [&](const std::string& name, const At& line) {
      if (line.text() == "?" || line.text() == "!") {
        const Step* step =
            pattern.cases.empty() || pattern.cases[0].steps.empty() ? nullptr : &pattern.cases[0].steps[0];
        params.push_back(ParamLike(name, step, line.text() == "!"));
        return;
      }
      params.push_back(ReadAttribute(name, line));
      // A bare type is required where there is nothing to choose from.
      bool bare = line.node.IsScalar() && line.text().find_first_of("?!") == std::string::npos;
      if (bare && pattern.cases.size() == 1 && !params.back().default_value) params.back().required = true;
    });
    return params;
  }

  static Attribute ParamLike(const std::string& name, const Step* step, bool required) {
    Attribute param;
    param.name = name;
    if (step != nullptr) {
      for (const Entity* entity : step->returns) {
        const Attribute* attribute = entity->Find(name);
        if (attribute == nullptr) continue;
        param = *attribute;
        break;
      }
    }
    param.name = name;
    param.required = required;
    param.default_value.reset();
    param.default_from.reset();
    param.always.reset();
    return param;
  }

  // --- what can only be seen at the end ---

  void CheckCollisions() {
    const auto& all = model_->entities;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t j = i + 1; j < all.size(); ++j) {
        const Entity& a = *all[i];
        const Entity& b = *all[j];
        if (a.table != b.table || overlaps_.count({a.name, b.name}) > 0 ||
            overlaps_.count({b.name, a.name}) > 0)
          continue;
        bool collide = true;
        for (size_t part = 0; part < a.key.size() && collide; ++part) {
          collide =
              std::any_of(a.key[part].templates.begin(), a.key[part].templates.end(), [&](const Template& x) {
                return std::any_of(b.key[part].templates.begin(), b.key[part].templates.end(),
                                   [&](const Template& y) { return CanCollide(x, y); });
              });
        }
        if (collide)
          Problem(b.place, "its keys can be those of " + a.name + "; add `overlaps: [" + a.name +
                               "]` if that is meant");
      }
    }
  }

  // A pattern made of others takes what they take.
  void TakeParamsOfParts(Pattern* pattern) {
    auto take = [&](const std::string& id, const std::map<std::string, std::string>& bound) {
      const Pattern* part = id.empty() ? nullptr : model_->FindPattern(id);
      if (part == nullptr) return;
      for (Attribute param : part->params) {
        if (FindAttribute(pattern->params, param.name) != nullptr || bound.count(param.name) > 0) continue;
        param.required = false;
        pattern->params.push_back(std::move(param));
        SortByName(&pattern->params);
      }
    };
    for (const Case& one : pattern->cases) {
      for (const auto& [name, id] : one.bundle) take(id, {});
      for (const Step& step : one.steps) take(step.for_each, step.bind);
    }
  }

  // All items of its entities: then each change of the table tells what it gives next.
  static bool IsPlainScan(const Pattern& pattern) {
    if (pattern.cases.size() != 1 || pattern.cases[0].steps.size() != 1) return false;
    const Step& step = pattern.cases[0].steps[0];
    return step.form == Step::Form::kScan && step.keep.empty() && step.where.empty();
  }

  // The patterns that a pattern asks.
  static std::vector<std::string> PartsOf(const Pattern& pattern) {
    std::vector<std::string> ids;
    for (const Case& one : pattern.cases) {
      for (const auto& [name, id] : one.bundle) ids.push_back(id);
      for (const Step& step : one.steps) {
        for (const std::string& id : {step.for_each, step.memory_from}) ids.push_back(id);
        ids.insert(ids.end(), step.through.begin(), step.through.end());
        if (step.search) ids.push_back(step.search->each_pattern);
      }
    }
    std::erase(ids, "");
    return ids;
  }

  void CheckPattern(const Pattern& pattern) {
    for (const std::string& id : PartsOf(pattern)) {
      if (model_->FindPattern(id) == nullptr) Problem(pattern.place, "no pattern of this model: " + id);
    }
  }

  void CheckParts(const Pattern& pattern) {
    std::vector<std::string> below = PartsOf(pattern);
    for (size_t i = 0; i < below.size(); ++i) {
      for (std::string& id : PartsOf(*model_->FindPattern(below[i]))) {
        if (!Has(below, id)) below.push_back(std::move(id));
      }
    }
    if (Has(below, pattern.id)) Problem(pattern.place, "is made of itself");
    for (const Case& one : pattern.cases) {
      for (const Step& step : one.steps) {
        for (const std::string& id :
             {step.memory_from, step.search ? step.search->each_pattern : std::string()}) {
          const Pattern* source = id.empty() ? nullptr : model_->FindPattern(id);
          if (source != nullptr &&
              (source->cases[0].steps.empty() || source->cases[0].steps[0].returns.empty()))
            Problem(pattern.place, "takes items from " + id + ", which gives none");
          else if (source != nullptr && id == step.memory_from && !IsPlainScan(*source))
            Problem(pattern.place, "is filled by " + id + ", which is not a scan without conditions");
        }
      }
    }
  }

  const LoadOptions& options_;
  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  std::vector<Attribute> common_;
  std::set<std::pair<std::string, std::string>> overlaps_;
  std::vector<std::pair<std::string, Place>> schemas_named_;
  std::set<std::string> ids_;
  size_t attributes_ = 0, compiled_ = 0;  // so far
};

}  // namespace

Result<std::shared_ptr<const Model>> LoadModel(std::string_view yaml, const std::string& file,
                                               const LoadOptions& options) {
  HF_TRY(YamlNode root, ReadYaml(yaml, file));
  return Loader(file, options).Load(root);
}

Result<std::shared_ptr<const Model>> LoadModelFile(const std::string& path, const LoadOptions& options) {
  HF_TRY(YamlNode root, ReadYamlFile(path));
  return Loader(path, options).Load(root);
}

}  // namespace holdfast::model
