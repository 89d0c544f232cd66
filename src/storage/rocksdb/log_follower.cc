#include "storage/rocksdb/log_follower.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "base/crc32c.h"
#include "storage/rocksdb/status.h"

namespace holdfast::storage {
namespace {

constexpr uint64_t kBlock = 32 << 10;
constexpr size_t kHeader = 7;
constexpr size_t kBatchHeader = 12;
constexpr size_t kReadAhead = 256 << 10;
enum PartType : uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

template <class T>
T LittleEndian(const char* bytes) {
  T value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Error Gone(uint64_t sequence) {
  return Error(ErrorCode::kTrimmedDataAccess, "the log no longer has the change " + std::to_string(sequence));
}

// The records of one log file.
class LogFileReader {
 public:
  explicit LogFileReader(std::unique_ptr<rocksdb::FSRandomAccessFile> file) : file_(std::move(file)) {}

  // The same file, opened anew.
  void Reopened(std::unique_ptr<rocksdb::FSRandomAccessFile> file) {
    file_ = std::move(file);
    buffer_.clear();
  }

  // False where the file has no further whole record, for now or for good; it may be asked again.
  Result<bool> Read(std::string* record) {
    record->clear();
    uint64_t at = position_;
    bool begun = false;
    while (true) {
      uint64_t left = kBlock - at % kBlock;
      if (left < kHeader) {
        at += left;
        continue;
      }
      HF_TRY(ByteView header, Peek(at, kHeader));
      if (header.size() < kHeader) return Ended();
      auto crc = LittleEndian<uint32_t>(header.data());
      size_t length = LittleEndian<uint16_t>(header.data() + 4);
      auto type = static_cast<uint8_t>(header[6]);
      bool fits = type >= kWhole && type <= kLast && length <= left - kHeader &&
                  begun == (type == kMiddle || type == kLast);
      if (!fits) return Ended();
      HF_TRY(ByteView checked, Peek(at + kHeader - 1, length + 1));
      if (checked.size() <= length || Masked(base::Crc32c(0, checked)) != crc) return Ended();
      record->append(checked.substr(1));
      at += kHeader + length;
      begun = true;
      if (type == kMiddle || type == kFirst) continue;
      position_ = at;
      return true;
    }
  }

 private:
  static uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

  // What is in the buffer may since have been written over.
  bool Ended() {
    buffer_.clear();
    return false;
  }

  // Up to `bytes` bytes; fewer where the file ends.
  Result<ByteView> Peek(uint64_t at, size_t bytes) {
    if (at < begin_ || at + bytes > begin_ + buffer_.size()) {
      buffer_.resize(std::max(kReadAhead, bytes));
      rocksdb::Slice got;
      HF_CHECK_OK(ToStatus(file_->Read(at, buffer_.size(), {}, &got, buffer_.data(), nullptr)));
      if (got.data() != buffer_.data()) std::memmove(buffer_.data(), got.data(), got.size());
      buffer_.resize(got.size());
      begin_ = at;
    }
    return ByteView(buffer_).substr(at - begin_, bytes);
  }

  std::unique_ptr<rocksdb::FSRandomAccessFile> file_;
  uint64_t position_ = 0;  // of the next record
  uint64_t begin_ = 0;     // of the buffer in the file
  std::string buffer_;
};

// Whether what belongs to our spaces is followed by a stamp.
class LastIsStamp final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return Change(id);
  }
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice&) override { return Change(id); }
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return Change(id);
  }
  void LogData(const rocksdb::Slice& blob) override { is_stamp = blob.size() == kLogStampBytes; }

  bool is_stamp = true;

 private:
  rocksdb::Status Change(uint32_t id) {
    if (id != 0) is_stamp = false;  // the default space is nobody's
    return rocksdb::Status::OK();
  }
};

class RocksDbLogFollower final : public LogFollower {
 public:
  RocksDbLogFollower(LogPlace place, uint64_t after) : place_(std::move(place)), next_(after + 1) {}

  Result<bool> Next(LogRecord* record) override {
    while (true) {
      // Behind the last of an earlier life comes the first of this one.
      if (next_ == place_.life.recovered_end) next_ = place_.life.first_sequence;
      if (next_ > place_.synced->load(std::memory_order_acquire)) return false;
      if (reader_ == nullptr || InEarlierLife() != (log_ < place_.life.first_log)) HF_CHECK_OK(OpenFirst());
      HF_TRY(bool read, reader_->Read(&record->bytes));
      if (!read) {  // what it had read ahead, or knew of the file, may be too old
        HF_CHECK_OK(Reopen());
        HF_TRY(read, reader_->Read(&record->bytes));
      }
      if (!read) {
        HF_CHECK_OK(OpenNext());
        continue;
      }
      if (record->bytes.size() < kBatchHeader) return Gone(next_);
      record->first = LittleEndian<uint64_t>(record->bytes.data());
      uint64_t end = record->first + LittleEndian<uint32_t>(record->bytes.data() + 8);
      if (end <= next_) continue;  // before our place, or empty
      if (record->first != next_) return Gone(next_);
      record->last = end - 1;
      // In an earlier life nobody may have put times into the log; without them it is of no use.
      if (InEarlierLife() && !EndsWithStamp(record->bytes)) return Gone(next_);
      record->time_millis = time_millis_ = TimeOf(record->bytes).value_or(time_millis_);
      next_ = end;
      return true;
    }
  }

