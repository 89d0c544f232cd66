// The way from one node to the database: requests are late, lost, or carried out while their answer is lost.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "holdfast/ops/common.h"
#include "holdfast/store.h"
#include "world.h"

namespace holdfast::sim {

// What a database must not do: the checker has to find out.
enum class Breach : uint8_t {
  kNone,
  kNoConditions,  // transactions are carried out whatever their conditions say
  kTorn,          // a transaction is carried out in part
  kForgets,       // a write is acknowledged and not carried out
};

// What all nodes share.
struct SharedStore {
  Store* engine = nullptr;
  std::string table;
  Breach breach = Breach::kNone;
  uint64_t fault_permille = 5;       // of requests that go wrong
  int64_t slow_millis = 0;           // the longest that a request takes as a rule
  std::set<std::string> partitions;  // that were ever written
};

class SimStore final : public Store {
 public:
  SimStore(World* world, SharedStore* database, std::string name)
      : world_(world), database_(database), name_(std::move(name)) {}

#define HF_OPERATION(op) void Execute(const op##Request& request, Completion<op##Response> done) override;
  HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION

  Result<std::unique_ptr<TableWatch>> Watch(const std::string&, const std::optional<std::string>&) override {
    return Error(ErrorCode::kNotSupported, "a simulated store has no changes to follow");
  }
  StoreAbilities abilities() const override {
    return {};
  }
  std::string name() const override {
    return name_;
  }

  // The node dies: what is under way is carried out, now or later, or is not; nobody hears of it.
  void Die();

 private:
  struct Flight {
    virtual ~Flight() = default;
    virtual void Apply() = 0;
    virtual void Answer(std::optional<Error> lost) = 0;
    bool write = false, applied = false;
  };
  template <class Request>
  struct FlightOf;

  template <class Request>
  void Begin(const Request& request, Completion<ResponseToT<Request>> done);
  void Depart(std::shared_ptr<Flight> flight, bool single_write);

  World* const world_;
  SharedStore* const database_;
  const std::string name_;
  bool dead_ = false;
  uint64_t next_ = 0;
  using Flights = std::map<uint64_t, std::shared_ptr<Flight>>;
  std::shared_ptr<Flights> flights_ = std::make_shared<Flights>();  // tasks outlive their node
};

}  // namespace holdfast::sim
