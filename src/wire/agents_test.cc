// The agent runtime's requests and answers as JSON, and who may touch which session: what needs no runtime.

#include "wire/agents.h"

#include <gtest/gtest.h>

#include "json/plain.h"
#include "model/refusal.h"
#include "wire/agent_json.h"
#include "wire/agent_requests.h"

namespace holdfast::wire {
namespace {

// "ok", or "NotFound", or of a ValidationError where it is.
template <class T>
std::string Outcome(const Result<T>& result) {
  if (result) return "ok";
  std::string name(model::RefusalName(result.error()));
  if (name != "ValidationError") return name;
  return result.error().detail()->refusal.details.at("violations").AsList()[0].AsMap().at("path").AsText();
}

// What `read` makes of a text of JSON.
template <class Read>
auto ReadJson(std::string_view text, const Read& read) {
  Item item = json::ReadPlainItem(text).value();
  Members members{value::MapView(item)};
  return read(&members);
}
std::string Reads(std::string_view text, Result<agent::ClaimRequest> (*read)(Members*)) {
  return Outcome(ReadJson(text, read));
}

template <class T>
std::string Json(const T& value) {
  std::string text;
  AppendJson(value, &text);
  return text;
}

auth::Identity Bearer(const std::string& role, const std::string& tenant = "ann") {
  return {"test", "someone", role, tenant, 0};
}

// A session that is not one's own must look like one that is not there.
TEST(AgentAccess, LetsEachRoleDoItsPart) {
  const std::vector<std::string> reserved{"pm"};
  auto may = [&](const auth::Identity& identity, std::string_view session, Access access) {
    return Outcome(AuthorizeSession(identity, session, access, reserved));
  };
  EXPECT_EQ(may(Bearer("user"), "ann:guide:t1", Access::kUse), "ok");
  EXPECT_EQ(may(Bearer(""), "ann:guide:t1", Access::kRead), "ok");
  EXPECT_EQ(may(Bearer("user", "eve"), "ann:guide:t1", Access::kRead), "NotFound");
  EXPECT_EQ(may(Bearer("user"), "ann:guide:t1", Access::kWork), "Forbidden");
  EXPECT_EQ(may(Bearer("user", "pm"), "pm:guide:t1", Access::kRead), "NotFound");
  EXPECT_EQ(may(Bearer("user"), "ann:guide", Access::kUse), "session_key");

  auth::Identity worker = Bearer("worker");
  EXPECT_EQ(may(worker, "eve:guide:t1", Access::kWork), "ok");
  EXPECT_EQ(may(worker, "eve:guide:t1", Access::kRead), "ok");
  EXPECT_EQ(may(worker, "ann:guide:t1", Access::kUse), "Forbidden");
  EXPECT_EQ(may(worker, "pm:guide:t1", Access::kWork), "NotFound");
  worker.agents = {"clerk"};
  EXPECT_EQ(may(worker, "eve:guide:t1", Access::kWork), "NotFound");
  EXPECT_EQ(may(worker, "eve:clerk:t1", Access::kWork), "ok");
  EXPECT_EQ(Outcome(AuthorizeWorker(worker, {"clerk"})), "ok");
  EXPECT_EQ(Outcome(AuthorizeWorker(worker, {"clerk", "guide"})), "Forbidden");
  EXPECT_EQ(Outcome(AuthorizeWorker(Bearer("user"), {})), "Forbidden");

  for (Access access : {Access::kRead, Access::kUse, Access::kWork})
    EXPECT_EQ(may(Bearer("admin", "root"), "pm:guide:t1", access), "ok");
  EXPECT_EQ(Outcome(AuthorizeAdmin(Bearer("admin"))), "ok");
  EXPECT_EQ(Outcome(AuthorizeAdmin(worker)), "Forbidden");
}

TEST(AgentRequests, AnEventHasThreeMembers) {
  auto reads = [](std::string_view text) { return Outcome(ReadJson(text, &ReadEvent)); };
  auto event = ReadJson(R"({"id":"a.b:c-1","type":"user_message","payload":{"text":"hi"}})", &ReadEvent);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, "a.b:c-1");
  EXPECT_EQ(event->payload, (Item{{"text", "hi"}}));
  EXPECT_EQ(reads(R"({"id":null,"type":"user_message","payload":{"text":""}})"), "ok");
  EXPECT_EQ(reads(R"({"type":"user_message"})"), "payload");
  EXPECT_EQ(reads(R"({"type":"user_message","payload":[]})"), "payload");
  EXPECT_EQ(reads(R"({"payload":{"text":"hi"}})"), "type");
  EXPECT_EQ(reads(R"({"type":"user_message","payload":{"text":"hi"},"seq":1})"), "seq");
  EXPECT_EQ(reads(R"({"id":"","type":"user_message","payload":{"text":"hi"}})"), "id") << "none is not empty";
}

TEST(AgentRequests, AClaimHasItsBounds) {
  auto claim =
      ReadJson(R"({"worker":"w1","agents":["guide"],"max":3,"lease_ms":1000,"wait_ms":0})", &ReadClaim);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->agents, std::vector<std::string>{"guide"});
  EXPECT_EQ(claim->max, 3);
  EXPECT_EQ(claim->lease_millis, 1000);
  EXPECT_EQ(claim->wait_millis, 0);
  EXPECT_EQ(Reads(R"({"agents":["guide"]})", &ReadClaim), "worker");
  EXPECT_EQ(Reads(R"({"worker":"w1"})", &ReadClaim), "agents");
  EXPECT_EQ(Reads(R"({"worker":"w1","agents":[]})", &ReadClaim), "agents");
  EXPECT_EQ(Reads(R"({"worker":"w1","agents":["a:b"]})", &ReadClaim), "agents");
  for (std::string bad : {"\"max\":0", "\"max\":65", "\"max\":1.5", "\"lease_ms\":999", "\"lease_ms\":300001",
                          "\"wait_ms\":-1", "\"wait_ms\":60001", "\"wait_ms\":\"1\"", "\"hurry\":true"}) {
    std::string text = R"({"worker":"w1","agents":["guide"],)" + bad + "}";
    EXPECT_EQ(Reads(text, &ReadClaim), bad.substr(1, bad.find('"', 1) - 1));
  }
}

