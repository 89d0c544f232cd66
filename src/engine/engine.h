// The database itself: tables and items on a storage, without any protocol. Operations (src/ops/) speak to
// this.
//
// Reading: take a View, read as often as you like, all from one published state.
// Writing: writer().Write, then committer().WhenDurable before anybody is told.
// Tables: CreateTable, DropTable, ChangeSchema; each returns when the change is in force, durable after
// WaitDurable.
//
// Thread-safe. Destruction needs all calls to have returned.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/random.h"
#include "engine/catalog/catalog.h"
#include "engine/change/change_log.h"
#include "engine/commit/committer.h"
#include "engine/commit/view.h"
#include "engine/index/vector_search.h"
#include "engine/item/key_locks.h"
#include "engine/item/write.h"
#include "holdfast/options.h"
#include "storage/kv.h"

namespace rocksdb {
class FileSystem;
}

namespace holdfast::storage {
class Archiver;
class Vault;
}  // namespace holdfast::storage

namespace holdfast::engine {

class Backfiller;
class Backups;
class Housekeeper;
class Recovery;
class Restorer;
class Sealer;
class VectorKeeper;

struct EngineOptions {
  Options options;
  const base::Clock* clock = nullptr;  // null: the system's
  const base::Log* log = nullptr;      // null: silence
  uint64_t seed = 0;                   // of every random choice; 0: the operating system's
  // Beneath every file of the store, for tests that cut the power.
  std::shared_ptr<rocksdb::FileSystem> file_system;
  // Beneath the archive; null: what is beneath the store.
  std::shared_ptr<rocksdb::FileSystem> archive_file_system;
  // Of the storage; 0: its own choice.
  size_t write_buffer_bytes = 0;
  size_t table_bytes = 0;  // likewise
  // Of vector indexes: how large a partition gets before it has a graph, and the changes between two
  // snapshots; 0: their own choice.
  size_t vector_graph_min = 0;
  uint64_t vector_snapshot_changes = 0;
  // Sweeps and other housekeeping happen only when RunHousekeeping() is called.
  bool manual_housekeeping = false;
  // Open returns before what takes the longer the larger the store is has been brought back: see Loading().
  bool load_behind = false;
  // Of tables that exist, and of those that are made later.
  ItemGuards guards;
};

// Encryption at rest, of the whole store. kUpdating: new files are encrypted, some old ones are not yet, or
// under an older key.
enum class Encryption : uint8_t { kOff, kUpdating, kOn };

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  ~Engine();

  // --- reading ---
  enum class Reads : uint8_t { kOne, kMany };
  // kMany holds one state across several reads even where no sync decides what may be seen.
  View NewView(Reads reads) const;
  // The stored form of an item.
  Result<bool> Get(ByteView item_key, const View& view, storage::Wait wait, std::string* stored) const {
    return kv_->Get(storage::Space::kItems, item_key, view.snapshot(), wait, stored);
  }

  // The nearest vectors, nearest first, equal scores in order of storage key. Requires: the index is active,
  // and the query fits it.
  Result<std::vector<VectorHit>> SearchVectors(const TablePtr& table, const IndexSchema& index,
                                               const VectorQuery& query);

  // --- tables ---
  // Assigns ids to the table and its indexes. kResourceInUse when the name is taken. What `also` adds to the
  // batch is written together with the table.
  using AlsoWrite = std::function<Status(const TableSchema& created, storage::Batch* batch)>;
  Result<TablePtr> CreateTable(TableSchema schema, const AlsoWrite& also = {});
  Status DropTable(const TablePtr& table);
  // Lets go of what a dropped table has left: its streams.
  Status ForgetDropped(const SchemaPtr& gone);
  // Puts an edited copy of the schema in force while no write is under way. An index that is new (id 0) gets
  // an id and is filled in the background; entries of an index that disappears are removed.
  Status ChangeSchema(const TablePtr& table, const std::function<Status(TableSchema*)>& edit);
  // Runs `then` after options().transient_status_millis, at once when that is 0.
  void Settle(std::function<void()> then);

  Catalog& catalog() { return catalog_; }
  Committer& committer() { return *committer_; }
  ItemWriter& writer() { return *writer_; }
  ChangeLog& change_log() { return *change_log_; }
  Backups& backups() { return *backups_; }
  Restorer& restorer() { return *restorer_; }
  Recovery& recovery() { return *recovery_; }
  // For reading only: every write goes through a Commit (I-29).
  storage::KvReader& kv() const { return *kv_; }
  const base::Clock& clock() const { return *clock_; }
  base::Random& random() { return random_; }
  const base::Log& log() const { return *log_; }
  const Options& options() const { return options_; }

  // --- a second copy (docs/archive.md) ---
  // Copies everything that is durable now into `directory`, which must not exist yet. Returns its bytes.
  // Blocks. kResourceInUse: another backup is under way.
  Result<uint64_t> BackUp(const std::string& directory);
  // Null where options().archive_directory is empty.
  storage::Archiver* archiver() const { return archiver_.get(); }

