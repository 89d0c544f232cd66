#include "model/instant.h"

#include <chrono>
#include <cstdio>

namespace holdfast::model {
namespace {

// Digits from `*rest` onwards, exactly `count`.
std::optional<int> TakeDigits(std::string_view* rest, size_t count) {
  if (rest->size() < count) return std::nullopt;
  int value = 0;
  for (size_t i = 0; i < count; ++i) {
    char c = (*rest)[i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  rest->remove_prefix(count);
  return value;
}

bool TakeChar(std::string_view* rest, char c) {
  if (rest->empty() || rest->front() != c) return false;
  rest->remove_prefix(1);
  return true;
}

std::optional<int64_t> TakeDay(std::string_view* rest) {
  auto year = TakeDigits(rest, 4);
  if (!year || *year == 0 || !TakeChar(rest, '-')) return std::nullopt;
  auto month = TakeDigits(rest, 2);
  if (!month || !TakeChar(rest, '-')) return std::nullopt;
  auto day = TakeDigits(rest, 2);
  if (!day) return std::nullopt;
  std::chrono::year_month_day date{std::chrono::year(*year),
                                   std::chrono::month(static_cast<unsigned>(*month)),
                                   std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * kDayMillis;
}

// 10:30:00 with perhaps a fraction, in milliseconds.
std::optional<int64_t> TakeTime(std::string_view* rest) {
  auto hour = TakeDigits(rest, 2);
  if (!hour || *hour > 23 || !TakeChar(rest, ':')) return std::nullopt;
  auto minute = TakeDigits(rest, 2);
  if (!minute || *minute > 59 || !TakeChar(rest, ':')) return std::nullopt;
  auto second = TakeDigits(rest, 2);
  if (!second || *second > 59) return std::nullopt;
  int millis = 0;
  if (TakeChar(rest, '.')) {
    int weight = 100;
    size_t digits = 0;
    for (; !rest->empty() && rest->front() >= '0' && rest->front() <= '9'; ++digits, weight /= 10) {
      millis += (rest->front() - '0') * weight;
      rest->remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
  }
  return ((*hour * 60 + *minute) * 60 + *second) * kSecondMillis + millis;
}

// Z, or +05:30.
std::optional<int64_t> TakeOffset(std::string_view* rest) {
  if (TakeChar(rest, 'Z') || TakeChar(rest, 'z')) return 0;
  bool west = TakeChar(rest, '-');
  if (!west && !TakeChar(rest, '+')) return std::nullopt;
  auto hours = TakeDigits(rest, 2);
  if (!hours || *hours > 23 || !TakeChar(rest, ':')) return std::nullopt;
  auto minutes = TakeDigits(rest, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  int64_t millis = (*hours * 60 + *minutes) * 60 * kSecondMillis;
  return west ? -millis : millis;
}

constexpr int64_t kFirstMillis = -62'135'596'800'000;  // 0001-01-01T00:00:00.000Z
constexpr int64_t kLastMillis = 253'402'300'799'999;   // 9999-12-31T23:59:59.999Z

struct Moment {
  int year;
  unsigned month;
  unsigned day;
  int64_t millis_of_day;
};

Moment Split(int64_t millis) {
  int64_t days = millis / kDayMillis;
  int64_t rest = millis % kDayMillis;
  if (rest < 0) {
    rest += kDayMillis;
    --days;
  }
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()), rest};
}

void PutDigits(char* at, int64_t value, int count) {
  for (int i = count; i-- > 0; value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

// The first 19 characters of both forms.
void PutSeconds(const Moment& moment, char* at) {
  PutDigits(at, moment.year, 4);
  PutDigits(at + 5, moment.month, 2);
  PutDigits(at + 8, moment.day, 2);
  int64_t seconds = moment.millis_of_day / kSecondMillis;
  PutDigits(at + 11, seconds / 3600, 2);
  PutDigits(at + 14, seconds / 60 % 60, 2);
  PutDigits(at + 17, seconds % 60, 2);
}

}  // namespace

std::optional<int64_t> ParseInstant(std::string_view text) {
  auto day = TakeDay(&text);
  if (!day || (!TakeChar(&text, 'T') && !TakeChar(&text, 't') && !TakeChar(&text, ' '))) return std::nullopt;
  auto time = TakeTime(&text);
  if (!time) return std::nullopt;
  auto offset = TakeOffset(&text);
  if (!offset || !text.empty()) return std::nullopt;
  int64_t millis = *day + *time - *offset;
  // An offset may lead out of the years that have four digits.
  if (millis < kFirstMillis || millis > kLastMillis) return std::nullopt;
  return millis;
}

std::string FormatInstant(int64_t millis) {
  Moment moment = Split(millis);
  std::string text = "0000-00-00T00:00:00.000Z";
  PutSeconds(moment, text.data());
  PutDigits(text.data() + 20, moment.millis_of_day % kSecondMillis, 3);
  return text;
}

std::string FormatWholeSecond(int64_t millis) {
  std::string text = "0000-00-00T00:00:00Z";
  PutSeconds(Split(millis), text.data());
  return text;
}

bool IsKeyInstant(std::string_view text) {
  bool whole = text.size() == 20;
  if (!whole && (text.size() != 24 || text[19] != '.')) return false;
  return text.back() == 'Z' && text[10] == 'T' && ParseInstant(text).has_value();
}

std::optional<int64_t> ParseDate(std::string_view text) {
  auto day = TakeDay(&text);
  if (!day || !text.empty()) return std::nullopt;
  return day;
}

std::string FormatDate(int64_t millis) {
  return FormatInstant(millis).substr(0, 10);
}

}  // namespace holdfast::model
