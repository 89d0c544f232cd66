#include "engine/restore.h"

#include "engine/store_directory.h"
#include "storage/encryption/vault.h"

namespace holdfast::engine {

Result<storage::Restored> RestoreStore(const RestoreOptions& options, const base::Log& log) {
  storage::VaultOptions vault{.directory = options.directory, .file_system = options.file_system};
  HF_TRY(vault.keys, storage::LoadKeys(options.key_file));
  vault.encrypt = vault.keys != nullptr;
  storage::FileSystemPtr beneath =
      options.archive_file_system != nullptr ? options.archive_file_system : options.file_system;
  storage::Archive archive(storage::ReadingFileSystem(beneath, vault.keys), options.from);
  HF_TRY([[maybe_unused]] std::string identity, archive.Identity());  // before anything is touched
  HF_TRY(StoreDirectory claimed, ClaimForRestore(options.directory));
  HF_TRY(auto opened, storage::Vault::Open(vault));
  storage::FileSystemPtr file_system = opened->file_system();
  storage::StorePlace target{file_system, options.directory};
  HF_TRY(storage::Restored restored,
         storage::RestoreFiles(archive, options.at_second, target, log, options.tell));
  HF_CHECK_OK(storage::SyncDirectory(file_system.get(), options.directory));
  HF_CHECK_OK(MarkStoreDirectory(options.directory));
  return restored;
}

}  // namespace holdfast::engine
