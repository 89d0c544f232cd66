#include "engine/index/vector_keeper.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/thread.h"
#include "engine/commit/commit.h"
#include "engine/engine.h"
#include "engine/index/maintainer.h"
#include "vector/snapshot.h"

namespace holdfast::engine {
namespace {

// How often the thread looks whether there is work.
constexpr auto kPause = std::chrono::milliseconds(20);
// The same where there are no vectors.
constexpr auto kPauseWithoutIndex = std::chrono::seconds(1);
// After a round that threw: the next one may throw as well, and each is logged.
constexpr auto kPauseAfterFailure = std::chrono::seconds(5);
// Vectors that come within a pause and mean that more will.
constexpr size_t kPouring = 10;
// Changes since the last snapshot that call for the next one: a start must look at each of them again.
constexpr uint64_t kSnapshotChangesMin = 4096;
constexpr uint64_t kSnapshotShare = 10;
// Files of floats before they are written anew as one.
constexpr size_t kFloatsFilesMax = 12;
// After a snapshot that failed: the disk may be full, and each attempt writes the whole graph.
constexpr auto kSnapshotPause = std::chrono::seconds(30);
// Of all snapshots that a stop writes: it is to take a moment whatever the size. The next start can do
// without.
constexpr size_t kClosingBytesMax = 48 << 20;
// Before another attempt to load an index.
constexpr auto kLoadPause = std::chrono::seconds(5);
// Items that are looked at between two looks whether it is time to stop.
constexpr size_t kLookStep = 256;
// So few written items are left to be looked at with the gate closed, unless writers are faster than so many
// passes over what they wrote.
constexpr size_t kLastTouched = 64;
constexpr int kPassesMax = 8;

std::string FileName(ObjectId index, uint64_t sequence, std::string_view kind) {
  return std::to_string(index) + "-" + std::to_string(sequence) + "." + std::string(kind);
}

// The number after the dash; 0 when the name is not one of ours.
uint64_t SequenceOf(const std::string& name) {
  size_t dash = name.find('-');
  uint64_t sequence = 0;
  if (dash != std::string::npos) std::from_chars(name.data() + dash + 1, name.data() + name.size(), sequence);
  return sequence;
}

Error Closing() {
  return Error(ErrorCode::kWouldBlock, "the store is closing");
}

Status ReadFile(storage::Files* files, const std::string& name,
                const std::function<Status(const vector::Source&)>& read) {
  HF_TRY(std::unique_ptr<storage::FileReader> file, files->Open(name));
  return read([&](size_t bytes, char* out) { return file->Read(bytes, out); });
}

}  // namespace

VectorKeeper::~VectorKeeper() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (!thread_.joinable()) return;
  for (const TablePtr& table : engine_->catalog().All()) {
    for (const IndexSchema& index : table->schema()->indexes) {
      LiveVectorsPtr live = table->LiveIndex(index.id);
      if (live != nullptr && live->ready()) live->index().StopTending();
    }
  }
  thread_.join();
  closing_ = true;
  size_t bytes_left = kClosingBytesMax;
  // A clean stop makes the next start quick, where that is worth a file and soon done.
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    for (const IndexSchema& index : schema->indexes) {
      LiveVectorsPtr live = table->LiveIndex(index.id);
      if (live == nullptr || !live->ready() || index.status != IndexStatus::kActive) continue;
      vector::IndexStats stats = live->index().stats();
      bool worth = live->changes > 0 && stats.vectors >= kSnapshotChangesMin;
      if (!worth || stats.memory_bytes > bytes_left) continue;
      bytes_left -= stats.memory_bytes;
      TrySnapshot(table, index, live.get());
    }
  }
}

void VectorKeeper::Start() {
  thread_ = std::thread([this] { Run(); });
}

bool VectorKeeper::stopping() const {
  base::MutexLock lock(&mu_);
  return stop_;
}

uint64_t VectorKeeper::WantRound() {
  // One may be under way, and have looked already.
  idle_rounds_wanted_ = idle_rounds_ + 2;
  changed_.NotifyAll();
  return idle_rounds_wanted_;
}

