// Trip Cortex.

#include <algorithm>
#include <set>

#include "apps/apps.h"
#include "apps/item_text.h"
#include "base/mutex.h"
#include "model/instant.h"
#include "model/refusal.h"

namespace holdfast::apps {
namespace {

using model::Refuse;
using Type = AttributeValue::Type;

AttributeMap MapOf(const Item& item, std::string_view name) {
  auto value = item.Get(name);
  return value && value->type() == Type::kMap ? value->AsMap() : AttributeMap();
}

std::vector<AttributeValue> ListOf(const Item& item, std::string_view name) {
  auto value = item.Get(name);
  return value && value->type() == Type::kList ? value->AsList() : std::vector<AttributeValue>();
}

const AttributeValue* FindIn(const AttributeMap& map, const std::string& name) {
  auto at = map.find(name);
  return at == map.end() || at->second.is_null() ? nullptr : &at->second;
}

AttributeMap Inner(const AttributeMap& map, const std::string& name) {
  const AttributeValue* value = FindIn(map, name);
  return value != nullptr && value->type() == Type::kMap ? value->AsMap() : AttributeMap();
}

// --- bookings ---

// TRIP-C-07: what stands against booking a plan that has the right form.
Result<Item> PlanProblems(const CommandContext& context) {
  std::vector<AttributeValue> problems;
  auto booking = context.reads.find("booking");
  AttributeMap plan = booking == context.reads.end() ? AttributeMap() : MapOf(booking->second, "bookingPlan");
  AttributeMap parameters = Inner(plan, "parameters");
  auto text = [&](const std::string& name) {
    const AttributeValue* value = FindIn(parameters, name);
    return value != nullptr && value->type() == Type::kString ? value->AsText() : std::string();
  };
  if (plan.empty()) return Item{{"problems", AttributeValue::List({AttributeValue("there is no plan")})}};
  if (text("origin") == text("destination")) problems.emplace_back("origin and destination are the same");
  auto departure = model::ParseDate(text("departure_date"));
  int64_t today = context.now_millis - context.now_millis % model::kDayMillis;
  if (departure && *departure < today) problems.emplace_back("the departure is in the past");
  auto back = model::ParseDate(text("return_date"));
  if (departure && back && *back < *departure) problems.emplace_back("the return is before the departure");
  const AttributeValue* confidence = FindIn(plan, "confidence");
  constexpr double kConfidenceMin = 0.5;
  if (confidence != nullptr && confidence->AsDouble() < kConfidenceMin)
    problems.emplace_back("the request was not understood well enough");
  return Item{{"problems", AttributeValue::List(std::move(problems))}};
}

// TRIP-C-08: the first three options that comply, those of preferred vendors before the others.
Result<Item> PickOptions(const CommandContext& context) {
  constexpr size_t kPresented = 3;
  auto booking = context.reads.find("booking");
  AttributeMap plan = booking == context.reads.end() ? AttributeMap() : MapOf(booking->second, "bookingPlan");
  AttributeMap constraints = Inner(plan, "policy_constraints");
  const AttributeValue* budget = FindIn(constraints, "max_budget_usd");
  std::set<std::string> preferred;
  if (const AttributeValue* vendors = FindIn(constraints, "preferred_vendors"))
    for (const AttributeValue& vendor : vendors->AsList()) preferred.insert(vendor.AsText());

  std::vector<AttributeValue> fitting;
  for (const AttributeValue& option : ListOf(context.input, "options")) {
    const AttributeMap& fields = option.AsMap();
    const AttributeValue* compliant = FindIn(fields, "compliant");
    const AttributeValue* price = FindIn(fields, "priceUsd");
    bool affordable = budget == nullptr || (price != nullptr && price->AsDouble() <= budget->AsDouble());
    if (affordable && (compliant == nullptr || compliant->AsBool())) fitting.push_back(option);
  }
  std::stable_partition(fitting.begin(), fitting.end(), [&](const AttributeValue& option) {
    const AttributeValue* carrier = FindIn(option.AsMap(), "carrier");
    return carrier != nullptr && preferred.count(carrier->AsText()) > 0;
  });
  if (fitting.size() > kPresented) fitting.resize(kPresented);
  bool none = fitting.empty();
  return Item{{"options", AttributeValue::List(std::move(fitting))}, {"none", none}};
}

// TRIP-C-09: the options go to the employee's connection, and the workflow waits.
Result<CommandAnswer> Present(const PostToConnection& post, const CommandContext& context) {
  if (!post) return Refuse("NotConfigured", "only a server has connections to present options to");
  Item key{{"employeeId", TextOf(context.input, "employeeId")},
           {"bookingId", TextOf(context.input, "bookingId")}};
  // Waiting is written first: whoever answers at once is awaited already.
  HF_TRY(CommandAnswer answer, context.application.Run(Caller::Administrator(), "booking.await",
                                                       context.input, context.Step("await")));
  HF_TRY(Record booking, context.application.Get(Caller::Administrator(), "Booking", key));
  Item fields = booking.Fields();
  std::string connection = TextOf(fields, "connectionId");
  Emitted message{"booking_options", connection,
                  Item{{"bookingId", TextOf(fields, "bookingId")},
                       {"options", AttributeValue::List(ListOf(fields, "flightOptions"))}}};
  bool told = !connection.empty() && post(connection, message);
  if (!told && !connection.empty()) {
    // The booking stays as it is: the next connection of the employee is told.
    auto forgotten =
        context.application.Run(Caller::Administrator(), "ws.disconnect", Item{{"connectionId", connection}});
    if (!forgotten) return forgotten.error();
  }
  answer.result.Set("delivered", told);
  return answer;
}

// TRIP-C-03: asks every connection whether it is there, and forgets those that are gone.
Result<CommandAnswer> Heartbeat(const PostToConnection& post, const CommandContext& context) {
  if (!post) return Refuse("NotConfigured", "only a server has connections to ask");
  int64_t scanned = 0;
  int64_t removed = 0;
  CommandAnswer answer;
  PageRequest page;
  page.limit = 1000;
  do {
    HF_TRY(Answer found, context.application.Ask(Caller::Administrator(), "TRIP-A-10", {}, page));
    for (const Record& record : found.records) {
      Item fields = record.Fields();
      std::string id = TextOf(fields, "connectionId");
      ++scanned;
      if (!id.empty() && post(id, {"heartbeat", id, {}})) continue;
      Item input{{"connectionId", id}, {"connectedAt", TextOf(fields, "connectedAt")}};
      auto gone = context.application.Run(Caller::Administrator(), "ws.gone", input);
      if (!gone && !IsOfTheItem(gone.error())) return gone.error();
      if (!gone) answer.warnings.push_back(PassedOver(record, gone.error().message()));
      removed += gone && gone->changed ? 1 : 0;
    }
    page.cursor = found.cursor;
  } while (!page.cursor.empty());
  answer.changed = removed > 0;
  answer.result = Item{{"scanned", scanned}, {"alive", scanned - removed}, {"removed", removed}};
  return answer;
}

// --- policies ---

// Deletes the chunks of a policy: those of one generation, or all.
Result<int64_t> DeleteChunks(Application* application, const std::string& policy_id,
                             std::optional<int64_t> only) {
  int64_t deleted = 0;
  PageRequest page;
  page.limit = 200;
  do {
    HF_TRY(Answer answer,
           application->List(Caller::Administrator(), "PolicyChunk", Item{{"policy_id", policy_id}}, page));
    for (const Record& record : answer.records) {
      Item fields = record.Fields();
      auto generation = fields.Get("generation");
      if (only && (!generation || generation->AsInt64() != only)) continue;
      if (TextOf(fields, "id").empty()) continue;  // no chunk of ours
      Item key{{"policy_id", policy_id}, {"id", TextOf(fields, "id")}};
      Status gone = application->Delete(Caller::Administrator(), "PolicyChunk", key);
      if (!gone && model::RefusalName(gone.error()) != "NotFound") return gone.error();
      ++deleted;
    }
    page.cursor = answer.cursor;
  } while (!page.cursor.empty());
  return deleted;
}

// Does what `PolicyCleanup` items ask for whose time has come. Each is removed when its work is done, so that
// a crash only means doing the rest again.
Result<CommandAnswer> Cleanup(const CommandContext& context) {
  int64_t deleted = 0;
  std::vector<Record> due;
  PageRequest page;
  do {
    HF_TRY(Answer answer, context.application.List(Caller::Administrator(), "PolicyCleanup", {}, page));
    for (Record& record : answer.records) due.push_back(std::move(record));
    page.cursor = answer.cursor;
  } while (!page.cursor.empty());
  CommandAnswer answer;
  for (const Record& record : due) {
    Item fields = record.Fields();
    std::string policy = TextOf(fields, "policy_id"), cleanup = TextOf(fields, "cleanupId");
    auto at = model::ParseInstant(TextOf(fields, "due_at"));
    // Absent: all generations. Anything else that is no number must not come to mean that.
    auto only = fields.Get("generation");
    bool sound = !policy.empty() && !cleanup.empty() && at && (!only || only->AsInt64());
    if (!sound) {
      answer.warnings.push_back(PassedOver(
          record, "policy_id, cleanupId and due_at should be texts, and generation a number or absent"));
      continue;
    }
    if (*at > context.now_millis) continue;
    auto gone = DeleteChunks(&context.application, policy, only ? only->AsInt64() : std::optional<int64_t>());
    if (!gone && IsOfTheItem(gone.error())) {
      answer.warnings.push_back(PassedOver(record, gone.error().message()));
      continue;
    }
    if (!gone) return gone.error();
    deleted += *gone;
    Status done = context.application.Delete(Caller::Administrator(), "PolicyCleanup",
                                             Item{{"policy_id", policy}, {"cleanupId", cleanup}});
    if (!done && model::RefusalName(done.error()) != "NotFound") return done.error();
  }
  answer.changed = deleted > 0;
  answer.result = Item{{"deleted", deleted}};
  return answer;
}

// A chunk that is not what it should be, told by its place in the list.
Error BadChunk(const Error& error, size_t first) {
  std::string_view name = model::RefusalName(error);
  if (name != "ValidationError" && name != "SchemaInvalid" && name != "RuleViolation") return error;
  AttributeMap details = error.detail()->refusal.details;
  auto index = details.find("index");
  size_t at = first + (index == details.end() ? 0 : static_cast<size_t>(index->second.AsInt64().value_or(0)));
  details["index"] = at;
  return Refuse("SchemaInvalid", "chunks[" + std::to_string(at) + "]: " + error.message(),
                std::move(details));
}

// Lets one ingestion of a policy run at a time in this process; the others wait. Where several programs share
// the store, the condition of `policy.activate` refuses all but one of them.
class OnePerPolicy {
 public:
  explicit OnePerPolicy(std::string policy) : policy_(std::move(policy)) {
    base::MutexLock lock(&mu);
    while (!running.insert(policy_).second) changed.Wait(&mu);
  }
  ~OnePerPolicy() {
    base::MutexLock lock(&mu);
    running.erase(policy_);
    changed.NotifyAll();
  }
  OnePerPolicy(const OnePerPolicy&) = delete;
  OnePerPolicy& operator=(const OnePerPolicy&) = delete;

