#include "engine/restore.h"

#include <unistd.h>

#include "engine/store_directory.h"

namespace holdfast::engine {

Result<storage::Restored> RestoreStore(const RestoreOptions& options, const base::Log& log) {
  storage::FileSystemPtr file_system =
      options.file_system != nullptr ? options.file_system : rocksdb::FileSystem::Default();
  storage::Archive archive(options.archive_file_system != nullptr ? options.archive_file_system : file_system,
                           options.from);
  HF_TRY([[maybe_unused]] std::string identity, archive.Identity());  // before anything is touched
  HF_TRY(StoreDirectory claimed, ClaimForRestore(options.directory));
  storage::StorePlace target{file_system, options.directory};
  auto restored = storage::RestoreFiles(archive, options.at_second, target, log, options.tell);
  if (restored) {
    Status synced = storage::SyncDirectory(file_system.get(), options.directory);
    if (synced) synced = MarkStoreDirectory(options.directory);
    if (!synced) restored = synced.error();
  }
  ::close(claimed.lock_fd);
  return restored;
}

}  // namespace holdfast::engine
