// The feed from end to end: a model on the real engine, the real server, real sockets.
#include "wire/feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "holdfast/database.h"
#include "json/plain.h"
#include "model/load.h"
#include "wire/channel_testing.h"
#include "wire/http_server.h"

namespace holdfast::wire {
namespace {

using testing::Becomes;
using testing::Client;

// Notes belong to users. Tags belong to notes, and do not say to whom these belong.
constexpr std::string_view kModel = R"(
model: notes
version: 1
title: Notes
tenancy: {attribute: userId}
tables:
  main: {name: Notes, key: {pk: S, sk: S}, type_attribute: kind, ttl: expires}
  other: {name: Others, key: {pk: S}, type_attribute: kind}
entities:
  Note:
    table: main
    key: {pk: "USER#{userId}", sk: "NOTE#{id}"}
    attributes: {userId: "S!", id: "S!", text: "S?", folder: "S?", n: "N?", expires: "epoch?"}
  Tag:
    table: main
    key: {pk: "NOTE#{noteId}", sk: "TAG#{name}"}
    parent: {Note: {id: noteId}}
    attributes: {noteId: "S!", name: "S!"}
  Place:
    table: other
    key: {pk: "{name}"}
    attributes: {name: "S!", visited: "BOOL?"}
commands:
  note.remind:
    input: {userId: "S!"}
    emit: [{name: reminder, body: {userId: $input.userId}}]
)";

const Caller kAdmin = Caller::Administrator();

template <class T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().ToString());
  return *std::move(result);
}

// Whoever asks for /name is that tenant; for /, nobody in particular.
class Upgrader final : public HttpHandler {
 public:
  Handled Handle(Exchange* exchange) override {
    std::string name(exchange->request().path.substr(1));
    Caller caller = name.empty() ? kAdmin : Caller::Tenant(name);
    auto may_read = [](std::string_view entity) { return entity != "Place"; };
    AcceptChannel(exchange->request(), {},
                  MakeFeedSession(hub, caller, may_read, "c" + std::to_string(++connections)),
                  &exchange->response());
    return Handled::kDone;
  }
  void Durable(Exchange*, const Status&) override {}
  void Connected(int) override {}
  void Answered(Exchange*, size_t, size_t) override {}

  Hub* hub = nullptr;
  std::atomic<int> connections{0};
};

// A connection that has been greeted.
class Subscriber {
 public:
  Subscriber(int port, const std::string& tenant, int receive_buffer = 0)
      : client(port, /*tls=*/false, receive_buffer) {
    client.Upgrade("/" + tenant);
    Item hello = Next();
    EXPECT_EQ(hello.Get("type"), "hello");
    connection_id = hello.Get("connectionId").value_or("").AsText();
  }

  // The next message; an empty one at the end.
  Item Next() {
    std::string text = client.ReceiveText();
    return text.empty() ? Item() : Must(json::ReadPlainItem(text));
  }
  void Say(const Item& message) {
    std::string text;
    json::AppendPlainItem(value::MapView(message), &text);
    client.Send(text);
  }
  // Subscribes and returns the cursor from which it is told.
  std::string Subscribe(const std::string& entity, Item more = {}) {
    more.Set("type", "subscribe");
    more.Set("id", entity);
    more.Set("entity", entity);
    Say(more);
    Item answer = Next();
    EXPECT_EQ(answer.Get("type"), "subscribed") << answer.Get("message").value_or("").AsText();
    return answer.Get("cursor").value_or("").AsText();
  }
  // "insert n1", the kind of the next change and the item's id or name.
  std::string Change(std::string* cursor = nullptr) {
    Item message = Next();
    if (message.Get("type") != "change") return message.Get("type").value_or("the end").AsText();
    AttributeMap item = message.Get("item")->AsMap();
    if (cursor != nullptr) *cursor = message.Get("cursor")->AsText();
    return message.Get("change")->AsText() + " " + item[item.contains("id") ? "id" : "name"].AsText() +
           (message.Has("expired") ? " expired" : "");
  }
  // Nothing was sent to it before this.
  bool Quiet() {
    Say({{"type", "ping"}});
    return Next().Get("type") == "pong";
  }