 private:
  static inline base::Mutex mu;
  static inline base::CondVar changed;
  static inline std::set<std::string> running HF_GUARDED_BY(mu);
  const std::string policy_;
};

// TRIP-C-22: the chunks are written as the next generation, which no search names yet; then one conditional
// write makes it the one that is searched.
class Ingestion {
 public:
  explicit Ingestion(const CommandContext& context)
      : context_(context), application_(context.application), id_(TextOf(context.input, "id")) {}

  Result<CommandAnswer> Run() {
    // Two ingestions of one policy would write into one generation.
    OnePerPolicy turn(id_);
    HF_TRY(Record policy, application_.Get(Caller::Administrator(), "Policy", Item{{"id", id_}}));
    Item fields = policy.Fields();
    // A number that no other set of chunks ever had.
    for (const char* name : {"last_generation", "active_generation"}) {
      auto had = fields.Get(name);
      if (had) generation_ = std::max(generation_, had->AsInt64().value_or(0));
    }
    ++generation_;
    Item step = context_.input;
    step.Remove("chunks");
    step.Set("generation", generation_);
    // What would be refused at the end is refused now.
    HF_TRY(CommandAnswer may, application_.Run(Caller::Administrator(), "policy.mayIngest", step));
    // What an ingestion that broke off has left.
    if (auto left = DeleteChunks(&application_, id_, generation_); !left) return left.error();
    if (Status written = WriteChunks(); !written) {
      if (auto gone = DeleteChunks(&application_, id_, generation_); !gone) return gone.error();
      return written.error();
    }
    step.Set("total_chunks", ListOf(context_.input, "chunks").size());
    return application_.Run(Caller::Administrator(), "policy.activate", step);
  }

