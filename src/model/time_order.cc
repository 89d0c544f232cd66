#include "model/time_order.h"

#include <algorithm>

#include "model/instant.h"
#include "model/item_builder.h"
#include "value/flat.h"

namespace holdfast::model {
namespace {

constexpr size_t kWholeSecond = 20;
constexpr size_t kWithMillis = 24;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// 2026-02-04T10:30:00 and then Z or .000Z, by its form alone.
bool LooksLikeInstant(std::string_view text, size_t length) {
  static constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  for (size_t i = 0; i < length; ++i) {
    char want = length == kWholeSecond && i == kWholeSecond - 1 ? 'Z' : kForm[i];
    if (want == '0' ? !IsDigit(text[i]) : text[i] != want) return false;
  }
  return true;
}

}  // namespace

InstantInKey FindInstant(std::string_view key) {
  for (size_t t = key.find('T'); t != std::string_view::npos; t = key.find('T', t + 1)) {
    if (t < 10 || t + 10 > key.size()) continue;
    size_t begin = t - 10;
    size_t length = key[begin + 19] == 'Z' ? kWholeSecond : kWithMillis;
    if (key.size() >= begin + length && LooksLikeInstant(key.substr(begin), length)) return {begin, length};
  }
  return {};
}

TimeOrder::TimeOrder(const Table& table, std::string sort_key, bool in_index, bool descending,
                     const Position& resumed)
    : table_(table),
      sort_key_(std::move(sort_key)),
      in_index_(in_index),
      descending_(descending),
      resumed_(resumed.after_millis.value_or(0), resumed.after_key, resumed.after_item),
      resumed_second_(resumed.after_millis ? SecondOf(resumed.after_key) : std::string_view()) {}

void TimeOrder::Cut(std::optional<int64_t> from, std::optional<int64_t> to) {
  from_ = from;
  to_ = to;
}

std::string_view TimeOrder::KeyText(const Record& record) const {
  auto value = value::MapView(record.stored()).Find(sort_key_);
  return value && value->type() == value::Type::kString ? value->payload() : std::string_view();
}

TimeOrder::Rank TimeOrder::RankOf(const Record& record) const {
  std::string_view key = KeyText(record);
  return {MillisOf(key), std::string(key),
          in_index_ ? std::string(KeyOf(table_, record.stored()).flat()) : std::string()};
}

std::string_view TimeOrder::SecondOf(std::string_view key) {
  InstantInKey found = FindInstant(key);
  return found.length == 0 ? key : key.substr(0, found.at + kWholeSecond - 1);
}

int64_t TimeOrder::MillisOf(std::string_view key) {
  InstantInKey found = FindInstant(key);
  return found.length == 0 ? 0 : ParseInstant(key.substr(found.at, found.length)).value_or(0);
}

void TimeOrder::Add(Record record) {
  std::string_view key = KeyText(record);
  InstantInKey found = FindInstant(key);
  if (from_ || to_) {
    int64_t millis = MillisOf(key);
    if ((from_ && millis < *from_) || (to_ && millis > *to_)) return;
  }
  std::string_view second = found.length == 0 ? key : key.substr(0, found.at + kWholeSecond - 1);
  if (second != second_id_) {
    CloseSecond();
    second_id_ = second;
  }
  bool in_order = descending_ && !in_index_ && found.length != kWholeSecond && held_.empty() && !IsResumed();
  (in_order ? ready_ : held_).push_back(std::move(record));
}

void TimeOrder::Reached(std::string_view sort_key) {
  if (SecondOf(sort_key) != second_id_) CloseSecond();
}

void TimeOrder::CloseSecond() {
  size_t before = seconds_.empty() ? 0 : seconds_.back().end;
  if (held_.empty()) {
    if (ready_.size() > before) seconds_.push_back({ready_.size(), ready_.size() - 1});
    return;
  }
  std::vector<std::pair<Rank, Record*>> order;
  for (Record& record : held_) order.emplace_back(RankOf(record), &record);
  const Record* physically_last = &held_.back();
  if (IsResumed()) end_of_resumed_ = *physically_last;
  std::sort(order.begin(), order.end());
  if (descending_) std::reverse(order.begin(), order.end());
  Second closed;
  for (auto& [rank, record] : order) {
    if (IsResumed() && (descending_ ? rank >= resumed_ : rank <= resumed_)) continue;  // was given
    if (record == physically_last) closed.last = ready_.size();
    ready_.push_back(std::move(*record));
  }
  closed.end = ready_.size();
  seconds_.push_back(closed);
  held_.clear();
}

}  // namespace holdfast::model
