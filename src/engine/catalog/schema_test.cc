#include "engine/catalog/schema.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::engine {
namespace {

TableSchema Everything() {
  IndexSchema local{.id = 8,
                    .name = "local",
                    .kind = IndexSchema::Kind::kLocal,
                    .partition = {{"pk", value::Type::kString}},
                    .sort = {{"other", value::Type::kNumber}},
                    .projection = ProjectionType::kKeysOnly};
  IndexSchema global{.id = 9,
                     .name = "global",
                     .partition = {{"a", value::Type::kBinary}, {"b", value::Type::kString}},
                     .sort = {{"c", value::Type::kNumber}, {"d", value::Type::kString}},
                     .projection = ProjectionType::kInclude,
                     .included = {"z", "y"},
                     .status = IndexStatus::kCreating,
                     .throughput = ProvisionedThroughput{3, 4},
                     .throughput_changes = {13, 14, 1}};
  TableSchema schema{
      .id = 7,
      .name = "Everything",
      .uuid = "u",
      .created_millis = 1,
      .partition = {"pk", value::Type::kString},
      .sort = KeyAttribute{"sk", value::Type::kNumber},
      .attributes = {{"pk", ScalarAttributeType::kString}, {"sk", ScalarAttributeType::kNumber}},
      .indexes = {local, global},
      .status = TableStatus::kUpdating,
      .billing = BillingMode::kPayPerRequest,
      .billing_mode_given = true,
      .on_demand_since_millis = 2,
      .throughput = {5, 6},
      .throughput_changes = {3, 4, 2},
      .table_class = TableClass::kInfrequentAccess,
      .table_class_millis = 5,
      .deletion_protection = true,
      .tags = {{"k", "v"}, {"k2", ""}},
      .ttl_attribute = "expires",
      .ttl_status = TimeToLiveStatus::kEnabling,
      .ttl_changed_millis = 6,
      .streams = {{.view_type = StreamViewType::kOldImage,
                   .created_millis = 7,
                   .disabled_millis = 8,
                   .after = 9,
                   .until = 10},
                  {.view_type = StreamViewType::kNewImage, .created_millis = 11, .after = 12}}};
  schema.Derive();
  return schema;
}

// A field that is forgotten in either direction is lost with the next restart.
TEST(Schema, EveryFieldSurvivesTheCatalog) {
  TableSchema schema = Everything();
  Result<TableSchema> read = DecodeSchema(EncodeSchema(schema));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(EncodeSchema(*read), EncodeSchema(schema));
  EXPECT_EQ(read->sort, schema.sort);
  EXPECT_EQ(read->tags.size(), 2u);
  EXPECT_EQ(read->table_class, schema.table_class);
  EXPECT_EQ(read->ttl_status, TimeToLiveStatus::kEnabling);
  EXPECT_EQ(read->throughput_changes.increased_millis, 3);
  EXPECT_EQ(read->throughput_changes.decreased_millis, 4);
  EXPECT_EQ(read->throughput_changes.decreases, 2);
  EXPECT_EQ(read->on_demand_since_millis, 2);
  ASSERT_EQ(read->streams.size(), 2u);
  EXPECT_EQ(read->streams[0].view_type, StreamViewType::kOldImage);
  EXPECT_EQ(read->streams[0].until, 10u);
  EXPECT_EQ(read->streams[1].after, 12u);
  EXPECT_EQ(read->streams[1].until, StreamSchema::kUnset);
  EXPECT_EQ(read->enabled_stream(), &read->streams[1]);
  ASSERT_EQ(read->indexes.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->indexes[i].id, schema.indexes[i].id);
    EXPECT_EQ(read->indexes[i].kind, schema.indexes[i].kind);
    EXPECT_EQ(read->indexes[i].partition, schema.indexes[i].partition);
    EXPECT_EQ(read->indexes[i].sort, schema.indexes[i].sort);
    EXPECT_EQ(read->indexes[i].projection, schema.indexes[i].projection);
    EXPECT_EQ(read->indexes[i].included, schema.indexes[i].included);
    EXPECT_EQ(read->indexes[i].projected, schema.indexes[i].projected);
    EXPECT_EQ(read->indexes[i].status, schema.indexes[i].status);
  }
  EXPECT_EQ(read->indexes[1].throughput->write_capacity_units, 4);
}

TEST(Schema, AnIndexProjectsItsKeysAndThoseOfItsTable) {
  TableSchema schema = Everything();
  EXPECT_EQ(schema.indexes[0].projected, (std::vector<std::string>{"other", "pk", "sk"}));
  EXPECT_EQ(schema.indexes[1].projected,
            (std::vector<std::string>{"a", "b", "c", "d", "pk", "sk", "y", "z"}));
}

// A damaged record is an error that says so, never a crash while the store is opened.
TEST(Schema, DamagedRecordsAreRefusedOrHarmless) {
  std::string bytes = EncodeSchema(Everything());
  for (size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(DecodeSchema(ByteView(bytes).substr(0, cut)));
  std::mt19937_64 random(41);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    static_cast<void>(DecodeSchema(damaged).has_value());
  }
  EXPECT_FALSE(DecodeSchema(Item{{"id", 1}}.flat()));
  EXPECT_FALSE(DecodeSchema(Item{{"keys", "text"}, {"indexes", 1}}.flat()));
  EXPECT_FALSE(DecodeSchema(Item{{"keys", AttributeValue::List({1})}}.flat()));
}

}  // namespace
}  // namespace holdfast::engine
