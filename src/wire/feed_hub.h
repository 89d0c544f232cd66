// The inside of a Hub: for feed.cc and the sessions alone.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "wire/feed.h"
#include "wire/feed_owners.h"

namespace holdfast::wire {

// What one connection wants to hear under one id.
struct Subscription {
  // --- constant ---
  std::string id;
  std::shared_ptr<Channel> channel;
  std::string tenant;                     // empty: all tenants
  std::string event;                      // of events; else
  const model::Entity* entity = nullptr;  // of changes
  Item partition;                         // attributes that must be equal
  std::optional<std::string> cursor;      // to go on after

  // --- own synchronisation ---
  // False: it is over. When End() has returned, nothing more is sent for it.
  bool Send(const Frame& frame) {
    base::MutexLock lock(&sending);
    return !over && channel->Send(frame);
  }
  void End() {
    base::MutexLock lock(&sending);
    over = true;
  }
  base::Mutex sending;
  std::atomic<bool> over{false};  // set by End() alone

  uint64_t joined = 0;  // its place among those of its event; set once, under the hub's door
  // --- under the hub's lock ---
  bool admitted = false;  // it has a place in the ring
  uint64_t next = 0;      // number of the change to look at next
};

// Messages to the client.
std::string ErrorMessage(std::string_view id, std::string_view error, std::string_view message);

class Hub::Impl {
 public:
  Impl(ModelPtr model, Store* store, const base::Log* log, const HubOptions& options);
  ~Impl();

  const model::Model& model() const { return *model_; }
  const HubOptions& options() const { return options_; }

  void Register(const std::string& connection_id, std::shared_ptr<Channel> channel);
  void Unregister(const std::string& connection_id);
  void Subscribe(const std::shared_ptr<Subscription>& subscription);
  // When it returns, nothing more is sent for it.
  void Unsubscribe(const std::shared_ptr<Subscription>& subscription);
  // A channel that was full has room.
  void Wake();

  void Emit(std::string_view name, std::string_view to, const Item& body);
  bool Post(std::string_view connection_id, std::string_view json);
  size_t connections() const;

 private:
  using Subscriptions = std::vector<std::shared_ptr<Subscription>>;

  struct Feed {
    Feed(const model::Model& model, const model::Table* table, size_t number, const HubOptions& options);

    const model::Table* const table;
    const size_t number;
    std::vector<const model::Entity*> entities;
    FeedRing ring;
    Subscriptions subscriptions;
    size_t added_changes = 0, added_bytes = 0;  // since they were last delivered
    // Set by the delivering thread alone.
    std::unique_ptr<TableWatch> watch;
    std::thread reader;
    bool stop = false;             // said to the reader
    std::optional<Error> failure;  // said by the reader, which has ended
    int64_t unused_since_micros = 0;
  };

  // --- the thread of a table ---
  void Follow(Feed* feed);
  void Add(Feed* feed, std::shared_ptr<FeedChange> change) HF_REQUIRES(mu_);
  // Asks for a round of delivery; which one will have been held by then.
  uint64_t AskForRound();
  void AwaitDelivery(Feed* feed) HF_REQUIRES(mu_);
  bool IsCrowded(const Feed& feed) const HF_REQUIRES(mu_);
  std::shared_ptr<FeedChange> Convert(const Feed& feed, const TableChange& change) const;

  // --- the thread that delivers ---
  void Deliver();
  void DeliverAll(Feed* feed) HF_REQUIRES(mu_);
  void Admit(Feed* feed, Subscription* subscription) HF_REQUIRES(mu_);
  // False when the watch cannot be had; the subscriptions have been told.
  bool EnsureWatched(Feed* feed) HF_REQUIRES(mu_);
  void StopWatching(Feed* feed) HF_REQUIRES(mu_);
  void Tell(Feed* feed, Subscription* subscription) HF_REQUIRES(mu_);
  bool Wants(const Subscription& subscription, const FeedChange& change) HF_REQUIRES(mu_);
  Frame FrameOf(const Feed& feed, const std::string& id, FeedChange* change) const HF_REQUIRES(mu_);
  void EndAll(Feed* feed, const Error& why) HF_REQUIRES(mu_);

  Feed* FeedOf(const model::Table* table) const;
  std::string CursorAt(const Feed& feed, uint64_t number) const;
  // The number to go on with; empty when the cursor cannot be followed.
  std::optional<uint64_t> NextAfter(const Feed& feed, const std::string& cursor) const HF_REQUIRES(mu_);

  const ModelPtr model_;
  Store* const store_;
  const base::Log* const log_;
  const HubOptions options_;
  const std::string start_;  // names this start in cursors
  FeedOwners owners_;
  std::vector<std::unique_ptr<Feed>> feeds_;

  // The lock of those who deliver: held while changes go out to all. No I/O thread takes it.
  base::Mutex mu_;
  base::CondVar done_changed_;            // for the threads of the tables
  uint64_t done_ HF_GUARDED_BY(mu_) = 0;  // the last round of delivery that is over

  // The lock of those who come, go and call: held for a few steps, never while something is sent. Comes after
  // mu_.
  mutable base::Mutex door_mu_;
  base::CondVar wanted_changed_;                   // for the delivering thread
  uint64_t wanted_ HF_GUARDED_BY(door_mu_) = 0;    // rounds asked for
  Subscriptions arrived_ HF_GUARDED_BY(door_mu_);  // to changes; the delivering thread takes them in
  std::map<std::string, std::shared_ptr<Channel>, std::less<>> connections_ HF_GUARDED_BY(door_mu_);
  // By event, in the order in which they came.
  std::map<std::string, std::map<uint64_t, std::shared_ptr<Subscription>>, std::less<>> events_
      HF_GUARDED_BY(door_mu_);
  uint64_t joined_ HF_GUARDED_BY(door_mu_) = 0;
  std::thread deliverer_ HF_GUARDED_BY(door_mu_);

  std::atomic<bool> stop_{false};  // said under both locks
};

}  // namespace holdfast::wire