void VectorKeeper::Wake() {
  base::MutexLock lock(&mu_);
  WantRound();
}

void VectorKeeper::WaitIdle() {
  base::MutexLock lock(&mu_);
  uint64_t wanted = WantRound();
  while (idle_rounds_ < wanted && !stop_) changed_.Wait(&mu_);
}

void VectorKeeper::Run() {
  base::NameThread("vectors");
  LoadDue();  // at full priority: somebody waits for it
  {
    base::MutexLock lock(&mu_);
    tried_ = true;
    changed_.NotifyAll();
  }
  base::LowerThreadPriority();
  while (!stopping()) {
    Round round = Round::kNoIndex;
    LoadDue();
    bool done = base::RunContained(engine_->log(), "vector round", [&] { round = Work(); });
    if (round == Round::kMore) continue;
    base::MutexLock lock(&mu_);
    if (round < Round::kDeferred) ++idle_rounds_;
    changed_.NotifyAll();
    Pause(round, done ? kPause : kPauseAfterFailure);
  }
}

void VectorKeeper::Pause(Round after, std::chrono::milliseconds pause) {
  auto begun = std::chrono::steady_clock::now();
  bool in_time = true;
  while (!stop_ && in_time) {
    bool seldom = after == Round::kNoIndex && idle_rounds_ >= idle_rounds_wanted_;
    in_time = changed_.WaitUntil(&mu_, begun + (seldom ? kPauseWithoutIndex : pause));
  }
}

VectorKeeper::Round VectorKeeper::Work() {
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  Round round = Round::kNoIndex;
  std::set<ObjectId> there;
  for (const TablePtr& table : engine_->catalog().All()) {
    if (!table->has_vectors) continue;
    SchemaPtr schema = table->schema();
    for (const IndexSchema& index : schema->indexes) {
      there.insert(index.id);
      LiveVectorsPtr live = table->LiveIndex(index.id);
      if (live == nullptr || !live->ready() || stopping()) continue;
      round = std::max(round, Round::kIdle);
      if (LetsWritersPass(index.id, *live)) {
        round = std::max(round, Round::kDeferred);
        continue;
      }
      uint64_t published = engine_->committer().published()->number;
      size_t before = live->index().backlog();
      live->index().Tend(published, threads);
      backlogs_[index.id] = live->index().backlog();
      // Only what moved counts: what is not yet published has to wait anyway.
      if (live->index().backlog() > 0 && live->index().backlog() < before) round = Round::kMore;
      if (index.status == IndexStatus::kActive && WantsSnapshot(*live)) TrySnapshot(table, index, live.get());
    }
  }
  ForgetDropped(there);
  return round;
}

// While vectors pour in, the processor is better used for taking them in: a graph that grows a little later
// costs searches little.
bool VectorKeeper::LetsWritersPass(ObjectId index, const LiveVectors& live) {
  size_t backlog = live.index().backlog();
  size_t before = std::exchange(backlogs_[index], backlog);
  return backlog >= before + kPouring && backlog < limits::kVectorBacklogFree;
}

void VectorKeeper::ForgetDropped(const std::set<ObjectId>& there) {
  std::erase_if(backlogs_, [&](const auto& backlog) { return !there.contains(backlog.first); });
  size_t gone = std::erase_if(log_needs_, [&](const auto& needs) { return !there.contains(needs.first); });
  if (gone == 0) return;
  if (Status deleted = DeleteStrayFiles(); !deleted) {
    HF_LOG(engine_->log(), kWarning, "old vector snapshots stay", {"error", deleted.error().ToString()});
  }
}

// --- starting ---

Status VectorKeeper::Prepare() {
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    for (const IndexSchema& index : schema->indexes) {
      if (!index.is_vector()) continue;
      LiveVectorsPtr live = table->LiveIndex(index.id);
      live->Enter(LiveVectors::Stage::kLoading);
      HF_TRY(std::optional<Manifest> manifest, ReadManifest(index.id));
      if (manifest) {
        log_needs_[index.id] = manifest->number;
        live->logged = true;
      }
      loads_.push_back({.table = table, .index = index.id});
      base::MutexLock lock(&mu_);
      loading_[index.id] = "vector index " + index.name + " of table " + schema->name;
    }
    if (table->has_vectors) MoveLog(table);
  }
  return DeleteStrayFiles();
}

