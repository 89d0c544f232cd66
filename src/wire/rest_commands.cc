// Commands, transactions of single writes, and messages to open connections.

#include <array>
#include <set>

#include "base/limits.h"
#include "json/plain.h"
#include "json/writer.h"
#include "model/command.h"
#include "model/from_text.h"
#include "model/refusal.h"
#include "store/access.h"
#include "store/acting_for.h"
#include "wire/rest_call.h"

namespace holdfast::wire {
namespace {

void AppendEmitted(const std::vector<Emitted>& emitted, std::string* out) {
  if (emitted.empty()) return;
  out->append(",\"emitted\":[");
  for (const Emitted& one : emitted) {
    out->append(&one == emitted.data() ? "{\"name\":" : ",{\"name\":");
    json::AppendString(one.name, out);
    out->append(",\"body\":");
    json::AppendPlainItem(value::MapView(one.body), out);
    out->push_back('}');
  }
  out->push_back(']');
}

// The verbs of an entry, and the members that may stand beside each.
struct Verb {
  std::string_view name;
  Entry::Kind kind;
  std::string_view fields;  // the member that holds them; empty: none
};
constexpr std::array<Verb, 4> kVerbs{{{"put", Entry::Kind::kPut, "item"},
                                      {"patch", Entry::Kind::kPatch, "changes"},
                                      {"delete", Entry::Kind::kDelete, ""},
                                      {"check", Entry::Kind::kCheck, ""}}};

class EntryReader {
 public:
  EntryReader(const model::Model& model, size_t number, const AttributeMap& members)
      : model_(model), number_(number), path_("entries[" + std::to_string(number) + "]"), members_(members) {}

  Result<Entry> Read() {
    HF_TRY(const Verb* verb, FindVerb());
    Entry entry;
    entry.kind = verb->kind;
    HF_TRY(entry.entity, Text(verb->name));
    const model::Entity* entity = model_.FindEntity(entry.entity);
    if (entity == nullptr) {
      return model::Refuse("NotFound", "the model " + model_.name + " has no entity " + entry.entity,
                           {{"index", static_cast<int64_t>(number_)}});
    }
    if (!verb->fields.empty()) {
      HF_TRY(entry.fields, Map(verb->fields, entity->attributes));
    }
    if (verb->kind != Entry::Kind::kPut) {
      HF_TRY(entry.key, Map("key", entity->attributes));
      if (members_.count("that") > 0) {
        HF_TRY(entry.that, Text("that"));
      }
    }
    if (auto version = members_.find("expectedVersion"); version != members_.end()) {
      if (entity->version.empty()) return Wrong("expectedVersion", entity->name + " has no version");
      entry.expected.version = version->second;
      used_.insert("expectedVersion");
    }
    for (const auto& [name, value] : members_) {
      if (used_.count(name) == 0) return Wrong(name, "does not belong to a " + std::string(verb->name));
    }
    return entry;
  }

 private:
  Error Wrong(std::string_view member, std::string rule) const {
    return model::RefuseField(path_ + "." + std::string(member), std::move(rule));
  }

  Result<const Verb*> FindVerb() const {
    const Verb* found = nullptr;
    for (const Verb& verb : kVerbs) {
      if (members_.count(std::string(verb.name)) == 0) continue;
      if (found != nullptr) return Wrong(verb.name, "stands beside " + std::string(found->name));
      found = &verb;
    }
    if (found == nullptr) return model::RefuseField(path_, "should have one of put, patch, delete, check");
    return found;
  }

  Result<const AttributeValue*> Member(std::string_view name, AttributeValue::Type type, const char* rule) {
    auto at = members_.find(std::string(name));
    if (at == members_.end()) return Wrong(name, "is required");
    if (at->second.type() != type) return Wrong(name, rule);
    used_.insert(at->first);
    return &at->second;
  }
  Result<std::string> Text(std::string_view name) {
    HF_TRY(const AttributeValue* value, Member(name, AttributeValue::Type::kString, "should be a text"));
    return value->AsText();
  }
  Result<Item> Map(std::string_view name, const std::vector<model::Attribute>& declared) {
    HF_TRY(const AttributeValue* value, Member(name, AttributeValue::Type::kMap, "should be an object"));
    Item item(value->AsMap());
    model::FromJson(declared, &item);
    if (const Error* defect = item.defect()) return Wrong(name, defect->message());
    return item;
  }

