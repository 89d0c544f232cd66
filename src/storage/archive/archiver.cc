#include "storage/archive/archiver.h"

#include <algorithm>
#include <chrono>

#include "base/thread.h"

namespace holdfast::storage {
namespace {

constexpr auto kPause = std::chrono::milliseconds(200);
constexpr auto kPauseAfterFailure = std::chrono::seconds(2);
constexpr int64_t kSecond = 1'000'000;
// A frame is what is synced at once.
constexpr size_t kFrameBytes = 4 << 20;
constexpr uint64_t kSegmentBytes = 64 << 20;
constexpr int64_t kSegmentMicros = 3600 * kSecond;
// How often an archive says that nothing was written.
constexpr int64_t kNothingMicros = 5 * kSecond;
// What a server that stops waits for its archive; the rest is shipped at the next start.
constexpr int64_t kLastChanceMicros = 5 * kSecond;
constexpr int64_t kTendMicros = kSecond;
// After so much log a checkpoint is due, but not more often than every hour: it makes restoring quick.
constexpr uint64_t kCheckpointLogBytes = uint64_t{2} << 30;
constexpr int64_t kCheckpointPauseMillis = 3'600'000;
// Where files appear that the store cannot make again.
constexpr const char* kAdditionsIn = "segments";
constexpr const char* kHeldAs = "archive";

}  // namespace

Archiver::Archiver(Kv* kv, const base::Clock* clock, const base::Log* log, ArchiverOptions options)
    : kv_(kv),
      clock_(clock),
      log_(log),
      options_(std::move(options)),
      archive_(options_.file_system, options_.directory),
      was_there_(options_.was_there),
      caught_up_micros_(base::SteadyMicros()) {}

Result<std::unique_ptr<Archiver>> Archiver::Start(Kv* kv, const base::Clock* clock, const base::Log* log,
                                                  ArchiverOptions options) {
  if (!kv->capabilities().follows)
    return Error(ErrorCode::kNotSupported, "this storage has no log that an archive could follow");
  std::unique_ptr<Archiver> archiver(new Archiver(kv, clock, log, std::move(options)));
  Status opened = archiver->Open();
  if (!opened && opened.error().code() == ErrorCode::kValidation) return opened.error();
  if (!opened) archiver->Note(opened);
  archiver->thread_ = std::thread([raw = archiver.get()] { raw->Run(); });
  return archiver;
}

Archiver::~Archiver() {
  if (!thread_.joinable()) return;
  {
    base::MutexLock lock(&mu_);
    last_chance_micros_ = base::SteadyMicros() + kLastChanceMicros;
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  // What the thread's last round may have missed. An archive that was out of reach is not waited for.
  {
    base::MutexLock lock(&mu_);
    if (!error_.empty()) return;
  }
  Status shipped = open_.load() ? Status(Ok{}) : Open();
  if (!shipped || !whole_.load()) return;
  shipped = ShipLog();
  Status added = shipped ? ShipAdditions(Look::kNew) : Status(Ok{});
  if (shipped && segment_ != nullptr) {
    bool all = position_.load() >= kv_->synced_sequence();
    shipped =
        segment_->Close(position_.load(), std::max(covered_millis_.load(), all ? clock_->NowMillis() : 0));
  }
  if (shipped) shipped = added;
  if (!shipped) {
    HF_LOG(*log_, kWarning, "the archive lacks the last writes; they follow at the next start",
           {"archive", options_.directory}, {"error", shipped.error().ToString()});
  }
}

bool Archiver::stopping() const {
  base::MutexLock lock(&mu_);
  return stop_;
}

bool Archiver::out_of_time() const {
  return stopping() && base::SteadyMicros() > last_chance_micros_;
}

void Archiver::Run() {
  base::NameThread("archiver");
  base::LowerThreadPriority();
  while (true) {
    {
      base::MutexLock lock(&mu_);
      auto pause = error_.empty() ? std::chrono::steady_clock::duration(kPause) : kPauseAfterFailure;
      auto deadline = std::chrono::steady_clock::now() + pause;
      while (!stop_ && !wanted_ && changed_.WaitUntil(&mu_, deadline)) {
      }
      if (stop_) return;
      wanted_ = false;
    }
    Note(base::CallContained(*log_, "archive round", [&]() -> Status { return Round(); }));
  }
}

void Archiver::Note(const Status& round) {
  base::MutexLock lock(&mu_);
  ++rounds_;
  changed_.NotifyAll();
  bool was_sound = error_.empty();
  if (round) {
    if (!was_sound)
      HF_LOG(*log_, kInfo, "the archive is being written again", {"archive", options_.directory});
    error_.clear();
    return;
  }
  if (stop_) return;
  failures_.fetch_add(1);
  error_ = round.error().message();
  // Said once; /metrics counts the rest.
  if (was_sound) {
    HF_LOG(*log_, kError, "the archive cannot be written; trying again until it can",
           {"archive", options_.directory}, {"error", round.error().ToString()});
  }
}

Status Archiver::Ship() {
  uint64_t newest = kv_->synced_sequence();
  base::MutexLock lock(&mu_);
  // One may be under way that has looked already.
  uint64_t wanted = rounds_ + 2;
  while (!stop_) {
    bool tried = rounds_ >= wanted;
    if (tried && !error_.empty()) return Error(ErrorCode::kIo, error_);
    if (tried && whole_.load() && complete_.load() >= newest) return Ok{};
    wanted_ = true;
    changed_.NotifyAll();
    changed_.Wait(&mu_);
  }
  return Error(ErrorCode::kIo, "the server is stopping");
}

ArchiverStats Archiver::stats() const {
  ArchiverStats stats;
  bool whole = whole_.load();
  if (!whole || !open_.load() || complete_.load() < kv_->synced_sequence())
    stats.lag_seconds = static_cast<double>(base::SteadyMicros() - caught_up_micros_.load()) / 1e6;
  stats.shipped_bytes = shipped_bytes_.load();
  stats.checkpoints = checkpoints_.load();
  stats.failures = failures_.load();
  stats.covered_millis = whole ? covered_millis_.load() : 0;
  base::MutexLock lock(&mu_);
  stats.error = error_;
  return stats;
}

// --- the thread ---

Status Archiver::Round() {
  if (options_.syncs) HF_CHECK_OK(kv_->Sync());
  Status done = [this]() -> Status {
    if (!open_.load()) HF_CHECK_OK(Open());
    HF_CHECK_OK(FollowEncryption());
    int64_t age = clock_->NowMillis() - checkpoint_millis_;
    bool due = age >= options_.checkpoint_seconds * 1000 ||
               (log_bytes_ >= kCheckpointLogBytes && age >= kCheckpointPauseMillis);
    if (!whole_.load())
      HF_CHECK_OK(TakeCheckpoint(Chain::kBegins));
    else if (due)
      HF_CHECK_OK(TakeCheckpoint(Chain::kGoesOn));
    return Meanwhile();
  }();
  if (!done && done.error().code() == ErrorCode::kTrimmedDataAccess) {
    HF_LOG(*log_, kWarning,
           "the archive has a hole: what it lacks is no longer in the log; a checkpoint follows",
           {"archive", options_.directory}, {"error", done.error().message()});
    whole_.store(false);
    return Ok{};
  }
  if (!done) {
    // Whatever was being written may be torn, or gone: look again at what is there.
    open_.store(false);
    archive_.Unlock();
    segment_.reset();
    follower_.reset();
    if (auto follower = kv_->Follow(position_.load()))
      HF_CHECK_OK((*follower)->Release(options_.kept_log_bytes));
  }
  return done;
}

Status Archiver::Open() {
  HF_CHECK_OK(archive_.OpenForWriting(kv_->identity(), was_there_ ? Missing::kIsAway : Missing::kIsMade));
  if (!was_there_ && options_.is_there) HF_CHECK_OK(options_.is_there());
  was_there_ = true;
  known_.clear();
  beside_.clear();
  HF_TRY(std::vector<uint64_t> checkpoints, archive_.Numbers("checkpoints"));
  HF_TRY(std::vector<uint64_t> additions, archive_.Numbers("additions"));
  HF_TRY(std::vector<uint64_t> segments, archive_.Numbers("log"));
  next_checkpoint_ = checkpoints.empty() ? 1 : checkpoints.back() + 1;
  next_additions_ = additions.empty() ? 1 : additions.back() + 1;
  next_segment_ = segments.empty() ? 1 : segments.back() + 1;
  auto found = FindEnd(segments);
  if (!found && found.error().code() != ErrorCode::kCorruption) return found.error();
  if (!found) {
    HF_LOG(*log_, kWarning, "the archive is damaged; a checkpoint follows", {"archive", options_.directory},
           {"error", found.error().message()});
  }
  whole_.store(found && *found);
  if (whole_.load()) {
    if (position_.load() > kv_->synced_sequence()) {
      return ValidationError(options_.directory +
                             " is ahead of this store, which seems to be an older copy; restore from the "
                             "archive, or name another directory");
    }
    HF_TRY(follower_, kv_->Follow(position_.load()));
  }
  for (uint64_t number : additions) {
    if (auto added = archive_.ReadAdditions(number)) {
      for (ArchivedFile& file : added->files) known_[file.object] = file;
    }
  }
  openings_.fetch_add(1);
  open_.store(true);
  return Ok{};
}

Status Archiver::FollowEncryption() {
  int version = options_.key_version ? options_.key_version() : 0;
  if (version == key_version_) return Ok{};
  if (segment_ != nullptr) {
    HF_CHECK_OK(segment_->Close(position_.load(), covered_millis_.load()));
    segment_.reset();
  }
  key_version_ = version;
  return Ok{};
}

Status Archiver::CheckThere() const {
  HF_CHECK_OK(archive_.CheckThere());
  if (segment_ == nullptr) return Ok{};
  std::string path = archive_.PathOf("log", segment_->number());
  uint64_t size = 0;
  rocksdb::IOStatus status = archive_.file_system()->GetFileSize(path, {}, &size, nullptr);
  if (!status.ok()) return IoError(path, status);
  if (size != segment_->bytes()) return Error(ErrorCode::kIo, path + " is no longer what was written");
  return Ok{};
}

// Finds where the log ends, which is no further than where we know it to be durable: a frame whose sync
// failed can be read and is written again, into the next segment. False when there is no checkpoint to which
// the log could be applied.
Result<bool> Archiver::FindEnd(const std::vector<uint64_t>& segments) {
  if (next_checkpoint_ == 1) return false;
  HF_TRY(ArchivedCheckpoint checkpoint, archive_.ReadCheckpoint(next_checkpoint_ - 1));
  for (ArchivedFile& file : checkpoint.files) known_[file.object] = file;
  checkpoint_millis_ = checkpoint.time_millis;
  bool found = false;
  for (auto number = segments.rbegin(); number != segments.rend() && *number >= checkpoint.segment;
       ++number) {
    HF_TRY(SegmentEnds ends, ReadSegmentEnds(archive_, *number));
    if (ends.empty) continue;
    if (!found && (!has_position_ || ends.last < position_.load())) {
      // What can be read may not be durable yet, if whoever wrote it was killed.
      HF_CHECK_OK(SyncSegment(archive_, *number));
      position_.store(ends.last);
      covered_millis_.store(ends.time_millis);
    }
    found = has_position_ = true;
    if (ends.begins && *number > checkpoint.segment) return false;
  }
  return found;
}

Status Archiver::TakeCheckpoint(Chain chain) {
  if (segment_ != nullptr && chain == Chain::kBegins) {
    HF_CHECK_OK(segment_->Close(position_.load(), covered_millis_.load()));
    segment_.reset();
  }
  // So that the segment which the checkpoint names is there.
  if (segment_ == nullptr && chain == Chain::kGoesOn)
    HF_CHECK_OK(BeginSegment(FrameKind::kFollows, covered_millis_.load()));
  ArchivedCheckpoint checkpoint;
  uint64_t bytes = 0;
  uint64_t first_additions = next_additions_;  // of those that come meanwhile
  {
    HeldUntilEnd let_go(options_.store, kHeldAs);
    HF_TRY(HeldState held, HoldState(kv_, options_.store, kHeldAs, *clock_));
    checkpoint = held.checkpoint;
    checkpoint.number = next_checkpoint_;
    if (chain == Chain::kBegins) {
      position_.store(checkpoint.sequence);
      HF_TRY(follower_, kv_->Follow(checkpoint.sequence));
      HF_CHECK_OK(BeginSegment(FrameKind::kBegins, checkpoint.time_millis));
    }
    checkpoint.segment = segment_->number();
    HF_CHECK_OK(ShipFiles(
        held, options_.store, known_, &archive_, [this] { return Meanwhile(); }, &checkpoint, &bytes));
  }
  HF_CHECK_OK(archive_.WriteCheckpoint(checkpoint));
  HF_CHECK_OK(archive_.WriteMark(kv_->identity()));
  shipped_bytes_.fetch_add(bytes);
  checkpoints_.fetch_add(1);
  ++next_checkpoint_;
  checkpoint_millis_ = checkpoint.time_millis;
  log_bytes_ = 0;
  known_.clear();
  for (const ArchivedFile& file : checkpoint.files) known_[file.object] = file;
  for (uint64_t number = first_additions; number < next_additions_; ++number) {
    HF_TRY(ArchivedAdditions added, archive_.ReadAdditions(number));
    for (ArchivedFile& file : added.files) known_[file.object] = file;
  }
  whole_.store(true);
  has_position_ = true;
  HF_LOG(*log_, kInfo, "checkpoint archived", {"archive", options_.directory}, {"number", checkpoint.number},
         {"files", checkpoint.files.size()}, {"bytes", bytes});
  return DropOld();
}

Status Archiver::Meanwhile() {
  if (stopping()) return Error(ErrorCode::kThrottling, "the server is stopping");
  HF_CHECK_OK(ShipLog());
  bool tends = base::SteadyMicros() - tended_micros_ >= kTendMicros;
  // A checkpoint that is still to come has the files.
  if (whole_.load()) {
    // What the log names was there before it.
    uint64_t position = position_.load();
    int64_t emptied = emptied_micros_;
    if (tends || complete_.load() < position) HF_CHECK_OK(ShipAdditions(tends ? Look::kChanged : Look::kNew));
    complete_.store(position);
    caught_up_micros_.store(emptied);
  }
  if (!tends) return Ok{};
  tended_micros_ = base::SteadyMicros();
  // Before the log is let go.
  HF_CHECK_OK(CheckThere());
  return follower_->Release(options_.kept_log_bytes);
}

Status Archiver::ShipLog() {
  while (!out_of_time()) {
    int64_t now = clock_->NowMillis();
    int64_t micros = base::SteadyMicros();
    std::vector<LogRecord> records;
    for (size_t bytes = 0; bytes < kFrameBytes;) {
      LogRecord record;
      HF_TRY(bool found, follower_->Next(&record));
      if (!found) break;
      bytes += record.bytes.size();
      records.push_back(std::move(record));
    }
    if (records.empty()) {
      emptied_micros_ = micros;
      if (micros - framed_micros_ < kNothingMicros) return Ok{};
      return Add({FrameKind::kNothing, position_.load(), std::max(now, covered_millis_.load()), {}});
    }
    Frame frame{FrameKind::kRecords, records.back().last, records.back().time_millis, {}};
    for (const LogRecord& record : records) frame.records.emplace_back(record.bytes);
    HF_CHECK_OK(Add(frame));
  }
  return Ok{};
}

Status Archiver::BeginSegment(FrameKind kind, int64_t time_millis) {
  HF_TRY(segment_,
         SegmentWriter::Create(&archive_, next_segment_, {kind, position_.load(), time_millis, {}}));
  HF_CHECK_OK(archive_.WriteHead(next_segment_));
  ++next_segment_;
  segment_micros_ = base::SteadyMicros();
  return Ok{};
}

Status Archiver::Add(const Frame& frame) {
  if (segment_ == nullptr) HF_CHECK_OK(BeginSegment(FrameKind::kFollows, covered_millis_.load()));
  uint64_t before = segment_->bytes();
  HF_CHECK_OK(segment_->Add(frame));
  position_.store(frame.last);
  covered_millis_.store(frame.time_millis);
  framed_micros_ = base::SteadyMicros();
  log_bytes_ += segment_->bytes() - before;
  shipped_bytes_.fetch_add(segment_->bytes() - before);
  if (segment_->bytes() < kSegmentBytes && framed_micros_ - segment_micros_ < kSegmentMicros) return Ok{};
  HF_CHECK_OK(segment_->Close(frame.last, frame.time_millis));
  segment_.reset();
  return Ok{};
}

Status Archiver::ShipAdditions(Look look) {
  rocksdb::FileSystem* file_system = options_.store.file_system.get();
  HF_TRY(std::vector<std::string> names, NamesIn(file_system, options_.store.directory + "/" + kAdditionsIn));
  ArchivedAdditions additions{next_additions_, clock_->NowMillis(), {}};
  std::set<std::string> there;
  uint64_t bytes = 0;
  auto between = [this]() -> Status {
    if (out_of_time()) return Error(ErrorCode::kThrottling, "the server is stopping");
    return ShipLog();
  };
  for (const std::string& name : names) {
    if (!IsFinished(name)) continue;
    std::string path = std::string(kAdditionsIn) + "/" + name;
    if (look == Look::kNew && beside_.contains(name)) {
      there.insert(name);
      continue;
    }
    std::string source = options_.store.directory + "/" + path;
    auto object = ObjectOf(file_system, path, source);
    if (!object) continue;  // it has been deleted by now
    there.insert(name);
    if (known_.contains(*object)) continue;
    auto shipped = archive_.Ship(file_system, source, *object, between, &bytes);
    if (!shipped && shipped.error().code() == ErrorCode::kResourceNotFound) continue;
    HF_CHECK_OK(shipped);
    shipped->path = path;
    additions.files.push_back(*std::move(shipped));
  }
  if (!additions.files.empty()) {
    HF_CHECK_OK(archive_.WriteAdditions(additions));
    ++next_additions_;
    shipped_bytes_.fetch_add(bytes);
    for (const ArchivedFile& file : additions.files) known_[file.object] = file;
  }
  beside_ = std::move(there);
  return Ok{};
}

// Keeps the newest checkpoint that is old enough to reach all of the days from, and what comes after it.
Status Archiver::DropOld() {
  int64_t horizon = clock_->NowMillis() - options_.keep_days * 24 * 3'600'000;
  HF_TRY(std::vector<uint64_t> checkpoints, archive_.Numbers("checkpoints"));
  std::vector<uint64_t> older;
  ArchivedCheckpoint oldest;
  for (auto number = checkpoints.rbegin(); number != checkpoints.rend(); ++number) {
    if (oldest.number != 0 && oldest.time_millis <= horizon) {
      older.push_back(*number);
      continue;
    }
    auto checkpoint = archive_.ReadCheckpoint(*number);
    if (checkpoint)
      oldest = *std::move(checkpoint);
    else if (checkpoint.error().code() != ErrorCode::kCorruption)
      return checkpoint.error();
  }
  for (uint64_t number : older) HF_CHECK_OK(archive_.Delete("checkpoints", number));
  HF_TRY(std::vector<uint64_t> segments, archive_.Numbers("log"));
  for (uint64_t number : segments) {
    if (number < oldest.segment) HF_CHECK_OK(archive_.Delete("log", number));
  }
  // Times grow with the numbers: before one that is old enough lie only older ones, readable or not.
  HF_TRY(std::vector<uint64_t> additions, archive_.Numbers("additions"));
  uint64_t last_old = 0;
  for (uint64_t number : additions) {
    auto added = archive_.ReadAdditions(number);
    if (added && added->time_millis < oldest.time_millis) last_old = number;
  }
  for (uint64_t number : additions) {
    if (number <= last_old) HF_CHECK_OK(archive_.Delete("additions", number));
  }
  Status deleted = archive_.DeleteUnnamedFiles();
  if (deleted || deleted.error().code() != ErrorCode::kCorruption) return deleted;
  // Which files a damaged list names is not known: until it is old enough all of them stay.
  HF_LOG(*log_, kWarning, "the archive is damaged, and keeps what it does not need any more",
         {"archive", options_.directory}, {"error", deleted.error().message()});
  return Ok{};
}

}  // namespace holdfast::storage