Status VectorKeeper::WaitLoaded() {
  base::MutexLock lock(&mu_);
  while (!tried_ && !stop_) changed_.Wait(&mu_);
  return failure_;
}

std::vector<std::string> VectorKeeper::Loading() const {
  base::MutexLock lock(&mu_);
  std::vector<std::string> names;
  for (const auto& [index, name] : loading_) names.push_back(name);
  return names;
}

void VectorKeeper::LoadDue() {
  for (auto load = loads_.begin(); load != loads_.end() && !stopping();) {
    if (load->next_try > std::chrono::steady_clock::now()) {
      ++load;
      continue;
    }
    // Until it succeeds.
    bool again = std::exchange(load->begun, true);
    load->next_try = std::chrono::steady_clock::now() + kLoadPause;
    Status loaded = Error(ErrorCode::kInternal, "what it holds makes no sense, or there was no memory");
    base::RunContained(engine_->log(), "loading vectors", [&] { loaded = LoadIndex(*load, again); });
    if (stopping()) return;
    base::MutexLock lock(&mu_);
    if (loaded) {
      loading_.erase(load->index);
      load = loads_.erase(load);
      continue;
    }
    HF_LOG(engine_->log(), kError, "a vector index could not be loaded; it is tried again",
           {"index", loading_[load->index]}, {"error", loaded.error().ToString()});
    if (failure_) failure_ = loaded;
    ++load;
  }
}

Status VectorKeeper::LoadIndex(const Load& load, bool again) {
  const TablePtr& table = load.table;
  SchemaPtr schema = table->schema();
  const IndexSchema* index = schema->FindIndexById(load.index);
  LiveVectorsPtr live = table->LiveIndex(load.index);
  if (table->dropped || index == nullptr || live == nullptr) return Ok{};  // nobody misses it
  // Writes are in it already.
  if (live->stage() != LiveVectors::Stage::kLoading) return LetSearchesIn(live.get());
  auto begin_anew = [&] {
    base::ReaderLock gate(&table->gate);  // nobody changes its settings meanwhile
    live->Reset(*index);
  };
  if (again) begin_anew();
  HF_TRY(std::optional<Manifest> manifest, ReadManifest(index->id));
  std::vector<std::string> keys;
  if (manifest) {
    Status read = ReadSnapshot(*manifest, live.get());
    if (stopping()) return Closing();
    if (read) {
      HF_TRY(keys, engine_->change_log().ChangedSince(*schema, manifest->number));
    } else {
      HF_LOG(engine_->log(), kWarning, "vector snapshot unusable; the index is made again",
             {"table", schema->name}, {"index", index->name}, {"error", read.error().ToString()});
      begin_anew();
      HF_CHECK_OK(ForgetSnapshot(table, index->id, live.get()));
      manifest.reset();
    }
  }
  if (!manifest) {
    HF_TRY(keys, Entered(*schema, *index));
  }
  HF_CHECK_OK(Refresh(*index, keys, live.get()));
  live->changes += keys.size();
  HF_CHECK_OK(FinishLoad(table, *index, live.get()));
  if (!manifest && keys.size() >= kSnapshotChangesMin) {
    HF_LOG(engine_->log(), kInfo, "vector index made from its items", {"table", schema->name},
           {"index", index->name}, {"vectors", std::to_string(keys.size())});
  }
  return Ok{};
}

// The record goes before the first write that is not logged: should the snapshot ever be readable again, it
// would be too old.
Status VectorKeeper::ForgetSnapshot(const TablePtr& table, ObjectId index, LiveVectors* live) {
  Commit commit(&engine_->committer(), Commit::Kind::kUpkeep);
  commit.batch()->Delete(storage::Space::kCatalog, VectorSnapshotKey(index));
  HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));
  log_needs_.erase(index);
  {
    base::WriterLock gate(&table->gate);
    live->logged = false;
    SchemaPtr schema = table->schema();
    bool needed = std::any_of(schema->indexes.begin(), schema->indexes.end(),
                              [&](const IndexSchema& other) { return log_needs_.contains(other.id); });
    if (!needed) engine_->change_log().Forget(schema->id, Consumer::kVectors);
  }
  MoveLog(table);
  return Ok{};
}

