#include "cli/verify.h"

#include <cstdio>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/verify.h"

namespace holdfast::cli {

int Verify(const VerifyConfig& config) {
  base::Log log(base::LogLevel::kWarning);
  engine::EngineOptions options;
  options.options.directory = config.directory;
  options.options.create_if_missing = false;
  options.options.key_file = config.key_file;
  options.log = &log;
  options.manual_housekeeping = true;
  auto engine = engine::Engine::Open(options);
  if (!engine) {
    std::fprintf(stderr, "holdfast: %s\n", engine.error().message().c_str());
    return 1;
  }
  (*engine)->WaitForBackfills();
  auto report = engine::VerifyStore(engine->get());
  if (!report) {
    std::fprintf(stderr, "holdfast: %s\n", report.error().ToString().c_str());
    return 1;
  }
  for (const std::string& fault : report->faults) std::printf("fault: %s\n", fault.c_str());
  std::printf("%llu tables, %llu items, %llu index entries, %llu expiry entries: %s\n",
              static_cast<unsigned long long>(report->tables), static_cast<unsigned long long>(report->items),
              static_cast<unsigned long long>(report->index_entries),
              static_cast<unsigned long long>(report->expiry_entries),
              report->faults.empty() ? "sound" : "FAULTY");
  return report->faults.empty() ? 0 : 1;
}

}  // namespace holdfast::cli