// How an effect is treated is told apart from what it is: the latter is hashed, so nothing may get lost in
// it.
TEST(AgentRequests, ACommitKeepsWhatItsEffectsAre) {
  auto read = [](Members* body) { return ReadCommit(body, false); };
  const std::string base =
      R"("session":"ann:guide:t1","epoch":4,"upto":7,"token":"t-1","checkpoint":{"a":[1]})";
  auto commit = ReadJson("{" + base + R"(,"then":"release","usage":{"tokens":5},"effects":[
    {"type":"send_message","content":"hi","delivery":"at_most_once"},
    {"type":"schedule_timer","timer_id":"nudge","delay_ms":5,"payload":{"x":null},"keep":true},
    {"type":"webhook","url":"https://a.example","keep":true}]})",
                         read);
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->epoch, 4);
  EXPECT_EQ(commit->upto, 7);
  EXPECT_TRUE(commit->release);
  EXPECT_EQ(commit->state, (Item{{"a", AttributeValue::List({1})}}));
  ASSERT_EQ(commit->effects.size(), 3);
  EXPECT_TRUE(commit->effects[0].at_most_once);
  EXPECT_EQ(commit->effects[0].payload, (Item{{"content", "hi"}}));
  EXPECT_TRUE(commit->effects[1].keep);
  EXPECT_EQ(commit->effects[1].payload,
            (Item{{"timer_id", "nudge"}, {"delay_ms", 5}, {"payload", AttributeValue::Map({{"x", {}}})}}));
  EXPECT_EQ(commit->effects[2].payload, (Item{{"url", "https://a.example"}, {"keep", true}}))
      << "what does not belong to an effect is for the runtime to refuse";
  EXPECT_FALSE(ReadJson("{" + base + "}", read)->release);

  auto reads = [&](const std::string& text) { return Outcome(ReadJson(text, read)); };
  EXPECT_EQ(reads("{" + base + R"(,"then":"later"})"), "then");
  EXPECT_EQ(reads("{" + base + R"(,"effects":[7]})"), "effects[0]");
  EXPECT_EQ(reads("{" + base + R"(,"effects":[{"content":"hi"}]})"), "effects[0].type");
  EXPECT_EQ(reads("{" + base + R"(,"effects":[{"type":"send_message","delivery":"never"}]})"),
            "effects[0].delivery");
  EXPECT_EQ(reads("{" + base + R"(,"skipped":true})"), "skipped");
  EXPECT_EQ(reads(R"({"session":"ann:guide:t1","epoch":4,"upto":0,"token":"t","checkpoint":{}})"), "upto");
  EXPECT_EQ(reads(R"({"session":"ann:guide:t1","epoch":4,"upto":1,"token":"t"})"), "checkpoint");
  EXPECT_EQ(reads(R"({"session":"ann:guide:t1","epoch":4,"upto":1,"token":"t","checkpoint":[]})"),
            "checkpoint");
}

