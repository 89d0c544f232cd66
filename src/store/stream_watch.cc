#include "store/stream_watch.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <set>
#include <thread>

namespace holdfast::store {
namespace {

// How long to leave a shard alone in which there was nothing: AWS allows five looks a second.
constexpr auto kPause = std::chrono::milliseconds(200);
constexpr size_t kRecordsAtOnce = 1000;
constexpr std::string_view kFormat = "stream1";
// How far the store's clock may be behind ours. Within it a change is rather told twice than not at all.
constexpr int64_t kClockSkewSeconds = 2;

// Where reading goes on: in each shard that is being read after this sequence number or, where it is empty,
// with what came since the watch was opened.
struct Position {
  std::string stream_arn;
  int64_t since_seconds = 0;
  std::map<std::string, std::string> shards;

  // "stream1 <since> <ARN> <shard>=<number> …"
  std::string ToText() const {
    std::string text = std::string(kFormat) + " " + std::to_string(since_seconds) + " " + stream_arn;
    for (const auto& [shard, number] : shards) text += " " + shard + "=" + number;
    return text;
  }

  static std::optional<Position> FromText(std::string_view text) {
    auto word = [&] {
      size_t end = std::min(text.find(' '), text.size());
      std::string taken(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      return taken;
    };
    if (word() != kFormat) return std::nullopt;
    Position position;
    std::string since = word();
    auto [end, fault] = std::from_chars(since.data(), since.data() + since.size(), position.since_seconds);
    if (fault != std::errc() || end != since.data() + since.size()) return std::nullopt;
    position.stream_arn = word();
    while (!text.empty()) {
      std::string shard = word();
      size_t equals = shard.find('=');
      if (equals == std::string::npos) return std::nullopt;
      position.shards[shard.substr(0, equals)] = shard.substr(equals + 1);
    }
    return position;
  }
};

TableChange::Kind KindOf(OperationType type) {
  switch (type) {
    case OperationType::kInsert: return TableChange::Kind::kInsert;
    case OperationType::kModify: return TableChange::Kind::kModify;
    case OperationType::kRemove: return TableChange::Kind::kRemove;
  }
  return TableChange::Kind::kModify;
}

class StreamWatch final : public TableWatch {
 public:
  StreamWatch(StreamCalls calls, const base::Clock* clock, std::string table, Position position)
      : calls_(std::move(calls)),
        clock_(clock),
        table_(std::move(table)),
        position_(std::move(position)),
        told_(position_) {}

  // Begins with what happens from now on.
  Status StartNow() {
    position_.since_seconds = clock_->NowSeconds() - kClockSkewSeconds;
    HF_TRY(std::vector<Shard> shards, DescribeShards());
    for (const Shard& shard : shards) {
      if (shard.sequence_number_range.ending_sequence_number) {
        ended_.insert(shard.shard_id);
        continue;
      }
      HF_TRY(std::string iterator,
             Iterator({.shard_id = shard.shard_id, .shard_iterator_type = ShardIteratorType::kLatest}));
      position_.shards[shard.shard_id];
      iterators_[shard.shard_id] = std::move(iterator);
    }
    told_ = position_;
    return Ok{};
  }

  // Goes on from the position. Closed shards that it does not name, and that do not come from one that it
  // names, were read before it.
  Status Resume() {
    HF_TRY(std::vector<Shard> shards, DescribeShards());
    for (const auto& [shard_id, number] : position_.shards) {
      if (number.empty()) unplaced_.insert(shard_id);
      HF_CHECK_OK(Begin(shard_id, number));
    }
    std::map<std::string_view, const Shard*> by_id;
    for (const Shard& shard : shards) by_id.emplace(shard.shard_id, &shard);
    auto still_to_read = [&](const Shard* shard) {
      while (shard != nullptr && !position_.shards.contains(shard->shard_id)) {
        auto parent = shard->parent_shard_id ? by_id.find(*shard->parent_shard_id) : by_id.end();
        shard = parent == by_id.end() ? nullptr : parent->second;
      }
      return shard != nullptr;
    };
    for (const Shard& shard : shards) {
      if (shard.sequence_number_range.ending_sequence_number && !still_to_read(&shard))
        ended_.insert(shard.shard_id);
    }
    return TakeOver(shards);
  }

