#include "storage/encryption/encrypted_file_system.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "storage/rocksdb/status.h"

namespace holdfast::storage {
namespace {

namespace fs = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

constexpr size_t kChunk = 1 << 20;
constexpr size_t kScan = 64 << 10;
constexpr std::string_view kUnfinished = ".sealing";

std::string Normal(const std::string& path) {
  return fs::path(path).lexically_normal().string();
}
std::string NameOf(const std::string& path) {
  return fs::path(path).filename().string();
}
bool IsLog(const std::string& path) {
  return path.ends_with(".log");
}
bool IsManifest(const std::string& path) {
  return NameOf(path).starts_with("MANIFEST-");
}
// Of what lies beside the store's own files, such as FORMAT, other programs read some.
bool IsRocksDbFile(const std::string& name) {
  return name == "CURRENT" || name == "IDENTITY" || name.starts_with("MANIFEST-") ||
         name.starts_with("OPTIONS-") || name.ends_with(".sst") || name.ends_with(".log") ||
         name.ends_with(".dbtmp");  // which is about to get another name
}

IOStatus ToIo(const Error& error) {
  return error.code() == ErrorCode::kCorruption ? IOStatus::Corruption(error.message())
                                                : IOStatus::IOError(error.message());
}
// Finds where the content of a marked file ends: at the last thing that is not zero, if that is the mark. If
// it is not, a power cut took what nobody had synced: everything is shown, and checksums say what is sound.
IOStatus FindEnd(const rocksdb::FSRandomAccessFile& file, uint64_t size, uint64_t* end) {
  *end = 0;
  std::string bytes(kScan + kEndMark.size(), '\0');
  for (uint64_t upper = size; upper > kHeaderBytes;) {
    uint64_t lower = upper > kHeaderBytes + kScan ? upper - kScan : kHeaderBytes;
    // A little more than is looked through, so that a mark is in it as a whole.
    uint64_t from = lower > kHeaderBytes + kEndMark.size() ? lower - kEndMark.size() : kHeaderBytes;
    Slice got;
    IOStatus status = file.Read(from, upper - from, {}, &got, bytes.data(), nullptr);
    if (!status.ok()) return status;
    ByteView view(got.data(), got.size());
    size_t last = view.find_last_not_of('\0');
    if (last != ByteView::npos && from + last >= lower) {
      bool marked = view.substr(0, last + 1).ends_with(kEndMark);
      *end = marked ? from + last + 1 - kEndMark.size() - kHeaderBytes : size - kHeaderBytes;
      return IOStatus::OK();
    }
    upper = lower;
  }
  return IOStatus::OK();
}

}  // namespace

// An open file and what its header says. Immutable.
class EncryptedFileSystem::Source {
 public:
  Source(std::unique_ptr<rocksdb::FSRandomAccessFile> file, FileHeader header, uint64_t end)
      : file_(std::move(file)), header_(std::move(header)), end_(end) {}

  const FileHeader& header() const { return header_; }
  // Of the content.
  uint64_t end() const { return end_; }
  uint64_t base() const { return header_.stream == nullptr ? 0 : kHeaderBytes; }
  rocksdb::FSRandomAccessFile* file() const { return file_.get(); }

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const {
    n = offset < end_ ? static_cast<size_t>(std::min<uint64_t>(n, end_ - offset)) : 0;
    if (n == 0) {
      *result = Slice(scratch, 0);
      return IOStatus::OK();
    }
    IOStatus status = file_->Read(base() + offset, n, options, result, scratch, debug);
    if (!status.ok() || header_.stream == nullptr) return status;
    header_.stream->Apply(offset, result->data(), scratch, result->size());
    *result = Slice(scratch, result->size());
    return status;
  }

