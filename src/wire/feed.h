// The feed of a model: its entities' changes, pushed to those who subscribe over a WebSocket, and the events
// that commands emit.
//
//   Hub hub(model, store, &log, {});
//   // for a WebSocket handshake on /v1/{model}/ws, after the token was judged:
//   auto session = MakeFeedSession(&hub, caller, [&](std::string_view entity) { return MayRead(entity); },
//   id); AcceptChannel(exchange->request(), "holdfast", session, &exchange->response());
//   // after a command:
//   for (const Emitted& event : answer.emitted) hub.Emit(event.name, event.to, event.body);
//
// A table is watched only while somebody subscribes to one of its entities, and a little longer, so that
// whoever comes back can go on. Changes are told after they are durable; those of one item in the order of
// their commits. A tenant is told what it could read, nothing else.
//
// The last changes of each table are kept in memory, shared by all: whoever reads slowly is given them at its
// own pace, and whoever comes back with a cursor goes on without a gap. One that has fallen behind what is
// kept, or does not read at all, is closed with 1013.
//
// Threads: one that delivers, and one for each watched table, since following a table blocks: they are few,
// and a table that is slow to read delays no other. Both start with the first subscription.
//
// Thread-safe. The hub must outlive the server whose connections it serves; model and store must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "holdfast/model.h"
#include "wire/channel.h"

namespace holdfast::wire {

struct HubOptions {
  // What is kept of each watched table.
  size_t kept_changes_max = 10'000;
  size_t kept_bytes_max = 16 << 20;
  // One that is this far behind, and has read nothing for so long, is cut off.
  size_t behind_bytes_max = kWaitingBytesMax;
  int64_t stalled_millis_max = 5'000;
  // For how long a table is watched that nobody subscribes to any more.
  int64_t linger_millis = 60'000;
  size_t subscriptions_max = 256;  // of one connection
};

class Hub {
 public:
  Hub(ModelPtr model, Store* store, const base::Log* log, const HubOptions& options = {});
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Tells an event: to the connection `to`, or, when that is empty, to all who subscribe to the event. Where
  // the model has tenants, a tenant hears of those whose body names it, and of no others.
  void Emit(std::string_view name, std::string_view to, const Item& body);
  // Sends a text of JSON to a connection. False: there is none of that id any more.
  bool Post(std::string_view connection_id, std::string_view json);
  size_t connections() const;

 private:
  friend class FeedSession;
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

// What a connection says and is told: the messages of the WebSocket (docs/websocket.md). `may_read` says
// which entities the caller may subscribe to, and `may_hear` whether to events, beyond what its role says of
// them (empty: yes); they are called on the I/O thread. `connection_id` must be the only one of its name in
// the hub. The session is registered when its channel opens and until it closes.
std::shared_ptr<ChannelHandler> MakeFeedSession(Hub* hub, Caller caller,
                                                std::function<bool(std::string_view entity)> may_read,
                                                std::string connection_id,
                                                std::function<bool()> may_hear = {});

}  // namespace holdfast::wire