  bool Wait(std::chrono::steady_clock::time_point deadline) override {
    while (true) {
      if (!changes_.empty() || failure_) return true;
      if (Status polled = Poll(); !polled) failure_ = polled.error();
      if (!changes_.empty() || failure_) return true;
      auto now = std::chrono::steady_clock::now();
      if (now >= deadline) return false;
      std::this_thread::sleep_for(
          std::min<std::chrono::steady_clock::duration>(next_poll_ - now, deadline - now));
    }
  }

  Result<std::vector<TableChange>> Read(size_t limit) override {
    if (changes_.empty() && !failure_) HF_CHECK_OK(Poll());
    if (changes_.empty() && failure_) return *std::exchange(failure_, std::nullopt);
    std::vector<TableChange> read;
    while (read.size() < limit && !changes_.empty()) {
      auto& [shard_id, number, change] = changes_.front();
      told_.shards[shard_id] = std::move(number);
      change.position = told_.ToText();
      read.push_back(std::move(change));
      changes_.pop_front();
    }
    if (changes_.empty()) told_ = position_;  // without shards that have ended, with those that took over
    return read;
  }

  std::string position() const override { return told_.ToText(); }

 private:
  struct Waiting {
    std::string shard_id;
    std::string number;
    TableChange change;
  };

  Result<std::vector<Shard>> DescribeShards() {
    std::vector<Shard> shards;
    DescribeStreamRequest request{.stream_arn = position_.stream_arn};
    do {
      HF_TRY(DescribeStreamResponse described, calls_.describe_stream(request));
      for (Shard& shard : described.stream_description.shards) shards.push_back(std::move(shard));
      request.exclusive_start_shard_id = described.stream_description.last_evaluated_shard_id;
    } while (request.exclusive_start_shard_id);
    return shards;
  }

  Result<std::string> Iterator(GetShardIteratorRequest request) {
    request.stream_arn = position_.stream_arn;
    return calls_.get_shard_iterator(request).transform(
        [](GetShardIteratorResponse response) { return std::move(response.shard_iterator); });
  }

  // Reads a shard after the record of that number, or, where it is empty, from the beginning.
  Status Begin(const std::string& shard_id, const std::string& number) {
    GetShardIteratorRequest request{.shard_id = shard_id,
                                    .shard_iterator_type = ShardIteratorType::kTrimHorizon};
    if (!number.empty()) {
      request.shard_iterator_type = ShardIteratorType::kAfterSequenceNumber;
      request.sequence_number = number;
    }
    Result<std::string> iterator = Iterator(request);
    if (!iterator && iterator.error().code() == ErrorCode::kResourceNotFound)
      return Error(ErrorCode::kTrimmedDataAccess, "changes that were not read are no longer kept");
    HF_TRY(iterators_[shard_id], std::move(iterator));
    return Ok{};
  }

  // Begins every shard that nobody has read and whose parent, if it is still there, was read to its end.
  Status TakeOver(const std::vector<Shard>& shards) {
    std::set<std::string_view> there;
    for (const Shard& shard : shards) there.insert(shard.shard_id);
    std::erase_if(ended_, [&](const std::string& shard_id) { return !there.contains(shard_id); });
    for (const Shard& shard : shards) {
      if (iterators_.contains(shard.shard_id) || ended_.contains(shard.shard_id)) continue;
      bool waits = shard.parent_shard_id && there.contains(*shard.parent_shard_id) &&
                   !ended_.contains(*shard.parent_shard_id);
      if (waits) continue;
      HF_CHECK_OK(Begin(shard.shard_id, ""));
      position_.shards[shard.shard_id];
    }
    return Ok{};
  }

  // Looks into every shard once, until there is enough; the next time it begins with those left out.
  Status Poll() {
    std::deque<std::string> shard_ids;
    for (const auto& [shard_id, iterator] : iterators_) shard_ids.push_back(shard_id);
    auto first = std::upper_bound(shard_ids.begin(), shard_ids.end(), last_polled_);
    std::rotate(shard_ids.begin(), first, shard_ids.end());
    seek_ |= iterators_.empty();
    for (const std::string& shard_id : shard_ids) {
      if (changes_.size() >= kRecordsAtOnce) break;
      last_polled_ = shard_id;
      HF_TRY(bool goes_on, PollShard(shard_id, &iterators_.at(shard_id)));
      if (goes_on) continue;
      seek_ = true;
      ended_.insert(shard_id);
      position_.shards.erase(shard_id);
      iterators_.erase(shard_id);
    }
    if (seek_) {
      HF_TRY(std::vector<Shard> shards, DescribeShards());
      HF_CHECK_OK(TakeOver(shards));
      seek_ = false;
    }
    next_poll_ = std::chrono::steady_clock::now() + kPause;
    if (iterators_.empty() && changes_.empty()) return WhyNoMore();
    return Ok{};
  }

