// A shipped model at work for a file of cases: on a database in this process, or on the store that
// HOLDFAST_TEST_ENDPOINT names.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <string>

#include "json/plain.h"
#include "models/test_app.h"
#include "models/yaml_values.h"

namespace holdfast::testing {

// An item as people write it.
inline std::string PlainText(const Item& item) {
  std::string text;
  json::AppendPlainItem(value::MapView(item), &text);
  return text;
}

class StoreWorld {
 public:
  // `file` is below tests/models. It says `now`, and perhaps `model` and `options`.
  explicit StoreWorld(const std::string& file, ApplicationOptions app = {}) : clock(0), file_(file) {
    cases = YAML::LoadFile(kRoot / "tests/models" / file);
    clock.Set(Instant(cases["now"].Scalar()));
    if (Status opened = Open(std::move(app)); !opened) Fail(opened.error());
  }
  ~StoreWorld() {
    // The next file of cases may use the same tables.
    if (!application) return;
    for (const auto& table : application->model().tables) {
      DeleteTableRequest request;
      request.table_name = table->name;
      static_cast<void>(store_->Run(request));
    }
    application.reset();  // before the store that it works on
  }
  StoreWorld(const StoreWorld&) = delete;
  StoreWorld& operator=(const StoreWorld&) = delete;

  std::string failure;
  YAML::Node cases;
  base::ManualClock clock;
  std::unique_ptr<Application> application;

  template <class Visit>
  void ForEachItem(const Visit& visit) {
    for (const auto& table : application->model().tables) {
      ScanRequest scan;
      scan.table_name = table->name;
      scan.consistent_read = true;
      do {
        auto page = Must(store_->Run(scan));
        for (const Item& item : *page.items) visit(*table, item);
        scan.exclusive_start_key = page.last_evaluated_key;
      } while (scan.exclusive_start_key);
    }
  }
  void Empty() {
    ForEachItem([&](const model::Table& table, const Item& item) {
      DeleteItemRequest request;
      request.table_name = table.name;
      request.key = model::KeyOf(table, item);
      Must(store_->Run(request));
    });
  }

 protected:
  void Fail(const Error& error) {
    if (failure.empty()) failure = file_ + ": " + error.ToString();
  }
  Store* store() { return store_.get(); }

 private:
  Status Open(ApplicationOptions app) {
    model::LoadOptions options;
    for (const auto& option : cases["options"])
      options.options[option.first.Scalar()] = option.second.as<bool>();
    const char* models = std::getenv("HOLDFAST_TEST_MODELS");
    std::filesystem::path directory = models == nullptr ? kRoot / "models" : std::filesystem::path(models);
    std::string name = std::filesystem::path(file_).stem().string();
    name = cases["model"] ? cases["model"].Scalar() : name.substr(0, name.find('-'));
    HF_TRY(ModelPtr model, model::LoadModelFile(directory / (name + ".yaml"), options));
    if (const char* endpoint = std::getenv("HOLDFAST_TEST_ENDPOINT")) {
      RemoteOptions remote;
      remote.endpoint = endpoint;
      remote.region = "us-east-1";
      remote.access_key = "test";
      remote.secret_key = "test";
      HF_TRY(store_, OpenRemoteStore(remote));
    } else {
      HF_TRY(database_, Database::Open({.ttl_sweep_millis = 3'600'000}));
      store_ = EmbeddedStore(database_.get());
    }
    app.now_millis = [this] { return clock.NowMillis(); };
    app.embedder = "demo";
    HF_TRY(application, Application::Open(store_.get(), std::move(model), std::move(app)));
    HF_CHECK_OK(application->Apply());
    return KeepExpired();
  }

  // The cases have their own time. By the store's, some of their items have expired long ago.
  Status KeepExpired() {
    for (const auto& table : application->model().tables) {
      if (table->ttl.empty()) continue;
      UpdateTimeToLiveRequest request;
      request.table_name = table->name;
      request.time_to_live_specification.attribute_name = table->ttl;
      request.time_to_live_specification.enabled = false;
      HF_CHECK_OK(store_->Run(request));
    }
    return Ok{};
  }

  const std::string file_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
};

}  // namespace holdfast::testing
