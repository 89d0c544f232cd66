// The runtime's table is a table: whoever may write it may store any row. Each row of a session is stored
// with each attribute missing and replaced by each type; whatever is asked of such a session is answered or
// refused, the runtime goes on, and the sessions beside it are served.
#include <functional>

#include "agent/keys.h"
#include "agent/stored.h"
#include "agent/testing.h"
#include "model/refusal.h"

namespace holdfast::agent {
namespace {

const std::string kLived = "ann:guide:t1";

class StoredRowsTest : public RuntimeTest {
 protected:
  // A session with a bit of everything.
  void Live() {
    ASSERT_TRUE(Say(kLived, "hi"));
    std::vector<Work> work = Claim("guide");
    ASSERT_EQ(work.size(), 1U);
    ASSERT_TRUE(Commit(work[0], {Send("hello"), Timer("tea", 3'600'000), Timer("now", 0)}, "c1"));
    ASSERT_TRUE(Runtime::Await<Ok>([&](Done<Ok> done) { runtime_->Acknowledge(kLived, "phone", 1, done); }));
    ASSERT_TRUE(Say(kLived, "and more"));
    runtime_.reset();
  }
  std::vector<Item> AllRows() {
    std::vector<Item> rows;
    ScanRequest scan;
    scan.table_name = RuntimeOptions().table;
    do {
      auto page = store_->Run(scan);
      EXPECT_TRUE(page);
      rows.insert(rows.end(), page->items->begin(), page->items->end());
      scan.exclusive_start_key = page->last_evaluated_key;
    } while (scan.exclusive_start_key);
    return rows;
  }
  bool Put(const Item& row) {
    PutItemRequest put;
    put.table_name = RuntimeOptions().table;
    put.item = row;
    return store_->Run(put).has_value();
  }
  // The rows of the session as those of another one, with what leads to them.
  void Copy(const std::vector<Item>& rows, const std::string& session) {
    for (Item row : rows) {
      row.Set("pk", SessionPartition(session));
      if (row.Has("session_key")) row.Set("session_key", session);
      ASSERT_TRUE(Put(row));
      std::string sk = row.Get("sk")->AsText();
      if (!sk.starts_with("T#")) continue;
      TimerRow timer = ReadTimer(row);
      DueEntry entry{timer.due, session, timer.timer_id, timer.ver};
      ASSERT_TRUE(Put(RowKey(DuePartition(ShardOf(session), BucketOf(timer.due)), DueKey(entry))));
    }
    for (const std::string& partition :
         {ReadyPartition("guide", ShardOf(session)), WebhookPartition(ShardOf(session)),
          MessagePartition(ShardOf(session))})
      ASSERT_TRUE(Put(RowKey(partition, session)));
  }
  static std::vector<std::optional<AttributeValue>> Replacements() {
    return {std::nullopt,
            AttributeValue(nullptr),
            AttributeValue(true),
            AttributeValue(-5),
            AttributeValue(INT64_MAX),
            AttributeValue(INT64_MIN),
            AttributeValue::Number("1.5E+100"),
            AttributeValue("text"),
            AttributeValue::Binary("bytes"),
            AttributeValue::StringSet({"a"}),
            AttributeValue::List({1}),
            AttributeValue::Map({{"x", nullptr}})};
  }

