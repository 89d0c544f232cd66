#include "engine/verify.h"

#include "engine/index/maintainer.h"
#include "engine/ttl/expiry.h"

namespace holdfast::engine {
namespace {

constexpr size_t kFaultsMax = 100;

class Verifier {
 public:
  explicit Verifier(Engine* engine) : kv_(engine->kv()), snapshot_(kv_.TakeSnapshot()) {}

  Status CheckTable(const Table& table) {
    SchemaPtr held = table.schema();
    const TableSchema& schema = *held;
    ++report.tables;
    std::vector<uint64_t> expected_entries(schema.indexes.size(), 0);
    uint64_t expected_expiries = 0;
    auto it = kv_.Iterate(storage::Space::kItems, ObjectRange(schema.id), snapshot_.get(),
                          storage::Wait::kMayBlock);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      ++report.items;
      StoredItem stored = DecodeStored(it->value());
      if (!CheckItem(schema, it->key(), stored)) continue;
      for (size_t i = 0; i < schema.indexes.size(); ++i) {
        auto entry = MakeIndexEntry(schema, schema.indexes[i], stored);
        if (!entry) continue;
        ++expected_entries[i];
        HF_CHECK_OK(CheckPresent(storage::Space::kIndexes, entry->key, &entry->value,
                                 "index " + schema.indexes[i].name + " of " + schema.name));
        CheckVector(table, schema.indexes[i], it->key(), stored);
      }
      if (schema.ttl_status == TimeToLiveStatus::kEnabled) {
        if (auto expiry = ExpirySeconds(stored.view(), schema.ttl_attribute)) {
          ++expected_expiries;
          HF_CHECK_OK(CheckPresent(storage::Space::kTtl, ExpiryKey(schema.id, *expiry, it->key()), nullptr,
                                   "expiry entries of " + schema.name));
        }
      }
    }
    HF_CHECK_OK(it->status());
    // Everything expected is there; equal counts mean that nothing else is.
    for (size_t i = 0; i < schema.indexes.size(); ++i) {
      const IndexSchema& index = schema.indexes[i];
      HF_TRY(uint64_t entries, Count(storage::Space::kIndexes, index.id));
      report.index_entries += entries;
      if (index.status == IndexStatus::kActive && entries != expected_entries[i]) {
        Fault("index " + index.name + " of " + schema.name + " has " + std::to_string(entries) +
              " entries where its table makes " + std::to_string(expected_entries[i]));
      }
      LiveVectorsPtr live = table.LiveIndex(index.id);
      size_t vectors = live == nullptr || !live->ready() ? entries : live->index().stats().vectors;
      if (vectors != entries) {
        Fault("index " + index.name + " of " + schema.name + " has " + std::to_string(vectors) +
              " vectors in memory for " + std::to_string(entries) + " entries");
      }
    }
    HF_TRY(uint64_t expiries, Count(storage::Space::kTtl, schema.id));
    report.expiry_entries += expiries;
    if (schema.ttl_status == TimeToLiveStatus::kEnabled && expiries != expected_expiries) {
      Fault("table " + schema.name + " has " + std::to_string(expiries) +
            " expiry entries where its items make " + std::to_string(expected_expiries));
    }
    return Ok{};
  }

  VerifyReport report;

 private:
  void Fault(std::string what) {
    if (report.faults.size() < kFaultsMax) report.faults.push_back(std::move(what));
  }

  bool CheckItem(const TableSchema& schema, ByteView key, const StoredItem& stored) {
    if (!value::IsWellFormedItem(stored.flat)) {
      Fault("an item of " + schema.name + " is damaged");
      return false;
    }
    if (value::ItemSize(stored.view()) != stored.size)
      Fault("an item of " + schema.name + " has a wrong size");
    if (ItemKeyOf(schema, stored.view()) != key) {
      Fault("an item of " + schema.name + " stands under another's key");
      return false;
    }
    return true;
  }

  void CheckVector(const Table& table, const IndexSchema& index, ByteView item_key,
                   const StoredItem& stored) {
    LiveVectorsPtr live = table.LiveIndex(index.id);
    if (live == nullptr || !live->ready() || index.status != IndexStatus::kActive) return;
    if (!live->Matches(index, item_key, stored)) {
      Fault("index " + index.name + " of " + table.schema()->name + ": a vector in memory is not its item's");
    }
  }

  // An index still being filled is not held to completeness.
  Status CheckPresent(storage::Space space, const std::string& key, const std::string* value,
                      const std::string& where) {
    std::string stored;
    HF_TRY(bool found, kv_.Get(space, key, snapshot_.get(), storage::Wait::kMayBlock, &stored));
    if (!found) {
      Fault(where + ": an entry is missing");
    } else if (value != nullptr && stored != *value) {
      Fault(where + ": an entry differs from its item");
    }
    return Ok{};
  }

  Result<uint64_t> Count(storage::Space space, ObjectId id) {
    uint64_t count = 0;
    auto it = kv_.Iterate(space, ObjectRange(id), snapshot_.get(), storage::Wait::kMayBlock);
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
    HF_CHECK_OK(it->status());
    return count;
  }

  storage::KvReader& kv_;
  const std::shared_ptr<const storage::Snapshot> snapshot_;
};

}  // namespace

Result<VerifyReport> VerifyStore(Engine* engine) {
  Verifier verifier(engine);
  for (const TablePtr& table : engine->catalog().All()) HF_CHECK_OK(verifier.CheckTable(*table));
  return std::move(verifier.report);
}

}  // namespace holdfast::engine
