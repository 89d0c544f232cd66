// A table's items in a file: what backups are, and what point-in-time recovery starts from. docs/format.md
// has the bytes.
//
//   HF_TRY(SegmentCounts counts, WriteSegment(files, "backup-1.segment", header, kv, view, stopping));
//
//   HF_TRY(std::unique_ptr<SegmentReader> reader, SegmentReader::Open(files, "backup-1.segment"));
//   while (true) {
//     HF_TRY(std::vector<SegmentReader::Record> records, reader->Next());
//     if (records.empty()) break;
//     …
//   }
//
// Whatever a reader gives was checked: a damaged or shortened file is kCorruption, never a table that lacks
// something.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/random.h"
#include "engine/catalog/schema.h"
#include "storage/files.h"
#include "storage/kv.h"

namespace holdfast::engine {

// "01489602797149-73d8d5bc": later ones are greater, and no two are the same.
std::string NewSegmentId(int64_t now_millis, base::Random* random);

struct SegmentHeader {
  uint64_t number = 0;      // every commit up to here is in it; later ones may be
  int64_t time_millis = 0;  // no commit in it is later than this
  SchemaPtr table;          // as it was then
};

struct SegmentCounts {
  uint64_t items = 0;
  uint64_t bytes = 0;  // as DynamoDB counts the size of a table
};

// Writes every item of header.table that `snapshot` has. The file is there, and safe, when this returns.
// Gives up with kWouldBlock when `stopping` says so.
Result<SegmentCounts> WriteSegment(storage::Files* files, const std::string& name,
                                   const SegmentHeader& header, storage::KvReader* kv,
                                   const storage::Snapshot* snapshot, const std::function<bool()>& stopping);

class SegmentReader {
 public:
  struct Record {
    ByteView key;     // the item's storage key without its table's id
    ByteView stored;  // the item as it lies in storage
  };

  static Result<std::unique_ptr<SegmentReader>> Open(storage::Files* files, const std::string& name);

  const SegmentHeader& header() const { return header_; }
  // Some more records, in the order of their keys; none at the end. Valid until the next call.
  Result<std::vector<Record>> Next();

 private:
  explicit SegmentReader(std::unique_ptr<storage::FileReader> file) : file_(std::move(file)) {}
  Status ReadHeader();
  // Reads `size` bytes and the checksum behind them into block_.
  Status ReadPart(size_t size);
  // Takes the checksum off block_ again; fails when it is wrong.
  Status CheckPart();
  Status ReadChecked(size_t size);

  const std::unique_ptr<storage::FileReader> file_;
  SegmentHeader header_;
  base::ChecksumKind checksum_ = base::ChecksumKind::kXxh3;  // by the version of the file
  SegmentCounts seen_;
  uint64_t parts_ = 0;  // header and blocks read so far
  bool ended_ = false;
  std::string block_, last_key_;
};

}  // namespace holdfast::engine
