#include <algorithm>

#include "agent/core.h"
#include "model/instant.h"
#include "model/refusal.h"
#include "store/retry.h"

namespace holdfast::agent {
namespace {

constexpr int64_t kUnackedMax = 256;       // messages told and not yet acknowledged
constexpr int64_t kAckMillis = 500;        // at most one write of a cursor in this time
constexpr int64_t kSilentMillis = 30'000;  // a device that acknowledges nothing for so long is dead
constexpr int64_t kPageMessages = 64;

}  // namespace

ConnectionId Core::Connect(ConnectRequest request, std::shared_ptr<DeviceSink> sink) {
  ConnectionId id = ++next_connection_;
  loop_->Post([this, id, request = std::move(request), sink = std::move(sink)] {
    Result<SessionPtr> session = Find(request.session);
    if (stopping_ || !session || !IsDevice(request.device))
      return sink->OnEnd("the session or device is no name");
    auto device = std::make_shared<Device>();
    device->id = id;
    device->session = *session;
    device->name = request.device;
    device->sink = sink;
    devices_.emplace(id, device);
    shown_devices_ = devices_.size();
    device->session->devices.insert(id);
    Spawn(Open(device, request.after));
  });
  return id;
}

Task<Status> Core::Open(DevicePtr device, std::optional<int64_t> after) {
  SessionPtr session = device->session;
  Status loaded = Ok{};
  {
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    if (options_.shared) Forget(session.get());
    loaded = co_await Load(session);
  }
  Result<std::optional<Item>> row = co_await Get(SessionPartition(session->key), CursorKey(device->name));
  if (!device->sink) co_return Ok{};  // gone already
  if (!loaded || !row || session->head.gone()) {
    End(device, !loaded || !row ? "the store does not answer" : "the session was deleted");
    co_return Ok{};
  }
  device->stored = *row ? RowReader(**row).Count("n") : 0;
  device->acked = device->stored;
  device->sent = std::min(after.value_or(device->stored), session->head.n_tail);
  device->ready = true;
  device->sink->OnReady(session->head.n_tail, device->stored);
  if (session->head.st != kActive) device->sink->OnState(session->head.st);
  // Who asks for what follows n has everything up to n.
  if (device->sent > device->acked) TakeAck(device, device->sent);
  Pump(device);
  co_return Ok{};
}

void Core::Disconnect(ConnectionId id) {
  loop_->Post([this, id] {
    auto found = devices_.find(id);
    if (found == devices_.end()) return;
    DevicePtr device = found->second;
    devices_.erase(found);
    shown_devices_ = devices_.size();
    device->session->devices.erase(id);
    device->sink.reset();
    if (device->acked > device->stored && !device->ack_armed && !stopping_) Spawn(StoreAck(device));
  });
}

void Core::End(const DevicePtr& device, std::string_view reason) {
  devices_.erase(device->id);
  shown_devices_ = devices_.size();
  device->session->devices.erase(device->id);
  if (auto sink = std::exchange(device->sink, nullptr)) sink->OnEnd(reason);
}

void Core::PumpSession(const Session& session) {
  std::set<ConnectionId> devices = session.devices;
  for (ConnectionId id : devices) {
    if (auto found = devices_.find(id); found != devices_.end()) Pump(found->second);
  }
}

// Tells what the session remembers at once; only what it does not, and messages that need a word to the store
// first, take a coroutine.
void Core::Pump(const DevicePtr& device) {
  if (!device->ready || !device->sink) return;
  if (device->pumping) {
    device->again = true;
    return;
  }
  Session& session = *device->session;
  while (device->sink && device->sent < session.head.n_tail && device->sent - device->acked < kUnackedMax) {
    int64_t back = session.head.n_tail - device->sent;
    bool remembered = back <= static_cast<int64_t>(session.messages.size()) &&
                      session.messages.back().n == session.head.n_tail;
    const Message* message =
        remembered ? &session.messages[session.messages.size() - static_cast<size_t>(back)] : nullptr;
    if (message == nullptr || message->at_most_once) {
      device->pumping = true;
      Spawn(PumpAll(device));
      return;
    }
    Tell(device, *message);
  }
}

void Core::Tell(const DevicePtr& device, const Message& message) {
  device->sent = message.n;
  if (device->unacked_since == 0) device->unacked_since = Now();
  counters_.pushed.fetch_add(1, std::memory_order_relaxed);
  if (message.n <= device->acked) counters_.redelivered.fetch_add(1, std::memory_order_relaxed);
  counters_.deliver.Add(Now() - message.at);
  device->sink->OnMessage(message);
}

Task<Status> Core::PumpAll(DevicePtr device) {
  SessionPtr session = device->session;
  do {
    device->again = false;
    while (device->sink && device->sent < session->head.n_tail &&
           device->sent - device->acked < kUnackedMax) {
      Result<std::vector<Item>> rows =
          co_await Rows(SessionPartition(session->key), "M#", MessageKey(device->sent), kPageMessages);
      if (!rows) {
        device->pumping = false;
        if (device->sink) End(device, "the store does not answer");
        co_return Unknown(rows.error());
      }
      const int64_t sent_before = device->sent;
      for (const Item& row : *rows) {
        if (!device->sink) break;
        Message message = ReadMessage(row);
        if (message.n > session->head.n_tail) break;
        if (message.n <= device->sent) {
          NoteMalformed(MalformedRow(SessionPartition(session->key), RowReader(row).Text("sk"),
                                     "its key should end with the number of a message"));
          continue;
        }
        bool mine = true;
        if (message.at_most_once && message.n > device->acked) {
          Result<bool> claimed = co_await ClaimMessage(session, message);
          if (!device->sink) break;
          mine = claimed && *claimed;
        }
        // Pruned ones are past: their numbers are skipped, as fast as the device acknowledges them.
        while (device->sent + 1 < message.n && device->sent - device->acked < kUnackedMax)
          device->sink->OnSkip(++device->sent);
        if (device->sent + 1 < message.n) break;
        if (mine) {
          Tell(device, message);
          continue;
        }
        device->sent = message.n;
        counters_.skipped.fetch_add(1, std::memory_order_relaxed);
        device->sink->OnSkip(message.n);
      }
      if (device->sent == sent_before) break;
    }
  } while (device->again && device->sink);
  device->pumping = false;
  co_return Ok{};
}

// True when this message, which may be told once, is ours to tell: noted before it is told, so that it is
// lost rather than told twice when this program dies in between.
Core::Async<bool> Core::ClaimMessage(SessionPtr session, Message message) {
  RowChange change(SessionPartition(session->key), MessageKey(message.n));
  std::string now = model::FormatInstant(Now());
  if (message.status.empty()) {
    change.If("attribute_not_exists(#status)")
        .Set("status", ":executing", "executing")
        .Set("node", ":node", node_)
        .Set("attempt_count", ":one", int64_t{1})
        .Set("last_attempt_at", ":at", now)
        .Set("updated_at", ":at2", now);
    Status changed = co_await Change(std::move(change));
    if (!changed && changed.error().code() != ErrorCode::kConditionalCheckFailed) {
      // It may have been noted after all: then it is unknown whether somebody tells it.
      co_return false;
    }
    co_return changed.has_value();
  }
  if (message.status == "executing" && message.node != node_) {
    change.If("#status = :executing", ":executing", "executing")
        .Set("status", ":unknown", "unknown")
        .Set("updated_at", ":at", now);
    Status changed = co_await Change(std::move(change));
    if (!changed && changed.error().code() != ErrorCode::kConditionalCheckFailed)
      co_return Unknown(changed.error());
  }
  co_return false;
}

// --- acknowledgements ---

void Core::Acknowledge(ConnectionId id, int64_t n) {
  loop_->Post([this, id, n] {
    auto found = devices_.find(id);
    if (found == devices_.end() || stopping_) return;
    DevicePtr device = found->second;
    TakeAck(device, std::min(n, device->sent));
    Pump(device);
  });
}

void Core::TakeAck(const DevicePtr& device, int64_t n) {
  if (n <= device->acked) return;
  device->acked = n;
  device->unacked_since = device->acked >= device->sent ? 0 : Now();
  counters_.acks.fetch_add(1, std::memory_order_relaxed);
  if (device->ack_armed) return;
  device->ack_armed = true;
  At(Now() + kAckMillis, [this, device] {
    device->ack_armed = false;
    if (!stopping_) Spawn(StoreAck(device));
  });
}

Task<Status> Core::StoreAck(DevicePtr device) {
  int64_t n = device->acked;
  if (n <= device->stored) co_return Ok{};
  Result<Ok> stored = co_await StoreCursor(device->session, device->name, n);
  if (!stored) co_return std::move(stored).error();
  device->stored = std::max(device->stored, n);
  co_return Ok{};
}

Core::Async<Ok> Core::StoreCursor(SessionPtr session, std::string device, int64_t n) {
  RowChange change(SessionPartition(session->key), CursorKey(device));
  change.If("attribute_not_exists(n) OR n < :n").Set("n", ":n", n);
  Status stored = co_await Change(std::move(change));
  if (!stored && stored.error().code() != ErrorCode::kConditionalCheckFailed)
    co_return Unknown(stored.error());
  if (n >= session->head.n_tail) ArmTidy(session);
  co_return Ok{};
}

void Core::Acknowledge(const std::string& session, const std::string& device, int64_t n, Done<Ok> done) {
  Begin<Ok>([this, session, device, n] { return DoAcknowledge(session, device, n); }, std::move(done));
}

Core::Async<Ok> Core::DoAcknowledge(std::string key, std::string device, int64_t n) {
  HF_CO_TRY(SessionPtr session, Find(key));
  if (!IsDevice(device)) co_return model::RefuseField("device", "should be 1 to 64 letters, digits, _ and -");
  {
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    HF_CO_CHECK_OK(co_await LoadAgain(session));
  }
  HF_CO_CHECK_OK(CheckOpen(*session));
  if (n < 0 || n > session->head.n_tail)
    co_return model::RefuseField("n", "should be the number of a message", std::to_string(n));
  Result<Ok> stored = co_await StoreCursor(session, device, n);
  co_return stored;
}

// --- states, others' messages, dead devices ---

void Core::TellState(const Session& session) {
  for (ConnectionId id : session.devices) {
    auto found = devices_.find(id);
    if (found != devices_.end() && found->second->ready) found->second->sink->OnState(session.head.st);
  }
}

Task<Status> Core::PollDevices() {
  std::map<std::string, SessionPtr> sessions;
  for (const auto& [id, device] : devices_) sessions.emplace(device->session->key, device->session);
  for (const auto& [key, session] : sessions) {
    if (stopping_) co_return Ok{};
    if (!session->turnstile.idle()) continue;
    Turnstile::Pass pass = co_await session->turnstile.Enter();
    Result<std::optional<Item>> row = co_await Get(SessionPartition(session->key), std::string(kHeadKey));
    if (!row) co_return Unknown(row.error());
    if (!*row) continue;
    if (Status sound = CheckHead(**row); !sound) {
      NoteMalformed(sound.error());
      continue;
    }
    Head head = ReadHead(**row);
    bool told_more = head.n_tail != session->head.n_tail;
    bool changed = told_more || head.tail != session->head.tail || head.epoch != session->head.epoch ||
                   head.done != session->head.done || head.st != session->head.st;
    if (!changed) continue;
    Forget(session.get());
    session->head = std::move(head);
    session->known = true;
    if (told_more) PumpSession(*session);
  }
  co_return Ok{};
}

void Core::CloseSilent() {
  std::vector<DevicePtr> silent;
  for (const auto& [id, device] : devices_) {
    if (device->unacked_since != 0 && Now() - device->unacked_since > kSilentMillis) silent.push_back(device);
  }
  for (const DevicePtr& device : silent) End(device, "messages were not acknowledged for 30 s");
}

}  // namespace holdfast::agent
