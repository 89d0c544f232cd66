// The log of an archive: segments, numbered without a gap, of frames that each carry a checksum.
//
// A frame is written and synced before the next, so a power cut can only tear the last one; a frame that is
// damaged and not the last has been damaged since. A segment that was closed ends with a frame that says so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/archive/archive.h"
#include "storage/kv.h"

namespace holdfast::storage {

// Stored on disk: never renumber.
enum class FrameKind : uint8_t {
  kFollows = 1,  // the first of a segment: goes on where the one before it ends, or repeats some of its end
  kBegins = 2,   // the first of a segment: what was between the one before it and this one is not here
  kRecords = 3,
  kNothing = 4,  // nothing more had been written by its time
  kClosed = 5,   // the last of a segment
};

struct Frame {
  FrameKind kind = FrameKind::kRecords;
  uint64_t last = 0;        // every change up to this one is in the archive now
  int64_t time_millis = 0;  // and so is every change that was written before this time
  std::vector<ByteView> records;
};

// Thread-safety: one thread.
class SegmentWriter {
 public:
  static Result<std::unique_ptr<SegmentWriter>> Create(Archive* archive, uint64_t number, const Frame& first);

  // Returns when the frame is durable.
  Status Add(const Frame& frame);
  Status Close(uint64_t last, int64_t time_millis);
  uint64_t bytes() const { return bytes_; }
  uint64_t number() const { return number_; }

 private:
  SegmentWriter(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path, uint64_t number)
      : file_(std::move(file)), path_(std::move(path)), number_(number) {}

  const std::unique_ptr<rocksdb::FSWritableFile> file_;
  const std::string path_;
  const uint64_t number_;
  uint64_t bytes_ = 0;
};

// How a segment begins and ends.
struct SegmentEnds {
  bool empty = true;        // not even its first frame is whole
  bool begins = false;      // it does not go on where the one before it ends
  uint64_t after = 0;       // the change before its first
  int64_t from_millis = 0;  // of its first frame
  uint64_t last = 0;
  int64_t time_millis = 0;
  bool closed = false;
};

// Of a segment that was closed without reading what is between.
Result<SegmentEnds> ReadSegmentEnds(const Archive& archive, uint64_t number);

Status SyncSegment(const Archive& archive, uint64_t number);

// Reads a segment; each frame but the first and the last is given to `take`, until that answers false. Names
// the segment when it is missing or damaged; a torn end is no damage.
Result<SegmentEnds> ReadSegment(const Archive& archive, uint64_t number,
                                const std::function<Result<bool>(const Frame&)>& take);

}  // namespace holdfast::storage
