#include "storage/memory/memory_files.h"

#include <cstring>

namespace holdfast::storage {

// Shows nothing before it is finished.
class MemoryFiles::Writer final : public FileWriter {
 public:
  Writer(MemoryFiles* files, std::string name) : files_(files), name_(std::move(name)) {}

  Status Append(ByteView bytes) override {
    content_.append(bytes);
    return Ok{};
  }
  Status Finish() override {
    base::MutexLock lock(&files_->mu_);
    files_->files_[name_] = std::make_shared<const std::string>(std::move(content_));
    return Ok{};
  }

 private:
  MemoryFiles* const files_;
  const std::string name_;
  std::string content_;
};

class MemoryFiles::Reader final : public FileReader {
 public:
  explicit Reader(std::shared_ptr<const std::string> content) : content_(std::move(content)) {}

  Status Read(size_t bytes, char* out) override {
    if (bytes > content_->size() - position_) return Error(ErrorCode::kCorruption, "the file ends too early");
    std::memcpy(out, content_->data() + position_, bytes);
    position_ += bytes;
    return Ok{};
  }

 private:
  const std::shared_ptr<const std::string> content_;
  size_t position_ = 0;
};

Result<std::unique_ptr<FileWriter>> MemoryFiles::Create(const std::string& name) {
  return std::unique_ptr<FileWriter>(std::make_unique<Writer>(this, name));
}

Result<std::unique_ptr<FileReader>> MemoryFiles::Open(const std::string& name) {
  base::MutexLock lock(&mu_);
  auto found = files_.find(name);
  if (found == files_.end()) return Error(ErrorCode::kIo, "there is no file " + name);
  return std::unique_ptr<FileReader>(std::make_unique<Reader>(found->second));
}

Status MemoryFiles::Delete(const std::string& name) {
  base::MutexLock lock(&mu_);
  if (files_.erase(name) == 0) return Error(ErrorCode::kIo, "there is no file " + name);
  return Ok{};
}

Result<std::vector<std::string>> MemoryFiles::List() {
  base::MutexLock lock(&mu_);
  std::vector<std::string> names;
  for (const auto& [name, content] : files_) names.push_back(name);
  return names;
}

}  // namespace holdfast::storage
