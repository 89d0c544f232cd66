// An index written down and read again: the graph with what belongs to each vector in one file, the floats in
// others. Floats never change, so a snapshot writes only those that no earlier file holds; the graph is
// written whole. Codes are made again from the floats. docs/format.md has the bytes.
//
//   SnapshotWriter writer(&index, published);
//   HF_CHECK_OK(writer.WriteFloats(SnapshotWriter::Which::kUnsaved, &floats_sink));
//   HF_CHECK_OK(writer.WriteGraph(&graph_sink));
//   writer.Done();                       // once both are safe: these floats need not be written again
//
//   SnapshotReader reader(&empty_index);
//   HF_CHECK_OK(reader.ReadGraph(&graph_source));
//   for (source of each floats file, oldest first) HF_CHECK_OK(reader.ReadFloats(&source));
//   HF_CHECK_OK(reader.Finish());        // an error of any: the index is of no use, make it again
//
// A snapshot as of a commit number holds exactly what a search as of that number sees.
//
// Not thread-safe: to be called where Index::Tend is, which then must not run; writes and searches may go on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "vector/index.h"

namespace holdfast::vector {

using Sink = std::function<Status(std::string_view bytes)>;
using Source = std::function<Status(size_t bytes, char* out)>;

class SnapshotWriter {
 public:
  SnapshotWriter(Index* index, uint64_t number);

  enum class Which : uint8_t { kUnsaved, kAll };
  size_t unsaved() const { return unsaved_; }
  size_t count() const { return slots_; }
  Status WriteFloats(Which which, const Sink& sink);
  Status WriteGraph(const Sink& sink);
  void Done();

 private:
  struct Member {
    Slot slot;
    bool linked;
    bool dead;
  };
  struct PartitionCopy {
    std::string name;
    bool has_graph;
    Slot entry;
    uint32_t ef;                                   // learned; 0: nothing yet
    std::vector<std::vector<std::string>> values;  // per filter attribute, in order of id
    std::vector<Member> members;
  };
  struct PartitionLists {
    const Index::Partition* partition;
    SlotList nodes, tail;
  };
  class Encoder;

  void Copy(const PartitionLists& lists);
  // In order of id.
  std::vector<std::string> CopyNames(const Index::FilterValues& values);
  Status WritePartition(const PartitionCopy& partition, Encoder* encoder) const;
  void WriteMember(const Member& member, Encoder* encoder) const;

  Index* const index_;
  const uint64_t number_;
  std::vector<PartitionCopy> partitions_;
  size_t slots_ = 0, unsaved_ = 0;
};

class SnapshotReader {
 public:
  // Requires: nothing was ever put into the index.
  explicit SnapshotReader(Index* index) : index_(index) {}

  Status ReadGraph(const Source& source);
  Status ReadFloats(const Source& source);
  Status Finish();
  // As of which commit.
  uint64_t number() const { return number_; }

 private:
  class Decoder;

  // Parts of a graph file, in their order. Links are checked when all slots are known.
  Result<uint32_t> ReadHeader(Decoder* decoder);  // how many partitions follow
  Status ReadPartition(uint32_t id, Decoder* decoder) HF_REQUIRES(index_->mu_);
  static Status ReadFilterValues(Index::FilterValues* values, Decoder* decoder);
  Status ReadMember(Index::Partition* partition, Decoder* decoder) HF_REQUIRES(index_->mu_);
  Status ReadLinks(Slot slot, Decoder* decoder);
  Status CheckLinks(Slot slot) const;

  Index* const index_;
  uint64_t number_ = 0;
  std::vector<bool> used_, has_floats_;  // by slot
};

}  // namespace holdfast::vector