 private:
  Status WriteChunks() {
    constexpr size_t kAtOnce = 25;
    std::vector<AttributeValue> chunks = ListOf(context_.input, "chunks");
    for (size_t begin = 0; begin < chunks.size(); begin += kAtOnce) {
      std::vector<Entry> entries;
      for (size_t i = begin; i < std::min(chunks.size(), begin + kAtOnce); ++i) {
        Entry entry;
        entry.entity = "PolicyChunk";
        AttributeMap fields = chunks[i].AsMap();
        for (const char* managed : {"policy_id", "generation"}) {
          if (fields.count(managed) > 0)
            return Refuse("SchemaInvalid",
                          "chunks[" + std::to_string(i) + "]: " + managed + " is set by the policy");
        }
        fields["policy_id"] = id_;
        fields["generation"] = generation_;
        entry.fields = Item(fields);
        entries.push_back(std::move(entry));
      }
      auto written = application_.Transact(Caller::Administrator(), entries);
      if (!written) return BadChunk(written.error(), begin);
    }
    return Ok{};
  }

  const CommandContext& context_;
  Application& application_;
  const std::string id_;
  int64_t generation_ = 0;
};

// TRIP-C-26: TRIP-A-01 as a command.
Result<CommandAnswer> Search(const CommandContext& context) {
  Item parameters = context.input;
  if (auto most = parameters.Get("topK")) parameters.Set("top_k", *most);
  parameters.Remove("topK");
  HF_TRY(Answer found, context.application.Ask(context.caller, "TRIP-A-01", parameters, {}));
  std::vector<AttributeValue> chunks;
  for (size_t i = 0; i < found.records.size(); ++i) {
    AttributeMap chunk = found.records[i].Fields().ToMap();
    chunk["similarity"] = AttributeValue::Number(found.similarities[i]);
    chunks.push_back(AttributeValue::Map(std::move(chunk)));
  }
  CommandAnswer answer;
  answer.result = Item{{"count", chunks.size()}, {"chunks", AttributeValue::List(std::move(chunks))}};
  return answer;
}

}  // namespace

void AddTripCommands(PostToConnection post, CommandLibrary* library) {
  library->functions["trip.plan_problems"] = PlanProblems;
  library->functions["trip.pick_options"] = PickOptions;
  library->handlers["trip.ws.heartbeat"] = [post](const CommandContext& context) {
    return Heartbeat(post, context);
  };
  library->handlers["trip.booking.present"] = [post](const CommandContext& context) {
    return Present(post, context);
  };
  library->handlers["trip.policy.ingest"] = [](const CommandContext& context) {
    return Ingestion(context).Run();
  };
  library->handlers["trip.policy.cleanup"] = Cleanup;
  library->handlers["trip.policy.search"] = Search;
}

}  // namespace holdfast::apps
