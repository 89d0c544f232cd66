#include "promises.h"

#include <algorithm>
#include <set>

#include "agent/decide.h"
#include "agent/keys.h"
#include "agent/row_writer.h"
#include "model/instant.h"

namespace holdfast::sim {

using agent::RowReader;

std::optional<Item> Rows::Get(const std::string& pk, std::string_view sk) const {
  GetItemRequest request;
  request.table_name = table_;
  request.key = agent::RowKey(pk, sk);
  Result<GetItemResponse> got = engine_->Run(request);
  return got ? std::move(got->item) : std::nullopt;
}

bool Rows::Has(const std::string& pk, const std::string& sk) const {
  return Get(pk, sk).has_value();
}

agent::Head Rows::Head(const std::string& session) const {
  std::optional<Item> row = Get(agent::SessionPartition(session), agent::kHeadKey);
  return row ? agent::ReadHead(*row) : agent::Head();
}

SessionRows Rows::Session(const std::string& session) const {
  SessionRows rows;
  QueryRequest request;
  request.table_name = table_;
  request.key_condition_expression = "pk = :pk";
  request.expression_attribute_values = ExpressionValues(Item{{":pk", agent::SessionPartition(session)}});
  do {
    Result<QueryResponse> page = engine_->Run(request);
    if (!page || !page->items) return rows;
    request.exclusive_start_key = std::move(page->last_evaluated_key);
    for (const Item& row : *page->items) {
      std::string sk = RowReader(row).Text("sk");
      std::string_view kind = std::string_view(sk).substr(0, 2);
      if (sk == agent::kHeadKey) rows.head = agent::ReadHead(row);
      if (kind == "E#") rows.events.emplace(std::atoll(sk.c_str() + 2), agent::ReadEvent(row));
      if (kind == "D#") rows.names.emplace(sk.substr(2), RowReader(row).Number("seq"));
      if (kind == "C#") rows.checkpoints.emplace(std::atoll(sk.c_str() + 2), agent::ReadCheckpoint(row));
      if (kind == "M#") rows.messages.emplace(std::atoll(sk.c_str() + 2), agent::ReadMessage(row));
      if (kind == "F#") {
        rows.effects.emplace(sk, agent::ReadEffect(row));
        if (std::optional<int64_t> n = RowReader(row).Maybe("n")) rows.released.push_back(*n);
      }
      if (kind == "T#") rows.timers.push_back(agent::ReadTimer(row));
      if (kind == "K#") rows.cursor = std::max(rows.cursor, RowReader(row).Number("n"));
    }
  } while (request.exclusive_start_key);
  return rows;
}

namespace {

std::string Text(int64_t number) {
  return std::to_string(number);
}

// One session at the end of a run.
class Checking {
 public:
  Checking(const Rows& stored, const std::string& session, const SessionHistory& history,
           const agent::Policy& policy, World* world)
      : stored_(stored),
        session_(session),
        history_(history),
        policy_(policy),
        world_(world),
        rows_(stored.Session(session)) {}

  void Run() {
    Events();
    Commits();
    Decisions();
    Messages();
    TimerEvents();
    Timers();
    Devices();
    Autonomy();
    Held();
    Indexes();
  }

 private:
  void Expect(bool holds, const char* promise, const std::string& what) {
    if (!holds) world_->Violated(promise, session_ + ": " + what);
  }
  uint64_t WrittenAt(const std::string& sk) const {
    return world_->OrderOf(agent::SessionPartition(session_) + " " + sk);
  }

  // Numbered without a gap, and each name once.
  void Events() {
    int64_t seq = 0;
    for (const auto& [number, event] : rows_.events) {
      ++seq;
      Expect(number == seq && event.seq == seq, "P1", "event " + Text(seq) + " is missing");
      auto name = rows_.names.find(event.id);
      Expect(name != rows_.names.end() && name->second == seq, "P1", event.id + " does not name its event");
    }
    Expect(seq == rows_.head.tail, "P1",
           "the head counts " + Text(rows_.head.tail) + " events of " + Text(seq));
    Expect(rows_.names.size() == rows_.events.size(), "P1", "there are more names than events");
    for (const auto& [id, number] : history_.said) {
      auto event = rows_.events.find(number);
      Expect(event != rows_.events.end() && event->second.id == id, "P1",
             id + " was acknowledged as " + Text(number) + " and is not there");
    }
  }

