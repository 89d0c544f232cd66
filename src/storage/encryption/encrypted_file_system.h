// A RocksDB FileSystem that encrypts what it writes and reads both: files that are encrypted and files from
// before. It stands directly above the disk, beneath everything else, and knows the master keys.
//
//   auto files = std::make_shared<EncryptedFileSystem>(rocksdb::FileSystem::Default(), keys,
//   Writes::kEncrypted); … a RocksDB or a storage::Files on it …
//
// An encrypted file is a header of one page (file_header.h), then the content through AES-256-CTR under a key
// of its own. Every position is encrypted once: a file that was closed is never appended to, and writes in
// the middle are refused. The zeros that a log has ahead of its end (log_files.h) are zeros on the disk too:
// encrypted, they would be the key stream, and whoever saw the disk before and after a write over them could
// read it. An end mark tells where the content ends. docs/adr/0027 has the reasons.
//
// A file may be copied, linked and moved byte by byte: all that it needs is in its header.
//
// Rewrite() replaces a file, in use or not, by one with the same content under the current key: whoever has
// it open for reading goes on with the new one, and so does the writer of a manifest.
//
// Thread-safe. The files it hands out must not outlive it.
#pragma once

#include <rocksdb/file_system.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "holdfast/master_keys.h"
#include "holdfast/result.h"
#include "storage/encryption/file_header.h"

namespace holdfast::storage {

using KeysPtr = std::shared_ptr<const MasterKeys>;

// What an encrypted log offers beyond FSRandomRWFile: zeros that are stored as zeros.
class ZerosAhead {
 public:
  virtual ~ZerosAhead() = default;
  // From the end of the content, `end`, up to `limit`. The content still ends at `end`.
  virtual rocksdb::IOStatus WriteZeros(uint64_t end, uint64_t limit, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) = 0;
};

class EncryptedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  // New files are plain, or encrypted under the current version of the key.
  enum class Writes : uint8_t { kPlain, kEncrypted };

  EncryptedFileSystem(const std::shared_ptr<rocksdb::FileSystem>& target, KeysPtr keys, Writes writes)
      : FileSystemWrapper(target), keys_(std::move(keys)), writes_(writes) {}

  const char* Name() const override { return "holdfast.EncryptedFileSystem"; }

  // From now on. Files that are open stay as they are until they are rewritten.
  void UseKeys(KeysPtr keys);
  void StartEncrypting();
  KeysPtr keys() const;
  bool encrypting() const;

  // What stands in a directory: of a store's own some files stay plain, for whoever looks for them.
  enum class Holds : uint8_t { kStore, kOurFiles };
  // The files in `directory` that are not encrypted under the current version: those with a content, of a
  // store RocksDB's and everything in directories below. Fails when one is encrypted and cannot be opened.
  Result<std::vector<std::string>> FilesToRewrite(const std::string& directory, Holds holds = Holds::kStore);
  // What an interrupted rewrite left goes.
  Status DeleteLeftovers(const std::string& directory);

  enum class Rewritten : uint8_t { kDone, kGone, kBusy };
  // Makes the file encrypted under the current version. kBusy: it is being written, or changed meanwhile.
  // Requires: one call at a time, and no log of a store that is in use (those go away by themselves).
  Result<Rewritten> Rewrite(const std::string& path);

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  // To cut off and sync, not to append.
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  // A file that is new and empty; what is written must follow on what was.
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewMemoryMappedFileBuffer(
      const std::string& path, std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* buffer) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options, uint64_t* size,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildrenFileAttributes(const std::string& directory, const rocksdb::IOOptions& options,
                                              std::vector<rocksdb::FileAttributes>* children,
                                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;

 private:
  class Source;
  class SequentialFile;
  class RandomAccessFile;
  class OpenFile;
  class WritableFile;
  class ReopenedFile;
  class LogFile;
  class OtherRWFile;

  // Who writes a file now, and under which version of the key, 0 in the clear.
  struct Writing {
    WritableFile* file = nullptr;  // null: a log, or not open yet
    int version = 0;
  };

  // Opens a file and reads its header, of the same file though its name be given to another meanwhile.
  rocksdb::IOStatus OpenSource(const std::string& path, const rocksdb::FileOptions& options,
                               rocksdb::IODebugContext* debug, std::shared_ptr<const Source>* source);
  rocksdb::IOStatus CreateEncrypted(const std::string& path, const rocksdb::FileOptions& options,
                                    const NewHeader& header, rocksdb::IODebugContext* debug,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file);
  rocksdb::IOStatus CopyTo(rocksdb::FSWritableFile* copy, const Source& source, const crypt::Stream& stream);
  rocksdb::IOStatus SyncDirectoryOf(const std::string& path);
  Result<Rewritten> RewriteClosed(const std::string& path, const std::string& unfinished,
                                  const KeysPtr& keys);
  Status AddFilesToRewrite(const std::string& directory, Holds holds, int version,
                           std::vector<std::string>* files);
  // `path` is about to change: a rewrite of it under way must not bring back what was.
  // Held over the change itself.
  void Disturb(const std::string& path) HF_REQUIRES(mu_);
  void StopWriting(const std::string& path);

  // Before a WritableFile's; taken too when what follows changes, so that whoever was faster is in writing_.
  mutable base::Mutex mu_;
  mutable base::Mutex keys_mu_;  // a leaf
  KeysPtr keys_ HF_GUARDED_BY(keys_mu_);
  Writes writes_ HF_GUARDED_BY(keys_mu_);
  std::map<std::string, Writing> writing_ HF_GUARDED_BY(mu_);                 // by normal path
  std::multimap<std::string, RandomAccessFile*> reading_ HF_GUARDED_BY(mu_);  // likewise
  std::string rewriting_ HF_GUARDED_BY(mu_);                                  // empty: none
  bool disturbed_ HF_GUARDED_BY(mu_) = false;
};

}  // namespace holdfast::storage
