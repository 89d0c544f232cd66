#include "storage/memory/memory_kv.h"

#include <array>
#include <vector>

#include "base/mutex.h"
#include "storage/memory/cow_tree.h"
#include "storage/memory/memory_files.h"

namespace holdfast::storage {
namespace {

using memory::CowTree;
using Trees = std::array<CowTree, kSpaces>;

class MemorySnapshot final : public Snapshot {
 public:
  explicit MemorySnapshot(Trees trees) : trees(std::move(trees)) {}
  const Trees trees;
};

class MemoryBatch final : public Batch {
 public:
  enum class Kind : uint8_t { kPut, kDelete, kDeleteRange };
  struct Change {
    Kind kind;
    Space space;
    std::string key;    // or lower bound
    std::string value;  // or upper bound
  };

  void Put(Space space, ByteView key, ByteView value) override {
    changes.push_back({Kind::kPut, space, std::string(key), std::string(value)});
  }
  void Delete(Space space, ByteView key) override {
    changes.push_back({Kind::kDelete, space, std::string(key), {}});
  }
  void DeleteRange(Space space, const Range& range) override {
    changes.push_back({Kind::kDeleteRange, space, range.lower, range.upper});
  }
  void Clear() override { changes.clear(); }
  bool empty() const override { return changes.empty(); }

  std::vector<Change> changes;
};

class MemoryIterator final : public Iterator {
 public:
  MemoryIterator(const CowTree& tree, Range range) : cursor_(tree), range_(std::move(range)) {}

  bool Valid() const override { return valid_; }
  void SeekToFirst() override { Seek(range_.lower); }
  void SeekToLast() override {
    if (range_.upper.empty()) {
      cursor_.Last();
    } else {
      StepBelow(range_.upper);
    }
    Settle();
  }
  void Seek(ByteView key) override {
    cursor_.SeekAtLeast(std::max<ByteView>(key, range_.lower));
    Settle();
  }
  void SeekForPrev(ByteView key) override {
    if (!range_.upper.empty() && key >= range_.upper) return SeekToLast();
    cursor_.SeekAtLeast(key);
    if (!cursor_.Valid()) {
      cursor_.Last();
    } else if (cursor_.record().key != key) {
      cursor_.Prev();
    }
    Settle();
  }
  void Next() override {
    cursor_.Next();
    Settle();
  }
  void Prev() override {
    cursor_.Prev();
    Settle();
  }
  ByteView key() const override { return cursor_.record().key; }
  ByteView value() const override { return cursor_.record().value; }
  Status status() const override { return Ok{}; }

 private:
  void StepBelow(ByteView bound) {
    cursor_.SeekAtLeast(bound);
    if (cursor_.Valid()) {
      cursor_.Prev();
    } else {
      cursor_.Last();
    }
  }
  void Settle() {
    valid_ = cursor_.Valid() && cursor_.record().key >= range_.lower &&
             (range_.upper.empty() || cursor_.record().key < range_.upper);
  }

  CowTree::Cursor cursor_;
  Range range_;
  bool valid_ = false;
};

class MemoryKv final : public Kv {
 public:
  Capabilities capabilities() const override { return {}; }
  std::unique_ptr<Batch> NewBatch() override { return std::make_unique<MemoryBatch>(); }

  Status Write(Batch* batch, Wait) override {
    base::MutexLock lock(&mu_);
    for (const MemoryBatch::Change& change : static_cast<MemoryBatch*>(batch)->changes) Apply(change);
    return Ok{};
  }

  Status Sync() override { return Ok{}; }

  std::shared_ptr<const Snapshot> TakeSnapshot() override {
    base::MutexLock lock(&mu_);
    return std::make_shared<const MemorySnapshot>(trees_);
  }

  Result<bool> Get(Space space, ByteView key, const Snapshot* snapshot, Wait, std::string* value) override {
    CowTree tree = TreeOf(space, snapshot);
    const memory::Record* record = tree.Find(key);
    if (record == nullptr) return false;
    *value = record->value;
    return true;
  }

  std::unique_ptr<Iterator> Iterate(Space space, Range range, const Snapshot* snapshot, Wait) override {
    return std::make_unique<MemoryIterator>(TreeOf(space, snapshot), std::move(range));
  }

  uint64_t ApproximateSize(Space space, const Range& range) override {
    uint64_t bytes = 0;
    MemoryIterator it(TreeOf(space, nullptr), range);
    for (it.SeekToFirst(); it.Valid(); it.Next()) bytes += it.key().size() + it.value().size();
    return bytes;
  }

  Stats stats() const override {
    base::MutexLock lock(&mu_);
    Stats stats;
    for (const CowTree& tree : trees_) stats.memory_bytes += tree.bytes();
    return stats;
  }

  Status Checkpoint(const std::string&) override {
    return Error(ErrorCode::kNotSupported, "a store in memory has no files to copy");
  }
  Files* files(FileKind kind) override { return kind == FileKind::kVectors ? nullptr : &segments_; }
  Status Compact() override { return Ok{}; }

 private:
  CowTree TreeOf(Space space, const Snapshot* snapshot) const {
    if (snapshot != nullptr)
      return static_cast<const MemorySnapshot*>(snapshot)->trees[static_cast<size_t>(space)];
    base::MutexLock lock(&mu_);
    return trees_[static_cast<size_t>(space)];
  }

  void Apply(const MemoryBatch::Change& change) HF_REQUIRES(mu_) {
    CowTree& tree = trees_[static_cast<size_t>(change.space)];
    switch (change.kind) {
      case MemoryBatch::Kind::kPut: tree.Insert(change.key, change.value); break;
      case MemoryBatch::Kind::kDelete: tree.Erase(change.key); break;
      case MemoryBatch::Kind::kDeleteRange: {
        std::vector<std::string> doomed;
        MemoryIterator it(tree, Range{change.key, change.value});
        for (it.SeekToFirst(); it.Valid(); it.Next()) doomed.emplace_back(it.key());
        for (const std::string& key : doomed) tree.Erase(key);
        break;
      }
    }
  }

  MemoryFiles segments_;
  mutable base::Mutex mu_;
  Trees trees_ HF_GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<Kv> OpenMemoryKv() {
  return std::make_unique<MemoryKv>();
}

}  // namespace holdfast::storage
