// The rows of a session and how they look to people (AUTO-E-01 … 06). docs/agents.md has the layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/value.h"

namespace holdfast::agent {

// --- stored ---

struct Event {
  int64_t seq = 0;
  std::string id;
  std::string type;  // user_message, timer, tool_result
  Item payload;
  int64_t at = 0;
  int64_t generation = 0;   // of timers, at this event
  bool autonomous = false;  // nobody's words led to it: a timer, or the result of an autonomous effect
};

struct Message {
  int64_t n = 0;
  int64_t seq = 0;  // of the event whose commit sent it
  int64_t i = 0;    // its place among that commit's effects
  std::string content;
  bool autonomous = false;
  bool at_most_once = false;
  std::string status;  // of at_most_once: empty, executing, unknown
  std::string node;    // which runtime set it
  int64_t at = 0;
  std::string id;  // <session>/<seq>/<i>
  std::string dedupe_key;
  int64_t attempts = 0;
  std::optional<int64_t> attempted_at;
};

// An effect as a worker asks for it: send_message, schedule_timer, cancel_timer, webhook.
struct EffectRequest {
  std::string type;
  Item payload;
  bool at_most_once = false;  // send_message
  bool keep = false;          // schedule_timer: the user's words do not cancel it
};

// --- shown ---

struct SessionView {
  std::string session;
  std::string state;   // active, paused, blocked, deleting, deleted
  std::string reason;  // of blocked
  int64_t last_seq = 0;
  int64_t event_seq = 0;
  std::string checkpoint_id;  // empty: none yet
  int64_t last_n = 0;
  int64_t epoch = 0;
  std::string owner;
  int64_t lease_until = 0;
  int64_t consecutive_autonomous = 0;
  std::optional<int64_t> last_autonomous_at;
  int64_t generation = 0;
  int64_t updated_at = 0;
};

struct EventPage {
  std::vector<Event> events;
  std::optional<int64_t> next;  // ask with this as `after` for more
};
struct MessagePage {
  std::vector<Message> messages;
  std::optional<int64_t> next;
};

struct EffectView {
  std::string id;  // <session>/<seq>/<i>
  std::string session;
  std::string checkpoint_id;
  int64_t seq = 0;
  int64_t i = 0;
  std::string type;
  Item payload;
  std::string dedupe_key;
  std::string status;   // pending, executing, completed, failed
  std::string outcome;  // why; empty: nothing to say
  std::optional<int64_t> n;
  std::string delivery;  // of send_message: at_least_once, at_most_once
  int64_t created_at = 0;
  int64_t updated_at = 0;
  int64_t attempt_count = 0;
  std::optional<int64_t> last_attempt_at;
};

struct TimerView {
  std::string id;  // of the effect that set it
  std::string session;
  std::string timer_id;
  int64_t fire_at = 0;
  std::optional<AttributeValue> payload;
  std::string status;  // pending, promoted, cancelled
  bool keep = false;
  int64_t created_at = 0;
  int64_t updated_at = 0;
};

struct CheckpointView {
  std::string id;
  int64_t seq = 0;
  Item state;
  int64_t consecutive_autonomous = 0;
  std::optional<int64_t> last_autonomous_at;
  std::vector<Item> decisions;
  int64_t created_at = 0;
  bool skipped = false;
};

struct Autonomy {
  bool enabled = true;
  std::string by;
  int64_t at = 0;
  bool forced_off = false;  // by AUTONOMY_ENABLED=false
};

struct DeadLetter {
  std::string id;
  std::string session;
  std::string effect_id;  // or of the event that no worker could process
  std::string reason;
  int64_t at = 0;
};
struct DeadLetterPage {
  std::vector<DeadLetter> letters;
  std::string next;  // empty: no more
};

}  // namespace holdfast::agent
