#include "sim_store.h"

#include <type_traits>
#include <vector>

#include "agent/row_writer.h"

namespace holdfast::sim {
namespace {

using agent::RowReader;

Error Lost() {
  return Error(ErrorCode::kInternal, "the answer was lost");
}

std::string NameOf(const Item& key) {
  return RowReader(key).Text("pk") + " " + RowReader(key).Text("sk");
}

// The rows that a request writes: their keys are among these.
std::vector<const Item*> RowsOf(const PutItemRequest& request) {
  return {&request.item};
}
std::vector<const Item*> RowsOf(const UpdateItemRequest& request) {
  return {&request.key};
}
std::vector<const Item*> RowsOf(const DeleteItemRequest& request) {
  return {&request.key};
}
std::vector<const Item*> RowsOf(const TransactWriteItemsRequest& request) {
  std::vector<const Item*> rows;
  for (const TransactWriteItem& action : request.transact_items) {
    if (action.put) rows.push_back(&action.put->item);
    if (action.update) rows.push_back(&action.update->key);
  }
  return rows;
}
template <class Request>
std::vector<const Item*> RowsOf(const Request&) {
  return {};
}

template <class Request>
constexpr bool kIsSingleWrite =
    std::is_same_v<Request, PutItemRequest> || std::is_same_v<Request, UpdateItemRequest> ||
    std::is_same_v<Request, DeleteItemRequest>;
template <class Request>
constexpr bool kIsWrite = kIsSingleWrite<Request> || std::is_same_v<Request, TransactWriteItemsRequest>;
template <class Request>
constexpr bool kIsOfTables =
    std::is_same_v<Request, CreateTableRequest> || std::is_same_v<Request, DescribeTableRequest>;

void Ignore(std::optional<std::string>* condition) {
  if (*condition) *condition = "(" + **condition + ") OR attribute_exists(pk) OR attribute_not_exists(pk)";
}

// A transaction as a broken database understands it.
void Break(Breach breach, World* world, TransactWriteItemsRequest* request) {
  if (breach == Breach::kNoConditions) {
    for (TransactWriteItem& action : request->transact_items) {
      if (action.put) Ignore(&action.put->condition_expression);
      if (action.update) Ignore(&action.update->condition_expression);
    }
  }
  if (breach == Breach::kTorn && request->transact_items.size() > 2 && world->Chance(20))
    request->transact_items.pop_back();
}
template <class Request>
void Break(Breach, World*, Request*) {}

}  // namespace

template <class Request>
struct SimStore::FlightOf final : Flight {
  using Response = ResponseToT<Request>;
  FlightOf(SimStore* store, Request what, Completion<Response> then)
      : world(store->world_),
        database(store->database_),
        name(store->name_),
        request(std::move(what)),
        done(std::move(then)) {
    write = kIsWrite<Request>;
  }

  void Apply() override {
    applied = true;
    for (const Item* row : RowsOf(request)) database->partitions.insert(RowReader(*row).Text("pk"));
    Request wanted = request;
    Break(database->breach, world, &wanted);
    bool forgotten = write && database->breach == Breach::kForgets && world->Chance(20);
    answer = forgotten ? Result<Response>(Response()) : database->engine->Run(wanted);
    if (!write) return;
    std::string what = name + " wrote";
    for (const Item* row : RowsOf(request)) {
      what += " " + NameOf(*row);
      if (*answer) world->Wrote(NameOf(*row));
    }
    world->Note(what + (*answer ? "" : " NOT " + std::string(ErrorName(answer->error().code()))));
  }

  void Answer(std::optional<Error> lost) override {
    if (lost && write)
      world->Note(name + " heard nothing of " +
                  NameOf(RowsOf(request).empty() ? Item() : *RowsOf(request).front()));
    done(lost ? Result<Response>(*lost) : *std::move(answer));
  }

  World* const world;
  SharedStore* const database;
  const std::string name;
  const Request request;
  Completion<Response> done;
  std::optional<Result<Response>> answer;
};

template <class Request>
void SimStore::Begin(const Request& request, Completion<ResponseToT<Request>> done) {
  if (dead_) return done(Lost());
  if constexpr (kIsOfTables<Request>) return done(database_->engine->Run(request));
  if constexpr (std::is_same_v<Request, QueryRequest>) {
    // Most of what is read are partitions of the indexes that nobody ever wrote.
    std::string pk = RowReader(*request.expression_attribute_values).Text(":pk");
    if (database_->partitions.count(pk) == 0 && !world_->Chance(world_->faulty() ? 2 : 0)) {
      QueryResponse empty;
      empty.items.emplace();
      return done(std::move(empty));
    }
  }
  Depart(std::make_shared<FlightOf<Request>>(this, request, std::move(done)), kIsSingleWrite<Request>);
}

#define HF_OPERATION(op)                                                              \
  void SimStore::Execute(const op##Request& request, Completion<op##Response> done) { \
    Begin(request, std::move(done));                                                  \
  }
HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION

void SimStore::Depart(std::shared_ptr<Flight> flight, bool single_write) {
  const bool goes_wrong = world_->faulty() && world_->Chance(database_->fault_permille);
  // Reads that fail say less: fewer of them do.
  const uint64_t fate = !goes_wrong ? 99 : flight->write ? world_->Below(5) : world_->Below(20);
  uint64_t id = ++next_;
  flights_->emplace(id, flight);
  auto delay = [world = world_, slow = database_->slow_millis] {
    if (!world->faulty()) return world->Between(0, 1);
    if (world->Chance(2)) return world->Between(100, 3'000);
    return world->Between(0, slow);
  };
  auto land = [flights = flights_, id](std::optional<Error> lost) {
    auto found = flights->find(id);
    if (found == flights->end()) return;
    std::shared_ptr<Flight> landed = std::move(found->second);
    flights->erase(found);
    landed->Answer(std::move(lost));
  };
  world_->After(delay(), [world = world_, flights = flights_, flight, fate, single_write, delay, land, id] {
    if (flights->count(id) == 0) return;  // the node died
    std::optional<Error> lost;
    switch (fate) {
      case 0: lost = Lost(); break;  // before it arrived
      case 1: lost = Error(ErrorCode::kThrottling, "slow down"); break;
      case 2:
        flight->Apply();
        if (single_write) flight->Apply();  // the sender's own second try
        if (!single_write) lost = Lost();
        break;
      case 3:
      case 4:
        flight->Apply();
        lost = Lost();
        break;
      default: flight->Apply();
    }
    int64_t wait = delay();
    if (wait == 0) return land(std::move(lost));
    world->After(wait, [land, lost] { land(lost); });
  });
}

void SimStore::Die() {
  dead_ = true;
  for (auto& [id, flight] : std::exchange(*flights_, {})) {
    if (flight->write && !flight->applied) {
      if (uint64_t chance = world_->Below(3); chance == 0)
        flight->Apply();
      else if (chance == 1)
        world_->After(world_->Between(1, 4'000), [flight = flight] { flight->Apply(); });
    }
    flight->Answer(Lost());
  }
}

}  // namespace holdfast::sim
