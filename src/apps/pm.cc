// Agentic PM Workbench.

#include "apps/apps.h"
#include "apps/each.h"
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
    HF_CHECK_OK(ForEach(&context_.application, "PM-A-13", Item(), [&](const Item& project) {
      return ReleaseIn(Item{{"projectId", *project.Get("id")}});
    }));
    answer_.changed = released_ > 0;
    answer_.result = Item{{"released", released_}};
    return std::move(answer_);
  }

 private:
  // `project` may be empty: what belongs to none.
  Status ReleaseIn(const Item& project) {
    return ForEach(&context_.application, "PM-A-19", project, [&](const Item& action) -> Status {
      auto until = model::ParseInstant(action.Get("heldUntil")->AsText());
      if (!until || *until > context_.now_millis) return Ok{};
      Item input = project;
      input.Set("actionKey",
                AttributeValue::Map({{"createdAt", *action.Get("createdAt")}, {"id", *action.Get("id")}}));
      auto done = context_.application.Run(Caller(), "action.release", input);
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
    });
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