  const model::Model& model_;
  const size_t number_;
  const std::string path_;
  const AttributeMap& members_;
  std::set<std::string> used_;
};

Result<std::vector<Entry>> ReadEntries(const Call& call) {
  HF_TRY(Item body, ReadBody(call));
  AttributeMap members = body.ToMap();
  auto list = members.find("entries");
  if (list == members.end()) return model::RefuseField("entries", "is required");
  if (list->second.type() != AttributeValue::Type::kList)
    return model::RefuseField("entries", "should be a list");
  for (const auto& [name, value] : members) {
    if (name != "entries") return model::RefuseField(name, "is not known here");
  }
  std::vector<Entry> entries;
  for (const AttributeValue& element : list->second.AsList()) {
    size_t number = entries.size();
    if (element.type() != AttributeValue::Type::kMap)
      return model::RefuseField("entries[" + std::to_string(number) + "]", "should be an object");
    HF_TRY(Entry entry, EntryReader(call.model(), number, element.AsMap()).Read());
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return model::RefuseField("entries", "should have at least one");
  return entries;
}

}  // namespace

Status RunCommand(Call* call) {
  const model::Command* command = call->model().FindCommand(call->name());
  if (command == nullptr || command->internal)
    return model::Refuse("NotFound", "the model " + call->model().name + " has no command " + call->name());
  HF_CHECK_OK(ExpectNoQuery(*call));
  HF_TRY(RunOptions options, ReadRunOptions(call->request));
  HF_TRY(Item input, ReadBody(*call, command->inputs));
  HF_TRY(CommandAnswer answer, call->application->Run(call->caller, command->name, input, options));
  if (call->options.emit && !answer.replayed && !answer.emitted.empty())
    call->options.emit(call->model(), call->caller, answer.emitted);
  HttpResponse& response = call->response;
  response.status = answer.created ? 201 : 200;
  if (answer.replayed) response.AddHeader("Idempotency-Replayed", "true");
  response.body.append("{\"result\":");
  json::AppendPlainItem(value::MapView(answer.result), &response.body);
  AppendWarnings(answer.warnings, &response.body);
  AppendEmitted(answer.emitted, &response.body);
  response.body.push_back('}');
  return Ok{};
}

Status RunTransaction(Call* call) {
  HF_TRY(RunOptions options, ReadRunOptions(call->request));
  HF_TRY(std::vector<Entry> entries, ReadEntries(*call));
  HF_TRY(std::vector<Written> written, call->application->Transact(call->caller, entries, options));
  // All are, or none.
  if (written[0].replayed) call->response.AddHeader("Idempotency-Replayed", "true");
  std::string& body = call->response.body;
  std::vector<ModelWarning> warnings;
  body.append("{\"items\":[");
  for (size_t i = 0; i < written.size(); ++i) {
    if (i > 0) body.push_back(',');
    bool writes = entries[i].kind == Entry::Kind::kPut || entries[i].kind == Entry::Kind::kPatch;
    if (writes)
      AppendRecord(written[i].record, &body);
    else
      body.append("null");
    for (ModelWarning& warning : written[i].warnings) {
      warning.path = "entries[" + std::to_string(i) + "]." + warning.path;
      warnings.push_back(std::move(warning));
    }
  }
  body.push_back(']');
  AppendWarnings(warnings, &body);
  body.push_back('}');
  return Ok{};
}

Status PostToConnection(Call* call) {
  if (call->identity.role != "admin" && call->identity.role != "orchestrator")
    return model::Refuse("Forbidden", "the role " + call->identity.role + " may not send to connections");
  if (const auth::Principal* held = store::ActingFor::Current()) HF_CHECK_OK(store::CheckPush(*held));
  HF_TRY(Item message, ReadBody(*call));
  std::string text;
  json::AppendPlainItem(value::MapView(message), &text);
  if (!call->options.post || !call->options.post(call->name(), text))
    return model::Refuse("Gone", "the connection " + call->name() + " is closed");
  call->response.body = "{}";
  return Ok{};
}

}  // namespace holdfast::wire
