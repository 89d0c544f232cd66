// Agentic PM Workbench.

#include "apps/apps.h"
#include "apps/each.h"
#include "apps/item_text.h"
#include "model/instant.h"
#include "model/refusal.h"

namespace holdfast::apps {
namespace {

// PM-C-19: the settings an agent starts with, where there are none yet.
Result<CommandAnswer> SeedDefaults(const CommandContext& context) {
  HF_TRY(size_t written, context.application.WriteDefaults());
  CommandAnswer answer;
  answer.changed = written > 0;
  answer.result = Item{{"written", written}};
  return answer;
}

// PM-C-13: what was held back for long enough, of projects that are active. Whoever releases an action first
// does it alone.
class ReleaseDue {
 public:
  explicit ReleaseDue(const CommandContext& context) : context_(context) {}

  Result<CommandAnswer> Run() {
    HF_CHECK_OK(ReleaseIn(Item()));
    HF_CHECK_OK(ForEach(&context_.application, "PM-A-13", Item(), [&](const Record& project) -> Status {
      std::string id = TextOf(project.Fields(), "id");
      if (id.empty()) {
        answer_.warnings.push_back(PassedOver(project, "id should be a text"));
        return Ok{};
      }
      return ReleaseIn(Item{{"projectId", id}});
    }));
    answer_.changed = released_ > 0;
    answer_.result = Item{{"released", released_}};
    return std::move(answer_);
  }

 private:
  // `project` may be empty: what belongs to none.
  Status ReleaseIn(const Item& project) {
    return ForEach(&context_.application, "PM-A-19", project,
                   [&](const Record& action) { return Release(project, action); });
  }

  Status Release(const Item& project, const Record& action) {
    Item fields = action.Fields();
    std::string id = TextOf(fields, "id"), created_at = TextOf(fields, "createdAt");
    auto until = model::ParseInstant(TextOf(fields, "heldUntil"));
    if (id.empty() || created_at.empty() || !until) {
      answer_.warnings.push_back(
          PassedOver(action, "id, createdAt and heldUntil should be texts, the last one an instant"));
      return Ok{};
    }
    if (*until > context_.now_millis) return Ok{};
    Item input = project;
    input.Set("actionKey", AttributeValue::Map({{"createdAt", created_at}, {"id", id}}));
    auto done = context_.application.Run(Caller::Administrator(), "action.release", input);
    if (!done && IsOfTheItem(done.error())) {
      answer_.warnings.push_back(PassedOver(action, done.error().message()));
      return Ok{};
    }
    if (!done) {
      // Somebody was there before, or paused the project.
      std::string_view name = model::RefusalName(done.error());
      bool settled = name == "AlreadyExecuted" || name == "IllegalTransition" || name == "RuleViolation" ||
                     name == "NotFound" || name == "Conflict";
      return settled ? Status(Ok{}) : Status(done.error());
    }
    ++released_;
    for (Emitted& one : done->emitted) answer_.emitted.push_back(std::move(one));
    return Ok{};
  }

  const CommandContext& context_;
  CommandAnswer answer_;
  int64_t released_ = 0;
};

}  // namespace

void AddPmCommands(CommandLibrary* library) {
  library->handlers["pm.agentConfig.seedDefaults"] = SeedDefaults;
  library->handlers["pm.action.releaseDue"] = [](const CommandContext& context) {
    return ReleaseDue(context).Run();
  };
}

}  // namespace holdfast::apps
