// Streams as their readers see them (DB-S-01).
#include "ops/streams.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/limits.h"
#include "ops/operations.h"

namespace holdfast::ops {
namespace {

using Record = GetRecordsResponse::Record;

class StreamsTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void TearDown() override {
    engine_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void Open() {
    engine_.reset();
    engine::EngineOptions options{.clock = &clock_, .seed = 1, .manual_housekeeping = true};
    options.options.directory = directory_;
    auto opened = engine::Engine::Open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().ToString();
    engine_ = *std::move(opened);
  }

  template <class Request>
  auto Do(const Request& request) {
    auto answer = ops::Run(engine_.get(), request);
    EXPECT_TRUE(answer.has_value()) << answer.error().ToString();
    return std::move(answer).value();
  }
  template <class Request>
  std::string Refusal(const Request& request) {
    auto answer = ops::Run(engine_.get(), request);
    return answer ? "was done" : answer.error().ToString();
  }

  std::string Create(const std::string& name, std::optional<StreamViewType> view) {
    CreateTableRequest create{.table_name = name,
                              .key_schema = {{"p"}, {"s", KeyType::kRange}},
                              .attribute_definitions = {{"p"}, {"s", ScalarAttributeType::kNumber}},
                              .billing_mode = BillingMode::kPayPerRequest};
    if (view) create.stream_specification = StreamSpecification{true, view};
    return Do(create).table_description.latest_stream_arn.value_or("");
  }
  void Put(const std::string& table, Item item) {
    Do(PutItemRequest{.table_name = table, .item = std::move(item)});
  }
  void Delete(const std::string& table, Item key) {
    Do(DeleteItemRequest{.table_name = table, .key = std::move(key)});
  }
  UpdateTableRequest Update(const std::string& table, StreamSpecification stream) {
    UpdateTableRequest request{.table_name = table};
    request.stream_specification = stream;
    return request;
  }

  std::vector<Shard> Shards(const std::string& arn) {
    return Do(DescribeStreamRequest{.stream_arn = arn}).stream_description.shards;
  }
  std::string Iterator(const std::string& arn, const std::string& shard, ShardIteratorType type,
                       std::optional<std::string> number = {}) {
    return Do(GetShardIteratorRequest{arn, shard, type, std::move(number)}).shard_iterator;
  }
  // All that the stream has, each shard in order, one after the other.
  std::vector<Record> ReadAll(const std::string& arn, int64_t page = 1000) {
    std::vector<Record> records;
    for (const Shard& shard : Shards(arn)) {
      std::optional<std::string> iterator = Iterator(arn, shard.shard_id, ShardIteratorType::kTrimHorizon);
      while (iterator) {
        GetRecordsResponse got = Do(GetRecordsRequest{*iterator, page});
        if (got.records.empty()) break;
        for (Record& record : got.records) records.push_back(std::move(record));
        iterator = got.next_shard_iterator;
      }
    }
    return records;
  }
  static std::string Shown(const Record& record) {
    auto show = [](const std::optional<Item>& item) {
      if (!item) return std::string("-");
      std::string names;
      for (const auto& [name, value] : item->ToMap()) names += name;
      return names;
    };
    return std::string(NameOf(record.event_name)) + " " + show(record.dynamodb.keys) + " " +
           show(record.dynamodb.old_image) + ">" + show(record.dynamodb.new_image);
  }

