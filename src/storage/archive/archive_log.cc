#include "storage/archive/archive_log.h"

#include <cstring>

namespace holdfast::storage {
namespace {

using rocksdb::IOStatus;

constexpr std::string_view kFrameMagic = "HFAX";
constexpr std::string_view kFrameMagicFormat2 = "HFAL";  // of a frame with the checksum of format 2
constexpr size_t kHeader = 16;                           // magic, length, checksum
constexpr size_t kPayloadHead = 17;                      // kind, last, time
constexpr size_t kFrameMax = 1 << 30;

uint64_t ChecksumOf(ByteView length, ByteView payload, base::ChecksumKind kind = base::ChecksumKind::kXxh3) {
  base::Checksum sum(kind);
  sum.Update(length);
  sum.Update(payload);
  return sum.Value();
}

std::string Encode(const Frame& frame) {
  std::string payload;
  payload.push_back(static_cast<char>(frame.kind));
  base::AppendBigEndian(&payload, frame.last, 8);
  base::AppendBigEndian(&payload, static_cast<uint64_t>(frame.time_millis), 8);
  for (ByteView record : frame.records) {
    base::AppendVarint(&payload, record.size());
    payload.append(record);
  }
  std::string bytes(kFrameMagic);
  base::AppendBigEndian(&bytes, payload.size(), 4);
  base::AppendBigEndian(&bytes, ChecksumOf(ByteView(bytes).substr(4, 4), payload), 8);
  return bytes + payload;
}

bool Decode(ByteView payload, Frame* frame) {
  if (payload.size() < kPayloadHead) return false;
  frame->kind = static_cast<FrameKind>(payload[0]);
  if (frame->kind < FrameKind::kFollows || frame->kind > FrameKind::kClosed) return false;
  frame->last = base::ReadBigEndian(payload.substr(1), 8);
  frame->time_millis = static_cast<int64_t>(base::ReadBigEndian(payload.substr(9), 8));
  frame->records.clear();
  payload.remove_prefix(kPayloadHead);
  while (!payload.empty()) {
    uint64_t length = 0;
    if (!base::ReadVarint(&payload, &length) || length > payload.size()) return false;
    frame->records.push_back(payload.substr(0, length));
    payload.remove_prefix(length);
  }
  return true;
}

// The frames of one file, read piece by piece.
class FrameReader {
 public:
  FrameReader(std::unique_ptr<rocksdb::FSRandomAccessFile> file, uint64_t size)
      : file_(std::move(file)), size_(size) {}

  enum class Found : uint8_t { kFrame, kEnd, kTorn };
  Result<Found> Next(Frame* frame) {
    if (position_ == size_) return Found::kEnd;
    HF_TRY(bool whole, ReadAt(position_, frame));
    if (!whole) return Found::kTorn;
    position_ += kHeader + payload_.size();
    return Found::kFrame;
  }

  // Goes to the last frame if that is one without records.
  void SeekToLast() {
    if (size_ >= 2 * (kHeader + kPayloadHead)) position_ = size_ - kHeader - kPayloadHead;
  }

  // Whether another frame stands somewhere behind the one that could not be read.
  Result<bool> AnyBehind() {
    std::string rest;
    constexpr size_t kPiece = 1 << 20;
    for (uint64_t at = position_ + 1; at < size_; at += kPiece) {
      HF_CHECK_OK(Read(at, std::min<uint64_t>(kPiece + kFrameMagic.size(), size_ - at), &rest));
      for (std::string_view magic : {kFrameMagic, kFrameMagicFormat2}) {
        for (size_t found = rest.find(magic); found != std::string::npos;
             found = rest.find(magic, found + 1)) {
          Frame frame;
          HF_TRY(bool whole, ReadAt(at + found, &frame));
          if (whole) return true;
        }
      }
    }
    return false;
  }

 private:
  Result<bool> ReadAt(uint64_t at, Frame* frame) {
    if (size_ - at < kHeader + kPayloadHead) return false;
    std::string header;
    HF_CHECK_OK(Read(at, kHeader, &header));
    bool is_old = header.starts_with(kFrameMagicFormat2);
    if (!is_old && !header.starts_with(kFrameMagic)) return false;
    uint64_t length = base::ReadBigEndian(ByteView(header).substr(4), 4);
    if (length > kFrameMax || length > size_ - at - kHeader) return false;
    HF_CHECK_OK(Read(at + kHeader, length, &payload_));
    uint64_t sum = base::ReadBigEndian(ByteView(header).substr(8), 8);
    base::ChecksumKind kind = is_old ? base::ChecksumKind::kFormat2 : base::ChecksumKind::kXxh3;
    return sum == ChecksumOf(ByteView(header).substr(4, 4), payload_, kind) && Decode(payload_, frame);
  }

  Status Read(uint64_t at, size_t bytes, std::string* out) {
    out->resize(bytes);
    rocksdb::Slice got;
    IOStatus status = file_->Read(at, bytes, {}, &got, out->data(), nullptr);
    if (!status.ok()) return Error(ErrorCode::kIo, status.ToString());
    if (got.data() != out->data()) std::memmove(out->data(), got.data(), got.size());
    out->resize(got.size());
    if (got.size() < bytes) return Error(ErrorCode::kCorruption, "the file ends too early");
    return Ok{};
  }

