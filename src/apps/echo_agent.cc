#include "apps/echo_agent.h"

#include <memory>

#include "apps/item_text.h"
#include "model/refusal.h"

namespace holdfast::apps {
namespace {

constexpr int kSessionsAtOnce = 64;
constexpr int64_t kEchoRetryMillis = 1'000;
constexpr size_t kTextBytesMax = 64 << 10;  // a longer text would not fit into the answer's rows

class FunctionWorker final : public agent::WorkerSink {
 public:
  FunctionWorker(agent::Runtime* runtime, AgentFunction function)
      : runtime_(runtime), function_(std::move(function)) {}

  // One event a commit: however many there are, its effects are those of one call.
  void OnWork(const agent::Work& work) override {
    const agent::Event& event = work.events.front();
    Turn turn = function_(event, work.state);
    agent::CommitRequest commit{.session = work.session,
                                .epoch = work.epoch,
                                .upto = event.seq,
                                .token = std::to_string(work.epoch) + "." + std::to_string(event.seq),
                                .state = std::move(turn.state),
                                .effects = std::move(turn.effects),
                                .release = true};
    runtime_->Commit(std::move(commit), [runtime = runtime_, session = work.session,
                                         epoch = work.epoch](const Result<agent::Committed>& committed) {
      if (committed || model::RefusalName(committed.error()) == "Fenced") return;
      runtime->Release({session, epoch, committed.error().message(), kEchoRetryMillis}, [](const Status&) {});
    });
  }
  // A turn is over before anybody could ask for its end.
  void OnCancel(const agent::Cancel&) override {}

 private:
  agent::Runtime* const runtime_;
  const AgentFunction function_;
};

agent::EffectRequest Send(const std::string& content) {
  return {.type = "send_message", .payload = Item{{"content", content}}};
}

}  // namespace

AgentFunction EchoAgent(int64_t follow_up_millis) {
  return [follow_up_millis](const agent::Event& event, const Item& state) -> Turn {
    if (event.type == "timer") return {state, {Send("Still there? You last said: " + TextOf(state, "last"))}};
    if (event.type != "user_message") return {state, {}};
    std::string text = TextOf(event.payload, "text");
    if (text.size() > kTextBytesMax) text = "a text of " + std::to_string(text.size()) + " bytes";
    auto turns = state.Get("turns");
    agent::EffectRequest timer{.type = "schedule_timer",
                               .payload = Item{{"timer_id", "follow-up"}, {"delay_ms", follow_up_millis}}};
    return {Item{{"turns", (turns ? turns->AsInt64().value_or(0) : 0) + 1}, {"last", text}},
            {Send("You said: " + text), std::move(timer)}};
  };
}

void AttachAgent(agent::Runtime* runtime, const std::string& agent, AgentFunction function) {
  runtime->Attach({.worker = agent, .agents = {agent}, .credit = kSessionsAtOnce},
                  std::make_shared<FunctionWorker>(runtime, std::move(function)));
}

}  // namespace holdfast::apps
