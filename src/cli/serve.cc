#include "cli/serve.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "apps/apps.h"
#include "apps/chores.h"
#include "apps/system_agents.h"
#include "auth/issuer.h"
#include "base/adjustable_clock.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/demo.h"
#include "cli/memory_keeper.h"
#include "cli/policy.h"
#include "cli/serve_agents.h"
#include "cli/version.h"
#include "engine/engine.h"
#include "holdfast/master_keys.h"
#include "model/generate/openapi.h"
#include "model/generate/reference_page.h"
#include "model/guard.h"
#include "model/idempotency.h"
#include "store/access.h"
#include "store/acting_for.h"
#include "store/embedded_store.h"
#include "store/guarded_store.h"
#include "wire/agents.h"
#include "wire/dev_tools.h"
#include "wire/dynamodb_protocol.h"
#include "wire/front.h"
#include "wire/http_server.h"
#include "wire/server_alarms.h"
#include "wire/sockets.h"
#include "wire/web_assets.h"
#include "wire/worker_pool.h"

namespace holdfast::cli {
namespace {

// Applications wait for the disk, each on a thread of its own.
constexpr int kRestThreads = 64;

base::LogLevel LevelNamed(const std::string& name) {
  if (name == "debug") return base::LogLevel::kDebug;
  if (name == "warning") return base::LogLevel::kWarning;
  if (name == "error") return base::LogLevel::kError;
  if (name == "none") return base::LogLevel::kNone;
  return base::LogLevel::kInfo;
}

int Fail(const Error& error) {
  std::fprintf(stderr, "holdfast: %s\n", error.message().c_str());
  return error.code() == ErrorCode::kValidation ? 2 : 1;
}

std::string Address(const ServeConfig& config, int port) {
  std::string scheme = config.http.tls_certificate.empty() ? "http" : "https";
  std::string host = config.http.address.find(':') == std::string::npos ? config.http.address
                                                                        : "[" + config.http.address + "]";
  return scheme + "://" + host + ":" + std::to_string(port);
}

std::string Greeting(const ServeConfig& config, const std::string& store, int port) {
  std::string where = config.store.directory.empty() ? "in memory, gone when the server stops"
                                                     : "data in " + config.store.directory;
  if (config.store_kind == "dynamodb") where = "on " + store;
  return "holdfast " + std::string(kVersion) + " listening on " + Address(config, port) + " (" + where + ")";
}

// The page, signed in; empty when nothing is there to sign with.
std::string LinkText(const ServeConfig& config, const std::string& address) {
  constexpr int64_t kSeconds = 12 * 3600;
  const PageLink& link = *config.link;
  std::string key = IssuerKeyPath(config.tokens.issuer_key, config.store.directory);
  auto issuer = auth::Issuer::Load(key);
  if (key.empty() || !issuer) return {};
  int64_t now = base::SystemClock().NowSeconds();
  auto token = issuer->MakeToken({link.subject, link.role, {}, now, now + kSeconds});
  if (!token) return {};
  std::string who = link.role == "admin" ? "an administrator" : link.subject;
  std::string place = link.place == "/" ? "" : "&to=" + link.place;
  return "the page, as " + who + " for 12 hours: " + address + "/#token=" + *token + place + "\n";
}

// Where the tables are: with an engine of our own, or elsewhere.
struct Data {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<Store> store;
  // The same for applications, which act for callers that policies may hold.
  std::unique_ptr<Store> guarded;
};

// As the models say, for tables elsewhere.
store::TableKeys KeysOf(const std::vector<ModelPtr>& models) {
  return [models](const std::string& name, std::string_view index) {
    store::KeyNames keys;
    for (const ModelPtr& model : models) {
      const model::Table* table = model->TableNamed(name);
      if (table == nullptr) continue;
      const model::Index* found = index.empty() ? nullptr : table->FindIndex(index);
      if (index.empty()) {
        keys = {{table->key[0].name}};
        if (table->key.size() > 1) keys.sort.push_back(table->key[1].name);
      }
      if (found == nullptr) continue;
      for (const model::KeyAttribute& attribute : found->hash) keys.partition.push_back(attribute.name);
      for (const model::KeyAttribute& attribute : found->range) keys.sort.push_back(attribute.name);
      break;
    }
    return keys;
  };
}

// `clock`: null for the system's; so below.
Result<Data> OpenData(const ServeConfig& config, const std::vector<ModelPtr>& models,
                      const base::Clock* clock, const base::Log& log) {
  Data data;
  auto guard = [&](store::TableKeys keys) {
    data.guarded =
        store::GuardedStore(data.store.get(), std::move(keys), std::string(model::kIdempotencyTable));
  };
  if (config.store_kind == "dynamodb") {
    RemoteOptions remote;
    remote.endpoint = config.endpoint;
    remote.region = config.store.region;
    HF_TRY(data.store, OpenRemoteStore(remote));
    guard(KeysOf(models));
    return data;
  }
  engine::EngineOptions options;
  options.options = config.store;
  options.options.cache_bytes = config.memory.CacheFor({});
  options.table_bytes = config.file_bytes;
  options.write_buffer_bytes = config.file_bytes != 0 ? config.file_bytes : config.memory.write_buffer_bytes;
  options.clock = clock;
  options.log = &log;
  options.load_behind = true;  // /ready says what is missing
  for (const ModelPtr& model : models) HF_CHECK_OK(model::AddGuards(model, &log, &options.guards));
  HF_TRY(data.engine, engine::Engine::Open(options));
  if (config.compact_at_start) HF_CHECK_OK(data.engine->Compact());
  data.store = store::EmbeddedStore(data.engine.get());
  guard(store::KeysOf(data.engine.get()));
  return data;
}

// What the server's parts know of each other, and in which order they end.
struct Surface {
  std::unique_ptr<wire::Expiry> expiry;
  std::unique_ptr<wire::WorkerPool> pool;
  Applications applications;
  std::unique_ptr<wire::Sockets> sockets;
  std::unique_ptr<apps::SystemAgents> system_agents;
  std::unique_ptr<apps::Chores> chores;

