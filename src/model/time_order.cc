#include "model/time_order.h"

#include <algorithm>

#include "model/instant.h"
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

TimeOrder::TimeOrder(std::string sort_key, bool descending, const Position& resumed)
    : sort_key_(std::move(sort_key)),
      descending_(descending),
      resumed_millis_(resumed.after_millis),
      resumed_key_(resumed.after_key) {}

void TimeOrder::Cut(std::optional<int64_t> from, std::optional<int64_t> to) {
  from_ = from;
  to_ = to;
}

std::string_view TimeOrder::KeyOf(const Record& record) const {
  auto value = value::MapView(record.stored()).Find(sort_key_);
  return value && value->type() == value::Type::kString ? value->payload() : std::string_view();
}

std::string_view TimeOrder::SecondOf(std::string_view key) {
  InstantInKey found = FindInstant(key);
  return found.length == 0 ? key : key.substr(0, found.at + kWholeSecond - 1);
}

int64_t TimeOrder::MillisOf(std::string_view key) {
  InstantInKey found = FindInstant(key);
  return found.length == 0 ? 0 : ParseInstant(key.substr(found.at, found.length)).value_or(0);
}

bool TimeOrder::WasGiven(std::string_view key) const {
  if (!resumed_millis_ || SecondOf(key) != SecondOf(resumed_key_)) return false;
  int64_t millis = MillisOf(key);
  if (millis == *resumed_millis_ && key == resumed_key_) return true;
  bool later = millis != *resumed_millis_ ? millis > *resumed_millis_ : key > resumed_key_;
  return later == descending_;
}

void TimeOrder::Add(Record record) {
  std::string_view key = KeyOf(record);
  InstantInKey found = FindInstant(key);
  if (from_ || to_) {
    int64_t millis = MillisOf(key);
    if ((from_ && millis < *from_) || (to_ && millis > *to_)) return;
  }
  std::string_view second = found.length == 0 ? key : key.substr(0, found.at + kWholeSecond - 1);
  bool begins = second != second_id_;
  if (begins) {
    CloseSecond();
    second_id_ = second;
  }
  bool resumes = resumed_millis_ && second_id_ == SecondOf(resumed_key_);
  bool in_order = descending_ && found.length != kWholeSecond && second_.empty();
  if (!in_order || resumes) {
    second_.push_back(std::move(record));
  } else {
    ready_.push_back(std::move(record));
  }
}

void TimeOrder::End() {
  CloseSecond();
}

void TimeOrder::CloseSecond() {
  if (second_.empty()) return;
  if (resumed_millis_ && second_id_ == SecondOf(resumed_key_)) end_of_resumed_ = second_.back();
  auto earlier = [this](const Record& a, const Record& b) {
    std::string_view left = KeyOf(a);
    std::string_view right = KeyOf(b);
    int64_t l = MillisOf(left);
    int64_t r = MillisOf(right);
    int order = l != r ? (l < r ? -1 : 1) : left.compare(right);
    return descending_ ? order > 0 : order < 0;
  };
  if (second_.size() > 1) std::sort(second_.begin(), second_.end(), earlier);
  for (Record& record : second_) {
    if (!WasGiven(KeyOf(record))) ready_.push_back(std::move(record));
  }
  second_.clear();
}

}  // namespace holdfast::model