  Status Release(uint64_t bytes_max) override {
    HF_TRY(auto old, Logs(OldLogDirectory(place_.directory)));
    uint64_t bytes = 0;
    for (auto log = old.rbegin(); log != old.rend(); ++log) {
      uint64_t size = 0;
      HF_CHECK_OK(ToStatus(place_.file_system->GetFileSize(log->second, {}, &size, nullptr)));
      bytes += size;
      bool passed = reader_ != nullptr && log->first < log_;
      if (passed || bytes > bytes_max)
        HF_CHECK_OK(ToStatus(place_.file_system->DeleteFile(log->second, {}, nullptr)));
    }
    return Ok{};
  }

 private:
  using LogPaths = std::map<uint64_t, std::string>;  // by file number

  bool InEarlierLife() const { return next_ < place_.life.recovered_end; }

  // A batch ends with its time, but for what RocksDB itself writes now and then.
  static std::optional<int64_t> TimeOf(ByteView bytes) {
    constexpr std::string_view kTag = "\x03\x08";  // an entry of the log alone, of eight bytes
    if (bytes.size() < kBatchHeader + kTag.size() + kLogStampBytes) return std::nullopt;
    ByteView stamp = bytes.substr(bytes.size() - kLogStampBytes);
    if (bytes.substr(bytes.size() - kLogStampBytes - kTag.size(), kTag.size()) != kTag) return std::nullopt;
    return static_cast<int64_t>(base::ReadBigEndian(stamp, static_cast<int>(kLogStampBytes)));
  }
  static bool EndsWithStamp(const std::string& bytes) {
    LastIsStamp last;
    return rocksdb::WriteBatch(bytes).Iterate(&last).ok() && last.is_stamp;
  }

  Result<LogPaths> Logs(const std::string& directory) const {
    std::vector<std::string> names;
    rocksdb::IOStatus listed = place_.file_system->GetChildren(directory, {}, &names, nullptr);
    LogPaths logs;
    if (listed.IsNotFound() || listed.IsPathNotFound()) return logs;
    HF_CHECK_OK(ToStatus(listed));
    for (const std::string& name : names) {
      uint64_t number = 0;
      auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (failed == std::errc{} && std::string_view(end) == ".log") logs[number] = directory + "/" + name;
    }
    return logs;
  }

  // Those of the life that is being read. A log may be moved at any moment, so it can be in both places.
  Result<LogPaths> Logs() const {
    HF_TRY(LogPaths logs, Logs(place_.directory));
    HF_TRY(LogPaths old, Logs(OldLogDirectory(place_.directory)));
    for (auto& [number, path] : old) logs[number] = std::move(path);
    std::erase_if(logs,
                  [&](const auto& log) { return InEarlierLife() != (log.first < place_.life.first_log); });
    return logs;
  }

  Result<std::unique_ptr<rocksdb::FSRandomAccessFile>> Open(uint64_t number, const std::string& path) const {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    rocksdb::IOStatus opened = place_.file_system->NewRandomAccessFile(path, {}, &file, nullptr);
    if (opened.IsNotFound() || opened.IsPathNotFound()) {  // it has just been moved
      std::string name = path.substr(path.rfind('/'));
      opened = place_.file_system->NewRandomAccessFile(OldLogDirectory(place_.directory) + name, {}, &file,
                                                       nullptr);
    }
    if (!opened.ok())
      return Error(ErrorCode::kIo, "log " + std::to_string(number) + ": " + opened.ToString());
    return file;
  }

  Status Use(uint64_t number, const std::string& path) {
    HF_TRY(std::unique_ptr<rocksdb::FSRandomAccessFile> file, Open(number, path));
    reader_ = std::make_unique<LogFileReader>(std::move(file));
    log_ = number;
    return Ok{};
  }

  Status Reopen() {
    HF_TRY(LogPaths logs, Logs());
    auto log = logs.find(log_);
    if (log == logs.end()) return Gone(next_);
    HF_TRY(std::unique_ptr<rocksdb::FSRandomAccessFile> file, Open(log->first, log->second));
    reader_->Reopened(std::move(file));
    return Ok{};
  }

  // Opens the newest log that begins at or before our place.
  Status OpenFirst() {
    HF_TRY(LogPaths logs, Logs());
    for (auto log = logs.rbegin(); log != logs.rend(); ++log) {
      HF_TRY(std::unique_ptr<rocksdb::FSRandomAccessFile> file, Open(log->first, log->second));
      std::string record;
      HF_TRY(bool found, LogFileReader(std::move(file)).Read(&record));
      if (!found || record.size() < kBatchHeader || LittleEndian<uint64_t>(record.data()) > next_) continue;
      return Use(log->first, log->second);
    }
    return Gone(next_);
  }

  Status OpenNext() {
    HF_TRY(LogPaths logs, Logs());
    auto following = logs.upper_bound(log_);
    if (following == logs.end()) return Gone(next_);
    return Use(following->first, following->second);
  }

  const LogPlace place_;
  uint64_t next_;  // the sequence to be read next
  uint64_t log_ = 0;
  int64_t time_millis_ = 0;                // of the last record
  std::unique_ptr<LogFileReader> reader_;  // of the log numbered log_; null: none yet
};

}  // namespace

std::string OldLogDirectory(const std::string& directory) {
  return directory + "/archive";  // RocksDB's own name for it
}

std::unique_ptr<LogFollower> FollowLog(LogPlace place, uint64_t after) {
  return std::make_unique<RocksDbLogFollower>(std::move(place), after);
}

}  // namespace holdfast::storage