  Client client;
  std::string connection_id;
};

class FeedTest : public ::testing::Test {
 protected:
  explicit FeedTest(HubOptions options = {}) {
    database_ = Must(Database::Open({.ttl_sweep_millis = 20}));
    store_ = EmbeddedStore(database_.get());
    model_ = Must(model::LoadModel(kModel, "notes.yaml", {}));
    app_ = Must(Application::Open(store_.get(), model_, {}));
    Must(app_->Apply());
    Restart(options);
  }
  ~FeedTest() override { server_.reset(); }

  void Restart(const HubOptions& options) {
    server_.reset();
    hub_ = std::make_unique<Hub>(model_, store_.get(), &log_, options);
    handler_.hub = hub_.get();
    server_ = Must(HttpServer::Start({.port = 0, .io_threads = 2}, &handler_, &log_));
  }
  std::unique_ptr<Subscriber> Connect(const std::string& tenant = "", int receive_buffer = 0) {
    return std::make_unique<Subscriber>(server_->port(), tenant, receive_buffer);
  }
  void Note(const std::string& user, const std::string& id, AttributeMap more = {}) {
    more["userId"] = user;
    more["id"] = id;
    Must(app_->Put(kAdmin, "Note", Item(more)));
  }
  void Tag(const std::string& user, const std::string& note, const std::string& name) {
    Must(app_->Create(Caller::Tenant(user), "Tag", {{"noteId", note}, {"name", name}}));
  }
  void DeleteNote(const std::string& user, const std::string& id) {
    ASSERT_TRUE(app_->Delete(kAdmin, "Note", {{"userId", user}, {"id", id}}));
  }

