// holdfast as a library: the DynamoDB operations as calls on an object, on a directory or in memory.
//
//   #include <holdfast/database.h>
//
//   auto db = holdfast::Database::Open({.directory = "./data"});
//   if (!db) return Fail(db.error());
//   auto created = (*db)->CreateTable({.table_name = "Music",
//                                      .key_schema = {{"Artist", holdfast::KeyType::kHash}},
//                                      .attribute_definitions = {{"Artist"}},  // a string unless told
//                                      .billing_mode = holdfast::BillingMode::kPayPerRequest});
//   auto put = (*db)->PutItem({.table_name = "Music", .item = {{"Artist", "Acme Band"}, {"Year", 2024}}});
//   auto got = (*db)->GetItem({.table_name = "Music", .key = {{"Artist", "Acme Band"}}});
//   if (got && got->item) Use(got->item->Get("Year")->AsInt64());
//
// Each operation takes the request structs of holdfast/ops/ and does what the DynamoDB operation of that name
// does, with the same refusals in the same words (docs/compatibility.md lists the differences). A call that
// fails has changed nothing.
//
// Durability: with Durability::kSync, the default, a write that returned survives a power cut, and nothing is
// ever read that a power cut could take back. Concurrent writers share syncs, so many threads write much
// faster than one. Isolation: conditional writes are linearizable per item; transactions are serializable; a
// Query or Scan page and a BatchGetItem read one state.
//
// Thread safety: every method may be called from any thread at any time, and blocks that thread until the
// answer is there. The destructor needs all calls to have returned; it waits for background work and leaves
// the store closed.
//
// Ownership: the caller owns the Database, and one process has a directory open at a time. Requests are only
// read during the call; responses own all they hold and outlive the Database. Results are described in
// holdfast/result.h, values in holdfast/value.h, requests in holdfast/ops/common.h.
//
// samples/embed/ is a small program to start from.
#pragma once

#include <memory>

#include "holdfast/export.h"
#include "holdfast/ops/batch_get_item.h"
#include "holdfast/ops/batch_write_item.h"
#include "holdfast/ops/create_backup.h"
#include "holdfast/ops/create_table.h"
#include "holdfast/ops/delete_backup.h"
#include "holdfast/ops/delete_item.h"
#include "holdfast/ops/delete_table.h"
#include "holdfast/ops/describe_backup.h"
#include "holdfast/ops/describe_continuous_backups.h"
#include "holdfast/ops/describe_endpoints.h"
#include "holdfast/ops/describe_limits.h"
#include "holdfast/ops/describe_stream.h"
#include "holdfast/ops/describe_table.h"
#include "holdfast/ops/describe_time_to_live.h"
#include "holdfast/ops/get_item.h"
#include "holdfast/ops/get_records.h"
#include "holdfast/ops/get_shard_iterator.h"
#include "holdfast/ops/list_backups.h"
#include "holdfast/ops/list_streams.h"
#include "holdfast/ops/list_tables.h"
#include "holdfast/ops/list_tags_of_resource.h"
#include "holdfast/ops/put_item.h"
#include "holdfast/ops/query.h"
#include "holdfast/ops/restore_table_from_backup.h"
#include "holdfast/ops/restore_table_to_point_in_time.h"
#include "holdfast/ops/scan.h"
#include "holdfast/ops/search_vectors.h"
#include "holdfast/ops/tag_resource.h"
#include "holdfast/ops/transact_get_items.h"
#include "holdfast/ops/transact_write_items.h"
#include "holdfast/ops/untag_resource.h"
#include "holdfast/ops/update_continuous_backups.h"
#include "holdfast/ops/update_item.h"
#include "holdfast/ops/update_table.h"
#include "holdfast/ops/update_time_to_live.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/similarity.h"

namespace holdfast {

class Store;
namespace engine {
class Engine;
}

// An open store. Opening takes a moment and memory (Options::cache_bytes): open one and share it.
class HOLDFAST_EXPORT Database {
 public:
  // Opens the store at options.directory, creating it unless told not to, or a new one in memory.
  //
  // Fails, saying what to do, with kLocked when another process has the directory open, kNewerFormat when a
  // later version wrote it, kCorruption when it is damaged, kIo when it is not there or holds something else.
  static Result<std::unique_ptr<Database>> Open(const Options& options);

  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // --- items ---

