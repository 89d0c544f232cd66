// Whose a change is, in a model with tenants: what its item says; and where it says nothing, what the item
// says that it belongs to. The same that decides whether a tenant may read it.
//
// Thread-safe. Ask may block.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "holdfast/model.h"
#include "wire/feed_change.h"

namespace holdfast::wire {

class FeedOwners {
 public:
  // Neither is owned.
  FeedOwners(const model::Model* model, Store* store);

  enum class Answer : uint8_t { kYes, kNo, kAsk };
  // What can be told from the change itself. An empty tenant is everybody's friend.
  Answer Judge(const FeedChange& change, const std::string& tenant) const;
  // Where Judge says kAsk. When the parent cannot be read, the answer is no.
  bool Ask(const FeedChange& change, const std::string& tenant);
  // To be told of every change, in order, before it is judged: parents come and go.
  void Note(const FeedChange& change);

 private:
  // The owner that an item names; empty: none, and everybody may see it.
  std::string OwnerOf(const Item& item) const;
  static std::string NameOf(const model::Table& table, const Item& key) {
    return table.name + '\0' + std::string(key.flat());
  }

  const model::Model* const model_;
  Store* const store_;
  // Entities on which others of their table depend: only their changes are seen in order with those of their
  // children, so that only they can be remembered.
  std::set<const model::Entity*> remembered_;

  base::Mutex mu_;
  uint64_t noted_ HF_GUARDED_BY(mu_) = 0;
  std::map<std::string, std::string> owners_ HF_GUARDED_BY(mu_);  // of parents that are there
  // Parents that were removed: what goes with them in the same commit is told after them.
  struct Departed {
    uint64_t number;
    std::string owner;
  };
  std::map<std::string, Departed> departed_ HF_GUARDED_BY(mu_);
  std::deque<std::string> departed_order_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::wire
