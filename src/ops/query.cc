#include <set>

#include "expression/key_condition.h"
#include "ops/constraints.h"
#include "ops/key_range.h"
#include "ops/legacy.h"
#include "ops/operations.h"
#include "ops/page.h"
#include "ops/projection.h"
#include "ops/single_write.h"

namespace holdfast::ops {
namespace {

using engine::KeyAttribute;

// The request's expressions; refer to the request.
struct ParsedQuery {
  std::vector<expression::KeyCondition> key_conditions;
  std::optional<expression::Condition> filter;
  std::optional<expression::Projection> projection;
};

// KeyConditions go with the other expressions; only a KeyConditionExpression excludes them.
Status CheckParameters(const QueryRequest& request) {
  return CheckNotMixed(
      {{"AttributesToGet", request.attributes_to_get.has_value()},
       {"QueryFilter", request.query_filter.has_value()},
       {"ConditionalOperator", request.conditional_operator.has_value()},
       {"KeyConditions", request.key_conditions.has_value() && request.key_condition_expression.has_value()}},
      {{"ProjectionExpression", request.projection_expression.has_value()},
       {"FilterExpression", request.filter_expression.has_value()},
       {"KeyConditionExpression", request.key_condition_expression.has_value()}});
}

Result<ParsedQuery> Validate(const QueryRequest& request) {
  HF_CHECK_OK(CheckParameters(request));
  expression::Scope scope = ScopeOf(request);
  bool any_value = request.key_condition_expression || request.filter_expression;
  HF_CHECK_OK(scope.CheckUsable(any_value || request.projection_expression, any_value,
                                "FilterExpression and KeyConditionExpression are null"));
  ParsedQuery parsed;
  HF_TRY(parsed.filter, ConditionFromFilter(request.query_filter, request.conditional_operator));
  HF_TRY(parsed.projection, ProjectionFromNames(request.attributes_to_get));
  HF_CHECK_OK(CheckStartValues(request.exclusive_start_key));
  HF_CHECK_OK(CheckSelect(request.select,
                          {request.projection_expression.has_value(), request.attributes_to_get.has_value()},
                          request.index_name.has_value(), Reader::kQuery));
  if (!request.key_condition_expression && !request.key_conditions) {
    return ValidationError(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.");
  }
  HF_CHECK_OK(scope.CheckMaps());
  std::optional<expression::Tree> key_tree;
  if (request.key_condition_expression) {
    HF_TRY(key_tree, expression::ParseKeyConditionTree(*request.key_condition_expression, &scope));
  }
  if (request.filter_expression) {
    HF_TRY(parsed.filter, ParseOptional("FilterExpression", request.filter_expression, &scope));
  }
  if (request.projection_expression) {
    HF_TRY(parsed.projection, ParseProjection(request.projection_expression, &scope));
  }
  HF_CHECK_OK(scope.CheckAllUsed());
  if (key_tree) {
    HF_TRY(parsed.key_conditions, expression::CollectKeyConditions(*key_tree));
  } else {
    HF_TRY(parsed.key_conditions, KeyConditionsFrom(*request.key_conditions));
  }
  // An index may have up to eight key attributes; a table has two.
  bool too_many = parsed.key_conditions.size() > (request.index_name ? 8 : 2);
  if (parsed.key_conditions.empty() || too_many) {
    return ValidationError("Conditions can be of length 1 or 2 only");
  }
  return parsed;
}

// What the key conditions decide is not for the filter, nor is what the index does not hold. (A Scan may
// filter by the latter: it finds the attribute missing.)
Status CheckFilter(const Target& target, const QueryRequest& request, const expression::Condition* filter) {
  if (filter == nullptr) return Ok{};
  TargetKeys keys = KeysOf(target);
  std::set<std::string> names, unprojected;
  filter->ForEachPath([&](const expression::Path& path) {
    names.emplace(path[0].name);
    if (target.index != nullptr && !target.index->Projects(path[0].name)) unprojected.emplace(path[0].name);
  });
  for (const auto* part : {&keys.partition, &keys.sort}) {
    for (const KeyAttribute& attribute : *part) {
      if (!names.contains(attribute.name)) continue;
      return ValidationError(
          std::string(request.filter_expression ? "Filter Expression" : "QueryFilter") +
          " can only contain non-primary key attributes: Primary key attribute: " + attribute.name);
    }
  }
  if (unprojected.empty()) return Ok{};
  return ValidationError("One or more parameter values were invalid: Secondary index " + target.index->name +
                         " does not project one or more filter attributes: " +
                         JavaText(std::vector(unprojected.begin(), unprojected.end())));
}

bool IsWithin(const storage::Range& range, const std::string& key) {
  return key >= range.lower && (range.upper.empty() || key < range.upper);
}

// A start key that the conditions exclude, told by which of them.
Status CheckStartWithin(const Target& target, const ParsedQuery& parsed, const Item& start_key,
                        const storage::Range& range, const std::string& start) {
  if (IsWithin(range, start)) return Ok{};
  TargetKeys keys = KeysOf(target);
  if (parsed.key_conditions.size() <= keys.partition.size()) {
    return ValidationError(
        "The provided starting key is outside query boundaries based on provided conditions");
  }
  // Would it do in its own partition?
  std::vector<expression::KeyCondition> conditions = parsed.key_conditions;
  for (expression::KeyCondition& condition : conditions) {
    for (const KeyAttribute& attribute : keys.partition) {
      if (condition.attribute == attribute.name) {
        condition.operand = value::MapView(start_key).Find(attribute.name)->bytes();
      }
    }
  }
  HF_TRY(storage::Range own_range, KeyRange(target, conditions, nullptr));
  return ValidationError(IsWithin(own_range, start)
                             ? "The query can return at most one row and cannot be restarted"
                             : "The provided starting key does not match the range key predicate");
}

}  // namespace

Result<QueryResponse> Perform(Context& context, const QueryRequest& request) {
  HF_TRY(ParsedQuery parsed, Validate(request));
  bool consistent = request.consistent_read.value_or(false);
  HF_TRY(Target target,
         OpenTarget(context, request.table_name, request.index_name, consistent, Reader::kQuery));

  PageSpec spec;
  spec.single = target.index == nullptr && !target.schema().sort;
  const Item* given = PointerTo(request.exclusive_start_key);
  if (given != nullptr) HF_CHECK_OK(CheckStartCount(target, *given, Reader::kQuery));
  HF_TRY(spec.range, KeyRange(target, parsed.key_conditions, given));
  std::optional<std::string> start;
  if (given != nullptr) {
    HF_TRY(start, StartKey(target, *given));
    if (spec.single) {
      // A partition of one item has nothing to go on from.
      return ValidationError("The provided exclusive start key is invalid: ExclusiveStartKey: " +
                             JavaText(*given));
    }
    HF_CHECK_OK(CheckStartWithin(target, parsed, *given, spec.range, *start));
  }
  spec.start_after = std::move(start);
  HF_CHECK_OK(CheckProjectionPaths(target.schema(), PointerTo(parsed.projection)));
  HF_CHECK_OK(CheckFilter(target, request, PointerTo(parsed.filter)));
  HF_TRY(spec.shape, ChooseShape(target, request.select, PointerTo(parsed.projection)));
  HF_CHECK_OK(CheckConditionPaths(target.schema(), PointerTo(parsed.filter)));
  spec.forward = request.scan_index_forward.value_or(true);
  if (request.limit) spec.limit = static_cast<size_t>(*request.limit);
  spec.consistent = consistent;
  spec.filter = PointerTo(parsed.filter);
  spec.projection = PointerTo(parsed.projection);

  TableUsage usage(target.ref.table.get(), target.ref.schema, TableUsage::Kind::kRead);
  HF_TRY(Page page, ReadPage(context, target, spec, &usage));
  QueryResponse response;
  response.items = std::move(page.items);
  response.count = page.count;
  response.scanned_count = page.scanned_count;
  response.last_evaluated_key = std::move(page.last_evaluated_key);
  response.consumed_capacity = usage.Report(request.return_consumed_capacity);
  return response;
}

}  // namespace holdfast::ops