  // Returns whether there may be more of it.
  Result<bool> PollShard(const std::string& shard_id, std::string* iterator) {
    auto got = calls_.get_records({.shard_iterator = *iterator, .limit = int64_t{kRecordsAtOnce}});
    std::string& number = position_.shards[shard_id];
    if (!got && got.error().code() == ErrorCode::kExpiredIterator) {
      if (number.empty()) unplaced_.insert(shard_id);
      HF_CHECK_OK(Begin(shard_id, number));
      return true;
    }
    if (!got) return got.error();
    for (GetRecordsResponse::Record& record : got->records) {
      bool is_old = number.empty() && unplaced_.contains(shard_id) &&
                    record.dynamodb.approximate_creation_date_time.millis / 1000 < position_.since_seconds;
      if (is_old) continue;
      number = record.dynamodb.sequence_number;
      changes_.push_back({shard_id,
                          number,
                          {.kind = KindOf(record.event_name),
                           .by_ttl = record.user_identity && record.user_identity->type == "Service",
                           .old_item = std::move(record.dynamodb.old_image),
                           .new_item = std::move(record.dynamodb.new_image)}});
    }
    if (!got->next_shard_iterator) return false;
    *iterator = *std::move(got->next_shard_iterator);
    return true;
  }

  // Every shard has ended. Others follow, unless the stream has ended too.
  Status WhyNoMore() {
    HF_TRY(DescribeTableResponse described, calls_.describe_table({.table_name = table_}));
    if (described.table.latest_stream_arn != position_.stream_arn)
      return Error(ErrorCode::kResourceNotFound, "the table is gone, or has another stream");
    if (!described.table.stream_specification)
      return Error(ErrorCode::kResourceNotFound, "the stream of " + table_ + " was disabled");
    return Ok{};
  }

  const StreamCalls calls_;
  const base::Clock* const clock_;
  const std::string table_;
  Position position_;                             // of what was fetched
  Position told_;                                 // of what was read from us
  std::map<std::string, std::string> iterators_;  // by shard, of those being read
  std::set<std::string> ended_;                   // shards
  bool seek_ = false;  // a shard has ended, and those that take over are yet to be found
  // Shards read from their beginning because nothing was read of them before: what they had when the watch
  // was opened is known by its time alone, to the second.
  std::set<std::string> unplaced_;
  std::deque<Waiting> changes_;  // fetched, not read
  std::string last_polled_;      // shard
  std::optional<Error> failure_;
  std::chrono::steady_clock::time_point next_poll_;
};

}  // namespace

Result<std::unique_ptr<TableWatch>> OpenStreamWatch(StreamCalls calls, const std::string& where,
                                                    const base::Clock* clock, const std::string& table,
                                                    const std::optional<std::string>& from) {
  std::optional<Position> position;
  if (from) {
    position = Position::FromText(*from);
    if (!position) return ValidationError("'" + *from + "' is no position of a watch");
  }
  HF_TRY(DescribeTableResponse described, calls.describe_table({.table_name = table}));
  const std::optional<StreamSpecification>& stream = described.table.stream_specification;
  bool has_both = stream && stream->stream_enabled &&
                  stream->stream_view_type == StreamViewType::kNewAndOldImages &&
                  described.table.latest_stream_arn;
  if (!has_both) {
    return Error(ErrorCode::kNotSupported,
                 "following the changes of " + table + " on " + where +
                     " needs DynamoDB Streams: enable a stream of the table with NEW_AND_OLD_IMAGES");
  }
  if (position && position->stream_arn != *described.table.latest_stream_arn) {
    return Error(ErrorCode::kTrimmedDataAccess,
                 "the position is of another table, or of a stream that is no longer the table's");
  }
  bool resumes = position.has_value();
  if (!resumes) position.emplace().stream_arn = *described.table.latest_stream_arn;
  auto watch = std::make_unique<StreamWatch>(std::move(calls), clock, table, *std::move(position));
  HF_CHECK_OK(resumes ? watch->Resume() : watch->StartNow());
  return watch;
}

}  // namespace holdfast::store
