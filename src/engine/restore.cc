#include "engine/restore.h"

#include <set>

#include "engine/catalog/record.h"
#include "engine/engine.h"
#include "engine/store_directory.h"
#include "holdfast/ops/backup.h"
#include "storage/encryption/vault.h"

namespace holdfast::engine {
namespace {

using Tell = std::function<void(const std::string&)>;

Status ForEachRecord(storage::Kv* kv, std::string_view prefix,
                     const std::function<Status(ByteView key, const CatalogRecord&)>& visit) {
  storage::Range range{std::string(prefix), std::string(prefix)};
  ++range.upper.back();
  auto it = kv->Iterate(storage::Space::kCatalog, range, nullptr, storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    HF_TRY(CatalogRecord record, CatalogRecord::Read(std::string(it->value()), "a record of the catalog"));
    HF_CHECK_OK(visit(it->key(), record));
  }
  return it->status();
}

// A segment that a record names may not have reached the archive in time: then the store does without that
// backup, or that base. One that is damaged, or that a list which is damaged may name, is not done without.
Status SettleSegments(storage::Kv* kv, const storage::Lacking& lacking, const Tell& tell) {
  HF_TRY(std::vector<std::string> names, kv->files(storage::FileKind::kSegments)->List());
  std::set<std::string> there(names.begin(), names.end()), needed;
  auto find = [&](const std::string& file) -> Result<bool> {
    std::string path = "segments/" + file;
    needed.insert(path);
    if (there.contains(file)) return true;
    if (auto lost = lacking.files.find(path); lost != lacking.files.end()) return lost->second;
    if (lacking.list) return *lacking.list;
    return false;
  };
  std::unique_ptr<storage::Batch> batch = kv->NewBatch();
  HF_CHECK_OK(
      ForEachRecord(kv, BackupRecordKey(""), [&](ByteView key, const CatalogRecord& record) -> Status {
        // One that was being made is made when the store is opened.
        if (record.Enum("status", BackupStatus::kAvailable) == BackupStatus::kCreating) return Ok{};
        HF_TRY(bool found, find(record.Text("file")));
        if (found) return Ok{};
        batch->Delete(storage::Space::kCatalog, key);
        tell("the backup " + record.Text("name") + " had not reached the archive yet");
        return Ok{};
      }));
  HF_CHECK_OK(ForEachRecord(kv, kRecoveryPrefix, [&](ByteView, const CatalogRecord& record) -> Status {
    for (const AttributeValue& element : record.Elements("bases")) {
      std::string file = CatalogRecord(element).Text("file");
      HF_TRY(bool found, find(file));  // Recovery::Load forgets one that is not there
      if (!found) tell(file + " had not reached the archive yet: point-in-time recovery begins later");
    }
    return Ok{};
  }));
  HF_CHECK_OK(ForEachRecord(kv, kRestorePrefix, [&](ByteView, const CatalogRecord& record) -> Status {
    if (record.Text("file").empty()) return Ok{};
    HF_TRY([[maybe_unused]] bool found, find(record.Text("file")));
    return Ok{};
  }));
  for (const auto& [path, error] : lacking.files) {
    if (!needed.contains(path)) tell(error.message() + "; the restored state does without it");
  }
  return batch->empty() ? Ok{} : kv->Write(batch.get(), storage::Wait::kMayBlock);
}

}  // namespace

Result<storage::Restored> RestoreStore(const RestoreOptions& options, const base::Log& log) {
  storage::VaultOptions vault{.directory = options.directory, .file_system = options.file_system};
  HF_TRY(vault.keys, storage::LoadKeys(options.key_file));
  vault.encrypt = vault.keys != nullptr;
  storage::FileSystemPtr beneath =
      options.archive_file_system != nullptr ? options.archive_file_system : options.file_system;
  storage::Archive archive(storage::ReadingFileSystem(beneath, vault.keys), options.from);
  // Before anything is touched.
  HF_TRY(storage::RestorePlan plan, storage::PlanRestore(archive, options.at_second));
  HF_TRY(StoreDirectory claimed, ClaimForRestore(options.directory));
  HF_TRY(auto opened, storage::Vault::Open(vault));
  storage::FileSystemPtr file_system = opened->file_system();
  storage::StorePlace target{file_system, options.directory};
  auto settle = [&](storage::Kv* kv, const storage::Lacking& lacking) {
    return SettleSegments(kv, lacking, options.tell);
  };
  HF_TRY(storage::Restored restored, storage::RestoreFiles(archive, plan, target, log, options.tell, settle));
  HF_CHECK_OK(storage::SyncDirectory(file_system.get(), options.directory));
  HF_CHECK_OK(MarkStoreDirectory(options.directory));
  return restored;
}

}  // namespace holdfast::engine
