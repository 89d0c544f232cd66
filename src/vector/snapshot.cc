#include "vector/snapshot.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/checksum.h"

namespace holdfast::vector {
namespace {

constexpr uint32_t kVersion = 2;
// Written by formats 1 and 2 of the store, with their checksum.
constexpr uint32_t kVersionFormat2 = 1;
constexpr uint32_t kGraphMagic = 0x47564648;   // "HFVG"
constexpr uint32_t kFloatsMagic = 0x46564648;  // "HFVF"
constexpr size_t kBufferBytes = 1 << 20;

Error Damaged(const std::string& what) {
  return Error(ErrorCode::kCorruption, "a vector snapshot is damaged: " + what);
}

constexpr size_t kTextMax = 1 << 20;

std::string_view BytesOf(const float* floats, size_t count) {
  return {reinterpret_cast<const char*>(floats), count * sizeof(float)};
}

}  // namespace

// Little-endian integers and bytes, with a checksum at the end.
class SnapshotWriter::Encoder {
 public:
  explicit Encoder(const Sink& sink) : sink_(sink) { buffer_.reserve(kBufferBytes + 4096); }

  template <class T>
  void Number(T value) {
    buffer_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(std::string_view text) {
    Number(static_cast<uint32_t>(text.size()));
    buffer_.append(text);
  }
  // Passes on what has gathered. Call now and then.
  Status Step() { return buffer_.size() < kBufferBytes ? OkStatus() : Flush(); }
  Status Large(std::string_view bytes) {
    HF_CHECK_OK(Flush());
    checksum_.Update(bytes);
    return sink_(bytes);
  }
  Status Finish() {
    HF_CHECK_OK(Flush());
    uint64_t sum = checksum_.Value();
    return sink_({reinterpret_cast<const char*>(&sum), sizeof(sum)});
  }

 private:
  Status Flush() {
    checksum_.Update(buffer_);
    Status written = buffer_.empty() ? OkStatus() : sink_(buffer_);
    buffer_.clear();
    return written;
  }

  const Sink& sink_;
  std::string buffer_;
  base::Checksum checksum_;
};

// Reads what an Encoder wrote. Sizes are bounded before memory is taken.
class SnapshotReader::Decoder {
 public:
  explicit Decoder(const Source& source) : source_(source) {}

  // Reads the first two numbers of a file: the second says by which checksum it is to be believed.
  Status Begin(uint32_t magic) {
    uint32_t head[2];
    HF_CHECK_OK(source_(sizeof(head), reinterpret_cast<char*>(head)));
    if (head[0] != magic) return Damaged("it is of another kind");
    if (head[1] != kVersion && head[1] != kVersionFormat2) return Damaged("its version is unknown");
    checksum_.emplace(head[1] == kVersion ? base::ChecksumKind::kXxh3 : base::ChecksumKind::kFormat2);
    checksum_->Update({reinterpret_cast<const char*>(head), sizeof(head)});
    return Ok{};
  }

  template <class T>
  Result<T> Number() {
    T value{};
    HF_CHECK_OK(Bytes(sizeof(value), reinterpret_cast<char*>(&value)));
    return value;
  }
  Result<std::string> Text(size_t size_max) {
    HF_TRY(uint32_t size, Number<uint32_t>());
    if (size > size_max) return Damaged("a text is too long");
    std::string text(size, '\0');
    HF_CHECK_OK(Bytes(size, text.data()));
    return text;
  }
  Status Bytes(size_t size, char* out) {
    HF_CHECK_OK(source_(size, out));
    checksum_->Update({out, size});
    return Ok{};
  }
  Status Finish() {
    uint64_t stored = 0;
    HF_CHECK_OK(source_(sizeof(stored), reinterpret_cast<char*>(&stored)));
    return stored == checksum_->Value() ? OkStatus() : Status(Damaged("its checksum is wrong"));
  }