Status VectorKeeper::FinishLoad(const TablePtr& table, const IndexSchema& index, LiveVectors* live) {
  // Writers go on, and may well be faster for a while: then they are slowed down (LiveVectors::backlog).
  for (int pass = 0; pass < kPassesMax && live->backlog() > kLastTouched; ++pass)
    HF_CHECK_OK(Refresh(index, live->TakeTouched(), live));
  {
    base::WriterLock gate(&table->gate);
    HF_CHECK_OK(Refresh(index, live->TakeTouched(), live));
    live->Enter(LiveVectors::Stage::kSettling);
  }
  return LetSearchesIn(live);
}

Status VectorKeeper::LetSearchesIn(LiveVectors* live) {
  // What was read may be newer than what searches see, until it is published.
  HF_CHECK_OK(engine_->committer().WaitDurable());
  live->Enter(LiveVectors::Stage::kReady);
  return Ok{};
}

vector::Source VectorKeeper::Stoppable(const vector::Source& source) const {
  return [this, &source, calls = size_t{0}](size_t bytes, char* out) mutable {
    return ++calls % kLookStep == 0 && stopping() ? Status(Closing()) : source(bytes, out);
  };
}

Status VectorKeeper::ReadSnapshot(const Manifest& manifest, LiveVectors* live) {
  storage::Files* files = engine_->kv().files(storage::FileKind::kVectors);
  if (files == nullptr) return Error(ErrorCode::kNotSupported, "no files");
  vector::SnapshotReader reader(&live->index());
  HF_CHECK_OK(ReadFile(files, manifest.graph,
                       [&](const vector::Source& source) { return reader.ReadGraph(Stoppable(source)); }));
  for (const std::string& name : manifest.floats) {
    HF_CHECK_OK(ReadFile(files, name,
                         [&](const vector::Source& source) { return reader.ReadFloats(Stoppable(source)); }));
  }
  HF_CHECK_OK(reader.Finish());
  if (reader.number() != manifest.number) return Error(ErrorCode::kCorruption, "its commit is another");
  return Ok{};
}

Result<std::vector<std::string>> VectorKeeper::Entered(const TableSchema& table,
                                                       const IndexSchema& index) const {
  std::vector<std::string> keys;
  auto it = engine_->kv().Iterate(storage::Space::kIndexes, ObjectRange(index.id), nullptr,
                                  storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (keys.size() % kLookStep == 0 && stopping()) return Closing();
    std::string item_key;
    base::AppendBigEndian(&item_key, table.id, 4);
    keys.push_back(item_key.append(it->key().substr(4)));
  }
  HF_CHECK_OK(it->status());
  return keys;
}

Status VectorKeeper::Refresh(const IndexSchema& index, const std::vector<std::string>& item_keys,
                             LiveVectors* live) {
  uint64_t number = engine_->committer().published()->number;
  std::string stored;
  size_t looked_at = 0;
  for (const std::string& key : item_keys) {
    if (++looked_at % kLookStep == 0 && stopping()) return Closing();
    HF_TRY(bool found,
           engine_->kv().Get(storage::Space::kItems, key, nullptr, storage::Wait::kMayBlock, &stored));
    // A backfill that has not come this far has no entry yet, and will add the item when it does.
    bool entered = found;
    if (found && index.status == IndexStatus::kCreating) {
      std::string entry;
      HF_TRY(entered, engine_->kv().Get(storage::Space::kIndexes, VectorEntryKey(index, key), nullptr,
                                        storage::Wait::kMayBlock, &entry));
    }
    StoredItem now;
    if (entered) now = DecodeStored(stored);
    live->Set(index, key, entered ? &now : nullptr, number);
  }
  return Ok{};
}

// --- snapshots ---