  base::Log log_{base::LogLevel::kNone};
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  ModelPtr model_;
  std::unique_ptr<Application> app_;
  std::unique_ptr<Hub> hub_;
  Upgrader handler_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(FeedTest, ChangesAreToldInTheOrderOfTheirCommits) {
  auto subscriber = Connect();
  subscriber->Subscribe("Note");
  for (int i = 0; i < 50; ++i) Note("ann", "a", {{"n", i}});
  DeleteNote("ann", "a");
  EXPECT_EQ(subscriber->Change(), "insert a");
  for (int i = 1; i < 50; ++i) {
    Item change = subscriber->Next();
    EXPECT_EQ(change.Get("change"), "modify");
    EXPECT_EQ(change.Get("entity"), "Note");
    EXPECT_EQ(change.Get("item"),
              AttributeValue::Map({{"kind", "Note"}, {"userId", "ann"}, {"id", "a"}, {"n", i}}))
        << "as callers know it: without keys";
  }
  EXPECT_EQ(subscriber->Change(), "remove a");
}

TEST_F(FeedTest, OnlyThePartitionThatWasAskedForIsTold) {
  auto subscriber = Connect();
  subscriber->Subscribe("Note", {{"partition", AttributeValue::Map({{"folder", "home"}, {"n", 1}})}});
  Note("ann", "elsewhere", {{"folder", "work"}, {"n", 1}});
  Note("ann", "half", {{"folder", "home"}, {"n", 2}});
  Note("ann", "here", {{"folder", "home"}, {"n", AttributeValue::Number("1.0")}});
  Note("ann", "here", {{"folder", "work"}, {"n", 1}});  // it leaves, and that is told
  Note("ann", "here", {{"folder", "work"}, {"n", 3}});
  EXPECT_EQ(subscriber->Change(), "insert here");
  EXPECT_EQ(subscriber->Change(), "modify here");
  Note("ann", "last", {{"folder", "home"}, {"n", 1}});
  EXPECT_EQ(subscriber->Change(), "insert last");
}

// The one promise that must not break: a tenant hears nothing of another's.
TEST_F(FeedTest, ATenantHearsOfItsOwnAlone) {
  auto ann = Connect("ann"), bob = Connect("bob"), admin = Connect();
  for (auto* one : {ann.get(), bob.get(), admin.get()}) {
    one->Subscribe("Note");
    one->Subscribe("Tag");
  }
  Note("ann", "a");
  Note("bob", "b");
  Tag("ann", "a", "of-ann");
  Tag("bob", "b", "of-bob");
  Note("ann", "last");
  Note("bob", "last");
  std::map<std::string, int> of_ann, of_bob, of_all;  // two subscriptions: in the order of each
  for (int i = 0; i < 3; ++i) ++of_ann[ann->Change()], ++of_bob[bob->Change()];
  for (int i = 0; i < 6; ++i) ++of_all[admin->Change()];
  EXPECT_EQ(of_all.size(), 5u) << "both called their last note the same";
  EXPECT_EQ(of_ann, (std::map<std::string, int>{{"insert a", 1}, {"insert of-ann", 1}, {"insert last", 1}}));
  EXPECT_EQ(of_bob, (std::map<std::string, int>{{"insert b", 1}, {"insert of-bob", 1}, {"insert last", 1}}));
}

// A child that goes together with its parent can no longer be asked whose it was.
TEST_F(FeedTest, ChildrenThatGoWithTheirParentAreToldToItsOwner) {
  auto ann = Connect("ann"), bob = Connect("bob");
  Note("ann", "a");
  Tag("ann", "a", "t");
  ann->Subscribe("Tag");
  bob->Subscribe("Tag");
  Must(store_->Run(TransactWriteItemsRequest{
      .transact_items = {
          {.delete_action = {{.table_name = "Notes", .key = {{"pk", "USER#ann"}, {"sk", "NOTE#a"}}}}},
          {.delete_action = {{.table_name = "Notes", .key = {{"pk", "NOTE#a"}, {"sk", "TAG#t"}}}}}}}));
  EXPECT_EQ(ann->Change(), "remove t");
  Note("bob", "b");
  Tag("bob", "b", "last");
  EXPECT_EQ(bob->Change(), "insert last");
}

TEST_F(FeedTest, WhatExpiresIsToldAsThat) {
  auto subscriber = Connect();
  subscriber->Subscribe("Note");
  Note("ann", "a", {{"expires", static_cast<int64_t>(::time(nullptr)) - 10}});
  EXPECT_EQ(subscriber->Change(), "insert a");
  EXPECT_EQ(subscriber->Change(), "remove a expired");
}

// Whoever comes back with the last cursor it saw misses nothing and hears nothing twice.
TEST_F(FeedTest, ACursorGoesOnWithoutAGap) {
  auto first = Connect("ann");
  first->Subscribe("Note");
  std::string cursor;
  Note("ann", "1");
  Note("ann", "2");
  EXPECT_EQ(first->Change(&cursor), "insert 1");
  first.reset();
  ASSERT_TRUE(Becomes([&] { return hub_->connections() == 0; }));
  Note("bob", "not hers");
  Note("ann", "3");
  auto second = Connect("ann");
  EXPECT_EQ(second->Subscribe("Note", {{"cursor", cursor}}), cursor);
  Note("ann", "4");
  for (const char* id : {"2", "3", "4"}) EXPECT_EQ(second->Change(), std::string("insert ") + id);
}

// More than a channel takes at once: it is given at the pace at which it is read.
TEST_F(FeedTest, ALongAbsenceIsCaughtUpAtTheReadersPace) {
  auto keeper = Connect();
  std::string cursor = keeper->Subscribe("Note");
  std::string text(10'000, 'x');
  for (int i = 0; i < 500; ++i) Note("ann", std::to_string(i), {{"text", text}});
  auto late = Connect("", 4096);
  late->Subscribe("Note", {{"cursor", cursor}});
  for (int i = 0; i < 500; ++i) ASSERT_EQ(late->Change(), "insert " + std::to_string(i));
}

TEST_F(FeedTest, WhatCannotBeFollowedMustBeReadAgain) {
  HubOptions options;
  options.kept_changes_max = 3;
  Restart(options);
  auto keeper = Connect();
  std::string early = keeper->Subscribe("Note"), late;
  for (int i = 0; i < 10; ++i) Note("ann", std::to_string(i));
  for (int i = 0; i < 10; ++i) keeper->Change(i == 7 ? &late : nullptr);
  auto returning = Connect();
  EXPECT_NE(returning->Subscribe("Note", {{"cursor", early}}), early);
  Item resync = returning->Next();
  EXPECT_EQ(resync.Get("type"), "resync");
  Note("ann", "new");
  EXPECT_EQ(returning->Change(), "insert new") << "and goes on from there";
  auto in_time = Connect();
  in_time->Subscribe("Note", {{"cursor", late}});
  EXPECT_EQ(in_time->Change(), "insert 8");

  Restart(options);
  auto after = Connect();
  after->Subscribe("Note", {{"cursor", late}});
  EXPECT_EQ(after->Next().Get("type"), "resync") << "the cursor is of another start";
}

class SlowFeedTest : public FeedTest {
 protected:
  SlowFeedTest() : FeedTest({.kept_bytes_max = 64 << 20, .stalled_millis_max = 100}) {}
};

TEST_F(SlowFeedTest, OneThatDoesNotReadIsCutOffWhileOthersGoOn) {
  auto deaf = Connect("", 4096), quick = Connect();
  deaf->Subscribe("Note");
  quick->Subscribe("Note");
  std::string text(100'000, 'x');
  int written = 0;
  // Until the buffers of the operating system are full, and then some.
  EXPECT_TRUE(Becomes([&] {
    Note("ann", std::to_string(written), {{"text", text}});
    EXPECT_EQ(quick->Change(), "insert " + std::to_string(written));
    ++written;
    return hub_->connections() == 1;
  }));
  EXPECT_EQ(deaf->client.ReceiveClose(), kCloseTryLater);
  Note("ann", "after");
  EXPECT_EQ(quick->Change(), "insert after");
}

TEST_F(FeedTest, TwoHundredSubscribersAreAllToldTheSame) {
  std::vector<std::unique_ptr<Subscriber>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(Connect(i % 2 == 0 ? "ann" : ""));
    all.back()->Subscribe("Note");
  }
  for (int i = 0; i < 20; ++i) {
    Note("ann", std::to_string(i));
    Note("bob", "b" + std::to_string(i));
  }
  for (size_t s = 0; s < all.size(); ++s) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(all[s]->Change(), "insert " + std::to_string(i)) << s;
      if (s % 2 == 1) {
        ASSERT_EQ(all[s]->Change(), "insert b" + std::to_string(i));
      }
    }
  }
}

