#include "storage/archive/checkpoint.h"

#include <algorithm>
#include <set>

#include "storage/files.h"

namespace holdfast::storage {
namespace {

using rocksdb::IOStatus;

constexpr const char* kBackup = "backup";
constexpr std::string_view kBeside = ".beside";
constexpr std::string_view kNotRenamed = ".tmp";       // RocksDB's own
constexpr std::string_view kOldLogs = "archive";       // likewise
constexpr std::string_view kBeingSealed = ".sealing";  // the encrypted copy takes the file's place, or goes

std::string In(const StorePlace& store, std::string_view name) {
  return store.directory + "/" + std::string(name);
}

bool IsDirectory(rocksdb::FileSystem* file_system, const std::string& path) {
  bool is_directory = false;
  return file_system->IsDirectory(path, {}, &is_directory, nullptr).ok() && is_directory;
}

Status AddFilesIn(const StorePlace& store, const std::string& directory, std::vector<std::string>* paths) {
  HF_TRY(std::vector<std::string> names, NamesIn(store.file_system.get(), In(store, directory)));
  for (const std::string& name : names) {
    if (!IsFinished(name)) continue;
    std::string path = directory + "/" + name;
    if (IsDirectory(store.file_system.get(), In(store, path)))
      HF_CHECK_OK(AddFilesIn(store, path, paths));
    else
      paths->push_back(std::move(path));
  }
  return Ok{};
}

// Not every file system has links.
Status LinkOrCopy(rocksdb::FileSystem* file_system, const std::string& from, const std::string& to) {
  IOStatus status = file_system->LinkFile(from, to, {}, nullptr);
  if (status.ok()) return Ok{};
  if (!status.IsNotSupported()) return IoError(to, status);
  HF_TRY([[maybe_unused]] Copied copied,
         CopyFile(file_system, from, file_system, to, base::ChecksumKind::kXxh3, {}));
  return Ok{};
}

// One that has just been deleted is passed over: if the state names it, it is made again or reported there.
Status LinkBeside(const StorePlace& store, const std::string& into, std::set<std::string>* linked) {
  HF_TRY(std::vector<std::string> paths, FilesBeside(store));
  for (const std::string& path : paths) {
    if (linked->contains(path)) continue;
    std::string target = into + "/" + path;
    for (size_t slash = target.find('/', store.directory.size() + 1); slash != std::string::npos;
         slash = target.find('/', slash + 1)) {
      IOStatus made = store.file_system->CreateDirIfMissing(target.substr(0, slash), {}, nullptr);
      if (!made.ok()) return IoError(target, made);
    }
    Status done = LinkOrCopy(store.file_system.get(), In(store, path), target);
    if (done) linked->insert(path);
    if (!done && store.file_system->FileExists(In(store, path), {}, nullptr).ok()) return done;
  }
  return Ok{};
}

}  // namespace

bool IsFinished(std::string_view name) {
  return !name.ends_with(kBeingSealed) && !name.ends_with(kPartialFile);
}

Result<std::vector<std::string>> FilesBeside(const StorePlace& store) {
  HF_TRY(std::vector<std::string> names, NamesIn(store.file_system.get(), store.directory));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    bool ours = name != kOldLogs && !name.starts_with(kHeldPrefix) && name != "lost+found";
    if (ours && IsDirectory(store.file_system.get(), In(store, name)))
      HF_CHECK_OK(AddFilesIn(store, name, &paths));
  }
  return paths;
}

Status LetGo(const StorePlace& store, const std::string& name) {
  std::string held = In(store, kHeldPrefix) + name;
  for (std::string_view suffix : {std::string_view(), kBeside, kNotRenamed})
    HF_CHECK_OK(DeleteDirectory(store.file_system.get(), held + std::string(suffix)));
  return Ok{};
}

Status LetGo(const StorePlace& store) {
  HF_TRY(std::vector<std::string> names, NamesIn(store.file_system.get(), store.directory));
  for (const std::string& name : names) {
    if (name.starts_with(kHeldPrefix)) HF_CHECK_OK(DeleteDirectory(store.file_system.get(), In(store, name)));
  }
  return Ok{};
}