TEST(AgentRequests, LeasesAreListed) {
  auto leases = ReadJson(R"({"leases":[{"session":"ann:guide:t1","epoch":2}]})", &ReadLeases);
  ASSERT_TRUE(leases);
  EXPECT_EQ((*leases)[0].epoch, 2);
  EXPECT_EQ(Outcome(ReadJson(R"({"leases":[{"session":"ann:guide:t1"}]})", &ReadLeases)), "leases[0].epoch");
  EXPECT_EQ(Outcome(ReadJson(R"({"leases":["ann:guide:t1"]})", &ReadLeases)), "leases[0]");
  EXPECT_EQ(Outcome(ReadJson("{}", &ReadLeases)), "leases");
}

// What workers and clients rely on, character by character.
TEST(AgentJson, ShowsWorkAndSessions) {
  agent::Work work;
  work.session = "ann:guide:t1";
  work.epoch = 4;
  work.lease_until = 1000;
  work.events.push_back({1, "e1", "user_message", Item{{"text", "hi \"you\""}}, 900});
  std::string head = R"({"session":"ann:guide:t1","epoch":4,"lease_until":1000,"checkpoint":)";
  std::string tail =
      R"(,"events":[{"seq":1,"id":"e1","type":"user_message","payload":{"text":"hi \"you\""},"at":900,"origin":"user"}],)"
      R"("state":{"auto_n":0,"auto_at":null,"n_tail":0},"policy":)" +
      Json(work.policy) + "}";
  EXPECT_EQ(Json(std::vector{work}), R"({"work":[)" + head + "null" + tail + "]}");
  agent::Committed committed{.seq = 7, .messages = {3, 4}, .suppressed = {{1, "cap"}}, .next = {}};
  EXPECT_EQ(Json(committed),
            R"({"seq":7,"messages":[3,4],"suppressed":[{"i":1,"reason":"cap"}],"next":null})");
  work.checkpoint_seq = 3;
  work.state = Item{{"a", 1}};
  committed.next = work;
  EXPECT_EQ(Json(committed), R"({"seq":7,"messages":[3,4],"suppressed":[{"i":1,"reason":"cap"}],"next":)" +
                                 head + R"({"seq":3,"data":{"a":1}})" + tail + "}");

  agent::SessionView session;
  session.session = "ann:guide:t1";
  session.state = "active";
  EXPECT_EQ(
      Json(session),
      R"({"session_key":"ann:guide:t1","state":"active","last_seq":0,"event_seq":0,"checkpoint_id":null,)"
      R"("last_n":0,"epoch":0,"owner":null,"lease_until":null,"consecutive_autonomous_msgs":0,)"
      R"("last_autonomous_at":null,"updated_at":"1970-01-01T00:00:00.000Z"})");
}

TEST(AgentJson, ShowsTimersAndCheckpoints) {
  agent::TimerView timer;
  timer.id = "ann:guide:t1/3/0";
  timer.session = "ann:guide:t1";
  timer.timer_id = "nudge";
  timer.status = "pending";
  EXPECT_EQ(Json(std::vector{timer}),
            R"({"items":[{"id":"ann:guide:t1/3/0","session_key":"ann:guide:t1","timer_id":"nudge",)"
            R"("fire_at":"1970-01-01T00:00:00.000Z","payload":null,"status":"pending","keep":false,)"
            R"("created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z"}]})");
  agent::CheckpointView checkpoint;
  checkpoint.id = "ann:guide:t1/3";
  checkpoint.seq = 3;
  checkpoint.decisions.push_back(Item{{"row", "M#1"}});
  EXPECT_EQ(
      Json(checkpoint),
      R"({"id":"ann:guide:t1/3","state":{},"metadata":{"event_seq":3,"consecutive_autonomous_msgs":0,)"
      R"("last_autonomous_at":null},"decisions":[{"row":"M#1"}],"created_at":"1970-01-01T00:00:00.000Z"})");
}

}  // namespace
}  // namespace holdfast::wire
