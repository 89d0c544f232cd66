#include "ops/throughput.h"

namespace holdfast::ops {
namespace {

constexpr std::string_view kTableExceeded =
    "The level of configured provisioned throughput for the table was exceeded. Consider increasing your "
    "provisioning level with the UpdateTable API.";
constexpr std::string_view kIndexExceeded =
    "The level of configured provisioned throughput for one or more global secondary indexes of the table "
    "was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary "
    "indexes with the UpdateTable API";
constexpr std::string_view kMaximumExceeded =
    "Throughput exceeds the maximum OnDemandThroughput configured on table or index";

void AddOne(std::atomic<uint64_t>* counter) {
  counter->fetch_add(1, std::memory_order_relaxed);
}

engine::Consumption* ConsumptionOf(const TableRef& ref, const engine::IndexSchema* index) {
  bool own = index != nullptr && index->is_global();
  return own ? ref.table->IndexConsumption(index->id) : &ref.table->consumption;
}

}  // namespace

Error Throttle(Context& context, const TableRef& ref, const engine::IndexSchema* index, Access access) {
  engine::Consumption* consumption = ConsumptionOf(ref, index);
  AddOne(access == Access::kRead ? &consumption->throttled_reads : &consumption->throttled_writes);
  bool of_index = index != nullptr && index->is_global();
  bool provisioned = ref.schema->billing == BillingMode::kProvisioned;
  ThrottlingReason reason;
  reason.reason.append(of_index ? "Index" : "Table")
      .append(access == Access::kRead ? "Read" : "Write")
      .append(provisioned ? "ProvisionedThroughputExceeded" : "MaxOnDemandThroughputExceeded");
  reason.resource = TableArn(context, ref.schema->name);
  if (of_index) reason.resource.append("/index/").append(index->name);
  auto detail = std::make_shared<ErrorDetail>();
  detail->throttling_reasons.push_back(std::move(reason));
  if (!provisioned) return Error(ErrorCode::kThrottling, std::string(kMaximumExceeded), std::move(detail));
  return Error(ErrorCode::kProvisionedThroughputExceeded,
               std::string(of_index ? kIndexExceeded : kTableExceeded), std::move(detail));
}

Status AdmitRead(Context& context, const TableRef& ref, const engine::IndexSchema* index, double planned) {
  if (!ref.table->limited.load(std::memory_order_relaxed)) [[likely]]
    return Ok{};
  engine::TokenBucket& bucket = ConsumptionOf(ref, index)->reads;
  if (!bucket.limited() || bucket.Balance(context.engine->clock().NowMillis()) > planned) return Ok{};
  return Throttle(context, ref, index, Access::kRead);
}

CancellationReason ReasonOf(const Error& throttled) {
  bool provisioned = throttled.code() == ErrorCode::kProvisionedThroughputExceeded;
  return {provisioned ? "ProvisionedThroughputExceeded" : "ThrottlingError", throttled.message(), {}};
}

void CountError(const Context& context, const Error& error) {
  if (context.table == nullptr || error.code() == ErrorCode::kWouldBlock) return;
  engine::RequestCounts& counts = context.table->requests;
  switch (error.code()) {
    case ErrorCode::kConditionalCheckFailed: return AddOne(&counts.failed_conditions);
    case ErrorCode::kTransactionConflict: return AddOne(&counts.conflicts);
    // What a table or index has no capacity for was counted there; this is a bound of the server's own.
    case ErrorCode::kThrottling:
      if (error.detail() == nullptr) AddOne(&context.table->consumption.throttled_writes);
      return;
    case ErrorCode::kProvisionedThroughputExceeded:
    case ErrorCode::kTransactionInProgress: return;
    case ErrorCode::kTransactionCanceled:  // its failed conditions and conflicts were counted, table by table
      for (const CancellationReason& reason : error.detail()->reasons) {
        if (reason.code == "ValidationError") return AddOne(&counts.user_errors);
      }
      return;
    default: AddOne(error.code() >= ErrorCode::kInternal ? &counts.system_errors : &counts.user_errors);
  }
}

}  // namespace holdfast::ops
