#include "cli/jobs.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "holdfast/master_keys.h"
#include "model/jobs.h"

namespace holdfast::cli {
namespace {

using model::Job;
using model::JobReport;
using model::MigratePhase;

constexpr int kInterrupted = 130;
constexpr int kBarWidth = 30;

struct JobConfig {
  std::string file;
  std::string newer_file;
  StoreFlags store;
  ModelFlags models;
  std::string entity;
  std::string attribute;
  bool copy_only = false;
  bool delete_old = false;
  std::string progress;
  bool json = false;
};

std::sig_atomic_t volatile interrupted = 0;

void Interrupt(int) {
  interrupted = 1;
}

// A line that rewrites itself, for people who watch.
class ProgressBar {
 public:
  void Show(const JobReport& report) {
    uint64_t items = report.counts.read;
    if (first_ == 0) first_ = items;
    double seconds = static_cast<double>(base::SteadyMicros() - started_) / 1e6;
    double share =
        report.expected == 0 ? 1 : static_cast<double>(items) / static_cast<double>(report.expected);
    if (share > 1) share = 1;
    int full = static_cast<int>(share * kBarWidth);
    std::fprintf(stderr, "\r[%s%s] %3d%%  %llu items  %.0f/s ", std::string(size_t(full), '#').c_str(),
                 std::string(size_t(kBarWidth - full), '.').c_str(), static_cast<int>(share * 100),
                 static_cast<unsigned long long>(items),
                 seconds > 0 ? static_cast<double>(items - first_) / seconds : 0.0);
    shown_ = true;
  }
  ~ProgressBar() {
    if (shown_) std::fputs("\n", stderr);
  }

