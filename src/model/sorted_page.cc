#include "model/sorted_page.h"

#include "model/expression_builder.h"
#include "value/flat.h"
#include "value/number.h"

namespace holdfast::model {
namespace {

constexpr size_t kTextBytesMax = 1024;

}  // namespace

std::string SortedPage::RankOf(const Record& record) const {
  auto value = value::MapView(record.stored()).Find(attribute_);
  if (!value || value->type() == value::Type::kNull) return "3";
  if (value->type() != value::Type::kNumber)
    return "2" + ReadableValue(value::ToAttributeValue(*value)).substr(0, kTextBytesMax);
  std::string rank = "1";
  value->number().Encode(&rank);
  return rank;
}

void SortedPage::Add(Record record) {
  std::string rank = RankOf(record);
  if (rank < after_) return;
  if (rank == after_ && skipped_ < to_skip_) {
    ++skipped_;
    return;
  }
  kept_.emplace(std::pair(std::move(rank), added_++), std::move(record));
  if (kept_.size() > want_ + 1) kept_.erase(std::prev(kept_.end()));
}

std::vector<Record> SortedPage::Take(bool* more, Position* end) {
  std::vector<Record> page;
  *more = kept_.size() > want_;
  *end = Position{};
  for (auto& [rank, record] : kept_) {
    if (page.size() == want_) break;
    if (rank.first != end->after_item) end->skip = rank.first == after_ ? to_skip_ : 0;
    end->after_item = rank.first;
    ++end->skip;
    page.push_back(std::move(record));
  }
  return page;
}

}  // namespace holdfast::model
