#include "model/guard.h"

#include "base/clock.h"
#include "model/item_builder.h"

namespace holdfast::model {
namespace {

constexpr int64_t kMicrosBetweenLines = 1'000'000;

class Guard final : public engine::ItemGuard {
 public:
  Guard(ModelPtr model, const Table* table, const base::Log* log)
      : ItemGuard(table->enforce == Enforce::kStrict), model_(std::move(model)), table_(table), log_(log) {}

  std::optional<std::string> Objection(const Item& now) const override {
    const Entity* entity = model_->EntityOf(*table_, now);
    if (entity == nullptr)
      return "The item is no entity of the model " + model_->name + ", which the table " + table_->name +
             " enforces";
    std::vector<Violation> violations = Judge(*model_, *entity, now).violations;
    if (violations.empty()) return std::nullopt;
    const Violation& first = violations.front();
    std::string text = "The item is no " + entity->name + " of the model " + model_->name + ": " +
                       first.path + " " + first.rule;
    if (violations.size() > 1) text += " (and " + std::to_string(violations.size() - 1) + " more)";
    return text;
  }

 protected:
  // One line a second at most: whoever writes much against the model would otherwise write the log.
  void Overruled(std::string_view objection) override {
    int64_t now = base::SteadyMicros();
    int64_t last = logged_micros_.load(std::memory_order_relaxed);
    if (last != 0 && now - last < kMicrosBetweenLines) return;
    if (!logged_micros_.compare_exchange_strong(last, now)) return;
    HF_LOG(*log_, kWarning, "written against the model", {"table", table_->name}, {"why", objection},
           {"warnings", warnings()});
  }

 private:
  const ModelPtr model_;
  const Table* const table_;
  const base::Log* const log_;
  std::atomic<int64_t> logged_micros_{0};
};

}  // namespace

Status AddGuards(const ModelPtr& model, const base::Log* log, engine::ItemGuards* guards) {
  for (const auto& table : model->tables) {
    if (table->enforce == Enforce::kOff) continue;
    if (guards->contains(table->name))
      return Error(ErrorCode::kValidation, model->file + ":" + std::to_string(table->place.line) + ": " +
                                               table->place.path + ": another model enforces itself on " +
                                               table->name + " already");
    guards->emplace(table->name, std::make_shared<Guard>(model, table.get(), log));
  }
  return Ok{};
}

}  // namespace holdfast::model
