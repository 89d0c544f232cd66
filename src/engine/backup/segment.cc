#include "engine/backup/segment.h"

#include <cstdio>

#include "base/checksum.h"
#include "engine/index/vector_value.h"
#include "engine/item/stored_item.h"

namespace holdfast::engine {
namespace {

constexpr std::string_view kMagic = "HFSEGMNT";
constexpr uint32_t kVersion = 2;
// Written by formats 1 and 2 of the store, with their checksum.
constexpr uint32_t kVersionFormat2 = 1;
// A block is closed when it is this long: about what one step of a restore writes.
constexpr size_t kBlockBytes = 256 << 10;
constexpr size_t kChecksumBytes = 8;
// Longer ones are never written: a length beyond this is damage.
constexpr size_t kPartBytesMax = 16 << 20;

Error Damaged(const std::string& what) {
  return Error(ErrorCode::kCorruption, "a segment is damaged: " + what);
}

// Parts are numbered so that none can be missing or stand elsewhere.
uint64_t ChecksumOf(uint64_t part, ByteView bytes, base::ChecksumKind kind = base::ChecksumKind::kXxh3) {
  std::string number;
  base::AppendBigEndian(&number, part, 8);
  base::Checksum checksum(kind);
  checksum.Update(number);
  checksum.Update(bytes);
  return checksum.Value();
}

class SegmentWriter {
 public:
  explicit SegmentWriter(std::unique_ptr<storage::FileWriter> file) : file_(std::move(file)) {}

  Status Begin(const SegmentHeader& header) {
    HF_CHECK_OK(file_->Append(kMagic));
    std::string bytes;
    base::AppendBigEndian(&bytes, kVersion, 4);
    base::AppendBigEndian(&bytes, header.number, 8);
    base::AppendBigEndian(&bytes, static_cast<uint64_t>(header.time_millis), 8);
    bytes.append(EncodeSchema(*header.table));
    return WritePart(bytes);
  }

  Status Add(ByteView key, ByteView stored, size_t billed) {
    base::AppendVarint(&block_, key.size());
    block_.append(key);
    base::AppendVarint(&block_, stored.size());
    block_.append(stored);
    ++counts_.items;
    counts_.bytes += billed;
    return block_.size() < kBlockBytes ? OkStatus() : WriteBlock();
  }

  Result<SegmentCounts> Finish() {
    if (!block_.empty()) HF_CHECK_OK(WriteBlock());
    HF_CHECK_OK(WritePart({}));
    std::string footer;
    base::AppendBigEndian(&footer, counts_.items, 8);
    base::AppendBigEndian(&footer, counts_.bytes, 8);
    HF_CHECK_OK(WritePart(footer));
    HF_CHECK_OK(file_->Finish());
    return counts_;
  }

 private:
  Status WriteBlock() {
    HF_CHECK_OK(WritePart(block_));
    block_.clear();
    return Ok{};
  }

  Status WritePart(ByteView bytes) {
    std::string length, sum;
    base::AppendBigEndian(&length, bytes.size(), 4);
    base::AppendBigEndian(&sum, ChecksumOf(parts_++, bytes), 8);
    HF_CHECK_OK(file_->Append(length));
    if (!bytes.empty()) HF_CHECK_OK(file_->Append(bytes));
    return file_->Append(sum);
  }

  const std::unique_ptr<storage::FileWriter> file_;
  std::string block_;
  SegmentCounts counts_;
  uint64_t parts_ = 0;
};

}  // namespace

std::string NewSegmentId(int64_t now_millis, base::Random* random) {
  char text[32];
  std::snprintf(text, sizeof text, "%014lld-%08x", static_cast<long long>(now_millis),
                static_cast<unsigned>(random->Next()));
  return text;
}

Result<SegmentCounts> WriteSegment(storage::Files* files, const std::string& name,
                                   const SegmentHeader& header, storage::KvReader* kv,
                                   const storage::Snapshot* snapshot, const std::function<bool()>& stopping) {
  HF_TRY(std::unique_ptr<storage::FileWriter> file, files->Create(name));
  SegmentWriter writer(std::move(file));
  HF_CHECK_OK(writer.Begin(header));
  bool has_vectors = header.table->has_vector_indexes();
  uint64_t items = 0;
  auto it =
      kv->Iterate(storage::Space::kItems, ObjectRange(header.table->id), snapshot, storage::Wait::kMayBlock);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (++items % 1024 == 0 && stopping()) return Error(ErrorCode::kWouldBlock, "the store is closing");
    StoredItem stored = DecodeStored(it->value());
    size_t billed = has_vectors ? BilledSize(*header.table, stored.view(), stored.size) : stored.size;
    HF_CHECK_OK(writer.Add(it->key().substr(4), it->value(), billed));
  }
  HF_CHECK_OK(it->status());
  return writer.Finish();
}

