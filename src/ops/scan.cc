#include "ops/legacy.h"
#include "ops/operations.h"
#include "ops/page.h"
#include "ops/projection.h"
#include "ops/single_write.h"

namespace holdfast::ops {
namespace {

struct ParsedScan {
  std::optional<expression::Condition> filter;
  std::optional<expression::Projection> projection;
};

Status CheckSegments(const ScanRequest& request) {
  if (request.total_segments && !request.segment) {
    return ValidationError(
        "The Segment parameter is required but was not present in the request when parameter TotalSegments "
        "is present");
  }
  if (request.segment && !request.total_segments) {
    return ValidationError(
        "The TotalSegments parameter is required but was not present in the request when Segment parameter "
        "is present");
  }
  if (request.segment && *request.segment >= *request.total_segments) {
    return ValidationError(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
        "Segment: " +
        std::to_string(*request.segment) +
        " is not less than TotalSegments: " + std::to_string(*request.total_segments));
  }
  return Ok{};
}

Result<ParsedScan> Validate(const ScanRequest& request) {
  HF_CHECK_OK(CheckNotMixed({{"AttributesToGet", request.attributes_to_get.has_value()},
                             {"ScanFilter", request.scan_filter.has_value()},
                             {"ConditionalOperator", request.conditional_operator.has_value()}},
                            {{"ProjectionExpression", request.projection_expression.has_value()},
                             {"FilterExpression", request.filter_expression.has_value()}}));
  expression::Scope scope = ScopeOf(request);
  bool any = request.filter_expression || request.projection_expression;
  HF_CHECK_OK(scope.CheckUsable(any, request.filter_expression.has_value(), "FilterExpression is null"));
  ParsedScan parsed;
  if (!any) {
    HF_TRY(parsed.projection, ProjectionFromNames(request.attributes_to_get));
    HF_TRY(parsed.filter, ConditionFromFilter(request.scan_filter, request.conditional_operator));
  }
  HF_CHECK_OK(CheckStartValues(request.exclusive_start_key));
  HF_CHECK_OK(CheckSegments(request));
  HF_CHECK_OK(CheckSelect(request.select,
                          {request.projection_expression.has_value(), request.attributes_to_get.has_value()},
                          request.index_name.has_value(), Reader::kScan));
  if (!any) return parsed;
  HF_CHECK_OK(scope.CheckMaps());
  HF_TRY(parsed.filter, ParseOptional("FilterExpression", request.filter_expression, &scope));
  HF_TRY(parsed.projection, ParseProjection(request.projection_expression, &scope));
  HF_CHECK_OK(scope.CheckAllUsed());
  return parsed;
}

Status CheckSegmentStart(const ScanRequest& request, const std::string& start, const storage::Range& range) {
  if (start >= range.lower && (range.upper.empty() || start < range.upper)) return Ok{};
  return ValidationError(
      "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with "
      "correct "
      "Segment. TotalSegments: " +
      std::to_string(request.total_segments.value_or(1)) +
      " Segment: " + std::to_string(request.segment.value_or(0)));
}

}  // namespace

Result<ScanResponse> Perform(Context& context, const ScanRequest& request) {
  HF_TRY(ParsedScan parsed, Validate(request));
  bool consistent = request.consistent_read.value_or(false);
  HF_TRY(Target target,
         OpenTarget(context, request.table_name, request.index_name, consistent, Reader::kScan));

  PageSpec spec;
  spec.range = request.segment ? engine::SegmentRange(target.id(), *request.segment, *request.total_segments)
                               : engine::ObjectRange(target.id());
  std::optional<std::string> start;
  if (request.exclusive_start_key) {
    const Item& given = *request.exclusive_start_key;
    HF_CHECK_OK(CheckStartCount(target, given, Reader::kScan));
    if (target.index != nullptr) {
      for (const auto& key : target.index->partition) HF_CHECK_OK(CheckStartAttribute(key, given, true));
      for (const auto& key : target.index->sort) HF_CHECK_OK(CheckStartAttribute(key, given, false));
    }
    if (auto shape = ChooseShape(target, request.select, nullptr); !shape) return shape.error();
    HF_TRY(start, StartKey(target, given));
  }
  HF_TRY(spec.shape, ChooseShape(target, request.select, PointerTo(parsed.projection)));
  if (start) HF_CHECK_OK(CheckSegmentStart(request, *start, spec.range));
  spec.start_after = std::move(start);
  HF_CHECK_OK(CheckProjectionPaths(target.schema(), PointerTo(parsed.projection)));
  HF_CHECK_OK(CheckConditionPaths(target.schema(), PointerTo(parsed.filter)));
  if (request.limit) spec.limit = static_cast<size_t>(*request.limit);
  spec.consistent = consistent;
  spec.spans_partitions = target.schema().billing == BillingMode::kPayPerRequest;
  spec.filter = PointerTo(parsed.filter);
  spec.projection = PointerTo(parsed.projection);

  TableUsage usage(target.ref.table.get(), target.ref.schema, TableUsage::Kind::kRead);
  HF_TRY(Page page, ReadPage(context, target, spec, &usage));
  ScanResponse response;
  response.items = std::move(page.items);
  response.count = page.count;
  response.scanned_count = page.scanned_count;
  response.last_evaluated_key = std::move(page.last_evaluated_key);
  response.consumed_capacity = usage.Report(request.return_consumed_capacity);
  return response;
}

}  // namespace holdfast::ops
