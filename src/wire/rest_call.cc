#include "wire/rest_call.h"

#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/shown.h"
#include "json/plain.h"
#include "json/writer.h"
#include "model/fields.h"
#include "model/from_text.h"
#include "model/refusal.h"

namespace holdfast::wire {
namespace {

constexpr size_t kIdempotencyKeyMax = 255;

// What is no item at all, such as a set with nothing in it.
Result<Item> Sound(Item item, const std::string& where) {
  if (const Error* defect = item.defect()) return model::RefuseField(where, defect->message());
  return item;
}

// Records as JSON. Those of a page are mostly of one entity: how it is seen is worked out once.
class RecordWriter {
 public:
  void Append(const Record& record, std::string* out) {
    if (record.entity() == nullptr) return json::AppendPlainItem(value::MapView(record.stored()), out);
    Prepare(record.entity());
    char before = '{';
    plan_->Visit(record.stored(), [&](size_t number, std::string_view name, value::ValueView value) {
      out->push_back(std::exchange(before, ','));
      if (number < labels_.size())
        out->append(labels_[number]);
      else
        out->append(LabelOf(name));
      json::AppendPlain(value, out);
    });
    if (before == '{') out->push_back('{');
    out->push_back('}');
  }

 private:
  static std::string LabelOf(std::string_view name) {
    std::string label;
    json::AppendString(name, &label);
    label.push_back(':');
    return label;
  }
  void Prepare(const model::Entity* entity) {
    if (std::exchange(entity_, entity) == entity) return;
    plan_.emplace(*entity);
    labels_.clear();
    for (const model::FieldPlan::Field& field : plan_->fields()) labels_.push_back(LabelOf(field.name));
  }

  const model::Entity* entity_ = nullptr;
  std::optional<model::FieldPlan> plan_;
  std::vector<std::string> labels_;  // "name":
};

}  // namespace

int AppendRefusal(const Error& refused, std::string_view more, std::string* out) {
  const Refusal& refusal = refused.detail()->refusal;
  bool internal = refusal.http_status == 500;
  out->append("\"error\":");
  json::AppendString(refusal.name, out);
  out->append(",\"message\":");
  json::AppendString(
      internal ? "Internal server error" : base::Shown(refused.message(), limits::kErrorMessageBytesMax),
      out);
  out->append(",").append(more).append("\"details\":");
  json::AppendPlainItem(value::MapView(Item(internal ? AttributeMap() : refusal.details)), out);
  return refusal.http_status;
}

Result<Item> ReadBody(const Call& call) {
  if (call.body.empty()) return Item();
  Result<Item> body = json::ReadPlainItem(call.body);
  if (!body) return model::RefuseField("body", body.error().message());
  return body;
}

Result<Item> ReadBody(const Call& call, const std::vector<model::Attribute>& declared) {
  HF_TRY(Item body, ReadBody(call));
  model::FromJson(declared, &body);
  return Sound(std::move(body), "body");
}

Result<Item> ReadParameters(const Query& query, const std::vector<model::Attribute>& declared) {
  AttributeMap parameters;
  for (const auto& [name, text] : query.parameters())
    parameters.emplace(name, model::FromText(model::FindAttribute(declared, name), text));
  return Sound(Item(parameters), "query");
}

Status ExpectNoQuery(const Call& call) {
  if (call.query.parameters().empty()) return Ok{};
  return model::RefuseField(call.query.parameters()[0].first, "is no parameter of this request");
}

Result<PageRequest> TakePage(Query* query) {
  PageRequest page;
  HF_TRY(page.limit, query->TakeNumber("limit"));
  page.cursor = query->Take("cursor").value_or("");
  return page;
}

Result<RunOptions> ReadRunOptions(const HttpRequest& request) {
  RunOptions options;
  const std::string_view* key = request.Find("Idempotency-Key");
  if (key == nullptr) return options;
  if (key->empty() || key->size() > kIdempotencyKeyMax)
    return model::RefuseField("Idempotency-Key", "should have 1 to 255 characters");
  options.idempotency_key = *key;
  return options;
}

void AppendRecord(const Record& record, std::string* out) {
  RecordWriter().Append(record, out);
}

void AppendAnswer(const Answer& answer, std::string* out) {
  out->append("{\"items\":[");
  RecordWriter writer;
  for (const Record& record : answer.records) {
    if (&record != answer.records.data()) out->push_back(',');
    writer.Append(record, out);
  }
  out->append("],\"count\":");
  json::AppendInteger(static_cast<int64_t>(answer.records.size()), out);
  if (!answer.cursor.empty()) {
    out->append(",\"cursor\":");
    json::AppendString(answer.cursor, out);
  }
  if (!answer.similarities.empty()) {
    out->append(",\"similarities\":[");
    for (size_t i = 0; i < answer.similarities.size(); ++i) {
      if (i > 0) out->push_back(',');
      json::AppendDouble(answer.similarities[i], out);
    }
    out->push_back(']');
  }
  if (!answer.parts.empty()) {
    out->append(",\"parts\":{");
    for (const auto& part : answer.parts) {
      if (&part != answer.parts.data()) out->push_back(',');
      json::AppendString(part.name, out);
      out->push_back(':');
      AppendAnswer(part.answer, out);
      out->push_back('}');
    }
    out->push_back('}');
  }
  AppendWarnings(answer.warnings, out);
}

void AppendWarnings(const std::vector<ModelWarning>& warnings, std::string* out) {
  if (warnings.empty()) return;
  out->append(",\"warnings\":[");
  for (const ModelWarning& warning : warnings) {
    out->append(&warning == warnings.data() ? "{\"path\":" : ",{\"path\":");
    json::AppendString(warning.path, out);
    out->append(",\"message\":");
    json::AppendString(warning.message, out);
    out->push_back('}');
  }
  out->push_back(']');
}

}  // namespace holdfast::wire
