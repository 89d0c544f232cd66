// Any text as each kind of expression: refused, or evaluated to something sound.
#include "base/limits.h"
#include "expression/condition.h"
#include "expression/key_condition.h"
#include "expression/projection.h"
#include "expression/testing.h"
#include "expression/update.h"
#include "tests/fuzz/fuzz.h"

using namespace holdfast;

static const Item kItem{{"a", AttributeValue::Map({{"a", AttributeValue::List({"x", 1})}, {"b", "y"}})},
                        {"n", 1},
                        {"s", "text"},
                        {"ss", AttributeValue::StringSet({"x", "y"})}};
static const Item kValues{{":v", "x"},
                          {":n", 1},
                          {":l", AttributeValue::List({"x"})},
                          {":s", AttributeValue::StringSet({"x"})},
                          {":t", "S"}};

FUZZ(bytes) {
  expression::testing::Request request{std::string(bytes), kValues, {{"#a", "a"}, {"#n", "name"}}};
  value::MapView item(kItem);
  if (auto condition = expression::Condition::Parse("ConditionExpression", request.text, &request.scope)) {
    HF_ASSERT(request.text.size() <= limits::kExpressionBytesMax);
    static_cast<void>(condition->Holds(item, &request.work));
    static_cast<void>(condition->Holds(nullptr, &request.work));
  }
  if (auto tree = expression::ParseKeyConditionTree(request.text, &request.scope)) {
    static_cast<void>(expression::CollectKeyConditions(*tree).has_value());
  }
  if (auto update = expression::Update::Parse(request.text, &request.scope)) {
    if (auto changed = update->Apply(item, &request.work))
      HF_ASSERT(value::IsWellFormedItem(changed->flat()));
  }
  if (auto projection = expression::Projection::Parse(request.text, &request.scope)) {
    HF_ASSERT(value::IsWellFormedItem(projection->Apply(item, &request.work).flat()));
  }
}
