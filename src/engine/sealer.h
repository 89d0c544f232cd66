// Looks after encryption at rest: switches it on, rewrites the files that are not encrypted under the current
// key, and notices when the key file has a new version.
//
// Files are rewritten one at a time, in the background (storage/encryption/vault.h). What is left to do is
// seen from the files themselves, so that a process that dies goes on where it was when it is started again.
// An archive is rewritten with its store, whenever it is within reach.
//
// Thread-safe. One thread does the work.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "engine/engine.h"

namespace holdfast::engine {

class Sealer {
 public:
  // Requires: the engine's vault has keys, those of `key_file`.
  Sealer(Engine* engine, std::string key_file);
  ~Sealer();

  // Looks how much there is to do, and begins. To be called once.
  Status Start();
  // New files are encrypted when this returns, and after a restart.
  Status SwitchOn();
  Encryption state() const;
  size_t files_left() const;
  Status Wait();

 private:
  // What tells one state of the key file from another.
  struct FileState {
    ino_t inode = 0;
    int64_t changed_nanos = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  FileState KeyFileState() const;

  void Run();
  void LoadNewKeys();
  // Whether an archive has come within reach, where there may be something to do.
  void LookForArchive();
  Result<std::vector<std::string>> ArchivedFiles();
  // Rewrites until nothing is left. Fails when a file cannot be rewritten.
  Status Rewrite();
  Status LeaveLogs(const std::vector<std::string>& files);
  // One pass over files of the store or of the archive; returns whether something came of it.
  Result<bool> RewriteSome(const std::vector<std::string>& files,
                           Result<bool> (storage::Vault::*rewrite)(const std::string& path));
  bool Pause(std::chrono::milliseconds time);
  bool stopping() const;

  Engine* const engine_;
  const std::string key_file_;
  // Of the thread, once it runs.
  FileState key_file_state_;
  std::set<std::string> left_logs_;  // names; they go when RocksDB deletes them
  uint64_t archive_reached_ = 0;     // Archiver::within_reach()
  bool archive_is_tidy_ = false;     // nothing is left in it of a life before
  mutable base::Mutex mu_;
  base::CondVar changed_;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  bool wanted_ HF_GUARDED_BY(mu_) = false;  // there may be files to rewrite
  size_t files_left_ HF_GUARDED_BY(mu_) = 0;
  Status failure_ HF_GUARDED_BY(mu_) = Ok{};  // of the last try
  std::thread thread_;
};

}  // namespace holdfast::engine
