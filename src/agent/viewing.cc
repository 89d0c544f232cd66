#include <algorithm>

#include "agent/core.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

Error NoRow(std::string_view what) {
  return model::Refuse("NotFound", "there is no such " + std::string(what));
}

}  // namespace

SessionView Core::ViewOf(const Session& session) {
  const Head& head = session.head;
  SessionView view;
  view.session = session.key;
  view.state = head.st;
  view.reason = head.why;
  view.last_seq = head.tail;
  view.event_seq = head.done;
  if (head.done > 0) view.checkpoint_id = CheckpointId(session.key, head.done);
  view.last_n = head.n_tail;
  view.epoch = head.epoch;
  view.owner = head.owner.substr(0, head.owner.find('|'));
  view.lease_until = head.lease_until;
  view.consecutive_autonomous = head.auto_n;
  view.last_autonomous_at = head.auto_at;
  view.generation = head.tgen;
  view.updated_at = head.last_at;
  return view;
}

void Core::GetSession(const std::string& session, Done<SessionView> done) {
  Begin<SessionView>([this, session] { return ViewSession(session); }, std::move(done));
}

Core::Async<SessionView> Core::ViewSession(std::string key) {
  HF_CO_CHECK_OK(ParseSessionKey(key));
  Result<std::optional<Item>> row = co_await Get(SessionPartition(key), std::string(kHeadKey));
  if (!row) co_return Unknown(row.error());
  if (!*row) co_return NoRow("session");
  Session shown(key, nullptr, kept_);
  shown.head = ReadHead(**row);
  co_return ViewOf(shown);
}

void Core::ListEvents(const std::string& session, int64_t after, int limit, Done<EventPage> done) {
  Begin<EventPage>([this, session, after, limit] { return ViewEvents(session, after, limit); },
                   std::move(done));
}

Core::Async<EventPage> Core::ViewEvents(std::string key, int64_t after, int limit) {
  HF_CO_CHECK_OK(ParseSessionKey(key));
  Result<std::vector<Item>> rows = co_await Rows(SessionPartition(key), "E#", EventKey(after), limit + 1);
  if (!rows) co_return Unknown(rows.error());
  EventPage page;
  for (const Item& row : *rows) page.events.push_back(ReadEvent(row));
  if (static_cast<int>(page.events.size()) > limit) {
    page.events.resize(static_cast<size_t>(limit));
    page.next = page.events.back().seq;
  }
  co_return page;
}

void Core::GetEvent(const std::string& session, const std::string& id, Done<Event> done) {
  Begin<Event>([this, session, id] { return ViewEvent(session, id); }, std::move(done));
}

Core::Async<Event> Core::ViewEvent(std::string key, std::string id) {
  HF_CO_CHECK_OK(ParseSessionKey(key));
  Result<std::optional<Item>> name = co_await Get(SessionPartition(key), DedupeKey(id));
  if (!name) co_return Unknown(name.error());
  if (!*name) co_return NoRow("event");
  Result<std::optional<Item>> row =
      co_await Get(SessionPartition(key), EventKey(RowReader(**name).Count("seq")));
  if (!row) co_return Unknown(row.error());
  if (!*row) co_return NoRow("event");
  co_return ReadEvent(**row);
}

void Core::ListMessages(const std::string& session, int64_t after, int limit, Done<MessagePage> done) {
  Begin<MessagePage>([this, session, after, limit] { return ViewMessages(session, after, limit); },
                     std::move(done));
}

Core::Async<MessagePage> Core::ViewMessages(std::string key, int64_t after, int limit) {
  HF_CO_CHECK_OK(ParseSessionKey(key));
  Result<std::vector<Item>> rows = co_await Rows(SessionPartition(key), "M#", MessageKey(after), limit + 1);
  if (!rows) co_return Unknown(rows.error());
  MessagePage page;
  for (const Item& row : *rows) page.messages.push_back(ReadMessage(row));
  if (static_cast<int>(page.messages.size()) > limit) {
    page.messages.resize(static_cast<size_t>(limit));
    page.next = page.messages.back().n;
  }
  co_return page;
}

// --- effects ---

