// A disk that misbehaves, for tests: a RocksDB FileSystem over a real directory that knows which bytes and
// names a power cut would leave.
//
//   auto disk = std::make_shared<FaultFileSystem>(seed);
//   disk->CutAfter(5000);              // the power goes at the 5000th operation from now
//   … use a store on it until disk->is_cut(), then close the store …
//   disk->Restore();                   // the directory is as a power cut may have left it; opening is
//   allowed again
//
// What is promised to survive: bytes of a file that were there at its last successful Sync, and names as of
// the last Fsync of their directory. Everything later survives at random: of the bytes any set of 4 KiB pages
// (the length of the file anywhere between the synced and the written), of the changes of names any prefix.
// Nothing is really synced, so it is fast.
//
// Thread-safe, Restore() excepted: it needs all files to be closed.
#pragma once

#include <rocksdb/file_system.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"

namespace holdfast::storage {

class FaultFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultFileSystem(uint64_t seed);

  const char* Name() const override { return "FaultFileSystem"; }

  // The power goes at the `operations`th write, sync or change of a name from now; from then on all of them
  // fail. The one that the cut meets has not happened.
  void CutAfter(uint64_t operations);
  bool is_cut() const;
  // Requires: is_cut(), and every file is closed.
  void Restore();

  // Syncs fail from now on, leaving their bytes unsynced; or work again.
  void FailSyncs(bool fail);
  // Writes fail with NoSpace once this many more bytes have been written.
  void LimitSpace(uint64_t bytes);
  uint64_t operations() const;

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  // Without what only this disk knows of.
  rocksdb::IOStatus GetChildren(const std::string& directory, const rocksdb::IOOptions& options,
                                std::vector<std::string>* children, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  // With what is still undecided in it: the directory's end is durable at once.
  rocksdb::IOStatus DeleteDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;

 private:
  class WritableFile;
  class RandomRWFile;
  class Directory;

  // The bytes of one file, wherever it stands now.
  struct Content {
    std::string path;
    uint64_t size = 0;
    uint64_t synced_size = 0;
    // Pages below synced_size that were overwritten since the last sync, as they were then.
    std::map<uint64_t, std::string> overwritten;
  };
  using ContentPtr = std::shared_ptr<Content>;

  // A change of a name that no Fsync of the directory has covered yet.
  struct NameChange {
    enum class Kind : uint8_t { kCreate, kDelete, kRename };
    Kind kind;
    std::string from;    // kDelete, kRename: the name that went
    std::string to;      // kCreate, kRename: the name that came
    std::string parked;  // where what stood under the name is kept until the change is final; empty: nothing
                         // stood there
  };

  rocksdb::IOStatus Step() HF_REQUIRES(mu_);
  rocksdb::IOStatus Write(Content* content, uint64_t offset, uint64_t bytes);
  rocksdb::IOStatus Sync(Content* content);
  rocksdb::IOStatus SyncNames(const std::string& directory);
  std::string Park(const std::string& path) HF_REQUIRES(mu_);
  void Move(const std::string& from, const std::string& to) HF_REQUIRES(mu_);
  void MoveDirectory(const std::string& from, const std::string& to) HF_REQUIRES(mu_);
  void Undo(const NameChange& change) HF_REQUIRES(mu_);
  void LosePages(Content* content) HF_REQUIRES(mu_);
  ContentPtr ContentOf(const std::string& path) HF_REQUIRES(mu_);

  mutable base::Mutex mu_;
  base::Random random_ HF_GUARDED_BY(mu_);
  std::map<std::string, ContentPtr> contents_ HF_GUARDED_BY(mu_);  // by present path
  std::vector<NameChange> name_changes_ HF_GUARDED_BY(mu_);
  uint64_t operations_ HF_GUARDED_BY(mu_) = 0;
  uint64_t cut_at_ HF_GUARDED_BY(mu_) = UINT64_MAX;
  uint64_t space_left_ HF_GUARDED_BY(mu_) = UINT64_MAX;
  uint64_t parked_ HF_GUARDED_BY(mu_) = 0;
  bool fail_syncs_ HF_GUARDED_BY(mu_) = false;
};

}  // namespace holdfast::storage
