#include "model/ask.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "model/instant.h"
#include "model/refusal.h"
#include "model/search.h"
#include "model/sorted_page.h"
#include "model/time_order.h"
#include "store/acting_for.h"

namespace holdfast::model {
namespace {

using Form = Step::Form;
using value::MapView;
using value::Type;
using value::ValueView;

constexpr size_t kPageMax = 1000;
// Of a result that is sorted in memory, per page: each reads all of it.
constexpr size_t kSortedMax = 20'000;
// Pages of the store that one page of a pattern may read through a filter before it answers with what it has.
constexpr int kStorePagesMax = 64;
// What one request may read through other patterns before C++ should leave the rest to the next page, and
// before it is refused.
constexpr size_t kThroughReadsEnough = 2'000;
constexpr size_t kThroughReadsMax = 50'000;

const Caller kProgram = Caller::Administrator();

// Whether the sort key of what the step returns holds an instant.
bool IsTimed(const Step& step) {
  if (step.sort_key.name.empty() || step.sort_key.type != 'S') return false;
  auto has_instant = [](const Entity& entity, const Templates& templates) {
    return std::any_of(templates.begin(), templates.end(), [&](const Template& pattern) {
      return std::any_of(pattern.parts.begin(), pattern.parts.end(), [&](const Template::Part& part) {
        const Attribute* attribute = part.as_date ? nullptr : entity.Find(part.name);
        return attribute != nullptr && attribute->kind == Kind::kInstant;
      });
    });
  };
  for (const Entity* entity : step.returns) {
    for (const KeyPart& part : entity->key) {
      if (step.index == nullptr && part.attribute.name == step.sort_key.name &&
          has_instant(*entity, part.templates))
        return true;
    }
    for (const IndexKey& index : entity->indexes) {
      for (const KeyPart& part : index.parts) {
        if (index.index == step.index && part.attribute.name == step.sort_key.name &&
            has_instant(*entity, part.templates))
          return true;
      }
    }
  }
  return false;
}

std::string TableText(const Step& step) {
  return step.table->name + (step.index == nullptr ? "" : "." + step.index->name);
}

// Of a list: what is known of its items beyond their partition must be true of each.
Status KeepWhatIsKnown(const Entity& entity, const Item& known, Step* step) {
  std::set<std::string> used;
  for (const auto& [attribute, pattern] : step->partition) {
    for (const std::string& name : pattern.Names()) used.insert(name);
  }
  if (step->sort.op == SortCondition::Op::kBeginsWith) {
    for (const std::string& name : step->sort.low.Names()) {
      if (!known.Has(name)) break;
      // A prefix may hold of longer values too, which only the stored attribute tells; but a day stands for
      // all its instants.
      const Attribute* attribute = entity.Find(name);
      if (attribute == nullptr || !attribute->stored || attribute->kind == Kind::kInstant) used.insert(name);
    }
  }
  for (const Attribute& attribute : entity.attributes) {
    if (!known.Has(attribute.name) || used.count(attribute.name) > 0) continue;
    if (!attribute.stored)
      return RefuseField(attribute.name,
                         "does not narrow this list without what stands before it in the key");
    Condition& equal = step->keep.emplace_back();
    equal.op = Condition::Op::kEqual;
    equal.left.path = attribute.name;
    equal.right.push_back({Operand::Kind::kParam, attribute.name, {}, {}});
  }
  return Ok{};
}

std::string KeyTextOf(const Table& table, const Item& key) {
  std::string text = "{";
  for (const KeyAttribute& attribute : table.key) {
    auto value = key.Get(attribute.name);
    text += (text.size() == 1 ? "" : ", ") + attribute.name + ": " + (value ? ReadableValue(*value) : "");
  }
  return text + "}";
}

}  // namespace

// --- parameters ---

Status Asking::BindTenant(AttributeMap* given) const {
  const std::string& tenant = runtime_.model().tenant;
  if (tenant.empty() || caller_.tenant.empty()) return Ok{};
  auto at = given->find(tenant);
  if (at == given->end()) {
    if (runtime_.model().FillsTenant()) given->emplace(tenant, caller_.tenant);
  } else if (runtime_.model().TenantOf(ReadableValue(at->second)) != caller_.tenant)
    return Refuse("NotFound", "there is no such " + tenant);
  return Ok{};
}

Status Asking::Bind(const Item& parameters) {
  for (const Case& one : pattern_.cases) {
    for (const Step& step : one.steps) {
      for (const Entity* entity : step.returns) HF_CHECK_OK(runtime_.MayRead(caller_, *entity));
    }
  }
  AttributeMap given = parameters.ToMap();
  std::erase_if(given, [](const auto& entry) { return entry.second.is_null(); });
  HF_CHECK_OK(BindTenant(&given));
  for (const char* name : {"expectedVersion", "expectedUpdatedAt"}) {
    auto at = given.find(name);
    if (at == given.end() || !pattern_.writes()) continue;
    expected_.version = at->second;
    given.erase(at);
  }
  bool put_all = pattern_.cases[0].steps.size() == 1 && pattern_.cases[0].steps[0].form == Form::kPutAll;
  if (auto items = given.find("items"); put_all && items != given.end()) {
    if (items->second.type() != Type::kList) return RefuseField("items", "should be a list of maps");
    items_ = items->second.AsList();
    given.erase(items);
  }
  HF_CHECK_OK(BindParams(std::move(given)));
  for (const auto& [name, computed] : pattern_.let) {
    params_[name] = TimeValue(computed.as_date ? Kind::kDate : Kind::kInstant,
                              runtime_.NowMillis() + computed.shift_seconds * kSecondMillis);
  }
  return ChooseCase();
}

Status Asking::BindParams(AttributeMap given) {
  ValueCheck check(runtime_.model(), ValueCheck::Mode::kWrite);
  Item all(given);
  if (const Error* defect = all.defect()) return FromStore(*defect);
  MapView view(all);
  for (const Attribute& param : pattern_.params) {
    auto at = given.find(param.name);
    if (at == given.end()) {
      if (param.default_value)
        params_[param.name] = *param.default_value;
      else if (param.default_from && param.default_from->source == Computed::Source::kUlid)
        params_[param.name] = runtime_.ulids_.Next();
      else if (param.default_from && param.default_from->source == Computed::Source::kUuid)
        params_[param.name] = runtime_.random_.Uuid();
      else if (param.required && sketch_)
        params_[param.name] = "<" + param.name + ">";
      else if (param.required)
        check.Violate(param.name, "is required");
      continue;
    }
    ValueView value = *view.Find(param.name);
    // A day may stand for an instant: which one, the place where it is used decides.
    bool day = param.kind == Kind::kInstant && value.type() == Type::kString && ParseDate(value.payload());
    // The fields of a write are judged by the write.
    bool field = pattern_.writes() && param.kind != Kind::kInstant;
    params_[param.name] =
        day || field ? at->second : value::ToAttributeValue(check.Accept(param, value, param.name, view));
    given.erase(at);
  }
  if (auto tenant = given.find(runtime_.model().tenant);
      runtime_.model().FillsTenant() && tenant != given.end()) {
    params_[tenant->first] = tenant->second;
    given.erase(tenant);
  }
  if (!caller_.tenant.empty() && runtime_.model().FillsTenant())
    params_[runtime_.model().tenant] = caller_.tenant;
  for (const auto& [name, value] : given) check.Violate(name, "is no parameter of " + pattern_.id);
  if (!check.violations.empty()) return RefuseInput(check.violations);
  return Ok{};
}

std::optional<AttributeValue> Asking::Param(std::string_view name) const {
  auto at = params_.find(name);
  if (at == params_.end()) return std::nullopt;
  return at->second;
}

Status Asking::ChooseCase() {
  for (const Case& one : pattern_.cases) {
    bool fits = std::all_of(one.when.begin(), one.when.end(), [&](const auto& when) {
      auto value = Param(when.first);
      return value && ReadableValue(*value) == when.second;
    });
    fits = fits && std::all_of(one.given.begin(), one.given.end(),
                               [&](const std::string& name) { return Param(name).has_value(); });
    if (!fits) continue;
    case_ = &one;
    return Ok{};
  }
  std::string choices;
  for (const Case& one : pattern_.cases) {
    std::string text;
    for (const auto& [name, value] : one.when) text += (text.empty() ? "" : ", ") + name + "=" + value;
    for (const std::string& name : one.given) text += (text.empty() ? "" : ", ") + name;
    choices += (choices.empty() ? "" : "; or ") + text;
  }
  return RefuseField("parameters", "none of the cases fits; give " + choices);
}

Result<std::optional<std::string>> Asking::Fill(const Template& pattern, Bound bound, bool prefix) const {
  std::string text;
  for (const Template::Part& part : pattern.parts) {
    text += part.text;
    if (part.name.empty()) continue;
    auto value = Param(part.name);
    if (!value) {
      if (prefix) return std::optional<std::string>(std::move(text));
      return RefuseField(part.name, "is required");
    }
    const Attribute* param = FindAttribute(pattern_.params, part.name);
    bool instant = param != nullptr && param->kind == Kind::kInstant && value->type() == Type::kString;
    if (instant) {
      bool day = ParseDate(value->AsText()).has_value();
      int64_t millis = MillisOf(ValueView(FlatValue(*value))).value_or(0);
      if (day && bound == Bound::kUpper) millis += kDayMillis - 1;
      // Both spellings of the first and the last second lie between these.
      if (bound == Bound::kUpper)
        value = FormatWholeSecond(millis);
      else
        value = FormatInstant(bound == Bound::kLower ? millis - ((millis % 1000) + 1000) % 1000 : millis);
    }
    std::string flat = FlatValue(*value);
    Template one;
    one.parts.push_back(part);
    one.parts[0].text.clear();
    HF_TRY(std::optional<std::string> filled,
           Render(one, [&](std::string_view) { return std::optional<ValueView>(ValueView(flat)); }));
    text += *filled;
  }
  return std::optional<std::string>(std::move(text));
}

Result<AttributeValue> Asking::FillKey(const KeyAttribute& attribute, const Template& pattern,
                                       Bound bound) const {
  if (attribute.type != 'S') {
    auto value = Param(pattern.parts[0].name);
    if (!value) return RefuseField(pattern.parts[0].name, "is required");
    return *value;
  }
  HF_TRY(std::optional<std::string> text, Fill(pattern, bound, /*prefix=*/false));
  return AttributeValue(*std::move(text));
}

// --- plans ---

Status Asking::AppendSort(const Step& step, ExpressionBuilder* builder) const {
  using Op = SortCondition::Op;
  const SortCondition& sort = step.sort;
  auto compare = [&](std::string_view sign, Bound bound) -> Status {
    HF_TRY(AttributeValue value, FillKey(step.sort_key, sort.low, bound));
    builder->And().Path(step.sort_key.name).Text(sign).Value(value);
    return Ok{};
  };
  switch (sort.op) {
    case Op::kNone: return Ok{};
    case Op::kEqual: return compare(" = ", Bound::kExact);
    case Op::kLess: return compare(" < ", Bound::kUpper);
    case Op::kLessEqual: return compare(" <= ", Bound::kUpper);
    case Op::kGreater: return compare(" > ", Bound::kLower);
    case Op::kGreaterEqual: return compare(" >= ", Bound::kLower);
    case Op::kBeginsWith: {
      HF_TRY(std::optional<std::string> prefix, Fill(sort.low, Bound::kExact, /*prefix=*/true));
      if (prefix->empty()) return Ok{};
      builder->And()
          .Text("begins_with(")
          .Path(step.sort_key.name)
          .Text(", ")
          .Value(AttributeValue(*prefix))
          .Text(")");
      return Ok{};
    }
    case Op::kBetween: {
      HF_TRY(AttributeValue low, FillKey(step.sort_key, sort.low, Bound::kLower));
      HF_TRY(AttributeValue high, FillKey(step.sort_key, sort.high, Bound::kUpper));
      if (high.type() == Type::kString && high.AsText() < low.AsText())
        return RefuseField("parameters", "the range ends before it begins");
      builder->And().Path(step.sort_key.name).Text(" between ").Value(low).Text(" and ").Value(high);
      return Ok{};
    }
  }
  return Ok{};
}

Result<Asking::Planned> Asking::PlanQuery(const Step& step) {
  Planned planned;
  planned.step = &step;
  QueryRequest& request = planned.query;
  request.table_name = step.table->name;
  if (step.index != nullptr) request.index_name = step.index->name;
  ExpressionBuilder builder;
  for (const auto& [attribute, pattern] : step.partition) {
    HF_TRY(AttributeValue value, FillKey(attribute, pattern, Bound::kExact));
    builder.And().Path(attribute.name).Text(" = ").Value(value);
  }
  HF_CHECK_OK(AppendSort(step, &builder));
  planned.text = "Query " + TableText(step) + " where " + builder.readable();
  request.key_condition_expression = builder.Take();
  for (const Condition& condition : step.filter) {
    std::vector<std::string> names = condition.Params();
    bool missing =
        std::any_of(names.begin(), names.end(), [&](const std::string& name) { return !Param(name); });
    if (missing) continue;  // an optional parameter that was not given
    builder.And();
    HF_CHECK_OK(AppendCondition(condition, params(), &builder));
  }
  if (!builder.empty()) {
    planned.text += " filter " + builder.readable();
    request.filter_expression = builder.Take();
  }
  if (step.descending) {
    request.scan_index_forward = false;
    planned.text += " descending";
  }
  if (step.consistent) {
    request.consistent_read = true;
    planned.text += " consistent";
  }
  builder.Finish(&request);
  return planned;
}

Result<Asking::Planned> Asking::PlanKeys(const Step& step) {
  Planned planned;
  planned.step = &step;
  const Entity& entity = *step.returns[0];
  std::vector<AttributeMap> all{params_};
  for (const auto& [name, values] : step.for_values) {
    std::vector<AttributeMap> more;
    for (const AttributeMap& known : all) {
      for (const std::string& value : values) {
        more.push_back(known);
        more.back()[name] = value;
      }
    }
    all = std::move(more);
  }
  if (!step.keys.empty()) {
    auto listed = Param(step.keys);
    all.clear();
    if (listed && listed->type() == Type::kList) {
      for (const AttributeValue& key : listed->AsList()) {
        if (key.type() != Type::kMap) return RefuseField(step.keys, "should be a list of maps");
        all.push_back(key.AsMap());
      }
    }
  }
  if (!step.for_each.empty()) {
    all.clear();
    PageRequest page;
    Item parameters;
    for (const auto& [name, value] : params_) {
      const Pattern* other = runtime_.model().FindPattern(step.for_each);
      if (FindAttribute(other->params, name) != nullptr && step.bind.count(name) == 0)
        parameters.Set(name, value);
    }
    page.limit = kPageMax;
    do {
      HF_TRY(Answer answer, runtime_.Ask(caller_, step.for_each, parameters, page));
      for (const Record& record : answer.records) {
        AttributeMap known = params_;
        Item fields = record.Fields();
        for (const auto& [param, attribute] : step.bind) {
          if (auto value = fields.Get(attribute)) known[param] = *value;
        }
        all.push_back(std::move(known));
      }
      page.cursor = answer.cursor;
    } while (!page.cursor.empty());
  }
  for (const AttributeMap& known : all) {
    HF_TRY(std::vector<Item> keys, KeysOf(entity, Item(known)));
    for (Item& key : keys) {
      planned.keys.push_back(std::move(key));
      if (step.form == Form::kBatchGet) break;
    }
  }
  return planned;
}

Result<Asking::Planned> Asking::Plan(const Step& step) {
  if (step.form == Form::kQuery || step.form == Form::kDeleteAll) return PlanQuery(step);
  if (step.form == Form::kGet || step.form == Form::kBatchGet) return PlanKeys(step);
  Planned planned;
  planned.step = &step;
  return planned;
}

Result<std::vector<std::string>> Asking::ExplainStep(const Step& step) {
  HF_TRY(Planned planned, Plan(step));
  const Table& table = *step.table;
  std::string consistent = step.consistent ? " consistent" : "";
  switch (step.form) {
    case Form::kQuery: return std::vector<std::string>{planned.text};
    case Form::kDeleteAll: return std::vector<std::string>{planned.text, "BatchWriteItem " + table.name};
    case Form::kGet:
      return std::vector<std::string>{"GetItem " + table.name + " " + KeyTextOf(table, planned.keys[0]) +
                                      consistent};
    case Form::kBatchGet: {
      std::vector<std::string> lines;
      if (!step.for_each.empty()) {
        Asking other(&runtime_, caller_, *runtime_.model().FindPattern(step.for_each));
        AttributeMap parameters = params_;
        std::erase_if(parameters, [&](const auto& p) {
          return FindAttribute(other.pattern_.params, p.first) == nullptr || step.bind.count(p.first) > 0;
        });
        HF_CHECK_OK(other.Bind(Item(parameters)));
        HF_TRY(lines, other.Explain());
      }
      std::string line = "BatchGetItem " + table.name;
      for (const Item& key : planned.keys) line += " " + KeyTextOf(table, key);
      if (sketch_ && planned.keys.empty()) line += " <" + step.keys + ">";
      lines.push_back(line + consistent);
      return lines;
    }
    case Form::kScan: return std::vector<std::string>{"Scan " + table.name};
    case Form::kPut: {
      // A child is written together with a look at its parents.
      std::vector<std::string> tables{table.name};
      for (const Parent& parent : step.returns[0]->parents) {
        const std::string& name = runtime_.model().FindEntity(parent.entity)->table->name;
        if (std::find(tables.begin(), tables.end(), name) == tables.end()) tables.push_back(name);
      }
      if (step.returns[0]->parents.empty()) return std::vector<std::string>{"PutItem " + table.name};
      std::string line = "TransactWriteItems";
      for (const std::string& name : tables) line += " " + name;
      return std::vector<std::string>{line};
    }
    case Form::kPutAll: return std::vector<std::string>{"BatchWriteItem " + table.name};
    case Form::kUpdate:
    case Form::kDelete: {
      HF_TRY(std::vector<Item> keys, KeysOf(*step.returns[0], Item(params_)));
      return std::vector<std::string>{(step.form == Form::kUpdate ? "UpdateItem " : "DeleteItem ") +
                                      table.name + " " + KeyTextOf(table, keys[0])};
    }
    case Form::kTransact: {
      std::string line = "TransactWriteItems";
      for (const PatternWrite& write : step.writes) line += " " + write.entity->table->name;
      return std::vector<std::string>{line};
    }
    case Form::kMemory: return std::vector<std::string>{};
    case Form::kThrough: return ExplainParts(step);
    case Form::kSearch: return ExplainSearch(&runtime_, step, params_);
  }
  return std::vector<std::string>{};
}

// What C++ will ask for, with <names> for what only the answers before tell.
Result<std::vector<std::string>> Asking::ExplainParts(const Step& step) {
  std::vector<std::string> lines;
  for (const std::string& id : step.through) {
    Asking part(&runtime_, kProgram, *runtime_.model().FindPattern(id));
    part.sketch_ = true;
    HF_CHECK_OK(part.Bind(KnownTo(part.pattern_)));
    HF_TRY(std::vector<std::string> more, part.Explain());
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

Item Asking::KnownTo(const Pattern& other) const {
  Item known;
  for (const auto& [name, value] : params_) {
    if (FindAttribute(other.params, name) != nullptr) known.Set(name, value);
  }
  return known;
}

Result<std::vector<std::string>> Asking::Explain() {
  std::vector<std::string> lines;
  for (const auto& [name, id] : case_->bundle) {
    Asking part(&runtime_, caller_, *runtime_.model().FindPattern(id));
    HF_CHECK_OK(part.Bind(Item(params_)));
    HF_TRY(std::vector<std::string> more, part.Explain());
    lines.insert(lines.end(), more.begin(), more.end());
  }
  for (const Step& step : case_->steps) {
    HF_TRY(std::vector<std::string> more, ExplainStep(step));
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

// --- reading ---

std::optional<Record> Asking::Accept(const Step& step, Item item) const {
  const Entity* entity = runtime_.model().EntityOf(*step.table, item, step.returns);
  if (entity == nullptr || runtime_.IsExpired(*step.table, item) ||
      !runtime_.IsVisible(caller_, *entity, item)) {
    return std::nullopt;
  }
  for (const Condition& condition : step.keep) {
    if (!Holds(condition, item.flat(), params(), Absent::kFails)) return std::nullopt;
  }
  return Record(entity, std::move(item));
}

Item Asking::StartKey(const Step& step, const Item& item) const {
  if (step.index == nullptr) return KeyOf(*step.table, item);
  return Attributes(item, {&step.table->key, &step.index->hash, &step.index->range});
}

Status Asking::CheckOwner(const Step& step, const QueryRequest& query) {
  if (caller_.tenant.empty() || step.index != nullptr || step.returns.empty()) return Ok{};
  const Entity& entity = *step.returns[0];
  if (entity.parents.empty()) return Ok{};
  // The partition key says which parent the children are of.
  auto text = query.expression_attribute_values->Get(":v0");
  if (!text || text->type() != Type::kString) return Ok{};
  Item known;
  for (const Template& pattern : entity.key[0].templates) {
    auto parts = Match(pattern, text->AsText());
    if (!parts) continue;
    for (const auto& [name, value] : *parts) known.Set(name, value);
    break;
  }
  return runtime_.CheckOwner(caller_, entity, known);
}

// The instants that a range of sort keys was asked for, before its bounds were widened.
std::pair<std::optional<int64_t>, std::optional<int64_t>> Asking::AskedInstants(
    const SortCondition& sort) const {
  using Op = SortCondition::Op;
  auto instant_of = [&](const Template& pattern, bool upper) -> std::optional<int64_t> {
    for (const Template::Part& part : pattern.parts) {
      const Attribute* param = FindAttribute(pattern_.params, part.name);
      auto value = param != nullptr && param->kind == Kind::kInstant ? Param(part.name) : std::nullopt;
      if (!value) continue;
      bool day = ParseDate(value->AsText()).has_value();
      return MillisOf(ValueView(FlatValue(*value))).value_or(0) + (day && upper ? kDayMillis - 1 : 0);
    }
    return std::nullopt;
  };
  auto shifted = [](std::optional<int64_t> millis, int64_t by) {
    return millis ? std::optional(*millis + by) : millis;
  };
  switch (sort.op) {
    case Op::kBetween: return {instant_of(sort.low, false), instant_of(sort.high, true)};
    case Op::kGreater: return {shifted(instant_of(sort.low, true), 1), std::nullopt};
    case Op::kGreaterEqual: return {instant_of(sort.low, false), std::nullopt};
    case Op::kLess: return {std::nullopt, shifted(instant_of(sort.low, false), -1)};
    case Op::kLessEqual: return {std::nullopt, instant_of(sort.low, true)};
    default: return {};
  }
}

Result<bool> Asking::RunQuery(Planned planned, size_t want, Position* position, std::vector<Record>* out) {
  const Step& step = *planned.step;
  HF_CHECK_OK(CheckOwner(step, planned.query));
  QueryRequest& request = planned.query;
  request.exclusive_start_key = position->start;
  bool timed = IsTimed(step);
  TimeOrder order(*step.table, step.sort_key.name, step.index != nullptr, step.descending, *position);
  if (timed) {
    auto [from, to] = AskedInstants(step.sort);
    order.Cut(from, to);
  }
  std::vector<Record>& found = order.ready();
  found.reserve(want + 1);
  const int64_t step_number = position->step;
  bool exhausted = false;
  // A second that was begun is read to its end.
  for (int pages = 0; !exhausted && found.size() <= want && (pages < kStorePagesMax || order.holds_back());
       ++pages) {
    // One more than wanted tells whether there is a next page. Through a filter, pages are read whole.
    if (!request.filter_expression) {
      request.limit = static_cast<int64_t>(order.holds_back() ? kPageMax : want + 1 - found.size());
    }
    auto page = runtime_.store_->Run(request);
    if (!page) return FromStore(page.error());
    for (Item& item : *page->items) {
      std::optional<Record> record = Accept(step, std::move(item));
      if (!record) continue;
      if (timed) {
        order.Add(*std::move(record));
      } else {
        found.push_back(*std::move(record));
      }
    }
    exhausted = !page->last_evaluated_key;
    if (exhausted) {
      order.End();
    } else if (timed) {
      auto reached = MapView(*page->last_evaluated_key).Find(step.sort_key.name);
      order.Reached(reached && reached->type() == Type::kString ? reached->payload() : std::string_view());
    }
    request.exclusive_start_key = std::move(page->last_evaluated_key);
  }
  size_t count = std::min(want, found.size());
  bool more = !exhausted || found.size() > want;
  if (more && found.size() <= want) {
    // Read far and found little: the next page reads on from there.
    *position = Position{};
    position->step = step_number;
    position->start = request.exclusive_start_key;
  } else if (more) {
    auto start_key = [&](const Item& item) { return StartKey(step, item); };
    if (timed) {
      *position = order.After(count, *position, start_key);
    } else {
      position->start = start_key(found[count - 1].stored());
    }
  }
  found.erase(found.begin() + static_cast<ptrdiff_t>(count), found.end());
  if (out->empty()) {
    *out = std::move(found);
  } else {
    std::move(found.begin(), found.end(), std::back_inserter(*out));
  }
  return more;
}

Result<bool> Asking::RunScan(const Step& step, size_t want, Position* position, std::vector<Record>* out) {
  ScanRequest request;
  request.table_name = step.table->name;
  request.exclusive_start_key = position->start;
  for (int pages = 0; pages < kStorePagesMax; ++pages) {
    request.limit = static_cast<int64_t>(std::min(kPageMax, want - out->size()));
    auto page = runtime_.store_->Run(request);
    if (!page) return FromStore(page.error());
    for (Item& item : *page->items) {
      if (auto record = Accept(step, std::move(item))) out->push_back(*std::move(record));
    }
    position->start = request.exclusive_start_key = std::move(page->last_evaluated_key);
    if (!request.exclusive_start_key) return false;
    if (out->size() >= want) return true;
  }
  return true;
}

Status Asking::RunKeys(const Planned& planned, std::vector<Record>* out) {
  const Step& step = *planned.step;
  std::map<std::string, Item> by_key;
  for (size_t begin = 0; begin < planned.keys.size(); begin += limits::kBatchGetKeysMax) {
    BatchGetItemRequest request;
    KeysAndAttributes& wanted = request.request_items[step.table->name];
    size_t end = std::min(planned.keys.size(), begin + limits::kBatchGetKeysMax);
    wanted.keys.assign(planned.keys.begin() + static_cast<ptrdiff_t>(begin),
                       planned.keys.begin() + static_cast<ptrdiff_t>(end));
    if (step.consistent) wanted.consistent_read = true;
    for (int attempt = 1; !request.request_items.empty(); ++attempt) {
      auto got = runtime_.store_->Run(request);
      if (!got) return FromStore(got.error());
      for (Item& item : got->responses[step.table->name]) {
        std::string key(KeyOf(*step.table, item).flat());
        by_key.emplace(std::move(key), std::move(item));
      }
      request.request_items = std::move(got->unprocessed_keys);
      if (!request.request_items.empty()) runtime_.Pause(std::min(attempt, 8));
    }
  }
  for (const Item& key : planned.keys) {
    auto at = by_key.find(std::string(key.flat()));
    if (at == by_key.end()) continue;
    if (auto record = Accept(step, std::move(at->second))) out->push_back(*std::move(record));
    by_key.erase(at);
  }
  return Ok{};
}

std::string Asking::BoundTo() const {
  AttributeMap bound = params_;
  for (const auto& [name, computed] : pattern_.let) bound.erase(name);
  return runtime_.model().name + "\n" + pattern_.id + "\n" + caller_.tenant + "\n" +
         std::string(Item(bound).flat());
}

Result<bool> Asking::RunStep(const Step& step, size_t want, Position* position, std::vector<Record>* out) {
  switch (step.form) {
    case Form::kQuery: {
      HF_TRY(Planned planned, PlanQuery(step));
      return RunQuery(std::move(planned), want - out->size(), position, out);
    }
    case Form::kScan: return RunScan(step, want, position, out);
    case Form::kGet: {
      HF_TRY(Item stored, runtime_.Load(caller_, *step.returns[0], Item(params_), step.consistent));
      out->emplace_back(step.returns[0], std::move(stored));
      return false;
    }
    default: {
      HF_TRY(Planned planned, PlanKeys(step));
      HF_CHECK_OK(RunKeys(planned, out));
      return false;
    }
  }
}

Status Asking::RunSorted(size_t want, const Position& after, Answer* answer) {
  if (after.skip > 0 && after.after_item.empty())
    return Refuse("InvalidCursor", "the cursor is of an older version; ask for the first page again");
  SortedPage page(pattern_.sort, want, after);
  size_t reads = 0;
  for (const Step& step : case_->steps) {
    Position position;
    for (bool more = true; more;) {
      if (reads++ == kSortedMax / kPageMax)
        return Refuse("ResultTooLarge", pattern_.id + " is sorted as a whole, and has more than " +
                                            std::to_string(kSortedMax) + " items to sort");
      std::vector<Record> read;
      HF_TRY(more, RunStep(step, kPageMax, &position, &read));
      for (Record& record : read) page.Add(std::move(record));
    }
  }
  bool more = false;
  Position end;
  answer->records = page.Take(&more, &end);
  if (more) answer->cursor = runtime_.cursors_.Encode(end, BoundTo());
  return Ok{};
}

Status Asking::RunReads(const PageRequest& page, Answer* answer) {
  HF_TRY(size_t want, PageSize(page));
  Position position;
  if (!page.cursor.empty()) {
    HF_TRY(position, runtime_.cursors_.Decode(page.cursor, BoundTo()));
  }
  if (!pattern_.sort.empty()) return RunSorted(want, position, answer);
  bool more = false;
  for (auto step = static_cast<size_t>(position.step); step < case_->steps.size() && !more; ++step) {
    if (answer->records.size() == want) {
      more = true;
      position = Position{};
      position.step = static_cast<int64_t>(step);
      break;
    }
    const Step& current = case_->steps[step];
    HF_TRY(more, RunStep(current, want, &position, &answer->records));
    if (!more) {
      position = Position{};
      position.step = static_cast<int64_t>(step) + 1;
    }
  }
  if (more) answer->cursor = runtime_.cursors_.Encode(position, BoundTo());
  return Ok{};
}

Result<Answer> Asking::Run(const PageRequest& page) {
  Answer answer;
  for (const auto& [name, id] : case_->bundle) {
    auto got = runtime_.Ask(caller_, id, KnownTo(*runtime_.model().FindPattern(id)), {});
    // A part that is not there leaves its place empty.
    if (!got && RefusalName(got.error()) != "NotFound") return got.error();
    answer.parts.push_back({name, got ? *std::move(got) : Answer()});
  }
  if (case_->steps.empty()) return answer;
  const Step& first = case_->steps[0];
  switch (first.form) {
    case Form::kSearch: HF_CHECK_OK(RunSearch(first, &answer)); break;
    case Form::kMemory: return runtime_.AskMemory(caller_, pattern_, first, params_);
    case Form::kPut:
    case Form::kUpdate:
    case Form::kDelete: HF_CHECK_OK(RunWrite(first, &answer)); break;
    case Form::kPutAll: HF_CHECK_OK(RunPutAll(first, &answer)); break;
    case Form::kDeleteAll: HF_CHECK_OK(RunDeleteAll(first, &answer)); break;
    case Form::kTransact: HF_CHECK_OK(RunTransact(first, &answer)); break;
    case Form::kThrough: HF_CHECK_OK(RunThrough(first, page, &answer)); break;
    default: HF_CHECK_OK(RunReads(page, &answer));
  }
  return answer;
}

Status Asking::RunThrough(const Step& step, const PageRequest& page, Answer* answer) {
  const auto& library = runtime_.options_.commands;
  std::string name = runtime_.model().name + "." + pattern_.id;
  if (library == nullptr || library->patterns.count(name) == 0)
    return Refuse("NotConfigured", pattern_.id + " is answered by C++, which this program does not hold");
  HF_TRY(size_t want, PageSize(page));
  Position position;
  if (!page.cursor.empty()) {
    HF_TRY(position, runtime_.cursors_.Decode(page.cursor, BoundTo()));
  }
  const Item parameters(params_);
  PatternContext context{parameters, runtime_.NowMillis(), {}};
  // What the request has read: an operation, an item and each 4 KB of it count as one.
  size_t read = 0;
  context.has_read_enough = [&] { return read >= kThroughReadsEnough; };
  context.ask_page = [&](std::string_view id, const Item& known,
                         const PageRequest& part_page) -> Result<Answer> {
    if (std::find(step.through.begin(), step.through.end(), id) == step.through.end())
      return Refuse("Internal", pattern_.id + " does not say that it asks " + std::string(id));
    if (read >= kThroughReadsMax)
      return Refuse("ReadLimitExceeded", pattern_.id + " would read more than one request may: ask for less");
    ++read;
    HF_TRY(Answer part, runtime_.Ask(kProgram, id, known, part_page));
    for (const Record& record : part.records) read += 1 + record.stored().flat().size() / 4096;
    return part;
  };
  context.ask = [&](std::string_view id, const Item& known) -> Result<std::vector<Record>> {
    std::vector<Record> all;
    PageRequest next;
    next.limit = kPageMax;
    do {
      HF_TRY(Answer part, context.ask_page(id, known, next));
      std::move(part.records.begin(), part.records.end(), std::back_inserter(all));
      next.cursor = std::move(part.cursor);
    } while (!next.cursor.empty());
    return all;
  };
  context.from = position.after_key;
  std::string rest;
  context.rest = &rest;
  HF_TRY(std::vector<Record> found, library->patterns.find(name)->second(context));
  size_t others = std::erase_if(found, [&](const Record& record) {
    return record.entity() == nullptr || !runtime_.IsVisible(caller_, *record.entity(), record.stored());
  });
  bool whole = rest.empty() && position.after_key.empty();
  if (others > 0 && found.empty() && whole)
    return Refuse("NotFound", "there is no such " + step.returns[0]->name);
  TakePage(position, want, std::move(found), answer);
  if (answer->cursor.empty() && !rest.empty()) {
    Position next;
    next.after_key = std::move(rest);
    answer->cursor = runtime_.cursors_.Encode(next, BoundTo());
  }
  return Ok{};
}

// Of a result that is there as a whole, or from `after_key` on.
void Asking::TakePage(const Position& from, size_t want, std::vector<Record> found, Answer* answer) const {
  auto skip = static_cast<size_t>(from.skip);
  auto begin = found.begin() + static_cast<ptrdiff_t>(std::min(skip, found.size()));
  auto end = begin + std::min(static_cast<ptrdiff_t>(want), found.end() - begin);
  if (end != found.end()) {
    Position position;
    position.after_key = from.after_key;
    position.skip = static_cast<int64_t>(skip + want);
    answer->cursor = runtime_.cursors_.Encode(position, BoundTo());
  }
  answer->records.assign(std::move_iterator(begin), std::move_iterator(end));
}

Result<size_t> Asking::PageSize(const PageRequest& page) const {
  int64_t limit = page.limit.value_or(pattern_.limit);
  if (limit < 1 || limit > static_cast<int64_t>(kPageMax))
    return RefuseField("limit", "should be from 1 to 1000", std::to_string(limit));
  return static_cast<size_t>(limit);
}

Status Asking::RunSearch(const Step& step, Answer* answer) {
  HF_TRY(*answer, SearchBySimilarity(&runtime_, step, params_));
  return Ok{};
}

// --- writing ---

Item Asking::WriteFields(const Entity& entity) const {
  Item fields;
  for (const auto& [name, value] : params_) {
    if (entity.Find(name) != nullptr) fields.Set(name, value);
  }
  return fields;
}

Status Asking::RunWrite(const Step& step, Answer* answer) {
  const Entity& entity = *step.returns[0];
  Item fields = WriteFields(entity);
  // To a tenant what is not there looks like what is somebody else's.
  if (step.form == Form::kDelete)
    return runtime_.Delete(caller_, entity, fields, expected_, /*idempotent=*/caller_.tenant.empty());
  if (step.form == Form::kPut) {
    HF_TRY(Written written, runtime_.Create(caller_, entity.name, fields, Origin::kCaller));
    answer->records.push_back(std::move(written.record));
    answer->warnings = std::move(written.warnings);
    return Ok{};
  }
  Item key;
  for (const std::string& name : entity.KeyInputs()) {
    if (auto value = fields.Get(name)) key.Set(name, *value);
    fields.Remove(name);
  }
  HF_TRY(Written written,
         runtime_.Patch(caller_, entity, key, fields, /*replace=*/false, expected_, step.where, params()));
  answer->records.push_back(std::move(written.record));
  answer->warnings = std::move(written.warnings);
  return Ok{};
}

Status Asking::RunPutAll(const Step& step, Answer* answer) {
  const Entity& entity = *step.returns[0];
  HF_CHECK_OK(runtime_.MayWrite(caller_, entity, /*changes=*/false));
  if (items_.empty()) return RefuseField("items", "is required: a list of maps");
  Sources sources = runtime_.MakeSources();
  std::vector<Item> built;
  std::set<std::string> keys;
  std::vector<TransactWriteItem> parents;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].type() != Type::kMap)
      return RefuseField("items[" + std::to_string(i) + "]", "should be a map");
    HF_TRY(Item fields, runtime_.WithTenant(caller_, entity, Item(items_[i].AsMap())));
    HF_TRY(BuiltItem one, BuildNew(runtime_.model(), entity, fields, Origin::kCaller, sources));
    HF_CHECK_OK(runtime_.AddParentChecks(entity, Record(&entity, one.item).Fields(), {}, &parents));
    answer->warnings.insert(answer->warnings.end(), one.warnings.begin(), one.warnings.end());
    if (!keys.insert(std::string(KeyOf(*step.table, one.item).flat())).second)
      return RefuseField("items[" + std::to_string(i) + "]", "has the key of one before it");
    built.push_back(std::move(one.item));
  }
  // A batch has no conditions: the parents are looked at first.
  for (const TransactWriteItem& parent : parents) {
    GetItemRequest request;
    request.table_name = parent.condition_check->table_name;
    request.key = parent.condition_check->key;
    request.consistent_read = true;
    auto got = runtime_.store_->Run(request);
    if (!got) return FromStore(got.error());
    if (!got->item)
      return Refuse("NotFound", "the parent of an item is missing: " +
                                    KeyTextOf(*runtime_.model().TableNamed(request.table_name), request.key));
  }
  for (size_t begin = 0; begin < built.size(); begin += limits::kBatchWriteRequestsMax) {
    BatchWriteItemRequest request;
    for (size_t i = begin; i < std::min(built.size(), begin + limits::kBatchWriteRequestsMax); ++i) {
      request.request_items[step.table->name].emplace_back().put_request = PutRequest{built[i]};
    }
    HF_CHECK_OK(runtime_.WriteBatch(std::move(request)));
  }
  for (const Item& item : built) runtime_.NoteWrite(entity, item, /*deleted=*/false);
  for (Item& item : built) answer->records.emplace_back(&entity, std::move(item));
  return Ok{};
}

Status Asking::RunDeleteAll(const Step& step, Answer* answer) {
  const Entity& entity = *step.returns[0];
  HF_CHECK_OK(runtime_.MayWrite(caller_, entity, /*changes=*/true));
  HF_TRY(Planned planned, PlanQuery(step));
  HF_CHECK_OK(CheckOwner(step, planned.query));
  QueryRequest request = planned.query;
  size_t noted = 0;
  do {
    request.limit = static_cast<int64_t>(limits::kBatchWriteRequestsMax);
    auto page = runtime_.store_->Run(request);
    if (!page) return FromStore(page.error());
    BatchWriteItemRequest batch;
    for (Item& item : *page->items) {
      std::optional<Record> record = Accept(step, std::move(item));
      if (!record) continue;
      batch.request_items[step.table->name].emplace_back().delete_request =
          DeleteRequest{KeyOf(*step.table, record->stored())};
      answer->records.push_back(*std::move(record));
    }
    if (!batch.request_items.empty()) HF_CHECK_OK(runtime_.WriteBatch(std::move(batch)));
    for (; noted < answer->records.size(); ++noted)
      runtime_.NoteWrite(entity, answer->records[noted].stored(), /*deleted=*/true);
    request.exclusive_start_key = std::move(page->last_evaluated_key);
  } while (request.exclusive_start_key);
  return Ok{};
}

Status Asking::RunTransact(const Step& step, Answer* answer) {
  Sources sources = runtime_.MakeSources();
  std::vector<Item> keys;
  std::vector<Item> built;
  for (const PatternWrite& write : step.writes) {
    HF_CHECK_OK(runtime_.MayWrite(caller_, *write.entity, /*changes=*/false));
    Item fields;
    for (const auto& [name, pattern] : write.set) {
      // A parameter alone keeps its type; one that was not given leaves the attribute out.
      bool alone =
          pattern.parts.size() == 1 && pattern.parts[0].text.empty() && !pattern.parts[0].name.empty();
      if (alone) {
        if (auto value = Param(pattern.parts[0].name)) fields.Set(name, *value);
        continue;
      }
      HF_TRY(std::optional<std::string> text, Fill(pattern, Bound::kExact, /*prefix=*/false));
      fields.Set(name, *text);
    }
    HF_TRY(fields, runtime_.WithTenant(caller_, *write.entity, fields));
    HF_TRY(BuiltItem one, BuildNew(runtime_.model(), *write.entity, fields, Origin::kCaller, sources));
    answer->warnings.insert(answer->warnings.end(), one.warnings.begin(), one.warnings.end());
    keys.push_back(KeyOf(*write.entity->table, one.item));
    built.push_back(std::move(one.item));
  }
  std::vector<TransactWriteItem> actions;
  for (size_t i = 0; i < built.size(); ++i) {
    HF_CHECK_OK(runtime_.AddChecksOfNew(*step.writes[i].entity, built[i], keys, &actions));
    runtime_.AddPut(*step.writes[i].entity, built[i], &actions);
  }
  TransactWriteItemsRequest request;
  request.transact_items = std::move(actions);
  HF_CHECK_OK(runtime_.Patiently([&] { return runtime_.WriteTransaction(request); }));
  for (size_t i = 0; i < built.size(); ++i) {
    runtime_.NoteWrite(*step.writes[i].entity, built[i], /*deleted=*/false);
    answer->records.emplace_back(step.writes[i].entity, std::move(built[i]));
  }
  return Ok{};
}

// --- the runtime's side ---

Status Runtime::WriteBatch(BatchWriteItemRequest request) {
  for (int attempt = 1; !request.request_items.empty(); ++attempt) {
    auto done = store_->Run(request);
    if (!done) return FromStore(done.error());
    request.request_items = std::move(done->unprocessed_items);
    if (!request.request_items.empty()) Pause(std::min(attempt, 8));
  }
  return Ok{};
}

Result<Answer> Runtime::Ask(const Caller& caller, std::string_view id, const Item& parameters,
                            const PageRequest& page) {
  const Pattern* pattern = model_->FindPattern(id);
  if (pattern == nullptr)
    return Refuse("NotFound", "the model " + model_->name + " has no pattern " + std::string(id));
  Asking asking(this, caller, *pattern);
  HF_CHECK_OK(asking.Bind(parameters));
  return asking.Run(page);
}

Result<std::vector<std::string>> Runtime::Explain(const Caller& caller, std::string_view id,
                                                  const Item& parameters) {
  const Pattern* pattern = model_->FindPattern(id);
  if (pattern == nullptr)
    return Refuse("NotFound", "the model " + model_->name + " has no pattern " + std::string(id));
  Asking asking(this, caller, *pattern);
  HF_CHECK_OK(asking.Bind(parameters));
  return asking.Explain();
}

// A pattern of the moment: the first of the table and its indexes whose partition key can be made of `known`.
Result<Answer> Runtime::List(const Caller& caller, const Entity& entity, const Item& known,
                             const PageRequest& page) {
  Item with = known;
  if (!caller.tenant.empty() && model_->FillsTenant() && entity.Find(model_->tenant) != nullptr &&
      !with.Has(model_->tenant))
    with.Set(model_->tenant, caller.tenant);
  auto serves = [&](const std::vector<KeyPart>& parts, size_t hash_count) {
    for (size_t i = 0; i < hash_count; ++i) {
      for (const std::string& name : parts[i].templates[0].Names()) {
        if (!with.Has(name)) return false;
      }
    }
    return true;
  };
  Pattern pattern;
  pattern.id = "list " + entity.name;
  Step& step = pattern.cases.emplace_back().steps.emplace_back();
  step.form = Form::kQuery;
  step.table = entity.table;
  step.returns = {&entity};
  const std::vector<KeyPart>* parts = nullptr;
  size_t hash_count = 1;
  bool one_a_partition = entity.key.size() == 1 || entity.key[1].templates[0].is_constant();
  if (serves(entity.key, 1) &&
      !(one_a_partition && entity.key[0].templates.size() == 1 && !entity.indexes.empty() && known.empty())) {
    parts = &entity.key;
  } else {
    for (const IndexKey& index : entity.indexes) {
      if (parts != nullptr || !serves(index.parts, index.index->hash.size())) continue;
      step.index = index.index;
      parts = &index.parts;
      hash_count = index.index->hash.size();
    }
  }
  if (parts == nullptr) {
    std::string ways;
    for (const auto& one : model_->patterns) {
      for (const Case& c : one->cases) {
        bool returns = !c.steps.empty() && std::find(c.steps[0].returns.begin(), c.steps[0].returns.end(),
                                                     &entity) != c.steps[0].returns.end();
        if (returns && ways.find(one->id) == std::string::npos) ways += (ways.empty() ? "" : ", ") + one->id;
      }
    }
    return RefuseField("parameters",
                       "no key or index lists " + entity.name + " by what is given; it is found by " + ways);
  }
  for (size_t i = 0; i < hash_count; ++i) {
    const Template* chosen = &(*parts)[i].templates[0];
    step.partition.emplace_back((*parts)[i].attribute, *chosen);
  }
  if (parts->size() > hash_count) {
    const KeyPart& sort = (*parts)[hash_count];
    step.sort_key = sort.attribute;
    // As much of the sort key as is known, at least what tells the entity.
    step.sort.op = SortCondition::Op::kBeginsWith;
    step.sort.low = sort.templates[0];
    if (sort.attribute.type != 'S' || sort.templates[0].parts[0].text.empty())
      step.sort.op = SortCondition::Op::kNone;
  }
  for (const Attribute& attribute : entity.attributes) {
    Attribute param = attribute;
    param.required = false;
    param.default_value.reset();
    param.default_from.reset();
    pattern.params.push_back(std::move(param));
  }
  HF_CHECK_OK(KeepWhatIsKnown(entity, known, &step));
  Asking asking(this, caller, pattern);
  HF_CHECK_OK(asking.Bind(with));
  return asking.Run(page);
}

Result<Answer> Runtime::AskMemory(const Caller& caller, const Pattern& pattern, const Step& step,
                                  const AttributeMap& params) {
  auto wanted = params.find(step.memory_by);
  if (wanted == params.end()) return RefuseField(step.memory_by, "is required");
  auto source = [&](const Memories::Visit& visit) -> Status {
    PageRequest page;
    page.limit = kPageMax;
    do {
      HF_TRY(Answer answer, Ask(kProgram, step.memory_from, Item(), page));
      for (const Record& record : answer.records) visit(record);
      page.cursor = answer.cursor;
    } while (!page.cursor.empty());
    return Ok{};
  };
  std::vector<Record> found;
  if (store::ActingFor::Current() == nullptr) {
    HF_TRY(found, memories_.Find(pattern, wanted->second, source));
  } else {
    // Who is held to policies reads where it comes from: only that is checked.
    std::string value = ReadableValue(wanted->second);
    HF_CHECK_OK(source([&](const Record& record) {
      auto by = record.stored().Get(step.memory_by);
      if (by && ReadableValue(*by) == value) found.push_back(record);
    }));
  }
  Answer answer;
  for (Record& record : found) {
    const Entity& entity = *record.entity();
    if (!IsExpired(*entity.table, record.stored()) && IsVisible(caller, entity, record.stored()))
      answer.records.push_back(std::move(record));
  }
  return answer;
}

}  // namespace holdfast::model
