#include "cli/demo.h"

#include <filesystem>

#include "base/clock.h"
#include "base/random.h"
#include "base/ulid.h"
#include "cli/demo_chat.h"
#include "cli/store_flags.h"
#include "model/item_builder.h"
#include "model/model.h"
#include "model/notation.h"
#include "model/refusal.h"
#include "model/yaml_value.h"

namespace holdfast::cli {
namespace {

using Type = AttributeValue::Type;

struct DemoItem {
  const model::Entity* entity = nullptr;
  AttributeMap fields;
};

// --- times ---

// "now() - 3h" where the model declares a time; empty for anything else.
std::optional<int64_t> ShiftMillis(const model::Attribute& attribute, const AttributeValue& value) {
  bool is_time = attribute.kind == model::Kind::kInstant || attribute.kind == model::Kind::kDate ||
                 attribute.kind == model::Kind::kEpoch;
  if (!is_time || value.type() != Type::kString || !value.AsText().starts_with("now()")) return std::nullopt;
  auto computed = model::ParseComputed(value.AsText());
  if (!computed) return std::nullopt;
  return computed->shift_seconds * 1000;
}

// A world with its times counted from one moment.
class Dated {
 public:
  Dated(const model::Model& model, int64_t now_millis) : model_(model), now_millis_(now_millis) {}

  AttributeMap Fields(const std::vector<model::Attribute>& declared, AttributeMap fields) const {
    const AttributeMap given = fields;
    for (auto& [name, value] : fields) {
      if (const model::Attribute* attribute = FindAttribute(declared, name))
        value = Value(*attribute, value, given);
    }
    return fields;
  }

 private:
  AttributeValue Value(const model::Attribute& attribute, const AttributeValue& value,
                       const AttributeMap& siblings) const {
    if (auto shift = ShiftMillis(attribute, value))
      return model::TimeValue(attribute.kind, now_millis_ + *shift);
    if (value.type() == Type::kList && attribute.items != nullptr) {
      std::vector<AttributeValue> elements;
      for (const AttributeValue& element : value.AsList())
        elements.push_back(Value(*attribute.items, element, siblings));
      return AttributeValue::List(std::move(elements));
    }
    if (value.type() != Type::kMap) return value;
    if (const model::Schema* schema = SchemaOf(attribute, siblings)) {
      if (attribute.schema_field.empty()) return AttributeValue::Map(Fields(schema->fields, value.AsMap()));
      const model::Attribute* field = FindAttribute(schema->fields, attribute.schema_field);
      return field == nullptr ? value : Value(*field, value, siblings);
    }
    return AttributeValue::Map(Fields(attribute.fields, value.AsMap()));
  }

  const model::Schema* SchemaOf(const model::Attribute& attribute, const AttributeMap& siblings) const {
    if (attribute.schema_by.empty()) return model_.FindSchema(attribute.schema);
    auto name = siblings.find(attribute.schema_by);
    bool named = name != siblings.end() && name->second.type() == Type::kString;
    return named ? model_.FindSchema(name->second.AsText()) : nullptr;
  }

