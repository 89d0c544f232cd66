// A turn as a worker keeps it: what the server gave, and what is to be said to it in the end.
//
// Thread safety: as holdfast::Turn's; Lose and lost also from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/agent.h"

namespace holdfast::sdk {

class WorkTurn final : public Turn {
 public:
  struct Work {
    std::string session;
    int64_t epoch = 0;
    std::string state;  // as JSON; empty: there is none
    std::vector<AgentEvent> events;
  };
  explicit WorkTurn(Work work) : work_(std::move(work)) {}

  const std::string& session() const override { return work_.session; }
  const std::vector<AgentEvent>& events() const override { return work_.events; }
  const Item& state() const override;
  void SetState(Item state) override;
  void Send(std::string_view content, Delivery delivery) override;
  void ScheduleTimer(const AgentTimer& timer) override;
  void CancelTimer(std::string_view timer_id) override;
  void Webhook(std::string_view url, const Item& body) override;
  bool cancelled() const override { return cancelled_; }

  int64_t epoch() const { return work_.epoch; }
  void Cancel() { cancelled_ = true; }
  // The session is another worker's, or our own in another turn.
  void Lose() { lost_ = cancelled_ = true; }
  bool lost() const { return lost_; }

  // The end of a commit: "epoch":…,"upto":…,"checkpoint":…,"effects":…  Fails when the handler gave an item
  // that cannot be stored.
  Result<std::string> Outcome() const;

 private:
  std::string* BeginEffect(std::string_view type);
  void AppendItem(std::string_view name, const Item& item, std::string* out);

  const Work work_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> lost_{false};
  mutable std::optional<Item> state_;  // when it was asked for
  bool state_is_new_ = false;
  std::string effects_;  // as JSON, without the brackets
  std::optional<Error> defect_;
};

}  // namespace holdfast::sdk