bool VectorKeeper::WantsSnapshot(const LiveVectors& live) const {
  if (engine_->kv().files(storage::FileKind::kVectors) == nullptr ||
      std::chrono::steady_clock::now() < snapshots_from_)
    return false;
  if (engine_->vector_snapshot_changes_ != 0) return live.changes >= engine_->vector_snapshot_changes_;
  uint64_t enough = std::max(kSnapshotChangesMin, live.index().stats().vectors / kSnapshotShare);
  // One that is being filled fast can wait until its graph has caught up, but not forever.
  bool busy = live.index().backlog() > kSnapshotChangesMin;
  return live.changes >= (busy ? 2 * enough : enough);
}

void VectorKeeper::TrySnapshot(const TablePtr& table, const IndexSchema& index, LiveVectors* live) {
  Status saved = Snapshot(table, index, live);
  if (saved || (stopping() && !closing_)) return;
  HF_LOG(engine_->log(), kWarning, "vector snapshot failed", {"table", table->schema()->name},
         {"index", index.name}, {"error", saved.error().ToString()});
  snapshots_from_ = std::chrono::steady_clock::now() + kSnapshotPause;
  // What it left behind may be what fills the disk. Not when the log cannot be synced: then nobody knows
  // which record the next start will find.
  if (engine_->committer().CheckSound()) static_cast<void>(DeleteStrayFiles());
}

// Gives up when the store closes, but for what is written then.
Status VectorKeeper::WriteFile(storage::Files* files, const std::string& name,
                               const std::function<Status(const vector::Sink&)>& write) {
  HF_TRY(std::unique_ptr<storage::FileWriter> file, files->Create(name));
  HF_CHECK_OK(write([&](std::string_view bytes) {
    return stopping() && !closing_ ? Status(Closing()) : file->Append(bytes);
  }));
  return file->Finish();
}

Status VectorKeeper::Snapshot(const TablePtr& table, const IndexSchema& index, LiveVectors* live) {
  storage::Files* files = engine_->kv().files(storage::FileKind::kVectors);
  if (files == nullptr) return Ok{};
  HF_CHECK_OK(engine_->committer().CheckSound());
  if (!live->logged) StartLogging(table, index.id, live);
  HF_CHECK_OK(engine_->committer().WaitDurable());
  uint64_t changes = live->changes;
  HF_TRY(std::optional<Manifest> previous, ReadManifest(index.id));
  Manifest manifest;
  manifest.number = engine_->committer().published()->number;
  // A commit that was under way before logging began holds the number back: it will be there the next time.
  if (manifest.number < live->logged_after) return Ok{};
  vector::SnapshotWriter writer(&live->index(), manifest.number);
  // Floats that were saved once stay where they are, until half of what the files hold is of no use any more.
  bool anew = !previous || previous->floats.size() >= kFloatsFilesMax ||
              previous->rows + writer.unsaved() > 2 * writer.count();
  if (!anew) {
    manifest.floats = previous->floats;
    manifest.rows = previous->rows;
  }
  manifest.graph = FileName(index.id, ++sequence_, "graph");
  if (anew || writer.unsaved() > 0) {
    using Which = vector::SnapshotWriter::Which;
    manifest.floats.push_back(FileName(index.id, sequence_, "floats"));
    manifest.rows += anew ? writer.count() : writer.unsaved();
    HF_CHECK_OK(WriteFile(files, manifest.floats.back(), [&](const vector::Sink& sink) {
      return writer.WriteFloats(anew ? Which::kAll : Which::kUnsaved, sink);
    }));
  }
  HF_CHECK_OK(
      WriteFile(files, manifest.graph, [&](const vector::Sink& sink) { return writer.WriteGraph(sink); }));
  HF_TRY(bool written, WriteManifest(table, index.id, manifest));
  if (!written) return DeleteStrayFiles();
  writer.Done();
  live->changes -= changes;
  log_needs_[index.id] = manifest.number;
  MoveLog(table);
  if (!previous) return Ok{};
  std::set<std::string> kept(manifest.floats.begin(), manifest.floats.end());
  previous->floats.push_back(previous->graph);
  for (const std::string& name : previous->floats) {
    if (!kept.contains(name)) HF_CHECK_OK(files->Delete(name));
  }
  return Ok{};
}

