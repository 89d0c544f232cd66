#include "apps/system_agents.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>

#include "agent/row_writer.h"
#include "apps/each.h"
#include "apps/item_text.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "model/instant.h"
#include "model/model.h"
#include "model/refusal.h"

namespace holdfast::apps {
namespace {

using agent::Done;
using agent::RowReader;
using agent::Runtime;
using std::chrono::steady_clock;

constexpr std::string_view kHolds = "pm:holds:";
constexpr std::string_view kChoices = "trip:choices:";
constexpr std::string_view kTimer = "next";
constexpr int64_t kRetryMillis = 5'000;              // after what may pass
constexpr int64_t kLookMillis = 365LL * 86'400'000;  // a plan that is further away is looked at again
constexpr size_t kAppendedMax = 100'000;

Item MapIn(const Item& item, std::string_view name) {
  return RowReader(item).Map(name);
}

AttributeValue AsValue(const Item& item) {
  return AttributeValue::Map(item.ToMap());
}

}  // namespace

// Where the runtime leaves work, and what it was given.
class SystemAgents::Inbox final : public agent::WorkerSink {
 public:
  void OnWork(const agent::Work& work) override {
    base::MutexLock lock(&mu_);
    work_.push_back(work);
    changed_.NotifyAll();
  }
  void OnCancel(const agent::Cancel&) override {}  // what it does is done soon