// Writers do not wait for subscribers, and what many of them write at once is told to the last change.
TEST_F(FeedTest, ManyWritersAndComersAndGoersLoseNothing) {
  auto keeper = Connect();
  keeper->Subscribe("Note");
  constexpr int kThreads = 4, kEach = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) Note("u" + std::to_string(t), "x", {{"n", i}});
    });
  }
  for (int i = 0; i < 20; ++i) Connect("u1")->Subscribe("Tag");
  std::map<std::string, int64_t> last;
  for (int i = 0; i < kThreads * kEach; ++i) {
    AttributeMap item = keeper->Next().Get("item")->AsMap();
    int64_t n = *item["n"].AsInt64();
    EXPECT_EQ(n, last.contains(item["userId"].AsText()) ? last[item["userId"].AsText()] + 1 : 0);
    last[item["userId"].AsText()] = n;
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FeedTest, EventsReachThoseTheyAreFor) {
  auto ann = Connect("ann"), bob = Connect("bob"), admin = Connect();
  for (auto* one : {ann.get(), bob.get(), admin.get()}) {
    one->Say({{"type", "subscribe"}, {"id", "e"}, {"event", "reminder"}});
    EXPECT_EQ(one->Next().Get("type"), "subscribed");
  }
  hub_->Emit("reminder", "", {{"userId", "ann"}, {"text", "water"}});
  hub_->Emit("other", "", {{"userId", "ann"}});
  for (auto* one : {ann.get(), admin.get()}) {
    Item event = one->Next();
    EXPECT_EQ(event.Get("type"), "event");
    EXPECT_EQ(event.Get("name"), "reminder");
    EXPECT_EQ(event.Get("body")->AsMap().at("text"), "water");
    EXPECT_TRUE(one->Quiet());
  }
  hub_->Emit("direct", bob->connection_id, {{"n", 1}});
  EXPECT_EQ(bob->Next().Get("name"), "direct");
  EXPECT_TRUE(hub_->Post(bob->connection_id, R"({"any":"thing"})"));
  EXPECT_EQ(bob->Next().Get("any"), "thing");
  std::string id = bob->connection_id;
  bob.reset();
  EXPECT_TRUE(Becomes([&] { return !hub_->Post(id, "{}"); })) << "it is gone";
}