Result<std::unique_ptr<SegmentReader>> SegmentReader::Open(storage::Files* files, const std::string& name) {
  HF_TRY(std::unique_ptr<storage::FileReader> file, files->Open(name));
  std::unique_ptr<SegmentReader> reader(new SegmentReader(std::move(file)));
  HF_CHECK_OK(reader->ReadHeader());
  return reader;
}

// Into `block_`, the checksum at its end.
Status SegmentReader::ReadPart(size_t size) {
  if (size > kPartBytesMax) return Damaged("a length is out of bounds");
  block_.resize(size + kChecksumBytes);
  return file_->Read(block_.size(), block_.data());
}

Status SegmentReader::CheckPart() {
  size_t size = block_.size() - kChecksumBytes;
  ByteView bytes = ByteView(block_).substr(0, size);
  if (base::ReadBigEndian(ByteView(block_).substr(size), kChecksumBytes) !=
      ChecksumOf(parts_++, bytes, checksum_))
    return Damaged("a checksum is wrong");
  block_.resize(size);
  return Ok{};
}

Status SegmentReader::ReadChecked(size_t size) {
  HF_CHECK_OK(ReadPart(size));
  return CheckPart();
}

Status SegmentReader::ReadHeader() {
  std::string head(kMagic.size() + 4, '\0');
  HF_CHECK_OK(file_->Read(head.size(), head.data()));
  if (!head.starts_with(kMagic)) return Damaged("it does not begin as one");
  HF_CHECK_OK(ReadPart(base::ReadBigEndian(ByteView(head).substr(kMagic.size()), 4)));
  ByteView bytes = block_;
  if (bytes.size() < 20 + kChecksumBytes) return Damaged("its header is too short");
  // The version says by which checksum the rest is to be believed, this part included.
  uint64_t version = base::ReadBigEndian(bytes, 4);
  if (version == kVersionFormat2) checksum_ = base::ChecksumKind::kFormat2;
  HF_CHECK_OK(CheckPart());
  bytes = block_;
  if (version != kVersion && version != kVersionFormat2)
    return Error(ErrorCode::kNewerFormat, "a segment was written by a later version");
  header_.number = base::ReadBigEndian(bytes.substr(4), 8);
  header_.time_millis = static_cast<int64_t>(base::ReadBigEndian(bytes.substr(12), 8));
  HF_TRY(TableSchema table, DecodeSchema(bytes.substr(20)));
  header_.table = std::make_shared<const TableSchema>(std::move(table));
  return Ok{};
}

Result<std::vector<SegmentReader::Record>> SegmentReader::Next() {
  std::vector<Record> records;
  if (ended_) return records;
  char length[4];
  HF_CHECK_OK(file_->Read(sizeof length, length));
  HF_CHECK_OK(ReadChecked(base::ReadBigEndian(ByteView(length, sizeof length), 4)));
  if (block_.empty()) {
    HF_CHECK_OK(file_->Read(sizeof length, length));
    HF_CHECK_OK(ReadChecked(base::ReadBigEndian(ByteView(length, sizeof length), 4)));
    if (block_.size() != 16 || base::ReadBigEndian(block_, 8) != seen_.items)
      return Damaged("items are missing");
    ended_ = true;
    return records;
  }
  for (ByteView bytes = block_; !bytes.empty();) {
    Record record;
    for (ByteView* part : {&record.key, &record.stored}) {
      uint64_t size = 0;
      if (!base::ReadVarint(&bytes, &size) || size > bytes.size()) return Damaged("a record is cut off");
      *part = bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
    if (record.key <= ByteView(last_key_)) return Damaged("its keys are not in order");
    last_key_.assign(record.key);
    records.push_back(record);
  }
  seen_.items += records.size();
  return records;
}

}  // namespace holdfast::engine