  // Each goes on from the one before; what was answered is so.
  void Commits() {
    int64_t before = 0, count = 0, epoch = 0;
    std::set<std::string> tokens;
    for (const auto& [seq, checkpoint] : rows_.checkpoints) {
      tokens.insert(checkpoint.token);
      RowReader state(checkpoint.state);
      if (!checkpoint.skipped) {
        count += seq - before;
        Expect(state.Number("from") == before, "P2",
               "checkpoint " + Text(seq) + " goes on from " + Text(state.Number("from")) + ", not " +
                   Text(before));
        auto asked = history_.commits.find(checkpoint.token);
        Expect(asked != history_.commits.end() && asked->second.request.upto == seq, "P3",
               "nobody asked for checkpoint " + Text(seq));
      }
      Expect(state.Number("count") == count, "P2", "checkpoint " + Text(seq) + " has not seen all events");
      Expect(checkpoint.epoch >= epoch, "P3", "checkpoint " + Text(seq) + " is of a stale epoch");
      epoch = checkpoint.epoch;
      before = seq;
    }
    Expect(before == rows_.head.done, "P2",
           "the head is done with " + Text(rows_.head.done) + ", the last checkpoint is " + Text(before));
    Expect(epoch <= rows_.head.epoch, "P3", "the head's epoch is older than a checkpoint's");
    for (const auto& [token, asked] : history_.commits) {
      bool done = tokens.count(token) > 0;
      Expect(!asked.succeeded || done, "P3", token + " was answered as done and is not");
      Expect(asked.refused.empty() || !done, "P3",
             token + " was answered as " + asked.refused + " and is done");
    }
  }

  // Nothing is half written.
  void Decisions() {
    std::set<std::string> rows;
    for (const auto& [seq, checkpoint] : rows_.checkpoints) {
      auto asked = history_.commits.find(checkpoint.token);
      if (asked == history_.commits.end()) continue;
      const AskedCommit& commit = asked->second;
      Expect(checkpoint.decisions.size() == commit.request.effects.size(), "P3",
             "checkpoint " + Text(seq) + " does not decide each effect");
      std::vector<int64_t> sent;
      for (size_t i = 0; i < checkpoint.decisions.size(); ++i) {
        RowReader decision(checkpoint.decisions[i]);
        std::string row = decision.Text("row");
        if (decision.Flag("duplicate")) continue;
        rows.insert(row);
        if (row.starts_with("M#")) sent.push_back(std::atoll(row.c_str() + 2));
        auto message = rows_.messages.find(std::atoll(row.c_str() + 2));
        bool there = row.starts_with("F#") ? rows_.effects.count(row) > 0
                                           : message != rows_.messages.end() && message->second.seq == seq &&
                                                 message->second.i == static_cast<int64_t>(i);
        Expect(there, "P3",
               "effect " + Text(static_cast<int64_t>(i)) + " of " + Text(seq) + " is not at " + row);
      }
      if (commit.succeeded)
        Expect(commit.messages == sent, "P3", "the answer to " + asked->first + " named other messages");
    }
    for (int64_t n : rows_.released) rows.insert(agent::MessageKey(n));
    for (const auto& [n, message] : rows_.messages)
      Expect(rows.count(agent::MessageKey(n)) > 0, "P3", "nobody decided message " + Text(n));
    for (const auto& [key, effect] : rows_.effects)
      Expect(rows.count(key) > 0, "P3", "nobody decided effect " + key);
  }

  void Messages() {
    int64_t n = 0;
    std::set<std::string> ids;
    for (const auto& [number, message] : rows_.messages) {
      ++n;
      Expect(number == n && message.n == n, "P5", "message " + Text(n) + " is missing");
      Expect(ids.insert(message.id).second, "P5", message.id + " was sent twice");
    }
    Expect(n == rows_.head.n_tail, "P5",
           "the head counts " + Text(rows_.head.n_tail) + " messages of " + Text(n));
  }

