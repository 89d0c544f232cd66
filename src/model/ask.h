// One question to a pattern: its parameters bound and checked, its plan, its pages.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/model.h"
#include "model/cursor.h"
#include "model/model.h"
#include "model/runtime.h"

namespace holdfast::model {

class Asking {
 public:
  Asking(Runtime* runtime, const Caller& caller, const Pattern& pattern)
      : runtime_(*runtime), caller_(caller), pattern_(pattern) {}

  // Checks the parameters and decides for a case. First.
  Status Bind(const Item& parameters);
  Result<std::vector<std::string>> Explain();
  Result<Answer> Run(const PageRequest& page);

 private:
  // Which of several instants a text in a key stands for.
  enum class Bound : uint8_t { kExact, kLower, kUpper };
  // A step with its values in place.
  struct Planned {
    const Step* step = nullptr;
    QueryRequest query;
    std::vector<Item> keys;  // of get and batch_get
    std::string text;        // for people
  };

  Status BindTenant(AttributeMap* given) const;
  Status BindParams(AttributeMap given);
  Status ChooseCase();
  std::optional<AttributeValue> Param(std::string_view name) const;
  ParamValues params() const {
    return [this](std::string_view name) { return Param(name); };
  }
  // The text of a template. Empty when a parameter is missing; with `prefix`, what stands before it.
  Result<std::optional<std::string>> Fill(const Template& pattern, Bound bound, bool prefix) const;
  Result<AttributeValue> FillKey(const KeyAttribute& attribute, const Template& pattern, Bound bound) const;

  Result<Planned> Plan(const Step& step);
  Result<Planned> PlanQuery(const Step& step);
  Result<Planned> PlanKeys(const Step& step);
  Status AppendSort(const Step& step, ExpressionBuilder* builder) const;
  Status CheckOwner(const Step& step, const QueryRequest& query);
  Result<std::vector<std::string>> ExplainStep(const Step& step);
  Result<std::vector<std::string>> ExplainParts(const Step& step);
  // Those parameters that are another pattern's too.
  Item KnownTo(const Pattern& other) const;
  Item WriteFields(const Entity& entity) const;

  // --- running; each appends to `answer` ---
  Status RunReads(const PageRequest& page, Answer* answer);
  // True when there is more than `want`; `position` then says where.
  Result<bool> RunQuery(Planned planned, size_t want, Position* position, std::vector<Record>* out);
  // One step, until there are `want` in `out`. True when there is more; `position` then says where.
  Result<bool> RunStep(const Step& step, size_t want, Position* position, std::vector<Record>* out);
  // All of it, to show the page in the order of an attribute.
  Status RunSorted(size_t want, const Position& after, Answer* answer);
  std::pair<std::optional<int64_t>, std::optional<int64_t>> AskedInstants(const SortCondition& sort) const;
  Result<bool> RunScan(const Step& step, size_t want, Position* position, std::vector<Record>* out);
  Status RunKeys(const Planned& planned, std::vector<Record>* out);
  Status RunSearch(const Step& step, Answer* answer);
  Status RunThrough(const Step& step, const PageRequest& page, Answer* answer);
  Result<size_t> PageSize(const PageRequest& page) const;
  void TakePage(const Position& from, size_t want, std::vector<Record> found, Answer* answer) const;
  Status RunWrite(const Step& step, Answer* answer);
  Status RunPutAll(const Step& step, Answer* answer);
  Status RunDeleteAll(const Step& step, Answer* answer);
  Status RunTransact(const Step& step, Answer* answer);
  // Whether the caller gets to see the item, and as what.
  std::optional<Record> Accept(const Step& step, Item item) const;
  Item StartKey(const Step& step, const Item& item) const;
  std::string BoundTo() const;

  Runtime& runtime_;
  const Caller& caller_;
  const Pattern& pattern_;
  AttributeMap params_;
  const Case* case_ = nullptr;
  Expected expected_;
  std::vector<AttributeValue> items_;  // of put_all
  bool sketch_ = false;                // only explained: what is missing goes by its name
};

}  // namespace holdfast::model
