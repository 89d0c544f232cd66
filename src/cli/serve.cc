#include "cli/serve.h"

#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "cli/version.h"
#include "engine/engine.h"
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

std::string Greeting(const ServeConfig& config, int port) {
  std::string scheme = config.http.tls_certificate.empty() ? "http" : "https";
  std::string host = config.http.address.find(':') == std::string::npos ? config.http.address
                                                                        : "[" + config.http.address + "]";
  std::string where = config.store.directory.empty() ? "in memory, gone when the server stops"
                                                     : "data in " + config.store.directory;
  return "holdfast " + std::string(kVersion) + " listening on " + scheme + "://" + host + ":" +
         std::to_string(port) + " (" + where + ")";
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
  engine::EngineOptions engine_options;
  engine_options.options = config.store;
  engine_options.log = &log;
  auto engine = engine::Engine::Open(engine_options);
  if (!engine) return Fail(engine.error());
  if (config.compact_at_start) {
    if (Status compacted = (*engine)->kv().Compact(); !compacted) return Fail(compacted.error());
  }

  auto pool = std::make_unique<wire::WorkerPool>(config.worker_threads, /*queue_max=*/10'000);
  wire::DynamoDbProtocol protocol(engine->get(), pool.get(), &log, config.protocol);
  auto server = wire::HttpServer::Start(config.http, &protocol, &log);
  if (!server) return Fail(server.error());
  std::printf("%s\n", Greeting(config, (*server)->port()).c_str());
  std::fflush(stdout);

  int signal = 0;
  sigwait(&stop_signals, &signal);
  HF_LOG(log, kInfo, "stopping", {"signal", signal}, {"connections", (*server)->connections()});
  protocol.SetReady(false);
  (*server)->Drain(config.drain_seconds * 1000);
  pool.reset();  // whatever still ran has given its answer back
  if (Status durable = (*engine)->committer().WaitDurable(); !durable) {
    HF_LOG(log, kError, "the last writes are not durable", {"error", durable.error().ToString()});
  }
  server->reset();
  engine->reset();
  HF_LOG(log, kInfo, "stopped");
  return 0;
}

}  // namespace holdfast::cli
