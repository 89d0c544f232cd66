#include "simulation.h"

#include <algorithm>
#include <utility>

#include "agent/keys.h"
#include "agent/row_writer.h"
#include "agent/stored.h"
#include "model/refusal.h"
#include "promises.h"

namespace holdfast::sim {

using agent::Work;

namespace {

constexpr int64_t kLongMillis = 7'200'000;  // a timer that nobody waits for

std::string TextOf(const Error& error) {
  std::string_view name = model::RefusalName(error);
  return name.empty() ? error.ToString() : std::string(name);
}

}  // namespace

// A device that follows the rule of clients: it shows n when it has shown all before, drops what it has
// shown, and connects again when something is missing.
class Device final : public std::enable_shared_from_this<Device> {
 public:
  Device(Simulation* simulation, std::string session, std::string name)
      : is_(simulation), session_(std::move(session)), name_(std::move(name)) {}

  const std::string& session() const { return session_; }
  std::string Name() const { return session_ + "/" + name_; }
  int64_t cursor() const { return cursor_; }
  void Live() {
    World& world = is_->world();
    if (sink_ && !node_->live) Gone();
    if (!sink_)
      Connect();
    else if (world.faulty() && world.Chance(100))
      Disconnect();
    world.After(world.faulty() ? world.Between(10, 5'000) : 200,
                [self = shared_from_this()] { self->Live(); });
  }

 private:
  // One connection: what comes of an old one is not heard.
  class Sink final : public agent::DeviceSink {
   public:
    Sink(std::weak_ptr<Device> device, NodePtr node) : device_(std::move(device)), node_(std::move(node)) {}
    void OnReady(int64_t, int64_t) override {
      Tell([](Device& device, Sink& sink) {
        if (std::exchange(sink.ready_, true)) device.Complain("OnReady was called twice");
      });
    }
    void OnMessage(const agent::Message& message) override {
      Tell([message](Device& device, Sink& sink) { device.Take(sink, message.n, &message); });
    }
    void OnSkip(int64_t n) override {
      Tell([n](Device& device, Sink& sink) { device.Take(sink, n, nullptr); });
    }
    void OnState(std::string_view) override {}
    void OnEnd(std::string_view) override {
      Tell([](Device& device, Sink&) { device.Gone(); });
    }

   private:
    friend class Device;
    // Frames take their time and keep their order.
    void Tell(std::function<void(Device&, Sink&)> frame) {
      std::shared_ptr<Device> device = device_.lock();
      if (!device || node_->silent) return;
      frames_.push_back(std::move(frame));
      World& world = device->is_->world();
      world.After(world.Between(0, 2), [device, self = device->sink_, this] {
        if (self.get() != this) return;  // another connection's
        std::function<void(Device&, Sink&)> next = std::move(frames_.front());
        frames_.pop_front();
        if (device->sink_ == self) next(*device, *this);
      });
    }
    const std::weak_ptr<Device> device_;
    const NodePtr node_;
    std::deque<std::function<void(Device&, Sink&)>> frames_;
    bool ready_ = false;
    int64_t last_ = -1;  // the newest that came on this connection
  };

  void Connect() {
    node_ = is_->AnyNode();
    if (!node_) return;
    World& world = is_->world();
    sink_ = std::make_shared<Sink>(weak_from_this(), node_);
    agent::ConnectRequest request{.session = session_, .device = name_};
    if (!world.Chance(200)) request.after = cursor_;
    world.Note(Name() + " connects to " + node_->name + " after " +
               (request.after ? std::to_string(cursor_) : "its cursor"));
    connection_ = node_->runtime->Connect(request, sink_);
  }
  void Disconnect() {
    if (node_->live) node_->runtime->Disconnect(connection_);
    Gone();
  }
  void Gone() {
    is_->world().Note(Name() + " has no connection");
    sink_.reset();
  }

  void Take(Sink& sink, int64_t n, const agent::Message* message) {
    if (!sink.ready_) Complain("a message came before OnReady");
    if (sink.last_ >= 0 && n != sink.last_ + 1)
      Complain("after " + std::to_string(sink.last_) + " came " + std::to_string(n));
    sink.last_ = n;
    if (n > cursor_ + 1) Complain("has " + std::to_string(cursor_) + " and is told " + std::to_string(n));
    if (n <= cursor_) return;
    cursor_ = n;
    is_->world().Note(Name() + (message != nullptr ? " shows " : " skips ") + std::to_string(n));
    is_->history().sessions[session_].shown[name_].emplace_back(n, message != nullptr ? message->id : "");
    Acknowledge();
  }
  void Acknowledge() {
    World& world = is_->world();
    if (std::exchange(acking_, true)) return;
    int64_t wait = !world.faulty()    ? world.Between(0, 20)
                   : world.Chance(30) ? world.Between(20'000, 60'000)
                                      : world.Between(0, 300);
    world.After(wait, [self = shared_from_this()] {
      self->acking_ = false;
      if (self->sink_ && self->node_->live)
        self->node_->runtime->Acknowledge(self->connection_, self->cursor_);
    });
  }
  void Complain(const std::string& what) { is_->world().Violated("P5", Name() + " " + what); }

  Simulation* const is_;
  const std::string session_, name_;
  NodePtr node_;
  std::shared_ptr<Sink> sink_;
  agent::ConnectionId connection_ = 0;
  int64_t cursor_ = 0;
  bool acking_ = false;
};

// A worker that is given work as it comes.
class AttachedWorker final : public std::enable_shared_from_this<AttachedWorker> {
 public:
  AttachedWorker(Simulation* simulation, std::string name) : is_(simulation), name_(std::move(name)) {}

