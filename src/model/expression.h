// Values as commands write them: "$input.name", "$now + 30m", "version {artefact.version}", maps and lists of
// such. docs/commands.md has the notation. Parsed when the model is loaded, evaluated when a command runs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/value.h"
#include "model/condition.h"
#include "model/key_template.h"
#include "value/flat.h"

namespace holdfast::model {

struct Sources;

struct NamedExpression;

struct Expression {
  enum class Kind : uint8_t {
    kLiteral,
    kPath,      // $project.status
    kUuid,      // $uuid
    kUlid,      // $ulid
    kNothing,   // $nothing: as if it were not there; in a change, what removes
    kTemplate,  // a text with {paths} in it
    kAdd,       // parts[0] + parts[1], or without it: numbers
    kShift,     // parts[0], a time, + parts[1] × unit
    kFirst,     // the first of the parts that is there
    kMap,
    kList,
    kAppend,   // parts[0], a list, and parts[1] as its last element
    kMerge,    // the maps of parts, later ones over earlier ones
    kElement,  // of parts[0], a list, the one that parts[1] counts, from 1
    kIf,       // parts[0] when the condition holds, else parts[1], if there is one
  };
  Kind kind = Kind::kNothing;
  AttributeValue literal;
  std::string path;
  Template pattern;
  bool minus = false;       // of kAdd
  int64_t unit_millis = 0;  // of kShift; negative: back
  std::vector<Expression> parts;
  std::vector<NamedExpression> fields;  // of kMap
  std::optional<Condition> condition;   // of kIf
};

struct NamedExpression {
  std::string name;
  Expression value;
};
using Fields = std::vector<NamedExpression>;

// A text that may be a literal, a template, or begin with '$'.
Result<Expression> ParseExpression(std::string_view text);

// Calls `visit` with every path that the expression looks at, those of its conditions and templates too.
void VisitPaths(const Expression& expression, const std::function<void(std::string_view path)>& visit);
void VisitPaths(const Condition& condition, const std::function<void(std::string_view path)>& visit);

// What expressions and conditions see: values by name. Those of inner scopes hide outer ones.
//
// Not thread-safe; views that come from it live as long as it does.
class Scope {
 public:
  explicit Scope(const Sources* sources) : sources_(sources) {}

  // A name and what it means from now on; an absent value hides as well.
  void Set(std::string_view name, const Item& item);
  void Set(std::string_view name, std::optional<value::ValueView> value);
  // Undone by Leave(mark): what was set since.
  size_t Mark() const { return names_.size(); }
  void Leave(size_t mark);

  // Nothing when it is absent or NULL.
  std::optional<value::ValueView> Find(std::string_view path);
  Result<std::optional<value::ValueView>> Evaluate(const Expression& expression);
  // The fields that have values, as an item. With `nulls`, those that have none are NULL.
  Result<Item> Evaluate(const Fields& fields, bool nulls = false);
  bool Holds(const Condition& condition);
  bool Holds(const std::optional<Condition>& condition) { return !condition || Holds(*condition); }

 private:
  value::ValueView Keep(std::string flat_value);
  std::optional<value::ValueView> Root(std::string_view name) const;
  Result<std::optional<value::ValueView>> Operate(const Expression& expression);

  const Sources* const sources_;
  std::vector<std::pair<std::string, std::optional<value::ValueView>>> names_;
  std::deque<std::string> kept_;
};

// An item as a value: what a map of these attributes is.
std::string FlatMap(const Item& item);
Item ItemOf(value::ValueView map);

}  // namespace holdfast::model