 private:
  const std::unique_ptr<rocksdb::FSRandomAccessFile> file_;
  const FileHeader header_;
  const uint64_t end_;  // UINT64_MAX: with the file
};

class EncryptedFileSystem::SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    IOStatus status = source_->Read(position_, n, options, result, scratch, debug);
    if (status.ok()) position_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t n) override {
    position_ += n;
    return IOStatus::OK();
  }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    return source_->file()->InvalidateCache(source_->base() + offset, length);
  }
  IOStatus PositionedRead(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                          IODebugContext* debug) override {
    return source_->Read(offset, n, options, result, scratch, debug);
  }

 private:
  const std::shared_ptr<const Source> source_;
  uint64_t position_ = 0;
};

class EncryptedFileSystem::RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(EncryptedFileSystem* owner, std::string path, FileOptions options,
                   std::shared_ptr<const Source> source)
      : owner_(owner), path_(std::move(path)), options_(std::move(options)), source_(std::move(source)) {}
  ~RandomAccessFile() override {
    base::MutexLock lock(&owner_->mu_);
    auto [begin, end] = owner_->reading_.equal_range(path_);
    auto self = std::find_if(begin, end, [this](const auto& entry) { return entry.second == this; });
    if (self != end) owner_->reading_.erase(self);
  }

  // Goes on with what stands under the name now, which has the same content.
  void Reopen() {
    std::shared_ptr<const Source> source;
    if (!owner_->OpenSource(path_, options_, nullptr, &source).ok()) return;  // the old one still serves
    base::MutexLock lock(&mu_);
    source_ = std::move(source);
  }

  // MultiRead and ReadAsync come down to this.
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    return source()->Read(offset, n, options, result, scratch, debug);
  }
  IOStatus Prefetch(uint64_t offset, size_t n, const IOOptions& options, IODebugContext* debug) override {
    std::shared_ptr<const Source> source = this->source();
    return source->file()->Prefetch(source->base() + offset, n, options, debug);
  }
  size_t GetUniqueId(char* id, size_t max_size) const override {
    return source()->file()->GetUniqueId(id, max_size);
  }
  void Hint(AccessPattern pattern) override { source()->file()->Hint(pattern); }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    std::shared_ptr<const Source> source = this->source();
    return source->file()->InvalidateCache(source->base() + offset, length);
  }

 private:
  std::shared_ptr<const Source> source() const {
    base::MutexLock lock(&mu_);
    return source_;
  }

  EncryptedFileSystem* const owner_;
  const std::string path_;
  const FileOptions options_;
  mutable base::Mutex mu_;
  std::shared_ptr<const Source> source_ HF_GUARDED_BY(mu_);
};

