#include "ops/operations.h"
#include "ops/page.h"
#include "ops/projection.h"
#include "ops/single_write.h"

namespace holdfast::ops {
namespace {

struct Parsed {
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

Result<Parsed> Validate(const ScanRequest& request) {
  expression::Scope scope = ScopeOf(request);
  bool any = request.filter_expression || request.projection_expression;
  HF_CHECK_OK(scope.CheckMaps(any, request.filter_expression.has_value(), "FilterExpression is null"));
  if (request.exclusive_start_key && request.exclusive_start_key->defect() != nullptr) {
    return ValidationError("The provided starting key is invalid: " +
                           request.exclusive_start_key->defect()->message());
  }
  HF_CHECK_OK(CheckSegments(request));
  HF_CHECK_OK(CheckSelect(request.select, request.projection_expression.has_value(),
                          request.index_name.has_value(), "Scanning"));
  Parsed parsed;
  HF_TRY(parsed.filter, ParseOptional("FilterExpression", request.filter_expression, &scope));
  HF_TRY(parsed.projection, ParseProjection(request.projection_expression, &scope));
  HF_CHECK_OK(scope.CheckAllUsed());
  return parsed;
}

Result<std::string> SegmentStart(const ScanRequest& request, const Target& target,
                                 const storage::Range& range) {
  HF_TRY(std::string start, StartKey(target, *request.exclusive_start_key));
  bool inside = start >= range.lower && (range.upper.empty() || start < range.upper);
  if (!inside) {
    return ValidationError(
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
        "ExclusiveStartKey with correct Segment. TotalSegments: " +
        std::to_string(request.total_segments.value_or(1)) +
        " Segment: " + std::to_string(request.segment.value_or(0)));
  }
  return start;
}

}  // namespace

Result<ScanResponse> Perform(Context& context, const ScanRequest& request) {
  HF_TRY(Parsed parsed, Validate(request));
  bool consistent = request.consistent_read.value_or(false);
  HF_TRY(Target target, OpenTarget(context, request.table_name, request.index_name, consistent));

  PageSpec spec;
  spec.range = request.segment ? engine::SegmentRange(target.id(), *request.segment, *request.total_segments)
                               : engine::ObjectRange(target.id());
  HF_CHECK_OK(CheckConditionPaths(target.schema(), PointerTo(parsed.filter)));
  HF_CHECK_OK(CheckProjectionPaths(target.schema(), PointerTo(parsed.projection)));
  HF_TRY(spec.shape,
         ChooseShape(target, request.select, PointerTo(parsed.projection), PointerTo(parsed.filter)));
  if (request.exclusive_start_key) {
    HF_TRY(spec.start_after, SegmentStart(request, target, spec.range));
  }
  if (request.limit) spec.limit = static_cast<size_t>(*request.limit);
  spec.consistent = consistent;
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
