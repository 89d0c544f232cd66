#include "ops/streams.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "base/base64.h"
#include "base/checksum.h"
#include "ops/table_access.h"
#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

using engine::ChangePosition;
using engine::StreamSchema;
using engine::TableSchema;

constexpr std::string_view kSeparator = "|1|";
constexpr size_t kCommitDigits = 20, kOrdinalDigits = 10;
constexpr size_t kStreamsMax = 100;  // of one table: all are in its schema, a day long

const StreamSchema* FindStream(Context& context, const TableSchema& table, const std::string& arn) {
  for (const StreamSchema& stream : table.streams) {
    if (StreamArn(context, table, stream) == arn) return &stream;
  }
  return nullptr;
}

// Labels are times. Two streams under one table name must not have the same.
int64_t NewStreamMillis(Context& context, const TableSchema& table) {
  int64_t millis = context.engine->clock().NowMillis();
  auto come_after = [&](const TableSchema& other) {
    for (const StreamSchema& stream : other.streams) millis = std::max(millis, stream.created_millis + 1);
  };
  come_after(table);
  for (const engine::SchemaPtr& dropped : context.engine->catalog().Dropped()) {
    if (dropped->name == table.name) come_after(*dropped);
  }
  return millis;
}

template <class Number>
bool ReadDigits(std::string_view digits, Number* out) {
  auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), *out);
  return fault == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