// That a file is being written, until it is closed.
class EncryptedFileSystem::OpenFile {
 public:
  OpenFile(EncryptedFileSystem* owner, std::string path) : owner_(owner), path_(std::move(path)) {}
  ~OpenFile() { End(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // By the one thread that closes the file, which holds no lock of the file: the owner's comes before.
  void End() {
    if (std::exchange(open_, false)) owner_->StopWriting(path_);
  }

 private:
  EncryptedFileSystem* const owner_;
  const std::string path_;
  bool open_ = true;
};

// A file that is appended to, encrypted or not.
class EncryptedFileSystem::WritableFile final : public rocksdb::FSWritableFile {
 public:
  WritableFile(EncryptedFileSystem* owner, std::string path, FileOptions options,
               std::unique_ptr<rocksdb::FSWritableFile> target, std::shared_ptr<const crypt::Stream> stream)
      : FSWritableFile(options),
        owner_(owner),
        path_(std::move(path)),
        options_(std::move(options)),
        target_(std::move(target)),
        stream_(std::move(stream)),
        open_(owner, path_) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    if (!broken_.ok()) return broken_;
    IOStatus status = AppendThrough(target_.get(), stream_.get(), position_, data, &scratch_, options, debug);
    if (status.ok())
      position_ += data.size();
    else if (stream_ != nullptr)
      broken_ = status;  // some of it may be there: the same positions must not be encrypted once more
    return status;
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    // Positions must not come round again.
    if (size < position_)
      return IOStatus::NotSupported("an encrypted file is not cut off while it is written");
    return target_->Truncate(base() + size, options, debug);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = CloseTarget(options, debug);
    open_.End();
    return status;
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    return broken_.ok() ? target_->Flush(options, debug) : broken_;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    return broken_.ok() ? target_->Sync(options, debug) : broken_;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    return broken_.ok() ? target_->Fsync(options, debug) : broken_;
  }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override {
    base::MutexLock lock(&mu_);
    return position_;
  }
  void SetWriteLifeTimeHint(rocksdb::Env::WriteLifeTimeHint hint) override {
    base::MutexLock lock(&mu_);
    target_->SetWriteLifeTimeHint(hint);
  }
  void SetPreallocationBlockSize(size_t size) override {
    base::MutexLock lock(&mu_);
    target_->SetPreallocationBlockSize(size);
  }
  void GetPreallocationStatus(size_t* block_size, size_t* last_block) override {
    base::MutexLock lock(&mu_);
    target_->GetPreallocationStatus(block_size, last_block);
  }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    base::MutexLock lock(&mu_);
    return target_->InvalidateCache(base() + offset, length);
  }
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions& options,
                     IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    return broken_.ok() ? target_->RangeSync(base() + offset, bytes, options, debug) : broken_;
  }
  void PrepareWrite(size_t offset, size_t length, const IOOptions& options, IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    target_->PrepareWrite(base() + offset, length, options, debug);
  }
  IOStatus Allocate(uint64_t offset, uint64_t length, const IOOptions& options,
                    IODebugContext* debug) override {
    base::MutexLock lock(&mu_);
    return target_->Allocate(base() + offset, length, options, debug);
  }

  // Copies what was written into an encrypted file of the same name and goes on there. What is appended
  // meanwhile waits: it must not be synced to a file whose name a power cut may take.
  // Requires: owner_->mu_ is held, which keeps this object alive.
  IOStatus MoveTo(const std::string& unfinished, const NewHeader& header) {
    base::MutexLock lock(&mu_);
    if (!broken_.ok()) return broken_;
    std::shared_ptr<const Source> source;
    std::unique_ptr<rocksdb::FSWritableFile> copy;
    IOStatus status = target_->Flush({}, nullptr);
    if (status.ok()) status = owner_->OpenSource(path_, options_, nullptr, &source);
    if (status.ok()) status = owner_->CreateEncrypted(unfinished, options_, header, nullptr, &copy);
    if (status.ok()) status = owner_->CopyTo(copy.get(), *source, *header.stream);
    if (status.ok()) status = copy->Fsync({}, nullptr);
    if (!status.ok()) return status;
    if (status = owner_->target()->RenameFile(unfinished, path_, {}, nullptr); !status.ok()) return status;
    if (status = owner_->SyncDirectoryOf(path_); !status.ok()) {
      broken_ = status;  // which of the two a power cut would leave is not known any more
      return status;
    }
    target_->Close({}, nullptr).PermitUncheckedError();
    target_ = std::move(copy);
    stream_ = header.stream;
    return status;
  }

  // Also of the copies that a rewrite makes.
  static IOStatus AppendThrough(rocksdb::FSWritableFile* target, const crypt::Stream* stream,
                                uint64_t position, Slice data, std::string* scratch, const IOOptions& options,
                                IODebugContext* debug) {
    if (stream == nullptr) return target->Append(data, options, debug);
    IOStatus status;
    while (status.ok() && !data.empty()) {
      size_t some = std::min(data.size(), kChunk);
      if (scratch->size() < some) scratch->resize(some);
      stream->Apply(position, data.data(), scratch->data(), some);
      status = target->Append(Slice(scratch->data(), some), options, debug);
      data.remove_prefix(some);
      position += some;
    }
    return status;
  }

 private:
  IOStatus CloseTarget(const IOOptions& options, IODebugContext* debug) {
    base::MutexLock lock(&mu_);
    return broken_.ok() ? target_->Close(options, debug) : broken_;
  }
  uint64_t base() const HF_REQUIRES(mu_) { return stream_ == nullptr ? 0 : kHeaderBytes; }

  EncryptedFileSystem* const owner_;
  const std::string path_;
  const FileOptions options_;
  base::Mutex mu_;
  std::unique_ptr<rocksdb::FSWritableFile> target_ HF_GUARDED_BY(mu_);
  std::shared_ptr<const crypt::Stream> stream_ HF_GUARDED_BY(mu_);  // null: plain
  uint64_t position_ HF_GUARDED_BY(mu_) = 0;
  std::string scratch_ HF_GUARDED_BY(mu_);
  IOStatus broken_ HF_GUARDED_BY(mu_);
  OpenFile open_;  // goes first: until then the owner may call
};

