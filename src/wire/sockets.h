// The WebSockets of the models that a server runs: a feed for each model, and the commands that some models
// run when a connection comes and goes.
//
// A model with the commands `ws.connect` and `ws.disconnect` keeps its connections as items: the first runs,
// for a caller with a tenant, before the handshake is answered, so that whoever knows the connection's id
// finds it stored; the second when it is closed, however that came about.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "holdfast/model.h"
#include "wire/channel.h"
#include "wire/expiry.h"
#include "wire/feed.h"
#include "wire/worker_pool.h"

namespace holdfast::wire {

class Sockets {
 public:
  // All must outlive it, and it the server whose connections it serves.
  Sockets(const std::vector<ModelPtr>& models, Store* store, WorkerPool* pool, Expiry* expiry,
          const base::Log* log);

  // What talks over a connection of this caller, which is closed when its token ends, in seconds since 1970.
  // Blocks. `may_read` is asked for entities, `may_hear` for events (MakeFeedSession).
  Result<std::shared_ptr<ChannelHandler>> Open(Application* application, const Caller& caller,
                                               int64_t expires_at,
                                               std::function<bool(std::string_view entity)> may_read,
                                               std::function<bool()> may_hear = {});
  // Tells what a command of the model emitted.
  void Emit(const model::Model& model, const std::vector<Emitted>& emitted);
  // Tells one connection of any model; false when there is none of that id.
  bool Send(std::string_view connection_id, const Emitted& message);
  // The same with a text of JSON.
  bool Post(std::string_view connection_id, std::string_view json);
  // The pool is about to end: what connections still have to do when they close is done where they close.
  void LeavePool() { pooled_ = false; }

 private:
  class Connection;

  Hub* HubOf(const model::Model& model) const;
  // Runs a command in the name of a connection that is gone.
  void Disconnect(Application* application, const std::string& connection_id);

  WorkerPool* const pool_;
  Expiry* const expiry_;
  const base::Log* const log_;
  std::atomic<bool> pooled_{true};
  base::Random random_;
  std::map<std::string, std::unique_ptr<Hub>> hubs_;  // by model
};

}  // namespace holdfast::wire
