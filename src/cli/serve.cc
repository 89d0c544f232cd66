#include "cli/serve.h"

#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "cli/demo.h"
#include "cli/version.h"
#include "engine/engine.h"
#include "model/guard.h"
#include "store/embedded_store.h"
#include "wire/dynamodb_protocol.h"
#include "wire/http_server.h"
#include "wire/worker_pool.h"

namespace holdfast::cli {
namespace {

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

std::string Greeting(const ServeConfig& config, const std::string& store, int port) {
  std::string scheme = config.http.tls_certificate.empty() ? "http" : "https";
  std::string host = config.http.address.find(':') == std::string::npos ? config.http.address
                                                                        : "[" + config.http.address + "]";
  std::string where = config.store.directory.empty() ? "in memory, gone when the server stops"
                                                     : "data in " + config.store.directory;
  if (config.store_kind == "dynamodb") where = "on " + store;
  return "holdfast " + std::string(kVersion) + " listening on " + scheme + "://" + host + ":" +
         std::to_string(port) + " (" + where + ")";
}

// Where the tables are: with an engine of our own, or elsewhere.
struct Data {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<Store> store;
};

Result<Data> OpenData(const ServeConfig& config, const std::vector<ModelPtr>& models, const base::Log& log) {
  Data data;
  if (config.store_kind == "dynamodb") {
    RemoteOptions remote;
    remote.endpoint = config.endpoint;
    remote.region = config.store.region;
    HF_TRY(data.store, OpenRemoteStore(remote));
    return data;
  }
  engine::EngineOptions options;
  options.options = config.store;
  options.log = &log;
  for (const ModelPtr& model : models) HF_CHECK_OK(model::AddGuards(model, &log, &options.guards));
  HF_TRY(data.engine, engine::Engine::Open(options));
  if (config.compact_at_start) HF_CHECK_OK(data.engine->kv().Compact());
  data.store = store::EmbeddedStore(data.engine.get());
  return data;
}

}  // namespace

int Serve(const ServeConfig& given) {
  ServeConfig config = given;
  if (Status usable = CheckServeConfig(config); !usable) return Fail(usable.error());
  if (config.auth == "sigv4") {
    auto credentials = auth::Credentials::Load(config.credentials_file);
    if (!credentials) return Fail(credentials.error());
    config.protocol.credentials = *std::move(credentials);
  }
  if (config.insecure) config.protocol.hosts.emplace_back("*");
  config.protocol.body_bytes_max = config.http.body_bytes_max;

  // Every thread inherits the mask, so that the signals wait for sigwait below.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  base::Log log(LevelNamed(config.log_level));
  auto models = LoadServedModels(config.models, log);
  if (!models) return Fail(models.error());
  auto data = OpenData(config, *models, log);
  if (!data) return Fail(data.error());
  if (Status ready =
          PrepareTables(data->store.get(), *models, config.models.apply || config.models.demo, log);
      !ready)
    return Fail(ready.error());
  if (config.models.demo) {
    if (Status loaded = LoadDemo(data->store.get(), *models); !loaded) return Fail(loaded.error());
  }
  // What proves who sends a request to the REST and WebSocket interfaces.
  auto tokens = OpenTokens(config.tokens, config.store.directory, config.models.demo, log);
  if (!tokens) return Fail(tokens.error());
  engine::Engine* engine = data->engine.get();
  if (engine == nullptr) config.protocol.fronts = data->store->name();

  auto pool = std::make_unique<wire::WorkerPool>(config.worker_threads, /*queue_max=*/10'000);
  wire::DynamoDbProtocol protocol(engine, pool.get(), &log, config.protocol);
  auto server = wire::HttpServer::Start(config.http, &protocol, &log);
  if (!server) return Fail(server.error());
  std::printf("%s\n", Greeting(config, data->store->name(), (*server)->port()).c_str());
  std::fflush(stdout);

  int signal = 0;
  sigwait(&stop_signals, &signal);
  HF_LOG(log, kInfo, "stopping", {"signal", signal}, {"connections", (*server)->connections()});
  protocol.SetReady(false);
  (*server)->Drain(config.drain_seconds * 1000);
  pool.reset();  // whatever still ran has given its answer back
  Status durable = engine == nullptr ? Status(Ok{}) : engine->committer().WaitDurable();
  if (!durable) HF_LOG(log, kError, "the last writes are not durable", {"error", durable.error().ToString()});
  server->reset();
  data->store.reset();
  data->engine.reset();
  HF_LOG(log, kInfo, "stopped");
  return 0;
}

}  // namespace holdfast::cli
