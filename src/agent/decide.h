// What a commit amounts to: pure rules, no store. The cap, the cooldown and supersession are kept here, from
// what the session's head says, and the transaction that writes the decision is conditional on that head.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/policy.h"
#include "agent/runtime.h"
#include "agent/stored.h"

namespace holdfast::agent {

inline constexpr size_t kEffectsMax = 24;
inline constexpr size_t kTimersMax = 32;
// Timers of the runtime itself begin with this: no worker can name them.
inline constexpr std::string_view kHoldPrefix = "~h:";

using Timers = std::map<std::string, TimerRow, std::less<>>;

struct Situation {
  const std::string& session;
  const Head& head;
  const std::vector<Event>& events;  // all that the commit covers, never empty
  const Policy& policy;
  const Timers& timers;  // of the session, by timer_id; needed only for effects on timers
  bool autonomy = true;
  int64_t now = 0;
};

struct Decision {
  Head next;  // but for the lease
  Checkpoint checkpoint;
  std::vector<Message> messages;
  std::vector<EffectRow> effects;
  std::vector<TimerRow> timers;     // to be stored
  std::vector<TimerRow> cancelled;  // as they are stored now
  bool autonomous_send = false;
  bool webhooks = false;
  Committed answer;
};

// Checks what does not depend on the session, and gives effects the form in which they are stored.
Status NormaliseEffects(int64_t now, std::vector<EffectRequest>* effects);

// Fails with Rejected when the policy says so, and with TransactionTooLarge.
Result<Decision> Decide(const Situation& situation, const CommitRequest& request);

// The answer that this commit was given.
Committed AnswerOf(const Checkpoint& checkpoint);

}  // namespace holdfast::agent
