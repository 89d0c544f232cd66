#include "wire/alarms.h"

#include <algorithm>
#include <cstdio>

#include "base/thread.h"
#include "wire/json_object.h"
#include "wire/recorded.h"

namespace holdfast::wire {
namespace {

constexpr size_t kNamedMax = 8;  // figures that a step keeps, and a reason names

std::string Amount(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Span(int64_t seconds) {
  auto of = [](int64_t n, const char* unit) { return std::to_string(n) + " " + unit + (n == 1 ? "" : "s"); };
  if (seconds % 3600 == 0) return of(seconds / 3600, "hour");
  if (seconds % 60 == 0) return of(seconds / 60, "minute");
  return of(seconds, "second");
}

double Sum(const Figures& figures) {
  double sum = 0;
  for (const auto& [name, value] : figures) sum += value;
  return sum;
}

std::vector<std::pair<std::string, double>> Largest(const Figures& figures) {
  std::vector<std::pair<std::string, double>> largest(figures.begin(), figures.end());
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return largest;
}

// At most kNamedMax of them: what is left is put together.
Figures Bounded(const Figures& figures) {
  if (figures.size() <= kNamedMax) return figures;
  Figures bounded;
  for (const auto& [name, value] : Largest(figures))
    bounded[bounded.size() < kNamedMax - 1 ? name : "others"] += value;
  return bounded;
}

// "3 requests in the last 5 minutes: Music 2, Music/byGenre 1".
std::string ReasonOf(const AlarmSpec& spec, const Figures& figures, double value) {
  bool grows = spec.kind == AlarmSpec::Kind::kGrowth;
  std::string unit = spec.unit;
  if (grows && value == 1 && unit.ends_with('s')) unit.pop_back();
  std::string reason = (grows && value == 0 ? "no" : Amount(value)) + " " + unit;
  if (grows) reason += " in the last " + Span(spec.window_seconds);
  if (!grows && figures.empty()) return "nothing to watch";
  std::string names;
  size_t named = 0;
  for (const auto& [name, figure] : Largest(figures)) {
    if (figure == 0 || named++ == kNamedMax) break;
    names += (names.empty() ? ": " : ", ") + name + " " + Amount(figure);
  }
  return reason + names;
}

std::string_view NameOf(bool alarm) {
  return alarm ? "ALARM" : "OK";
}

void AppendChange(const AlarmChange& change, std::string* out) {
  JsonObject(out)
      .Instant("at", change.at_millis)
      .Text("state", NameOf(change.alarm))
      .Text("reason", change.reason);
}

void AppendAlarm(const AlarmSpec& spec, const AlarmState& state, std::string* out) {
  JsonObject object(out);
  object.Text("name", spec.name)
      .Text("about", spec.about)
      .Text("state", NameOf(state.alarm))
      .Instant("since", state.since_millis)
      .Text("reason", state.reason)
      .Raw("value", Amount(state.value))
      .Raw("threshold", Amount(spec.threshold))
      .Text("unit", spec.unit);
  if (spec.kind == AlarmSpec::Kind::kGrowth) object.Number("windowSeconds", spec.window_seconds);
  AppendJsonList(state.history, object.Name("history"), AppendChange);
}

// What stands there in a record, as far as it is what it should be.
AttributeMap MapAt(const AttributeMap& map, std::string_view name) {
  auto found = map.find(name);
  bool fits = found != map.end() && found->second.type() == AttributeValue::Type::kMap;
  return fits ? found->second.AsMap() : AttributeMap();
}
std::vector<AttributeMap> MapsAt(const AttributeMap& map, std::string_view name) {
  std::vector<AttributeMap> maps;
  auto found = map.find(name);
  if (found == map.end() || found->second.type() != AttributeValue::Type::kList) return maps;
  for (const AttributeValue& element : found->second.AsList()) {
    if (element.type() == AttributeValue::Type::kMap) maps.push_back(element.AsMap());
  }
  return maps;
}

// A change out of a record, which an older or newer version may have made.
AlarmChange ReadChange(const AttributeMap& map) {
  AlarmChange change;
  change.at_millis = IntegerOf(map, "at");
  auto alarm = map.find("alarm");
  change.alarm = alarm != map.end() && alarm->second.type() == AttributeValue::Type::kTrue;
  if (auto reason = map.find("reason");
      reason != map.end() && reason->second.type() == AttributeValue::Type::kString)
    change.reason = reason->second.AsText();
  return change;
}

}  // namespace

void Alarms::Add(AlarmSpec spec) {
  base::MutexLock lock(&mu_);
  Watched& watched = alarms_.emplace_back();
  watched.spec = std::move(spec);
  watched.state.since_millis = options_.clock->NowMillis();
  watched.state.reason = "not looked at yet";
}

AttributeMap Alarms::Record() const {
  base::MutexLock lock(&mu_);
  AttributeMap histories, steps;
  for (const Watched& watched : alarms_) {
    std::vector<AttributeValue> history;
    for (const AlarmChange& change : watched.state.history) {
      history.push_back(AttributeValue::Map(
          {{"at", change.at_millis}, {"alarm", change.alarm}, {"reason", change.reason}}));
    }
    histories.emplace(watched.spec.name, AttributeValue::List(std::move(history)));
    if (!watched.steps.empty()) steps.emplace(watched.spec.name, RecordSteps(watched));
  }
  return {{"alarms", AttributeValue::Map(std::move(histories))},
          {"steps", AttributeValue::Map(std::move(steps))}};
}

// Figures are kept as whole numbers; a record that was tampered with may have made them larger than one.
constexpr double kFigureMax = 9e15;

AttributeValue Alarms::RecordSteps(const Watched& watched) {
  constexpr size_t kStepsMax = 64;
  std::vector<AttributeValue> newest;
  for (auto step = watched.steps.rbegin(); step != watched.steps.rend() && newest.size() < kStepsMax;
       ++step) {
    AttributeMap growth;
    for (const auto& [name, grown] : step->growth)
      growth.emplace(name, static_cast<int64_t>(std::clamp(grown, -kFigureMax, kFigureMax)));
    newest.push_back(
        AttributeValue::Map({{"at", step->at_millis}, {"growth", AttributeValue::Map(std::move(growth))}}));
  }
  return AttributeValue::List(std::move(newest));
}

void Alarms::Recall(const AttributeMap& record) {
  base::MutexLock lock(&mu_);
  AttributeMap histories = MapAt(record, "alarms"), steps = MapAt(record, "steps");
  for (Watched& watched : alarms_) {
    for (const AttributeMap& step : MapsAt(steps, watched.spec.name)) {
      Figures growth;
      for (const auto& [name, grown] : MapAt(step, "growth"))
        growth[name] = static_cast<double>(grown.AsInt64().value_or(0));
      watched.steps.push_front({IntegerOf(step, "at"), std::move(growth)});
    }
    for (const AttributeMap& change : MapsAt(histories, watched.spec.name)) {
      if (watched.state.history.size() == kHistoryMax) break;
      watched.state.history.push_back(ReadChange(change));
    }
    if (watched.state.history.empty()) continue;
    const AlarmChange& newest = watched.state.history.front();
    watched.state.alarm = newest.alarm;
    watched.state.since_millis = newest.at_millis;
    watched.state.reason = newest.reason;
  }
}

void Alarms::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Alarms::Stop() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    stopping_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Alarms::Run() {
  base::NameThread("alarms");
  while (true) {
    base::RunContained(*options_.log, "alarms", [&] { Evaluate(); });
    auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.interval_millis);
    base::MutexLock lock(&mu_);
    while (!stop_ && stopping_.WaitUntil(&mu_, next)) {
    }
    if (stop_) return;
  }
}

// What is watched of the alarm, as it is now.
Figures Alarms::Measure(Watched* watched, int64_t now_millis) {
  Figures figures = watched->spec.sample();
  if (watched->spec.kind == AlarmSpec::Kind::kLevel) return figures;
  Figures growth;
  for (const auto& [name, value] : figures) {
    auto before = watched->last.find(name);
    // What is seen for the first time has grown since it was not there; one that shrank has begun anew.
    double from = before == watched->last.end() ? 0 : before->second;
    double grown = value >= from ? value - from : value;
    if (grown > 0 && watched->sampled) growth[name] = grown;
  }
  watched->last = std::move(figures);
  watched->sampled = true;
  if (!growth.empty()) watched->steps.push_back({now_millis, Bounded(growth)});
  int64_t begin = now_millis - watched->spec.window_seconds * 1000;
  // A clock that was set back would keep steps for ever.
  std::erase_if(watched->steps, [&](const Watched::Step& step) {
    return step.at_millis <= begin || step.at_millis > now_millis;
  });
  Figures sums;
  for (const Watched::Step& step : watched->steps) {
    for (const auto& [name, grown] : step.growth) sums[name] += grown;
  }
  return sums;
}

void Alarms::Evaluate() {
  base::MutexLock evaluating(&evaluating_);
  int64_t now_millis = options_.clock->NowMillis();
  size_t count = 0;
  {
    base::MutexLock lock(&mu_);
    count = alarms_.size();
  }
  bool any_change = false;
  for (size_t i = 0; i < count; ++i) {
    Watched* watched = nullptr;
    {
      base::MutexLock lock(&mu_);
      watched =
          &alarms_[i];  // alarms are only ever added, and a deque leaves those there are in their places
    }
    Figures figures = Measure(watched, now_millis);
    const AlarmSpec& spec = watched->spec;
    double value = 0;
    if (spec.kind == AlarmSpec::Kind::kGrowth) {
      value = Sum(figures);
    } else {
      for (const auto& [name, figure] : figures) value = std::max(value, figure);
    }
    bool alarm = value > spec.threshold;
    std::string reason = ReasonOf(spec, figures, value);

    base::MutexLock lock(&mu_);
    AlarmState& state = watched->state;
    state.value = value;
    state.reason = std::move(reason);
    if (state.alarm == alarm) continue;
    any_change = true;
    state.alarm = alarm;
    state.since_millis = now_millis;
    state.history.push_front({now_millis, alarm, state.reason});
    if (state.history.size() > kHistoryMax) state.history.pop_back();
    HF_LOG(*options_.log, kWarning, "alarm", {"alarm", spec.name}, {"state", NameOf(alarm)},
           {"reason", state.reason});
    std::string text = "{\"type\":\"alarm\",\"alarm\":";
    AppendAlarm(spec, state, &text);
    text.push_back('}');
    Frame frame = TextFrame(text);
    for (const auto& channel : channels_) {
      if (auto open = channel.lock()) open->Send(frame);
    }
  }
  if (any_change && options_.changed) options_.changed();
}

std::string Alarms::Json() const {
  base::MutexLock lock(&mu_);
  std::string out = "{\"alarms\":";
  AppendJsonList(alarms_, &out, [](const Watched& watched, std::string* to) {
    AppendAlarm(watched.spec, watched.state, to);
  });
  out.push_back('}');
  return out;
}

std::string Alarms::Metrics() const {
  base::MutexLock lock(&mu_);
  std::string out =
      "# HELP holdfast_alarm_state 1 while the alarm is in the state ALARM.\n"
      "# TYPE holdfast_alarm_state gauge\n";
  for (const Watched& watched : alarms_)
    out +=
        "holdfast_alarm_state{alarm=\"" + watched.spec.name + "\"} " + (watched.state.alarm ? "1\n" : "0\n");
  out +=
      "# HELP holdfast_alarm_value The figure that the alarm watches.\n"
      "# TYPE holdfast_alarm_value gauge\n";
  for (const Watched& watched : alarms_)
    out += "holdfast_alarm_value{alarm=\"" + watched.spec.name + "\"} " + Amount(watched.state.value) + "\n";
  return out;
}

void Alarms::Tell(const std::shared_ptr<Channel>& channel) {
  base::MutexLock lock(&mu_);
  std::string text = "{\"type\":\"alarms\",\"alarms\":";
  AppendJsonList(alarms_, &text, [](const Watched& watched, std::string* to) {
    AppendAlarm(watched.spec, watched.state, to);
  });
  text.push_back('}');
  channel->Send(text);
  channels_.push_back(channel);
}

void Alarms::Forget(const Channel* channel) {
  base::MutexLock lock(&mu_);
  std::erase_if(channels_, [&](const std::weak_ptr<Channel>& known) {
    auto open = known.lock();
    return open == nullptr || open.get() == channel;
  });
}

namespace {

class AlarmSocket final : public ChannelHandler {
 public:
  AlarmSocket(Alarms* alarms, Expiry* expiry, int64_t expires_at)
      : alarms_(alarms), expiry_(expiry), expires_at_(expires_at) {}

  void OnOpen(std::shared_ptr<Channel> channel) override {
    expiry_->CloseAt(expires_at_, channel);
    alarms_->Tell(channel);
  }
  // There is nothing to ask for; a client may want to know that somebody is there.
  void OnMessage(Channel* channel, std::string_view) override { channel->Send(R"({"type":"pong"})"); }
  void OnClosed(Channel* channel) override { alarms_->Forget(channel); }

 private:
  Alarms* const alarms_;
  Expiry* const expiry_;
  const int64_t expires_at_;
};

}  // namespace

std::shared_ptr<ChannelHandler> MakeAlarmSocket(Alarms* alarms, Expiry* expiry, int64_t expires_at) {
  return std::make_shared<AlarmSocket>(alarms, expiry, expires_at);
}

}  // namespace holdfast::wire