// RocksDB opens the last log once more after it has read it, to cut off what was allocated and not used.
class EncryptedFileSystem::ReopenedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  IOStatus Append(const Slice&, const IOOptions&, IODebugContext*) override { return Refused(); }
  IOStatus Append(const Slice&, const IOOptions&, const rocksdb::DataVerificationInfo&,
                  IODebugContext*) override {
    return Refused();
  }
  using FSWritableFileOwnerWrapper::PositionedAppend;
  // The header, and zeros ahead of a log, are none of its business.
  IOStatus Truncate(uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  static IOStatus Refused() { return IOStatus::NotSupported("an encrypted file is not appended to"); }
};

// A log: appended to by position, with zeros ahead. Writes are made by one thread at a time.
class EncryptedFileSystem::LogFile final : public rocksdb::FSRandomRWFileOwnerWrapper, public ZerosAhead {
 public:
  LogFile(EncryptedFileSystem* owner, std::string path, std::unique_ptr<rocksdb::FSRandomRWFile> target,
          std::shared_ptr<const crypt::Stream> stream, bool is_new)
      : FSRandomRWFileOwnerWrapper(std::move(target)),
        stream_(std::move(stream)),
        end_(is_new ? 0 : UINT64_MAX),
        open_(owner, std::move(path)) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* debug) override {
    if (offset != end_)
      return IOStatus::NotSupported("an encrypted file is written from its begin to its end");
    IOStatus status;
    for (Slice left = data; status.ok() && !left.empty();) {
      size_t some = std::min(left.size(), kChunk);
      scratch_.resize(some);
      stream_->Apply(end_, left.data(), scratch_.data(), some);
      if (some == left.size()) scratch_ += kEndMark;
      status = target()->Write(kHeaderBytes + end_, scratch_, options, debug);
      left.remove_prefix(some);
      end_ += some;
    }
    if (!status.ok()) end_ = UINT64_MAX;  // what is there now is not known: nothing is written over it
    return status;
  }
  IOStatus WriteZeros(uint64_t end, uint64_t limit, const IOOptions& options,
                      IODebugContext* debug) override {
    HF_ASSERT(end == end_);
    static const std::string zeros(kChunk, '\0');
    IOStatus status;
    for (uint64_t at = end + kEndMark.size(); status.ok() && at < limit; at += kChunk) {
      status = target()->Write(kHeaderBytes + at, Slice(zeros.data(), std::min<uint64_t>(kChunk, limit - at)),
                               options, debug);
    }
    return status;
  }
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    IOStatus status = target()->Read(kHeaderBytes + offset, n, options, result, scratch, debug);
    if (!status.ok()) return status;
    stream_->Apply(offset, result->data(), scratch, result->size());
    *result = Slice(scratch, result->size());
    return status;
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = target()->Close(options, debug);
    open_.End();
    return status;
  }

 private:
  const std::shared_ptr<const crypt::Stream> stream_;
  uint64_t end_;  // of what was written; UINT64_MAX: nothing more may be
  std::string scratch_;
  OpenFile open_;  // goes first
};

