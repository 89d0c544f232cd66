// A B+tree whose snapshots cost one reference count: nodes that a snapshot can reach are never changed, a
// write copies the path to what it changes. Nodes that only the live tree reaches are changed in place.
//
// Thread safety: Insert, Erase and Copy need external synchronisation with one another; a copied tree is
// immutable and may be read from any thread while the original goes on changing.
//
// Invariants:
//  1. Keys are in order within a leaf and across leaves; an inner node's keys_[i] is the smallest key of
//  child i.
//  2. A node with more than one owner is never changed: Mutable() copies it first. Owners are counted along
//  the
//     path, so a shared parent makes its children shared before they are reached.
//  3. No leaf is empty except the root of an empty tree.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace holdfast::storage::memory {

// Counts owners itself: unlike shared_ptr::use_count, unique() orders what other owners did before they let
// go.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* target) : target_(target) {}
  Ref(const Ref& other) : target_(other.target_) {
    if (target_ != nullptr) target_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  ~Ref() {
    if (target_ != nullptr && target_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete target_;
  }

  T* operator->() const { return target_; }
  T& operator*() const { return *target_; }
  explicit operator bool() const { return target_ != nullptr; }
  bool unique() const { return target_->owners.load(std::memory_order_acquire) == 1; }

 private:
  T* target_ = nullptr;
};

struct Record {
  std::string key;
  std::string value;
  mutable std::atomic<uint32_t> owners{1};
};

struct Node {
  bool leaf = true;
  std::vector<Ref<const Record>> records;  // leaf
  std::vector<std::string> keys;           // inner, one per child
  std::vector<Ref<Node>> children;         // inner
  mutable std::atomic<uint32_t> owners{1};

  size_t size() const { return leaf ? records.size() : children.size(); }
};

class CowTree {
 public:
  CowTree() : root_(new Node) {}

  // A tree with the same content; constant time.
  CowTree Copy() const { return *this; }
  void Insert(ByteView key, ByteView value);
  // Returns whether the key was there.
  bool Erase(ByteView key);
  // Null when absent. Valid while this tree is unchanged.
  const Record* Find(ByteView key) const;
  bool empty() const { return root_->size() == 0; }
  uint64_t bytes() const { return bytes_; }

  // A position in a tree that does not change underneath it.
  class Cursor {
   public:
    explicit Cursor(const CowTree& tree) : root_(tree.root_) {}
    bool Valid() const { return !path_.empty(); }
    const Record& record() const { return *path_.back().node->records[path_.back().position]; }
    void First() { Descend(/*last=*/false); }
    void Last() { Descend(/*last=*/true); }
    // To the first key >= `key`; invalid when there is none.
    void SeekAtLeast(ByteView key);
    void Next();
    void Prev();

   private:
    struct Step {
      const Node* node;
      size_t position;
    };
    void Descend(bool last);
    void DescendFrom(const Node* node, bool last);

    Ref<Node> root_;
    std::vector<Step> path_;
  };

 private:
  static Node* Mutable(Ref<Node>* node);
  // Inserts below `node`; returns a new right sibling when the node had to be split.
  Ref<Node> InsertInto(Node* node, ByteView key, Ref<const Record> record);
  bool EraseFrom(Node* node, ByteView key);

  Ref<Node> root_;
  uint64_t bytes_ = 0;
};

}  // namespace holdfast::storage::memory
