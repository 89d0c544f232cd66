// Every bound the database keeps, in one place. The first block is DynamoDB's and part of the API; the second
// is ours and protects the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::limits {

// --- DynamoDB's ---
inline constexpr size_t kItemSizeBytesMax = 400 * 1024;
inline constexpr size_t kPartitionKeyBytesMax = 2048;
inline constexpr size_t kSortKeyBytesMax = 1024;
inline constexpr size_t kAttributeNameBytesMax = 65535;
inline constexpr size_t kKeyAttributeNameBytesMax = 255;
inline constexpr int kNumberDigitsMax = 38;
inline constexpr int kNumberExponentMax = 125;   // 9.99…E+125
inline constexpr int kNumberExponentMin = -130;  // 1E-130
inline constexpr int kDocumentDepthMax = 32;
inline constexpr size_t kExpressionBytesMax = 4096;
inline constexpr int kExpressionOperatorsMax = 300;
inline constexpr size_t kInOperandsMax = 100;
inline constexpr size_t kPathElementsMax = 32;
inline constexpr size_t kExpressionSubstitutionBytesMax = 255;
inline constexpr size_t kExpressionMapBytesMax =
    2 * 1024 * 1024;  // of all names, and of all values, of a request
inline constexpr size_t kPageBytesMax = 1024 * 1024;
inline constexpr size_t kBatchGetKeysMax = 100;
inline constexpr size_t kBatchGetBytesMax = 16 * 1024 * 1024;
inline constexpr size_t kBatchWriteRequestsMax = 25;
inline constexpr size_t kTransactionActionsMax = 100;
inline constexpr size_t kTransactionBytesMax = 4 * 1024 * 1024;
inline constexpr int64_t kIdempotencySecondsMax = 600;
inline constexpr size_t kGsiMax = 20;
inline constexpr size_t kLsiMax = 5;
inline constexpr size_t kProjectedAttributesMax = 100;  // INCLUDE attributes over all indexes of a table
inline constexpr size_t kIndexHashAttributesMax = 4;
inline constexpr size_t kIndexRangeAttributesMax = 4;
inline constexpr size_t kVectorIndexesMax = 5;
inline constexpr int64_t kVectorDimensionsMax = 4096;
inline constexpr size_t kVectorFiltersMax = 18;
inline constexpr int64_t kVectorTopKMax = 100;
inline constexpr size_t kSearchResponseBytesMax = 16 * 1024 * 1024;
inline constexpr size_t kVectorRequestBytesMin = 1024;
inline constexpr size_t kTagsMax = 50;
inline constexpr int64_t kTtlAgeSecondsMax = 5LL * 365 * 24 * 3600;  // older expiry times are ignored
inline constexpr int64_t kStreamRetentionMillis = 24LL * 3600 * 1000;
inline constexpr int64_t kShardIteratorMillisMax = 15LL * 60 * 1000;
inline constexpr int64_t kStreamRecordsMax = 1000;         // of one GetRecords
inline constexpr size_t kStreamBytesPassedMax = 64 << 20;  // of other shards' records, in one GetRecords
inline constexpr size_t kTablesMax = 10000;
inline constexpr size_t kRequestBodyBytesMax = 16 * 1024 * 1024;
inline constexpr size_t kReadUnitBytes = 4096;
inline constexpr size_t kWriteUnitBytes = 1024;
inline constexpr int64_t kWarmReadUnits = 12000;  // of a table on demand, a second
inline constexpr int64_t kWarmWriteUnits = 4000;

// --- ours ---
inline constexpr size_t kJsonDepthMax = 256;
// Parentheses, NOT and function calls inside each other. Beyond any expression with 300 operators that a
// person or a generator writes, and far below what a thread's stack holds.
inline constexpr int kExpressionDepthMax = 320;
inline constexpr size_t kHttpHeaderBytesMax = 16 * 1024;

// In the lists and maps of one request, items aside: 300 legacy conditions with 100 operands each fit.
inline constexpr size_t kRequestElementsMax = 32 * 1024;
inline constexpr size_t kViolationsReportedMax = 10;
// What an error shows of one value, and may be long altogether: an answer repeats no large request.
inline constexpr size_t kShownBytesMax = 1024;
inline constexpr size_t kErrorMessageBytesMax = 32 * 1024;
// Attributes of AttributesToGet and AttributeUpdates, which have no expression's 4 KB: as many fit into
// those.
inline constexpr size_t kLegacyNamesMax = kExpressionBytesMax / 2;
// The flat form takes at most five times what DynamoDB counts (lists of empty strings), so anything beyond
// this is too large an item for certain, whatever its exact size.
inline constexpr size_t kFlatItemBytesMax = 6 * kItemSizeBytesMax;
inline constexpr size_t kFlatValuesBytesMax = 6 * kExpressionMapBytesMax;
// A page also ends here by what its items weigh for their tables: a page's 1 MB leaves names out.
inline constexpr size_t kPageItemBytesMax = 16 * 1024 * 1024;
// What one request may look at (base/work_meter.h): on an I/O thread, then on the pool.
inline constexpr size_t kInlineWorkBytesMax = 16 * 1024 * 1024;
inline constexpr size_t kRequestWorkBytesMax = 1024 * 1024 * 1024;
// A body beyond this is parsed on the pool, not on the thread that read it.
inline constexpr size_t kInlineBodyBytesMax = 1024 * 1024;
// Over REST: of one entity or one command. Transactions may be as large as requests to tables.
inline constexpr size_t kEntityBodyBytesMax = 1024 * 1024;
// Values in one plain JSON document: each takes far more memory than its byte or two of text.
inline constexpr size_t kPlainValuesMax = 1024 * 1024;
// Buffers that a thread keeps for its next request.
inline constexpr size_t kKeptBytesMax = 1024 * 1024;
inline constexpr size_t kCommitQueueMax = 16384;  // answers waiting for a sync

// Waiting or under way; DynamoDB has the same bounds for an account.
inline constexpr size_t kBackupsAtOnceMax = 50;
inline constexpr size_t kRestoresAtOnceMax = 50;

// Vectors that may wait for their graph before writes are slowed.
inline constexpr size_t kVectorBacklogFree = 10'000;

}  // namespace holdfast::limits
