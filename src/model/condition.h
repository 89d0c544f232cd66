// Conditions as models write them: "heldUntil exists", "a + b <= total", "status in ('x', 'y')".
// docs/models.md has the grammar. They are asked in memory, or made into a DynamoDB expression.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/value.h"
#include "model/expression_builder.h"
#include "value/flat.h"

namespace holdfast::model {

struct Operand {
  enum class Kind : uint8_t { kPath, kParam, kLiteral, kCount, kSum };
  Kind kind = Kind::kPath;
  std::string path;            // kPath, kCount; the name of kParam
  AttributeValue literal;      // kLiteral
  std::vector<Operand> terms;  // kSum
};

struct Condition {
  enum class Op : uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kExists,
    kMissing,
    kContains,
    kNotContains,
    kBeginsWith,
    kIn,
    kNotIn,
    kUnique,
    kAnd,
    kOr,
    kIfThen,
  };
  Op op = Op::kExists;
  Operand left;
  std::vector<Operand> right;
  std::vector<Condition> parts;  // kAnd: all; kOr: any; kIfThen: the two
  std::string text;              // as written

  // The first names of all paths: the attributes that decide.
  std::vector<std::string> Attributes() const;
  std::vector<std::string> Params() const;
};

Result<Condition> ParseCondition(std::string_view text);

// The value of an attribute, or nothing.
using Known = std::function<std::optional<value::ValueView>(std::string_view name)>;

// The value of a parameter, or nothing.
using ParamValues = std::function<std::optional<AttributeValue>(std::string_view name)>;

// How a comparison with something absent ends. A filter drops the item, as DynamoDB's do; a check passes it:
// what must be there says so itself.
enum class Absent : uint8_t { kFails, kPasses };

// Whether `item`, the flat form of a map, fulfils it. Instants of either spelling compare as instants.
bool Holds(const Condition& condition, std::string_view item, const ParamValues& params, Absent absent);
bool Holds(const Condition& condition, const Known& known, const ParamValues& params, Absent absent);

// All values at a path below `at`: "b.c" of a map, "[].b" one per element. What is NULL is not there.
void CollectValues(std::optional<value::ValueView> at, std::string_view path,
                   std::vector<value::ValueView>* out);

// Adds it to `builder` as DynamoDB writes it. Fails for what only memory can decide (count, +, unique, if).
Status AppendCondition(const Condition& condition, const ParamValues& params, ExpressionBuilder* builder);

}  // namespace holdfast::model
