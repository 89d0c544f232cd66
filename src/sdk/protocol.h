// What is said between a server and its agents' workers and clients, as JSON (docs/agents.md): reading what
// the server says, and the pieces of what is said to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "holdfast/agent.h"
#include "holdfast/result.h"

namespace holdfast::sdk {

// One message of the server. Its views live until the next Read; what it does not have is empty or 0.
struct ServerMessage {
  std::string_view t;   // what kind it is
  std::string_view id;  // of a client's message
  int64_t number = 0;   // the same for a worker's, which are numbers
  std::string_view session, reason, error, message, content, state;
  int64_t epoch = 0, seq = 0, n = 0, ack = 0, at = 0, status = 0;
  bool autonomous = false, duplicate = false;
  // As JSON.
  std::string_view checkpoint, events, messages, suppressed, next, lost;
};

// Fails for what is no JSON or of other types than the protocol's. Members that are not known are passed
// over.
//
// Thread safety: one thread for each reader.
class ServerReader {
 public:
  Result<ServerMessage> Read(std::string_view json);
  // The following read a part of the last message, which stays valid.
  // {"seq":…,"data":{…}} → the data, as JSON; empty when there is none.
  Result<std::string_view> ReadCheckpoint(std::string_view part);
  Result<std::vector<AgentEvent>> ReadEvents(std::string_view part);
  Result<std::vector<std::string>> ReadSessions(std::string_view part);  // [{"session":…},…]
  Status ReadOutcome(const ServerMessage& message, TurnOutcome* outcome);

 private:
  using Parser = simdjson::ondemand::parser;

  std::string text_;  // with the padding that the parser wants
  Parser whole_, part_;
};

// ,"name":… — what is said to the server begins with its kind.
void AppendMember(std::string_view name, std::string_view text, std::string* out);
void AppendMember(std::string_view name, int64_t number, std::string* out);

Error Refuse(std::string_view name, int http_status, std::string_view message);
// As the body of an answer words it.
Error RefusalIn(std::string_view body, int http_status);

}  // namespace holdfast::sdk
