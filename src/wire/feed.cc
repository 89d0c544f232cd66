#include "wire/feed.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/clock.h"
#include "base/thread.h"
#include "json/plain.h"
#include "json/writer.h"
#include "model/item_builder.h"
#include "wire/feed_hub.h"

namespace holdfast::wire {
namespace {

constexpr auto kTick = std::chrono::milliseconds(250);
constexpr size_t kReadAtOnce = 64;
constexpr auto kPatience = std::chrono::milliseconds(100);
constexpr size_t kToldAtOnce = 200;      // to one subscription, before others have their turn
constexpr size_t kEmittedAtOnce = 64;    // subscriptions that an event goes to under one look at their list
constexpr size_t kFramesRemembered = 8;  // of one change, by the ids that subscriptions chose

std::string_view KindName(TableChange::Kind kind) {
  static constexpr std::string_view kNames[] = {"insert", "modify", "remove"};
  return kNames[static_cast<size_t>(kind)];
}

bool Holds(const Item& fields, const Item& partition) {
  value::MapView wanted(partition), there(fields);
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    auto value = there.Find(wanted.At(i).name);
    if (!value || !(*value == wanted.At(i).value)) return false;
  }
  return true;
}

// {"type":"subscribed","id":"s1","cursor":"…"}
std::string Message(std::string_view type, std::string_view id, std::string_view cursor) {
  std::string message = "{\"type\":\"" + std::string(type) + "\",\"id\":";
  json::AppendString(id, &message);
  if (!cursor.empty()) {
    message += ",\"cursor\":";
    json::AppendString(cursor, &message);
  }
  return message + "}";
}

std::string_view NameOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kResourceNotFound: return "NotFound";
    case ErrorCode::kNotSupported: return "NotConfigured";
    default: return "Unavailable";
  }
}

}  // namespace

std::string ErrorMessage(std::string_view id, std::string_view error, std::string_view message) {
  std::string text = "{\"type\":\"error\"";
  if (!id.empty()) {
    text += ",\"id\":";
    json::AppendString(id, &text);
  }
  text += ",\"error\":";
  json::AppendString(error, &text);
  text += ",\"message\":";
  json::AppendString(message, &text);
  return text + "}";
}

// --- the hub as others see it ---

Hub::Hub(ModelPtr model, Store* store, const base::Log* log, const HubOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), store, log, options)) {}
Hub::~Hub() = default;

void Hub::Emit(std::string_view name, std::string_view to, const Item& body) {
  impl_->Emit(name, to, body);
}
bool Hub::Post(std::string_view connection_id, std::string_view json) {
  return impl_->Post(connection_id, json);
}
size_t Hub::connections() const {
  return impl_->connections();
}

// --- its inside ---

Hub::Impl::Feed::Feed(const model::Model& model, const model::Table* of, size_t at, const HubOptions& options)
    : table(of), number(at), ring(options.kept_changes_max, options.kept_bytes_max) {
  for (const auto& entity : model.entities) {
    if (entity->table == of) entities.push_back(entity.get());
  }
}

Hub::Impl::Impl(ModelPtr model, Store* store, const base::Log* log, const HubOptions& options)
    : model_(std::move(model)),
      store_(store),
      log_(log),
      options_(options),
      start_(base::Random().Uuid()),
      owners_(model_.get(), store) {
  for (const auto& table : model_->tables)
    feeds_.push_back(std::make_unique<Feed>(*model_, table.get(), feeds_.size(), options_));
}

Hub::Impl::~Impl() {
  std::thread deliverer;
  {
    base::MutexLock lock(&mu_);
    base::MutexLock door(&door_mu_);
    stop_ = true;
    wanted_changed_.NotifyAll();
    done_changed_.NotifyAll();
    deliverer = std::move(deliverer_);
  }
  if (deliverer.joinable()) deliverer.join();
}

Hub::Impl::Feed* Hub::Impl::FeedOf(const model::Table* table) const {
  return std::find_if(feeds_.begin(), feeds_.end(), [&](const auto& feed) { return feed->table == table; })
      ->get();
}

void Hub::Impl::Register(const std::string& connection_id, std::shared_ptr<Channel> channel) {
  base::MutexLock lock(&door_mu_);
  connections_[connection_id] = std::move(channel);
}

void Hub::Impl::Unregister(const std::string& connection_id) {
  base::MutexLock lock(&door_mu_);
  connections_.erase(connection_id);
}

size_t Hub::Impl::connections() const {
  base::MutexLock lock(&door_mu_);
  return connections_.size();
}