  template <class T>
  void Ask(const std::function<void(Done<T>)>& call) {
    Result<T> answer = Runtime::Await<T>(call);
    if (!answer) {
      EXPECT_NE(model::RefusalName(answer.error()), "Internal") << answer.error().ToString();
      EXPECT_NE(answer.error().code(), ErrorCode::kInternal) << answer.error().ToString();
    }
  }
  // All that can be asked of a session.
  void AskAll(const std::string& session) {
    SCOPED_TRACE(session);
    Ask<SessionView>([&](auto done) { runtime_->GetSession(session, done); });
    Ask<EventPage>([&](auto done) { runtime_->ListEvents(session, 0, 10, done); });
    Ask<MessagePage>([&](auto done) { runtime_->ListMessages(session, 0, 10, done); });
    Ask<std::vector<EffectView>>([&](auto done) { runtime_->ListEffects(session, {}, "", done); });
    Ask<EffectView>([&](auto done) { runtime_->GetEffect(session, 1, 0, done); });
    Ask<std::vector<TimerView>>([&](auto done) { runtime_->ListTimers(session, "", done); });
    Ask<CheckpointView>([&](auto done) { runtime_->GetCheckpoint(session, 1, done); });
    auto device = std::make_shared<Shown>();
    ConnectionId connection = runtime_->Connect({.session = session, .device = "tablet"}, device);
    device->Wait(1);
    runtime_->Disconnect(connection);
    Ask<Ok>([&](auto done) { runtime_->Acknowledge(session, "phone", 1, done); });
    static_cast<void>(Say(session, "once more"));
    Ask<int64_t>([&](auto done) { runtime_->CancelTimers(session, "tea", done); });
    Ask<SessionView>([&](auto done) { runtime_->Pause(session, done); });
    Ask<SessionView>([&](auto done) { runtime_->Resume(session, done); });
  }
};

TEST_F(StoredRowsTest, AnythingInPlaceOfAnAttributeIsAnsweredOrRefused) {
  Live();
  std::vector<Item> rows;
  for (const Item& row : AllRows()) {
    if (row.Get("pk") == AttributeValue(SessionPartition(kLived))) rows.push_back(row);
  }
  ASSERT_GE(rows.size(), 8U);
  std::vector<std::string> sessions;
  for (const Item& row : rows) {
    for (const auto& [name, value] : row.ToMap()) {
      if (name == "pk" || name == "sk") continue;
      for (const std::optional<AttributeValue>& instead : Replacements()) {
        std::string session = "v" + std::to_string(sessions.size()) + ":guide:t1";
        Copy(rows, session);
        Item variant = row;
        variant.Set("pk", SessionPartition(session));
        if (variant.Has("session_key")) variant.Set("session_key", session);
        variant.Remove(name);
        if (instead) variant.Set(name, *instead);
        ASSERT_TRUE(Put(variant));
        sessions.push_back(session);
      }
    }
  }
  EXPECT_GT(sessions.size(), 500U);
  Restart();
  for (const std::string& session : sessions) AskAll(session);
  // Workers are given what there is to do, among it that of sound sessions.
  ASSERT_TRUE(Say("bob:guide:t1", "hi"));
  bool served = false;
  for (int round = 0; round < 100 && !served; ++round) {
    for (const Work& work : Claim(ClaimRequest{.worker = "w", .agents = {"guide"}, .max = 64})) {
      served = served || work.session == "bob:guide:t1";
      static_cast<void>(Commit(work, {Send("yes"), Timer("tea", 10)}, "c2"));
    }
  }
  EXPECT_TRUE(served);
  EXPECT_GT(Metric("malformed_rows_total"), 0);
  Restart();
  EXPECT_TRUE(Say("bob:guide:t1", "still there?"));
}

// Keys are texts of anybody's as well: of an index, of a session's rows, of the marks of where to begin.
TEST_F(StoredRowsTest, AnythingInPlaceOfAKeyIsPassedOver) {
  Live();
  int64_t bucket = BucketOf(base::SystemClock().NowMillis());
  const std::string pk = SessionPartition(kLived);
  for (const char* sk : {"E#", "E#zzz", "E#999999999999999999999999", "M#", "M#~", "M#zzz", "M#000000000000",
                         "F#", "F#1", "F##", "F#x#y", "T#", "T#~hold", "K#", "C#", "C#x", "CC#", "D#"})
    ASSERT_TRUE(Put(Item{{"pk", pk}, {"sk", sk}, {"status", "pending"}, {"type", "webhook"}, {"due", 0}}));
  for (const char* sk : {"x", "1#a#b#c", "0000000000005#not a session#t#v", "-1#ann:guide:t1#t#v",
                         "9999999999999#ann:guide:t1#t#v", "0000000000000###"})
    ASSERT_TRUE(Put(RowKey(DuePartition(ShardOf(kLived), bucket), sk)));
  for (const char* sk : {"", "x", "a:b", "::", "ann:guide:t1:more"}) {
    if (*sk == 0) continue;
    for (const std::string& partition :
         {ReadyPartition("guide", 3), WebhookPartition(3), MessagePartition(3), std::string("CFG")})
      ASSERT_TRUE(Put(RowKey(partition, sk)));
  }
  ASSERT_TRUE(Put(Item{{"pk", "CFG"}, {"sk", "agent#guide"}, {"policy", 7}}));
  Restart();
  AskAll(kLived);
  EXPECT_FALSE(Claim("guide").empty());
}

// The mark of where the index of timers begins is one more row. Taken as 1970 it made a start look at a
// billion places.
TEST_F(StoredRowsTest, AStartFindsOldTimersWhateverItsMarkSays) {
  Live();
  for (const AttributeValue& low : {AttributeValue(true), AttributeValue(0), AttributeValue(INT64_MIN),
                                    AttributeValue(INT64_MAX), AttributeValue("text")}) {
    for (int shard = 0; shard < kShards; ++shard)
      ASSERT_TRUE(Put(Item{{"pk", ShardPartition(shard)}, {"sk", "L"}, {"low", low}}));
    // A timer of a year ago, which only a look at everything finds.
    int64_t due = base::SystemClock().NowMillis() - 365LL * 86'400'000;
    std::string session =
        "old" + std::to_string(static_cast<int>(low.type())) + low.AsText().substr(0, 3) + ":guide:t1";
    std::erase(session, '-');
    Head head;
    head.exists = true;
    ASSERT_TRUE(Put(HeadRow(session, head)));
    TimerRow timer{.id = session + "/0/0", .timer_id = "tea", .fire_at = due, .ver = "0.0", .due = due};
    ASSERT_TRUE(Put(TimerItem(session, timer)));
    ASSERT_TRUE(
        Put(RowKey(DuePartition(ShardOf(session), BucketOf(due)), DueKey({due, session, "tea", "0.0"}))));
    Restart();
    bool fired = false;
    for (int round = 0; round < 20 && !fired; ++round) {
      for (const Work& work : Claim(ClaimRequest{.worker = "w", .agents = {"guide"}, .max = 64})) {
        fired = fired || work.session == session;
        static_cast<void>(Commit(work, {}, "c-" + session));
      }
    }
    EXPECT_TRUE(fired) << session;
    runtime_.reset();
  }
}

}  // namespace
}  // namespace holdfast::agent
