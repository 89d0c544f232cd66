#include "engine/index/vector_keeper.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/thread.h"
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

Status WriteFile(storage::Files* files, const std::string& name,
                 const std::function<Status(const vector::Sink&)>& write) {
  HF_TRY(std::unique_ptr<storage::FileWriter> file, files->Create(name));
  HF_CHECK_OK(write([&](std::string_view bytes) { return file->Append(bytes); }));
  return file->Finish();
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
  thread_.join();
  // A clean stop makes the next start quick, where that is worth a file.
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    for (const IndexSchema& index : schema->indexes) {
      LiveVectorsPtr live = table->LiveIndex(index.id);
      bool worth = live != nullptr && index.status == IndexStatus::kActive && live->changes > 0 &&
                   live->index().stats().vectors >= kSnapshotChangesMin;
      if (worth) TrySnapshot(table, index, live.get());
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
  base::LowerThreadPriority();
  while (!stopping()) {
    Round round = Round::kNoIndex;
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
      if (live == nullptr || stopping()) continue;
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

Status VectorKeeper::Load() {
  for (const TablePtr& table : engine_->catalog().All()) {
    SchemaPtr schema = table->schema();
    for (const IndexSchema& index : schema->indexes) {
      if (index.is_vector()) HF_CHECK_OK(LoadIndex(table, index, table->LiveIndex(index.id).get()));
    }
    if (table->has_vectors) MoveLog(table);
  }
  return DeleteStrayFiles();
}

Status VectorKeeper::LoadIndex(const TablePtr& table, const IndexSchema& index, LiveVectors* live) {
  SchemaPtr schema = table->schema();
  HF_TRY(std::optional<Manifest> manifest, ReadManifest(index.id));
  if (manifest) {
    Status read = ReadSnapshot(*manifest, live);
    if (read) {
      HF_TRY(std::vector<std::string> changed, engine_->change_log().ChangedSince(*schema, manifest->number));
      HF_CHECK_OK(Refresh(index, changed, live));
      live->changes = changed.size();
      log_needs_[index.id] = manifest->number;
      live->logged = true;
      return Ok{};
    }
    HF_LOG(engine_->log(), kWarning, "vector snapshot unusable; the index is made again",
           {"table", schema->name}, {"index", index.name}, {"error", read.error().ToString()});
    live->Reset(index);
    // From here on changes are not logged: should the snapshot ever be readable again, it would be too old.
    std::unique_ptr<storage::Batch> batch = engine_->kv().NewBatch();
    batch->Delete(storage::Space::kCatalog, VectorSnapshotKey(index.id));
    HF_CHECK_OK(engine_->kv().Write(batch.get(), storage::Wait::kMayBlock));
  }
  return Rebuild(*schema, index, live);
}

Status VectorKeeper::ReadSnapshot(const Manifest& manifest, LiveVectors* live) {
  storage::Files* files = engine_->kv().files(storage::FileKind::kVectors);
  if (files == nullptr) return Error(ErrorCode::kNotSupported, "no files");
  vector::SnapshotReader reader(&live->index());
  HF_CHECK_OK(ReadFile(files, manifest.graph,
                       [&](const vector::Source& source) { return reader.ReadGraph(source); }));
  for (const std::string& name : manifest.floats) {
    HF_CHECK_OK(
        ReadFile(files, name, [&](const vector::Source& source) { return reader.ReadFloats(source); }));
  }
  HF_CHECK_OK(reader.Finish());
  if (reader.number() != manifest.number) return Error(ErrorCode::kCorruption, "its commit is another");
  return Ok{};
}

// By way of the index's entries: they say which items have vectors.
Status VectorKeeper::Rebuild(const TableSchema& table, const IndexSchema& index, LiveVectors* live) {
  std::vector<std::string> keys;
  auto it = engine_->kv().Iterate(storage::Space::kIndexes, ObjectRange(index.id), nullptr,
                                  storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::string item_key;
    base::AppendBigEndian(&item_key, table.id, 4);
    keys.push_back(item_key.append(it->key().substr(4)));
  }
  HF_CHECK_OK(it->status());
  HF_CHECK_OK(Refresh(index, keys, live));
  live->changes = keys.size();
  if (keys.size() >= kSnapshotChangesMin) {
    HF_LOG(engine_->log(), kInfo, "vector index made from its items", {"table", table.name},
           {"index", index.name}, {"vectors", std::to_string(keys.size())});
  }
  return Ok{};
}

Status VectorKeeper::Refresh(const IndexSchema& index, const std::vector<std::string>& item_keys,
                             LiveVectors* live) {
  uint64_t number = engine_->committer().published()->number;
  std::string stored;
  for (const std::string& key : item_keys) {
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
  if (saved) return;
  HF_LOG(engine_->log(), kWarning, "vector snapshot failed", {"table", table->schema()->name},
         {"index", index.name}, {"error", saved.error().ToString()});
  snapshots_from_ = std::chrono::steady_clock::now() + kSnapshotPause;
  // What it left behind may be what fills the disk. Not when the log cannot be synced: then nobody knows
  // which record the next start will find.
  if (engine_->committer().CheckWritable()) static_cast<void>(DeleteStrayFiles());
}

Status VectorKeeper::Snapshot(const TablePtr& table, const IndexSchema& index, LiveVectors* live) {
  storage::Files* files = engine_->kv().files(storage::FileKind::kVectors);
  if (files == nullptr) return Ok{};
  HF_CHECK_OK(engine_->committer().CheckWritable());
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
  std::unique_ptr<storage::Batch> batch = engine_->kv().NewBatch();
  batch->Put(storage::Space::kCatalog, VectorSnapshotKey(index), record.flat());
  {
    // Whoever drops the index deletes the record: it must not come after that.
    base::ReaderLock gate(&table->gate);
    if (table->dropped || table->LiveIndex(index) == nullptr) return false;
    HF_CHECK_OK(engine_->kv().Write(batch.get(), storage::Wait::kMayBlock));
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