// A plain file that is written anywhere: known to be open, for as long as it is.
class EncryptedFileSystem::OtherRWFile final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  OtherRWFile(EncryptedFileSystem* owner, std::string path, std::unique_ptr<rocksdb::FSRandomRWFile> target)
      : FSRandomRWFileOwnerWrapper(std::move(target)), open_(owner, std::move(path)) {}
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = target()->Close(options, debug);
    open_.End();
    return status;
  }

 private:
  OpenFile open_;
};

void EncryptedFileSystem::UseKeys(KeysPtr keys) {
  base::MutexLock lock(&mu_);
  base::MutexLock keys_lock(&keys_mu_);
  keys_ = std::move(keys);
}

void EncryptedFileSystem::StartEncrypting() {
  base::MutexLock lock(&mu_);
  base::MutexLock keys_lock(&keys_mu_);
  writes_ = Writes::kEncrypted;
}

KeysPtr EncryptedFileSystem::keys() const {
  base::MutexLock lock(&keys_mu_);
  return keys_;
}

bool EncryptedFileSystem::encrypting() const {
  base::MutexLock lock(&keys_mu_);
  return writes_ == Writes::kEncrypted;
}

void EncryptedFileSystem::Disturb(const std::string& path) {
  if (rewriting_ == Normal(path)) disturbed_ = true;
}

void EncryptedFileSystem::StopWriting(const std::string& path) {
  base::MutexLock lock(&mu_);
  writing_.erase(path);
}

IOStatus EncryptedFileSystem::OpenSource(const std::string& path, const FileOptions& options,
                                         IODebugContext* debug, std::shared_ptr<const Source>* source) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  IOStatus status = target()->NewRandomAccessFile(path, options, &file, debug);
  if (!status.ok()) return status;
  char scratch[kHeaderReadBytes];
  Slice begin;
  if (status = file->Read(0, sizeof scratch, {}, &begin, scratch, debug); !status.ok()) return status;
  Result<FileHeader> header = ReadHeader({begin.data(), begin.size()}, path, keys().get());
  if (!header) return ToIo(header.error());
  uint64_t end = header->kind == FileHeader::Kind::kEmpty ? 0 : UINT64_MAX;
  if (header->marked) {
    uint64_t size = 0;  // of a log, whose name is never given to another
    if (status = target()->GetFileSize(path, {}, &size, debug); !status.ok()) return status;
    if (status = FindEnd(*file, size, &end); !status.ok()) return status;
  }
  *source = std::make_shared<const Source>(std::move(file), *std::move(header), end);
  return status;
}

IOStatus EncryptedFileSystem::NewSequentialFile(const std::string& path, const FileOptions& options,
                                                std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                                IODebugContext* debug) {
  std::shared_ptr<const Source> source;
  IOStatus status = OpenSource(path, options, debug, &source);
  if (status.ok()) *file = std::make_unique<SequentialFile>(std::move(source));
  return status;
}

IOStatus EncryptedFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                                  std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                                  IODebugContext* debug) {
  std::string normal = Normal(path);
  base::MutexLock lock(&mu_);  // a rewrite finds every reader of what it replaces
  std::shared_ptr<const Source> source;
  IOStatus status = OpenSource(path, options, debug, &source);
  if (!status.ok()) return status;
  auto opened = std::make_unique<RandomAccessFile>(this, normal, options, std::move(source));
  reading_.emplace(std::move(normal), opened.get());
  *file = std::move(opened);
  return status;
}

IOStatus EncryptedFileSystem::CreateEncrypted(const std::string& path, const FileOptions& options,
                                              const NewHeader& header, IODebugContext* debug,
                                              std::unique_ptr<rocksdb::FSWritableFile>* file) {
  IOStatus status = target()->NewWritableFile(path, options, file, debug);
  if (status.ok()) status = (*file)->Append(header.bytes, options.io_options, debug);
  return status;
}

