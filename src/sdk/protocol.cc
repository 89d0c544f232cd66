#include "sdk/protocol.h"

#include <utility>

#include "holdfast/ops/common.h"
#include "json/plain.h"
#include "json/writer.h"

namespace holdfast::sdk {
namespace {

using simdjson::ondemand::json_type;
using Value = simdjson::ondemand::value;

Error Strange(simdjson::error_code code) {
  return Error(ErrorCode::kSerialization,
               std::string("the server says what is not understood: ") + simdjson::error_message(code));
}

Status Get(Value value, std::string_view* out) {
  if (auto code = value.get_string().get(*out)) return Strange(code);
  return Ok{};
}
Status Get(Value value, std::string* out) {
  std::string_view text;
  HF_CHECK_OK(Get(value, &text));
  *out = text;
  return Ok{};
}
Status Get(Value value, int64_t* out) {
  if (auto code = value.get_int64().get(*out)) return Strange(code);
  return Ok{};
}
Status Get(Value value, bool* out) {
  if (auto code = value.get_bool().get(*out)) return Strange(code);
  return Ok{};
}

// The text of an object or a list, and nothing for null.
Status GetJson(Value value, std::string_view* out) {
  json_type type{};
  if (auto code = value.type().get(type)) return Strange(code);
  if (type == json_type::null) return Ok{};
  simdjson::error_code code = simdjson::SUCCESS;
  if (type == json_type::array) {
    simdjson::ondemand::array array;
    if ((code = value.get_array().get(array)) == simdjson::SUCCESS) code = array.raw_json().get(*out);
  } else {
    simdjson::ondemand::object object;
    if ((code = value.get_object().get(object)) == simdjson::SUCCESS) code = object.raw_json().get(*out);
  }
  if (code != simdjson::SUCCESS) return Strange(code);
  return Ok{};
}

// Calls visit(name, value) for the members of an object, whose names live until the parser's next document.
template <class Visit>
Status ForEachMember(simdjson::simdjson_result<simdjson::ondemand::object> object, const Visit& visit) {
  if (object.error() != simdjson::SUCCESS) return Strange(object.error());
  for (auto field : object) {
    std::string_view name;
    Value value;
    if (auto code = field.unescaped_key().get(name)) return Strange(code);
    if (auto code = field.value().get(value)) return Strange(code);
    HF_CHECK_OK(visit(name, value));
  }
  return Ok{};
}

// `part` is followed by readable bytes: it is a piece of a padded text.
simdjson::simdjson_result<simdjson::ondemand::document> Iterate(simdjson::ondemand::parser* parser,
                                                                std::string_view part) {
  return parser->iterate(part.data(), part.size(), part.size() + simdjson::SIMDJSON_PADDING);
}

// Calls visit(value) for the elements of a list.
template <class Visit>
Status ForEachElement(simdjson::ondemand::parser* parser, std::string_view part, const Visit& visit) {
  if (part.empty()) return Ok{};
  simdjson::ondemand::document document;
  simdjson::ondemand::array array;
  if (auto code = Iterate(parser, part).get(document)) return Strange(code);
  if (auto code = document.get_array().get(array)) return Strange(code);
  for (auto element : array) {
    Value value;
    if (auto code = element.get(value)) return Strange(code);
    HF_CHECK_OK(visit(value));
  }
  return Ok{};
}

Result<AgentEvent> ReadEvent(Value value) {
  AgentEvent event;
  HF_CHECK_OK(ForEachMember(value.get_object(), [&](std::string_view name, Value member) -> Status {
    if (name == "seq") return Get(member, &event.seq);
    if (name == "id") return Get(member, &event.id);
    if (name == "type") return Get(member, &event.type);
    if (name == "at") return Get(member, &event.at_millis);
    std::string_view text;
    if (name == "origin") {
      HF_CHECK_OK(Get(member, &text));
      event.autonomous = text == "auto";
    } else if (name == "payload") {
      HF_CHECK_OK(GetJson(member, &text));
      if (!text.empty()) {
        HF_TRY(event.payload, json::ReadPlainItem(text));
      }
    }
    return Ok{};
  }));
  return event;
}

template <class M>
struct Member {
  std::string_view name;
  M ServerMessage::*member;
};
constexpr Member<std::string_view> kTexts[] = {
    {"t", &ServerMessage::t},
    {"session", &ServerMessage::session},
    {"reason", &ServerMessage::reason},
    {"error", &ServerMessage::error},
    {"message", &ServerMessage::message},
    {"content", &ServerMessage::content},
    {"st", &ServerMessage::state},
};
constexpr Member<int64_t> kNumbers[] = {
    {"epoch", &ServerMessage::epoch}, {"seq", &ServerMessage::seq}, {"n", &ServerMessage::n},
    {"ack", &ServerMessage::ack},     {"at", &ServerMessage::at},   {"status", &ServerMessage::status},
};
constexpr Member<bool> kFlags[] = {{"auto", &ServerMessage::autonomous},
                                   {"duplicate", &ServerMessage::duplicate}};
constexpr Member<std::string_view> kParts[] = {
    {"checkpoint", &ServerMessage::checkpoint},
    {"events", &ServerMessage::events},
    {"messages", &ServerMessage::messages},
    {"suppressed", &ServerMessage::suppressed},
    {"next", &ServerMessage::next},
    {"lost", &ServerMessage::lost},
};

Status ReadMember(std::string_view name, Value value, ServerMessage* out) {
  if (name == "id") {
    json_type type{};
    if (auto code = value.type().get(type)) return Strange(code);
    return type == json_type::number ? Get(value, &out->number) : Get(value, &out->id);
  }
  for (const auto& text : kTexts) {
    if (text.name == name) return Get(value, &(out->*text.member));
  }
  for (const auto& number : kNumbers) {
    if (number.name == name) return Get(value, &(out->*number.member));
  }
  for (const auto& part : kParts) {
    if (part.name == name) return GetJson(value, &(out->*part.member));
  }
  for (const auto& flag : kFlags) {
    if (flag.name == name) return Get(value, &(out->*flag.member));
  }
  return Ok{};
}

}  // namespace

Result<ServerMessage> ServerReader::Read(std::string_view json) {
  text_.assign(json).append(simdjson::SIMDJSON_PADDING, '\0');
  simdjson::ondemand::document document;
  if (auto code = Iterate(&whole_, std::string_view(text_.data(), json.size())).get(document))
    return Strange(code);
  ServerMessage message;
  HF_CHECK_OK(ForEachMember(document.get_object(), [&](std::string_view name, Value value) {
    return ReadMember(name, value, &message);
  }));
  return message;
}

Result<std::string_view> ServerReader::ReadCheckpoint(std::string_view part) {
  std::string_view data;
  if (part.empty()) return data;
  simdjson::ondemand::document document;
  if (auto code = Iterate(&part_, part).get(document)) return Strange(code);
  HF_CHECK_OK(ForEachMember(document.get_object(), [&](std::string_view name, Value value) -> Status {
    if (name == "data") return GetJson(value, &data);
    return Ok{};
  }));
  return data;
}

Result<std::vector<AgentEvent>> ServerReader::ReadEvents(std::string_view part) {
  std::vector<AgentEvent> events;
  HF_CHECK_OK(ForEachElement(&part_, part, [&](Value value) -> Status {
    HF_TRY(AgentEvent event, ReadEvent(value));
    events.push_back(std::move(event));
    return Ok{};
  }));
  return events;
}

Result<std::vector<std::string>> ServerReader::ReadSessions(std::string_view part) {
  std::vector<std::string> sessions;
  HF_CHECK_OK(ForEachElement(&part_, part, [&](Value value) {
    return ForEachMember(value.get_object(), [&](std::string_view name, Value member) -> Status {
      if (name == "session") return Get(member, &sessions.emplace_back());
      return Ok{};
    });
  }));
  return sessions;
}

Status ServerReader::ReadOutcome(const ServerMessage& message, TurnOutcome* outcome) {
  outcome->session = message.session;
  outcome->seq = message.seq;
  HF_CHECK_OK(ForEachElement(&part_, message.messages,
                             [&](Value value) { return Get(value, &outcome->messages.emplace_back()); }));
  return ForEachElement(&part_, message.suppressed, [&](Value value) {
    TurnOutcome::Suppressed& one = outcome->suppressed.emplace_back();
    return ForEachMember(value.get_object(), [&](std::string_view name, Value member) -> Status {
      if (name == "i") return Get(member, &one.i);
      if (name == "reason") return Get(member, &one.reason);
      return Ok{};
    });
  });
}

void AppendMember(std::string_view name, std::string_view text, std::string* out) {
  out->append(",\"").append(name).append("\":");
  json::AppendString(text, out);
}

void AppendMember(std::string_view name, int64_t number, std::string* out) {
  out->append(",\"").append(name).append("\":");
  json::AppendInteger(number, out);
}

Error Refuse(std::string_view name, int http_status, std::string_view message) {
  auto detail = std::make_shared<ErrorDetail>();
  detail->refusal.name = name;
  detail->refusal.http_status = http_status;
  return Error(ErrorCode::kRefused, std::string(message), std::move(detail));
}

Error RefusalIn(std::string_view body, int http_status) {
  ServerReader reader;
  Result<ServerMessage> said = reader.Read(body);
  if (said && !said->error.empty()) return Refuse(said->error, http_status, said->message);
  return Refuse("", http_status, "the server answers " + std::to_string(http_status));
}

}  // namespace holdfast::sdk