  // Rewrites the store without what is no longer needed. Slow.
  Status Compact() { return kv_->Compact(); }
  // Sweeps, trims, saves figures: what the background thread does every so often, done now. Adds the items
  // that it removed to `expired`.
  Status RunHousekeeping(uint64_t* expired = nullptr);
  // Returns when no index or TTL backfill is under way.
  void WaitForBackfills();
  // Returns when every vector written so far is where searches find it fastest.
  void WaitForVectors();
  // What is still being brought back since the start, in words: "vector index byText of table Notes".
  // Searches of it are refused until then; everything else is served.
  std::vector<std::string> Loading() const;
  // Share of the items that the backfill of index (or TTL table) `id` has passed, 0 to 1; 1 when none is
  // under way.
  double BackfillProgress(ObjectId id) const;
  // Nothing of a store in memory is at rest: kOn.
  Encryption encryption() const;
  // Files that are not encrypted under the current version of the key, though they should be.
  size_t files_to_encrypt() const;
  // Fails where a table's wish for encryption could not be met: there is no master key.
  Status CheckCanEncrypt() const;
  // The id of the store's master key; empty: it has none.
  std::string master_key_id() const;
  // Returns when encryption() is not kUpdating, or fails as the rewriting of files did.
  Status WaitForEncryption();
  // Items the sweeper has removed since the store was opened.
  uint64_t expired_items() const;

 private:
  friend class Backfiller;
  friend class Housekeeper;
  friend class Sealer;
  friend class VectorKeeper;

  explicit Engine(const EngineOptions& options);
  // A schema is about to be in force: the store is encrypted when it says so, or cannot be.
  Status ProvideEncryption(const TableSchema& schema);
  TablePtr NewTable(TableSchema schema) const;
  Status Load();
  Status SaveMeta(storage::Batch* batch) HF_REQUIRES(ddl_mu_);
  void SaveTallies(bool clean, storage::Batch* batch) HF_REQUIRES(ddl_mu_);
  // Returns whether the last run ended cleanly, so that the figures are exact.
  Result<bool> LoadTallies();
  // Those whose records of changes outlive a run.
  std::vector<ObjectId> TablesWithLogs() const;
  void DeleteUnneededChanges(storage::Batch* batch);
  // Has the change log keep what the table's streams need.
  void FollowStreams(const TableSchema& schema);
  // What of a table that is dropped stays: its streams.
  SchemaPtr LeftBehind(const TableSchema& schema) const;
  // Lets go of records, and of disabled streams, that are older than a day.
  Status AgeStreams();
  void ResumeUnfinished();

  const Options options_;
  const size_t vector_graph_min_;
  const uint64_t vector_snapshot_changes_;
  const ItemGuards guards_;
  base::SystemClock system_clock_;
  const base::Clock* const clock_;
  base::Log silence_{base::LogLevel::kNone};
  const base::Log* const log_;
  base::Random random_;

  std::optional<base::FileDescriptor> lock_;          // of the directory; given up last
  std::shared_ptr<storage::Vault> vault_;             // null: in memory
  std::shared_ptr<rocksdb::FileSystem> file_system_;  // of the store; null: in memory
  std::unique_ptr<storage::Kv> kv_;
  std::unique_ptr<storage::Archiver> archiver_;
  base::Mutex backup_mu_;  // one backup at a time; nothing is taken under it
  KeyLocks locks_;
  Catalog catalog_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<ItemWriter> writer_;
  std::unique_ptr<ChangeLog> change_log_;

  base::Mutex ddl_mu_;  // one change of the catalog at a time; before every gate
  ObjectId next_id_ HF_GUARDED_BY(ddl_mu_) = 1;
  uint64_t number_ceiling_ HF_GUARDED_BY(ddl_mu_) = 0;
  bool figures_are_exact_ = true;  // set by Load, and by a recount, on the housekeeper's thread

  std::unique_ptr<Backfiller> backfiller_;
  std::unique_ptr<Housekeeper> housekeeper_;
  std::unique_ptr<VectorKeeper> vector_keeper_;
  std::unique_ptr<Backups> backups_;
  std::unique_ptr<Restorer> restorer_;
  std::unique_ptr<Recovery> recovery_;
  std::unique_ptr<Sealer> sealer_;  // null: nothing can be encrypted
};

// Keys of the catalog space. Stored on disk: never change.
inline constexpr std::string_view kMetaKey = "meta";
inline constexpr std::string_view kTallyKey = "tally";
inline constexpr std::string_view kRestorePrefix = "restore/";
inline constexpr std::string_view kRecoveryPrefix = "recovery/";
std::string TableRecordKey(ObjectId id);
std::string DroppedRecordKey(ObjectId id);
std::string BackfillCursorKey(ObjectId id);
std::string VectorSnapshotKey(ObjectId index);
std::string TokenRecordKey(std::string_view token);
std::string BackupRecordKey(std::string_view id);
std::string RestoreJobKey(ObjectId table);
std::string RecoveryRecordKey(ObjectId table);
// Expiry entries of idempotency tokens stand under this table id, which no table has.
inline constexpr ObjectId kTokenTable = 0;

}  // namespace holdfast::engine