  void Stop() {
    base::MutexLock lock(&mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  bool stopped() {
    base::MutexLock lock(&mu_);
    return stop_;
  }
  // The next one; nothing when there is none until then, or when it is stopped.
  std::optional<agent::Work> Take(steady_clock::time_point until) {
    base::MutexLock lock(&mu_);
    while (!stop_ && work_.empty() && changed_.WaitUntil(&mu_, until)) {
    }
    if (stop_ || work_.empty()) return std::nullopt;
    agent::Work next = std::move(work_.front());
    work_.pop_front();
    return next;
  }

  bool HasAppended(const std::string& event) {
    base::MutexLock lock(&mu_);
    return appended_.contains(event);
  }
  void NoteAppended(const std::string& event) {
    base::MutexLock lock(&mu_);
    if (appended_.size() >= kAppendedMax) appended_.clear();
    appended_.insert(event);
  }

 private:
  base::Mutex mu_;
  base::CondVar changed_;
  std::deque<agent::Work> work_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::set<std::string> appended_ HF_GUARDED_BY(mu_);  // events that the runtime has: saves asking it again
};

SystemAgents::SystemAgents(OpenAgents open, std::vector<Application*> applications,
                           SystemAgentsOptions options, const base::Log* log)
    : open_(std::move(open)), options_(std::move(options)), log_(log), inbox_(std::make_shared<Inbox>()) {
  hello_.worker = "system";
  hello_.credit = 4;
  hello_.system = true;
  for (Application* application : applications) {
    const std::string& model = application->model().name;
    if (model == "pm") {
      pm_ = application;
      hello_.agents.emplace_back("holds");
    } else if (model == "trip") {
      trip_ = application;
      hello_.agents.emplace_back("choices");
    }
  }
  if (!hello_.agents.empty()) thread_ = std::thread([this] { Run(); });
}

SystemAgents::~SystemAgents() {
  inbox_->Stop();
  if (thread_.joinable()) thread_.join();
  base::MutexLock lock(&mu_);
  if (runtime_ != nullptr) runtime_->Detach(connection_);
}

Result<Runtime*> SystemAgents::Attached() {
  base::MutexLock lock(&mu_);
  if (runtime_ == nullptr) {
    HF_TRY(runtime_, open_());
    connection_ = runtime_->Attach(hello_, inbox_);
  }
  return runtime_;
}

int64_t SystemAgents::Now() const {
  return options_.clock == nullptr ? base::SystemClock().NowMillis() : options_.clock->NowMillis();
}

void SystemAgents::Run() {
  steady_clock::time_point next_sweep = steady_clock::now();
  while (!inbox_->stopped()) {
    if (next_sweep <= steady_clock::now()) {
      base::RunContained(*log_, "sweep of the applications", [&] { Sweep(); });
      next_sweep = steady_clock::now() + std::chrono::milliseconds(options_.sweep_millis);
    }
    std::optional<agent::Work> work = inbox_->Take(next_sweep);
    if (!work) continue;
    base::RunContained(*log_, "work of the applications", [&] {
      if (auto runtime = Attached()) DoWork(*runtime, *work);
    });
  }
}

// --- what is to be done ---

void SystemAgents::Told(const model::Model& model, const std::vector<Emitted>& emitted) {
  for (const Emitted& one : emitted) {
    if (pm_ != nullptr && model.name == "pm" && one.name == "action_held") PlanRelease(one.body);
    if (trip_ == nullptr || model.name != "trip" || options_.choice_millis == 0) continue;
    if (one.name == "booking_waiting") PlanCancel(one.body);
    if (one.name == "booking_selected") {
      std::string booking = RowReader(one.body).Text("bookingId");
      Append(std::string(kChoices) + booking, "selected:" + booking, Item{{"id", booking}, {"over", true}});
    }
  }
}

void SystemAgents::PlanRelease(const Item& action) {
  RowReader row(action);
  std::string project = row.Text("projectId");
  std::string id = row.Text("id");
  std::optional<int64_t> due = model::ParseInstant(row.Text("heldUntil"));
  // A stored action that nothing could release. The command that looks for what is overdue warns of it.
  if (id.empty() || row.Text("createdAt").empty() || !due) return;
  AttributeMap key{{"createdAt", row.Text("createdAt")}, {"id", id}};
  Item input{{"actionKey", AttributeValue::Map(std::move(key))}};
  if (!project.empty()) input.Set("projectId", project);
  Append(std::string(kHolds) + (project.empty() ? "GLOBAL" : project), "held:" + id,
         Item{{"id", id}, {"due", *due}, {"input", AsValue(input)}});
}

void SystemAgents::PlanCancel(const Item& booking) {
  RowReader row(booking);
  std::string id = row.Text("bookingId");
  std::optional<int64_t> updated = model::ParseInstant(row.Text("updatedAt"));
  if (id.empty() || row.Text("employeeId").empty() || !updated) return;
  int64_t since = *updated;
  Item input{{"employeeId", row.Text("employeeId")}, {"bookingId", id}};
  Append(std::string(kChoices) + id, "waiting:" + id,
         Item{{"id", id}, {"due", since + options_.choice_millis}, {"input", AsValue(input)}});
}

void SystemAgents::Append(const std::string& session, const std::string& id, Item payload) {
  if (inbox_->HasAppended(id)) return;
  auto done = [inbox = inbox_, log = log_, session, id](const Result<agent::Appended>& appended) {
    if (appended) return inbox->NoteAppended(id);
    HF_LOG(*log, kWarning, "left to the next sweep", {"session", session}, {"event", id},
           {"error", appended.error().ToString()});
  };
  auto runtime = Attached();
  if (!runtime) return done(runtime.error());
  (*runtime)->Append({.session = session, .id = id, .type = "command", .payload = std::move(payload)}, done);
}

void SystemAgents::Sweep() {
  for (auto& [application, sweep] :
       {std::pair(pm_, &SystemAgents::SweepHolds), std::pair(trip_, &SystemAgents::SweepChoices)}) {
    if (application == nullptr) continue;
    Status swept = (this->*sweep)();
    // A model whose tables are not made yet has nothing to be done.
    if (!swept && model::RefusalName(swept.error()) != "Unavailable") {
      HF_LOG(*log_, kWarning, "a sweep failed", {"model", application->model().name},
             {"error", swept.error().ToString()});
    }
  }
}

Status SystemAgents::SweepHolds() {
  auto plan = [&](const Record& action) -> Status {
    PlanRelease(action.Fields());
    return Ok{};
  };
  HF_CHECK_OK(ForEach(pm_, "PM-A-19", Item(), plan));
  return ForEach(pm_, "PM-A-13", Item(), [&](const Record& project) -> Status {
    std::string id = TextOf(project.Fields(), "id");
    if (id.empty()) return Ok{};
    return ForEach(pm_, "PM-A-19", Item{{"projectId", id}}, plan);
  });
}

// No index tells who is waiting. Whoever has a connection is asked for; others when they are back.
Status SystemAgents::SweepChoices() {
  if (options_.choice_millis == 0) return Ok{};
  HF_CHECK_OK(Attached());  // those who are not connected have timers too
  std::set<std::string> employees;
  HF_CHECK_OK(ForEach(trip_, "TRIP-A-10", Item(), [&](const Record& connection) -> Status {
    std::string employee = TextOf(connection.Fields(), "employeeId");
    if (!employee.empty()) employees.insert(std::move(employee));
    return Ok{};
  }));
  for (const std::string& employee : employees) {
    HF_CHECK_OK(
        ForEach(trip_, "TRIP-A-12", Item{{"employeeId", employee}}, [&](const Record& record) -> Status {
          Item booking = record.Fields();
          if (TextOf(booking, "status") == "options_presented") PlanCancel(booking);
          return Ok{};
        }));
  }
  return Ok{};
}

// --- doing it ---

void SystemAgents::DoWork(Runtime* runtime, const agent::Work& work) {
  AttributeMap plans = MapIn(work.state, "plans").ToMap();
  for (const agent::Event& event : work.events) {
    RowReader payload(event.payload);
    std::string id = payload.Text("id");
    if (event.type != "command") continue;  // the timer, which only wakes
    if (payload.Flag("over"))
      plans.erase(id);
    else
      plans[id] = AsValue(Item{{"due", payload.Number("due")}, {"input", AsValue(payload.Map("input"))}});
  }
  int64_t now = Now();
  std::optional<int64_t> next;
  for (auto at = plans.begin(); at != plans.end();) {
    Item plan(at->second.AsMap());
    std::optional<int64_t> due = RowReader(plan).Number("due");
    if (*due <= now) due = Do(work.session, MapIn(plan, "input"), now);
    if (!due) {
      at = plans.erase(at);
      continue;
    }
    plan.Set("due", *due);
    at->second = AsValue(plan);
    next = std::min(next.value_or(*due), *due);
    ++at;
  }
  // A plan may name any time; a timer cannot be set for every one. It is looked at again then.
  if (next) next = std::clamp(*next, now, now + kLookMillis);
  agent::CommitRequest commit{.session = work.session, .epoch = work.epoch, .upto = work.events.back().seq};
  commit.token = "system." + std::to_string(work.epoch) + "." + std::to_string(commit.upto);
  commit.state = Item{{"plans", AttributeValue::Map(std::move(plans))}};
  commit.release = true;
  if (next)
    commit.effects.push_back({"schedule_timer", Item{{"timer_id", kTimer}, {"fire_at", *next}}, false, true});
  auto committed = Runtime::Await<agent::Committed>(
      [&](Done<agent::Committed> done) { runtime->Commit(commit, std::move(done)); });
  // Whatever was done is done; the events come again and find it so.
  if (!committed) {
    HF_LOG(*log_, kWarning, "a turn was not committed", {"session", work.session},
           {"error", committed.error().ToString()});
  }
}

std::optional<int64_t> SystemAgents::Do(const std::string& session, const Item& input, int64_t now) {
  bool hold = session.starts_with(kHolds);
  Application* application = hold ? pm_ : trip_;
  auto done = application->Run(Caller::Administrator(), hold ? "action.release" : "booking.cancel", input);
  if (done) {
    if (options_.emit) options_.emit(application->model(), done->emitted);
    return std::nullopt;
  }
  std::string_view name = model::RefusalName(done.error());
  // Done or cancelled by somebody else, or chosen meanwhile. What a paused project holds back is released
  // when it goes on, by the chore that looks for what is overdue.
  if (name == "AlreadyExecuted" || name == "IllegalTransition" || name == "NotFound") return std::nullopt;
  if (name == "RuleViolation") {
    const AttributeMap& details = done.error().detail()->refusal.details;
    auto held = details.find("heldUntil");
    if (held == details.end()) return std::nullopt;
    return std::max(model::ParseInstant(held->second.AsText()).value_or(0), now + 1);
  }
  if (IsOfTheItem(done.error())) {
    HF_LOG(*log_, kWarning, "a planned command is dropped: it can never be carried out", {"session", session},
           {"error", done.error().ToString()});
    return std::nullopt;
  }
  HF_LOG(*log_, kWarning, "tried again soon", {"session", session}, {"error", done.error().ToString()});
  return now + kRetryMillis;
}

}  // namespace holdfast::apps