  void Live() {
    World& world = is_->world();
    if (sink_ && !node_->live) sink_.reset();
    if (!sink_) {
      Attach();
    } else if (world.faulty() && world.Chance(60)) {
      world.Note(name_ + " leaves " + node_->name);
      node_->runtime->Detach(connection_);
      sink_.reset();
    }
    world.After(world.faulty() ? world.Between(100, 5'000) : 200,
                [self = shared_from_this()] { self->Live(); });
  }

 private:
  class Sink final : public agent::WorkerSink {
   public:
    Sink(std::weak_ptr<AttachedWorker> worker, NodePtr node, int64_t lease_millis)
        : worker_(std::move(worker)), node_(std::move(node)), lease_millis_(lease_millis) {}
    void OnWork(const Work& work) override {
      std::shared_ptr<AttachedWorker> worker = worker_.lock();
      if (!worker || node_->silent) return;
      auto turn = std::make_shared<Turn>(Turn{work, node_, worker->name_, lease_millis_, {}, 0, [] {}});
      worker->is_->world().After(0, [worker, turn] { worker->is_->Begin(turn); });
    }
    void OnCancel(const agent::Cancel&) override {}

   private:
    const std::weak_ptr<AttachedWorker> worker_;
    const NodePtr node_;
    const int64_t lease_millis_;
  };

  void Attach() {
    node_ = is_->AnyNode();
    if (!node_) return;
    is_->world().Note(name_ + " comes to " + node_->name);
    agent::WorkerHello hello = is_->Hello(name_);
    sink_ = std::make_shared<Sink>(weak_from_this(), node_, hello.lease_millis);
    connection_ = node_->runtime->Attach(hello, sink_);
  }

  Simulation* const is_;
  const std::string name_;
  NodePtr node_;
  std::shared_ptr<Sink> sink_;
  agent::ConnectionId connection_ = 0;
};

// --- a run ---

Simulation::Simulation(uint64_t seed, Store* engine, Breach breach)
    : world_(seed), rows_(engine, "sim-" + std::to_string(seed)) {
  shared_.engine = engine;
  shared_.table = "sim-" + std::to_string(seed);
  shared_.breach = breach;
  constexpr uint64_t kFaults[] = {0, 2, 10, 40};
  constexpr int64_t kSlow[] = {0, 2, 10, 40};
  shared_.fault_permille = kFaults[world_.Below(4)];
  shared_.slow_millis = kSlow[world_.Below(4)];
  history_.policy.cap = world_.Between(1, 3);
  history_.policy.cooldown_millis = world_.Between(1, 6) * 500;

  agents_ = {"guide"};
  if (world_.Chance(300)) agents_.push_back("coach");
  for (int64_t i = world_.Between(1, 4); i > 0; --i) {
    sessions_.push_back("u" + std::to_string(i) + ":" + agents_[world_.Below(agents_.size())] + ":t");
    history_.sessions[sessions_.back()];
  }
  nodes_.resize(1 + world_.Below(2));
  busy_.resize(nodes_.size());
  MakeTable();
}

// With the policies, whose cap and cooldown hold from the beginning.
void Simulation::MakeTable() {
  CreateTableRequest request;
  request.table_name = shared_.table;
  request.attribute_definitions = std::vector<AttributeDefinition>{{"pk", ScalarAttributeType::kString},
                                                                   {"sk", ScalarAttributeType::kString}};
  request.key_schema = std::vector<KeySchemaElement>{{"pk", KeyType::kHash}, {"sk", KeyType::kRange}};
  request.billing_mode = BillingMode::kPayPerRequest;
  if (!shared_.engine->Run(request)) world_.Violated("table", "it cannot be made");
  for (const std::string& agent : agents_) {
    PutItemRequest put;
    put.table_name = shared_.table;
    agent::RowWriter row(agent::kConfigPartition, agent::PolicyKey(agent));
    row.Map("policy", agent::PolicyItem(history_.policy));
    put.item = row.Take();
    if (!shared_.engine->Run(put)) world_.Violated("table", "it takes no rows");
  }
  shared_.partitions.insert(std::string(agent::kConfigPartition));
}

Simulation::~Simulation() {
  over_ = true;
  for (size_t slot = 0; slot < nodes_.size(); ++slot) {
    world_.RunUntil([&] { return !busy_[slot]; });
    if (nodes_[slot]) Stop(slot, true);
  }
  DeleteTableRequest request;
  request.table_name = shared_.table;
  (void)shared_.engine->Run(request);
}

NodePtr Simulation::AnyNode() {
  std::vector<NodePtr> live;
  for (const NodePtr& node : nodes_) {
    if (node && node->live) live.push_back(node);
  }
  return live.empty() ? nullptr : live[world_.Below(live.size())];
}

void Simulation::Start(size_t slot) {
  if (over_ || nodes_[slot] || busy_[slot]) return;
  busy_[slot] = true;
  int64_t skew = nodes_.size() > 1 ? world_.Between(-2'000, 2'000) : 0;
  auto node = std::make_shared<Node>(&world_, &shared_, "node" + std::to_string(slot), skew);
  agent::RuntimeOptions options;
  options.table = shared_.table;
  options.shared = nodes_.size() > 1;
  options.loop = &node->loop;
  options.seed = world_.Seed();
  Result<std::unique_ptr<agent::Runtime>> opened = agent::Runtime::Open(&node->store, options, nullptr);
  busy_[slot] = false;
  world_.Note(node->name + (opened ? " is up" : " cannot start: " + opened.error().ToString()));
  if (!opened) return world_.After(world_.Between(10, 1'000), [this, slot] { Start(slot); });
  node->runtime = *std::move(opened);
  node->live = true;
  nodes_[slot] = std::move(node);
}

void Simulation::Stop(size_t slot, bool killed) {
  NodePtr node = std::exchange(nodes_[slot], nullptr);
  busy_[slot] = true;
  world_.Note(node->name + (killed ? " is killed" : " is stopped"));
  node->live = false;
  node->silent = killed;
  if (killed) node->store.Die();
  node->runtime.reset();
  node->silent = true;
  node->store.Die();
  busy_[slot] = false;
  if (node->calls != 0)
    world_.Violated("runtime", std::to_string(node->calls) + " calls were never answered");
}

void Simulation::Trouble() {
  if (!world_.faulty()) return;
  size_t slot = world_.Below(nodes_.size());
  const NodePtr& node = nodes_[slot];
  if (node && node->live && !busy_[slot]) {
    uint64_t kind = world_.Below(10);
    if (kind < 3) {
      Stop(slot, kind < 2);
      world_.After(world_.Between(0, 8'000), [this, slot] { Start(slot); });
    } else if (kind < 5) {
      node->loop.Jump(world_.Between(1, 20'000));
      world_.Note(node->name + "'s clock is set forward");
    } else if (kind < 6 && skew_left_ > 0) {
      int64_t back = world_.Between(1, std::min<int64_t>(skew_left_, 10'000));
      skew_left_ -= back;
      node->loop.Jump(-back);
      world_.Note(node->name + "'s clock is set back by " + std::to_string(back));
    }
  }
  world_.After(world_.Between(500, 12'000), [this] { Trouble(); });
}

// --- users ---

void Simulation::Say(const std::string& session, const std::string& id) {
  auto again = [this, session, id] { Say(session, id); };
  NodePtr node = AnyNode();
  if (!node) return world_.After(world_.Between(10, 500), again);
  agent::AppendRequest request{.session = session, .id = id, .payload = Item{{"text", "I say " + id}}};
  node->runtime->Append(
      request, Call<agent::Appended>(node, [this, session, id, again](Result<agent::Appended> said) {
        world_.Note(session + " " + id +
                    (said ? " is " + std::to_string(said->seq) : " failed: " + TextOf(said.error())));
        if (!said) return world_.After(world_.Between(0, 1'000), again);
        auto [known, first] = history_.sessions[session].said.emplace(id, said->seq);
        if (!first && known->second != said->seq)
          world_.Violated(
              "P1", id + " is event " + std::to_string(known->second) + " and " + std::to_string(said->seq));
        if (first) --unsaid_;
        if (world_.faulty() && world_.Chance(50)) world_.After(world_.Between(0, 10'000), again);
      }));
}

// --- workers ---

agent::WorkerHello Simulation::Hello(const std::string& worker) {
  return {worker, agents_, static_cast<int>(world_.Between(1, 3)), world_.Between(1, 8) * 1'000};
}

void Simulation::Poll(const std::string& worker, std::string request) {
  NodePtr node = AnyNode();
  if (!node) return world_.After(world_.Between(10, 500), [this, worker] { Poll(worker, ""); });
  if (request.empty() && world_.Chance(500)) request = std::to_string(++next_token_);
  agent::ClaimRequest claim{.worker = worker,
                            .request = request,
                            .agents = agents_,
                            .max = static_cast<int>(world_.Between(1, 3)),
                            .lease_millis = world_.Between(1, 8) * 1'000,
                            .wait_millis = world_.Between(0, 5'000)};
  int64_t lease = claim.lease_millis;
  node->runtime->Claim(claim, Call<std::vector<Work>>(node, [=, this](Result<std::vector<Work>> given) {
                         if (!given || given->empty()) {
                           std::string same = given || world_.Chance(300) ? "" : request;
                           return world_.After(world_.Between(0, 500), [=, this] { Poll(worker, same); });
                         }
                         auto left = std::make_shared<size_t>(given->size());
                         for (const Work& work : *given) {
                           auto turn = std::make_shared<Turn>(Turn{work, nullptr, worker, lease, {}, 0, {}});
                           turn->over = [=, this] {
                             if (--*left == 0)
                               world_.After(world_.Between(0, 100), [=, this] { Poll(worker, ""); });
                           };
                           Begin(turn);
                         }
                       }));
}

void Simulation::Begin(TurnPtr turn) {
  const Work& work = turn->work;
  world_.Note(turn->worker + " has " + work.session + " epoch " + std::to_string(work.epoch) + " events " +
              std::to_string(work.events.front().seq) + ".." + std::to_string(work.events.back().seq) +
              " after " + std::to_string(work.checkpoint_seq));
  if (work.events.front().seq != work.checkpoint_seq + 1)
    world_.Violated("P2", work.session + " was handed event " + std::to_string(work.events.front().seq) +
                              " after checkpoint " + std::to_string(work.checkpoint_seq));
  int64_t wait = world_.Between(0, 50);
  if (world_.faulty()) {
    if (world_.Chance(150)) wait = world_.Between(0, 3'000);
    if (world_.Chance(60)) wait = turn->lease_millis + world_.Between(0, 5'000);
    if (world_.Chance(200)) world_.After(world_.Between(0, wait), [this, turn] { Heartbeat(turn); });
  }
  world_.After(wait, [this, turn] { Finish(turn); });
}

void Simulation::Heartbeat(const TurnPtr& turn) {
  NodePtr node = turn->node && turn->node->live ? turn->node : AnyNode();
  if (!node) return;
  node->runtime->Heartbeat(
      {{turn->work.session, turn->work.epoch}},
      Call<agent::HeartbeatAnswer>(node, [this, turn](Result<agent::HeartbeatAnswer> answer) {
        if (answer && !answer->lost.empty()) CheckFenced(*turn, turn->work.events.front().seq);
      }));
}

void Simulation::Finish(const TurnPtr& turn) {
  if (world_.faulty()) {
    uint64_t chance = world_.Below(100);
    if (chance < 4) {
      world_.Note(turn->worker + " forgets " + turn->work.session);
      return turn->over();
    }
    if (chance < 14) return Release(turn, chance < 11 ? "it failed" : "");
  }
  const Work& work = turn->work;
  agent::CommitRequest& commit = turn->commit;
  commit = {};
  commit.session = work.session;
  commit.epoch = work.epoch;
  commit.upto = work.events[world_.Below(work.events.size())].seq;
  commit.token = "c" + std::to_string(++next_token_);
  int64_t count = agent::RowReader(work.state).Number("count") + commit.upto - work.checkpoint_seq;
  commit.state = Item{{"count", count}, {"from", work.checkpoint_seq}};
  commit.effects = Effects(*turn);
  commit.release = world_.Chance(500);
  history_.sessions[work.session].commits[commit.token] = {commit, work.checkpoint_seq, false, {}, {}};
  turn->tries = 0;
  SendCommit(turn);
}

std::vector<agent::EffectRequest> Simulation::Effects(const Turn& turn) {
  std::vector<agent::EffectRequest> effects;
  const std::string& token = turn.commit.token;
  for (int64_t i = world_.faulty() ? world_.Between(0, 4) : world_.Between(0, 1); i > 0; --i) {
    agent::EffectRequest effect;
    uint64_t kind = world_.faulty() ? world_.Below(10) : 0;
    std::string timer = "t" + std::to_string(world_.Below(3));
    if (kind < 5) {
      effect.type = "send_message";
      // Now and then two are equal.
      effect.payload = Item{{"content", token + "." + std::to_string(world_.Chance(100) ? 0 : i)}};
      effect.at_most_once = world_.Chance(200);
    } else if (kind < 9) {
      effect.type = "schedule_timer";
      constexpr int64_t kDelays[] = {0, 200, 3'000, 20'000};
      int64_t delay = world_.Between(0, kDelays[world_.Below(4)]);
      if (world_.Chance(50)) delay = kLongMillis;
      effect.payload = Item{{"timer_id", timer}, {"delay_ms", delay}};
      if (world_.Chance(200))
        effect.payload = Item{{"timer_id", timer}, {"fire_at", world_.now() + world_.Between(-3'000, 3'000)}};
      effect.keep = world_.Chance(250);
    } else {
      effect.type = "cancel_timer";
      effect.payload = Item{{"timer_id", timer}};
    }
    effects.push_back(std::move(effect));
  }
  return effects;
}

void Simulation::Release(const TurnPtr& turn, const std::string& error) {
  NodePtr node = turn->node && turn->node->live ? turn->node : AnyNode();
  if (!node) return turn->over();
  agent::ReleaseRequest request{turn->work.session, turn->work.epoch, error,
                                world_.Chance(300) ? world_.Between(0, 2'000) : 0};
  world_.Note(turn->worker + " releases " + turn->work.session + " " + error);
  node->runtime->Release(request, Call<Ok>(node, [turn](Result<Ok>) { turn->over(); }));
}

void Simulation::SendCommit(const TurnPtr& turn) {
  NodePtr node = turn->node && turn->node->live && !world_.Chance(50) ? turn->node : AnyNode();
  if (!node) return world_.After(world_.Between(10, 500), [this, turn] { SendCommit(turn); });
  const agent::CommitRequest& commit = turn->commit;
  world_.Note(turn->worker + " commits " + commit.session + " up to " + std::to_string(commit.upto) +
              " epoch " + std::to_string(commit.epoch) + " as " + commit.token + " to " + node->name);
  node->runtime->Commit(
      commit, Call<agent::Committed>(node, [this, turn](Result<agent::Committed> done) {
        const std::string& session = turn->commit.session;
        AskedCommit& asked = history_.sessions[session].commits[turn->commit.token];
        world_.Note(turn->commit.token + (done ? " is done" : " failed: " + TextOf(done.error())));
        if (!done) return CommitFailed(turn, done.error());
        if (asked.succeeded && asked.messages != done->messages)
          world_.Violated("P3", turn->commit.token + " was answered twice, and not the same");
        asked.succeeded = true;
        asked.messages = done->messages;
        if (world_.faulty() && world_.Chance(30)) {
          // It believes that the answer was lost.
          return world_.After(world_.Between(0, 5'000), [this, turn] { SendCommit(turn); });
        }
        if (!done->next) return turn->over();
        auto next = std::make_shared<Turn>(*turn);
        next->work = *done->next;
        next->tries = 0;
        Begin(next);
      }));
}

void Simulation::CommitFailed(const TurnPtr& turn, const Error& error) {
  AskedCommit& asked = history_.sessions[turn->commit.session].commits[turn->commit.token];
  std::string_view name = model::RefusalName(error);
  if (name == "Fenced") {
    if (!asked.succeeded) CheckFenced(*turn, turn->commit.upto);
    asked.refused = name;
    return turn->over();
  }
  if (name == "Rejected") {
    asked.refused = name;
    turn->commit.effects.clear();
    turn->commit.token = "c" + std::to_string(++next_token_);
    history_.sessions[turn->commit.session].commits[turn->commit.token] = {
        turn->commit, asked.from, false, {}, {}};
    return SendCommit(turn);
  }
  if (name != "" && name != "Unavailable" && name != "Throttled" && name != "Internal")
    return world_.Violated("P2", turn->commit.token + " was refused: " + error.ToString());
  if (++turn->tries > 20 && world_.faulty()) return turn->over();
  world_.After(world_.Between(0, 1'000), [this, turn] { SendCommit(turn); });
}

// Nobody is fenced who has the session: numbers of epochs and events only grow.
void Simulation::CheckFenced(const Turn& turn, int64_t upto) {
  agent::Head head = rows_.Head(turn.work.session);
  bool has =
      head.epoch == turn.work.epoch && head.done < upto && !head.owner.empty() && head.st != agent::kBlocked;
  if (has) world_.Violated("P3", turn.worker + " was fenced, and has " + turn.work.session);
}

// --- the operator ---

void Simulation::PutPolicy(const std::string& agent) {
  NodePtr node = AnyNode();
  if (!node) return world_.After(100, [this, agent] { PutPolicy(agent); });
  agent::Policy policy = history_.policy;
  auto any = [&] { return static_cast<agent::OnRefusal>(world_.Below(3)); };
  policy.on_cap = any();
  policy.on_cooldown = any();
  policy.on_superseded = any();
  policy.allow_equal = world_.Chance(200);
  policy.debounce_millis = world_.Chance(300) ? world_.Between(1, 500) : 0;
  policy.interrupt = static_cast<agent::Interrupt>(world_.Below(3));
  policy.skip_poison = !world_.faulty() || world_.Chance(500);
  ++orders_;
  node->runtime->PutPolicy(agent, policy, Call<agent::Policy>(node, [=, this](Result<agent::Policy> put) {
                             --orders_;
                             if (!put) PutPolicy(agent);
                           }));
}

void Simulation::Pause(const std::string& session, bool pause) {
  NodePtr node = AnyNode();
  if (!node) return world_.After(100, [=, this] { Pause(session, pause); });
  world_.Note("operator " + std::string(pause ? "pauses " : "resumes ") + session);
  ++orders_;
  auto done = Call<agent::SessionView>(node, [=, this](Result<agent::SessionView> changed) {
    --orders_;
    bool again = !changed && model::RefusalName(changed.error()) != "NotFound" &&
                 model::RefusalName(changed.error()) != "IllegalTransition";
    if (again && !(pause && !world_.faulty())) Pause(session, pause);
  });
  if (pause)
    node->runtime->Pause(session, done);
  else
    node->runtime->Resume(session, done);
}

void Simulation::Switch(bool on) {
  NodePtr node = AnyNode();
  if (!node) return world_.After(100, [=, this] { Switch(on); });
  world_.Note(std::string("operator switches autonomy ") + (on ? "on" : "off"));
  ++orders_;
  node->runtime->SetAutonomy(on, "op", Call<agent::Autonomy>(node, [=, this](Result<agent::Autonomy> set) {
                               --orders_;
                               if (!set && (on || world_.faulty())) Switch(on);
                             }));
}

void Simulation::Operate() {
  if (!world_.faulty()) return;
  const std::string& session = sessions_[world_.Below(sessions_.size())];
  uint64_t kind = world_.Below(12);
  if (kind < 3) PutPolicy(agents_[world_.Below(agents_.size())]);
  if (kind >= 3 && kind < 6) {
    Pause(session, true);
    world_.After(world_.Between(0, 6'000), [this, session] { Pause(session, false); });
  }
  if (kind >= 6 && kind < 8) {
    Switch(false);
    world_.After(world_.Between(0, 6'000), [this] { Switch(true); });
  }
  if (NodePtr node = AnyNode(); node && kind == 8) {
    std::string timer = world_.Chance(500) ? "" : "t" + std::to_string(world_.Below(3));
    history_.sessions[session].timers_dropped.insert(timer.empty() ? "*" : timer);
    node->runtime->CancelTimers(session, timer, Call<int64_t>(node, [](Result<int64_t>) {}));
  }
  if (NodePtr node = AnyNode(); node && kind == 9)
    node->runtime->Stop(session, Call<Ok>(node, [](Result<Ok>) {}));
  world_.After(world_.Between(200, 8'000), [this] { Operate(); });
}

// --- the whole ---

// What somebody still waits for in this session; empty when nothing.
std::string Simulation::LeftIn(const std::string& session) const {
  SessionRows rows = rows_.Session(session);
  const agent::Head& head = rows.head;
  if (head.done != head.tail)
    return "event " + std::to_string(head.done + 1) + ", state " + head.st + ", owner '" + head.owner + "'";
  for (const agent::TimerRow& timer : rows.timers) {
    if (timer.alive(head) && timer.fire_at < world_.now() + kLongMillis / 2)
      return "timer " + timer.timer_id + " " + timer.ver;
  }
  for (const std::shared_ptr<Device>& device : devices_) {
    if (device->session() == session && device->cursor() != head.n_tail)
      return device->Name() + " has " + std::to_string(device->cursor()) + " of " +
             std::to_string(head.n_tail);
  }
  return {};
}

std::string Simulation::Left() const {
  if (unsaid_ > 0) return std::to_string(unsaid_) + " messages are not acknowledged";
  if (orders_ > 0) return std::to_string(orders_) + " of the operator's orders";
  for (const std::string& session : sessions_) {
    if (std::string left = LeftIn(session); !left.empty()) return session + ": " + left;
  }
  return {};
}

void Simulation::Populate(int64_t length) {
  for (size_t slot = 0; slot < nodes_.size(); ++slot)
    world_.After(world_.Between(0, 100), [this, slot] { Start(slot); });
  for (const std::string& session : sessions_) {
    for (int64_t i = world_.Between(1, 8); i > 0; --i) {
      ++unsaid_;
      world_.After(world_.Between(0, length - 1),
                   [this, session, i] { Say(session, "m" + std::to_string(i)); });
    }
    for (int64_t i = world_.Between(1, 2); i > 0; --i) {
      devices_.push_back(std::make_shared<Device>(this, session, "d" + std::to_string(i)));
      world_.After(world_.Between(0, 10'000), [device = devices_.back()] { device->Live(); });
    }
  }
  const int64_t polling = world_.Between(0, 2), attached = world_.Between(polling == 0 ? 1 : 0, 2);
  for (int64_t i = 0; i < polling; ++i)
    world_.After(world_.Between(0, 1'000), [this, i] { Poll("poller" + std::to_string(i), ""); });
  for (int64_t i = 0; i < attached; ++i) {
    workers_.push_back(std::make_shared<AttachedWorker>(this, "worker" + std::to_string(i)));
    world_.After(world_.Between(0, 1'000), [worker = workers_.back()] { worker->Live(); });
  }
  world_.After(world_.Between(0, 10'000), [this] { Operate(); });
  world_.After(world_.Between(0, 10'000), [this] { Trouble(); });
}

// All that was held up goes on; true when nothing is left.
bool Simulation::Drain() {
  constexpr int64_t kLateMillis = 6'000;  // what dead nodes had under way has arrived by then
  constexpr int64_t kPatienceMillis = 300'000;
  world_.Note("the trouble is over");
  world_.EndFaults();
  for (size_t slot = 0; slot < nodes_.size(); ++slot) world_.After(0, [this, slot] { Start(slot); });
  const int64_t calm = world_.now() + kLateMillis;
  world_.RunUntil([&] { return (world_.now() >= calm && orders_ == 0) || world_.failed(); });
  for (const std::string& agent : agents_) PutPolicy(agent);
  Switch(true);
  for (const std::string& session : sessions_) Pause(session, false);
  const int64_t deadline = world_.now() + kPatienceMillis;
  int64_t look = world_.now();
  world_.RunUntil([&] {
    if (world_.failed() || world_.now() >= deadline) return true;
    if (world_.now() < look) return false;
    look = world_.now() + 500;
    return Left().empty();
  });
  drained_after_ = world_.now() - calm;
  return Left().empty();
}

void Simulation::Run() {
  world_.Note("nodes " + std::to_string(nodes_.size()) + " sessions " + std::to_string(sessions_.size()) +
              " faults " + std::to_string(shared_.fault_permille) + " slow " +
              std::to_string(shared_.slow_millis) + " cap " + std::to_string(history_.policy.cap) +
              " cooldown " + std::to_string(history_.policy.cooldown_millis));
  const int64_t length = world_.Between(10'000, 60'000), end = world_.now() + length;
  Populate(length);
  world_.RunUntil([&] { return world_.now() >= end || world_.failed(); });
  bool drained = Drain();
  if (world_.failed()) return;
  CheckPromises(rows_, history_, &world_);
  if (!drained) world_.Violated("stuck", Left());
}

}  // namespace holdfast::sim
