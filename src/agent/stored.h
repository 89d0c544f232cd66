// The rows that only the runtime itself sees, and how all rows are written and read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/rows.h"
#include "holdfast/store.h"

namespace holdfast::agent {

// A stored row is not what it should be: nothing that depends on it is done, and trying again does not help
// until somebody mends or deletes the row.
Error MalformedRow(std::string_view pk, std::string_view sk, std::string_view why);
bool IsMalformed(const Error& error);

// --- states of a session; stored: never rename ---
inline constexpr std::string_view kActive = "active";
inline constexpr std::string_view kPaused = "paused";
inline constexpr std::string_view kBlocked = "blocked";
inline constexpr std::string_view kDeleting = "deleting";
inline constexpr std::string_view kDeleted = "deleted";

// The one row that every decision about a session rests on.
struct Head {
  bool exists = false;
  int64_t tail = 0;  // the newest event
  int64_t done = 0;  // the newest event that was processed
  int64_t base = 1;  // the oldest event that is kept
  int64_t epoch = 0;
  std::string owner;  // <worker>|<request>; empty: nobody
  int64_t lease_until = 0;
  int64_t turn_at = 0;  // since when the owner has it
  int64_t ready_at = 0;
  int64_t tgen = 0;  // a user message moves it, and all timers of older generations are dead
  int64_t n_tail = 0;
  int64_t auto_n = 0;
  std::optional<int64_t> auto_at;
  int64_t pv = 0;  // moves when a held message is released
  bool rx_ev = false, rx_fx = false, rx_ms = false;
  std::string st{kActive};
  std::string why;  // it is blocked
  int64_t fail_n = 0;
  int64_t last_at = 0;

  bool gone() const { return st == kDeleting || st == kDeleted; }
  bool ready(int64_t now) const {
    return tail > done && st == kActive && ready_at <= now && (owner.empty() || lease_until < now);
  }
};
Item HeadRow(std::string_view session, const Head& head);
// Whatever the row holds; counters and times within their bounds.
Head ReadHead(const Item& row);
// Refuses a row that no runtime has written. Conditions compare its attributes as they are stored: nothing
// could ever be written to such a session.
Status CheckHead(const Item& row);

struct TimerRow {
  std::string id;  // of the effect that set it
  std::string timer_id;
  int64_t fire_at = 0;
  std::optional<AttributeValue> payload;
  std::string status = "pending";  // pending, promoted, cancelled
  bool keep = false;
  int64_t gen = 0;
  std::string ver;
  int64_t created_at = 0, updated_at = 0;
  int64_t due = 0;  // where the index has it: fire_at, or when it was set if that was later

  bool pending() const { return status == "pending"; }
  bool alive(const Head& head) const { return pending() && (keep || gen == head.tgen); }
};
Item TimerItem(std::string_view session, const TimerRow& timer);
TimerRow ReadTimer(const Item& row);

// Any effect that is no accepted message. Its status is one of pending, executing, completed, failed, held,
// dead; its outcome says why.
struct EffectRow {
  int64_t seq = 0, i = 0;
  std::string type;
  Item payload;
  std::string dedupe_key;
  std::string status;
  std::string outcome;
  int64_t gen = 0;          // of a held message
  bool autonomous = false;  // what comes of it is
  bool at_most_once = false;
  int64_t created_at = 0, updated_at = 0;
  int64_t attempts = 0;
  std::optional<int64_t> last_attempt_at;
  int64_t next_at = 0;
  int64_t lease_until = 0;
  std::optional<int64_t> n;  // of a held message that went out
  int64_t since = 0;         // when it was first to be tried
  bool sound = true;         // as read: its key and its counter are what conditions can name
};
Item EffectItem(std::string_view session, const EffectRow& effect);
EffectRow ReadEffect(const Item& row);

Item EventItem(std::string_view session, const Event& event);
Event ReadEvent(const Item& row);
Item MessageItem(std::string_view session, const Message& message);
Message ReadMessage(const Item& row);

// A checkpoint, as the commit that made it left it.
struct Checkpoint {
  int64_t seq = 0;
  Item state;
  int64_t chunks = 0;  // > 0: the state is in that many rows of its own
  std::string token;
  int64_t epoch = 0;
  int64_t auto_n = 0;
  std::optional<int64_t> auto_at;
  std::vector<Item> decisions;  // {dedupe_key, row} or {dedupe_key, duplicate}, and why it was refused
  Item usage;
  bool skipped = false;
  int64_t created_at = 0;
};
Item CheckpointItem(std::string_view session, const Checkpoint& checkpoint);
Checkpoint ReadCheckpoint(const Item& row);

// SHA-256 in hex of checkpoint, type and payload with sorted keys.
std::string DedupeKeyOf(std::string_view checkpoint_id, std::string_view type, const Item& payload);

}  // namespace holdfast::agent