IOStatus EncryptedFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                                              IODebugContext* debug) {
  std::string normal = Normal(path);
  KeysPtr keys;  // null: a plain file
  {
    base::MutexLock lock(&mu_);
    Disturb(path);
    if (encrypting()) keys = this->keys();
    writing_[normal] = {nullptr, keys == nullptr ? 0 : keys->current};
  }
  std::shared_ptr<const crypt::Stream> stream;
  IOStatus status;
  if (keys == nullptr) {
    status = target()->NewWritableFile(path, options, file, debug);
  } else if (Result<NewHeader> header = MakeHeader(*keys, IsLog(path)); header) {
    stream = header->stream;
    status = CreateEncrypted(path, options, *header, debug, file);
  } else {
    status = ToIo(header.error());
  }
  if (!status.ok()) {
    StopWriting(normal);
    return status;
  }
  auto opened = std::make_unique<WritableFile>(this, normal, options, std::move(*file), std::move(stream));
  {
    base::MutexLock lock(&mu_);
    writing_[normal].file = opened.get();
  }
  *file = std::move(opened);
  return status;
}

IOStatus EncryptedFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                                 std::unique_ptr<rocksdb::FSWritableFile>* file,
                                                 IODebugContext* debug) {
  if (!target()->FileExists(path, {}, debug).ok()) return NewWritableFile(path, options, file, debug);
  base::MutexLock lock(&mu_);  // a rewrite has not replaced the file yet, or sees that it must not
  Disturb(path);
  std::shared_ptr<const Source> source;
  IOStatus status = OpenSource(path, options, debug, &source);
  if (status.ok()) status = target()->ReopenWritableFile(path, options, file, debug);
  if (!status.ok()) return status;
  bool plain = source->header().kind == FileHeader::Kind::kPlain;
  if (!plain || encrypting()) *file = std::make_unique<ReopenedFile>(std::move(*file));
  return status;
}

IOStatus EncryptedFileSystem::ReuseWritableFile(const std::string&, const std::string&, const FileOptions&,
                                                std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) {
  return IOStatus::NotSupported("an encrypted file is not written twice");
}

IOStatus EncryptedFileSystem::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                              IODebugContext* debug) {
  std::string normal = Normal(path);
  std::shared_ptr<const Source> source;
  uint64_t size = 0;
  IOStatus status;
  {
    base::MutexLock lock(&mu_);  // as above
    Disturb(path);
    if (status = OpenSource(path, options, debug, &source); !status.ok()) return status;
    if (status = target()->GetFileSize(path, {}, &size, debug); !status.ok()) return status;
    if (status = target()->NewRandomRWFile(path, options, file, debug); !status.ok()) return status;
    writing_[normal] = {nullptr, source->header().version};
  }
  if (source->header().stream == nullptr) {
    *file = std::make_unique<OtherRWFile>(this, std::move(normal), std::move(*file));
  } else {
    *file = std::make_unique<LogFile>(this, std::move(normal), std::move(*file), source->header().stream,
                                      /*is_new=*/size == kHeaderBytes);
  }
  return status;
}

IOStatus EncryptedFileSystem::NewMemoryMappedFileBuffer(const std::string&,
                                                        std::unique_ptr<rocksdb::MemoryMappedFileBuffer>*) {
  return IOStatus::NotSupported("an encrypted file is not mapped");
}

IOStatus EncryptedFileSystem::GetFileSize(const std::string& path, const IOOptions& options, uint64_t* size,
                                          IODebugContext* debug) {
  std::shared_ptr<const Source> source;
  IOStatus status = OpenSource(path, {}, debug, &source);
  if (status.ok()) status = target()->GetFileSize(path, options, size, debug);
  if (status.ok()) *size = std::min(source->end(), *size - std::min(*size, source->base()));
  return status;
}

