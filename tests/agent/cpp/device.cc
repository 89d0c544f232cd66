// A user's device for tests/agent/: each line of the input is said to the agent, and whatever happens is a
// line of JSON on the output.
//
//   HOLDFAST_TOKEN=… agent_device URL SESSION DEVICE

#include <cstdlib>
#include <iostream>
#include <string>

#include "holdfast/agent.h"
#include "json/writer.h"

namespace holdfast {
namespace {

// Lines come from one thread, the network's.
void Print(std::string line) {
  std::cout << line << std::endl;
}

std::string Quoted(std::string_view text) {
  std::string quoted;
  json::AppendString(text, &quoted);
  return quoted;
}

int Main(char** arguments) {
  auto network = StartAgentNetwork();
  AgentClientOptions options;
  options.server = {.url = arguments[0], .token = std::getenv("HOLDFAST_TOKEN")};
  options.session = arguments[1];
  options.device = arguments[2];
  options.on_message = [](const AgentMessage& message) {
    Print(R"({"n":)" + std::to_string(message.n) + R"(,"auto":)" + (message.autonomous ? "true" : "false") +
          R"(,"content":)" + Quoted(message.content) + "}");
  };
  options.on_state = [](std::string_view state) { Print(R"({"state":)" + Quoted(state) + "}"); };
  options.on_end = [](const Error& why) { Print(R"({"end":)" + Quoted(why.message()) + "}"); };
  auto client = OpenAgentClient(network->get(), options);
  if (!client) {
    std::cerr << client.error().ToString() << "\n";
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    (*client)->Send(line, [](const Result<SentMessage>& sent) {
      Print(sent ? R"({"said":)" + std::to_string(sent->seq) + "}"
                 : R"({"refused":)" + Quoted(sent.error().message()) + "}");
    });
  }
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  return argc == 4 && std::getenv("HOLDFAST_TOKEN") != nullptr ? holdfast::Main(argv + 1) : 2;
}