 private:
  const Source& source_;
  std::optional<base::Checksum> checksum_;  // since Begin()
};

// Commits up to `number` have ended: what is appended to lists from here on is of later ones. Lists are
// copied with the lock held, and walked without it.
SnapshotWriter::SnapshotWriter(Index* index, uint64_t number) : index_(index), number_(number) {
  index->saved_.resize(index->slots_.size());
  size_t next = 0, end = 0;  // ids of partitions
  do {
    std::vector<PartitionLists> some;
    {
      base::ReaderLock lock(&index->mu_);
      end = index->partition_by_id_.size();
      size_t handled = 0;
      for (; next < end && handled < Index::kHoldMax; ++next, ++handled) {
        const Index::Partition* partition = index->partition_by_id_[next];
        if (partition == nullptr) continue;
        some.push_back({partition, partition->nodes, partition->tail});
        handled += partition->nodes.blocks() + partition->tail.blocks();
      }
      index->NoteHold(handled);
    }
    for (const PartitionLists& lists : some) Copy(lists);
  } while (next < end);
}

void SnapshotWriter::Copy(const PartitionLists& lists) {
  const Index::Partition& partition = *lists.partition;
  PartitionCopy copy{.name = partition.name,
                     .has_graph = partition.graph != nullptr,
                     .entry = kNoSlot,
                     .ef = static_cast<uint32_t>(partition.effort.ef()),
                     .values = {},
                     .members = {}};
  if (copy.has_graph && !partition.graph->empty()) copy.entry = partition.graph->entry();
  auto add = [&](Slot slot) {
    const SlotRow& row = index_->slots_.row(slot);
    if (row.born.load(std::memory_order_acquire) > number_) return;
    bool dead = row.died.load(std::memory_order_acquire) <= number_;
    bool linked = row.linked.load(std::memory_order_acquire) != 0;
    if (dead && !linked) return;
    copy.members.push_back({slot, linked, dead});
    unsaved_ += index_->saved_[slot] ? 0 : 1;
  };
  lists.nodes.ForEach(0, add);
  lists.tail.ForEach(0, add);
  if (copy.members.empty()) return;
  for (const Index::FilterValues& values : partition.filters) copy.values.push_back(CopyNames(values));
  slots_ += copy.members.size();
  partitions_.push_back(std::move(copy));
}

std::vector<std::string> SnapshotWriter::CopyNames(const Index::FilterValues& values) {
  std::vector<std::string> names;
  bool more = true;
  while (more) {
    base::ReaderLock lock(&index_->mu_);
    size_t end = std::min(values.lists.size(), names.size() + Index::kHoldMax);
    index_->NoteHold(end - names.size());
    while (names.size() < end) names.push_back(values.lists[names.size()]->name);
    more = end < values.lists.size();
  }
  return names;
}

Status SnapshotWriter::WriteFloats(Which which, const Sink& sink) {
  std::vector<Slot> slots;
  for (const PartitionCopy& partition : partitions_) {
    for (const Member& member : partition.members) {
      if (which == Which::kAll || !index_->saved_[member.slot]) slots.push_back(member.slot);
    }
  }
  // In order, so that neighbours in memory are neighbours in the file, and read in one piece.
  std::sort(slots.begin(), slots.end());
  Encoder encoder(sink);
  encoder.Number(kFloatsMagic);
  encoder.Number(kVersion);
  encoder.Number(static_cast<uint32_t>(index_->options_.dimensions));
  encoder.Number(static_cast<uint32_t>(slots.size()));
  for (Slot slot : slots) {
    encoder.Number(slot);
    HF_CHECK_OK(encoder.Step());
  }
  for (Slot slot : slots) {
    HF_CHECK_OK(encoder.Large(BytesOf(index_->slots_.floats(slot), index_->options_.dimensions)));
  }
  return encoder.Finish();
}

Status SnapshotWriter::WriteGraph(const Sink& sink) {
  Encoder encoder(sink);
  encoder.Number(kGraphMagic);
  encoder.Number(kVersion);
  encoder.Number(static_cast<uint32_t>(index_->options_.dimensions));
  encoder.Number(static_cast<uint32_t>(index_->options_.metric));
  encoder.Number(static_cast<uint32_t>(index_->options_.m));
  encoder.Number(static_cast<uint32_t>(index_->options_.filters));
  encoder.Number(number_);
  encoder.Number(static_cast<uint32_t>(index_->slots_.size()));
  encoder.Number(static_cast<uint32_t>(partitions_.size()));
  for (const PartitionCopy& partition : partitions_) HF_CHECK_OK(WritePartition(partition, &encoder));
  return encoder.Finish();
}

Status SnapshotWriter::WritePartition(const PartitionCopy& partition, Encoder* encoder) const {
  encoder->Text(partition.name);
  encoder->Number(static_cast<uint32_t>(partition.has_graph));
  encoder->Number(partition.entry);
  encoder->Number(partition.ef);
  for (const std::vector<std::string>& names : partition.values) {
    encoder->Number(static_cast<uint32_t>(names.size()));
    for (const std::string& name : names) encoder->Text(name);
    HF_CHECK_OK(encoder->Step());
  }
  encoder->Number(static_cast<uint32_t>(partition.members.size()));
  for (const Member& member : partition.members) {
    WriteMember(member, encoder);
    HF_CHECK_OK(encoder->Step());
  }
  return Ok{};
}

void SnapshotWriter::WriteMember(const Member& member, Encoder* encoder) const {
  const Slots& slots = index_->slots_;
  const SlotRow& row = slots.row(member.slot);
  encoder->Number(member.slot);
  encoder->Number(static_cast<uint32_t>((member.linked ? 1 : 0) | (member.dead ? 2 : 0)));
  encoder->Text(row.info->key());
  for (size_t i = 0; i < index_->options_.filters; ++i) encoder->Number(row.info->filters()[i]);
  encoder->Number(row.level);
  if (!member.linked) return;
  for (uint32_t level = 0; level <= row.level; ++level) {
    const Links* list = slots.links(member.slot, level);
    uint32_t count = list[0].load(std::memory_order_acquire);
    encoder->Number(count);
    for (uint32_t i = 1; i <= count; ++i) encoder->Number(list[i].load(std::memory_order_acquire));
  }
}

void SnapshotWriter::Done() {
  for (const PartitionCopy& partition : partitions_) {
    for (const Member& member : partition.members) index_->saved_[member.slot] = true;
  }
}

Status SnapshotReader::ReadGraph(const Source& source) {
  Slots& slots = index_->slots_;
  Decoder decoder(source);
  HF_TRY(uint32_t partitions, ReadHeader(&decoder));
  auto slot_count = static_cast<Slot>(used_.size());
  base::WriterLock lock(&index_->mu_);
  if (slot_count > 0 && !slots.Extend(slot_count)) return Error(ErrorCode::kIo, "no memory for vectors");
  for (uint32_t id = 0; id < partitions; ++id) HF_CHECK_OK(ReadPartition(id, &decoder));
  HF_CHECK_OK(decoder.Finish());
  for (Slot slot = 0; slot < slot_count; ++slot) HF_CHECK_OK(CheckLinks(slot));
  slots.FreeAllBut(used_);
  has_floats_.assign(slot_count, false);
  return Ok{};
}

Result<uint32_t> SnapshotReader::ReadHeader(Decoder* decoder) {
  const IndexOptions& options = index_->options_;
  auto expect = [&](uint32_t wanted, const char* what) -> Status {
    HF_TRY(uint32_t got, decoder->Number<uint32_t>());
    return got == wanted ? OkStatus() : Status(Damaged(what));
  };
  HF_CHECK_OK(decoder->Begin(kGraphMagic));
  HF_CHECK_OK(expect(static_cast<uint32_t>(options.dimensions), "its dimensions are others"));
  HF_CHECK_OK(expect(static_cast<uint32_t>(options.metric), "its distance function is another"));
  HF_CHECK_OK(expect(static_cast<uint32_t>(options.m), "it was built with another m"));
  HF_CHECK_OK(expect(static_cast<uint32_t>(options.filters), "its filters are others"));
  HF_TRY(number_, decoder->Number<uint64_t>());
  HF_TRY(uint32_t slot_count, decoder->Number<uint32_t>());
  used_.assign(slot_count, false);
  return decoder->Number<uint32_t>();
}

Status SnapshotReader::ReadPartition(uint32_t id, Decoder* decoder) {
  HF_TRY(std::string name, decoder->Text(kTextMax));
  Index::Partition* partition = index_->PartitionNamed(name);
  if (partition->id != id) return Damaged("a partition comes twice");
  HF_TRY(uint32_t has_graph, decoder->Number<uint32_t>());
  HF_TRY(Slot entry, decoder->Number<Slot>());
  HF_TRY(uint32_t ef, decoder->Number<uint32_t>());
  partition->effort.Restore(ef);
  for (Index::FilterValues& values : partition->filters) HF_CHECK_OK(ReadFilterValues(&values, decoder));
  HF_TRY(uint32_t members, decoder->Number<uint32_t>());
  for (uint32_t i = 0; i < members; ++i) HF_CHECK_OK(ReadMember(partition, decoder));
  for (Index::FilterValues& values : partition->filters) {
    for (uint32_t value = 1; value <= values.lists.size(); ++value) Index::FreeIfUnused(&values, value);
  }
  if (has_graph != 0) {
    const IndexOptions& options = index_->options_;
    partition->graph =
        std::make_unique<Graph>(&index_->slots_, options.metric, &index_->kernels_, options.ef_construction);
    ++index_->graphs_;
    index_->backlog_ += partition->tail.size();
    if (entry != kNoSlot) {
      if (entry >= used_.size() || !used_[entry]) return Damaged("its entry is no vector");
      partition->graph->SetEntry(entry);
    }
  }
  index_->Queue(partition);
  return Ok{};
}

Status SnapshotReader::ReadFilterValues(Index::FilterValues* values, Decoder* decoder) {
  HF_TRY(uint32_t count, decoder->Number<uint32_t>());
  for (uint32_t id = 1; id <= count; ++id) {
    HF_TRY(std::string name, decoder->Text(kTextMax));
    values->lists.push_back(std::make_unique<Index::FilterValue>());
    Index::FilterValue& value = *values->lists.back();
    value.name = std::move(name);
    if (value.name.empty()) continue;  // a free id
    if (!values->ids.emplace(value.name, id).second) return Damaged("a filter value comes twice");
  }
  return Ok{};
}

Status SnapshotReader::ReadMember(Index::Partition* partition, Decoder* decoder) {
  Slots& slots = index_->slots_;
  HF_TRY(Slot slot, decoder->Number<Slot>());
  if (slot >= used_.size() || used_[slot]) return Damaged("a slot is out of place");
  used_[slot] = true;
  HF_TRY(uint32_t flags, decoder->Number<uint32_t>());
  bool linked = (flags & 1) != 0, dead = (flags & 2) != 0;
  HF_TRY(std::string key, decoder->Text(kTextMax));
  std::vector<uint32_t> filters(partition->filters.size());
  for (size_t i = 0; i < filters.size(); ++i) {
    HF_TRY(filters[i], decoder->Number<uint32_t>());
    auto& lists = partition->filters[i].lists;
    if (filters[i] > lists.size()) return Damaged("a filter value is unknown");
    if (filters[i] != 0) lists[filters[i] - 1]->slots.Append(slot);
  }
  HF_TRY(uint32_t level, decoder->Number<uint32_t>());
  if (level > 15) return Damaged("a level is too high");
  SlotRow& row = slots.row(slot);
  row.partition = partition->id;
  row.info = SlotInfo::Make(key, filters);
  slots.SetLevel(slot, level);
  if (linked) HF_CHECK_OK(ReadLinks(slot, decoder));
  row.linked.store(linked ? 1 : 0, std::memory_order_relaxed);
  (linked ? partition->nodes : partition->tail).Append(slot);
  row.died.store(dead ? 0 : kNever, std::memory_order_relaxed);
  if (dead) {
    partition->dead.Append(slot);
    ++index_->dead_;
  } else if (!index_->by_key_.Of(row.info->key()).emplace(row.info->key(), slot).second) {
    return Damaged("a key comes twice");
  } else {
    ++index_->vectors_;
  }
  row.born.store(0, std::memory_order_release);
  return Ok{};
}

Status SnapshotReader::ReadLinks(Slot slot, Decoder* decoder) {
  Slots& slots = index_->slots_;
  for (uint32_t level = 0; level <= slots.row(slot).level; ++level) {
    HF_TRY(uint32_t count, decoder->Number<uint32_t>());
    if (count > slots.link_max(level)) return Damaged("too many links");
    std::vector<Slot> links(count);
    HF_CHECK_OK(decoder->Bytes(count * sizeof(Slot), reinterpret_cast<char*>(links.data())));
    Links* list = slots.links(slot, level);
    for (uint32_t i = 0; i < count; ++i) {
      if (links[i] >= used_.size()) return Damaged("a link leads nowhere");
      list[1 + i].store(links[i], std::memory_order_relaxed);
    }
    list[0].store(count, std::memory_order_relaxed);
  }
  return Ok{};
}

// Links lead to slots that are there, on a level that they have.
Status SnapshotReader::CheckLinks(Slot slot) const {
  const Slots& slots = index_->slots_;
  const SlotRow& row = slots.row(slot);
  if (!used_[slot] || row.linked.load() == 0) return Ok{};
  for (uint32_t level = 0; level <= row.level; ++level) {
    const Links* list = slots.links(slot, level);
    for (uint32_t i = 1; i <= list[0]; ++i) {
      Slot to = list[i];
      const SlotRow& other = slots.row(to);
      bool sound =
          used_[to] && other.linked.load() != 0 && other.level >= level && other.partition == row.partition;
      if (!sound) return Damaged("a link leads to no vector of its level");
    }
  }
  return Ok{};
}

Status SnapshotReader::ReadFloats(const Source& source) {
  Decoder decoder(source);
  HF_CHECK_OK(decoder.Begin(kFloatsMagic));
  HF_TRY(uint32_t dimensions, decoder.Number<uint32_t>());
  if (dimensions != index_->options_.dimensions) return Damaged("its floats have other dimensions");
  HF_TRY(uint32_t count, decoder.Number<uint32_t>());
  if (count > used_.size()) return Damaged("it has too many floats");
  std::vector<Slot> slots(count);
  HF_CHECK_OK(decoder.Bytes(count * sizeof(Slot), reinterpret_cast<char*>(slots.data())));
  for (size_t i = 0; i < count;) {
    // A run of neighbours goes straight to its place. Floats of a slot that was given to another since, or
    // to nobody, are read all the same, for the checksum.
    size_t run = 1;
    if (slots[i] >= used_.size()) return Damaged("a slot is out of place");
    while (i + run < count && run < Slots::ContiguousFrom(slots[i]) && slots[i + run] == slots[i] + run)
      ++run;
    if (slots[i] + run > used_.size()) return Damaged("a slot is out of place");
    HF_CHECK_OK(decoder.Bytes(run * dimensions * sizeof(float),
                              reinterpret_cast<char*>(index_->slots_.floats(slots[i]))));
    for (size_t k = 0; k < run; ++k) has_floats_[slots[i] + k] = true;
    i += run;
  }
  return decoder.Finish();
}

Status SnapshotReader::Finish() {
  Slots& slots = index_->slots_;
  base::WriterLock lock(&index_->mu_);
  index_->saved_.assign(slots.size(), false);
  for (Slot slot = 0; slot < used_.size(); ++slot) {
    if (!used_[slot]) continue;
    if (!has_floats_[slot]) return Damaged("a vector has no floats");
    SlotRow& row = slots.row(slot);
    Code code =
        Encode(index_->options_.metric, slots.floats(slot), slots.dimensions(), index_->kernels_, row.code());
    row.scale = code.scale;
    row.offset = code.offset;
    row.error = code.error;
    row.norm = code.norm;
    index_->saved_[slot] = true;
  }
  return Ok{};
}

}  // namespace holdfast::vector
