#include "storage/archive/archive.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <set>
#include <sstream>

#include "storage/encryption/file_header.h"
#include "storage/rocksdb/status.h"

namespace holdfast::storage {
namespace {

using rocksdb::IOStatus;

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kBeingRewritten = ".sealing";  // by whoever looks after encryption
constexpr std::string_view kArchiveLine = "holdfast archive, format ";
constexpr std::string_view kCheckpointLine = "holdfast checkpoint, format ";
constexpr std::string_view kAdditionsLine = "holdfast additions, format ";
constexpr std::string_view kHeadLine = "holdfast head, format ";
constexpr int kVersion = 3;  // with that of stores, which are restored from what it holds
constexpr int kLastOfOldChecksum = 2;
constexpr std::string_view kFile = "file", kFileFormat2 = "file2";
constexpr size_t kPiece = 1 << 20;
constexpr int kNumberDigits = 10;

std::string ParentOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Lines of text, closed by a checksum of those before it: whoever looks can read them.
class ListWriter {
 public:
  explicit ListWriter(std::string_view first) {
    text_.append(first).append(std::to_string(kVersion)) += "\n";
  }
  void Add(std::string_view name, uint64_t value) {
    text_.append(name).append(" ").append(std::to_string(value)) += "\n";
  }
  void Add(const ArchivedFile& file) {
    char sum[20];
    std::snprintf(sum, sizeof sum, "%016" PRIx64, file.checksum);
    text_.append(file.checked_by == base::ChecksumKind::kXxh3 ? kFile : kFileFormat2);
    text_.append(" ").append(std::to_string(file.size)).append(" ").append(sum).append(" ");
    text_.append(file.object).append(" ").append(file.path) += "\n";
  }
  std::string Take() {
    char line[40];
    std::snprintf(line, sizeof line, "checksum %016" PRIx64 "\n", base::ChecksumOf(text_));
    return std::move(text_.append(line));
  }

 private:
  std::string text_;
};

struct List {
  std::map<std::string, uint64_t> numbers;
  std::vector<ArchivedFile> files;
};

Result<List> ReadList(const std::string& path, const std::string& text, std::string_view first) {
  auto damaged = [&] { return Error(ErrorCode::kCorruption, path + " is damaged"); };
  size_t end = text.rfind("checksum ");
  if (end == std::string::npos || text.compare(0, first.size(), first) != 0) return damaged();
  int version = std::atoi(text.c_str() + first.size());
  auto kind = version > kLastOfOldChecksum ? base::ChecksumKind::kXxh3 : base::ChecksumKind::kFormat2;
  if (std::strtoull(text.c_str() + end + 9, nullptr, 16) !=
      base::ChecksumOf(ByteView(text).substr(0, end), kind))
    return damaged();
  std::istringstream lines(text.substr(0, end));
  std::string line;
  std::getline(lines, line);
  if (version > kVersion)
    return Error(ErrorCode::kNewerFormat, path + " was written by a later version of holdfast");
  List list;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name != kFile && name != kFileFormat2) {
      words >> list.numbers[name];
      continue;
    }
    ArchivedFile file;
    file.checked_by = name == kFileFormat2 ? base::ChecksumKind::kFormat2 : kind;
    words >> file.size >> std::hex >> file.checksum >> file.object;
    words.get();
    std::getline(words, file.path);
    if (file.path.empty()) return damaged();
    list.files.push_back(std::move(file));
  }
  return list;
}

}  // namespace

Error IoError(const std::string& what, const IOStatus& status) {
  return Error(ErrorCode::kIo, what + ": " + status.ToString());
}

Status SyncDirectory(rocksdb::FileSystem* file_system, const std::string& directory) {
  std::unique_ptr<rocksdb::FSDirectory> names;
  IOStatus status = file_system->NewDirectory(directory, {}, &names, nullptr);
  if (status.ok()) status = names->Fsync({}, nullptr);
  if (!status.ok()) return IoError(directory, status);
  return Ok{};
}

