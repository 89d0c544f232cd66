// The agent runtime over HTTP and WebSocket. docs/agents.md describes it.
//
// The routes are REST's own (wire/rest.cc has their paths): a token is verified and a body read on the pool,
// and then the runtime is asked, which answers on its own thread. No thread waits meanwhile.
//
//   Agents agents({.open = …}, &expiry, &log);
//   rest_options.agents = &agents;
//
// To end it: Drain(), then the server's Drain() and Stop(), then Leave(), and the runtime may go.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/runtime.h"
#include "auth/identity.h"
#include "base/log.h"
#include "base/mutex.h"
#include "wire/agent_access.h"
#include "wire/expiry.h"
#include "wire/rest_call.h"

namespace holdfast::wire {

struct AgentsOptions {
  // The runtime, started when it was not yet. May block.
  std::function<Result<agent::Runtime*>()> open;
  // Users whose sessions are the server's own: no client's, no worker's.
  std::vector<std::string> reserved_users;
};

class Agents {
 public:
  // `expiry` and `log` must outlive it, and it the server whose requests it serves.
  Agents(AgentsOptions options, Expiry* expiry, const base::Log* log)
      : options_(std::move(options)), expiry_(expiry), log_(log) {}

  // May block.
  Result<agent::Runtime*> runtime() const { return options_.open(); }
  Status Authorize(const auth::Identity& identity, std::string_view session, Access access) const {
    return AuthorizeSession(identity, session, access, options_.reserved_users);
  }
  Expiry* expiry() const { return expiry_; }
  const base::Log& log() const { return *log_; }

  // Answers when there is work, or its time is over. Work for a worker that has gone meanwhile is given back.
  void Claim(agent::Runtime* runtime, agent::ClaimRequest request, const Reply& reply);
  // Who waits for work is told that there is none, now and from now on.
  void Drain();
  // The runtime is about to end: sockets no longer take leave of it. Requires: nobody runs but those that are
  // being closed.
  void Leave() { left_ = true; }
  bool left() const { return left_; }

 private:
  std::optional<Reply> TakeWaiting(uint64_t claim);

  const AgentsOptions options_;
  Expiry* const expiry_;
  const base::Log* const log_;
  std::atomic<bool> left_{false};

  base::Mutex mu_;
  bool draining_ HF_GUARDED_BY(mu_) = false;
  uint64_t last_claim_ HF_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Reply> waiting_ HF_GUARDED_BY(mu_);  // claims
};

// What talks over the WebSocket of a worker, and of a user's device.
std::shared_ptr<ChannelHandler> MakeWorkerSocket(Agents* agents, agent::Runtime* runtime,
                                                 const auth::Identity& identity);
std::shared_ptr<ChannelHandler> MakeDeviceSocket(Agents* agents, agent::Runtime* runtime,
                                                 const auth::Identity& identity,
                                                 agent::ConnectRequest request);

// --- routes ---

// agent_routes.cc
Status AppendEvent(Call* call);
Status ListEvents(Call* call);
Status GetEvent(Call* call);
Status ChangeEvent(Call* call);  // refuses: events are only ever added
Status ListMessages(Call* call);
Status ListEffects(Call* call);
Status GetEffect(Call* call);
Status ListTimers(Call* call);
Status CancelTimers(Call* call);
Status GetCheckpoint(Call* call);
Status GetSession(Call* call);
Status DeleteSession(Call* call);
Status PauseSession(Call* call);
Status ResumeSession(Call* call);
Status StopTurn(Call* call);
Status GetAutonomy(Call* call);
Status SetAutonomy(Call* call);
Status GetPolicy(Call* call);
Status PutPolicy(Call* call);
Status ListDeadLetters(Call* call);
Status Redrive(Call* call);
Status OpenDeviceSocket(Call* call);
// agent_work.cc
Status ClaimWork(Call* call);
Status CommitWork(Call* call);
Status Heartbeat(Call* call);
Status ReleaseWork(Call* call);
Status OpenWorkerSocket(Call* call);

}  // namespace holdfast::wire