  // What its worker asked for when it set this version of a timer; null when it is not known.
  const agent::EffectRequest* AskedTimer(int64_t seq, size_t i) const {
    auto checkpoint = rows_.checkpoints.find(seq);
    if (checkpoint == rows_.checkpoints.end()) return nullptr;
    auto asked = history_.commits.find(checkpoint->second.token);
    if (asked == history_.commits.end() || i >= asked->second.request.effects.size()) return nullptr;
    return &asked->second.request.effects[i];
  }

  // A timer's event comes once (its name is its version), not before its time, and not after the user's words
  // or a later word of the worker.
  void TimerEvents() {
    for (const auto& [seq, event] : rows_.events) {
      if (event.type != "timer") continue;
      const std::string version = event.id.substr(2),
                        what = "timer " + version + " (event " + Text(seq) + ") ";
      const int64_t set_by = std::atoll(version.c_str()),
                    place = std::atoll(version.c_str() + version.find('.') + 1);
      auto effect = rows_.effects.find(agent::EffectKey(set_by, place));
      const agent::EffectRequest* asked = AskedTimer(set_by, static_cast<size_t>(place));
      if (effect == rows_.effects.end() || asked == nullptr || asked->type != "schedule_timer")
        return Expect(false, "P4", what + "was never set");
      std::optional<int64_t> fire_at = model::ParseInstant(RowReader(effect->second.payload).Text("fire_at"));
      Expect(fire_at && event.at >= *fire_at, "P4", what + "came " + Text(*fire_at - event.at) + " ms early");
      Expect(asked->keep || event.generation == effect->second.gen, "P4", what + "came after the user spoke");
      std::string id = RowReader(event.payload).Text("timer_id");
      for (auto later = rows_.checkpoints.lower_bound(set_by); later != rows_.checkpoints.end(); ++later) {
        if (WrittenAt(agent::CheckpointKey(later->first)) > WrittenAt(agent::EventKey(seq))) break;
        Expect(!Changes(later->first, later->first == set_by ? place + 1 : 0, id), "P4",
               what + "came after checkpoint " + Text(later->first) + " had changed it");
      }
    }
  }

  // Whether the commit of this event set or cancelled the timer, by an effect from the i-th on.
  bool Changes(int64_t seq, int64_t from, const std::string& timer_id) const {
    auto checkpoint = rows_.checkpoints.find(seq);
    auto asked = history_.commits.find(checkpoint->second.token);
    if (asked == history_.commits.end()) return false;
    const std::vector<agent::EffectRequest>& effects = asked->second.request.effects;
    for (size_t i = static_cast<size_t>(from); i < effects.size(); ++i) {
      if (RowReader(effects[i].payload).Text("timer_id") != timer_id) continue;
      auto row = rows_.effects.find(agent::EffectKey(seq, static_cast<int64_t>(i)));
      if (row != rows_.effects.end() && row->second.outcome != "disabled") return true;
    }
    return false;
  }

  // None is lost: what waits is in the index, what was cancelled was for a reason.
  void Timers() {
    for (const agent::TimerRow& timer : rows_.timers) {
      const std::string what = "timer " + timer.timer_id + " " + timer.ver + " ";
      std::string bucket = agent::DuePartition(agent::ShardOf(session_), agent::BucketOf(timer.due));
      std::string entry = agent::DueKey({timer.due, session_, timer.timer_id, timer.ver});
      if (timer.alive(rows_.head)) Expect(stored_.Has(bucket, entry), "P4", what + "is not in the index");
      bool held = timer.timer_id.starts_with(agent::kHoldPrefix);
      if (timer.status == "promoted" && !held)
        Expect(rows_.names.count("t:" + timer.ver) > 0, "P4", what + "is promoted and has no event");
      if (timer.status != "promoted")
        Expect(rows_.names.count("t:" + timer.ver) == 0, "P4", what + "has an event, and is " + timer.status);
      if (timer.status != "cancelled" || held || (!timer.keep && timer.gen < rows_.head.tgen)) continue;
      bool asked =
          history_.timers_dropped.count("*") > 0 || history_.timers_dropped.count(timer.timer_id) > 0;
      for (const auto& [seq, checkpoint] : rows_.checkpoints)
        asked = asked || (seq > std::atoll(timer.ver.c_str()) && Changes(seq, 0, timer.timer_id));
      Expect(asked, "P4", what + "was cancelled by nobody");
    }
  }