void Hub::Impl::Subscribe(const std::shared_ptr<Subscription>& subscription) {
  // Before it is among those who are told: nothing is told that was not acknowledged.
  if (subscription->entity == nullptr)
    subscription->Send(TextFrame(Message("subscribed", subscription->id, {})));
  base::MutexLock lock(&door_mu_);
  if (stop_) return;
  if (subscription->entity == nullptr) {
    subscription->joined = ++joined_;
    events_[subscription->event].emplace(subscription->joined, subscription);
    return;
  }
  arrived_.push_back(subscription);
  if (!deliverer_.joinable()) deliverer_ = std::thread([this] { Deliver(); });
  ++wanted_;
  wanted_changed_.NotifyOne();
}

void Hub::Impl::Unsubscribe(const std::shared_ptr<Subscription>& subscription) {
  subscription->End();
  if (subscription->entity != nullptr) return;  // taken out by the thread that goes through them
  base::MutexLock lock(&door_mu_);
  auto at = events_.find(subscription->event);
  if (at == events_.end()) return;
  at->second.erase(subscription->joined);
  if (at->second.empty()) events_.erase(at);
}

void Hub::Impl::Wake() {
  AskForRound();
}

uint64_t Hub::Impl::AskForRound() {
  base::MutexLock lock(&door_mu_);
  wanted_changed_.NotifyOne();
  return ++wanted_;
}

bool Hub::Impl::Post(std::string_view connection_id, std::string_view json) {
  std::shared_ptr<Channel> channel;
  {
    base::MutexLock lock(&door_mu_);
    auto at = connections_.find(connection_id);
    if (at != connections_.end()) channel = at->second;
  }
  return channel != nullptr && channel->Send(json);
}

void Hub::Impl::Emit(std::string_view name, std::string_view to, const Item& body) {
  std::string text = "{\"type\":\"event\",\"name\":";
  json::AppendString(name, &text);
  text += ",\"body\":";
  json::AppendPlainItem(value::MapView(body), &text);
  text += "}";
  if (!to.empty()) {
    Post(to, text);
    return;
  }
  std::string owner;
  if (auto value = body.Get(model_->tenant); value && value->type() == AttributeValue::Type::kString)
    owner = model_->TenantOf(value->AsText());
  Frame frame = TextFrame(text);
  // A few at a time, so that whoever comes or goes meanwhile waits for none of it. Those who come later are
  // not told.
  uint64_t told = 0;
  for (std::optional<uint64_t> last; !last || told < *last;) {
    Subscriptions some;
    {
      base::MutexLock lock(&door_mu_);
      if (!last) last = joined_;
      auto at = events_.find(name);
      if (at == events_.end()) return;
      for (auto next = at->second.upper_bound(told);
           next != at->second.end() && next->first <= *last && some.size() < kEmittedAtOnce; ++next)
        some.push_back(next->second);
    }
    if (some.empty()) return;
    for (const auto& subscription : some) {
      told = subscription->joined;
      bool may_hear = model_->tenant.empty() || subscription->tenant.empty() || subscription->tenant == owner;
      if (may_hear) subscription->Send(frame);
    }
  }
}

// --- cursors ---

std::string Hub::Impl::CursorAt(const Feed& feed, uint64_t number) const {
  return start_ + "." + std::to_string(feed.number) + "." + std::to_string(number);
}

std::optional<uint64_t> Hub::Impl::NextAfter(const Feed& feed, const std::string& cursor) const {
  std::string_view digits = cursor;
  std::string begin = start_ + "." + std::to_string(feed.number) + ".";
  if (!digits.starts_with(begin)) return std::nullopt;
  digits.remove_prefix(begin.size());
  uint64_t number = 0;
  auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (number == UINT64_MAX || !feed.ring.Reaches(number + 1)) return std::nullopt;
  return number + 1;
}

// --- the thread of a table ---

std::shared_ptr<FeedChange> Hub::Impl::Convert(const Feed& feed, const TableChange& change) const {
  const Item& stored = change.new_item ? *change.new_item : *change.old_item;
  const model::Entity* entity = model_->EntityOf(*feed.table, stored, feed.entities);
  if (entity == nullptr) return nullptr;  // of nobody who can subscribe
  auto told = std::make_shared<FeedChange>();
  told->entity = entity;
  told->kind = change.kind;
  told->expired = change.by_ttl;
  told->key = model::KeyOf(*feed.table, stored);
  told->fields = Record(entity, stored).Fields();
  if (change.kind == TableChange::Kind::kModify) told->before = Record(entity, *change.old_item).Fields();
  return told;
}

