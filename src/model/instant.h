// Instants and dates as texts.
//
// What holdfast writes has always 24 characters, so that texts sort as instants do: 2026-02-04T10:30:00.000Z.
// What it reads may be any RFC 3339 instant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::model {

// Milliseconds since 1970, UTC; finer fractions are cut off. Empty when `text` is no RFC 3339 instant of the
// years 1 to 9999.
std::optional<int64_t> ParseInstant(std::string_view text);
// 2026-02-04T10:30:00.000Z
std::string FormatInstant(int64_t millis);
// 2026-02-04T10:30:00Z, as plain SDK code often writes whole seconds.
std::string FormatWholeSecond(int64_t millis);
// True for both forms above; `text` then sorts within its second as that form does.
bool IsKeyInstant(std::string_view text);

// Milliseconds of the day's begin, UTC. Empty when `text` is no date like 2026-02-04.
std::optional<int64_t> ParseDate(std::string_view text);
std::string FormatDate(int64_t millis);

constexpr int64_t kSecondMillis = 1000;
constexpr int64_t kDayMillis = 86'400'000;

}  // namespace holdfast::model