  // Creates the item, or replaces the one with the same key.
  Result<PutItemResponse> PutItem(const PutItemRequest& request);
  // The item with this key; response.item is empty when there is none.
  Result<GetItemResponse> GetItem(const GetItemRequest& request);
  // Changes attributes in place; creates the item when it is not there.
  Result<UpdateItemResponse> UpdateItem(const UpdateItemRequest& request);
  // Removing what is not there succeeds.
  Result<DeleteItemResponse> DeleteItem(const DeleteItemRequest& request);
  // One page of one partition, in order. Goes on from last_evaluated_key.
  Result<QueryResponse> Query(const QueryRequest& request);
  // One page of everything. With segment and total_segments several threads can share the work.
  Result<ScanResponse> Scan(const ScanRequest& request);
  // The items of a vector index that are nearest to a vector, nearest first.
  Result<SearchVectorsResponse> SearchVectors(const SearchVectorsRequest& request);
  // The same with a bound: what is at least so similar, for indexes of the distance function COSINE.
  Result<SimilaritySearchResponse> SimilaritySearch(const SimilaritySearchRequest& request);
  // Up to 100 items by key.
  Result<BatchGetItemResponse> BatchGetItem(const BatchGetItemRequest& request);
  // Up to 25 puts and deletes without conditions.
  Result<BatchWriteItemResponse> BatchWriteItem(const BatchWriteItemRequest& request);
  // Up to 100 items as of one moment.
  Result<TransactGetItemsResponse> TransactGetItems(const TransactGetItemsRequest& request);
  // Up to 100 actions, all or none. When one fails, the error is kTransactionCanceled and its detail gives a
  // reason per action. TransactionConflict among the reasons means: another writer held the item, try again.
  Result<TransactWriteItemsResponse> TransactWriteItems(const TransactWriteItemsRequest& request);

  // --- tables ---

  // The table is ready when this returns.
  Result<CreateTableResponse> CreateTable(const CreateTableRequest& request);
  Result<DescribeTableResponse> DescribeTable(const DescribeTableRequest& request);
  Result<ListTablesResponse> ListTables(const ListTablesRequest& request);
  // Adding an index returns at once; the index is filled in the background and is ACTIVE when DescribeTable
  // says so.
  Result<UpdateTableResponse> UpdateTable(const UpdateTableRequest& request);
  Result<DeleteTableResponse> DeleteTable(const DeleteTableRequest& request);
  Result<UpdateTimeToLiveResponse> UpdateTimeToLive(const UpdateTimeToLiveRequest& request);
  Result<DescribeTimeToLiveResponse> DescribeTimeToLive(const DescribeTimeToLiveRequest& request);
  Result<TagResourceResponse> TagResource(const TagResourceRequest& request);
  Result<UntagResourceResponse> UntagResource(const UntagResourceRequest& request);
  Result<ListTagsOfResourceResponse> ListTagsOfResource(const ListTagsOfResourceRequest& request);

  // --- backups ---

  // The items of a table as of now, kept until the backup is deleted. It is AVAILABLE when DescribeBackup
  // says so.
  Result<CreateBackupResponse> CreateBackup(const CreateBackupRequest& request);
  Result<DescribeBackupResponse> DescribeBackup(const DescribeBackupRequest& request);
  Result<ListBackupsResponse> ListBackups(const ListBackupsRequest& request);
  Result<DeleteBackupResponse> DeleteBackup(const DeleteBackupRequest& request);
  // A new table. It is filled in the background and ACTIVE when DescribeTable says so.
  Result<RestoreTableFromBackupResponse> RestoreTableFromBackup(const RestoreTableFromBackupRequest& request);

  // Whether a table can be restored to any second of the last days, and that done.
  Result<UpdateContinuousBackupsResponse> UpdateContinuousBackups(
      const UpdateContinuousBackupsRequest& request);
  Result<DescribeContinuousBackupsResponse> DescribeContinuousBackups(
      const DescribeContinuousBackupsRequest& request);
  Result<RestoreTableToPointInTimeResponse> RestoreTableToPointInTime(
      const RestoreTableToPointInTimeRequest& request);

  // --- streams ---

  // What changed in a table whose StreamSpecification asks for it, for a day. docs/streams.md has an example.
  Result<ListStreamsResponse> ListStreams(const ListStreamsRequest& request);
  Result<DescribeStreamResponse> DescribeStream(const DescribeStreamRequest& request);
  Result<GetShardIteratorResponse> GetShardIterator(const GetShardIteratorRequest& request);
  Result<GetRecordsResponse> GetRecords(const GetRecordsRequest& request);

  // --- what clients ask an endpoint ---

  Result<DescribeLimitsResponse> DescribeLimits(const DescribeLimitsRequest& request);
  Result<DescribeEndpointsResponse> DescribeEndpoints(const DescribeEndpointsRequest& request);

 private:
  class Impl;
  friend HOLDFAST_EXPORT std::unique_ptr<Store> EmbeddedStore(Database* database);  // holdfast/store.h
  engine::Engine* GetEngine() const;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