Result<std::optional<VectorKeeper::Manifest>> VectorKeeper::ReadManifest(ObjectId index) const {
  std::string bytes;
  HF_TRY(bool found, engine_->kv().Get(storage::Space::kCatalog, VectorSnapshotKey(index), nullptr,
                                       storage::Wait::kMayBlock, &bytes));
  if (!found || !value::IsWellFormedItem(bytes)) return std::optional<Manifest>();
  AttributeMap record = Item::FromFlat(std::move(bytes)).ToMap();
  Manifest manifest;
  auto text = [](const AttributeValue& value) {
    return value.type() == value::Type::kString ? value.AsText() : std::string();
  };
  manifest.number = static_cast<uint64_t>(record["number"].AsInt64().value_or(0));
  manifest.rows = static_cast<uint64_t>(record["rows"].AsInt64().value_or(0));
  manifest.graph = text(record["graph"]);
  if (record["floats"].type() == value::Type::kList) {
    for (const AttributeValue& name : record["floats"].AsList()) manifest.floats.push_back(text(name));
  }
  return std::optional<Manifest>(std::move(manifest));
}

Result<bool> VectorKeeper::WriteManifest(const TablePtr& table, ObjectId index, const Manifest& manifest) {
  std::vector<AttributeValue> floats(manifest.floats.begin(), manifest.floats.end());
  Item record{{"number", manifest.number},
              {"rows", manifest.rows},
              {"graph", manifest.graph},
              {"floats", AttributeValue::List(std::move(floats))}};
  Commit commit(&engine_->committer(), Commit::Kind::kUpkeep);
  commit.batch()->Put(storage::Space::kCatalog, VectorSnapshotKey(index), record.flat());
  {
    // Whoever drops the index deletes the record: it must not come after that.
    base::ReaderLock gate(&table->gate);
    if (table->dropped || table->LiveIndex(index) == nullptr) return false;
    HF_CHECK_OK(commit.Write(storage::Wait::kMayBlock));
  }
  // The files it replaces go only when it is safe.
  HF_CHECK_OK(engine_->committer().WaitDurable());
  return true;
}

// Every write that began earlier has ended with the gate closed, and is in a snapshot as of `logged_after` or
// later; every later one is logged, and kept, for the first snapshot to build upon.
void VectorKeeper::StartLogging(const TablePtr& table, ObjectId index, LiveVectors* live) {
  log_needs_[index] = engine_->committer().published()->number;
  MoveLog(table);
  base::WriterLock gate(&table->gate);
  live->logged_after = engine_->committer().begun_number();
  live->logged = true;
}

void VectorKeeper::MoveLog(const TablePtr& table) {
  SchemaPtr schema = table->schema();
  uint64_t number = UINT64_MAX;
  for (const IndexSchema& index : schema->indexes) {
    // An index without a snapshot is made from the items: it needs no log.
    auto needs = log_needs_.find(index.id);
    if (needs != log_needs_.end()) number = std::min(number, needs->second);
  }
  if (number == UINT64_MAX) return;
  engine_->change_log().Keep(schema->id, Consumer::kVectors, number);
}

Status VectorKeeper::DeleteStrayFiles() {
  storage::Files* files = engine_->kv().files(storage::FileKind::kVectors);
  if (files == nullptr) return Ok{};
  std::set<std::string> named;
  for (const TablePtr& table : engine_->catalog().All()) {
    for (const IndexSchema& index : table->schema()->indexes) {
      if (!index.is_vector()) continue;
      HF_TRY(std::optional<Manifest> manifest, ReadManifest(index.id));
      if (!manifest) continue;
      named.insert(manifest->graph);
      named.insert(manifest->floats.begin(), manifest->floats.end());
    }
  }
  HF_TRY(std::vector<std::string> names, files->List());
  for (const std::string& name : names) {
    sequence_ = std::max(sequence_, SequenceOf(name));
    if (!named.contains(name)) HF_CHECK_OK(files->Delete(name));
  }
  return Ok{};
}

}  // namespace holdfast::engine
