// Single entities: found by their keys, listed by their partitions, written one at a time.

#include <algorithm>

#include "json/plain.h"
#include "model/from_text.h"
#include "model/refusal.h"
#include "wire/rest_call.h"

namespace holdfast::wire {
namespace {

Result<const model::Entity*> EntityOf(const Call& call) {
  if (const model::Entity* entity = call.model().FindEntity(call.name())) return entity;
  return model::Refuse("NotFound", "the model " + call.model().name + " has no entity " + call.name());
}

// {"item":{…},"warnings":[…]}, and the version as its ETag.
void AnswerWith(const model::Entity& entity, const Record& record, const std::vector<ModelWarning>& warnings,
                HttpResponse* response) {
  response->body.append("{\"item\":");
  AppendRecord(record, &response->body);
  AppendWarnings(warnings, &response->body);
  response->body.push_back('}');
  auto version = value::MapView(record.stored()).Find(entity.version);
  if (entity.version.empty() || !version) return;
  std::string text;
  if (version->type() == value::Type::kString)
    text = version->payload();
  else
    json::AppendPlain(*version, &text);
  // What stands in the item need not be what the model would have written.
  if (text.find('"') == std::string::npos) response->AddHeader("ETag", '"' + text + '"');
}

// What If-Match or `expectedVersion` expects.
Result<Expected> TakeExpected(const model::Entity& entity, Call* call) {
  std::optional<std::string> text = call->query.Take("expectedVersion");
  std::string where = "expectedVersion";
  if (const std::string_view* match = call->request.Find("If-Match"); match != nullptr) {
    if (text) return model::RefuseField("If-Match", "stands beside expectedVersion; one of them is enough");
    bool quoted = match->size() >= 2 && match->starts_with('"') && match->ends_with('"');
    text = quoted ? match->substr(1, match->size() - 2) : *match;
    where = "If-Match";
  }
  Expected expected;
  if (!text) return expected;
  if (entity.version.empty()) return model::RefuseField(where, entity.name + " has no version");
  const model::Attribute* version = entity.Find(entity.version);
  expected.version = model::FromText(version, *text);
  bool number = model::StoredType(version->kind) == "N";
  if (number != (expected.version->type() == AttributeValue::Type::kNumber))
    return model::RefuseField(where, "should be a version of " + entity.name, *text);
  return expected;
}

// The query as the key of one entity.
Result<Item> ReadKey(const model::Entity& entity, const Query& query) {
  std::vector<std::string> inputs = entity.KeyInputs();
  for (const auto& [name, value] : query.parameters()) {
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end())
      return model::RefuseField(name, "is no part of the key of " + entity.name);
  }
  return ReadParameters(query, entity.attributes);
}

// Whether `known` is the key of one entity, no more and no less.
bool IsKey(const Call& call, const model::Entity& entity, const Item& known) {
  size_t named = 0;
  for (const std::string& name : entity.KeyInputs()) {
    bool own = call.model().FillsTenant() && name == call.model().tenant && !call.caller.tenant.empty();
    if (known.Has(name))
      ++named;
    else if (!own)
      return false;
  }
  return named == value::MapView(known).size();
}

}  // namespace

Status GetEntities(Call* call) {
  HF_TRY(const model::Entity* entity, EntityOf(*call));
  HF_TRY(PageRequest page, TakePage(&call->query));
  HF_TRY(Item known, ReadParameters(call->query, entity->attributes));
  bool paged = page.limit || !page.cursor.empty();
  if (!paged && IsKey(*call, *entity, known)) {
    HF_TRY(Record record, call->application->Get(call->caller, entity->name, known));
    AnswerWith(*entity, record, {}, &call->response);
    return Ok{};
  }
  HF_TRY(Answer answer, call->application->List(call->caller, entity->name, known, page));
  AppendAnswer(answer, &call->response.body);
  call->response.body.push_back('}');
  return Ok{};
}

Status CreateEntity(Call* call) {
  HF_TRY(const model::Entity* entity, EntityOf(*call));
  HF_CHECK_OK(ExpectNoQuery(*call));
  HF_TRY(Item fields, ReadBody(*call, entity->attributes));
  HF_TRY(Written written, call->application->Create(call->caller, entity->name, fields));
  call->response.status = 201;
  AnswerWith(*entity, written.record, written.warnings, &call->response);
  return Ok{};
}

Status PutEntity(Call* call) {
  HF_TRY(const model::Entity* entity, EntityOf(*call));
  HF_TRY(Expected expected, TakeExpected(*entity, call));
  HF_CHECK_OK(ExpectNoQuery(*call));
  if (call->request.Get("If-None-Match") == "*") return CreateEntity(call);
  HF_TRY(Item fields, ReadBody(*call, entity->attributes));
  HF_TRY(Written written, call->application->Put(call->caller, entity->name, fields, expected));
  call->response.status = written.created ? 201 : 200;
  AnswerWith(*entity, written.record, written.warnings, &call->response);
  return Ok{};
}

Status PatchEntity(Call* call) {
  HF_TRY(const model::Entity* entity, EntityOf(*call));
  HF_TRY(Expected expected, TakeExpected(*entity, call));
  HF_TRY(Item key, ReadKey(*entity, call->query));
  HF_TRY(Item changes, ReadBody(*call, entity->attributes));
  HF_TRY(Written written, call->application->Patch(call->caller, entity->name, key, changes, expected));
  AnswerWith(*entity, written.record, written.warnings, &call->response);
  return Ok{};
}

Status DeleteEntity(Call* call) {
  HF_TRY(const model::Entity* entity, EntityOf(*call));
  HF_TRY(Expected expected, TakeExpected(*entity, call));
  HF_TRY(Item key, ReadKey(*entity, call->query));
  HF_CHECK_OK(call->application->Delete(call->caller, entity->name, key, expected));
  call->response.status = 204;
  return Ok{};
}

}  // namespace holdfast::wire