Result<std::vector<std::string>> NamesIn(rocksdb::FileSystem* file_system, const std::string& directory) {
  std::vector<std::string> names;
  IOStatus status = file_system->GetChildren(directory, {}, &names, nullptr);
  if (IsMissing(status)) return std::vector<std::string>();
  if (!status.ok()) return IoError(directory, status);
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  std::sort(names.begin(), names.end());
  return names;
}

Status DeleteDirectory(rocksdb::FileSystem* file_system, const std::string& directory) {
  HF_TRY(std::vector<std::string> names, NamesIn(file_system, directory));
  for (const std::string& name : names) {
    std::string path = directory + "/" + name;
    bool is_directory = false;
    if (file_system->IsDirectory(path, {}, &is_directory, nullptr).ok() && is_directory) {
      HF_CHECK_OK(DeleteDirectory(file_system, path));
    } else if (IOStatus status = file_system->DeleteFile(path, {}, nullptr); !status.ok()) {
      return IoError(path, status);
    }
  }
  IOStatus status = file_system->DeleteDir(directory, {}, nullptr);
  if (!status.ok() && !IsMissing(status) && !names.empty()) return IoError(directory, status);
  return Ok{};
}

namespace {

Result<Copied> ReadThrough(rocksdb::FileSystem* from, const std::string& source, base::ChecksumKind checksum,
                           const Between& between, const std::function<Status(const rocksdb::Slice&)>& take) {
  std::unique_ptr<rocksdb::FSSequentialFile> in;
  if (IOStatus status = from->NewSequentialFile(source, {}, &in, nullptr); !status.ok())
    return IsMissing(status) ? Error(ErrorCode::kResourceNotFound, source + " is missing")
                             : IoError(source, status);
  std::string buffer(kPiece, '\0');
  Copied copied;
  base::Checksum sum(checksum);
  while (true) {
    if (between) HF_CHECK_OK(between());
    rocksdb::Slice got;
    if (IOStatus status = in->Read(buffer.size(), {}, &got, buffer.data(), nullptr); !status.ok())
      return IoError(source, status);
    if (got.empty()) break;
    if (take) HF_CHECK_OK(take(got));
    sum.Update({got.data(), got.size()});
    copied.size += got.size();
  }
  copied.checksum = sum.Value();
  return copied;
}

}  // namespace

Result<Copied> CopyFile(rocksdb::FileSystem* from, const std::string& source, rocksdb::FileSystem* to,
                        const std::string& target, base::ChecksumKind checksum, const Between& between) {
  // One that is not there leaves no copy.
  if (IOStatus there = from->FileExists(source, {}, nullptr); IsMissing(there))
    return Error(ErrorCode::kResourceNotFound, source + " is missing");
  std::unique_ptr<rocksdb::FSWritableFile> out;
  if (IOStatus status = to->NewWritableFile(target, {}, &out, nullptr); !status.ok())
    return IoError(target, status);
  HF_TRY(Copied copied,
         ReadThrough(from, source, checksum, between, [&](const rocksdb::Slice& got) -> Status {
           if (IOStatus status = out->Append(got, {}, nullptr); !status.ok()) return IoError(target, status);
           return Ok{};
         }));
  IOStatus status = out->Fsync({}, nullptr);
  if (status.ok()) status = out->Close({}, nullptr);
  if (!status.ok()) return IoError(target, status);
  return copied;
}

// --- the directory ---

