#include "engine/sealer.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/thread.h"
#include "holdfast/master_keys.h"
#include "storage/archive/archiver.h"
#include "storage/encryption/vault.h"

namespace holdfast::engine {
namespace {

using std::chrono::milliseconds;

// How often the key file is looked at.
constexpr milliseconds kLook{1000};
// A table in the making, or a log that is being left, is gone or done soon.
constexpr milliseconds kBusy{20};
constexpr milliseconds kAfterFailure{5000};

bool IsLog(const std::string& path) {
  return path.ends_with(".log");
}
// Of a state on its way into an archive: links to files that are rewritten where they are, or were; the
// archiver deletes them when it is done.
bool IsHeld(const std::string& path, const std::string& store) {
  std::string below = std::filesystem::path(store + "/").lexically_normal().string();
  return path.starts_with(below.append(storage::kHeldPrefix));
}

}  // namespace

Sealer::Sealer(Engine* engine, std::string key_file)
    : engine_(engine), key_file_(std::move(key_file)), key_file_state_(KeyFileState()) {}

Sealer::~Sealer() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

Status Sealer::Start() {
  HF_TRY(std::vector<std::string> files, engine_->vault_->FilesToRewrite());
  {
    base::MutexLock lock(&mu_);
    files_left_ = files.size();
    wanted_ = !files.empty();
  }
  LookForArchive();
  thread_ = std::thread([this] { Run(); });
  return Ok{};
}

Status Sealer::SwitchOn() {
  if (engine_->vault_->encrypting()) return Ok{};
  HF_CHECK_OK(engine_->vault_->StartEncrypting());
  base::MutexLock lock(&mu_);
  wanted_ = true;
  changed_.NotifyAll();
  return Ok{};
}

Encryption Sealer::state() const {
  if (!engine_->vault_->encrypting()) return Encryption::kOff;
  base::MutexLock lock(&mu_);
  return wanted_ ? Encryption::kUpdating : Encryption::kOn;
}

size_t Sealer::files_left() const {
  base::MutexLock lock(&mu_);
  return files_left_;
}

Status Sealer::Wait() {
  base::MutexLock lock(&mu_);
  while (wanted_ && failure_ && !stop_) changed_.Wait(&mu_);
  return failure_;
}

bool Sealer::stopping() const {
  base::MutexLock lock(&mu_);
  return stop_;
}

// Returns false when it is time to stop.
bool Sealer::Pause(milliseconds time) {
  auto until = std::chrono::steady_clock::now() + time;
  base::MutexLock lock(&mu_);
  while (!stop_ && changed_.WaitUntil(&mu_, until)) {
  }
  return !stop_;
}

Sealer::FileState Sealer::KeyFileState() const {
  struct stat status {};
  if (::stat(key_file_.c_str(), &status) != 0) return {};
  return {status.st_ino, int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

void Sealer::Run() {
  base::NameThread("sealer");
  base::LowerThreadPriority();
  while (!stopping()) {
    base::RunContained(engine_->log(), "encryption keys", [&] {
      LoadNewKeys();
      LookForArchive();
    });
    bool wanted = false;
    {
      base::MutexLock lock(&mu_);
      auto until = std::chrono::steady_clock::now() + kLook;
      while (!wanted_ && !stop_ && changed_.WaitUntil(&mu_, until)) {
      }
      wanted = wanted_ && !stop_;
    }
    if (!wanted) continue;
    Status done = base::CallContained(engine_->log(), "encryption", [&]() -> Status { return Rewrite(); });
    if (!done) {
      HF_LOG(engine_->log(), kError, "a file could not be encrypted", {"error", done.error().ToString()});
    }
    {
      base::MutexLock lock(&mu_);
      failure_ = done;
      changed_.NotifyAll();
    }
    if (!done) Pause(kAfterFailure);
  }
}

void Sealer::LookForArchive() {
  const storage::Archiver* archiver = engine_->archiver();
  if (archiver == nullptr || !engine_->vault_->encrypting()) return;
  uint64_t reached = archiver->within_reach();
  if (std::exchange(archive_reached_, reached) == reached || reached == 0) return;
  base::MutexLock lock(&mu_);
  wanted_ = true;
}

Result<std::vector<std::string>> Sealer::ArchivedFiles() {
  const storage::Archiver* archiver = engine_->archiver();
  if (archiver == nullptr || archiver->within_reach() == 0) return std::vector<std::string>();
  if (!archive_is_tidy_) HF_CHECK_OK(engine_->vault_->DeleteLeftoversElsewhere(archiver->directory()));
  archive_is_tidy_ = true;
  return engine_->vault_->FilesToRewriteElsewhere(archiver->directory());
}

// `rotate-key` replaces the file.
void Sealer::LoadNewKeys() {
  FileState state = KeyFileState();
  if (state == key_file_state_ || state == FileState{}) return;
  key_file_state_ = state;
  auto keys = MasterKeys::Load(key_file_);
  Status used = keys ? engine_->vault_->UseKeys(*keys) : Status(keys.error());
  if (!used) {
    HF_LOG(engine_->log(), kError, "the key file cannot be used", {"error", used.error().message()});
    return;
  }
  HF_LOG(engine_->log(), kInfo, "the key file was read", {"version", keys->current});
  base::MutexLock lock(&mu_);
  if (engine_->vault_->encrypting()) wanted_ = true;
}

Status Sealer::Rewrite() {
  milliseconds pause = kBusy;
  while (!stopping()) {
    LoadNewKeys();  // this may take as long as an archive is out of reach
    LookForArchive();
    HF_TRY(std::vector<std::string> files, engine_->vault_->FilesToRewrite());
    auto archived = ArchivedFiles();
    {
      base::MutexLock lock(&mu_);
      files_left_ = files.size() + (archived ? archived->size() : 0);
      if (files_left_ == 0 && archived) {
        wanted_ = false;
        changed_.NotifyAll();
        HF_LOG(engine_->log(), kInfo, "every file is encrypted under the current key");
        return Ok{};
      }
    }
    HF_CHECK_OK(LeaveLogs(files));
    std::erase_if(files, [&](const std::string& file) {
      return IsLog(file) || IsHeld(file, engine_->options().directory);
    });
    HF_TRY(bool progress, RewriteSome(files, &storage::Vault::Rewrite));
    // The store first, whatever becomes of the archive.
    if (!archived) return archived.error();
    HF_TRY(bool more, RewriteSome(*archived, &storage::Vault::RewriteElsewhere));
    if (progress || more) {
      pause = kBusy;
      continue;
    }
    if (!Pause(pause)) break;
    pause = std::min(pause * 2, kLook);
  }
  return Ok{};
}

// A log is not rewritten but left: what is in it goes to tables, which are encrypted.
Status Sealer::LeaveLogs(const std::vector<std::string>& files) {
  std::set<std::string> logs;
  for (const std::string& file : files) {
    // By name: one that waits for the archive is moved to another directory.
    if (IsLog(file)) logs.insert(std::filesystem::path(file).filename().string());
  }
  if (std::includes(left_logs_.begin(), left_logs_.end(), logs.begin(), logs.end())) return Ok{};
  HF_CHECK_OK(engine_->kv_->RollLog());
  left_logs_ = std::move(logs);
  return Ok{};
}

Result<bool> Sealer::RewriteSome(const std::vector<std::string>& files,
                                 Result<bool> (storage::Vault::*rewrite)(const std::string& path)) {
  bool progress = false;
  for (const std::string& file : files) {
    if (stopping()) return progress;
    HF_TRY(bool done, (engine_->vault_.get()->*rewrite)(file));
    progress = progress || done;
  }
  return progress;
}

}  // namespace holdfast::engine
