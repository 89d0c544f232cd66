// A watch over a stream elsewhere, whose shards end and are taken over as those of AWS are.
#include "store/stream_watch.h"

#include <gtest/gtest.h>

#include <map>

namespace holdfast::store {
namespace {

constexpr const char* kArn = "arn:aws:dynamodb:us-east-1:1:table/Tab/stream/x";

// A stream whose every shard holds one change: of the item that is named as the shard.
class StreamWatchTest : public ::testing::Test {
 protected:
  void AddShard(const std::string& id, const std::string& parent, bool closed) {
    Shard shard{.shard_id = id};
    shard.sequence_number_range.starting_sequence_number = "1";
    if (closed) shard.sequence_number_range.ending_sequence_number = "9";
    if (!parent.empty()) shard.parent_shard_id = parent;
    shards_.push_back(std::move(shard));
  }

  Result<std::unique_ptr<TableWatch>> Open(const std::string& position) {
    StreamCalls calls;
    calls.describe_table = [](const DescribeTableRequest&) -> Result<DescribeTableResponse> {
      DescribeTableResponse response;
      response.table.latest_stream_arn = kArn;
      response.table.stream_specification = StreamSpecification{true, StreamViewType::kNewAndOldImages};
      return response;
    };
    calls.describe_stream = [this](const DescribeStreamRequest&) -> Result<DescribeStreamResponse> {
      DescribeStreamResponse response;
      response.stream_description.shards = shards_;
      return response;
    };
    // An iterator is the shard's name, with "+" behind its change.
    calls.get_shard_iterator =
        [this](const GetShardIteratorRequest& request) -> Result<GetShardIteratorResponse> {
      if (Find(request.shard_id) == nullptr)
        return Error(ErrorCode::kResourceNotFound, "Requested resource not found: Shard does not exist");
      return GetShardIteratorResponse{request.shard_id};
    };
    calls.get_records = [this](const GetRecordsRequest& request) -> Result<GetRecordsResponse> {
      GetRecordsResponse response;
      std::string id = request.shard_iterator;
      bool read = id.ends_with('+');
      if (read) id.pop_back();
      if (!read) {
        GetRecordsResponse::Record& record = response.records.emplace_back();
        record.dynamodb.sequence_number = "5";
        record.dynamodb.approximate_creation_date_time = Timestamp{2'000'000'000'000};
        record.dynamodb.new_image = Item{{"p", id}};
      }
      bool closed = Find(id)->sequence_number_range.ending_sequence_number.has_value();
      if (!closed || !read) response.next_shard_iterator = id + "+";
      return response;
    };
    return OpenStreamWatch(std::move(calls), "aws", &clock_, "Tab",
                           "stream1 1000 " + std::string(kArn) + position);
  }

  // The changes that are told until there are so many.
  static std::string Told(TableWatch* watch, size_t count) {
    std::string told;
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (told.size() < count && watch->Wait(until)) {
      auto changes = watch->Read(100);
      if (!changes) return changes.error().ToString();
      for (const TableChange& change : *changes) told += change.new_item->Get("p")->AsText();
    }
    return told;
  }

  const Shard* Find(const std::string& id) const {
    for (const Shard& shard : shards_) {
      if (shard.shard_id == id) return &shard;
    }
    return nullptr;
  }

  base::SystemClock clock_;
  std::vector<Shard> shards_;
};

// A position of some hours ago stands in a shard that others have taken over from, and others from those.
TEST_F(StreamWatchTest, AllThatCameLaterIsToldInOrder) {
  AddShard("0", "", true);
  AddShard("A", "0", true);
  AddShard("B", "A", true);
  AddShard("C", "B", true);
  AddShard("D", "C", false);
  auto watch = Open(" A=3");
  ASSERT_TRUE(watch) << watch.error().ToString();
  EXPECT_EQ(Told(watch->get(), 4), "ABCD");
}

TEST_F(StreamWatchTest, APositionThatWasTrimmedIsRefused) {
  AddShard("B", "A", true);
  AddShard("C", "B", false);
  auto watch = Open(" A=3");
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code(), ErrorCode::kTrimmedDataAccess) << watch.error().ToString();
}

}  // namespace
}  // namespace holdfast::store