std::string StreamLabel(const StreamSchema& stream) {
  auto seconds = static_cast<std::time_t>(stream.created_millis / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%03d", static_cast<int>(stream.created_millis % 1000));
  return text;
}

std::string StreamArn(Context& context, const TableSchema& table, const StreamSchema& stream) {
  return TableArn(context, table.name) + "/stream/" + StreamLabel(stream);
}

Status CheckStreamArn(const std::string& arn) {
  size_t table = arn.find(":table/");
  bool sound = arn.starts_with("arn:aws") && table != std::string::npos &&
               arn.find("/stream/", table) != std::string::npos;
  if (!sound) return ValidationError("Invalid StreamArn");
  return Ok{};
}

Result<StreamRef> OpenStream(Context& context, const std::string& arn) {
  HF_CHECK_OK(CheckStreamArn(arn));
  size_t begin = arn.find(":table/") + 7;
  std::string name = arn.substr(begin, arn.find("/stream/", begin) - begin);
  if (engine::TablePtr table = context.engine->catalog().Find(name)) {
    engine::SchemaPtr schema = table->schema();
    if (const StreamSchema* stream = FindStream(context, *schema, arn)) return StreamRef{schema, *stream};
  }
  for (const engine::SchemaPtr& dropped : context.engine->catalog().Dropped()) {
    if (dropped->name != name) continue;
    if (const StreamSchema* stream = FindStream(context, *dropped, arn)) return StreamRef{dropped, *stream};
  }
  return Error(ErrorCode::kResourceNotFound, "Requested resource not found: Stream: " + arn + " not found");
}

Status AddStream(Context& context, const StreamSpecification& wanted, TableSchema* table) {
  if (!wanted.stream_enabled) {
    if (!wanted.stream_view_type) return Ok{};
    return Invalid("Table is being created with a stream disabled, UpdateViewType should not be specified");
  }
  if (!wanted.stream_view_type) {
    return Invalid("Table is being created with a stream enabled, UpdateViewType is required");
  }
  if (table->streams.size() >= kStreamsMax) {
    return Error(ErrorCode::kLimitExceeded, "Too many streams of the table were enabled within 24 hours");
  }
  table->streams.push_back(
      {.view_type = *wanted.stream_view_type, .created_millis = NewStreamMillis(context, *table)});
  return Ok{};
}

Status ChangeStream(Context& context, const StreamSpecification& wanted, TableSchema* table) {
  if (wanted.stream_enabled != wanted.stream_view_type.has_value()) {
    return Invalid(wanted.stream_enabled
                       ? "If stream is being enabled then UpdateViewType is required"
                       : "If stream is being disabled, then UpdateViewType must not be specified");
  }
  bool is_enabled = table->enabled_stream() != nullptr;
  if (wanted.stream_enabled) {
    if (is_enabled) return ValidationError("Table already has an enabled stream: TableName: " + table->name);
    return AddStream(context, wanted, table);
  }
  if (!is_enabled) return ValidationError("Table has no stream to disable: TableName: " + table->name);
  table->streams.back().disabled_millis = context.engine->clock().NowMillis();
  return Ok{};
}

std::string ShardId(const StreamSchema& stream, int shard) {
  char text[64];
  std::snprintf(text, sizeof text, "shardId-%020" PRId64 "-%08d", stream.created_millis, shard);
  return text;
}

std::optional<int> ShardOf(const StreamSchema& stream, const std::string& shard_id) {
  for (int shard = 0; shard < engine::ChangeLog::kShards; ++shard) {
    if (ShardId(stream, shard) == shard_id) return shard;
  }
  return std::nullopt;
}

std::string SequenceNumber(const ChangePosition& position) {
  char text[40];
  std::snprintf(text, sizeof text, "1%020" PRIu64 "%010" PRIu32, position.commit_number, position.ordinal);
  return text;
}

std::optional<ChangePosition> ReadSequenceNumber(const std::string& text) {
  ChangePosition position;
  std::string_view digits = text;
  if (digits.size() != 1 + kCommitDigits + kOrdinalDigits || digits[0] != '1') return std::nullopt;
  if (!ReadDigits(digits.substr(1, kCommitDigits), &position.commit_number) ||
      !ReadDigits(digits.substr(1 + kCommitDigits), &position.ordinal)) {
    return std::nullopt;
  }
  return position;
}

Result<ChangePosition> BeginningOf(Context& context, const StreamRef& ref) {
  HF_TRY(uint64_t trimmed, context.engine->change_log().TrimmedUpTo(ref.table->id));
  return ChangePosition{std::min(std::max(trimmed, ref.stream.after), ref.stream.until), UINT32_MAX};
}

// u8 shard ‖ u64 commit number ‖ u32 ordinal ‖ u64 issued ‖ u32 of a checksum of all that and the ARN
std::string EncodeIterator(const ShardIterator& iterator) {
  std::string bytes;
  base::AppendBigEndian(&bytes, static_cast<uint64_t>(iterator.shard), 1);
  base::AppendBigEndian(&bytes, iterator.after.commit_number, 8);
  base::AppendBigEndian(&bytes, iterator.after.ordinal, 4);
  base::AppendBigEndian(&bytes, static_cast<uint64_t>(iterator.issued_millis), 8);
  base::Checksum checksum;
  checksum.Update(bytes);
  checksum.Update(iterator.stream_arn);
  base::AppendBigEndian(&bytes, checksum.Value() & UINT32_MAX, 4);
  return iterator.stream_arn + std::string(kSeparator) + base::Base64(bytes);
}

Result<ShardIterator> DecodeIterator(const std::string& text) {
  Error invalid = ValidationError("Invalid ShardIterator");
  size_t separator = text.find(kSeparator);
  std::string bytes;
  if (separator == std::string::npos ||
      !base::DecodeBase64(std::string_view(text).substr(separator + kSeparator.size()), &bytes) ||
      bytes.size() != 25) {
    return invalid;
  }
  ByteView rest = bytes;
  auto take = [&](int width) {
    uint64_t number = base::ReadBigEndian(rest, width);
    rest.remove_prefix(static_cast<size_t>(width));
    return number;
  };
  ShardIterator iterator{.stream_arn = text.substr(0, separator)};
  iterator.shard = static_cast<int>(take(1));
  iterator.after.commit_number = take(8);
  iterator.after.ordinal = static_cast<uint32_t>(take(4));
  iterator.issued_millis = static_cast<int64_t>(take(8));
  if (iterator.shard >= engine::ChangeLog::kShards || iterator.issued_millis < 0 ||
      EncodeIterator(iterator) != text) {
    return invalid;
  }
  return iterator;
}

}  // namespace holdfast::ops