void Hub::Impl::Follow(Feed* feed) {
  base::NameThread("feed-reader");
  while (true) {
    bool some = feed->watch->Wait(std::chrono::steady_clock::now() + kTick);
    Result<std::vector<TableChange>> changes = std::vector<TableChange>();
    if (some) {
      changes = base::CallContained(*log_, "feed", [&]() -> Result<std::vector<TableChange>> {
        return feed->watch->Read(kReadAtOnce);
      });
    }
    if (changes) {
      for (const TableChange& change : *changes) {
        std::shared_ptr<FeedChange> told;
        base::RunContained(*log_, "change of a feed", [&] { told = Convert(*feed, change); });
        base::MutexLock lock(&mu_);
        if (told != nullptr) Add(feed, std::move(told));
      }
    }
    base::MutexLock lock(&mu_);
    if (!changes) {
      feed->failure = changes.error();
      AskForRound();
      return;
    }
    if (!changes->empty()) AwaitDelivery(feed);
    if (stop_ || feed->stop) return;
  }
}

void Hub::Impl::Add(Feed* feed, std::shared_ptr<FeedChange> change) {
  feed->added_bytes += change->bytes();
  ++feed->added_changes;
  feed->ring.Add(change);
  owners_.Note(*change);
  if (feed->added_changes >= options_.kept_changes_max / 4 ||
      feed->added_bytes >= options_.kept_bytes_max / 4)
    AwaitDelivery(feed);
}

// What has not been read yet waits on the disk rather than push out what is not told yet. Those who read are
// given a moment to catch up; those who do not, none.
void Hub::Impl::AwaitDelivery(Feed* feed) {
  feed->added_bytes = feed->added_changes = 0;
  uint64_t round = AskForRound();
  while (done_ < round && !stop_ && !feed->stop) done_changed_.Wait(&mu_);
  auto patience = std::chrono::steady_clock::now() + kPatience;
  while (!stop_ && !feed->stop && IsCrowded(*feed)) {
    if (!done_changed_.WaitUntil(&mu_, patience)) break;
  }
}

bool Hub::Impl::IsCrowded(const Feed& feed) const {
  return std::any_of(feed.subscriptions.begin(), feed.subscriptions.end(), [&](const auto& subscription) {
    if (subscription->over || !subscription->admitted || !feed.ring.Reaches(subscription->next)) return false;
    return feed.ring.BytesFrom(subscription->next) > options_.kept_bytes_max / 2 ||
           feed.ring.next() - subscription->next > options_.kept_changes_max / 2;
  });
}

// --- the thread that delivers ---

void Hub::Impl::Deliver() {
  base::NameThread("feed");
  while (!stop_) {
    uint64_t round = 0;
    Subscriptions arrived;
    {
      base::MutexLock door(&door_mu_);
      round = wanted_;
      arrived.swap(arrived_);
    }
    {
      base::MutexLock lock(&mu_);
      for (auto& subscription : arrived)
        FeedOf(subscription->entity->table)->subscriptions.push_back(std::move(subscription));
      for (auto& feed : feeds_) DeliverAll(feed.get());
      done_ = round;
      done_changed_.NotifyAll();
    }
    auto deadline = std::chrono::steady_clock::now() + kTick;
    base::MutexLock door(&door_mu_);
    while (!stop_ && wanted_ == round) {
      if (!wanted_changed_.WaitUntil(&door_mu_, deadline)) break;
    }
  }
  base::MutexLock lock(&mu_);
  for (auto& feed : feeds_) StopWatching(feed.get());
}

void Hub::Impl::DeliverAll(Feed* feed) {
  std::erase_if(feed->subscriptions, [](const auto& subscription) { return subscription->over.load(); });
  if (feed->failure) {
    EndAll(feed, *feed->failure);
    StopWatching(feed);
  }
  if (feed->subscriptions.empty()) {
    int64_t now = base::SteadyMicros();
    if (feed->unused_since_micros == 0) feed->unused_since_micros = now;
    if (now - feed->unused_since_micros > options_.linger_millis * 1000) StopWatching(feed);
    return;
  }
  feed->unused_since_micros = 0;
  if (!EnsureWatched(feed)) return;
  // The lock is given up now and then below: others may come and go meanwhile.
  Subscriptions subscriptions = feed->subscriptions;
  for (const auto& subscription : subscriptions) {
    if (subscription->over) continue;
    if (!subscription->admitted) Admit(feed, subscription.get());
    Tell(feed, subscription.get());
  }
}

bool Hub::Impl::EnsureWatched(Feed* feed) {
  if (feed->watch != nullptr) return true;
  mu_.Unlock();
  auto watch = base::CallContained(*log_, "feed", [&]() -> Result<std::unique_ptr<TableWatch>> {
    return store_->Watch(feed->table->name, std::nullopt);
  });
  mu_.Lock();
  if (!watch) {
    EndAll(feed, watch.error());
    return false;
  }
  feed->ring.Break();
  feed->watch = *std::move(watch);
  feed->stop = false;
  feed->failure.reset();
  feed->reader = std::thread([this, feed] { Follow(feed); });
  return true;
}

