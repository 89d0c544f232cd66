// GetRecords: the next records of a shard, up to 1000 or about 1 MB. No record does not mean that none will
// follow: go on with next_shard_iterator until it is absent, which says that the shard is closed and was read
// to its end.
#pragma once

#include "holdfast/ops/table.h"

namespace holdfast {

struct GetRecordsRequest {
  std::string shard_iterator;
  std::optional<int64_t> limit;

  static constexpr std::string_view kTypeName = "GetRecordsInput";
  static constexpr auto Fields() {
    using S = GetRecordsRequest;
    return FieldList(
        Field("ShardIterator", &S::shard_iterator, {.required = true, .length_min = 1, .length_max = 2048}),
        Field("Limit", &S::limit, {.value_min = 1, .value_max = 1000}));
  }
};

enum class OperationType : unsigned char { kInsert, kModify, kRemove };
template <>
struct EnumNames<OperationType> {
  static constexpr std::pair<OperationType, std::string_view> kAll[] = {{OperationType::kInsert, "INSERT"},
                                                                        {OperationType::kModify, "MODIFY"},
                                                                        {OperationType::kRemove, "REMOVE"}};
};

struct StreamRecord {
  Timestamp approximate_creation_date_time;  // to the second
  Item keys;
  std::optional<Item> new_image;  // as the stream's view type says
  std::optional<Item> old_image;
  std::string sequence_number;
  int64_t size_bytes = 0;
  StreamViewType stream_view_type = StreamViewType::kKeysOnly;

  static constexpr std::string_view kTypeName = "StreamRecord";
  static constexpr auto Fields() {
    using S = StreamRecord;
    return FieldList(Field("ApproximateCreationDateTime", &S::approximate_creation_date_time),
                     Field("Keys", &S::keys), Field("NewImage", &S::new_image),
                     Field("OldImage", &S::old_image), Field("SequenceNumber", &S::sequence_number),
                     Field("SizeBytes", &S::size_bytes), Field("StreamViewType", &S::stream_view_type));
  }
};

// Who changed the item, when it was not a client: the time to live.
struct Identity {
  std::string principal_id;
  std::string type;

  static constexpr std::string_view kTypeName = "Identity";
  static constexpr auto Fields() {
    using S = Identity;
    return FieldList(Field("PrincipalId", &S::principal_id), Field("Type", &S::type));
  }
};

struct GetRecordsResponse {
  struct Record {
    std::string event_id;
    OperationType event_name = OperationType::kInsert;
    std::string event_version;
    std::string event_source;
    std::string aws_region;
    StreamRecord dynamodb;
    std::optional<Identity> user_identity;

    static constexpr std::string_view kTypeName = "Record";
    static constexpr auto Fields() {
      using S = Record;
      return FieldList(Field("eventID", &S::event_id), Field("eventName", &S::event_name),
                       Field("eventVersion", &S::event_version), Field("eventSource", &S::event_source),
                       Field("awsRegion", &S::aws_region), Field("dynamodb", &S::dynamodb),
                       Field("userIdentity", &S::user_identity));
    }
  };

  std::vector<Record> records;
  std::optional<std::string> next_shard_iterator;

  static constexpr std::string_view kTypeName = "GetRecordsOutput";
  static constexpr auto Fields() {
    using S = GetRecordsResponse;
    return FieldList(Field("Records", &S::records, {.required = true}),
                     Field("NextShardIterator", &S::next_shard_iterator));
  }
};

}  // namespace holdfast
