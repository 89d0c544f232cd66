// Patterns that are answered by C++ from many others: one request reads so much and no more, whoever asks and
// whatever is stored, and the pages together give everything once.

#include <set>

#include "agent/keys.h"
#include "agent/stored.h"
#include "apps/apps.h"
#include "models/test_app.h"

namespace holdfast {
namespace {

using testing::Must;
using testing::TestApp;

constexpr size_t kReadsEnough = 2'000;  // of one request
constexpr int64_t kMinute = 60'000;

class BoundedPatterns : public ::testing::Test {
 protected:
  BoundedPatterns() : app_("auto", {}, Options()), now_(app_.clock.NowMillis()) {}

  // Counts what the patterns ask of other patterns.
  ApplicationOptions Options() {
    auto library = std::make_shared<CommandLibrary>(*apps::ShippedCommands(nullptr));
    for (auto& [name, answer] : library->patterns) {
      answer = [this, answer](const PatternContext& context) {
        PatternContext counted = context;
        counted.ask = [&](std::string_view id, const Item& parameters) {
          ++asked_;
          return context.ask(id, parameters);
        };
        counted.ask_page = [&](std::string_view id, const Item& parameters, const PageRequest& page) {
          ++asked_;
          return context.ask_page(id, parameters, page);
        };
        return answer(counted);
      };
    }
    ApplicationOptions options;
    options.commands = std::move(library);
    return options;
  }

  void Put(const Item& row) { app_.PutRaw("holdfast-agents", row); }
  void PutHead(const std::string& session) {
    agent::Head head;
    head.exists = true;
    Put(agent::HeadRow(session, head));
  }
  void PutTimer(const std::string& session, const std::string& id, int64_t due) {
    agent::TimerRow timer;
    timer.id = session + "/1/0";
    timer.timer_id = id;
    timer.fire_at = timer.due = due;
    timer.ver = "1.0";
    timer.created_at = timer.updated_at = due;
    Put(agent::TimerItem(session, timer));
    agent::DueEntry entry{due, session, id, timer.ver};
    Put(agent::RowKey(agent::DuePartition(agent::ShardOf(session), agent::BucketOf(due)),
                      agent::DueKey(entry)));
  }
  void PutMessages(const std::string& session, int64_t count) {
    PutHead(session);
    for (int64_t n = 1; n <= count; ++n) {
      agent::Message message;
      message.n = message.seq = n;
      message.id = agent::EffectId(session, n, 0);
      message.content = "number " + std::to_string(n);
      message.at = now_;
      Put(agent::MessageItem(session, message));
    }
    Put(agent::RowKey(agent::MessagePartition(agent::ShardOf(session)), session));
  }

  // All pages. No request may ask for more than it should; the last thing that is begun may be finished.
  std::vector<Record> AskAll(const Caller& caller, const std::string& pattern, const Item& parameters) {
    std::vector<Record> all;
    PageRequest page;
    page.limit = 1000;
    pages_ = 0;
    do {
      asked_ = 0;
      Answer answer = Must(app_->Ask(caller, pattern, parameters, page));
      EXPECT_LE(asked_, kReadsEnough + 300);
      all.insert(all.end(), answer.records.begin(), answer.records.end());
      page.cursor = answer.cursor;
      ++pages_;
    } while (!page.cursor.empty() && pages_ < 1'000);
    EXPECT_TRUE(page.cursor.empty());
    return all;
  }

  size_t asked_ = 0;
  size_t pages_ = 0;
  TestApp app_;
  const int64_t now_;
};

// A look back of a week is ten thousand minutes in 64 shards. One request for it once made 645,000 queries;
// 64 of those held every thread of a server.
TEST_F(BoundedPatterns, TimersOfAWeekComeInPages) {
  Item week{{"since", model::FormatInstant(now_ - 6 * 1440 * kMinute - 1400 * kMinute)}};
  Answer first = Must(app_->Ask(Caller::Administrator(), "AUTO-A-08", week, {}));
  EXPECT_LE(asked_, kReadsEnough + 1);
  EXPECT_TRUE(first.records.empty());
  EXPECT_FALSE(first.cursor.empty()) << "there is more to look at";

  // The same of one shard, to its end.
  const std::string session = "ann:guide:t1";
  PutHead(session);
  std::vector<std::string> expected;
  for (int64_t minutes : {9'000, 5'000, 4'999, 60, 1}) {
    expected.push_back("t" + std::to_string(minutes));
    PutTimer(session, expected.back(), now_ - minutes * kMinute);
  }
  week.Set("shard", agent::ShardOf(session));
  std::vector<std::string> found;
  for (const Record& record : AskAll(Caller::Administrator(), "AUTO-A-08", week))
    found.push_back(record.Fields().Get("timer_id")->AsText());
  EXPECT_EQ(found, expected);
  EXPECT_GT(pages_, 4U);
}

// Without a shard the messages of all users were read before any was left out.
TEST_F(BoundedPatterns, MessagesOfManyUsersComeInPagesAndEachUserSeesTheirOwn) {
  constexpr int64_t kMessages = 900;
  for (const char* session : {"ann:guide:t1", "bob:guide:t1", "cleo:guide:t1", "ann:guide:t2"})
    PutMessages(session, kMessages);
  std::set<std::string> ids;
  std::vector<Record> all = AskAll(Caller::Administrator(), "AUTO-A-04", {});
  for (const Record& record : all) ids.insert(record.Fields().Get("id")->AsText());
  EXPECT_EQ(all.size(), 4 * kMessages);
  EXPECT_EQ(ids.size(), all.size()) << "some came twice";
  EXPECT_GT(pages_, 2U);

  std::vector<Record> anns = AskAll(Caller::Tenant("ann"), "AUTO-A-04", {});
  EXPECT_EQ(anns.size(), 2 * kMessages);
  for (const Record& record : anns)
    EXPECT_TRUE(record.Fields().Get("session_key")->AsText().starts_with("ann:"));
}

}  // namespace
}  // namespace holdfast