  // Each device showed 1, 2, 3 …; only what may be told once was skipped, and was told once at most.
  void Devices() {
    std::map<int64_t, int> times;
    for (const auto& [device, shown] : history_.shown) {
      int64_t n = 0;
      for (const auto& [number, id] : shown) {
        ++n;
        Expect(number == n, "P5", device + " showed " + Text(number) + " as its " + Text(n) + "th");
        auto message = rows_.messages.find(number);
        if (message == rows_.messages.end())
          return Expect(false, "P5", device + " showed " + Text(number) + ", which is not there");
        if (id.empty()) {
          Expect(message->second.at_most_once, "P5", device + " never showed " + Text(number));
          continue;
        }
        Expect(message->second.id == id, "P5", device + " showed another message " + Text(number));
        if (message->second.at_most_once)
          Expect(++times[number] == 1, "P5", "message " + Text(number) + " was shown twice");
      }
    }
  }

  // Messages that nobody's words led to, between two of the user's.
  void Autonomy() {
    std::map<int64_t, std::vector<const agent::Message*>> eras;
    for (const auto& [n, message] : rows_.messages) {
      auto event = rows_.events.find(message.seq);
      if (message.autonomous && event != rows_.events.end())
        eras[event->second.generation].push_back(&message);
    }
    for (const auto& [era, messages] : eras) {
      Expect(static_cast<int64_t>(messages.size()) <= policy_.cap, "P6",
             Text(static_cast<int64_t>(messages.size())) + " messages in a row up to " + messages.back()->id);
      for (size_t i = 1; i < messages.size(); ++i)
        Expect(messages[i]->at - messages[i - 1]->at >= policy_.cooldown_millis, "P6",
               messages[i]->id + " came " + Text(messages[i]->at - messages[i - 1]->at) + " ms after " +
                   messages[i - 1]->id);
    }
    for (const auto& [seq, checkpoint] : rows_.checkpoints)
      Expect(checkpoint.auto_n <= policy_.cap, "P6",
             "checkpoint " + Text(seq) + " counts " + Text(checkpoint.auto_n));
    if (rows_.head.done != rows_.head.tail) return;
    auto now = eras.find(rows_.head.tgen);
    int64_t count = now == eras.end() ? 0 : static_cast<int64_t>(now->second.size());
    Expect(rows_.head.auto_n == count, "P6",
           "the head counts " + Text(rows_.head.auto_n) + " of " + Text(count));
    if (count > 0)
      Expect(rows_.head.auto_at == now->second.back()->at, "P6",
             "the head has another moment of the last message");
  }

  // A held message that may go out some time has a timer that will see to it.
  void Held() {
    for (const auto& [key, effect] : rows_.effects) {
      if (effect.status != "held" || effect.gen != rows_.head.tgen || rows_.head.auto_n >= policy_.cap)
        continue;
      std::string version = Text(effect.seq) + "." + Text(effect.i);
      bool armed = std::any_of(rows_.timers.begin(), rows_.timers.end(), [&](const agent::TimerRow& timer) {
        return timer.ver == version && timer.alive(rows_.head);
      });
      Expect(armed, "P6", "the held message " + version + " waits for nothing");
    }
  }

  // Where there is something to do, the indexes say so.
  void Indexes() {
    const agent::Head& head = rows_.head;
    const int shard = agent::ShardOf(session_);
    if (!head.exists) return;
    Expect(head.rx_ev == stored_.Has(agent::ReadyPartition(agent::AgentOf(session_), shard), session_), "P2",
           "the queue and the head do not agree");
    Expect(head.rx_ev || head.tail == head.done, "P2", "there are events, and the queue does not say so");
    Expect(head.rx_ms == stored_.Has(agent::MessagePartition(shard), session_), "P5",
           "the index of messages and the head do not agree");
    Expect(head.rx_ms || rows_.cursor >= head.n_tail, "P5",
           "there are messages, and the index does not say so");
  }

  const Rows& stored_;
  const std::string& session_;
  const SessionHistory& history_;
  const agent::Policy& policy_;
  World* const world_;
  const SessionRows rows_;
};

}  // namespace

void CheckPromises(const Rows& rows, const History& history, World* world) {
  for (const auto& [session, told] : history.sessions)
    Checking(rows, session, told, history.policy, world).Run();
}

}  // namespace holdfast::sim
