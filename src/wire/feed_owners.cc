#include "wire/feed_owners.h"

#include "base/limits.h"
#include "model/item_builder.h"
#include "value/flat.h"

namespace holdfast::wire {
namespace {

constexpr size_t kOwnersMax = 10'000;
constexpr size_t kDepartedMax = 1'000;

}  // namespace

FeedOwners::FeedOwners(const model::Model* model, Store* store) : model_(model), store_(store) {
  if (model_->tenant.empty()) return;
  for (const auto& entity : model_->entities) {
    if (entity->parents.empty()) continue;
    const model::Entity* parent = model_->FindEntity(entity->parents[0].entity);
    if (parent->table == entity->table) remembered_.insert(parent);
  }
}

std::string FeedOwners::OwnerOf(const Item& item) const {
  auto owner = value::MapView(item).Find(model_->tenant);
  bool text = owner && owner->type() == value::Type::kString;
  return text ? std::string(model_->TenantOf(owner->payload())) : "";
}

FeedOwners::Answer FeedOwners::Judge(const FeedChange& change, const std::string& tenant) const {
  if (tenant.empty() || model_->tenant.empty()) return Answer::kYes;
  if (std::string owner = OwnerOf(change.fields); !owner.empty())
    return owner == tenant ? Answer::kYes : Answer::kNo;
  const auto& parents = change.entity->parents;
  if (parents.empty()) return Answer::kYes;
  const model::Entity* parent = model_->FindEntity(parents[0].entity);
  return parent->Find(model_->tenant) == nullptr ? Answer::kYes : Answer::kAsk;
}

bool FeedOwners::Ask(const FeedChange& change, const std::string& tenant) {
  const model::Parent& link = change.entity->parents[0];
  const model::Entity& parent = *model_->FindEntity(link.entity);
  Item known;
  for (const auto& [theirs, own] : link.bind) {
    if (auto value = change.fields.Get(own)) known.Set(theirs, *value);
  }
  if (model_->FillsTenant()) known.Set(model_->tenant, tenant);  // where it is part of the parent's key, only the tenant's own is found
  auto keys = model::KeysOf(parent, known);
  if (!keys) return false;
  bool remembers = remembered_.contains(&parent) && parent.table == change.entity->table;
  for (const Item& key : *keys) {
    std::string name = NameOf(*parent.table, key);
    uint64_t noted = 0;
    {
      base::MutexLock lock(&mu_);
      noted = noted_;
      auto cached = owners_.find(name);
      if (cached != owners_.end() && remembers) return cached->second.empty() || cached->second == tenant;
    }
    GetItemRequest get;
    get.table_name = parent.table->name;
    get.key = key;
    get.consistent_read = true;
    auto got = store_->Run(get);
    if (!got) return false;
    base::MutexLock lock(&mu_);
    std::string owner;
    if (got->item) {
      owner = OwnerOf(Record(&parent, *got->item).Fields());
      if (remembers && noted == noted_) {  // else it may have gone meanwhile
        if (owners_.size() >= kOwnersMax) owners_.clear();
        owners_[name] = owner;
      }
    } else {
      auto departed = departed_.find(name);
      if (!remembers || departed == departed_.end() ||
          change.number > departed->second.number + limits::kTransactionActionsMax) {
        continue;
      }
      owner = departed->second.owner;
    }
    return owner.empty() || owner == tenant;
  }
  return false;
}

void FeedOwners::Note(const FeedChange& change) {
  if (!remembered_.contains(change.entity)) return;
  std::string name = NameOf(*change.entity->table, change.key);
  base::MutexLock lock(&mu_);
  ++noted_;
  owners_.erase(name);
  if (change.kind != TableChange::Kind::kRemove) return;
  if (!departed_.insert_or_assign(name, Departed{change.number, OwnerOf(change.fields)}).second) return;
  departed_order_.push_back(std::move(name));
  if (departed_order_.size() <= kDepartedMax) return;
  departed_.erase(departed_order_.front());
  departed_order_.pop_front();
}

}  // namespace holdfast::wire
