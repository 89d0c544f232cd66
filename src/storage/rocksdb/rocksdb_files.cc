#include "storage/rocksdb/rocksdb_files.h"

#include <rocksdb/file_system.h>

#include <cstring>

#include "storage/rocksdb/status.h"

namespace holdfast::storage {
namespace {

std::string PartialPath(const std::string& path) {
  return path + std::string(kPartialFile);
}

class Writer final : public FileWriter {
 public:
  Writer(std::unique_ptr<rocksdb::FSWritableFile> file, rocksdb::FileSystem* file_system,
         std::string directory, const std::string& name)
      : file_(std::move(file)),
        file_system_(file_system),
        directory_(std::move(directory)),
        path_(directory_ + "/" + name) {}
  ~Writer() override {
    if (finished_) return;
    file_.reset();
    file_system_->DeleteFile(PartialPath(path_), {}, nullptr).PermitUncheckedError();
  }

  Status Append(ByteView bytes) override {
    return ToStatus(file_->Append(rocksdb::Slice(bytes.data(), bytes.size()), {}, nullptr));
  }

  Status Finish() override {
    HF_CHECK_OK(ToStatus(file_->Fsync({}, nullptr)));
    HF_CHECK_OK(ToStatus(file_->Close({}, nullptr)));
    HF_CHECK_OK(ToStatus(file_system_->RenameFile(PartialPath(path_), path_, {}, nullptr)));
    finished_ = true;
    std::unique_ptr<rocksdb::FSDirectory> names;
    HF_CHECK_OK(ToStatus(file_system_->NewDirectory(directory_, {}, &names, nullptr)));
    return ToStatus(names->Fsync({}, nullptr));
  }

 private:
  std::unique_ptr<rocksdb::FSWritableFile> file_;
  rocksdb::FileSystem* const file_system_;
  const std::string directory_;
  const std::string path_;
  bool finished_ = false;  // it has its name
};

class Reader final : public FileReader {
 public:
  explicit Reader(std::unique_ptr<rocksdb::FSSequentialFile> file) : file_(std::move(file)) {}

  Status Read(size_t bytes, char* out) override {
    while (bytes > 0) {
      rocksdb::Slice got;
      HF_CHECK_OK(ToStatus(file_->Read(bytes, {}, &got, out, nullptr)));
      if (got.empty()) return Error(ErrorCode::kCorruption, "the file ends too early");
      if (got.data() != out) std::memmove(out, got.data(), got.size());
      out += got.size();
      bytes -= got.size();
    }
    return Ok{};
  }

 private:
  const std::unique_ptr<rocksdb::FSSequentialFile> file_;
};

class RocksDbFiles final : public Files {
 public:
  RocksDbFiles(std::shared_ptr<rocksdb::FileSystem> file_system, std::string directory)
      : file_system_(std::move(file_system)), directory_(std::move(directory)) {}

  Result<std::unique_ptr<FileWriter>> Create(const std::string& name) override {
    HF_CHECK_OK(ToStatus(file_system_->CreateDirIfMissing(directory_, {}, nullptr)));
    std::unique_ptr<rocksdb::FSWritableFile> file;
    HF_CHECK_OK(ToStatus(file_system_->NewWritableFile(PartialPath(PathOf(name)), {}, &file, nullptr)));
    return std::unique_ptr<FileWriter>(
        std::make_unique<Writer>(std::move(file), file_system_.get(), directory_, name));
  }

  Result<std::unique_ptr<FileReader>> Open(const std::string& name) override {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    HF_CHECK_OK(ToStatus(file_system_->NewSequentialFile(PathOf(name), {}, &file, nullptr)));
    return std::unique_ptr<FileReader>(std::make_unique<Reader>(std::move(file)));
  }

  Status Delete(const std::string& name) override {
    return ToStatus(file_system_->DeleteFile(PathOf(name), {}, nullptr));
  }

  Result<std::vector<std::string>> List() override {
    std::vector<std::string> names;
    rocksdb::IOStatus listed = file_system_->GetChildren(directory_, {}, &names, nullptr);
    if (listed.IsNotFound() || listed.IsPathNotFound()) return std::vector<std::string>();
    HF_CHECK_OK(ToStatus(listed));
    std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
    return names;
  }

 private:
  std::string PathOf(const std::string& name) const { return directory_ + "/" + name; }

  const std::shared_ptr<rocksdb::FileSystem> file_system_;
  const std::string directory_;
};

}  // namespace

std::unique_ptr<Files> OpenRocksDbFiles(std::shared_ptr<rocksdb::FileSystem> file_system,
                                        const std::string& directory) {
  return std::make_unique<RocksDbFiles>(std::move(file_system), directory);
}

}  // namespace holdfast::storage