TEST_F(FeedTest, NonsenseIsAnsweredAndHurtsNothing) {
  auto subscriber = Connect("ann");
  auto error = [&](const std::string& text) {
    subscriber->client.Send(text);
    Item answer = subscriber->Next();
    EXPECT_EQ(answer.Get("type"), "error") << text;
    return answer.Get("error").value_or("").AsText();
  };
  EXPECT_EQ(error("no JSON"), "ValidationError");
  EXPECT_EQ(error("[1]"), "ValidationError");
  EXPECT_EQ(error(R"({"type":"shout"})"), "ValidationError");
  EXPECT_EQ(error(R"({"type":"subscribe","entity":"Note"})"), "ValidationError");
  EXPECT_EQ(error(R"({"type":"subscribe","id":"x"})"), "ValidationError");
  EXPECT_EQ(error(R"({"type":"subscribe","id":"x","entity":"Nobody"})"), "NotFound");
  EXPECT_EQ(error(R"({"type":"subscribe","id":"x","entity":"Place"})"), "Forbidden");
  EXPECT_EQ(error(R"({"type":"subscribe","id":"x","entity":"Note","partition":{"pk":"USER#bob"}})"),
            "ValidationError");
  EXPECT_EQ(error(R"({"type":"unsubscribe","id":"x"})"), "NotFound");
  subscriber->Subscribe("Note");
  EXPECT_EQ(error(R"({"type":"subscribe","id":"Note","entity":"Tag"})"), "AlreadyExists");
  Note("ann", "a");
  EXPECT_EQ(subscriber->Change(), "insert a");
  subscriber->Say({{"type", "unsubscribe"}, {"id", "Note"}});
  EXPECT_EQ(subscriber->Next().Get("type"), "unsubscribed");
  auto after = Connect("ann");
  after->Subscribe("Note");
  Note("ann", "b");
  std::string told = after->Change();
  if (told == "insert a") told = after->Change();  // of a moment before
  EXPECT_EQ(told, "insert b");
  EXPECT_TRUE(subscriber->Quiet()) << "it would have been told first";
}

TEST_F(FeedTest, ATableThatGoesAwayEndsItsSubscriptions) {
  auto subscriber = Connect();
  subscriber->Subscribe("Note");
  Must(store_->Run(DeleteTableRequest{"Notes"}));
  Item error = subscriber->Next();
  EXPECT_EQ(error.Get("type"), "error");
  EXPECT_EQ(error.Get("id"), "Note");
  EXPECT_EQ(error.Get("error"), "NotFound");
  Must(app_->Apply());
  subscriber->Subscribe("Note");
  Note("ann", "a");
  EXPECT_EQ(subscriber->Change(), "insert a");
}

// A peer that holds up whoever sends to it, from when it is told to until it is let go.
class HeldChannel final : public Channel {
 public:
  bool Send(Frame) override {
    std::unique_lock lock(mu_);
    ++sent_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !holding_; });
    return true;
  }
  void Close(uint16_t, std::string_view) override {}
  size_t waiting_bytes() const override { return 0; }
  int64_t stalled_micros() const override { return 0; }

  void Hold() {
    std::lock_guard lock(mu_);
    holding_ = true;
    sent_ = 0;
  }
  void AwaitSender() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return sent_ > 0; });
  }
  void AwaitSent(int count) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return sent_ >= count; });
  }
  int sent() {
    std::lock_guard lock(mu_);
    return sent_;
  }
  void LetGo() {
    std::lock_guard lock(mu_);
    holding_ = false;
    changed_.notify_all();
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool holding_ = false;
  int sent_ = 0;
};

