// One page of a result that is sorted in memory, however large the result is: of all that is added only what
// the page shows is kept.
//
//   SortedPage page("reading_order", want, position);
//   for (…) page.Add(record);                  // the whole result, for each page
//   std::vector<Record> shown = page.Take(&more);
//
// Numbers come first, in their order, then texts and what else there is by its text, then what lacks the
// attribute. What is equal comes in the order in which it was added. Of a text the first kilobyte counts.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/model.h"
#include "model/cursor.h"

namespace holdfast::model {

class SortedPage {
 public:
  // `after` is where the page before ended.
  SortedPage(std::string attribute, size_t want, const Position& after)
      : attribute_(std::move(attribute)), want_(want), after_(after.after_item), to_skip_(after.skip) {}

  void Add(Record record);
  // What the page shows, in order. Whether there is more; `end` is then where this page ends.
  std::vector<Record> Take(bool* more, Position* end);

 private:
  // Bytes whose order is that of the records.
  std::string RankOf(const Record& record) const;

  const std::string attribute_;
  const size_t want_;
  const std::string after_;  // the rank of the last one shown; empty: none was
  const int64_t to_skip_;    // how many of that rank were
  int64_t skipped_ = 0;
  uint64_t added_ = 0;
  std::map<std::pair<std::string, uint64_t>, Record> kept_;  // at most one more than wanted
};

}  // namespace holdfast::model
