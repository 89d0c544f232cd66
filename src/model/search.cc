#include "model/search.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"

namespace holdfast::model {
namespace {

using value::Type;

// How often items that change while they are searched are searched again before the answer says so.
constexpr int kRoundsMax = 5;
constexpr std::string_view kEach = "each.";

struct Filter {
  std::string name;
  AttributeValue value;
};

// One search: the filters, and the item of `each` that they came from.
struct Target {
  Item key;
  std::vector<Filter> filters;
};

}  // namespace

class Searching {
 public:
  Searching(Runtime* runtime, const Step& step, const AttributeMap& params)
      : runtime_(*runtime), step_(step), search_(*step.search), params_(params) {}

  Result<std::vector<std::string>> Explain() {
    std::vector<std::string> lines;
    if (!search_.each_pattern.empty()) {
      HF_TRY(lines, runtime_.Explain(Caller::Administrator(), search_.each_pattern, Item()));
      HF_TRY(std::vector<Item> each, ReadEach());
      HF_TRY(std::vector<Item> live, ReadAgain(each));
      lines.push_back(ReadLine(each));
      for (const Item& item : live) lines.push_back(Line(TargetOf(&item)));
      lines.push_back(ReadLine(live));
      return lines;
    }
    return std::vector<std::string>{Line(TargetOf(nullptr))};
  }

  Result<Answer> Run() {
    double threshold = Number("threshold").value_or(search_.threshold);
    double top_k = Number("top_k").value_or(static_cast<double>(search_.top_k));
    if (threshold < -1 || threshold > 1) return RefuseField("threshold", "should be from -1 to 1");
    if (top_k < 1 || top_k > static_cast<double>(limits::kVectorTopKMax) || top_k != std::floor(top_k))
      return RefuseField("top_k", "should be a whole number from 1 to 100");
    HF_TRY(SearchVector vector, Vector());
    request_.search_vector = std::move(vector);
    request_.top_k = static_cast<int64_t>(top_k);
    HF_CHECK_OK(search_.each_pattern.empty() ? SearchOne() : SearchEach());
    std::stable_sort(found_.begin(), found_.end(), [](const Hit& a, const Hit& b) {
      return a.similarity != b.similarity ? a.similarity > b.similarity : a.item.flat() < b.item.flat();
    });
    Answer answer;
    for (Hit& hit : found_) {
      if (hit.similarity < threshold || answer.records.size() == static_cast<size_t>(top_k)) break;
      answer.records.emplace_back(nullptr, std::move(hit.item));
      answer.similarities.push_back(hit.similarity);
    }
    return answer;
  }

 private:
  struct Hit {
    Item item;
    double similarity;
  };

  std::optional<double> Number(const std::string& name) const {
    auto at = params_.find(name);
    if (at == params_.end() || at->second.type() != Type::kNumber) return std::nullopt;
    return at->second.AsDouble();
  }

  const Entity& EachEntity() const {
    return *runtime_.model().FindPattern(search_.each_pattern)->cases[0].steps[0].returns[0];
  }

  // The vector that was given, or the one of the text that was.
  Result<SearchVector> Vector() {
    if (auto at = params_.find("vector"); at != params_.end()) {
      std::vector<float> numbers;
      for (const AttributeValue& number : at->second.AsList())
        numbers.push_back(static_cast<float>(number.AsDouble()));
      return SearchVector(std::move(numbers));
    }
    auto text = params_.find("text");
    if (text == params_.end()) return RefuseField("vector", "is required, or `text`");
    const Attribute* attribute = search_.entity->Find(search_.index->attribute);
    Sources sources = runtime_.MakeSources();
    HF_TRY(std::vector<float> numbers, sources.embed(*attribute, text->second.AsText()));
    return SearchVector(std::move(numbers));
  }

  Target TargetOf(const Item* each) const {
    Target target;
    if (each != nullptr) target.key = KeyOf(*EachEntity().table, *each);
    for (const auto& [name, pattern] : search_.match) {
      const std::string& source = pattern.parts[0].name;
      std::optional<AttributeValue> value;
      if (source.starts_with(kEach)) {
        if (each != nullptr) value = each->Get(source.substr(kEach.size()));
      } else if (auto at = params_.find(source); at != params_.end()) {
        value = at->second;
      }
      if (value) target.filters.push_back({name, *value});
    }
    return target;
  }

  std::string Line(const Target& target) const {
    std::string line = "SearchVectors " + step_.table->name + "." + search_.index->name;
    for (const Filter& filter : target.filters) {
      line += (&filter == &target.filters.front() ? " where " : " and ") + filter.name + " = " +
              ReadableValue(filter.value);
    }
    return line;
  }

  std::string ReadLine(const std::vector<Item>& items) const {
    std::string line = "BatchGetItem " + EachEntity().table->name;
    for (const Item& item : items) {
      std::string key;
      for (const KeyAttribute& attribute : EachEntity().table->key) {
        key += (key.empty() ? "" : ", ") + attribute.name + ": " +
               ReadableValue(item.Get(attribute.name).value_or(AttributeValue()));
      }
      line += " {" + key + "}";
    }
    return line + " consistent";
  }

