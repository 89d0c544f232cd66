// How the rows of conversations look to people. Statuses that no row holds follow from the session's head and
// from what its devices have.

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "agent/decide.h"
#include "agent/keys.h"
#include "agent/row_writer.h"
#include "agent/stored.h"
#include "apps/apps.h"
#include "apps/item_text.h"
#include "json/plain.h"
#include "model/instant.h"
#include "model/model.h"
#include "model/refusal.h"

namespace holdfast::apps {
namespace {

using agent::Head;
using agent::RowReader;
using model::Refuse;
using Records = std::vector<Record>;

std::string Given(const PatternContext& context, std::string_view name) {
  return RowReader(context.parameters).Text(name);
}

// --- one thing after another ---

// The one record that a pattern gives.
Result<Record> One(const PatternContext& context, std::string_view pattern, const Item& parameters) {
  HF_TRY(Records found, context.ask(pattern, parameters));
  if (found.empty()) return Refuse("NotFound", "there is no such row");
  return std::move(found[0]);
}

// What statuses depend on.
struct Sight {
  Head head;
  int64_t cursor = 0;  // the newest of all devices
};

Result<Head> HeadOf(const PatternContext& context, const std::string& session) {
  HF_TRY(Record found, One(context, "head", Item{{"session_key", session}}));
  return agent::ReadHead(found.stored());
}

Result<int64_t> CursorOf(const PatternContext& context, const std::string& session) {
  HF_TRY(Records cursors, context.ask("cursors", Item{{"session_key", session}}));
  int64_t newest = 0;
  for (const Record& cursor : cursors) newest = std::max(newest, RowReader(cursor.stored()).Count("n"));
  return newest;
}

Result<Sight> Look(const PatternContext& context, const std::string& session) {
  Sight sight;
  HF_TRY(sight.head, HeadOf(context, session));
  HF_TRY(sight.cursor, CursorOf(context, session));
  return sight;
}

// --- rows as they are shown ---

// With what the model knows of it and no more.
Record Shown(const Record& record, Item item) {
  if (record.entity() == nullptr) return Record(nullptr, std::move(item));  // no row of the runtime's
  for (const auto& [name, value] : item.ToMap()) {
    bool key = name == "pk" || name == "sk";
    if (!key && record.entity()->Find(name) == nullptr) item.Remove(name);
  }
  return Record(record.entity(), std::move(item));
}

bool IsMessage(const Record& record) {
  return RowReader(record.stored()).Text("sk").starts_with("M#");
}

std::pair<std::string, std::string> MessageStatus(const RowReader& row, const Sight& sight) {
  std::string stored = row.Text("status");
  if (stored == "unknown") return {"failed", stored};
  if (row.Number("n") <= sight.cursor) return {"completed", ""};
  return {stored == "executing" ? stored : "pending", ""};
}

std::pair<std::string, std::string> EffectStatus(const RowReader& row, const Sight& sight) {
  std::string stored = row.Text("status");
  if (stored == "dead") return {"failed", row.Text("outcome")};
  if (stored != "held") return {stored, row.Text("outcome")};
  if (row.Number("gen") == sight.head.tgen) return {"pending", stored};
  return {"failed", "cancelled"};
}

Record ShowEffect(const Record& record, const Sight& sight) {
  RowReader row(record.stored());
  auto [status, outcome] = IsMessage(record) ? MessageStatus(row, sight) : EffectStatus(row, sight);
  Item item = record.stored();
  item.Set("status", status);
  if (outcome.empty())
    item.Remove("outcome");
  else
    item.Set("outcome", outcome);
  if (!item.Has("updated_at")) item.Set("updated_at", row.Text("created_at"));
  return Shown(record, std::move(item));
}

Record ShowTimer(const Record& record, const Head& head) {
  agent::TimerRow timer = agent::ReadTimer(record.stored());
  Item item = record.stored();
  if (timer.pending() && !timer.alive(head)) item.Set("status", "cancelled");
  return Shown(record, std::move(item));
}

Record ShowSession(const Record& record) {
  RowReader row(record.stored());
  Head head = agent::ReadHead(record.stored());
  std::string session = row.Text("session_key");
  Item item{{"pk", row.Text("pk")},
            {"sk", row.Text("sk")},
            {"session_key", session},
            {"state", head.st},
            {"last_seq", head.tail},
            {"event_seq", head.done},
            {"last_n", head.n_tail},
            {"epoch", head.epoch},
            {"consecutive_autonomous_msgs", head.auto_n},
            {"updated_at", model::FormatInstant(head.last_at)}};
  if (head.done > 0) item.Set("checkpoint_id", agent::CheckpointId(session, head.done));
  if (!head.why.empty()) item.Set("reason", head.why);
  if (!head.owner.empty()) {
    item.Set("owner", head.owner.substr(0, head.owner.find('|')));
    item.Set("lease_until", model::FormatInstant(head.lease_until));
  }
  if (head.auto_at) item.Set("last_autonomous_at", model::FormatInstant(*head.auto_at));
  return Record(record.entity(), std::move(item));
}

// --- ids ---

// "ann:guide:t1/17": a session and a number.
Result<std::pair<std::string, int64_t>> Split(std::string_view name, const std::string& id) {
  size_t slash = id.rfind('/');
  int64_t number = -1;
  if (slash != std::string::npos) {
    auto [end, failed] = std::from_chars(id.data() + slash + 1, id.data() + id.size(), number);
    if (failed != std::errc() || end != id.data() + id.size()) number = -1;
  }
  if (number < 0) return model::RefuseField(std::string(name), "should end with / and a number", id);
  return std::pair(id.substr(0, slash), number);
}

// The key of the row that a decision names: M#000000000007 or F#000000000003#1.
Item KeyOfRow(const std::string& session, int64_t seq, std::string_view row) {
  Item key{{"session_key", session}};
  int64_t number = 0;
  std::string_view digits = row.substr(row.rfind('#') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (row.starts_with("M#")) {
    key.Set("n", number);
  } else {
    key.Set("seq", seq);
    key.Set("i", number);
  }
  return key;
}

Error NoEffect() {
  return Refuse("NotFound", "there is no such effect");
}

Result<Records> OneEffect(const PatternContext& context, const std::string& session, int64_t seq,
                          const std::string& row) {
  if (row.empty()) return NoEffect();  // a duplicate, which has none
  Item key = KeyOfRow(session, seq, row);
  HF_TRY(Record found, One(context, key.Has("n") ? "message" : "effect", key));
  HF_TRY(Sight sight, Look(context, session));
  return Records{ShowEffect(found, sight)};
}

Result<agent::Checkpoint> CheckpointAt(const PatternContext& context, const std::string& session,
                                       int64_t seq) {
  HF_TRY(Record found, One(context, "checkpoint", Item{{"session_key", session}, {"seq", seq}}));
  return agent::ReadCheckpoint(found.stored());
}

// --- the patterns ---

Result<Records> EventById(const PatternContext& context) {
  HF_TRY(Record place, One(context, "event-place", context.parameters));
  return context.ask("AUTO-A-02", Item{{"session_key", Given(context, "session_key")},
                                       {"seq", RowReader(place.stored()).Count("seq")}});
}

// Which partitions of an index are asked: the caller's, or all.
std::vector<int64_t> Shards(const PatternContext& context) {
  if (auto one = RowReader(context.parameters).Maybe("shard")) return {*one};
  std::vector<int64_t> all(agent::kShards);
  for (int i = 0; i < agent::kShards; ++i) all[static_cast<size_t>(i)] = i;
  return all;
}

template <class Key>
void SortBy(const Key& key, Records* records) {
  std::stable_sort(records->begin(), records->end(),
                   [&](const Record& a, const Record& b) { return key(a) < key(b); });
}

// Where a page ended, as text: what is known of the place, a line each. The last one may hold anything.
std::string WritePlace(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : "\n").append(part);
  return text;
}
Result<std::vector<std::string>> ReadPlace(std::string_view text, size_t parts) {
  std::vector<std::string> read;
  while (read.size() + 1 < parts) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return Refuse("InvalidCursor", "the cursor is of another pattern");
    read.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  read.emplace_back(text);
  return read;
}
int64_t NumberIn(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

constexpr int64_t kEntriesAtOnce = 100;

// AUTO-A-04, as much of it as one request may read: shard by shard, the messages and then the effects of each
// session that an index names.
class Pending {
 public:
  explicit Pending(const PatternContext& context) : context_(context) {}

  Result<Records> Read() {
    HF_CHECK_OK(Begin());
    std::vector<int64_t> shards = Shards(context_);
    for (; shard_ < shards.size() && !stopped_; ++shard_) {
      for (; phase_ < 2 && !stopped_; ++phase_) HF_CHECK_OK(ReadShard(shards[shard_]));
      if (stopped_) break;
      phase_ = 0;
    }
    std::erase_if(pending_, [](const Record& record) {
      return RowReader(record.stored()).Text("status") != "pending";
    });
    SortBy([](const Record& record) { return RowReader(record.stored()).Text("created_at"); }, &pending_);
    return std::move(pending_);
  }

 private:
  Status Begin() {
    if (context_.from.empty()) return Ok{};
    HF_TRY(std::vector<std::string> place, ReadPlace(context_.from, 6));
    shard_ = static_cast<size_t>(NumberIn(place[0]));
    phase_ = static_cast<int>(NumberIn(place[1]));
    after_ = NumberIn(place[2]);
    entries_ = place[3];
    rows_ = place[4];
    session_ = place[5];
    return Ok{};
  }
  void Stop(std::string session) {
    *context_.rest = WritePlace({std::to_string(shard_), std::to_string(phase_), std::to_string(after_),
                                 entries_, rows_, std::move(session)});
    stopped_ = true;
  }

  Status ReadShard(int64_t shard) {
    do {
      if (context_.has_read_enough()) {
        Stop(std::exchange(session_, {}));
        return Ok{};
      }
      HF_TRY(Answer page,
             context_.ask_page(phase_ == 0 ? "undelivered" : "driven", Item{{"shard", std::to_string(shard)}},
                               {kEntriesAtOnce, entries_}));
      for (const Record& entry : page.records) {
        std::string session = RowReader(entry.stored()).Text("sk");
        if (session < session_) continue;  // told by the page before
        if (session != session_) rows_.clear();
        HF_CHECK_OK(phase_ == 0 ? ReadMessages(session) : ReadEffects(session));
        if (stopped_) return Ok{};
      }
      session_.clear();
      rows_.clear();
      entries_ = page.cursor;
    } while (!entries_.empty());
    return Ok{};
  }

  Status ReadMessages(const std::string& session) {
    Sight sight;
    HF_TRY(sight.cursor, CursorOf(context_, session));
    if (rows_.empty()) after_ = sight.cursor;  // a cursor is of the parameters that it was given for
    return ReadRows("messages-after", Item{{"session_key", session}, {"after", after_}}, session, sight);
  }
  Status ReadEffects(const std::string& session) {
    return ReadRows("pending-effects", Item{{"session_key", session}}, session, {});
  }

  Status ReadRows(std::string_view pattern, const Item& parameters, const std::string& session,
                  const Sight& sight) {
    do {
      if (context_.has_read_enough()) {
        Stop(session);
        return Ok{};
      }
      HF_TRY(Answer page, context_.ask_page(pattern, parameters, {kEntriesAtOnce, rows_}));
      for (const Record& row : page.records) pending_.push_back(ShowEffect(row, sight));
      rows_ = page.cursor;
    } while (!rows_.empty());
    return Ok{};
  }

  const PatternContext& context_;
  Records pending_;
  bool stopped_ = false;
  // The place.
  size_t shard_ = 0;
  int phase_ = 0;        // 0: messages, 1: other effects
  int64_t after_ = 0;    // of the messages
  std::string entries_;  // cursor of the page of sessions
  std::string rows_;     // cursor in the session
  std::string session_;  // the first one that is not told as a whole; empty: that of the cursor
};

Result<Records> PendingEffects(const PatternContext& context) {
  return Pending(context).Read();
}

Result<Records> EffectsOf(const PatternContext& context) {
  std::string session = Given(context, "session_key");
  std::string checkpoint_id = Given(context, "checkpoint_id");
  HF_TRY(Sight sight, Look(context, session));
  Records rows;
  if (checkpoint_id.empty()) {
    HF_TRY(rows, context.ask("messages", Item{{"session_key", session}}));
    HF_TRY(Records others, context.ask("effects", Item{{"session_key", session}}));
    std::move(others.begin(), others.end(), std::back_inserter(rows));
  } else {
    HF_TRY(auto place, Split("checkpoint_id", checkpoint_id));
    if (place.first != session)
      return model::RefuseField("checkpoint_id", "should be of the session", checkpoint_id);
    HF_TRY(agent::Checkpoint checkpoint, CheckpointAt(context, session, place.second));
    std::vector<AttributeValue> keys;
    for (const Item& decision : checkpoint.decisions) {
      std::string row = RowReader(decision).Text("row");
      if (!row.empty()) keys.push_back(AttributeValue::Map(KeyOfRow(session, place.second, row).ToMap()));
    }
    if (!keys.empty()) {
      HF_TRY(rows, context.ask("rows-of-effects", Item{{"rows", AttributeValue::List(std::move(keys))}}));
    }
  }
  Records shown;
  std::string status = Given(context, "status");
  std::set<std::string> held;
  for (const Record& row : rows) {
    if (!IsMessage(row)) held.insert(RowReader(row.stored()).Text("id"));
  }
  for (const Record& row : rows) {
    // A message that was held at first is shown by the row that says so.
    if (IsMessage(row) && held.contains(RowReader(row.stored()).Text("id"))) continue;
    Record one = ShowEffect(row, sight);
    if (status.empty() || RowReader(one.stored()).Text("status") == status) shown.push_back(std::move(one));
  }
  SortBy(
      [](const Record& record) {
        RowReader row(record.stored());
        return std::tuple(row.Number("seq"), row.Number("i"));
      },
      &shown);
  return shown;
}

Result<Records> EffectById(const PatternContext& context) {
  HF_TRY(auto effect, Split("id", Given(context, "id")));
  HF_TRY(auto commit, Split("id", effect.first));
  HF_CHECK_OK(agent::ParseSessionKey(commit.first));
  HF_TRY(agent::Checkpoint checkpoint, CheckpointAt(context, commit.first, commit.second));
  auto i = static_cast<size_t>(effect.second);
  if (i >= checkpoint.decisions.size()) return NoEffect();
  return OneEffect(context, commit.first, commit.second, RowReader(checkpoint.decisions[i]).Text("row"));
}

Result<Records> EffectByDedupeKey(const PatternContext& context) {
  HF_TRY(auto commit, Split("checkpoint_id", Given(context, "checkpoint_id")));
  HF_CHECK_OK(agent::ParseSessionKey(commit.first));
  HF_TRY(agent::Checkpoint checkpoint, CheckpointAt(context, commit.first, commit.second));
  std::string wanted = Given(context, "dedupe_key");
  for (const Item& decision : checkpoint.decisions) {
    RowReader row(decision);
    if (row.Text("dedupe_key") == wanted && !row.Text("row").empty())
      return OneEffect(context, commit.first, commit.second, row.Text("row"));
  }
  return NoEffect();
}

// The timer that an entry of the index stands for, unless it was replaced or its row is malformed.
Status AddDue(const PatternContext& context, const Record& entry, Records* due) {
  agent::DueEntry named;
  if (!agent::ParseDueKey(RowReader(entry.stored()).Text("sk"), &named)) return Ok{};
  auto gone = [](const Error& error) {
    return model::RefusalName(error) == "NotFound" || IsOfTheItem(error);
  };
  auto found = context.ask("timer", Item{{"session_key", named.session}, {"timer_id", named.timer_id}});
  if (!found) return gone(found.error()) ? Status(Ok{}) : Status(found.error());
  Result<Head> head = HeadOf(context, named.session);
  if (!head) return gone(head.error()) ? Status(Ok{}) : Status(head.error());
  if (found->empty()) return Ok{};
  agent::TimerRow timer = agent::ReadTimer((*found)[0].stored());
  if (timer.ver == named.version && timer.alive(*head)) due->push_back(ShowTimer((*found)[0], *head));
  return Ok{};
}

// AUTO-A-08, as much of it as one request may read: minute by minute, each through all shards.
Result<Records> DueTimers(const PatternContext& context) {
  int64_t until = context.now_millis + 1, bucket = 0;
  size_t at = 0;
  std::string cursor;
  if (context.from.empty()) {
    int64_t bucket_now = agent::BucketOf(context.now_millis);
    auto since = model::ParseInstant(Given(context, "since"));
    bucket = std::min(bucket_now - 1, since ? agent::BucketOf(*since) : bucket_now);
    constexpr int64_t kBucketsMax = 7 * 24 * 60;
    if (bucket < bucket_now - kBucketsMax) return model::RefuseField("since", "should be at most a week ago");
  } else {
    HF_TRY(std::vector<std::string> place, ReadPlace(context.from, 4));
    until = NumberIn(place[0]);
    bucket = NumberIn(place[1]);
    at = static_cast<size_t>(NumberIn(place[2]));
    cursor = place[3];
  }
  Records due;
  auto sorted = [&] {
    SortBy([](const Record& record) { return RowReader(record.stored()).Text("fire_at"); }, &due);
    return std::move(due);
  };
  std::vector<int64_t> shards = Shards(context);
  for (; bucket <= agent::BucketOf(until - 1); ++bucket, at = 0) {
    for (; at < shards.size(); ++at) {
      Item minute{
          {"shard", std::to_string(shards[at])}, {"bucket", std::to_string(bucket)}, {"until", until}};
      do {
        if (context.has_read_enough()) {
          *context.rest =
              WritePlace({std::to_string(until), std::to_string(bucket), std::to_string(at), cursor});
          return sorted();
        }
        HF_TRY(Answer page, context.ask_page("due", minute, {kEntriesAtOnce, cursor}));
        for (const Record& entry : page.records) HF_CHECK_OK(AddDue(context, entry, &due));
        cursor = page.cursor;
      } while (!cursor.empty());
    }
  }
  return sorted();
}

Result<Records> TimersOf(const PatternContext& context) {
  Item session{{"session_key", Given(context, "session_key")}};
  HF_TRY(Head head, HeadOf(context, Given(context, "session_key")));
  HF_TRY(Records rows, context.ask("timers", session));
  std::string status = Given(context, "status");
  Records shown;
  for (const Record& row : rows) {
    if (RowReader(row.stored()).Text("timer_id").starts_with(agent::kHoldPrefix))
      continue;  // the runtime's own
    Record one = ShowTimer(row, head);
    if (status.empty() || RowReader(one.stored()).Text("status") == status) shown.push_back(std::move(one));
  }
  return shown;
}

Result<Records> OneTimer(const PatternContext& context) {
  HF_TRY(Record found, One(context, "timer", context.parameters));
  HF_TRY(Head head, HeadOf(context, Given(context, "session_key")));
  return Records{ShowTimer(found, head)};
}

Result<Records> LatestCheckpoint(const PatternContext& context) {
  std::string session = Given(context, "session_key");
  HF_TRY(Head head, HeadOf(context, session));
  if (head.done == 0) return Refuse("NotFound", "the session has no checkpoint yet");
  Item place{{"session_key", session}, {"seq", head.done}};
  HF_TRY(Record found, One(context, "checkpoint", place));
  Item item = found.stored();
  RowReader row(found.stored());
  if (row.Number("chunks") > 0) {
    place.Set("token", row.Text("token"));
    HF_TRY(Records chunks, context.ask("chunks", place));
    std::string text;
    for (const Record& chunk : chunks) {
      if (auto bytes = chunk.stored().Get("bytes")) text.append(bytes->AsText());
    }
    HF_TRY(Item state, json::ReadPlainItem(text));
    item.Set("state", AttributeValue::Map(state.ToMap()));
  }
  return Records{Shown(found, std::move(item))};
}

Result<Records> SessionHead(const PatternContext& context) {
  HF_TRY(Record found, One(context, "head", context.parameters));
  return Records{ShowSession(found)};
}

}  // namespace

void AddAutoPatterns(CommandLibrary* library) {
  library->patterns["auto.AUTO-A-03"] = EventById;
  library->patterns["auto.AUTO-A-04"] = PendingEffects;
  library->patterns["auto.AUTO-A-05"] = EffectsOf;
  library->patterns["auto.AUTO-A-06"] = EffectById;
  library->patterns["auto.AUTO-A-07"] = EffectByDedupeKey;
  library->patterns["auto.AUTO-A-08"] = DueTimers;
  library->patterns["auto.AUTO-A-09"] = TimersOf;
  library->patterns["auto.AUTO-A-10"] = OneTimer;
  library->patterns["auto.AUTO-A-11"] = LatestCheckpoint;
  library->patterns["auto.AUTO-A-12"] = SessionHead;
}

}  // namespace holdfast::apps
