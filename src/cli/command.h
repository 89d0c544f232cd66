// How a command is added to the program: its flags fill a config struct of its own, and what is to be done is
// kept until the whole command line has been read.
//
//   auto [app, config] = AddCommand(parent, "get", "One entity by its key", run, &Get);
//   app->add_option("model", config->model)->required();
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>

#include "cli/output.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// Returns the exit code.
using Run = std::function<int()>;

// `command` gives the exit code, or what went wrong. Every config has a `json`; one that has a `rest` is
// given all words that no flag takes.
template <class Config>
std::pair<CLI::App*, Config*> AddCommand(CLI::App* parent, const std::string& name,
                                         const std::string& description, Run* run,
                                         Result<int> (*command)(const Config&)) {
  auto config = std::make_shared<Config>();
  CLI::App* app = parent->add_subcommand(name, description);
  app->add_flag("--json", config->json, "Print one JSON document; errors too, on stderr");
  if constexpr (requires { config->rest; }) app->allow_extras();
  app->callback([app, config, command, run] {
    if (!app->get_subcommands().empty()) return;  // a command of its own, which has set `run`
    if constexpr (requires { config->rest; }) config->rest = app->remaining();
    *run = [config, command] {
      Result<int> done = command(*config);
      return done ? *done : Report(done.error(), config->json);
    };
  });
  return {app, config.get()};
}

}  // namespace holdfast::cli