 private:
  const int64_t started_ = base::SteadyMicros();
  uint64_t first_ = 0;  // what earlier runs had read is not of this one's speed
  bool shown_ = false;
};

void PrintReport(const std::string& name, const JobReport& report, bool json) {
  const model::JobCounts& counts = report.counts;
  const char* form =
      json ? "{\"job\":\"%s\",\"finished\":%s,\"read\":%llu,\"changed\":%llu,\"unchanged\":%llu,"
             "\"unknown\":%llu,\"conflicts\":%llu,\"faulty\":%llu}\n"
           : "%s %s: %llu items read, %llu changed, %llu unchanged, %llu unknown, %llu in conflict, %llu "
             "faulty\n";
  const char* state =
      json ? (report.finished ? "true" : "false") : (report.finished ? "finished" : "stopped");
  auto figure = [](uint64_t number) { return static_cast<unsigned long long>(number); };
  std::printf(form, name.c_str(), state, figure(counts.read), figure(counts.changed),
              figure(counts.unchanged), figure(counts.unknown), figure(counts.conflicts),
              figure(counts.faulty));
  for (const std::string& note : report.notes) std::fprintf(stderr, "  %s\n", note.c_str());
}

// What a job works on.
struct Opened {
  OpenedStore where;
  ModelPtr model;
  ModelPtr newer;
  std::shared_ptr<const MasterKeys> keys;
};

Result<Opened> Open(const JobConfig& config) {
  Opened opened;
  ModelFlags models = config.models;
  models.models = {config.file};
  if (!config.newer_file.empty()) models.models.push_back(config.newer_file);
  HF_TRY(std::vector<ModelPtr> loaded, LoadModels(models));
  opened.model = loaded[0];
  if (loaded.size() > 1) opened.newer = loaded[1];
  if (!config.store.key_file.empty()) {
    HF_TRY(MasterKeys keys, MasterKeys::Load(config.store.key_file));
    opened.keys = std::make_shared<const MasterKeys>(std::move(keys));
  }
  HF_TRY(opened.where, OpenStore(config.store, IfMissing::kFail));
  return opened;
}

using MakeJob = Result<std::unique_ptr<Job>> (*)(const JobConfig& config, const Opened& opened);

Result<int> RunCommand(const JobConfig& config, MakeJob make) {
  HF_TRY(Opened opened, Open(config));
  HF_TRY(std::unique_ptr<Job> job, make(config, opened));
  model::JobOptions options;
  options.progress_file = config.progress.empty()
                              ? ".holdfast-" + job->name() + "-" + opened.model->name + ".json"
                              : config.progress;
  std::signal(SIGINT, Interrupt);
  options.stop = [] { return interrupted != 0; };
  Result<JobReport> report = [&] {
    ProgressBar bar;
    if (::isatty(STDERR_FILENO) != 0) options.show = [&](const JobReport& so_far) { bar.Show(so_far); };
    return model::RunJob(opened.where.store.get(), *job, options);
  }();
  if (!report) return report.error();
  PrintReport(job->name(), *report, config.json);
  if (!report->finished) {
    std::fprintf(stderr, "holdfast: stopped; the same command goes on from %s\n",
                 options.progress_file.c_str());
    return kInterrupted;
  }
  if (report->counts.faulty > 0) return kInvalid;
  return report->counts.conflicts > 0 ? kConflict : kDone;
}

CLI::App* AddJob(CLI::App* model, const std::string& name, const std::string& what, std::function<int()>* run,
                 const std::shared_ptr<JobConfig>& config, MakeJob make) {
  CLI::App* command = model->add_subcommand(name, what);
  AddStoreFlags(command, &config->store);
  AddStageFlags(command, &config->models);
  command->add_option("--progress", config->progress,
                      "Where progress is kept, so that a stopped job can go on; "
                      "./.holdfast-" +
                          name + "-MODEL.json unless told");
  command->add_flag("--json", config->json, "Print the counts as JSON");
  command->callback([config, make, run] {
    *run = [config, make] {
      Result<int> code = RunCommand(*config, make);
      return code ? *code : Report(code.error(), config->json);
    };
  });
  return command;
}

}  // namespace

void AddJobCommands(CLI::App* model, std::function<int()>* run) {
  auto config = std::make_shared<JobConfig>();

  CLI::App* purge =
      AddJob(model, "purge", "Remove an attribute that an entity no longer has from stored items", run,
             config, [](const JobConfig& c, const Opened& o) {
               return model::MakePurge(o.where.store.get(), o.model, c.entity, c.attribute);
             });
  purge->add_option("model", config->file, "The model file")->required();
  purge->add_option("--entity", config->entity, "Of which entity")->required();
  purge->add_option("--attribute", config->attribute, "Which attribute")->required();

  CLI::App* backfill =
      AddJob(model, "backfill", "Write index keys, defaults and computed values that stored items lack", run,
             config, [](const JobConfig& c, const Opened& o) {
               return model::MakeBackfill(o.where.store.get(), o.model, c.entity);
             });
  backfill->add_option("model", config->file, "The model file")->required();
  backfill->add_option("--entity", config->entity, "Only of this entity");

  CLI::App* migrate =
      AddJob(model, "migrate", "Move items to the keys and tables of a newer model", run, config,
             [](const JobConfig& c, const Opened& o) {
               MigratePhase phase = c.copy_only    ? MigratePhase::kCopy
                                    : c.delete_old ? MigratePhase::kDeleteOld
                                                   : MigratePhase::kMove;
               return model::MakeMigrate(o.where.store.get(), o.model, o.newer, phase, o.keys);
             });
  migrate->add_option("older", config->file, "The model file of the stored items")->required();
  migrate->add_option("newer", config->newer_file, "The model file to move to")->required();
  auto* copy =
      migrate->add_flag("--dual-write-only", config->copy_only, "Write the new items and keep the old ones");
  migrate
      ->add_flag("--delete-old", config->delete_old,
                 "Write nothing; delete the old items whose new ones are there")
      ->excludes(copy);

  CLI::App* rewrap =
      AddJob(model, "rewrap", "Seal every encrypted attribute under the current version of the master key",
             run, config, [](const JobConfig&, const Opened& o) {
               return model::MakeRewrap(o.where.store.get(), o.model, o.keys);
             });
  rewrap->add_option("model", config->file, "The model file")->required();
  rewrap->get_option("--key-file")->required();
}

}  // namespace holdfast::cli