Status Archive::OpenForWriting(const std::string& identity, Missing missing) {
  if (lock_ != nullptr) return Ok{};
  IOStatus status = missing == Missing::kIsAway ? file_system_->FileExists(directory_, {}, nullptr)
                                                : file_system_->CreateDirIfMissing(directory_, {}, nullptr);
  if (missing == Missing::kIsAway && IsMissing(status))
    return Error(ErrorCode::kIo, directory_ + " is gone: mount it again, or make it anew");
  if (!status.ok()) return IoError(directory_, status);
  std::string mark = directory_ + "/ARCHIVE";
  if (IsMissing(file_system_->FileExists(mark, {}, nullptr))) {
    HF_TRY(std::vector<std::string> names, NamesIn(file_system_.get(), directory_));
    std::erase_if(names, [](const std::string& name) {
      return name == "LOCK" || name == "ARCHIVE" + std::string(kPartial);
    });
    if (!names.empty()) {
      return ValidationError(directory_ + " holds something that is not a holdfast archive (" + names[0] +
                             "); name an empty or a new directory");
    }
    HF_CHECK_OK(WriteMark(identity));
  }
  HF_TRY(std::string owner, Identity());
  if (owner != identity) {
    return ValidationError(directory_ + " is the archive of another store (" + owner + "; this one is " +
                           identity + "); two stores cannot share one, and a restored store begins its own");
  }
  for (const char* kind : {"checkpoints", "log", "additions", "files"}) {
    status = file_system_->CreateDirIfMissing(directory_ + "/" + kind, {}, nullptr);
    if (!status.ok()) return IoError(directory_ + "/" + kind, status);
  }
  HF_CHECK_OK(SyncDirectory(file_system_.get(), directory_));
  status = file_system_->LockFile(directory_ + "/LOCK", {}, &lock_, nullptr);
  if (!status.ok()) {
    lock_ = nullptr;
    return Error(ErrorCode::kLocked, directory_ + " is in use by another process: " + status.ToString());
  }
  // So that the archive does not need the version of the key that it was made under.
  Status marked = WriteMark(identity);
  if (!marked) Unlock();
  return marked;
}

Status Archive::CheckThere() const {
  std::string mark = directory_ + "/ARCHIVE";
  IOStatus there = file_system_->FileExists(mark, {}, nullptr);
  if (IsMissing(there)) return Error(ErrorCode::kIo, directory_ + " is gone: " + mark + " is missing");
  if (!there.ok()) return IoError(mark, there);
  return Ok{};
}

Status Archive::WriteMark(const std::string& identity) {
  return WriteWhole(directory_ + "/ARCHIVE",
                    std::string(kArchiveLine) + std::to_string(kVersion) + "\nstore " + identity + "\n");
}

void Archive::Unlock() {
  if (lock_ != nullptr) file_system_->UnlockFile(lock_, {}, nullptr).PermitUncheckedError();
  lock_ = nullptr;
}

Result<std::string> Archive::Identity() const {
  std::string path = directory_ + "/ARCHIVE";
  if (IOStatus there = file_system_->FileExists(path, {}, nullptr); !there.ok()) {
    if (IsMissing(there)) return ValidationError(directory_ + " is no holdfast archive or backup");
    return IoError(path, there);
  }
  HF_TRY(std::string text, ReadWhole(path));
  HF_TRY([[maybe_unused]] FileHeader header,
         ReadHeader(text, path, nullptr));  // refuses what is still encrypted
  size_t store = text.find("\nstore ");
  if (text.compare(0, kArchiveLine.size(), kArchiveLine) != 0 || store == std::string::npos)
    return Error(ErrorCode::kCorruption, path + " is damaged");
  if (std::atoi(text.c_str() + kArchiveLine.size()) > kVersion)
    return Error(ErrorCode::kNewerFormat, path + " was written by a later version of holdfast");
  return text.substr(store + 7, text.find('\n', store + 7) - store - 7);
}

