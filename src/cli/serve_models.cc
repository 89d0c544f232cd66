#include "cli/serve_models.h"

#include <filesystem>

#include "model/model.h"

namespace holdfast::cli {
namespace {

void AppendName(const std::string& name, std::string* list) {
  list->append(list->empty() ? "" : ", ").append(name);
}

}  // namespace

Result<std::vector<ModelPtr>> LoadServedModels(const ModelsConfig& config, const base::Log& log) {
  const std::vector<std::string>& named = config.flags.models;
  if (named.size() == 1 && named[0] == "none") return std::vector<ModelPtr>();
  if (named.empty()) {
    if (auto shipped = ShippedModels(); !shipped) {
      HF_LOG(log, kWarning, "serving without models", {"why", shipped.error().message()});
      return std::vector<ModelPtr>();
    }
  }
  return LoadModels(config.flags);
}

Result<Applications> OpenApplications(Store* store, const std::vector<ModelPtr>& models,
                                      const ApplicationOptions& options) {
  Applications applications;
  for (const ModelPtr& model : models) {
    HF_TRY(std::unique_ptr<Application> application, Application::Open(store, model, options));
    applications.push_back(std::move(application));
  }
  return applications;
}

Status PrepareTables(const Applications& applications, bool apply, const base::Log& log) {
  std::string missing;
  for (const auto& application : applications) {
    const std::string& model = application->model().name;
    HF_TRY(std::vector<TableReport> reports, apply ? application->Apply() : application->Compare());
    bool lacks = false;
    for (const TableReport& report : reports) {
      lacks = lacks || report.status == "missing";
      if (report.status == "as it should be" || report.status == "missing") continue;
      std::string details;
      for (const std::string& detail : report.details) AppendName(detail, &details);
      if (report.status == "drifted") {
        HF_LOG(log, kWarning, "a table differs from its model", {"model", model}, {"table", report.table},
               {"differs", details});
      } else {
        HF_LOG(log, kInfo, "table applied", {"model", model}, {"table", report.table},
               {"status", report.status}, {"details", details});
      }
    }
    if (lacks) AppendName(model, &missing);
  }
  if (!missing.empty()) {
    HF_LOG(log, kInfo, "models without their tables", {"models", missing},
           {"hint", "`holdfast model apply FILE` or --apply makes them"});
  }
  return Ok{};
}

}  // namespace holdfast::cli
