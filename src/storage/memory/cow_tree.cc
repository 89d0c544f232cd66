#include "storage/memory/cow_tree.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::storage::memory {
namespace {

constexpr size_t kLeafMax = 32;
constexpr size_t kInnerMax = 32;

size_t LeafPosition(const Node& leaf, ByteView key) {
  auto at = std::lower_bound(leaf.records.begin(), leaf.records.end(), key,
                             [](const Ref<const Record>& record, ByteView k) { return record->key < k; });
  return static_cast<size_t>(at - leaf.records.begin());
}

// The child whose range holds `key`; keys below the first child's belong to the first.
size_t ChildPosition(const Node& inner, ByteView key) {
  auto at = std::upper_bound(inner.keys.begin(), inner.keys.end(), key,
                             [](ByteView k, const std::string& first) { return k < first; });
  return at == inner.keys.begin() ? 0 : static_cast<size_t>(at - inner.keys.begin()) - 1;
}

const std::string& FirstKey(const Node& node) {
  return node.leaf ? node.records.front()->key : node.keys.front();
}

}  // namespace

Node* CowTree::Mutable(Ref<Node>* node) {
  if (!node->unique()) {
    const Node& old = **node;
    auto copy = Ref<Node>(new Node);
    copy->leaf = old.leaf;
    copy->records = old.records;
    copy->keys = old.keys;
    copy->children = old.children;
    *node = std::move(copy);
  }
  return node->operator->();
}

void CowTree::Insert(ByteView key, ByteView value) {
  auto record = Ref<const Record>(new Record{std::string(key), std::string(value)});
  Node* root = Mutable(&root_);
  Ref<Node> sibling = InsertInto(root, key, std::move(record));
  if (!sibling) return;
  auto grown = Ref<Node>(new Node);
  grown->leaf = false;
  grown->keys = {FirstKey(*root_), FirstKey(*sibling)};
  grown->children.push_back(std::move(root_));
  grown->children.push_back(std::move(sibling));
  root_ = std::move(grown);
}

Ref<Node> CowTree::InsertInto(Node* node, ByteView key, Ref<const Record> record) {
  if (node->leaf) {
    size_t at = LeafPosition(*node, key);
    bytes_ += record->key.size() + record->value.size();
    if (at < node->records.size() && node->records[at]->key == key) {
      bytes_ -= node->records[at]->key.size() + node->records[at]->value.size();
      node->records[at] = std::move(record);
      return {};
    }
    node->records.insert(node->records.begin() + static_cast<ptrdiff_t>(at), std::move(record));
    if (node->records.size() <= kLeafMax) return {};
    // A key appended at the end is likely to be followed by more: leave the left leaf nearly full.
    size_t keep = at + 1 == node->records.size() ? kLeafMax - 2 : kLeafMax / 2;
    auto sibling = Ref<Node>(new Node);
    sibling->records.assign(std::make_move_iterator(node->records.begin() + static_cast<ptrdiff_t>(keep)),
                            std::make_move_iterator(node->records.end()));
    node->records.resize(keep);
    return sibling;
  }
  size_t at = ChildPosition(*node, key);
  Ref<Node> split = InsertInto(Mutable(&node->children[at]), key, std::move(record));
  if (key < node->keys[at]) node->keys[at] = key;
  if (!split) return {};
  node->keys.insert(node->keys.begin() + static_cast<ptrdiff_t>(at) + 1, FirstKey(*split));
  node->children.insert(node->children.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(split));
  if (node->children.size() <= kInnerMax) return {};
  ptrdiff_t keep = at + 2 == node->children.size() ? kInnerMax - 2 : kInnerMax / 2;
  auto sibling = Ref<Node>(new Node);
  sibling->leaf = false;
  sibling->keys.assign(node->keys.begin() + keep, node->keys.end());
  sibling->children.assign(std::make_move_iterator(node->children.begin() + keep),
                           std::make_move_iterator(node->children.end()));
  node->keys.resize(static_cast<size_t>(keep));
  node->children.resize(static_cast<size_t>(keep));
  return sibling;
}

bool CowTree::Erase(ByteView key) {
  if (Find(key) == nullptr) return false;  // so that a miss copies nothing
  bool erased = EraseFrom(Mutable(&root_), key);
  HF_ASSERT(erased);
  while (!root_->leaf && root_->children.size() <= 1) {
    if (root_->children.empty()) {
      root_ = Ref<Node>(new Node);
    } else {
      Ref<Node> child = root_->children.front();
      root_ = std::move(child);
    }
  }
  return true;
}

// Nodes may become small but never empty: an emptied child is unlinked. Small nodes fill up again where
// writes go on, and cost little where they do not.
bool CowTree::EraseFrom(Node* node, ByteView key) {
  if (node->leaf) {
    size_t at = LeafPosition(*node, key);
    if (at == node->records.size() || node->records[at]->key != key) return false;
    bytes_ -= node->records[at]->key.size() + node->records[at]->value.size();
    node->records.erase(node->records.begin() + static_cast<ptrdiff_t>(at));
    return true;
  }
  size_t at = ChildPosition(*node, key);
  Node* child = Mutable(&node->children[at]);
  if (!EraseFrom(child, key)) return false;
  if (child->size() == 0) {
    node->keys.erase(node->keys.begin() + static_cast<ptrdiff_t>(at));
    node->children.erase(node->children.begin() + static_cast<ptrdiff_t>(at));
  } else {
    node->keys[at] = FirstKey(*child);
  }
  return true;
}

const Record* CowTree::Find(ByteView key) const {
  const Node* node = &*root_;
  while (!node->leaf) node = &*node->children[ChildPosition(*node, key)];
  size_t at = LeafPosition(*node, key);
  if (at == node->records.size() || node->records[at]->key != key) return nullptr;
  return &*node->records[at];
}

void CowTree::Cursor::Descend(bool last) {
  path_.clear();
  if (root_->size() > 0) DescendFrom(&*root_, last);
}

void CowTree::Cursor::DescendFrom(const Node* node, bool last) {
  while (true) {
    path_.push_back({node, last ? node->size() - 1 : 0});
    if (node->leaf) return;
    node = &*node->children[path_.back().position];
  }
}

void CowTree::Cursor::SeekAtLeast(ByteView key) {
  path_.clear();
  const Node* node = &*root_;
  while (!node->leaf) {
    path_.push_back({node, ChildPosition(*node, key)});
    node = &*node->children[path_.back().position];
  }
  size_t at = LeafPosition(*node, key);
  if (at < node->records.size()) {
    path_.push_back({node, at});
  } else if (node->records.empty()) {
    path_.clear();
  } else {
    path_.push_back({node, at - 1});
    Next();
  }
}

void CowTree::Cursor::Next() {
  while (!path_.empty() && path_.back().position + 1 == path_.back().node->size()) path_.pop_back();
  if (path_.empty()) return;
  Step& step = path_.back();
  ++step.position;
  if (!step.node->leaf) DescendFrom(&*step.node->children[step.position], /*last=*/false);
}

void CowTree::Cursor::Prev() {
  while (!path_.empty() && path_.back().position == 0) path_.pop_back();
  if (path_.empty()) return;
  Step& step = path_.back();
  --step.position;
  if (!step.node->leaf) DescendFrom(&*step.node->children[step.position], /*last=*/true);
}

}  // namespace holdfast::storage::memory
