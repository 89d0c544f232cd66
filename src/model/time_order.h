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
#include <tuple>
#include <vector>

#include "holdfast/model.h"
#include "model/cursor.h"
#include "model/model.h"

namespace holdfast::model {

// Where an instant stands in a key; its length is 24, or 20 without milliseconds, or 0 when there is none.
struct InstantInKey {
  size_t at = 0;
  size_t length = 0;
};
InstantInKey FindInstant(std::string_view key);

class TimeOrder {
 public:
  // `resumed` is where the page before ended; what was given already is left out. In an index several items
  // may share a sort key: their primary keys then decide.
  TimeOrder(const Table& table, std::string sort_key, bool in_index, bool descending,
            const Position& resumed);

  // Instants outside are left out.
  void Cut(std::optional<int64_t> from, std::optional<int64_t> to);

  void Add(Record record);
  // The reading has come to this sort key, or to the end.
  void Reached(std::string_view sort_key);
  void End() { CloseSecond(); }
  // Whether there are records that wait for the end of their second.
  bool holds_back() const { return !held_.empty(); }

  // In order.
  std::vector<Record>& ready() { return ready_; }

  // Where a page that ends with the `count`-th of ready() is gone on from. `start_key` makes an
  // ExclusiveStartKey.
  template <class StartKey>
  Position After(size_t count, const Position& before, const StartKey& start_key) const {
    Position next;
    next.step = before.step;
    std::tie(next.after_millis, next.after_key, next.after_item) = RankOf(ready_[count - 1]);
    // From the end of the second before the one in which the page ends: that one is read again.
    next.start = before.start;
    for (const Second& second : seconds_) {
      if (second.end >= count) break;
      next.start = start_key(second.last ? ready_[*second.last].stored() : end_of_resumed_->stored());
    }
    return next;
  }

 private:
  // Where a record stands in the order of time.
  using Rank = std::tuple<int64_t, std::string, std::string>;
  // A second that is complete.
  struct Second {
    size_t end = 0;              // how many records were ready then
    std::optional<size_t> last;  // the one with the last key; empty: it was given before
  };

  std::string_view KeyText(const Record& record) const;
  Rank RankOf(const Record& record) const;
  // The key up to and with the second of its instant; all of it when there is none.
  static std::string_view SecondOf(std::string_view key);
  static int64_t MillisOf(std::string_view key);
  bool IsResumed() const { return resumed_second_ == second_id_ && !resumed_second_.empty(); }
  void CloseSecond();

  const Table& table_;
  const std::string sort_key_;
  const bool in_index_;
  const bool descending_;
  const Rank resumed_;
  const std::string resumed_second_;  // empty: this is the first page
  std::optional<int64_t> from_;
  std::optional<int64_t> to_;
  std::string second_id_;
  std::vector<Record> held_;  // of this second
  std::vector<Second> seconds_;
  std::optional<Record> end_of_resumed_;
  std::vector<Record> ready_;
};

}  // namespace holdfast::model
