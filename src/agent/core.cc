#include "agent/core.h"

#include <algorithm>
#include <utility>

#include "agent/webhook_caller.h"
#include "model/refusal.h"
#include "store/retry.h"

namespace holdfast::agent {

CreateTableRequest TableRequest(const std::string& name) {
  CreateTableRequest request;
  request.table_name = name;
  request.attribute_definitions = std::vector<AttributeDefinition>{{"pk", ScalarAttributeType::kString},
                                                                   {"sk", ScalarAttributeType::kString}};
  request.key_schema = std::vector<KeySchemaElement>{{"pk", KeyType::kHash}, {"sk", KeyType::kRange}};
  request.billing_mode = BillingMode::kPayPerRequest;
  return request;
}

namespace {

// Waits until the table can be used; it is made when it is not there.
Status EnsureTable(Store* store, const std::string& name) {
  constexpr int kLooksMax = 600;
  for (int look = 0; look < kLooksMax; ++look) {
    DescribeTableRequest describe;
    describe.table_name = name;
    auto described = store->Run(describe);
    if (described && described->table.table_status == TableStatus::kActive) return Ok{};
    if (!described && described.error().code() != ErrorCode::kResourceNotFound) return described.error();
    if (!described) {
      auto created = store->Run(TableRequest(name));
      if (!created && created.error().code() != ErrorCode::kResourceInUse) return created.error();
      if (created && created->table_description.table_status == TableStatus::kActive) return Ok{};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return Error(ErrorCode::kResourceInUse, "the table " + name + " does not become active");
}

}  // namespace

std::optional<size_t> FailedAction(const Error& error) {
  if (error.code() != ErrorCode::kTransactionCanceled || error.detail() == nullptr) return std::nullopt;
  const std::vector<CancellationReason>& reasons = error.detail()->reasons;
  for (size_t i = 0; i < reasons.size(); ++i) {
    if (reasons[i].code == "ConditionalCheckFailed") return i;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Runtime>> Runtime::Open(Store* store, RuntimeOptions options, const base::Log* log) {
  HF_CHECK_OK(EnsureTable(store, options.table));
  auto core = std::make_unique<Core>(store, std::move(options), log);
  HF_CHECK_OK(core->Start());
  return std::unique_ptr<Runtime>(std::move(core));
}

Core::Core(Store* store, RuntimeOptions options, const base::Log* log)
    : store_(store),
      options_(std::move(options)),
      table_(options_.table),
      log_(log),
      random_(options_.seed != 0 ? base::Random(options_.seed).Next() : base::Random().Next()),
      node_(random_.Uuid()),
      caller_(std::make_unique<WebhookCaller>(options_.webhook_hosts, options_.webhook_secret)),
      own_loop_(options_.loop == nullptr ? std::make_unique<ThreadLoop>(store, options_.clock) : nullptr),
      loop_(options_.loop == nullptr ? own_loop_.get() : options_.loop),
      alive_(std::make_shared<bool>(true)),
      started_at_(loop_->NowMillis()),
      kept_(std::make_shared<KeptBytes>(options_.kept_bytes_max)),
      make_room_at_(options_.sessions_max) {}

// What waits is told that it waits in vain; what is under way in the store is waited for.
Core::~Core() {
  loop_->Post([this] {
    stopping_ = true;
    for (const auto& [id, sleeper] : std::exchange(sleepers_, {}))
      loop_->Post([sleeper = sleeper] { sleeper.resume(); });
    for (const std::shared_ptr<Waiter>& waiter : std::exchange(waiters_, {})) {
      waiter->woken = true;
      loop_->Post([waiter] { waiter->handle.resume(); });
    }
  });
  caller_->Stop();
  loop_->RunUntil([this] { return live_ == 0; });
  alive_.reset();
  own_loop_.reset();
}

Status Core::Start() {
  base::Mutex mu;
  base::CondVar changed;
  std::optional<Status> started;
  auto done = [&](Status status) {
    base::MutexLock lock(&mu);
    started.emplace(std::move(status));
    changed.NotifyAll();
  };
  loop_->Post([&] { Tell(ReadConfig(), Done<Ok>(done)); });
  if (own_loop_ == nullptr) {
    loop_->RunUntil([&] { return started.has_value(); });
  } else {
    base::MutexLock lock(&mu);
    while (!started) changed.Wait(&mu);
  }
  HF_CHECK_OK(*std::move(started));
  constexpr int64_t kConfigMillis = 1'000, kPollMillis = 250, kIndexMillis = 30'000, kTidyMillis = 5'000;
  loop_->Post([this] {
    due_bucket_ = BucketOf(Now());
    Spawn(LoadFirst());
    Spawn(ScanWebhooks());
    Every(kConfigMillis, [this] { return ReadConfig(); });
    Every(kIndexMillis, [this] { return FollowIndex(); });
    Every(options_.shared ? kPollMillis : kIndexMillis, [this] { return PollReady(); });
    Every(kIndexMillis, [this] { return ScanWebhooks(); });
    if (options_.shared) Every(kPollMillis, [this] { return PollDevices(); });
    Every(kTidyMillis, [this]() -> Task<Status> {
      DropUnused();
      CloseSilent();
      co_return Ok{};
    });
    Every(options_.retain_every_millis, [this] { return Retain(); });
  });
  return Ok{};
}

Detached Core::Spawn(Task<Status> task) {
  Live live(&live_);
  Status done = co_await task;
  if (done || stopping_) co_return;
  if (IsMalformed(done.error()))
    NoteMalformed(done.error());
  else if (log_ != nullptr)
    HF_LOG(*log_, kWarning, "the agent runtime could not do something and will try again",
           {"error", done.error().ToString()});
}

void Core::NoteMalformed(const Error& error) {
  constexpr size_t kLoggedMax = 1'000;
  if (malformed_.contains(error.message())) return;
  counters_.malformed_rows.fetch_add(1, std::memory_order_relaxed);
  if (malformed_.size() >= kLoggedMax) malformed_.clear();
  malformed_.insert(error.message());
  if (log_ != nullptr)
    HF_LOG(*log_, kWarning, "the agent runtime passes over a malformed row", {"why", error.message()});
}

void Core::Wake(uint64_t sleeper) {
  auto found = sleepers_.find(sleeper);
  if (found == sleepers_.end()) return;
  std::coroutine_handle<> handle = found->second;
  sleepers_.erase(found);
  handle.resume();
}

void Core::At(int64_t millis, std::function<void()> task) {
  loop_->At(millis, [alive = std::weak_ptr<bool>(alive_), task = std::move(task)] {
    if (alive.lock()) task();
  });
}

void Core::Every(int64_t millis, std::function<Task<Status>()> start) {
  Repeat(millis, std::move(start));
}

void Core::AtFor(const SessionPtr& session, int64_t millis, void (Core::*task)(const SessionPtr&)) {
  At(millis, [this, key = session->key, task] {
    if (Result<SessionPtr> found = Find(key)) (this->*task)(*found);
  });
}

Detached Core::Repeat(int64_t millis, std::function<Task<Status>()> start) {
  Live live(&live_);
  for (;;) {
    co_await Sleep(millis);
    if (stopping_) break;
    Task<Status> task = start();
    Status done = co_await task;
    if (!done && !stopping_ && log_ != nullptr)
      HF_LOG(*log_, kWarning, "the agent runtime could not look after its table",
             {"error", done.error().ToString()});
  }
}

Error Core::Stopping() {
  return model::Refuse("Unavailable", "the server is stopping");
}
Error Core::Contended() {
  return model::Refuse("Unavailable", "the session is being changed by many at once: try again");
}
Error Core::GaveUp(const Error& last) {
  Error refused = model::FromStore(last);
  return model::RefusalName(refused) == "Throttled" ? refused : Contended();
}
Error Core::Fenced(const std::string& session) {
  return model::Refuse("Fenced", "the session " + session + " is no longer this worker's");
}
Error Core::Unknown(const Error& error) {
  return model::FromStore(error);
}

Core::Async<std::optional<Item>> Core::Get(std::string pk, std::string sk) {
  GetItemRequest request;
  request.table_name = table_;
  request.key = RowKey(pk, sk);
  request.consistent_read = true;
  Result<GetItemResponse> got = co_await Do(std::move(request));
  if (!got) co_return std::move(got).error();
  co_return std::move(got->item);
}

Core::Async<std::vector<Item>> Core::Rows(std::string pk, std::string prefix, std::string after,
                                          int64_t limit) {
  std::vector<Item> rows;
  QueryRequest request;
  request.table_name = table_;
  request.consistent_read = true;
  RowWriter values;
  values.Text(":pk", pk);
  if (after.empty() && prefix.empty()) {
    request.key_condition_expression = "pk = :pk";
  } else if (after.empty()) {
    request.key_condition_expression = "pk = :pk AND begins_with(sk, :prefix)";
    values.Text(":prefix", prefix);
  } else {
    // The next key after `after`, and the last that could begin so.
    request.key_condition_expression = "pk = :pk AND sk BETWEEN :from AND :to";
    after.push_back('\0');
    prefix.append("~");
    values.Text(":from", after).Text(":to", prefix);
  }
  request.expression_attribute_values = ExpressionValues(values.Take());
  for (;;) {
    if (limit > 0) request.limit = limit - static_cast<int64_t>(rows.size());
    QueryRequest page = request;
    Result<QueryResponse> got = co_await Do(std::move(page));
    if (!got) co_return std::move(got).error();
    if (got->items) {
      for (Item& item : *got->items) rows.push_back(std::move(item));
    }
    if (!got->last_evaluated_key || (limit > 0 && static_cast<int64_t>(rows.size()) >= limit)) co_return rows;
    request.exclusive_start_key = std::move(got->last_evaluated_key);
  }
}

Task<Status> Core::Write(TransactWriteItemsRequest request) {
  Result<TransactWriteItemsResponse> written = co_await Do(std::move(request));
  if (!written) co_return std::move(written).error();
  co_return Ok{};
}

Task<Status> Core::Change(RowChange change) {
  UpdateItemRequest request;
  change.Fill(table_, &request);
  Result<UpdateItemResponse> changed = co_await Do(std::move(request));
  if (!changed) co_return std::move(changed).error();
  co_return Ok{};
}

Result<SessionPtr> Core::Find(const std::string& key) {
  auto found = sessions_.find(key);
  if (found == sessions_.end()) {
    HF_CHECK_OK(ParseSessionKey(key).transform([](const SessionKey&) { return Ok{}; }));
    MakeRoom();
    auto session = std::make_shared<Session>(
        key, [this](std::coroutine_handle<> next) { loop_->Post([next] { next.resume(); }); }, kept_);
    found = sessions_.emplace(key, std::move(session)).first;
    shown_sessions_ = sessions_.size();
  }
  found->second->used_at = Now();
  return found->second;
}

Task<Status> Core::Load(SessionPtr session) {
  if (session->known) co_return Ok{};
  Result<std::optional<Item>> row = co_await Get(SessionPartition(session->key), std::string(kHeadKey));
  if (!row) co_return Unknown(row.error());
  // Somebody wrote meanwhile, and knows better.
  if (session->known) co_return Ok{};
  Forget(session.get());
  if (*row) HF_CO_CHECK_OK(CheckHead(**row));
  session->head = *row ? ReadHead(**row) : Head();
  session->known = true;
  NoteOwner(*session);
  // Others, or a commit whose answer was lost, may have sent something.
  PumpSession(*session);
  CheckTurn(session.get());
  co_return Ok{};
}

Task<Status> Core::LoadAgain(SessionPtr session) {
  Forget(session.get());
  Status loaded = co_await Load(session);
  co_return loaded;
}

void Core::Forget(Session* session) {
  session->known = false;
  session->events.clear();
  session->checkpoint.reset();
  session->messages.clear();
}

bool Core::IsSystem(std::string_view session) const {
  const std::vector<std::string>& users = options_.system_users;
  return std::find(users.begin(), users.end(), UserOf(session)) != users.end();
}

Policy Core::PolicyOf(std::string_view session) const {
  auto found = policies_.find(AgentOf(session));
  return found == policies_.end() ? Policy() : found->second;
}

Status Core::CheckOpen(const Session& session) const {
  if (!session.head.gone()) return Ok{};
  return model::Refuse("Gone", "the session " + session.key + " was deleted");
}

std::string Core::Metrics() const {
  return Render(counters_, {.sessions = shown_sessions_,
                            .kept_bytes = kept_->now,
                            .devices = shown_devices_,
                            .workers = shown_workers_,
                            .timers = shown_timers_});
}

}  // namespace holdfast::agent
