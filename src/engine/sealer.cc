#include "engine/sealer.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/thread.h"
#include "holdfast/master_keys.h"
#include "storage/archive/checkpoint.h"
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
    LoadNewKeys();
    bool wanted = false;
    {
      base::MutexLock lock(&mu_);
      auto until = std::chrono::steady_clock::now() + kLook;
      while (!wanted_ && !stop_ && changed_.WaitUntil(&mu_, until)) {
      }
      wanted = wanted_ && !stop_;
    }
    if (!wanted) continue;
    Status done = Rewrite();
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
    HF_TRY(std::vector<std::string> files, engine_->vault_->FilesToRewrite());
    {
      base::MutexLock lock(&mu_);
      files_left_ = files.size();
      if (files.empty()) {
        wanted_ = false;
        changed_.NotifyAll();
        HF_LOG(engine_->log(), kInfo, "every file is encrypted under the current key");
        return Ok{};
      }
    }
    HF_TRY(bool progress, RewriteSome(files));
    if (progress) {
      pause = kBusy;
      continue;
    }
    if (!Pause(pause)) break;
    pause = std::min(pause * 2, kLook);
  }
  return Ok{};
}

Result<bool> Sealer::RewriteSome(const std::vector<std::string>& files) {
  // A log is not rewritten but left: what is in it goes to tables, which are encrypted.
  std::set<std::string> logs;
  for (const std::string& file : files) {
    // By name: one that waits for the archive is moved to another directory.
    if (IsLog(file)) logs.insert(std::filesystem::path(file).filename().string());
  }
  if (!std::includes(left_logs_.begin(), left_logs_.end(), logs.begin(), logs.end())) {
    HF_CHECK_OK(engine_->kv().RollLog());
    left_logs_ = std::move(logs);
  }
  bool progress = false;
  for (const std::string& file : files) {
    if (stopping()) return progress;
    if (IsLog(file) || IsHeld(file, engine_->options().directory)) continue;
    HF_TRY(bool done, engine_->vault_->Rewrite(file));
    progress = progress || done;
  }
  return progress;
}

}  // namespace holdfast::engine