  const std::unique_ptr<rocksdb::FSRandomAccessFile> file_;
  const uint64_t size_;
  uint64_t position_ = 0;
  std::string payload_;  // of the newest frame, whose records point into it
};

}  // namespace

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(Archive* archive, uint64_t number,
                                                             const Frame& first) {
  std::string path = archive->PathOf("log", number);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = archive->file_system()->NewWritableFile(path, {}, &file, nullptr);
  if (!status.ok()) return IoError(path, status);
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter(std::move(file), path, number));
  HF_CHECK_OK(writer->Add(first));
  HF_CHECK_OK(SyncDirectory(archive->file_system(), archive->directory() + "/log"));
  return writer;
}

Status SegmentWriter::Add(const Frame& frame) {
  std::string bytes = Encode(frame);
  IOStatus status = file_->Append(bytes, {}, nullptr);
  if (status.ok()) status = file_->Fsync({}, nullptr);
  if (!status.ok()) return IoError(path_, status);
  bytes_ += bytes.size();
  return Ok{};
}

Status SegmentWriter::Close(uint64_t last, int64_t time_millis) {
  HF_CHECK_OK(Add({FrameKind::kClosed, last, time_millis, {}}));
  IOStatus status = file_->Close({}, nullptr);
  if (!status.ok()) return IoError(path_, status);
  return Ok{};
}

namespace {

Result<std::unique_ptr<FrameReader>> OpenSegment(const Archive& archive, const std::string& path) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  IOStatus status = archive.file_system()->NewRandomAccessFile(path, {}, &file, nullptr);
  if (status.IsNotFound() || status.IsPathNotFound())
    return Error(ErrorCode::kCorruption, "the log segment " + path + " is missing");
  if (!status.ok()) return IoError(path, status);
  uint64_t size = 0;
  if (status = archive.file_system()->GetFileSize(path, {}, &size, nullptr); !status.ok())
    return IoError(path, status);
  return std::make_unique<FrameReader>(std::move(file), size);
}

bool Opens(const Frame& frame) {
  return frame.kind == FrameKind::kFollows || frame.kind == FrameKind::kBegins;
}

SegmentEnds EndsOf(const Frame& first) {
  return {.empty = false,
          .begins = first.kind == FrameKind::kBegins,
          .after = first.last,
          .from_millis = first.time_millis,
          .last = first.last,
          .time_millis = first.time_millis};
}

}  // namespace

Status SyncSegment(const Archive& archive, uint64_t number) {
  std::string path = archive.PathOf("log", number);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus status = archive.file_system()->ReopenWritableFile(path, {}, &file, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  if (!status.ok()) return IoError(path, status);
  return SyncDirectory(archive.file_system(), archive.directory() + "/log");
}

Result<SegmentEnds> ReadSegmentEnds(const Archive& archive, uint64_t number) {
  HF_TRY(std::unique_ptr<FrameReader> reader, OpenSegment(archive, archive.PathOf("log", number)));
  Frame first, last;
  HF_TRY(FrameReader::Found found, reader->Next(&first));
  if (found == FrameReader::Found::kFrame && Opens(first)) {
    reader->SeekToLast();
    HF_TRY(found, reader->Next(&last));
    if (found == FrameReader::Found::kFrame && last.kind == FrameKind::kClosed && last.last >= first.last) {
      SegmentEnds ends = EndsOf(first);
      ends.last = last.last;
      ends.time_millis = last.time_millis;
      ends.closed = true;
      return ends;
    }
  }
  return ReadSegment(archive, number, {});
}

Result<SegmentEnds> ReadSegment(const Archive& archive, uint64_t number,
                                const std::function<Result<bool>(const Frame&)>& take) {
  std::string path = archive.PathOf("log", number);
  auto damaged = [&] { return Error(ErrorCode::kCorruption, "the log segment " + path + " is damaged"); };
  HF_TRY(std::unique_ptr<FrameReader> reader, OpenSegment(archive, path));
  SegmentEnds ends;
  while (true) {
    Frame frame;
    HF_TRY(FrameReader::Found found, reader->Next(&frame));
    if (found == FrameReader::Found::kTorn) {
      HF_TRY(bool behind, reader->AnyBehind());
      if (behind) return damaged();
    }
    if (found != FrameReader::Found::kFrame) return ends;
    if (Opens(frame) != ends.empty || ends.closed || frame.last < ends.last) return damaged();
    if (ends.empty) {
      ends = EndsOf(frame);
      continue;
    }
    ends.last = frame.last;
    ends.time_millis = frame.time_millis;
    ends.closed = frame.kind == FrameKind::kClosed;
    if (ends.closed || !take) continue;
    HF_TRY(bool more, take(frame));
    if (!more) return ends;
  }
}

}  // namespace holdfast::storage