Result<HeldState> HoldState(Kv* kv, const StorePlace& store, const std::string& name,
                            const base::Clock& clock) {
  HF_CHECK_OK(LetGo(store, name));
  std::string own = In(store, kHeldPrefix) + name;
  std::string others = own + std::string(kBeside);
  HeldState held;
  HF_CHECK_OK(kv->Sync());
  held.checkpoint.sequence = kv->synced_sequence();
  // What the state names was there before it or has come meanwhile.
  std::set<std::string> beside;
  HF_CHECK_OK(LinkBeside(store, others, &beside));
  HF_CHECK_OK(kv->Checkpoint(own));
  HF_CHECK_OK(LinkBeside(store, others, &beside));
  HF_CHECK_OK(kv->Sync());  // what was written since the first one may be in it
  held.checkpoint.time_millis = clock.NowMillis();
  HF_TRY(std::vector<std::string> names, NamesIn(store.file_system.get(), own));
  for (const std::string& file : names) {
    // That a store is encrypted is said in the clear, by whoever makes the new one.
    if (file != "ENCRYPTION") held.files.push_back({file, own + "/" + file});
  }
  for (const std::string& path : beside) held.files.push_back({path, others + "/" + path});
  return held;
}

Result<std::string> ObjectOf(rocksdb::FileSystem* file_system, const std::string& path,
                             const std::string& source) {
  uint64_t size = 0, changed = 0;
  IOStatus status = file_system->GetFileSize(source, {}, &size, nullptr);
  if (status.ok()) status = file_system->GetFileModificationTime(source, {}, &changed, nullptr);
  if (!status.ok()) return IoError(source, status);
  std::string object = path + "-" + std::to_string(size) + "-" + std::to_string(changed);
  std::replace(object.begin(), object.end(), '/', '-');
  std::replace(object.begin(), object.end(), ' ', '-');
  return object;
}

Status ShipFiles(const HeldState& held, const StorePlace& store, const KnownObjects& known, Archive* archive,
                 const Between& between, ArchivedCheckpoint* checkpoint, uint64_t* bytes) {
  for (const HeldState::File& file : held.files) {
    // Tables never change and never share a number; of what stands beside, a change shows.
    std::string object = std::to_string(checkpoint->number) + "-" + file.path;
    if (file.path.ends_with(".sst")) object = file.path;
    if (file.path.find('/') != std::string::npos) {
      HF_TRY(object, ObjectOf(store.file_system.get(), file.path, file.source));
    }
    ArchivedFile shipped;
    if (auto there = known.find(object); there != known.end()) {
      shipped = there->second;
    } else {
      HF_TRY(shipped, archive->Ship(store.file_system.get(), file.source, object, between, bytes));
    }
    shipped.path = file.path;
    checkpoint->files.push_back(std::move(shipped));
  }
  return Ok{};
}

Result<uint64_t> BackUp(Kv* kv, const StorePlace& store, const FileSystemPtr& file_system,
                        const std::string& directory, const base::Clock& clock) {
  if (file_system->FileExists(directory, {}, nullptr).ok())
    return ValidationError(directory + " is there already; name a new directory");
  std::string partial = directory + ".partial";
  HF_CHECK_OK(DeleteDirectory(file_system.get(), partial));
  uint64_t bytes = 0;
  {
    HeldUntilEnd let_go(store, kBackup);
    HF_TRY(HeldState held, HoldState(kv, store, kBackup, clock));
    Archive archive(file_system, partial);
    HF_CHECK_OK(archive.OpenForWriting("backup of " + kv->identity(), Missing::kIsMade));
    ArchivedCheckpoint checkpoint = held.checkpoint;
    checkpoint.number = 1;
    HF_CHECK_OK(ShipFiles(held, store, {}, &archive, {}, &checkpoint, &bytes));
    HF_CHECK_OK(archive.WriteCheckpoint(checkpoint));
  }
  IOStatus status = file_system->RenameFile(partial, directory, {}, nullptr);
  if (!status.ok()) return IoError(directory, status);
  size_t slash = directory.rfind('/');
  HF_CHECK_OK(
      SyncDirectory(file_system.get(), slash == std::string::npos ? "." : directory.substr(0, slash + 1)));
  return bytes;
}

}  // namespace holdfast::storage