// With thousands of subscribers, telling all of them takes long. It was done under the lock that I/O threads
// take when somebody connects, subscribes, has room again or goes: one event held up every request of theirs
// (I-15).
TEST_F(FeedTest, NobodyWaitsWhileOthersAreTold) {
  auto session = [&](const std::string& id) {
    return MakeFeedSession(
        hub_.get(), kAdmin, [](std::string_view) { return true; }, id);
  };
  struct {
    std::string_view subscribe;
    std::function<void()> tell;
  } cases[] = {
      {R"({"type":"subscribe","id":"s","event":"reminder"})",
       [&] {
         hub_->Emit("reminder", "", Item{{"userId", "ann"}});
       }},
      {R"({"type":"subscribe","id":"s","entity":"Note"})", [&] { Note("ann", "a"); }},
  };
  for (const auto& one : cases) {
    auto slow = std::make_shared<HeldChannel>();
    auto told = session("told");
    told->OnOpen(slow);                          // hello
    told->OnMessage(slow.get(), one.subscribe);  // subscribed
    slow->AwaitSent(2);
    slow->Hold();
    std::thread teller(one.tell);
    slow->AwaitSender();

    auto coming_and_going = std::async(std::launch::async, [&] {
      auto channel = std::make_shared<HeldChannel>();
      auto other = session("other");
      other->OnOpen(channel);
      for (const auto& each : cases) {
        other->OnMessage(channel.get(), each.subscribe);
        other->OnMessage(channel.get(), R"({"type":"unsubscribe","id":"s"})");
      }
      other->OnRoom(channel.get());
      EXPECT_EQ(hub_->connections(), 2U);
      EXPECT_TRUE(hub_->Post("other", "{}"));
      other->OnClosed(channel.get());
    });
    EXPECT_EQ(coming_and_going.wait_for(std::chrono::seconds(20)), std::future_status::ready)
        << "they wait for the slow one";
    slow->LetGo();
    teller.join();
    coming_and_going.wait();
    told->OnClosed(slow.get());
  }
}

// An event goes out to its subscribers in portions: each gets it once, whoever leaves meanwhile.
TEST_F(FeedTest, AnEventReachesEachOfManyOnce) {
  constexpr int kMany = 200;
  std::vector<std::shared_ptr<HeldChannel>> channels;
  std::vector<std::shared_ptr<ChannelHandler>> sessions;
  for (int i = 0; i < kMany; ++i) {
    channels.push_back(std::make_shared<HeldChannel>());
    sessions.push_back(MakeFeedSession(
        hub_.get(), kAdmin, [](std::string_view) { return true; }, std::to_string(i)));
    sessions.back()->OnOpen(channels.back());
    sessions.back()->OnMessage(channels.back().get(), R"({"type":"subscribe","id":"s","event":"reminder"})");
  }
  for (int i = 0; i < kMany; i += 3) sessions[static_cast<size_t>(i)]->OnClosed(nullptr);
  hub_->Emit("reminder", "", Item{{"userId", "ann"}});
  for (int i = 0; i < kMany; ++i)
    EXPECT_EQ(channels[static_cast<size_t>(i)]->sent(), i % 3 == 0 ? 2 : 3) << i;
  for (int i = 0; i < kMany; ++i) {
    if (i % 3 != 0) sessions[static_cast<size_t>(i)]->OnClosed(nullptr);
  }
}

}  // namespace
}  // namespace holdfast::wire
