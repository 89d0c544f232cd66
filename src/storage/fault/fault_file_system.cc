#include "storage/fault/fault_file_system.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace holdfast::storage {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

constexpr uint64_t kPage = 4096;
constexpr std::string_view kParkedSuffix = ".parked";

std::string DirectoryOf(const std::string& path) {
  return fs::path(path).parent_path().lexically_normal().string();
}

std::string ReadBytes(const std::string& path, uint64_t offset, uint64_t count) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

void WriteBytes(const std::string& path, uint64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  HF_ASSERT(file.good());
}

}  // namespace

// A file that is appended to.
class FaultFileSystem::WritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WritableFile(FaultFileSystem* disk, ContentPtr content, std::unique_ptr<rocksdb::FSWritableFile> target)
      : FSWritableFileOwnerWrapper(std::move(target)), disk_(disk), content_(std::move(content)) {}

  using FSWritableFileOwnerWrapper::PositionedAppend;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    if (IOStatus status = disk_->Write(content_.get(), end_, data.size()); !status.ok()) return status;
    end_ += data.size();
    return target()->Append(data, options, debug);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return disk_->Sync(content_.get()); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return disk_->Sync(content_.get()); }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    // RocksDB cuts off what it preallocated when it closes a file: never below what it wrote.
    HF_ASSERT(size == end_);
    return target()->Truncate(size, options, debug);
  }

  void StartAt(uint64_t offset) { end_ = offset; }

 private:
  FaultFileSystem* const disk_;
  const ContentPtr content_;
  uint64_t end_ = 0;
};

// A file that is written anywhere.
class FaultFileSystem::RandomRWFile final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  RandomRWFile(FaultFileSystem* disk, ContentPtr content, std::unique_ptr<rocksdb::FSRandomRWFile> target)
      : FSRandomRWFileOwnerWrapper(std::move(target)), disk_(disk), content_(std::move(content)) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* debug) override {
    if (IOStatus status = disk_->Write(content_.get(), offset, data.size()); !status.ok()) return status;
    return target()->Write(offset, data, options, debug);
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return disk_->Sync(content_.get()); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return disk_->Sync(content_.get()); }

 private:
  FaultFileSystem* const disk_;
  const ContentPtr content_;
};

class FaultFileSystem::Directory final : public rocksdb::FSDirectoryWrapper {
 public:
  Directory(FaultFileSystem* disk, std::string path, std::unique_ptr<rocksdb::FSDirectory> target)
      : FSDirectoryWrapper(std::move(target)), disk_(disk), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return disk_->SyncNames(path_); }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*, const rocksdb::DirFsyncOptions&) override {
    return disk_->SyncNames(path_);
  }

 private:
  FaultFileSystem* const disk_;
  const std::string path_;
};

FaultFileSystem::FaultFileSystem(uint64_t seed)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), random_(seed) {}

void FaultFileSystem::CutAfter(uint64_t operations) {
  base::MutexLock lock(&mu_);
  cut_at_ = operations_ + operations;
}

bool FaultFileSystem::is_cut() const {
  base::MutexLock lock(&mu_);
  return operations_ >= cut_at_;
}

void FaultFileSystem::FailSyncs(bool fail) {
  base::MutexLock lock(&mu_);
  fail_syncs_ = fail;
}

void FaultFileSystem::LimitSpace(uint64_t bytes) {
  base::MutexLock lock(&mu_);
  space_left_ = bytes;
}

uint64_t FaultFileSystem::operations() const {
  base::MutexLock lock(&mu_);
  return operations_;
}

IOStatus FaultFileSystem::Step() {
  if (operations_ >= cut_at_) return IOStatus::IOError("the power is gone");
  ++operations_;
  return operations_ >= cut_at_ ? IOStatus::IOError("the power is gone") : IOStatus::OK();
}

// Notes what is about to be overwritten. A write that the cut interrupts has not happened.
IOStatus FaultFileSystem::Write(Content* content, uint64_t offset, uint64_t bytes) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  if (bytes > space_left_) return IOStatus::NoSpace("the disk is full");
  if (space_left_ != UINT64_MAX) space_left_ -= bytes;
  for (uint64_t page = offset / kPage; page * kPage < std::min(offset + bytes, content->synced_size);
       ++page) {
    if (content->overwritten.contains(page)) continue;
    uint64_t end = std::min((page + 1) * kPage, content->synced_size);
    content->overwritten.emplace(page, ReadBytes(content->path, page * kPage, end - page * kPage));
  }
  content->size = std::max(content->size, offset + bytes);
  return IOStatus::OK();
}

