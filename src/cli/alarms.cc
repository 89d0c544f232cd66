#include "cli/alarms.h"

#include <algorithm>
#include <charconv>
#include <future>

#include "cli/number.h"
#include "cli/token_flags.h"
#include "json/plain.h"
#include "model/refusal.h"
#include "store/http_client.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kNames[] = {wire::kThrottledRequests, wire::kSystemErrors, wire::kUserErrors,
                                       wire::kConsumedCapacity, wire::kArchiveLag};

std::string Names() {
  std::string names;
  for (std::string_view name : kNames) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

bool ReadNumber(std::string_view text, double* number) {
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return fault == std::errc() && end == text.data() + text.size() && *number >= 0 && *number <= 1e18;
}

// 90s, 5m, 12h, 7d.
bool ReadSpan(std::string_view text, int64_t* seconds) {
  constexpr int64_t kSpanMax = 31 * 86'400;
  constexpr std::pair<char, int64_t> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *seconds);
  if (fault != std::errc() || end + 1 != text.data() + text.size() || *seconds < 1 || *seconds > kSpanMax)
    return false;
  for (const auto& [unit, length] : kUnits) {
    if (*end != unit) continue;
    *seconds *= length;
    return *seconds <= kSpanMax;
  }
  return false;
}

Status ReadAlarm(const std::string& text, const ServerHas& has, wire::AlarmSettings* settings) {
  auto bad = [&] {
    return ValidationError(
        "--alarm is NAME=THRESHOLD, NAME=THRESHOLD/WINDOW (90s, 5m, 12h) or NAME=off, not " + text);
  };
  size_t equals = text.find('=');
  if (equals == std::string::npos) return bad();
  std::string name = text.substr(0, equals);
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
    return ValidationError("--alarm: there is no alarm " + name + "; there are " + Names());
  }
  bool of_tables =
      name == wire::kThrottledRequests || name == wire::kConsumedCapacity || name == wire::kArchiveLag;
  if (of_tables && !has.tables)
    return ValidationError("--alarm " + name +
                           " watches tables: it is for servers that have them, not for --store dynamodb");
  if (name == wire::kArchiveLag && !has.archive)
    return ValidationError("--alarm " + name + " goes with --archive");
  std::string_view value = std::string_view(text).substr(equals + 1);
  wire::AlarmSetting setting;
  if (value == "off") {
    setting.off = true;
  } else {
    size_t slash = std::min(value.find('/'), value.size());
    double threshold = 0;
    if (!ReadNumber(value.substr(0, slash), &threshold)) return bad();
    setting.threshold = threshold;
    if (slash < value.size()) {
      int64_t seconds = 0;
      bool is_level = name == wire::kConsumedCapacity || name == wire::kArchiveLag;
      if (is_level || !ReadSpan(value.substr(slash + 1), &seconds)) return bad();
      setting.window_seconds = seconds;
    }
  }
  settings->alarms[name] = setting;
  return Ok{};
}

Status ReadPlan(const std::string& text, const ServerHas& has, wire::AlarmSettings* settings) {
  if (!has.tables) return ValidationError("--plan is for servers that have tables, not for --store dynamodb");
  size_t equals = text.find('=');
  size_t slash = text.find('/', std::min(equals, text.size()));
  wire::PlannedUnits plan;
  bool fits = equals != std::string::npos && equals > 0 && slash != std::string::npos &&
              ReadNumber(std::string_view(text).substr(equals + 1, slash - equals - 1), &plan.reads) &&
              ReadNumber(std::string_view(text).substr(slash + 1), &plan.writes);
  if (!fits) return ValidationError("--plan is TABLE=READS/WRITES, request units a month, not " + text);
  settings->plans[text.substr(0, equals)] = plan;
  return Ok{};
}

// --- the command ---

struct AlarmsConfig {
  std::string endpoint = "http://localhost:8000";
  std::string token;
  std::string data = "./holdfast-data";
  bool history = false;
  bool json = false;
};

