// What the load generators share: a closed loop of requests, or one at a given rate, over keep-alive
// connections, one thread, so that the server gets the rest of the machine.
//
//   Result result = RunClosedLoop(options, &source);
//   std::printf("{%s}\n", Figures(result, 1).c_str());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

struct LoopOptions {
  int port = 8000;
  int connections = 16;
  double seconds = 3;  // 0: until the source ends
  double warmup_seconds = 0.5;
  int pid = 0;  // of the server, for its CPU time
  // Requests a second, each begun when it is due, or late when every connection waits; latencies then count
  // from when it was due. 0: as soon as the answer before it is there.
  double rate = 0;
  // The run ends when the server goes, instead of the program.
  bool survives = false;
};

// Where requests come from and answers go. Called on the loop's thread.
class Source {
 public:
  virtual ~Source() = default;
  // The next request; empty when there are no more. `*tag` comes back with its answer.
  virtual std::string Next(size_t* tag) = 0;
  // Returns whether the answer is right.
  virtual bool Accept(size_t tag, const std::string& answer) = 0;
};

struct Result {
  int64_t requests = 0;
  int64_t errors = 0;
  std::string first_error;
  double seconds = 0;
  double cpu_micros = 0;
  std::vector<float> latencies;  // milliseconds, ascending
  double pause_seconds = 0;      // the longest time without an answer
};

Result RunClosedLoop(const LoopOptions& options, Source* source);

// Rates, percentiles, CPU per request and errors, as members of a JSON object.
std::string Figures(const Result& result, int64_t units_per_request);
// Prints the first error, if any, and returns what the program should.
int ExitCode(const Result& result);

// A request that any DynamoDB endpoint takes.
std::string Request(const char* operation, const std::string& body);
// One request and its answer, for setting up.
std::string Ask(int port, const std::string& request);
bool IsSuccess(const std::string& answer);

// Takes one of --port, --connections, --seconds, --warmup, --rate, --survive
// and --pid; returns false when `flag` is
// another.
bool TakeLoopFlag(const std::string& flag, const std::string& value, LoopOptions* options);

[[noreturn]] void Die(const std::string& why);

}  // namespace holdfast::bench