  const model::Model& model_;
  const int64_t now_millis_;
};

// --- loading ---

struct DemoConfig {
  std::string world;
  DataFlags data;
  bool json = false;
};

struct Loaded {
  size_t written = 0;
  size_t there = 0;
  size_t sealed = 0;  // left out for want of a key
};

Result<std::vector<DemoItem>> ReadWorld(const model::Model& model, const std::string& path) {
  std::vector<DemoItem> items;
  HF_TRY(model::YamlNode world, model::ReadYamlFile(path));
  for (const model::YamlNode& node : world.elements()) {
    auto bad = [&](const std::string& what) {
      return ValidationError(path + ":" + std::to_string(node.line()) + ": " + what);
    };
    if (!node.IsMap() || node.size() != 1 || !node.entries().front().second.IsMap())
      return bad("an element is the name of an entity and its fields");
    const auto& [name, fields] = node.entries().front();
    const model::Entity* entity = model.FindEntity(name.Scalar());
    if (entity == nullptr) return bad("the model has no entity " + name.Scalar());
    items.push_back({entity, model::ValueOfYaml(fields).AsMap()});
  }
  return items;
}

// The moment from which the times in the store are counted when the world is there already: keys hold times,
// and only the same moment gives the same keys. Otherwise now.
int64_t MomentOf(Application* application, const std::vector<DemoItem>& items) {
  for (const DemoItem& item : items) {
    auto keys = item.entity->KeyInputs();
    AttributeMap key;
    for (const std::string& name : keys) {
      auto field = item.fields.find(name);
      const model::Attribute* attribute = item.entity->Find(name);
      if (field != item.fields.end() && !ShiftMillis(*attribute, field->second)) key.insert(*field);
    }
    if (key.size() != keys.size()) continue;
    auto stored = application->Get(Caller::Administrator(), item.entity->name, Item(key));
    if (!stored) continue;
    for (const auto& [name, value] : item.fields) {
      const model::Attribute* attribute = item.entity->Find(name);
      if (attribute == nullptr || attribute->kind != model::Kind::kInstant) continue;
      auto shift = ShiftMillis(*attribute, value);
      auto found = value::MapView(stored->stored()).Find(name);
      if (!shift || !found) continue;
      if (auto millis = model::MillisOf(*found)) return *millis - *shift;
    }
  }
  return base::SystemClock().NowMillis();
}

// Gives the items whose IDs would be random others that are the same whenever the world is loaded again.
void Identify(int64_t moment, std::vector<DemoItem>* items) {
  base::ManualClock clock(moment);
  base::Random random(/*seed=*/1);
  base::UlidSource ulids(&clock, &random);
  for (DemoItem& item : *items) {
    for (const std::string& name : item.entity->KeyInputs()) {
      const model::Attribute* attribute = item.entity->Find(name);
      if (item.fields.contains(name) || !attribute->default_from) continue;
      if (attribute->default_from->source == model::Computed::Source::kUuid)
        item.fields[name] = random.Uuid();
      else if (attribute->default_from->source == model::Computed::Source::kUlid)
        item.fields[name] = ulids.Next();
    }
  }
}

bool HasSecret(const DemoItem& item) {
  for (const auto& [name, value] : item.fields) {
    const model::Attribute* attribute = item.entity->Find(name);
    if (attribute != nullptr && attribute->kind == model::Kind::kEncrypted) return true;
  }
  return false;
}

// The file of a model's world; empty when it has none.
Result<std::string> WorldOf(const ModelPtr& model) {
  HF_TRY(std::string shipped, ShippedModels());
  std::filesystem::path path = std::filesystem::path(shipped) / "demo" / (model->name + ".yaml");
  return std::filesystem::exists(path) ? path.string() : std::string();
}

Result<Loaded> Load(Application* application, const ModelPtr& model, const std::string& path, bool can_seal) {
  HF_TRY(std::vector<DemoItem> items, ReadWorld(*model, path));
  HF_TRY(std::vector<TableReport> tables, application->Apply());
  for (const TableReport& table : tables) {
    if (table.status == "drifted")
      return model::Refuse("Conflict", "the table " + table.table + " is not as the model " + model->name +
                                           " says; `holdfast model check` tells how");
  }
  int64_t moment = MomentOf(application, items);
  Identify(moment, &items);
  Dated dated(*model, moment);
  Loaded loaded;
  for (const DemoItem& item : items) {
    if (HasSecret(item) && !can_seal) {
      ++loaded.sealed;
      continue;
    }
    auto written =
        application->Import(item.entity->name, Item(dated.Fields(item.entity->attributes, item.fields)));
    if (written)
      ++loaded.written;
    else if (model::RefusalName(written.error()) == "AlreadyExists")
      ++loaded.there;
    else
      return written.error();
  }
  return loaded;
}

std::string Summary(const std::string& name, const Loaded& loaded) {
  std::string text = name + ": " + std::to_string(loaded.written) + " items written";
  if (loaded.there > 0) text += ", " + std::to_string(loaded.there) + " there already";
  if (loaded.sealed > 0)
    text += "; " + std::to_string(loaded.sealed) +
            " with encrypted attributes left out, which `holdfast demo` loads with --key-file (`holdfast "
            "keys create`)";
  return text;
}

// Three commands that show something of what was loaded.
std::vector<std::string> ToTry(const std::string& world, const DataFlags& flags) {
  std::string where = !flags.store.endpoint.empty() ? " --endpoint " + flags.store.endpoint
                      : flags.store.data.empty()    ? ""
                                                    : " --data " + flags.store.data;
  if (flags.models.stage != "dev") where += " --stage " + flags.models.stage;
  std::vector<std::string> pm{"holdfast query PM-A-13", "holdfast query PM-A-16",
                              "holdfast list pm Event projectId=1a97e24f-0001-4000-8000-00000000f0a1"};
  std::vector<std::string> pos{"holdfast query POS-A-01 --userId u-tamsin",
                               "holdfast query POS-A-02 --userId u-tamsin",
                               "holdfast list pos GOAL userId=u-tamsin"};
  std::vector<std::string> trip{"holdfast query TRIP-A-05",
                                "holdfast query TRIP-A-01 --text 'Which class may I fly?' --threshold 0.2",
                                "holdfast list trip Booking employeeId=emp-ivy-09"};
  std::vector<std::string> commands = world == "pm"     ? pm
                                      : world == "pos"  ? pos
                                      : world == "trip" ? trip
                                                        : std::vector<std::string>{pm[0], pos[0], trip[0]};
  for (std::string& command : commands) command += where;
  return commands;
}

Result<int> Demo(const DemoConfig& config) {
  if (config.world.empty()) return UsageError("which world? pm, pos, trip or all");
  HF_TRY(std::vector<ModelPtr> models, LoadModels(config.data.models));
  HF_TRY(OpenedStore store, OpenStore(config.data.store, IfMissing::kCreate));
  Node worlds = Node::Map();
  for (const ModelPtr& model : models) {
    HF_TRY(std::string path, WorldOf(model));
    if ((config.world != "all" && config.world != model->name) || path.empty()) continue;
    HF_TRY(auto application, OpenApplication(store, model, config.data));
    HF_TRY(Loaded loaded, Load(application.get(), model, path, !config.data.store.key_file.empty()));
    worlds.Set(model->name, Node::Map()
                                .Set("written", loaded.written)
                                .Set("there", loaded.there)
                                .Set("withoutKey", loaded.sealed));
    if (!config.json) Print(Summary(model->name, loaded));
  }
  if (worlds.empty()) return UsageError("there is no world " + config.world + " for the models given");
  std::vector<std::string> commands = ToTry(config.world, config.data);
  if (config.json) {
    PrintJson(Node::Map().Set("worlds", worlds).Set("try", Node::List(commands)));
    return kDone;
  }
  Print("try:");
  for (const std::string& command : commands) Print("  " + command);
  return kDone;
}

}  // namespace

Status LoadDemo(Store* store, const std::vector<ModelPtr>& models) {
  for (const ModelPtr& model : models) {
    HF_TRY(std::string path, WorldOf(model));
    if (path.empty()) continue;
    HF_TRY(auto application, Application::Open(store, model, {}));
    HF_TRY(Loaded loaded, Load(application.get(), model, path, /*can_seal=*/false));
    Print(Summary(model->name, loaded));
  }
  return Ok{};
}

void AddDemoCommand(CLI::App* app, Run* run) {
  auto [demo, config] =
      AddCommand(app, "demo", "Load a small made-up world to try things out on", run, &Demo);
  demo->add_option("world", config->world, "pm, pos, trip or all")
      ->check(CLI::IsMember({"pm", "pos", "trip", "all"}));
  AddDataFlags(demo, &config->data);
  AddDemoChatCommand(demo, run);
}

}  // namespace holdfast::cli