Result<Item> AskServer(const AlarmsConfig& config) {
  HF_TRY(AdminToken token, MakeAdminToken({config.token, config.data, "holdfast alarms"}));
  std::string url = config.endpoint;
  while (url.ends_with('/')) url.pop_back();
  url += "/v1/alarms";
  std::promise<Result<store::HttpAnswer>> answered;
  store::HttpClient client({.connections = 1, .answer_bytes_max = 1 << 20});
  client.Send(
      [&] { return store::HttpRequest{.url = url, .headers = {"Authorization: Bearer " + token.text}}; },
      [&](Result<store::HttpAnswer> answer) { answered.set_value(std::move(answer)); });
  HF_TRY(store::HttpAnswer answer, answered.get_future().get());
  Result<Item> body = json::ReadPlainItem(answer.body);
  if (!body) return Error(ErrorCode::kIo, url + " answered with what is no JSON: is it a holdfast?");
  if (answer.status == 200) return body;
  auto text = [&](std::string_view name) {
    auto value = value::MapView(*body).Find(name);
    return value && value->type() == value::Type::kString ? std::string(value->payload()) : std::string();
  };
  std::string message = text("message") + (answer.status == 401 ? token.hint : "");
  return model::Refuse(text("error"), answer.status, std::move(message), {});
}

std::string TextOf(const AttributeMap& map, std::string_view name) {
  auto found = map.find(name);
  return found == map.end() || found->second.type() != AttributeValue::Type::kString ? ""
                                                                                     : found->second.AsText();
}

std::vector<AttributeMap> MapsOf(const AttributeMap& map, std::string_view name) {
  std::vector<AttributeMap> maps;
  auto found = map.find(name);
  if (found == map.end() || found->second.type() != AttributeValue::Type::kList) return maps;
  for (const AttributeValue& element : found->second.AsList()) {
    if (element.type() == AttributeValue::Type::kMap) maps.push_back(element.AsMap());
  }
  return maps;
}

Result<int> ShowAlarms(const AlarmsConfig& config) {
  HF_TRY(Item answer, AskServer(config));
  if (config.json) {
    PrintJson(NodeOf(answer));
    return kDone;
  }
  Rows rows{{"alarm", "state", config.history ? "at" : "since", "reason"}};
  for (const AttributeMap& alarm : MapsOf(answer.ToMap(), "alarms")) {
    rows.push_back(
        {TextOf(alarm, "name"), TextOf(alarm, "state"), TextOf(alarm, "since"), TextOf(alarm, "reason")});
    if (!config.history) continue;
    for (const AttributeMap& change : MapsOf(alarm, "history"))
      rows.push_back({"  was", TextOf(change, "state"), TextOf(change, "at"), TextOf(change, "reason")});
  }
  PrintRows(rows);
  return kDone;
}

}  // namespace

void AddAlarmFlags(CLI::App* app, AlarmFlags* flags) {
  app->add_option(
         "--alarm", flags->alarms,
         "An alarm's bound: NAME=THRESHOLD, NAME=THRESHOLD/WINDOW (90s, 5m, 12h) or NAME=off; of " + Names())
      ->take_all()
      ->allow_extra_args(false);
  app->add_option("--plan", flags->plans,
                  "Request units that a table is planned to use in a month: TABLE=READS/WRITES")
      ->take_all()
      ->allow_extra_args(false);
  AddNumber(app, "--alarm-interval-ms", &flags->interval_millis, 10, 3'600'000,
            "How often alarms are looked at");
}

Result<wire::AlarmSettings> AlarmSettingsOf(const AlarmFlags& flags, const ServerHas& has) {
  wire::AlarmSettings settings;
  settings.interval_millis = flags.interval_millis;
  for (const std::string& text : flags.alarms) HF_CHECK_OK(ReadAlarm(text, has, &settings));
  for (const std::string& text : flags.plans) HF_CHECK_OK(ReadPlan(text, has, &settings));
  return settings;
}

void AddAlarmsCommand(CLI::App* app, Run* run) {
  auto [alarms, config] = AddCommand(app, "alarms", "The alarms of a running server", run, &ShowAlarms);
  alarms->add_option("--endpoint", config->endpoint, "Where the server is")->capture_default_str();
  CLI::Option* token =
      alarms->add_option("--token", config->token, "An administrator's token; HOLDFAST_TOKEN unless told");
  alarms
      ->add_option("--data", config->data,
                   "Without a token: the directory of the server's store, whose key signs one")
      ->type_name("DIR")
      ->capture_default_str()
      ->excludes(token);
  alarms->add_flag("--history", config->history, "Also how each came to be as it is");
}

}  // namespace holdfast::cli