Result<std::vector<uint64_t>> Archive::Numbers(const std::string& kind) const {
  HF_TRY(std::vector<std::string> names, NamesIn(file_system_.get(), directory_ + "/" + kind));
  std::vector<uint64_t> numbers;
  for (const std::string& name : names) {
    uint64_t number = 0;
    auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string Archive::PathOf(const std::string& kind, uint64_t number) const {
  std::string digits = std::to_string(number);
  if (digits.size() < kNumberDigits) digits.insert(0, kNumberDigits - digits.size(), '0');
  return directory_ + "/" + kind + "/" + digits;
}

Status Archive::SyncDirectoryOf(const std::string& path) {
  return SyncDirectory(file_system_.get(), ParentOf(path));
}

Status Archive::WriteWhole(const std::string& path, ByteView bytes) {
  std::string partial = path + std::string(kPartial);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = file_system_->NewWritableFile(partial, {}, &file, nullptr);
  if (status.ok()) status = file->Append({bytes.data(), bytes.size()}, {}, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  if (status.ok()) status = file_system_->RenameFile(partial, path, {}, nullptr);
  if (!status.ok()) return IoError(path, status);
  return SyncDirectoryOf(path);
}

Result<std::string> Archive::ReadWhole(const std::string& path) const {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  if (IOStatus status = file_system_->NewSequentialFile(path, {}, &file, nullptr); !status.ok())
    return IsMissing(status) ? Error(ErrorCode::kResourceNotFound, path + " is missing")
                             : IoError(path, status);
  std::string text;
  std::string piece(64 << 10, '\0');
  while (true) {
    rocksdb::Slice got;
    if (IOStatus status = file->Read(piece.size(), {}, &got, piece.data(), nullptr); !status.ok())
      return IoError(path, status);
    if (got.empty()) return text;
    text.append(got.data(), got.size());
  }
}

// --- checkpoints and additions ---

Result<ArchivedCheckpoint> Archive::ReadCheckpoint(uint64_t number) const {
  std::string path = PathOf("checkpoints", number);
  HF_TRY(std::string text, ReadWhole(path));
  HF_TRY(List list, ReadList(path, text, kCheckpointLine));
  return ArchivedCheckpoint{number, list.numbers["sequence"], static_cast<int64_t>(list.numbers["time"]),
                            list.numbers["segment"], std::move(list.files)};
}

Status Archive::WriteCheckpoint(const ArchivedCheckpoint& checkpoint) {
  ListWriter list(kCheckpointLine);
  list.Add("sequence", checkpoint.sequence);
  list.Add("time", static_cast<uint64_t>(checkpoint.time_millis));
  list.Add("segment", checkpoint.segment);
  for (const ArchivedFile& file : checkpoint.files) list.Add(file);
  return WriteWhole(PathOf("checkpoints", checkpoint.number), list.Take());
}

Result<ArchivedAdditions> Archive::ReadAdditions(uint64_t number) const {
  std::string path = PathOf("additions", number);
  HF_TRY(std::string text, ReadWhole(path));
  HF_TRY(List list, ReadList(path, text, kAdditionsLine));
  return ArchivedAdditions{number, static_cast<int64_t>(list.numbers["time"]), std::move(list.files)};
}

Status Archive::WriteAdditions(const ArchivedAdditions& additions) {
  ListWriter list(kAdditionsLine);
  list.Add("time", static_cast<uint64_t>(additions.time_millis));
  for (const ArchivedFile& file : additions.files) list.Add(file);
  return WriteWhole(PathOf("additions", additions.number), list.Take());
}

Result<uint64_t> Archive::ReadHead() const {
  std::string path = directory_ + "/HEAD";
  if (IsMissing(file_system_->FileExists(path, {}, nullptr))) return uint64_t{0};
  HF_TRY(std::string text, ReadWhole(path));
  HF_TRY(List list, ReadList(path, text, kHeadLine));
  return list.numbers["segment"];
}

Status Archive::WriteHead(uint64_t segment) {
  ListWriter list(kHeadLine);
  list.Add("segment", segment);
  return WriteWhole(directory_ + "/HEAD", list.Take());
}

// --- files ---

Result<ArchivedFile> Archive::Ship(rocksdb::FileSystem* from, const std::string& path,
                                   const std::string& object, const Between& between, uint64_t* bytes) {
  std::string target = directory_ + "/files/" + object;
  // The same one may be shipped within itself.
  std::string depth = shipping_ == 0 ? "" : "." + std::to_string(shipping_);
  std::string partial = target + depth + std::string(kPartial);
  ++shipping_;
  auto copy = CopyFile(from, path, file_system_.get(), partial, base::ChecksumKind::kXxh3, between);
  --shipping_;
  HF_TRY(Copied copied, std::move(copy));
  if (IOStatus status = file_system_->RenameFile(partial, target, {}, nullptr); !status.ok())
    return IoError(target, status);
  HF_CHECK_OK(SyncDirectoryOf(target));
  *bytes += copied.size;
  return ArchivedFile{{}, object, copied.size, copied.checksum};
}

Status Archive::Fetch(const ArchivedFile& file, rocksdb::FileSystem* to, const std::string& path) const {
  std::string source = directory_ + "/files/" + file.object;
  auto copied = CopyFile(file_system_.get(), source, to, path, file.checked_by, {});
  if (!copied && copied.error().code() == ErrorCode::kResourceNotFound)
    return Error(ErrorCode::kCorruption, copied.error().message());
  if (!copied) return copied.error();
  if (copied->size != file.size || copied->checksum != file.checksum)
    return Error(ErrorCode::kCorruption, source + " is damaged");
  return Ok{};
}

Status Archive::Check(const ArchivedFile& file, Depth depth) const {
  std::string path = directory_ + "/files/" + file.object;
  Copied found;
  if (depth == Depth::kBytes) {
    auto read = ReadThrough(file_system_.get(), path, file.checked_by, {}, {});
    if (!read && read.error().code() == ErrorCode::kResourceNotFound)
      return Error(ErrorCode::kCorruption, read.error().message());
    HF_TRY(found, std::move(read));
  } else {
    IOStatus status = file_system_->GetFileSize(path, {}, &found.size, nullptr);
    if (IsMissing(status)) return Error(ErrorCode::kCorruption, path + " is missing");
    if (status.IsCorruption()) return Error(ErrorCode::kCorruption, path + " is damaged");
    if (!status.ok()) return IoError(path, status);
    found.checksum = file.checksum;
  }
  if (found.size != file.size || found.checksum != file.checksum)
    return Error(ErrorCode::kCorruption, path + " is damaged");
  return Ok{};
}

Status Archive::Delete(const std::string& kind, uint64_t number) {
  std::string path = PathOf(kind, number);
  IOStatus status = file_system_->DeleteFile(path, {}, nullptr);
  if (!status.ok() && !IsMissing(status)) return IoError(path, status);
  return Ok{};
}

Status Archive::DeleteUnnamedFiles() {
  std::set<std::string> named;
  HF_TRY(std::vector<uint64_t> checkpoints, Numbers("checkpoints"));
  for (uint64_t number : checkpoints) {
    HF_TRY(ArchivedCheckpoint checkpoint, ReadCheckpoint(number));
    for (ArchivedFile& file : checkpoint.files) named.insert(std::move(file.object));
  }
  HF_TRY(std::vector<uint64_t> additions, Numbers("additions"));
  for (uint64_t number : additions) {
    HF_TRY(ArchivedAdditions added, ReadAdditions(number));
    for (ArchivedFile& file : added.files) named.insert(std::move(file.object));
  }
  HF_TRY(std::vector<std::string> objects, NamesIn(file_system_.get(), directory_ + "/files"));
  for (const std::string& object : objects) {
    std::string_view of = object;
    if (of.ends_with(kBeingRewritten)) of.remove_suffix(kBeingRewritten.size());
    if (named.contains(std::string(of))) continue;
    std::string path = directory_ + "/files/" + object;
    if (IOStatus status = file_system_->DeleteFile(path, {}, nullptr); !status.ok())
      return IoError(path, status);
  }
  return Ok{};
}

}  // namespace holdfast::storage
