#include "agent/keys.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "agent/row_writer.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

constexpr int kSeqWidth = 12;
constexpr int kMillisWidth = 13;

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}
bool IsName(std::string_view text, size_t length_max, std::string_view also = {}) {
  return !text.empty() && text.size() <= length_max && std::all_of(text.begin(), text.end(), [&](char c) {
    return IsWordCharacter(c) || also.find(c) != std::string_view::npos;
  });
}

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string joined;
  for (std::string_view part : parts) joined.append(part);
  return joined;
}

bool ReadNumber(std::string_view text, int64_t* number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<SessionKey> ParseSessionKey(std::string_view key) {
  constexpr size_t kLengthMax = 512;  // leaves room for what keys of rows add
  size_t first = key.find(':'), last = key.rfind(':');
  bool split = first != std::string_view::npos && first != last;
  if (split) {
    SessionKey parsed{std::string(key.substr(0, first)), std::string(key.substr(first + 1, last - first - 1)),
                      std::string(key.substr(last + 1))};
    if (IsName(parsed.user, kLengthMax) && IsName(parsed.agent, kLengthMax) &&
        IsName(parsed.thread, kLengthMax) && key.size() <= kLengthMax)
      return parsed;
  }
  return model::RefuseField("session_key", "should be user:agent:thread, each of letters, digits, _ and -",
                            std::string(key.substr(0, 100)));
}

std::string_view UserOf(std::string_view session) {
  return session.substr(0, session.find(':'));
}
std::string_view AgentOf(std::string_view session) {
  size_t begin = session.find(':') + 1;
  return session.substr(begin, session.find(':', begin) - begin);
}

// FNV-1a.
int ShardOf(std::string_view session) {
  uint32_t hash = 2166136261;
  for (char c : session) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  return static_cast<int>(hash % kShards);
}

bool IsEventId(std::string_view id) {
  return IsName(id, 128, ".:");
}
bool IsTimerId(std::string_view id) {
  return IsName(id, 128, ".:");
}
bool IsDevice(std::string_view device) {
  return IsName(device, 64);
}

std::string Padded(int64_t number, int width) {
  char digits[24];
  int length = std::snprintf(digits, sizeof digits, "%0*lld", width, static_cast<long long>(number));
  return std::string(digits, static_cast<size_t>(length));
}

std::string SessionPartition(std::string_view session) {
  return Join({"S#", session});
}
std::string EventKey(int64_t seq) {
  return "E#" + Padded(seq, kSeqWidth);
}
std::string DedupeKey(std::string_view id) {
  return Join({"D#", id});
}
std::string CheckpointKey(int64_t seq) {
  return "C#" + Padded(seq, kSeqWidth);
}
std::string ChunkPrefix(int64_t seq, std::string_view token) {
  return Join({"CC#", Padded(seq, kSeqWidth), "#", token, "#"});
}
std::string ChunkKey(int64_t seq, std::string_view token, int64_t k) {
  return ChunkPrefix(seq, token) + Padded(k, 4);
}
std::string MessageKey(int64_t n) {
  return "M#" + Padded(n, kSeqWidth);
}
std::string EffectKey(int64_t seq, int64_t i) {
  return Join({"F#", Padded(seq, kSeqWidth), "#", std::to_string(i)});
}
std::string TimerKey(std::string_view timer_id) {
  return Join({"T#", timer_id});
}
std::string CursorKey(std::string_view device) {
  return Join({"K#", device});
}

std::string CheckpointId(std::string_view session, int64_t seq) {
  return Join({session, "/", std::to_string(seq)});
}
std::string EffectId(std::string_view session, int64_t seq, int64_t i) {
  return Join({session, "/", std::to_string(seq), "/", std::to_string(i)});
}

std::string DuePartition(int shard, int64_t bucket) {
  return Join({"TX#", std::to_string(shard), "#", std::to_string(bucket)});
}
std::string ReadyPartition(std::string_view agent, int shard) {
  return Join({"RX#ev#", agent, "#", std::to_string(shard)});
}
std::string WebhookPartition(int shard) {
  return "RX#fx#" + std::to_string(shard);
}
std::string MessagePartition(int shard) {
  return "RX#ms#" + std::to_string(shard);
}
std::string DeadPartition(int shard) {
  return "DL#" + std::to_string(shard);
}
std::string ShardPartition(int shard) {
  return "SH#" + std::to_string(shard);
}
std::string PolicyKey(std::string_view agent) {
  return Join({"agent#", agent});
}

std::string DueKey(const DueEntry& entry) {
  return Join({Padded(entry.due, kMillisWidth), "#", entry.session, "#", entry.timer_id, "#", entry.version});
}

bool ParseDueKey(std::string_view key, DueEntry* entry) {
  size_t first = key.find('#');
  if (first == std::string_view::npos || !ReadNumber(key.substr(0, first), &entry->due)) return false;
  size_t second = key.find('#', first + 1), last = key.rfind('#');
  if (second == std::string_view::npos || second == last) return false;
  entry->session = key.substr(first + 1, second - first - 1);
  entry->timer_id = key.substr(second + 1, last - second - 1);
  entry->version = key.substr(last + 1);
  return true;
}

Item RowKey(std::string_view pk, std::string_view sk) {
  return RowWriter(pk, sk).Take();
}

}  // namespace holdfast::agent
