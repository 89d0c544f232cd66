// Agents over a network: AgentWorker answers what users say, AgentClient is a user's device. Both talk to a
// holdfast server over one WebSocket and know nothing of its tables.
//
//   holdfast::AgentWorkerOptions options;
//   options.server = {.url = "http://127.0.0.1:8000", .token = worker_token};
//   options.agents = {"guide"};
//   auto worker = holdfast::OpenAgentWorker(options, [](holdfast::Turn& turn) -> holdfast::Status {
//     for (const holdfast::AgentEvent& event : turn.events()) turn.Send("You said: " + Text(event));
//     turn.ScheduleTimer({.timer_id = "follow-up", .delay_millis = 60'000});
//     return holdfast::Ok{};
//   });
//   if (!worker) return Fail(worker.error());
//   holdfast::Status ended = (*worker)->Run();  // until Stop()
//
// A *session* is one conversation of one user with one agent: "user:agent:thread". What happens to it are its
// *events*: a user's message, a timer that fired. A *turn* is handed the next events and the session's state;
// what it decides (a new state, messages, timers) is committed by the server in one transaction or not at
// all. An event may be handed out again when a worker dies, so a handler may run twice for one event; its
// outcome takes effect once.
//
// State and payloads are Items, sent as plain JSON: bytes arrive as Base64 texts and sets as lists.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/result.h"
#include "holdfast/value.h"

namespace holdfast {

// Where the server is and who we are to it.
struct AgentServer {
  std::string url;    // http://host:port or ws://host:port; TLS is for a proxy beside the program
  std::string token;  // a bearer token
  // Called before each connection for a token to use instead, on the thread that connects. For tokens that
  // expire sooner than the program ends.
  std::function<std::string()> next_token = {};
};

// --- workers ---

// What happened to a session.
struct AgentEvent {
  int64_t seq = 0;  // 1, 2, 3, … in each session
  std::string id;
  std::string type;  // user_message {text}, timer {timer_id, payload}, tool_result
  Item payload;
  int64_t at_millis = 0;    // when the server took it, since 1970
  bool autonomous = false;  // no user brought it about
};

// What to do later, unless the user speaks first. A timer of the same id is replaced.
struct AgentTimer {
  std::string timer_id;
  int64_t delay_millis = 0;               // from the commit on
  std::optional<int64_t> at_millis = {};  // a moment since 1970, instead of a delay
  Item payload = {};                      // comes back in the event
  bool keep = false;  // fires even when the user spoke in the meantime: asked for by the user
};

enum class Delivery : unsigned char {
  kAtLeastOnce,  // numbered; devices show each number once
  kAtMostOnce,   // lost rather than repeated when the server dies at the wrong moment
};

// Events in the hands of a handler, and what it decides about them. Nothing leaves before the handler has
// returned: then all of it is committed, or none when it returned an error.
//
// Abstract, so that a handler can be tested without a server. Thread safety: a turn belongs to its handler's
// thread, and ends with its call; cancelled() may be asked from any thread until then.
class HOLDFAST_EXPORT Turn {
 public:
  virtual ~Turn() = default;

  virtual const std::string& session() const = 0;
  // In order, at least one. The commit covers all of them.
  virtual const std::vector<AgentEvent>& events() const = 0;
  // What the turn before left behind; empty at first. After SetState, that.
  virtual const Item& state() const = 0;
  // Without it the state stays as it is.
  virtual void SetState(Item state) = 0;

  // A message to the user. In a turn without an event of the user's at most one such message passes, within
  // the limits of the agent's policy: AgentWorkerOptions::on_committed tells which did not.
  virtual void Send(std::string_view content, Delivery delivery = Delivery::kAtLeastOnce) = 0;
  virtual void ScheduleTimer(const AgentTimer& timer) = 0;
  virtual void CancelTimer(std::string_view timer_id) = 0;
  // The server posts `body` to a host that it allows, and tries again until it is taken. What comes back is
  // another event.
  virtual void Webhook(std::string_view url, const Item& body) = 0;

  // The server would rather have the turn end: the user said something else, the session was paused, the
  // lease is lost. What was decided so far may still be committed; a lost one is refused.
  virtual bool cancelled() const = 0;
};

using TurnHandler = std::function<Status(Turn& turn)>;

// How the server took a turn.
struct TurnOutcome {
  struct Suppressed {
    int64_t i = 0;       // which of the turn's effects, in the order of the calls
    std::string reason;  // cap, cooldown, superseded, disabled, duplicate, …
  };

