#include "wire/dev_tools.h"

#include <algorithm>

#include "base/thread.h"
#include "json/plain.h"
#include "json/writer.h"
#include "model/instant.h"
#include "model/refusal.h"
#include "wire/members.h"
#include "wire/metrics.h"
#include "wire/request_id.h"
#include "wire/rest_call.h"
#include "wire/target.h"

namespace holdfast::wire {
namespace {

using model::Refuse;

// The end of the year 9998: the clock goes on from where it is set, and instants have four digits for years.
constexpr int64_t kMillisMax = 253'370'764'799'999;

bool IsName(std::string_view name) {
  if (name == "." || name == "..") return false;  // programs take them out of paths
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

std::string Figure(std::string_view name, uint64_t value) {
  return "\"" + std::string(name) + "\":" + std::to_string(value);
}

std::string RestoredText(const engine::StoreSnapshots::Restored& restored, int64_t begun_micros) {
  return "{" + Figure("tablesDropped", restored.tables_dropped) + "," +
         Figure("tablesMade", restored.tables_made) + "," + Figure("itemsWritten", restored.items_written) +
         "," + Figure("micros", static_cast<uint64_t>(base::SteadyMicros() - begun_micros)) + "}";
}

// An RFC 3339 instant, or seconds since 1970.
Result<int64_t> MillisOf(value::ValueView now) {
  std::optional<int64_t> millis;
  if (now.type() == value::Type::kString) {
    millis = model::ParseInstant(now.payload());
  } else if (now.type() == value::Type::kNumber) {
    double seconds = now.number().ToDouble();
    if (seconds >= 0 && seconds <= kMillisMax / 1000.0) millis = static_cast<int64_t>(seconds * 1000);
  }
  if (!millis || *millis < 0 || *millis > kMillisMax)
    return model::RefuseField("now",
                              "should be an RFC 3339 instant, or seconds since 1970; until the year 9998");
  return *millis;
}

}  // namespace

HttpHandler::Handled DevTools::Handle(Exchange* exchange) {
  const HttpRequest& request = exchange->request();
  exchange->request_id = NewRequestId();
  exchange->operation = Metrics::kNoOperation;
  exchange->error.reset();
  exchange->waits = false;
  HttpResponse& response = exchange->response();
  response.Clear();
  if (!hosts_.Allows(request)) {
    Fail(Refuse("Forbidden", "only loopback names may be used here"), &response);
    return HttpHandler::Handled::kDone;
  }
  if (!IsOwnOrigin(request)) {
    Fail(Refuse("Forbidden", "pages of other origins may not send requests here"), &response);
    return HttpHandler::Handled::kDone;
  }
  bool submitted = pool_->Submit(WorkerPool::Lane::kLong, [this, exchange] {
    Result<std::string> answer = base::CallContained(
        *log_, "developer tools", [&]() -> Result<std::string> { return Answer(exchange->request()); });
    if (answer) {
      exchange->response().content_type = "application/json";
      exchange->response().body = *std::move(answer);
    } else {
      Fail(answer.error(), &exchange->response());
    }
    exchange->Finish();
  });
  if (submitted) return HttpHandler::Handled::kPending;
  Fail(Refuse("Unavailable", "too many requests are waiting; try again"), &response);
  return HttpHandler::Handled::kDone;
}

void DevTools::Fail(const Error& error, HttpResponse* response) {
  response->Clear();
  response->content_type = "application/json";
  response->body = "{";
  // Here these are about snapshots, not about tables that should be there.
  Error told = error.code() == ErrorCode::kResourceNotFound ? Refuse("NotFound", error.message())
               : error.code() == ErrorCode::kLimitExceeded  ? Refuse("Conflict", error.message())
                                                            : model::FromStore(error);
  response->status = AppendRefusal(told, "", &response->body);
  response->body += "}";
}

Result<std::string> DevTools::Answer(const HttpRequest& request) {
  HF_TRY(std::vector<std::string> path, SplitPath(request.path));
  std::string_view method = request.method;
  std::string what = path.size() > 1 ? path[1] : "";
  if (what == "clock" && path.size() == 2) return AnswerClock(request);
  if (what == "snapshots") {
    if (path.size() == 2 && method == "GET") return AnswerSnapshots(method, "", false);
    if (path.size() == 3 && (method == "POST" || method == "DELETE"))
      return AnswerSnapshots(method, path[2], false);
    if (path.size() == 4 && path[3] == "restore" && method == "POST")
      return AnswerSnapshots(method, path[2], true);
  }
  if (path.size() == 2 && method == "POST") {
    if (what == "sweep") return Sweep();
    if (what == "reset") {
      int64_t begun = base::SteadyMicros();
      HF_TRY(engine::StoreSnapshots::Restored restored, snapshots_.Reset());
      HF_LOG(*log_, kInfo, "the store was emptied", {"tables", restored.tables_dropped});
      return RestoredText(restored, begun);
    }
  }
  return Refuse("NotFound",
                "there is: GET and POST /_holdfast/clock, POST /_holdfast/sweep, POST /_holdfast/reset, "
                "GET /_holdfast/snapshots, POST and DELETE /_holdfast/snapshots/NAME, "
                "POST /_holdfast/snapshots/NAME/restore");
}

std::string DevTools::ClockText() const {
  std::string text = "{\"now\":";
  int64_t now = clock_->NowMillis();
  json::AppendString(model::FormatInstant(now), &text);
  text += ",\"seconds\":";
  json::AppendInteger(now / 1000, &text);
  text += ",\"offsetMillis\":";
  json::AppendInteger(clock_->offset_millis(), &text);
  return text + "}";
}

Result<std::string> DevTools::AnswerClock(const HttpRequest& request) {
  if (request.method == "GET") return ClockText();
  if (request.method != "POST")
    return Refuse("MethodNotAllowed", "allowed here: GET, POST", {{"allow", "GET, POST"}});
  HF_TRY(Item body, json::ReadPlainItem(request.body));
  Members members{value::MapView(body)};
  std::optional<value::ValueView> now = members.Take("now");
  std::optional<value::ValueView> advance = members.Take("advance_seconds");
  bool reset = false;
  members.Flag("reset", &reset);
  HF_CHECK_OK(members.End());
  if (now.has_value() + advance.has_value() + reset != 1)
    return model::RefuseField("body", R"(should be {"now": …}, {"advance_seconds": …} or {"reset": true})");
  if (reset) {
    clock_->Reset();
  } else if (now) {
    HF_TRY(int64_t millis, MillisOf(*now));
    clock_->Set(millis);
  } else {
    double seconds = advance->type() == value::Type::kNumber ? advance->number().ToDouble() : -1e18;
    double then = static_cast<double>(clock_->NowMillis()) + seconds * 1000;
    if (then < 0 || then > kMillisMax)
      return model::RefuseField("advance_seconds", "should be a number, and lead to the years 1970 to 9998");
    clock_->Set(static_cast<int64_t>(then));
  }
  HF_LOG(*log_, kInfo, "the clock was set", {"offset_millis", clock_->offset_millis()});
  return ClockText();
}

// A round leaves some to the next, so that every table gets its turn: here all have it at once.
Result<std::string> DevTools::Sweep() {
  uint64_t expired = 0;
  uint64_t before = 0;
  do {
    before = expired;
    HF_CHECK_OK(engine_->RunHousekeeping(&expired));
  } while (expired != before);
  return "{" + Figure("expired", expired) + "}";
}

Result<std::string> DevTools::AnswerSnapshots(std::string_view method, const std::string& name,
                                              bool restore) {
  int64_t begun = base::SteadyMicros();
  if (method == "GET") {
    std::string text = "{\"snapshots\":[";
    for (const auto& info : snapshots_.List()) {
      text += text.back() == '[' ? "" : ",";
      text += "{\"name\":";
      json::AppendString(info.name, &text);
      text += ",\"takenAt\":";
      json::AppendString(model::FormatInstant(info.taken_millis), &text);
      text += "}";
    }
    return text + "]}";
  }
  if (!IsName(name))
    return model::RefuseField("name", "should be 1 to 64 of letters, digits, '-', '_' and '.'");
  if (restore) {
    HF_TRY(engine::StoreSnapshots::Restored restored, snapshots_.Restore(name));
    return RestoredText(restored, begun);
  }
  HF_CHECK_OK(method == "DELETE" ? snapshots_.Delete(name) : snapshots_.Take(name));
  std::string text = "{\"name\":";
  json::AppendString(name, &text);
  return text + "}";
}

}  // namespace holdfast::wire