IOStatus FaultFileSystem::Sync(Content* content) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  if (fail_syncs_) return IOStatus::IOError("the sync failed");
  content->synced_size = content->size;
  content->overwritten.clear();
  return IOStatus::OK();
}

IOStatus FaultFileSystem::SyncNames(const std::string& directory) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  if (fail_syncs_) return IOStatus::IOError("the sync failed");
  std::erase_if(name_changes_, [&](const NameChange& change) {
    if (DirectoryOf(change.to.empty() ? change.from : change.to) != directory) return false;
    if (!change.parked.empty()) fs::remove(change.parked);
    return true;
  });
  return IOStatus::OK();
}

FaultFileSystem::ContentPtr FaultFileSystem::ContentOf(const std::string& path) {
  ContentPtr& content = contents_[path];
  if (content == nullptr) {  // from before this disk was ours: long durable
    content = std::make_shared<Content>();
    content->path = path;
    content->size = content->synced_size = fs::file_size(path);
  }
  return content;
}

IOStatus FaultFileSystem::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* file,
                                          IODebugContext* debug) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  NameChange change{NameChange::Kind::kCreate, {}, path, {}};
  if (fs::exists(path)) change.parked = Park(path);
  std::unique_ptr<rocksdb::FSWritableFile> opened;
  if (IOStatus status = target()->NewWritableFile(path, options, &opened, debug); !status.ok()) return status;
  auto content = std::make_shared<Content>();
  content->path = path;
  contents_[path] = content;
  name_changes_.push_back(std::move(change));
  *file = std::make_unique<WritableFile>(this, content, std::move(opened));
  return IOStatus::OK();
}

IOStatus FaultFileSystem::ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                                             IODebugContext* debug) {
  if (!fs::exists(path)) return NewWritableFile(path, options, file, debug);
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  std::unique_ptr<rocksdb::FSWritableFile> opened;
  if (IOStatus status = target()->ReopenWritableFile(path, options, &opened, debug); !status.ok())
    return status;
  ContentPtr content = ContentOf(path);
  auto reopened = std::make_unique<WritableFile>(this, content, std::move(opened));
  reopened->StartAt(content->size);
  *file = std::move(reopened);
  return IOStatus::OK();
}

IOStatus FaultFileSystem::ReuseWritableFile(const std::string&, const std::string&,
                                            const rocksdb::FileOptions&,
                                            std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return IOStatus::NotSupported("log files are not recycled");
}

IOStatus FaultFileSystem::NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                          IODebugContext* debug) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  std::unique_ptr<rocksdb::FSRandomRWFile> opened;
  if (IOStatus status = target()->NewRandomRWFile(path, options, &opened, debug); !status.ok()) return status;
  *file = std::make_unique<RandomRWFile>(this, ContentOf(path), std::move(opened));
  return IOStatus::OK();
}

IOStatus FaultFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                       std::unique_ptr<rocksdb::FSDirectory>* directory,
                                       IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> opened;
  if (IOStatus status = target()->NewDirectory(path, options, &opened, debug); !status.ok()) return status;
  *directory =
      std::make_unique<Directory>(this, fs::path(path).lexically_normal().string(), std::move(opened));
  return IOStatus::OK();
}

IOStatus FaultFileSystem::GetChildren(const std::string& directory, const IOOptions& options,
                                      std::vector<std::string>* children, IODebugContext* debug) {
  IOStatus status = target()->GetChildren(directory, options, children, debug);
  std::erase_if(*children, [](const std::string& name) { return name.ends_with(kParkedSuffix); });
  return status;
}

IOStatus FaultFileSystem::DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  if (!fs::exists(path)) return IOStatus::PathNotFound(path);
  name_changes_.push_back({NameChange::Kind::kDelete, path, {}, Park(path)});
  return IOStatus::OK();
}

IOStatus FaultFileSystem::RenameFile(const std::string& from, const std::string& to, const IOOptions&,
                                     IODebugContext*) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  if (!fs::exists(from)) return IOStatus::PathNotFound(from);
  if (fs::is_directory(from)) {
    MoveDirectory(from, to);
    return IOStatus::OK();
  }
  NameChange change{NameChange::Kind::kRename, from, to, {}};
  if (fs::exists(to)) change.parked = Park(to);
  Move(from, to);
  name_changes_.push_back(std::move(change));
  return IOStatus::OK();
}