IOStatus EncryptedFileSystem::GetChildrenFileAttributes(const std::string& directory,
                                                        const IOOptions& options,
                                                        std::vector<rocksdb::FileAttributes>* children,
                                                        IODebugContext* debug) {
  return FileSystem::GetChildrenFileAttributes(directory, options, children, debug);  // by GetFileSize
}

IOStatus EncryptedFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                         IODebugContext* debug) {
  // Until it is done: a rewrite that ended in between would bring the old file back.
  base::MutexLock lock(&mu_);
  Disturb(path);
  return target()->DeleteFile(path, options, debug);
}

IOStatus EncryptedFileSystem::RenameFile(const std::string& from, const std::string& to,
                                         const IOOptions& options, IODebugContext* debug) {
  base::MutexLock lock(&mu_);  // as in DeleteFile
  Disturb(from);
  Disturb(to);
  return target()->RenameFile(from, to, options, debug);
}

IOStatus EncryptedFileSystem::Truncate(const std::string&, size_t, const IOOptions&, IODebugContext*) {
  return IOStatus::NotSupported("an encrypted file is not cut off");
}

IOStatus EncryptedFileSystem::SyncDirectoryOf(const std::string& path) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  IOStatus status = target()->NewDirectory(fs::path(path).parent_path().string(), {}, &directory, nullptr);
  return status.ok() ? directory->Fsync({}, nullptr) : status;
}

IOStatus EncryptedFileSystem::CopyTo(rocksdb::FSWritableFile* copy, const Source& source,
                                     const crypt::Stream& stream) {
  std::string bytes(kChunk, '\0'), scratch;
  for (uint64_t position = 0;;) {
    Slice got;
    IOStatus status = source.Read(position, bytes.size(), {}, &got, bytes.data(), nullptr);
    if (!status.ok() || got.empty()) return status;
    status = WritableFile::AppendThrough(copy, &stream, position, got, &scratch, {}, nullptr);
    if (!status.ok()) return status;
    position += got.size();
  }
}

Result<EncryptedFileSystem::Rewritten> EncryptedFileSystem::Rewrite(const std::string& path) {
  std::string normal = Normal(path);
  std::string unfinished = normal + std::string(kUnfinished);
  KeysPtr keys;
  {
    base::MutexLock lock(&mu_);
    keys = this->keys();
    auto writing = writing_.find(normal);
    if (writing != writing_.end()) {
      if (writing->second.file == nullptr || !IsManifest(normal)) return Rewritten::kBusy;
      HF_TRY(NewHeader header, MakeHeader(*keys, /*marked=*/false));
      Status moved = ToStatus(writing->second.file->MoveTo(unfinished, header));
      if (!moved) {
        target()->DeleteFile(unfinished, {}, nullptr).PermitUncheckedError();
        return moved.error();
      }
      writing->second.version = keys->current;
      return Rewritten::kDone;
    }
    rewriting_ = normal;
    disturbed_ = false;
  }
  Result<Rewritten> rewritten = RewriteClosed(normal, unfinished, keys);
  // What there is of a copy that does not take the file's place would only take up room.
  if (!rewritten || *rewritten != Rewritten::kDone)
    target()->DeleteFile(unfinished, {}, nullptr).PermitUncheckedError();
  base::MutexLock lock(&mu_);
  rewriting_.clear();
  return rewritten;
}

