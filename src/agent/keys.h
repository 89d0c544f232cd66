// The names of rows (docs/agents.md). Numbers in them have a fixed width, so that rows sort by them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/value.h"

namespace holdfast::agent {

inline constexpr int kShards = 64;                // stored: never change
inline constexpr int64_t kBucketMillis = 60'000;  // of the index of timers; stored: never change

// user:agent:thread
struct SessionKey {
  std::string user, agent, thread;
};
// ValidationError when it is none.
Result<SessionKey> ParseSessionKey(std::string_view key);
std::string_view UserOf(std::string_view session);
std::string_view AgentOf(std::string_view session);
int ShardOf(std::string_view session);

// 1–128 of [A-Za-z0-9_.:-]; ids that the runtime makes itself begin with "r:" or "t:".
bool IsEventId(std::string_view id);
// 1–128 of the same; "~" begins those of the runtime.
bool IsTimerId(std::string_view id);
// 1–64 of [A-Za-z0-9_-].
bool IsDevice(std::string_view device);

inline constexpr std::string_view kHeadKey = "H";
std::string SessionPartition(std::string_view session);
std::string EventKey(int64_t seq);
std::string DedupeKey(std::string_view id);
std::string CheckpointKey(int64_t seq);
std::string ChunkPrefix(int64_t seq, std::string_view token);
std::string ChunkKey(int64_t seq, std::string_view token, int64_t k);
std::string MessageKey(int64_t n);
std::string EffectKey(int64_t seq, int64_t i);
std::string TimerKey(std::string_view timer_id);
std::string CursorKey(std::string_view device);

// <session>/<seq>, <session>/<seq>/<i>
std::string CheckpointId(std::string_view session, int64_t seq);
std::string EffectId(std::string_view session, int64_t seq, int64_t i);

inline int64_t BucketOf(int64_t millis) {
  return millis / kBucketMillis;
}
std::string DuePartition(int shard, int64_t bucket);
std::string ReadyPartition(std::string_view agent, int shard);
std::string WebhookPartition(int shard);
std::string MessagePartition(int shard);
std::string DeadPartition(int shard);
std::string ShardPartition(int shard);
inline constexpr std::string_view kConfigPartition = "CFG";
inline constexpr std::string_view kAutonomyKey = "autonomy";
std::string PolicyKey(std::string_view agent);

// A timer as its entry in the index names it.
struct DueEntry {
  int64_t due = 0;  // milliseconds
  std::string session;
  std::string timer_id;
  std::string version;

  friend auto operator<=>(const DueEntry&, const DueEntry&) = default;
};
std::string DueKey(const DueEntry& entry);
// False when it is no such key.
bool ParseDueKey(std::string_view key, DueEntry* entry);

// "000000000042"
std::string Padded(int64_t number, int width);

// {"pk": …, "sk": …}
Item RowKey(std::string_view pk, std::string_view sk);

}  // namespace holdfast::agent