  std::string session;
  int64_t seq = 0;                // the last event that it covers
  std::vector<int64_t> messages;  // the numbers of those that will be sent
  std::vector<Suppressed> suppressed;
};

struct AgentWorkerOptions {
  AgentServer server;
  std::string name;                 // for people; empty: the host's name and the process
  std::vector<std::string> agents;  // whose sessions it serves
  int credit = 8;  // sessions in its hands at once: running, waiting for a thread, committing
  // 1: the handler runs on the thread of Run, right where its events were read: the shortest way, for
  // handlers that do not wait. While it runs nothing is read, so cancelled() is not told. More: for handlers
  // that wait for others, such as language models.
  int threads = 1;
  // For how long the server takes the worker for alive without a word; it hears one each third of that time.
  int64_t lease_millis = 30'000;
  // How the server took each turn; called on the thread of Run.
  std::function<void(const TurnOutcome& outcome)> on_committed = {};
  // What goes wrong and is dealt with here: lost connections, turns that were refused. One line each, from
  // any thread. Empty: nobody is told.
  std::function<void(std::string_view line)> log = {};
};

// Takes events from the server and answers them. A lost connection is made again after a short, random pause,
// and commits whose answer was lost are sent again: the server knows them by their tokens. A turn whose
// session was given to another worker in the meantime is dropped.
//
// A handler that returns an error, or throws, gives its events back; the server hands them out again after a
// while, and after five failures blocks the session (or skips the event, if the agent's policy says so).
//
// Thread safety: Stop may be called from any thread, handlers included; Run from one.
class HOLDFAST_EXPORT AgentWorker {
 public:
  virtual ~AgentWorker() = default;
  // Works until Stop. Returns an error when the server refuses the worker for good: a wrong token, agents
  // that it may not serve.
  virtual Status Run() = 0;
  // Turns that run are finished and committed; those that wait are given back. Run then returns.
  virtual void Stop() = 0;
};

// Fails with kValidation when the options make no sense, and with kNotSupported for wss:// and https://.
// Does not connect yet.
HOLDFAST_EXPORT Result<std::unique_ptr<AgentWorker>> OpenAgentWorker(AgentWorkerOptions options,
                                                                     TurnHandler handler);

// --- clients ---

// The thread on which clients connect, read and write: one serves as many as one likes.
//
// Thread-safe. It must outlive its clients.
class HOLDFAST_EXPORT AgentNetwork {
 public:
  virtual ~AgentNetwork() = default;
};
HOLDFAST_EXPORT Result<std::unique_ptr<AgentNetwork>> StartAgentNetwork();

// What an agent said. The views are gone when the callback returns.
struct AgentMessage {
  int64_t n = 0;  // 1, 2, 3, … in each session
  std::string_view id;
  std::string_view content;
  bool autonomous = false;  // not in answer to the user
  int64_t at_millis = 0;
};

struct AgentClientOptions {
  AgentServer server;
  std::string session;             // user:agent:thread
  std::string device = "default";  // each has its own place in the session; 1 to 64 of A-Z a-z 0-9 _ -
  // The last message that this device has shown. Empty: the server remembers what was acknowledged.
  std::optional<int64_t> after = {};

  // All are called on the network's thread, one at a time, and must not block. In order of n, each number
  // once; it is acknowledged when this returns.
  std::function<void(const AgentMessage& message)> on_message = {};
  // active, paused, blocked, …
  std::function<void(std::string_view state)> on_state = {};
  // The server refuses the client for good: a wrong token, a session that is another's or deleted. Nothing is
  // called after it.
  std::function<void(const Error& why)> on_end = {};
};

// Where a message of the user's stands in the session.
struct SentMessage {
  int64_t seq = 0;
  bool duplicate = false;  // the server had it already: it was sent again after a connection was lost
};

// One device of one user in one session. It connects at once and again whenever the connection is lost; what
// was sent and not answered is then sent again under the same id, so that it counts once.
//
// Thread-safe. Must not be destroyed by one of its own callbacks.
class HOLDFAST_EXPORT AgentClient {
 public:
  // Messages that are not answered yet end with kIo: the server may have them or not.
  virtual ~AgentClient() = default;

  // Says something to the agent. Never waits: `done` is called once, on the network's thread, as soon as the
  // server has stored it. kRefused: the server will not have it (ErrorDetail::refusal says why).
  virtual void Send(std::string_view text, std::function<void(Result<SentMessage>)> done = {}) = 0;
  // Asks the agent to end the turn that runs, if one does.
  virtual void StopTurn() = 0;
  // The last message shown: what to give as `after` when the program starts again.
  virtual int64_t cursor() const = 0;
};

HOLDFAST_EXPORT Result<std::unique_ptr<AgentClient>> OpenAgentClient(AgentNetwork* network,
                                                                     AgentClientOptions options);

}  // namespace holdfast
