// What the runtime keeps in memory is bounded, whatever is posted to whom: rows are durable, and what is not
// kept is read again.
#include <set>

#include "agent/testing.h"

namespace holdfast::agent {
namespace {

class MemoryTest : public RuntimeTest {
 protected:
  static std::string SessionOf(int i) { return "ann:guide:t" + std::to_string(i); }
  // Takes and commits all there is; how many events of each session, which must come in order.
  std::map<std::string, int64_t> WorkOff(size_t sessions, std::map<std::string, int64_t> done = {}) {
    std::set<std::string> over;
    while (over.size() < sessions) {
      std::vector<Work> claimed = Claim(ClaimRequest{.worker = "w", .agents = {"guide"}, .max = 64});
      if (claimed.empty()) break;
      for (const Work& work : claimed) {
        for (const Event& event : work.events) EXPECT_EQ(event.seq, ++done[work.session]);
        EXPECT_TRUE(Commit(work, {}, "c" + std::to_string(work.events.back().seq)));
        over.insert(work.session);
      }
    }
    return done;
  }
};

// Any user may name any agent. What is posted to one that nobody serves is in the table, and nowhere else.
TEST_F(MemoryTest, EventsForAnAgentThatNobodyServesAreNotKept) {
  const std::string text(200 << 10, 'x');
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Say(SessionOf(i % 4), text));
  EXPECT_EQ(Metric("kept_bytes"), 0);
  std::map<std::string, int64_t> done = WorkOff(4);
  EXPECT_EQ(done.size(), 4U);
  for (const auto& [session, events] : done) EXPECT_EQ(events, 5) << session;
}

// A worker that has fallen behind must not make the server keep all that waits for it.
TEST_F(MemoryTest, EventsThatWaitAreKeptUpToABoundOfBytes) {
  Restart({.kept_bytes_max = 1 << 20});
  EXPECT_TRUE(Claim("guide", 0).empty());  // it is served from now on
  const std::string text(100 << 10, 'x');
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Say(SessionOf(i % 8), text));
    ASSERT_LE(Metric("kept_bytes"), 1 << 20);
  }
  EXPECT_GT(Metric("kept_bytes"), 512 << 10) << "what fits is kept";
  std::map<std::string, int64_t> done = WorkOff(8);
  EXPECT_EQ(done.size(), 8U);
  for (const auto& [session, events] : done) EXPECT_EQ(events, 5) << session;
}

// One session had room for 64 events of any size.
TEST_F(MemoryTest, EventsOfOneSessionAreKeptUpToABoundOfBytes) {
  EXPECT_TRUE(Claim("guide", 0).empty());
  const std::string text(100 << 10, 'x');
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Say(SessionOf(0), text));
  EXPECT_LE(Metric("kept_bytes"), 256 << 10);
  EXPECT_EQ(WorkOff(1)[SessionOf(0)], 16);  // as many as one piece of work has
}

// A hundred thousand conversations within a minute must not all stay in memory for that minute.
TEST_F(MemoryTest, SessionsInMemoryAreBoundedInNumber) {
  Restart({.sessions_max = 100});
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(Say(SessionOf(i), "hi"));
  EXPECT_LE(Metric("sessions_in_memory"), 200);
  std::map<std::string, int64_t> done = WorkOff(1'000);
  EXPECT_EQ(done.size(), 1'000U) << "a session was forgotten for good";
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(Say(SessionOf(i), "again"));
  for (const auto& [session, events] : WorkOff(1'000, done)) EXPECT_EQ(events, 2) << session;
}

// A worker that repeats a claim whose answer was lost gets the same work. A claim for other agents, or by
// another subject, does not.
TEST_F(MemoryTest, AClaimIsRepeatedForItsAgentsAndItsSubjectAlone) {
  ASSERT_TRUE(Say("ann:guide:t1", "hi"));
  ClaimRequest claim{
      .worker = "w", .request = "r1", .subject = "worker-1", .agents = {"guide"}, .wait_millis = 0};
  std::vector<Work> first = Claim(claim);
  ASSERT_EQ(first.size(), 1U);
  std::vector<Work> again = Claim(claim);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].epoch, first[0].epoch);
  ClaimRequest other_agent = claim;
  other_agent.agents = {"echo"};
  EXPECT_TRUE(Claim(other_agent).empty());
  ClaimRequest other_subject = claim;
  other_subject.subject = "worker-2";
  EXPECT_TRUE(Claim(other_subject).empty());
}

}  // namespace
}  // namespace holdfast::agent