IOStatus FaultFileSystem::DeleteDir(const std::string& path, const IOOptions& options,
                                    IODebugContext* debug) {
  base::MutexLock lock(&mu_);
  if (IOStatus status = Step(); !status.ok()) return status;
  if (IOStatus status = target()->DeleteDir(path, options, debug); !status.ok()) return status;
  std::erase_if(name_changes_, [&](const NameChange& change) {
    if (!(change.to.empty() ? change.from : change.to).starts_with(path + "/")) return false;
    if (!change.parked.empty()) fs::remove(change.parked);
    return true;
  });
  return IOStatus::OK();
}

IOStatus FaultFileSystem::LinkFile(const std::string&, const std::string&, const IOOptions&,
                                   IODebugContext*) {
  return IOStatus::NotSupported("no links on this disk");
}

IOStatus FaultFileSystem::Truncate(const std::string&, size_t, const IOOptions&, IODebugContext*) {
  return IOStatus::NotSupported("no truncation on this disk");
}

// Moves what stands under `path` out of the way, to come back if the change that replaces it is lost.
std::string FaultFileSystem::Park(const std::string& path) {
  fs::path lot = DirectoryOf(path) + std::string(kParkedSuffix);
  fs::create_directories(lot);
  std::string parked = lot / std::to_string(parked_++);
  Move(path, parked);
  return parked;
}

void FaultFileSystem::Move(const std::string& from, const std::string& to) {
  ContentPtr content = ContentOf(from);
  fs::rename(from, to);
  contents_.erase(from);
  content->path = to;
  contents_[to] = std::move(content);
}

// Durable at once, with the names in it as undecided as they were.
void FaultFileSystem::MoveDirectory(const std::string& from, const std::string& to) {
  fs::rename(from, to);
  auto moved = [&](std::string* path) {
    bool inside = path->starts_with(from + "/");
    if (inside) path->replace(0, from.size(), to);
    return inside;
  };
  std::map<std::string, ContentPtr> contents;
  for (auto& [path, content] : contents_) {
    std::string now = path;
    if (moved(&now)) content->path = now;
    contents[now] = std::move(content);
  }
  contents_ = std::move(contents);
  for (NameChange& change : name_changes_) {
    moved(&change.from);
    moved(&change.to);
  }
}

void FaultFileSystem::Restore() {
  base::MutexLock lock(&mu_);
  HF_ASSERT(operations_ >= cut_at_);
  size_t kept = random_.Below(name_changes_.size() + 1);
  for (size_t i = name_changes_.size(); i > kept; --i) Undo(name_changes_[i - 1]);
  for (size_t i = 0; i < kept; ++i) {
    if (!name_changes_[i].parked.empty()) fs::remove(name_changes_[i].parked);
  }
  name_changes_.clear();
  for (auto& [path, content] : contents_) {
    if (fs::exists(path)) LosePages(content.get());
  }
  contents_.clear();  // what is there now is durable
  operations_ = 0;
  cut_at_ = UINT64_MAX;
}

void FaultFileSystem::Undo(const NameChange& change) {
  if (change.kind == NameChange::Kind::kCreate) {
    fs::remove(change.to);
    contents_.erase(change.to);
  }
  if (change.kind == NameChange::Kind::kRename) Move(change.to, change.from);
  if (!change.parked.empty()) Move(change.parked, change.to.empty() ? change.from : change.to);
}

// Leaves the synced bytes and a random choice of the pages that were written since.
void FaultFileSystem::LosePages(Content* content) {
  for (const auto& [page, bytes] : content->overwritten) {
    if (random_.Below(2) == 0) WriteBytes(content->path, page * kPage, bytes);
  }
  uint64_t written = std::min<uint64_t>(content->size, fs::file_size(content->path));
  uint64_t length = content->synced_size;
  if (written > length) length += random_.Below(written - length + 1);
  // One time in two nothing but the length is lost; in the other, pages within it never reached the disk.
  if (random_.Below(2) == 0) {
    for (uint64_t page = content->synced_size / kPage; page * kPage < length; ++page) {
      uint64_t begin = std::max(page * kPage, content->synced_size),
               end = std::min((page + 1) * kPage, length);
      if (begin < end && random_.Below(3) == 0)
        WriteBytes(content->path, begin, std::string(end - begin, '\0'));
    }
  }
  fs::resize_file(content->path, length);
}

}  // namespace holdfast::storage