  std::vector<Application*> all() const {
    std::vector<Application*> pointers;
    for (const auto& application : applications) pointers.push_back(application.get());
    return pointers;
  }
  // What commands told after their commits.
  void Tell(const model::Model& model, const std::vector<Emitted>& emitted) const {
    sockets->Emit(model, emitted);
    if (system_agents) system_agents->Told(model, emitted);
  }
};

Result<Surface> OpenSurface(const ServeConfig& config, const Data& data, const std::vector<ModelPtr>& models,
                            apps::OpenAgents agents, const base::Clock* clock, const base::Log& log) {
  Surface surface;
  surface.pool = std::make_unique<wire::WorkerPool>(kRestThreads, /*queue_max=*/10'000);
  surface.expiry = std::make_unique<wire::Expiry>();
  surface.sockets = std::make_unique<wire::Sockets>(models, data.store.get(), surface.pool.get(),
                                                    surface.expiry.get(), &log);
  ApplicationOptions options;
  // In a directory the same every time, so that cursors outlive the process.
  if (config.store_kind == "embedded" && !config.store.directory.empty()) {
    HF_TRY(options.cursor_key, CursorKeyIn(config.store.directory));
  }
  if (!config.store.key_file.empty()) {
    HF_TRY(MasterKeys keys, MasterKeys::Load(config.store.key_file));
    options.master_keys = std::make_shared<const MasterKeys>(std::move(keys));
  }
  options.embedder = config.models.embedder;
  if (clock != nullptr) options.now_millis = [clock] { return clock->NowMillis(); };
  options.commands = apps::ShippedCommands(
      [sockets = surface.sockets.get()](const std::string& connection, const Emitted& message) {
        return sockets->Send(connection, message);
      },
      std::move(agents));
  HF_TRY(surface.applications, OpenApplications(data.guarded.get(), models, options));
  return surface;
}

// What everybody may read: the page, and what describes the rest.
std::map<std::string, wire::Document, std::less<>> Documents(const std::vector<ModelPtr>& models) {
  std::map<std::string, wire::Document, std::less<>> documents;
  std::string policy = "Content-Security-Policy: " + std::string(wire::kPagePolicy) + "\r\n";
  for (const wire::EmbeddedFile& file : wire::WebAssets()) {
    documents[std::string(file.path)] = {file.content_type, std::string(file.bytes), policy,
                                         std::string(file.etag)};
  }
  std::vector<const model::Model*> served;
  for (const ModelPtr& model : models) served.push_back(model.get());
  documents["/openapi.json"] = {"application/json",
                                model::generate::OpenApiOf(served, std::string(kVersion))};
  documents["/docs"] = {"text/html; charset=utf-8",
                        model::generate::ReferencePage(served, std::string(kVersion)), policy};
  documents["/docs.css"] = {"text/css; charset=utf-8", std::string(model::generate::ReferenceStyle())};
  return documents;
}

// What requests to REST meet besides applications; null: it is not there.
struct RestParts {
  auth::TokenVerifier* tokens = nullptr;           // never null
  const auth::Permissions* permissions = nullptr;  // never null
  wire::Agents* agents = nullptr;
  wire::Alarms* alarms = nullptr;
  engine::Engine* engine = nullptr;
};

// What concerns the whole store needs of every table what `Request` needs of one; where there are none, or
// they are elsewhere (a null `engine`), of table/*.
template <class Request>
Status CheckAllTables(engine::Engine* engine) {
  const auth::Principal* held = store::ActingFor::Current();
  if (held == nullptr) return Ok{};
  std::vector<std::string> names;
  if (engine != nullptr) {
    for (const engine::TablePtr& table : engine->catalog().All()) names.push_back(table->schema()->name);
  }
  if (names.empty()) names.emplace_back("*");
  store::TableKeys keys = store::KeysOf(engine);
  for (const std::string& name : names) {
    Request request;
    request.table_name = name;
    if (store::CheckAccess({.principal = *held, .keys = keys}, request)) continue;
    // Whoever is refused learns of no table that is there.
    return Error(ErrorCode::kAccessDenied,
                 "User: " + held->info().arn + " is not authorized: this takes what concerns every table");
  }
  return Ok{};
}

wire::RestOptions RestOptionsOf(const ServeConfig& config, const std::vector<ModelPtr>& models,
                                const Surface& surface, const RestParts& parts) {
  wire::RestOptions options;
  if (engine::Engine* engine = parts.engine; engine != nullptr) {
    options.back_up = [engine](const std::string& directory) -> Result<uint64_t> {
      HF_CHECK_OK(CheckAllTables<CreateBackupRequest>(engine));
      return engine->BackUp(directory);
    };
  }
  options.check_alarms = [engine = parts.engine] { return CheckAllTables<DescribeTableRequest>(engine); };
  options.principal_of = [permissions = parts.permissions](const auth::Identity& bearer) {
    return permissions->Of(bearer);
  };
  options.agents = parts.agents;
  options.alarms = parts.alarms;
  options.expiry = surface.expiry.get();
  options.applications = surface.all();
  options.authenticate = [tokens = parts.tokens](std::string_view token) {
    return tokens->Verify(token, base::SystemClock().NowSeconds());
  };
  wire::Sockets* sockets = surface.sockets.get();
  options.post = [sockets](std::string_view connection, std::string_view text) {
    return sockets->Post(connection, text);
  };
  options.emit = [&surface](const model::Model& model, const Caller&, const std::vector<Emitted>& emitted) {
    surface.Tell(model, emitted);
  };
  options.open = [sockets, permissions = parts.permissions](Application* application, const Caller& caller,
                                                            const auth::Identity& identity) {
    auth::PrincipalPtr principal = permissions->Of(identity);
    const model::Model& model = application->model();
    auto may_read = [application, caller, principal, &model](std::string_view entity) {
      return application->MayRead(caller, entity).has_value() &&
             (!principal || store::CheckFeed(*principal, model.FindEntity(entity)->table->name));
    };
    // An event may tell of any of the model's tables.
    auto may_hear = [principal, &model] {
      return !principal || std::all_of(model.tables.begin(), model.tables.end(), [&](const auto& table) {
        return store::CheckFeed(*principal, table->name).has_value();
      });
    };
    return sockets->Open(application, caller, identity.expires_at, may_read, may_hear);
  };
  options.documents = Documents(models);
  // As for DynamoDB's requests: those that are signed may use any name.
  options.hosts =
      wire::HostRule(config.protocol.credentials ? std::vector<std::string>{"*"} : config.protocol.hosts);
  options.body_bytes_max = config.http.body_bytes_max;
  return options;
}

// What flags imply of one another.
Result<ServeConfig> Settled(ServeConfig config) {
  if (config.models.demo) {
    config.link = {"demo", "admin"};
    config.agents.echo_millis = kEchoMillis;
  }
  HF_CHECK_OK(CheckServeConfig(config));
  if (config.auth == "sigv4") {
    HF_TRY(config.protocol.credentials, auth::Credentials::Load(config.credentials_file));
  }
  // On loopback nobody is misled by it, and clients have all sorts of regions set.
  if (!IsLoopbackAddress(config.http.address)) config.protocol.region = config.store.region;
  if (config.insecure) config.protocol.hosts.emplace_back("*");
  config.protocol.cors = config.protocol.cors || config.dev;
  config.protocol.body_bytes_max = config.http.body_bytes_max;
  HF_TRY(config.memory,
         engine::PlanMemory(config.memory_bytes.value_or(engine::DefaultMemory(base::MachineMemoryBytes()))));
  config.http.memory_bytes_max = config.memory.requests_bytes;
  return config;
}

// A server, as parts of which each needs those before it. Start() makes them; Stop() takes them apart, those
// first that ask the others.
class Server {
 public:
  // `log` must outlive it.
  Server(ServeConfig config, const base::Log& log)
      : config_(std::move(config)), log_(log), clock_(config_.dev ? &dev_clock_ : nullptr) {}

  Status Start() {
    HF_CHECK_OK(OpenStore());
    HF_CHECK_OK(OpenApplications());
    StartAgents();
    HF_CHECK_OK(AnswerDynamoDb());
    return Listen();
  }

  // Tells people where it is.
  void Announce() const {
    int port = server_->port();
    std::printf("%s\n", Greeting(config_, data_.store->name(), port).c_str());
    if (config_.link) std::printf("%s", LinkText(config_, Address(config_, port)).c_str());
    std::fflush(stdout);
  }

  void Stop(int signal) {
    HF_LOG(log_, kInfo, "stopping", {"signal", signal}, {"connections", server_->connections()});
    protocol_->SetReady(false);
    agents_->Drain();
    server_->Drain(config_.drain_seconds * 1000);
    // Writes that still wait for a compaction have had their time to drain.
    if (engine() != nullptr) engine()->kv().PrepareToClose();
    surface_.chores.reset();
    surface_.sockets->LeavePool();
    server_->Stop();
    alarms_->Stop();
    surface_.pool->Stop();  // whatever still ran has given its answer back
    pool_.reset();
    surface_.system_agents.reset();
    agents_->Leave();
    runtime_->Stop();  // likewise
    if (engine() != nullptr) {
      if (Status durable = engine()->committer().WaitDurable(); !durable)
        HF_LOG(log_, kError, "the last writes are not durable", {"error", durable.error().ToString()});
    }
    server_.reset();
    surface_ = {};
    dev_.reset();  // lets go of its snapshots
    data_.guarded.reset();
    data_.store.reset();
    memory_.reset();
    data_.engine.reset();
    HF_LOG(log_, kInfo, "stopped");
  }

 private:
  engine::Engine* engine() const { return data_.engine.get(); }

  Status OpenStore() {
    HF_TRY(permissions_, LoadPermissions(config_, log_));
    HF_TRY(models_, LoadServedModels(config_.models, log_));
    HF_TRY(data_, OpenData(config_, models_, clock_, log_));
    memory_ =
        std::make_unique<MemoryKeeper>(config_.memory, engine() != nullptr ? &engine()->kv() : nullptr, log_);
    return Ok{};
  }

  Status OpenApplications() {
    HF_TRY(runtime_options_, RuntimeOptionsOf(config_.agents, /*shared=*/config_.store_kind == "dynamodb"));
    runtime_options_.clock = clock_;
    runtime_ = std::make_unique<AgentRuntime>(data_.store.get(), runtime_options_, config_.agents.echo_millis,
                                              &log_);
    apps::OpenAgents open_for_callers;
    if (config_.agents.on) {
      // The runtime's store is not guarded: a command that turns to it needs what its own routes need.
      open_for_callers = [this]() -> Result<agent::Runtime*> {
        if (const auth::Principal* held = store::ActingFor::Current())
          HF_CHECK_OK(store::CheckUse(*held, runtime_options_.table, store::Use::kWrite));
        return runtime_->Get();
      };
    }
    HF_TRY(surface_, OpenSurface(config_, data_, models_, open_for_callers, clock_, log_));
    HF_CHECK_OK(PrepareTables(surface_.applications, config_.models.apply || config_.models.demo, log_));
    if (config_.models.demo) HF_CHECK_OK(LoadDemo(data_.store.get(), models_));
    HF_TRY(tokens_, OpenTokens(config_.tokens, config_.store.directory, config_.link.has_value(), log_));
    return Ok{};
  }

  void StartAgents() {
    auto open = [this] { return runtime_->Get(); };
    if (config_.agents.on) {
      runtime_->Resume();
      apps::SystemAgentsOptions system;
      system.clock = clock_;
      system.choice_millis = config_.trip_choice_minutes * 60'000;
      system.emit = [sockets = surface_.sockets.get()](const model::Model& model,
                                                       const std::vector<Emitted>& emitted) {
        sockets->Emit(model, emitted);
      };
      surface_.system_agents =
          std::make_unique<apps::SystemAgents>(open, surface_.all(), std::move(system), &log_);
    }
    agents_ = std::make_unique<wire::Agents>(wire::AgentsOptions{open, runtime_options_.system_users},
                                             surface_.expiry.get(), &log_);
  }

  Status AnswerDynamoDb() {
    if (engine() == nullptr) config_.protocol.fronts = data_.store->name();
    config_.protocol.permissions = permissions_.get();
    config_.protocol.loading = [this] {
      std::vector<std::string> loading = runtime_->Loading();
      if (engine() != nullptr) {
        for (std::string& name : engine()->Loading()) loading.push_back(std::move(name));
      }
      return loading;
    };
    config_.protocol.more_metrics = [this] {
      return memory_->Metrics() + permissions_->Metrics() +
             (config_.agents.on ? runtime_->Metrics() : std::string()) + alarms_->MetricsText() +
             (listening_.load() ? listening_.load()->Metrics() : std::string());
    };
    pool_ = std::make_unique<wire::WorkerPool>(config_.worker_threads, /*queue_max=*/10'000);
    protocol_ = std::make_unique<wire::DynamoDbProtocol>(engine(), pool_.get(), &log_, config_.protocol);
    HF_TRY(wire::AlarmSettings settings,
           AlarmSettingsOf(config_.alarms, {.tables = engine() != nullptr,
                                            .archive = !config_.store.archive_directory.empty()}));
    alarms_ =
        std::make_unique<wire::ServerAlarms>(std::move(settings), engine(), &protocol_->metrics(), &log_);
    return Ok{};
  }

  Status Listen() {
    RestParts parts{.tokens = tokens_.get(),
                    .permissions = permissions_.get(),
                    .agents = config_.agents.on ? agents_.get() : nullptr,
                    .alarms = &alarms_->alarms(),
                    .engine = engine()};
    rest_ = std::make_unique<wire::Rest>(RestOptionsOf(config_, models_, surface_, parts),
                                         surface_.pool.get(), &protocol_->metrics(), &log_);
    if (config_.dev) dev_ = std::make_unique<wire::DevTools>(engine(), clock_, pool_.get(), &log_);
    front_ = std::make_unique<wire::Front>(protocol_.get(), rest_.get(), dev_.get());
    HF_TRY(server_, wire::HttpServer::Start(config_.http, front_.get(), &log_));
    listening_ = server_.get();
    alarms_->Start();
    auto tell = [this](const model::Model& model, const std::vector<Emitted>& emitted) {
      surface_.Tell(model, emitted);
    };
    surface_.chores = std::make_unique<apps::Chores>(surface_.all(), tell, &log_);
    return Ok{};
  }

  ServeConfig config_;
  const base::Log& log_;
  base::AdjustableClock dev_clock_;
  base::AdjustableClock* const clock_;  // null: the system's
  std::unique_ptr<auth::Permissions> permissions_;
  std::vector<ModelPtr> models_;
  Data data_;
  std::unique_ptr<MemoryKeeper> memory_;
  agent::RuntimeOptions runtime_options_;
  std::unique_ptr<AgentRuntime> runtime_;
  Surface surface_;
  std::unique_ptr<auth::TokenVerifier> tokens_;  // what proves who sends requests to REST and WebSocket
  std::unique_ptr<wire::Agents> agents_;
  std::unique_ptr<wire::ServerAlarms> alarms_;
  std::unique_ptr<wire::WorkerPool> pool_;
  std::unique_ptr<wire::DynamoDbProtocol> protocol_;
  std::unique_ptr<wire::Rest> rest_;
  std::unique_ptr<wire::DevTools> dev_;
  std::unique_ptr<wire::Front> front_;
  std::unique_ptr<wire::HttpServer> server_;
  std::atomic<wire::HttpServer*> listening_{nullptr};  // the same, for requests that come before it is set
};

}  // namespace

int Serve(const ServeConfig& given) {
  Result<ServeConfig> config = Settled(given);
  if (!config) return Fail(config.error());
  // Every thread inherits the mask, so that the signals wait for sigwait below.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  base::Log log(LevelNamed(config->log_level));
  base::RaiseDescriptorLimit();
  Server server(*std::move(config), log);
  if (Status started = server.Start(); !started) return Fail(started.error());
  server.Announce();
  int signal = 0;
  sigwait(&stop_signals, &signal);
  server.Stop(signal);
  return 0;
}

}  // namespace holdfast::cli