// Of all devices the one that is furthest.
Core::Async<int64_t> Core::NewestCursor(std::string key) {
  Result<std::vector<Item>> rows = co_await Rows(SessionPartition(key), "K#");
  if (!rows) co_return Unknown(rows.error());
  int64_t newest = 0;
  for (const Item& row : *rows) newest = std::max(newest, RowReader(row).Count("n"));
  co_return newest;
}

EffectView Core::ShowMessage(const std::string& session, const Message& message, int64_t cursor) const {
  EffectView view;
  view.id = EffectId(session, message.seq, message.i);
  view.session = session;
  view.checkpoint_id = CheckpointId(session, message.seq);
  view.seq = message.seq;
  view.i = message.i;
  view.type = "send_message";
  view.payload.Set("content", message.content);
  view.dedupe_key = message.dedupe_key;
  view.n = message.n;
  view.delivery = message.at_most_once ? "at_most_once" : "at_least_once";
  view.created_at = view.updated_at = message.at;
  view.attempt_count = message.attempts;
  view.last_attempt_at = message.attempted_at;
  if (message.attempted_at) view.updated_at = *message.attempted_at;
  if (message.n <= cursor && message.status != "unknown") {
    view.status = "completed";
  } else if (message.status.empty()) {
    view.status = "pending";
  } else if (message.status == "executing" && message.node == node_) {
    view.status = "executing";
  } else {
    // Whoever told it died, or lost its connection, before it heard back.
    view.status = "failed";
    view.outcome = "unknown";
  }
  return view;
}

EffectView Core::ShowEffect(const Session& session, const EffectRow& effect) const {
  EffectView view;
  view.id = EffectId(session.key, effect.seq, effect.i);
  view.session = session.key;
  view.checkpoint_id = CheckpointId(session.key, effect.seq);
  view.seq = effect.seq;
  view.i = effect.i;
  view.type = effect.type;
  view.payload = effect.payload;
  view.dedupe_key = effect.dedupe_key;
  view.status = effect.status;
  view.outcome = effect.outcome;
  view.created_at = effect.created_at;
  view.updated_at = effect.updated_at;
  view.attempt_count = effect.attempts;
  view.last_attempt_at = effect.last_attempt_at;
  view.n = effect.n;
  if (effect.type == "send_message") view.delivery = effect.at_most_once ? "at_most_once" : "at_least_once";
  if (effect.status == "dead") view.status = "failed";
  if (effect.status == "held") {
    bool dead = effect.gen != session.head.tgen;  // the user spoke
    view.status = dead ? "failed" : "pending";
    view.outcome = dead ? "cancelled" : "held";
  }
  return view;
}

void Core::ListEffects(const std::string& session, std::optional<int64_t> checkpoint,
                       const std::string& status, Done<std::vector<EffectView>> done) {
  Begin<std::vector<EffectView>>(
      [this, session, checkpoint, status] { return ViewEffects(session, checkpoint, status); },
      std::move(done));
}

Core::Async<std::vector<EffectView>> Core::ViewEffects(std::string key, std::optional<int64_t> checkpoint,
                                                       std::string status) {
  HF_CO_CHECK_OK(ParseSessionKey(key));
  std::string pk = SessionPartition(key);
  Result<std::optional<Item>> head = co_await Get(pk, std::string(kHeadKey));
  if (!head) co_return Unknown(head.error());
  std::vector<EffectView> views;
  if (!*head) co_return views;
  Session session(key, nullptr, kept_);
  session.head = ReadHead(**head);
  Result<int64_t> cursor = co_await NewestCursor(key);
  if (!cursor) co_return std::move(cursor).error();
  std::vector<Item> messages, effects;
  if (checkpoint) {
    // Its decisions name the rows.
    Result<std::optional<Item>> row = co_await Get(pk, CheckpointKey(*checkpoint));
    if (!row) co_return Unknown(row.error());
    if (!*row) co_return NoRow("checkpoint");
    for (const Item& decision : ReadCheckpoint(**row).decisions) {
      std::string name = RowReader(decision).Text("row");
      if (name.empty()) continue;
      Result<std::optional<Item>> effect = co_await Get(pk, name);
      if (!effect) co_return Unknown(effect.error());
      if (*effect) (name.starts_with("M#") ? messages : effects).push_back(**std::move(effect));
    }
  } else {
    HF_CO_TRY(messages, co_await Rows(pk, "M#"));
    HF_CO_TRY(effects, co_await Rows(pk, "F#"));
  }
  std::set<std::pair<int64_t, int64_t>> held;
  for (const Item& row : effects) {
    EffectRow effect = ReadEffect(row);
    held.emplace(effect.seq, effect.i);
    views.push_back(ShowEffect(session, effect));
  }
  for (const Item& row : messages) {
    Message message = ReadMessage(row);
    // One that was held at first is shown by the row that says so.
    if (held.count({message.seq, message.i}) == 0) views.push_back(ShowMessage(key, message, *cursor));
  }
  std::sort(views.begin(), views.end(), [](const EffectView& a, const EffectView& b) {
    return std::pair(a.seq, a.i) < std::pair(b.seq, b.i);
  });
  if (!status.empty()) std::erase_if(views, [&](const EffectView& view) { return view.status != status; });
  co_return views;
}

