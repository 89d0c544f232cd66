// Nodes, the people and programs that use them, and what goes wrong, in a world of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/runtime.h"
#include "history.h"
#include "promises.h"
#include "sim_store.h"
#include "world.h"

namespace holdfast::sim {

class Simulation;

// One program with a runtime, from a start to its end. Actors hold on to it, to see that it is gone.
struct Node {
  Node(World* world, SharedStore* shared, const std::string& node_name, int64_t skew)
      : name(node_name), loop(world, skew), store(world, shared, node_name) {}

  const std::string name;
  SimLoop loop;
  SimStore store;
  std::unique_ptr<agent::Runtime> runtime;
  bool live = false;    // may be called
  bool silent = false;  // nothing that it says is heard any more
  int64_t calls = 0;    // whose completions have not come
};
using NodePtr = std::shared_ptr<Node>;

// One turn in a worker's hands.
struct Turn {
  agent::Work work;
  NodePtr node;  // the worker is attached there; null: it asks anybody
  std::string worker;
  int64_t lease_millis = 0;
  agent::CommitRequest commit;
  int tries = 0;
  std::function<void()> over;  // tells the worker, once
};
using TurnPtr = std::shared_ptr<Turn>;

class Device;
class AttachedWorker;

class Simulation {
 public:
  Simulation(uint64_t seed, Store* engine, Breach breach = Breach::kNone);
  ~Simulation();

  // All of it, checks included.
  void Run();
  World& world() { return world_; }
  History& history() { return history_; }
  // How long it took until nothing was left to do.
  int64_t drained_after() const { return drained_after_; }

  // A node that is up; null when none is.
  NodePtr AnyNode();
  // What happens in `done` happens later, and may be that the connection was lost.
  template <class T>
  agent::Done<T> Call(const NodePtr& node, agent::Done<T> done);

  // A worker's turn begins.
  void Begin(TurnPtr turn);
  agent::WorkerHello Hello(const std::string& worker);

 private:
  void Start(size_t slot);
  void Stop(size_t slot, bool killed);
  void Trouble();

  void Say(const std::string& session, const std::string& id);
  void Poll(const std::string& worker, std::string request);
  void Heartbeat(const TurnPtr& turn);
  void Finish(const TurnPtr& turn);
  void Release(const TurnPtr& turn, const std::string& error);
  void SendCommit(const TurnPtr& turn);
  void CommitFailed(const TurnPtr& turn, const Error& error);
  void CheckFenced(const Turn& turn, int64_t upto);
  std::vector<agent::EffectRequest> Effects(const Turn& turn);
  void Operate();
  void PutPolicy(const std::string& agent);
  void Pause(const std::string& session, bool pause);
  void Switch(bool on);
  std::string LeftIn(const std::string& session) const;
  std::string Left() const;
  void MakeTable();
  void Populate(int64_t length);
  bool Drain();

  World world_;
  SharedStore shared_;
  const Rows rows_;
  History history_;
  std::vector<std::string> agents_;
  std::vector<std::string> sessions_;
  std::vector<NodePtr> nodes_;  // null: down
  std::vector<bool> busy_;      // being started or stopped
  int64_t skew_left_ = 30'000;  // by which clocks may yet be set back
  int unsaid_ = 0;              // messages that are not acknowledged
  int orders_ = 0;              // of the operator's, not acknowledged
  uint64_t next_token_ = 0;
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<std::shared_ptr<AttachedWorker>> workers_;
  int64_t drained_after_ = 0;
  bool over_ = false;
};

template <class T>
agent::Done<T> Simulation::Call(const NodePtr& node, agent::Done<T> done) {
  ++node->calls;
  auto called = std::make_shared<bool>(false);
  return [this, node, called, done = std::move(done)](Result<T> result) {
    if (std::exchange(*called, true)) world_.Violated("runtime", "a completion was called twice");
    --node->calls;
    bool lost = node->silent || (world_.faulty() && world_.Chance(10));
    if (lost) result = Error(ErrorCode::kIo, "the connection was lost");
    world_.After(world_.Between(0, 1), [done, result] { done(result); });
  };
}

}  // namespace holdfast::sim
