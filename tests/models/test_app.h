// A model at work on a database in this process, with a clock that the test sets; and samples of its
// entities.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "holdfast/master_keys.h"
#include "holdfast/model.h"
#include "model/instant.h"
#include "model/item_builder.h"
#include "model/load.h"
#include "model/refusal.h"

namespace holdfast::testing {

inline const std::filesystem::path kRoot = HOLDFAST_SOURCE_DIR;

// Throws what an Error says: a test that cannot begin has failed.
template <class T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().ToString());
  return *std::move(result);
}
inline void Must(const Status& status) {
  if (!status) throw std::runtime_error(status.error().ToString());
}

// The name of the refusal; "" for success, and what else went wrong for any other error.
template <class T>
std::string Refusal(const Result<T>& result) {
  if (result) return "";
  std::string_view name = model::RefusalName(result.error());
  return name.empty() ? result.error().ToString() : std::string(name);
}

template <class T>
AttributeValue Detail(const Result<T>& result, const std::string& name) {
  const AttributeMap& details = result.error().detail()->refusal.details;
  auto at = details.find(name);
  return at == details.end() ? AttributeValue() : at->second;
}

inline std::shared_ptr<const MasterKeys> TestKeys() {
  auto keys = std::make_shared<MasterKeys>();
  keys->id = "test";
  keys->versions.resize(1);
  keys->current = 1;
  return keys;
}

inline int64_t Instant(std::string_view text) {
  return *model::ParseInstant(text);
}

class TestApp {
 public:
  // `model` is the name of a shipped one, or the text of another.
  explicit TestApp(const std::string& model, const std::map<std::string, bool>& options = {},
                   ApplicationOptions application = {}, Options database = {})
      : clock(Instant("2026-02-04T10:30:00.123Z")) {
    bool shipped = model.find('\n') == std::string::npos;
    model::LoadOptions load{"dev", options};
    ModelPtr loaded = Must(shipped ? model::LoadModelFile(kRoot / "models" / (model + ".yaml"), load)
                                   : model::LoadModel(model, "test.yaml", load));
    database.ttl_sweep_millis = 3'600'000;  // by the system's clock much has expired
    database_ = Must(Database::Open(std::move(database)));
    store = EmbeddedStore(database_.get());
    application.now_millis = [this] { return clock.NowMillis(); };
    app = Must(Application::Open(store.get(), std::move(loaded), std::move(application)));
    Must(app->Apply());
  }

  Application* operator->() const { return app.get(); }
  const model::Entity& entity(std::string_view name) const { return *app->model().FindEntity(name); }

  void PutRaw(const std::string& table, const Item& item) {
    PutItemRequest put;
    put.table_name = table;
    put.item = item;
    Must(store->Run(put));
  }
  // The item as the table holds it, or an empty one.
  Item GetRaw(const std::string& table, const Item& key) {
    GetItemRequest get;
    get.table_name = table;
    get.key = key;
    get.consistent_read = true;
    return Must(store->Run(get)).item.value_or(Item());
  }
  Item GetRaw(const Record& record) {
    const model::Table& table = *record.entity()->table;
    return GetRaw(table.name, model::KeyOf(table, record.stored()));
  }
  size_t CountItems() {
    size_t count = 0;
    for (const auto& table : app->model().tables) {
      ScanRequest scan;
      scan.table_name = table->name;
      do {
        auto page = Must(store->Run(scan));
        count += page.items->size();
        scan.exclusive_start_key = page.last_evaluated_key;
      } while (scan.exclusive_start_key);
    }
    return count;
  }

  // The least that makes an item of the entity, under `given`.
  Item Sample(const model::Entity& entity, const AttributeMap& given = {}) const {
    AttributeMap fields = given;
    for (bool named : {false, true}) {  // a schema that another attribute names comes after it
      for (const model::Attribute& attribute : entity.attributes) {
        if (!NeedsValue(attribute) || fields.count(attribute.name) > 0) continue;
        if (named == attribute.schema_by.empty()) continue;
        fields[attribute.name] = SampleValue(attribute, fields);
      }
    }
    return Item(fields);
  }
  // Imports it together with the parents it needs.
  Record Plant(const model::Entity& entity, const AttributeMap& given = {}) {
    Item fields = Sample(entity, given);
    for (const model::Parent& parent : entity.parents) {
      AttributeMap above;
      for (const auto& [theirs, own] : parent.bind) {
        if (auto value = fields.Get(own)) above[theirs] = *value;
      }
      if (above.size() < parent.bind.size()) continue;
      const model::Entity& parent_entity = *app->model().FindEntity(parent.entity);
      if (Refusal(app->Get(Caller::Administrator(), parent.entity, Item(above))) == "NotFound")
        Plant(parent_entity, above);
    }
    return Must(app->Import(entity.name, fields)).record;
  }
  // The attributes of the key, as Get and Patch want them.
  static Item KeyFields(const Record& record) {
    Item key;
    Item fields = record.Fields();
    for (const std::string& name : record.entity()->KeyInputs()) {
      if (auto value = fields.Get(name)) key.Set(name, *value);
    }
    return key;
  }

  base::ManualClock clock;

 private:
  std::unique_ptr<Database> database_;  // outlives what uses it

 public:
  std::unique_ptr<Store> store;
  std::unique_ptr<Application> app;

 private:
  static bool NeedsValue(const model::Attribute& attribute) {
    return attribute.required && !attribute.default_value && !attribute.default_from && !attribute.always;
  }

  AttributeValue SampleMap(const std::vector<model::Attribute>& fields) const {
    AttributeMap entries;
    for (const model::Attribute& field : fields) {
      if (NeedsValue(field)) entries[field.name] = SampleValue(field, entries);
    }
    return AttributeValue::Map(std::move(entries));
  }

  AttributeValue SampleValue(const model::Attribute& attribute, const AttributeMap& siblings) const {
    using model::Kind;
    if (!attribute.choices.empty()) return attribute.choices[0];
    if (attribute.name == "session_key") return "ann:guide:t1";
    if (!attribute.schema.empty()) return SampleMap(app->model().FindSchema(attribute.schema)->fields);
    if (!attribute.schema_by.empty() && siblings.count(attribute.schema_by) > 0) {
      const model::Schema* schema = app->model().FindSchema(siblings.at(attribute.schema_by).AsText());
      if (schema != nullptr) return SampleMap(schema->fields);
    }
    switch (attribute.kind) {
      case Kind::kNumber: return static_cast<int64_t>(attribute.min.value_or(1));
      case Kind::kEpoch: return 1'900'000'000;
      case Kind::kBool: return false;
      case Kind::kDate: return "2026-02-04";
      case Kind::kInstant: return "2026-02-05T10:30:00.000Z";
      case Kind::kMap: return SampleMap(attribute.fields);
      case Kind::kVector: return AttributeValue::List(std::vector<AttributeValue>(1024, 1));
      case Kind::kList: {
        if (!attribute.min || !attribute.items) return AttributeValue::List({});
        return AttributeValue::List({SampleValue(*attribute.items, {})});
      }
      default: return "any-" + attribute.name;
    }
  }
};

}  // namespace holdfast::testing