void Core::GetEffect(const std::string& session, int64_t seq, int64_t i, Done<EffectView> done) {
  Begin<EffectView>([this, session, seq, i] { return ViewEffect(session, seq, i); }, std::move(done));
}

Core::Async<EffectView> Core::ViewEffect(std::string key, int64_t seq, int64_t i) {
  HF_CO_TRY(std::vector<EffectView> views, co_await ViewEffects(key, seq, {}));
  for (EffectView& view : views) {
    if (view.i == i) co_return std::move(view);
  }
  co_return NoRow("effect");
}

// --- timers and checkpoints ---

void Core::ListTimers(const std::string& session, const std::string& status,
                      Done<std::vector<TimerView>> done) {
  Begin<std::vector<TimerView>>([this, session, status] { return ViewTimers(session, status); },
                                std::move(done));
}

Core::Async<std::vector<TimerView>> Core::ViewTimers(std::string key, std::string status) {
  HF_CO_CHECK_OK(ParseSessionKey(key));
  Result<std::optional<Item>> row = co_await Get(SessionPartition(key), std::string(kHeadKey));
  if (!row) co_return Unknown(row.error());
  Head head = *row ? ReadHead(**row) : Head();
  HF_CO_TRY(std::vector<Item> rows, co_await Rows(SessionPartition(key), "T#"));
  std::vector<TimerView> views;
  for (const Item& item : rows) {
    TimerRow timer = ReadTimer(item);
    if (timer.timer_id.starts_with(kHoldPrefix)) continue;
    TimerView view;
    view.id = timer.id;
    view.session = key;
    view.timer_id = timer.timer_id;
    view.fire_at = timer.fire_at;
    view.payload = timer.payload;
    view.status = timer.pending() && !timer.alive(head) ? "cancelled" : timer.status;
    view.keep = timer.keep;
    view.created_at = timer.created_at;
    view.updated_at = timer.updated_at;
    if (status.empty() || view.status == status) views.push_back(std::move(view));
  }
  co_return views;
}

void Core::GetCheckpoint(const std::string& session, int64_t seq, Done<CheckpointView> done) {
  Begin<CheckpointView>([this, session, seq] { return ViewCheckpoint(session, seq); }, std::move(done));
}

Core::Async<CheckpointView> Core::ViewCheckpoint(std::string key, int64_t seq) {
  HF_CO_CHECK_OK(ParseSessionKey(key));
  // One that is not among those in use: nothing is remembered for a reader.
  auto session = std::make_shared<Session>(key, nullptr, kept_);
  HF_CO_CHECK_OK(co_await Load(session));
  if (seq == 0) seq = session->head.done;
  Result<std::shared_ptr<const Checkpoint>> found = co_await LoadCheckpoint(session, seq);
  if (!found) co_return std::move(found).error();
  if (!*found) co_return NoRow("checkpoint");
  const Checkpoint& checkpoint = **found;
  CheckpointView view;
  view.id = CheckpointId(key, checkpoint.seq);
  view.seq = checkpoint.seq;
  view.state = checkpoint.state;
  view.consecutive_autonomous = checkpoint.auto_n;
  view.last_autonomous_at = checkpoint.auto_at;
  view.decisions = checkpoint.decisions;
  view.created_at = checkpoint.created_at;
  view.skipped = checkpoint.skipped;
  co_return view;
}

}  // namespace holdfast::agent