Result<EncryptedFileSystem::Rewritten> EncryptedFileSystem::RewriteClosed(const std::string& path,
                                                                          const std::string& unfinished,
                                                                          const KeysPtr& keys) {
  HF_TRY(NewHeader header, MakeHeader(*keys, /*marked=*/false));
  std::shared_ptr<const Source> source;
  IOStatus status = OpenSource(path, {}, nullptr, &source);
  if (IsMissing(status)) return Rewritten::kGone;
  HF_CHECK_OK(ToStatus(status));
  std::unique_ptr<rocksdb::FSWritableFile> copy;
  HF_CHECK_OK(ToStatus(CreateEncrypted(unfinished, {}, header, nullptr, &copy)));
  HF_CHECK_OK(ToStatus(CopyTo(copy.get(), *source, *header.stream)));
  HF_CHECK_OK(ToStatus(copy->Fsync({}, nullptr)));
  HF_CHECK_OK(ToStatus(copy->Close({}, nullptr)));
  {
    base::MutexLock lock(&mu_);
    if (disturbed_ || !target()->FileExists(path, {}, nullptr).ok()) return Rewritten::kBusy;
    HF_CHECK_OK(ToStatus(target()->RenameFile(unfinished, path, {}, nullptr)));
    auto [begin, end] = reading_.equal_range(path);
    for (auto reader = begin; reader != end; ++reader) reader->second->Reopen();
  }
  HF_CHECK_OK(ToStatus(SyncDirectoryOf(path)));
  return Rewritten::kDone;
}

Result<std::vector<std::string>> EncryptedFileSystem::FilesToRewrite(const std::string& directory,
                                                                     Holds holds) {
  std::vector<std::string> files;
  int version = keys()->current;
  std::string below = Normal(directory + "/");
  {
    // Before the directory is listed: what is about to be there is found in one of the two.
    base::MutexLock lock(&mu_);
    for (const auto& [path, writing] : writing_) {
      if (writing.version != version && path.starts_with(below)) files.push_back(path);
    }
  }
  HF_CHECK_OK(AddFilesToRewrite(Normal(directory), holds, version, &files));
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

Status EncryptedFileSystem::AddFilesToRewrite(const std::string& directory, Holds holds, int version,
                                              std::vector<std::string>* files) {
  std::vector<std::string> names;
  IOStatus listed = target()->GetChildren(directory, {}, &names, nullptr);
  if (IsMissing(listed)) return Ok{};
  HF_CHECK_OK(ToStatus(listed));
  for (const std::string& name : names) {
    if (name == "." || name == ".." || name.ends_with(kUnfinished)) continue;
    std::string path = Normal(directory + "/" + name);
    bool is_directory = false;
    if (!target()->IsDirectory(path, {}, &is_directory, nullptr).ok()) continue;  // gone
    if (is_directory) {
      HF_CHECK_OK(AddFilesToRewrite(path, Holds::kOurFiles, version, files));
      continue;
    }
    if (holds == Holds::kStore && !IsRocksDbFile(name)) continue;
    std::shared_ptr<const Source> source;
    IOStatus opened = OpenSource(path, {}, nullptr, &source);
    if (IsMissing(opened)) continue;
    if (!opened.ok()) {
      Status failed = ToStatus(opened);
      return Error(failed.error().code(), opened.getState() != nullptr ? opened.getState() : "");
    }
    const FileHeader& header = source->header();
    if (header.kind != FileHeader::Kind::kEmpty && header.version != version) files->push_back(path);
  }
  return Ok{};
}

Status EncryptedFileSystem::DeleteLeftovers(const std::string& directory) {
  std::vector<std::string> names;
  IOStatus listed = target()->GetChildren(directory, {}, &names, nullptr);
  if (IsMissing(listed)) return Ok{};
  HF_CHECK_OK(ToStatus(listed));
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    std::string path = Normal(directory + "/" + name);
    bool is_directory = false;
    if (!target()->IsDirectory(path, {}, &is_directory, nullptr).ok()) continue;
    if (is_directory)
      HF_CHECK_OK(DeleteLeftovers(path));
    else if (name.ends_with(kUnfinished))
      HF_CHECK_OK(ToStatus(target()->DeleteFile(path, {}, nullptr)));
  }
  return Ok{};
}

}  // namespace holdfast::storage