  base::ManualClock clock_{1'800'000'000'123};
  std::string directory_;
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(StreamsTest, DB_S_01_EachViewTypeShowsWhatItIsFor) {
  struct Case {
    StreamViewType view;
    std::vector<std::string> records;
  };
  std::vector<Case> cases{
      {StreamViewType::kKeysOnly, {"INSERT ps ->-", "MODIFY ps ->-", "REMOVE ps ->-"}},
      {StreamViewType::kNewImage, {"INSERT ps ->aps", "MODIFY ps ->bps", "REMOVE ps ->-"}},
      {StreamViewType::kOldImage, {"INSERT ps ->-", "MODIFY ps aps>-", "REMOVE ps bps>-"}},
      {StreamViewType::kNewAndOldImages, {"INSERT ps ->aps", "MODIFY ps aps>bps", "REMOVE ps bps>-"}}};
  for (const Case& c : cases) {
    std::string name = "T." + std::string(NameOf(c.view));
    std::string arn = Create(name, c.view);
    Put(name, {{"p", "x"}, {"s", 1}, {"a", 1}});
    Put(name, {{"p", "x"}, {"s", 1}, {"a", 1}});  // no change
    Put(name, {{"p", "x"}, {"s", 1}, {"b", 2}});
    Delete(name, {{"p", "x"}, {"s", 1}});
    Delete(name, {{"p", "x"}, {"s", 1}});  // no change
    std::vector<Record> records = ReadAll(arn);
    std::vector<std::string> shown;
    for (const Record& record : records) shown.push_back(Shown(record));
    EXPECT_EQ(shown, c.records);
    for (const Record& record : records) {
      EXPECT_EQ(record.dynamodb.stream_view_type, c.view);
      EXPECT_EQ(record.dynamodb.approximate_creation_date_time.millis, 1'800'000'000'000);
      EXPECT_EQ(record.event_source, "aws:dynamodb");
      EXPECT_EQ(record.aws_region, "us-east-1");
      EXPECT_EQ(record.user_identity.has_value(), false);
      EXPECT_GE(record.dynamodb.size_bytes, 5);
      EXPECT_EQ(record.event_id.size(), 32u);
    }
  }
}

TEST_F(StreamsTest, DB_S_01_NamesHaveTheLengthsOfTheApi) {
  std::string arn = Create("Music", StreamViewType::kKeysOnly);
  EXPECT_EQ(arn, "arn:aws:dynamodb:us-east-1:123456789012:table/Music/stream/2027-01-15T08:00:00.123");
  Put("Music", {{"p", "x"}, {"s", 1}});
  StreamDescription described = Do(DescribeStreamRequest{.stream_arn = arn}).stream_description;
  EXPECT_EQ(described.stream_label, "2027-01-15T08:00:00.123");
  EXPECT_EQ(described.table_name, "Music");
  EXPECT_EQ(described.stream_status, StreamStatus::kEnabled);
  EXPECT_EQ(described.key_schema, (std::vector<KeySchemaElement>{{"p"}, {"s", KeyType::kRange}}));
  ASSERT_EQ(described.shards.size(), 4u);
  std::string number = ReadAll(arn)[0].dynamodb.sequence_number;
  for (const Shard& shard : described.shards) {
    EXPECT_GE(shard.shard_id.size(), 28u);
    EXPECT_LE(shard.shard_id.size(), 65u);
    const std::string& first = shard.sequence_number_range.starting_sequence_number;
    EXPECT_EQ(first.find_first_not_of("0123456789"), std::string::npos);
    EXPECT_GE(first.size(), 21u);
    EXPECT_LE(first.size(), 40u);
    EXPECT_NE(first[0], '0');
    EXPECT_EQ(first.size(), number.size());
    EXPECT_LE(first, number);
    EXPECT_FALSE(shard.sequence_number_range.ending_sequence_number);
    EXPECT_LE(Iterator(arn, shard.shard_id, ShardIteratorType::kLatest).size(), 2048u);
  }
}

TEST_F(StreamsTest, DB_S_01_EveryChangeOnceInOrderOfItsKey) {
  std::string arn = Create("tab", StreamViewType::kNewImage);
  for (int round = 0; round < 5; ++round) {
    for (int key = 0; key < 40; ++key) Put("tab", {{"p", std::to_string(key)}, {"s", 1}, {"round", round}});
  }
  for (int64_t page : {1, 7, 1000}) {
    std::vector<Record> records = ReadAll(arn, page);
    EXPECT_EQ(records.size(), 200u);
    std::map<std::string, int64_t> rounds;
    std::set<std::string> numbers;
    for (const Record& record : records) {
      std::string key = record.dynamodb.keys.Get("p")->AsText();
      EXPECT_EQ(record.dynamodb.new_image->Get("round")->AsInt64(), rounds[key]++);
      EXPECT_TRUE(numbers.insert(record.dynamodb.sequence_number).second);
    }
  }
}

TEST_F(StreamsTest, DB_S_01_IteratorsBeginWhereTheySay) {
  std::string arn = Create("tab", StreamViewType::kKeysOnly);
  Put("tab", {{"p", "x"}, {"s", 1}});
  Put("tab", {{"p", "x"}, {"s", 2}});
  std::vector<Record> records = ReadAll(arn);
  ASSERT_EQ(records.size(), 2u);
  std::string first = records[0].dynamodb.sequence_number, second = records[1].dynamodb.sequence_number;
  EXPECT_LT(first, second);
  for (const Shard& shard : Shards(arn)) {
    auto read = [&](ShardIteratorType type, std::optional<std::string> number) {
      return Do(GetRecordsRequest{Iterator(arn, shard.shard_id, type, std::move(number))}).records;
    };
    size_t all = read(ShardIteratorType::kTrimHorizon, {}).size();
    EXPECT_EQ(read(ShardIteratorType::kAtSequenceNumber, shard.sequence_number_range.starting_sequence_number)
                  .size(),
              all);
    EXPECT_TRUE(read(ShardIteratorType::kLatest, {}).empty());
    if (all == 0) continue;
    EXPECT_EQ(read(ShardIteratorType::kAtSequenceNumber, first).size(), 2u);
    EXPECT_EQ(read(ShardIteratorType::kAtSequenceNumber, second).size(), 1u);
    EXPECT_EQ(read(ShardIteratorType::kAfterSequenceNumber, first)[0].dynamodb.sequence_number, second);
    EXPECT_TRUE(read(ShardIteratorType::kAfterSequenceNumber, second).empty());
    std::string latest = Iterator(arn, shard.shard_id, ShardIteratorType::kLatest);
    Put("tab", {{"p", "x"}, {"s", 3}});
    EXPECT_EQ(Do(GetRecordsRequest{latest}).records.size(), 1u);
  }
}

// What a page may hold is bounded by size too, but one record always fits.
TEST_F(StreamsTest, DB_S_01_PagesAreBoundedBySize) {
  std::string arn = Create("tab", StreamViewType::kNewAndOldImages);
  for (int i = 0; i < 6; ++i)
    Put("tab", {{"p", "x"}, {"s", 1}, {"text", std::string(390'000, static_cast<char>('a' + i))}});
  size_t seen = 0;
  for (const Shard& shard : Shards(arn)) {
    std::optional<std::string> iterator = Iterator(arn, shard.shard_id, ShardIteratorType::kTrimHorizon);
    while (true) {
      GetRecordsResponse got = Do(GetRecordsRequest{*iterator});
      if (got.records.empty()) break;
      EXPECT_LE(got.records.size(), 2u);
      seen += got.records.size();
      iterator = got.next_shard_iterator;
    }
  }
  EXPECT_EQ(seen, 6u);
}

TEST_F(StreamsTest, DB_S_01_ADisabledStreamStaysReadableAndTheNextIsAnother) {
  std::string arn = Create("tab", StreamViewType::kKeysOnly);
  Put("tab", {{"p", "x"}, {"s", 1}});
  TableDescription disabled = Do(Update("tab", {false})).table_description;
  EXPECT_FALSE(disabled.stream_specification);
  EXPECT_EQ(disabled.latest_stream_arn, arn);
  Put("tab", {{"p", "x"}, {"s", 2}});
  TableDescription enabled = Do(Update("tab", {true, StreamViewType::kNewImage})).table_description;
  std::string next = *enabled.latest_stream_arn;
  EXPECT_GT(next, arn);
  EXPECT_EQ(enabled.stream_specification->stream_view_type, StreamViewType::kNewImage);
  Put("tab", {{"p", "x"}, {"s", 3}});

  EXPECT_EQ(Do(DescribeStreamRequest{.stream_arn = arn}).stream_description.stream_status,
            StreamStatus::kDisabled);
  std::vector<Record> first = ReadAll(arn), second = ReadAll(next);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].dynamodb.keys.Get("s")->AsInt64(), 1);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].dynamodb.keys.Get("s")->AsInt64(), 3);
  for (const Shard& shard : Shards(arn)) {
    ASSERT_TRUE(shard.sequence_number_range.ending_sequence_number);
    EXPECT_GE(*shard.sequence_number_range.ending_sequence_number,
              shard.sequence_number_range.starting_sequence_number);
    std::string iterator = Iterator(arn, shard.shard_id, ShardIteratorType::kTrimHorizon);
    EXPECT_FALSE(Do(GetRecordsRequest{iterator}).next_shard_iterator) << "the shard is closed";
  }
  ListStreamsResponse listed = Do(ListStreamsRequest{.table_name = "tab"});
  ASSERT_EQ(listed.streams.size(), 2u);
  EXPECT_EQ(listed.streams[1].stream_arn, next);

  clock_.Advance(limits::kStreamRetentionMillis + 120'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_EQ(Do(ListStreamsRequest{.table_name = "tab"}).streams.size(), 1u);
  EXPECT_EQ(Refusal(DescribeStreamRequest{.stream_arn = arn}),
            "ResourceNotFoundException: Requested resource not found: Stream: " + arn + " not found");
}

TEST_F(StreamsTest, DB_S_01_IteratorsExpireAndRecordsAreTrimmed) {
  std::string arn = Create("tab", StreamViewType::kKeysOnly);
  Put("tab", {{"p", "x"}, {"s", 1}});
  Record record = ReadAll(arn).at(0);
  std::string shard_id;
  for (const Shard& shard : Shards(arn)) {
    std::string iterator = Iterator(arn, shard.shard_id, ShardIteratorType::kTrimHorizon);
    if (!Do(GetRecordsRequest{iterator}).records.empty()) shard_id = shard.shard_id;
  }
  std::string iterator = Iterator(arn, shard_id, ShardIteratorType::kTrimHorizon);
  clock_.Advance(limits::kShardIteratorMillisMax);
  EXPECT_EQ(Do(GetRecordsRequest{iterator}).records.size(), 1u);
  clock_.Advance(1);
  EXPECT_TRUE(Refusal(GetRecordsRequest{iterator}).starts_with("ExpiredIteratorException: "));

  clock_.Advance(limits::kStreamRetentionMillis);
  iterator = Iterator(arn, shard_id, ShardIteratorType::kTrimHorizon);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_TRUE(Refusal(GetRecordsRequest{iterator}).starts_with("TrimmedDataAccessException: "));
  EXPECT_TRUE(ReadAll(arn).empty());
  GetShardIteratorRequest at{arn, shard_id, ShardIteratorType::kAtSequenceNumber,
                             record.dynamodb.sequence_number};
  EXPECT_TRUE(Refusal(at).starts_with("TrimmedDataAccessException: ")) << Refusal(at);
  Put("tab", {{"p", "x"}, {"s", 2}});
  EXPECT_EQ(ReadAll(arn).size(), 1u);
}

TEST_F(StreamsTest, DB_L_02_ExpiredItemsAreRemovedByTheService) {
  std::string arn = Create("tab", StreamViewType::kOldImage);
  Do(UpdateTimeToLiveRequest{.table_name = "tab",
                             .time_to_live_specification = {.attribute_name = "end", .enabled = true}});
  engine_->WaitForBackfills();
  Put("tab", {{"p", "x"}, {"s", 1}, {"end", clock_.NowSeconds() + 1}});
  clock_.Advance(2000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  std::vector<Record> records = ReadAll(arn);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_FALSE(records[0].user_identity);
  EXPECT_EQ(Shown(records[1]), "REMOVE ps endps>-");
  ASSERT_TRUE(records[1].user_identity);
  EXPECT_EQ(records[1].user_identity->principal_id, "dynamodb.amazonaws.com");
  EXPECT_EQ(records[1].user_identity->type, "Service");
}

TEST_F(StreamsTest, DB_S_01_PagingGoesOnWhateverIsDeleted) {
  std::set<std::string> arns;
  for (int i = 0; i < 5; ++i) arns.insert(Create("table" + std::to_string(i), StreamViewType::kKeysOnly));
  Create("plain", std::nullopt);
  EXPECT_TRUE(Do(ListStreamsRequest{.table_name = "plain"}).streams.empty());
  std::set<std::string> listed;
  ListStreamsRequest request{.limit = 2};
  while (true) {
    ListStreamsResponse page = Do(request);
    for (const Stream& stream : page.streams) EXPECT_TRUE(listed.insert(stream.stream_arn).second);
    if (listed.size() == 2) Do(DeleteTableRequest{.table_name = "table1"});
    if (!page.last_evaluated_stream_arn) break;
    EXPECT_EQ(page.last_evaluated_stream_arn, page.streams.back().stream_arn);
    request.exclusive_start_stream_arn = page.last_evaluated_stream_arn;
  }
  EXPECT_EQ(listed, arns);
}

// A reader who comes a little late must not lose what the table's last moments brought.
TEST_F(StreamsTest, DB_S_01_ADeletedTablesStreamStaysReadable) {
  std::string arn = Create("tab", StreamViewType::kNewImage);
  Put("tab", {{"p", "x"}, {"s", 1}});
  Do(DeleteTableRequest{.table_name = "tab"});
  std::string again = Create("tab", StreamViewType::kNewImage);
  EXPECT_NE(again, arn);
  EXPECT_EQ(Do(DescribeStreamRequest{.stream_arn = arn}).stream_description.stream_status,
            StreamStatus::kDisabled);
  EXPECT_EQ(ReadAll(arn).size(), 1u);
  EXPECT_TRUE(ReadAll(again).empty());
  clock_.Advance(limits::kStreamRetentionMillis + 120'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  EXPECT_TRUE(Refusal(DescribeStreamRequest{.stream_arn = arn}).starts_with("ResourceNotFoundException"));
}

TEST_F(StreamsTest, DB_S_01_ShardsArePagedAndFiltered) {
  std::string arn = Create("tab", StreamViewType::kKeysOnly);
  std::vector<Shard> all = Shards(arn);
  DescribeStreamRequest request{.stream_arn = arn, .limit = 3};
  StreamDescription page = Do(request).stream_description;
  EXPECT_EQ(page.shards.size(), 3u);
  EXPECT_EQ(page.last_evaluated_shard_id, all[2].shard_id);
  request.exclusive_start_shard_id = page.last_evaluated_shard_id;
  page = Do(request).stream_description;
  EXPECT_EQ(page.shards.size(), 1u);
  EXPECT_FALSE(page.last_evaluated_shard_id);
  request.exclusive_start_shard_id = std::string(40, 'z');
  EXPECT_TRUE(Do(request).stream_description.shards.empty());
  DescribeStreamRequest children{.stream_arn = arn};
  children.shard_filter = ShardFilter{ShardFilterType::kChildShards, all[0].shard_id};
  EXPECT_TRUE(Do(children).stream_description.shards.empty());
}

TEST_F(StreamsTest, DB_S_01_WhatIsWrongIsRefusedAndChangesNothing) {
  std::string arn = Create("tab", StreamViewType::kKeysOnly);
  Create("plain", std::nullopt);
  std::string prefix = "ValidationException: ",
              invalid = prefix + "One or more parameter values were invalid: ";
  EXPECT_EQ(Refusal(Update("tab", {true, StreamViewType::kOldImage})),
            prefix + "Table already has an enabled stream: TableName: tab");
  EXPECT_EQ(Refusal(Update("plain", {false})), prefix + "Table has no stream to disable: TableName: plain");
  EXPECT_EQ(Refusal(Update("plain", {true})),
            invalid + "If stream is being enabled then UpdateViewType is required");
  EXPECT_EQ(Refusal(Update("tab", {false, StreamViewType::kKeysOnly})),
            invalid + "If stream is being disabled, then UpdateViewType must not be specified");
  EXPECT_EQ(Do(ListStreamsRequest{}).streams.size(), 1u);

  std::string nothing(50, 'x');
  EXPECT_EQ(Refusal(DescribeStreamRequest{.stream_arn = nothing}), prefix + "Invalid StreamArn");
  EXPECT_EQ(Refusal(ListStreamsRequest{.exclusive_start_stream_arn = nothing}), prefix + "Invalid StreamArn");
  EXPECT_EQ(Refusal(GetRecordsRequest{nothing}), prefix + "Invalid ShardIterator");
  std::string elsewhere = arn;
  elsewhere.replace(elsewhere.find("table/tab/"), 10, "table/tub/");
  EXPECT_TRUE(Refusal(DescribeStreamRequest{.stream_arn = elsewhere}).starts_with("ResourceNotFound"));

  std::string shard = Shards(arn)[0].shard_id;
  using Type = ShardIteratorType;
  EXPECT_TRUE(Refusal(GetShardIteratorRequest{arn, nothing, Type::kLatest}).starts_with("ResourceNotFound"));
  EXPECT_TRUE(Refusal(GetShardIteratorRequest{arn, shard, Type::kAtSequenceNumber}).starts_with(prefix));
  std::string number = SequenceNumber({5, 0});
  EXPECT_TRUE(Refusal(GetShardIteratorRequest{arn, shard, Type::kLatest, number}).starts_with(prefix));
  EXPECT_TRUE(Refusal(GetShardIteratorRequest{arn, shard, Type::kAtSequenceNumber, std::string(30, '7')})
                  .starts_with(prefix));
  EXPECT_TRUE(Refusal(GetShardIteratorRequest{arn, shard, Type::kAtSequenceNumber, SequenceNumber({0, 0})})
                  .starts_with(prefix))
      << "before the stream began";
  for (Type type : {Type::kAtSequenceNumber, Type::kAfterSequenceNumber})
    EXPECT_TRUE(Refusal(GetShardIteratorRequest{arn, shard, type, SequenceNumber({1'000'000, 0})})
                    .starts_with(prefix))
        << "what comes until then would be passed by";
  Do(GetShardIteratorRequest{arn, shard, Type::kAtSequenceNumber,
                             Shards(arn)[0].sequence_number_range.starting_sequence_number});

  // No byte of an iterator can be changed unnoticed.
  std::string iterator = Iterator(arn, shard, Type::kTrimHorizon);
  for (size_t at = 0; at < iterator.size(); ++at) {
    std::string changed = iterator;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_EQ(Refusal(GetRecordsRequest{changed}), prefix + "Invalid ShardIterator") << changed;
  }
  ShardIterator forged{.stream_arn = arn};
  forged.issued_millis = INT64_MIN;
  EXPECT_EQ(Refusal(GetRecordsRequest{EncodeIterator(forged)}), prefix + "Invalid ShardIterator");
}

TEST_F(StreamsTest, StreamsOfOneDayAreBounded) {
  Create("tab", StreamViewType::kKeysOnly);
  for (int i = 1; i < 100; ++i) {
    Do(Update("tab", {false}));
    Do(Update("tab", {true, StreamViewType::kKeysOnly}));
  }
  Do(Update("tab", {false}));
  EXPECT_EQ(Refusal(Update("tab", {true, StreamViewType::kKeysOnly})),
            "LimitExceededException: Too many streams of the table were enabled within 24 hours");
  clock_.Advance(limits::kStreamRetentionMillis + 120'000);
  ASSERT_TRUE(engine_->RunHousekeeping());
  Do(Update("tab", {true, StreamViewType::kKeysOnly}));
}

TEST_F(StreamsTest, DB_S_01_RestartsLoseNothingAndNumbersGoOn) {
  directory_ = std::filesystem::temp_directory_path() / ("holdfast-streams-" + std::to_string(::getpid()));
  Open();
  std::string arn = Create("tab", StreamViewType::kNewAndOldImages);
  Put("tab", {{"p", "x"}, {"s", 1}, {"n", 1}});
  std::string shard;
  for (const Shard& each : Shards(arn)) {
    std::string begin = Iterator(arn, each.shard_id, ShardIteratorType::kTrimHorizon);
    if (!Do(GetRecordsRequest{begin}).records.empty()) shard = each.shard_id;
  }
  std::string before = Iterator(arn, shard, ShardIteratorType::kLatest);
  Open();
  Put("tab", {{"p", "x"}, {"s", 1}, {"n", 2}});
  GetRecordsResponse got = Do(GetRecordsRequest{before});
  ASSERT_EQ(got.records.size(), 1u) << "an iterator outlives a restart";
  std::vector<Record> all = ReadAll(arn);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_LT(all[0].dynamodb.sequence_number, all[1].dynamodb.sequence_number);
  EXPECT_EQ(all[1].dynamodb.old_image->Get("n")->AsInt64(), 1);
}

}  // namespace
}  // namespace holdfast::ops
