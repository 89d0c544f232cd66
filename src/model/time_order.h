// Puts what a Query reads in the order of keys into the order of time.
//
// Keys hold instants in two spellings, and "10:30:00Z" sorts after "10:30:00.999Z". So the two orders differ
// only within a second: records are held back until their second is complete, then given on sorted. Going
// down, those of the other spelling come first in their second, so a second that begins without one needs no
// holding back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/model.h"
#include "model/cursor.h"

namespace holdfast::model {

// Where an instant stands in a key; its length is 24, or 20 without milliseconds, or 0 when there is none.
struct InstantInKey {
  size_t at = 0;
  size_t length = 0;
};
InstantInKey FindInstant(std::string_view key);

class TimeOrder {
 public:
  // `resumed` is where the page before ended; what was given already is left out.
  TimeOrder(std::string sort_key, bool descending, const Position& resumed);

  // Instants outside are left out.
  void Cut(std::optional<int64_t> from, std::optional<int64_t> to);

  void Add(Record record);
  // Nothing more comes: the last second is complete.
  void End();

  // In order.
  std::vector<Record>& ready() { return ready_; }

  // Where a page that ends with the `count`-th of ready() is gone on from. `start_key` makes an
  // ExclusiveStartKey.
  template <class StartKey>
  Position After(size_t count, const Position& before, const StartKey& start_key) const {
    Position next;
    next.step = before.step;
    next.after_key = KeyOf(ready_[count - 1]);
    next.after_millis = MillisOf(next.after_key);
    // From the end of the last second before the one in which the page ends: that one is read again.
    next.start = before.start;
    std::string_view ending = SecondOf(next.after_key);
    const Record* furthest = nullptr;
    auto consider = [&](const Record& record) {
      std::string_view key = KeyOf(record);
      if (SecondOf(key) == ending) return;
      if (furthest == nullptr || (descending_ ? key < KeyOf(*furthest) : key > KeyOf(*furthest)))
        furthest = &record;
    };
    if (end_of_resumed_) consider(*end_of_resumed_);
    for (size_t i = 0; i < count; ++i) consider(ready_[i]);
    if (furthest != nullptr) next.start = start_key(furthest->stored());
    return next;
  }

 private:
  std::string_view KeyOf(const Record& record) const;
  // The key up to and with the second of its instant; all of it when there is none.
  static std::string_view SecondOf(std::string_view key);
  static int64_t MillisOf(std::string_view key);
  bool WasGiven(std::string_view key) const;
  void CloseSecond();

  const std::string sort_key_;
  const bool descending_;
  const std::optional<int64_t> resumed_millis_;
  const std::string resumed_key_;
  std::optional<int64_t> from_;
  std::optional<int64_t> to_;
  std::vector<Record> second_;  // held back
  std::string second_id_;
  std::optional<Record> end_of_resumed_;  // the last key of the second in which the page before ended
  std::vector<Record> ready_;
};

}  // namespace holdfast::model