void Hub::Impl::StopWatching(Feed* feed) {
  if (feed->watch == nullptr) return;
  feed->stop = true;
  done_changed_.NotifyAll();
  mu_.Unlock();
  feed->reader.join();
  feed->watch.reset();
  mu_.Lock();
  feed->failure.reset();
}

void Hub::Impl::EndAll(Feed* feed, const Error& why) {
  HF_LOG(*log_, kWarning, "feed ended", {"table", feed->table->name}, {"why", why.message()});
  for (const auto& subscription : feed->subscriptions) {
    subscription->Send(TextFrame(ErrorMessage(subscription->id, NameOf(why), why.message())));
    subscription->End();
  }
  feed->subscriptions.clear();
}

// Everything that is committed from here on is told.
void Hub::Impl::Admit(Feed* feed, Subscription* subscription) {
  subscription->admitted = true;
  subscription->next = feed->ring.next();
  bool lost = false;
  if (subscription->cursor) {
    auto next = NextAfter(*feed, *subscription->cursor);
    lost = !next;
    if (next) subscription->next = *next;
  }
  std::string cursor = CursorAt(*feed, subscription->next - 1);
  subscription->Send(TextFrame(Message("subscribed", subscription->id, cursor)));
  if (lost) subscription->Send(TextFrame(Message("resync", subscription->id, cursor)));
}

// Tells what there is, as far as the channel has room.
void Hub::Impl::Tell(Feed* feed, Subscription* subscription) {
  Channel* channel = subscription->channel.get();
  for (size_t told = 0; !subscription->over && subscription->next < feed->ring.next();) {
    bool lost = !feed->ring.Reaches(subscription->next);
    size_t waiting = channel->waiting_bytes();
    bool stuck = !lost && waiting >= kRoomBytes &&
                 feed->ring.BytesFrom(subscription->next) + waiting > options_.behind_bytes_max &&
                 channel->stalled_micros() > options_.stalled_millis_max * 1000;
    if (lost || stuck) {
      subscription->End();
      return channel->Close(kCloseTryLater, "too slow");
    }
    if (waiting >= kRoomBytes) return;  // OnRoom will ask for another round
    if (told++ == kToldAtOnce) {
      told = 0;
      mu_.Unlock();  // for those who wait to add
      mu_.Lock();
      continue;
    }
    std::shared_ptr<FeedChange> change = feed->ring.At(subscription->next);
    bool wants = Wants(*subscription, *change);
    // Wants may have given up the lock to ask the store.
    if (subscription->over) return;
    ++subscription->next;
    if (wants) subscription->Send(FrameOf(*feed, subscription->id, change.get()));
  }
}

bool Hub::Impl::Wants(const Subscription& subscription, const FeedChange& change) {
  if (change.entity != subscription.entity) return false;
  // A change that takes an item out of the partition is told too: else it would seem to stay.
  if (!Holds(change.fields, subscription.partition) &&
      !(change.before && Holds(*change.before, subscription.partition))) {
    return false;
  }
  FeedOwners::Answer answer = owners_.Judge(change, subscription.tenant);
  if (answer != FeedOwners::Answer::kAsk) return answer == FeedOwners::Answer::kYes;
  mu_.Unlock();
  bool owns = owners_.Ask(change, subscription.tenant);
  mu_.Lock();
  return owns;
}

// The item is written as JSON once for all, and the frame once for all who chose the same id.
Frame Hub::Impl::FrameOf(const Feed& feed, const std::string& id, FeedChange* change) const {
  for (const auto& [of, frame] : change->frames) {
    if (of != id) continue;
    if (Frame there = frame.lock()) return there;
  }
  if (change->json.empty()) {
    change->json = ",\"change\":\"" + std::string(KindName(change->kind)) + "\",\"entity\":";
    json::AppendString(change->entity->name, &change->json);
    change->json += ",\"item\":";
    json::AppendPlainItem(value::MapView(change->fields), &change->json);
    change->json += ",\"cursor\":";
    json::AppendString(CursorAt(feed, change->number), &change->json);
    change->json += change->expired ? ",\"expired\":true}" : "}";
  }
  std::string message = "{\"type\":\"change\",\"id\":";
  json::AppendString(id, &message);
  Frame frame = TextFrame(message + change->json);
  std::erase_if(change->frames, [](const auto& one) { return one.second.expired(); });
  if (change->frames.size() < kFramesRemembered) change->frames.emplace_back(id, frame);
  return frame;
}

}  // namespace holdfast::wire