  Result<std::vector<Item>> ReadEach() {
    std::vector<Item> items;
    PageRequest page;
    page.limit = 1000;
    do {
      HF_TRY(Answer answer, runtime_.Ask(Caller::Administrator(), search_.each_pattern, Item(), page));
      for (const Record& record : answer.records) items.push_back(record.stored());
      page.cursor = answer.cursor;
    } while (!page.cursor.empty());
    return items;
  }

  bool IsLive(const Item& item) const {
    static const ParamValues kNone = [](std::string_view) { return std::nullopt; };
    return std::all_of(search_.each_where.begin(), search_.each_where.end(), [&](const Condition& condition) {
      return Holds(condition, item.flat(), kNone, Absent::kFails);
    });
  }

  // The same items as they are now: an index may lag behind.
  Result<std::vector<Item>> ReadAgain(const std::vector<Item>& items) {
    const Table& table = *EachEntity().table;
    std::map<std::string, Item> found;
    for (size_t begin = 0; begin < items.size(); begin += limits::kBatchGetKeysMax) {
      BatchGetItemRequest request;
      KeysAndAttributes& wanted = request.request_items[table.name];
      wanted.consistent_read = true;
      for (size_t i = begin; i < std::min(items.size(), begin + limits::kBatchGetKeysMax); ++i)
        wanted.keys.push_back(KeyOf(table, items[i]));
      while (!request.request_items.empty()) {
        auto got = runtime_.store_->Run(request);
        if (!got) return FromStore(got.error());
        for (Item& item : got->responses[table.name]) {
          if (IsLive(item)) found.emplace(KeyOf(table, item).flat(), std::move(item));
        }
        request.request_items = std::move(got->unprocessed_keys);
      }
    }
    std::vector<Item> live;
    for (const Item& item : items) {
      auto at = found.find(std::string(KeyOf(table, item).flat()));
      if (at != found.end()) live.push_back(std::move(at->second));
    }
    return live;
  }

  Status Search(const Target& target, std::vector<Hit>* hits) {
    SearchVectorsRequest request = request_;
    request.table_name = step_.table->name;
    request.index_name = search_.index->name;
    ExpressionBuilder builder;
    for (const Filter& filter : target.filters)
      builder.And().Path(filter.name).Text(" = ").Value(filter.value);
    if (!builder.empty()) request.search_condition_expression = builder.Take();
    for (const std::string& name : search_.select) builder.Text(builder.empty() ? "" : ", ").Path(name);
    if (!builder.empty()) request.projection_expression = builder.Take();
    builder.Finish(&request);
    auto found = runtime_.store_->Run(request);
    if (!found) return FromStore(found.error());
    for (SearchResult& result : found->search_results) {
      hits->push_back({std::move(static_cast<Item&>(result.item)), 1.0 - static_cast<double>(result.score)});
    }
    return Ok{};
  }

  Status SearchOne() { return Search(TargetOf(nullptr), &found_); }

  // Each item is searched as it was before and is still after the search; one that changed is searched again.
  Status SearchEach() {
    HF_TRY(std::vector<Item> each, ReadEach());
    HF_TRY(std::vector<Item> live, ReadAgain(each));
    std::map<std::string, std::pair<Item, std::vector<Hit>>> done;
    for (int round = 0; round < kRoundsMax; ++round) {
      std::set<std::string> current;
      for (const Item& item : live) {
        std::string key(KeyOf(*EachEntity().table, item).flat());
        current.insert(key);
        auto at = done.find(key);
        if (at != done.end() && SameTarget(at->second.first, item)) continue;
        std::vector<Hit> hits;
        HF_CHECK_OK(Search(TargetOf(&item), &hits));
        done.insert_or_assign(key, std::pair(item, std::move(hits)));
      }
      std::erase_if(done, [&](const auto& one) { return current.count(one.first) == 0; });
      HF_TRY(std::vector<Item> again, ReadAgain(live));
      bool same =
          again.size() == live.size() && std::all_of(again.begin(), again.end(), [&](const Item& item) {
            auto at = done.find(std::string(KeyOf(*EachEntity().table, item).flat()));
            return at != done.end() && SameTarget(at->second.first, item);
          });
      live = std::move(again);
      if (same) break;
      if (round + 1 == kRoundsMax) return Refuse("Conflict", "what is searched keeps changing; try again");
    }
    for (auto& [key, one] : done) std::move(one.second.begin(), one.second.end(), std::back_inserter(found_));
    return Ok{};
  }

  bool SameTarget(const Item& a, const Item& b) const { return Line(TargetOf(&a)) == Line(TargetOf(&b)); }

  Runtime& runtime_;
  const Step& step_;
  const struct Search& search_;
  const AttributeMap& params_;
  SearchVectorsRequest request_;
  std::vector<Hit> found_;
};

Result<Answer> SearchBySimilarity(Runtime* runtime, const Step& step, const AttributeMap& params) {
  return Searching(runtime, step, params).Run();
}

Result<std::vector<std::string>> ExplainSearch(Runtime* runtime, const Step& step,
                                               const AttributeMap& params) {
  return Searching(runtime, step, params).Explain();
}

}  // namespace holdfast::model
