#include "ops/throughput.h"

#include "ops/fault.h"

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

bool HasRoomToRead(Context& context, const TableRef& ref, const engine::IndexSchema* index, double planned) {
  if (!ref.table->limited.load(std::memory_order_relaxed)) [[likely]]
    return true;
  engine::TokenBucket& bucket = ConsumptionOf(ref, index)->reads;
  return !bucket.limited() || bucket.Balance(context.engine->clock().NowMillis()) > planned;
}

Status AdmitRead(Context& context, const TableRef& ref, const engine::IndexSchema* index, double planned) {
  if (HasRoomToRead(context, ref, index, planned)) return Ok{};
  return Throttle(context, ref, index, Access::kRead);
}

CancellationReason ReasonOf(const Error& throttled) {
  bool provisioned = throttled.code() == ErrorCode::kProvisionedThroughputExceeded;
  return {provisioned ? "ProvisionedThroughputExceeded" : "ThrottlingError", throttled.message(), {}};
}

void CountError(const Context& context, const Error& error) {
  if (context.table == nullptr) return;
  engine::RequestCounts& counts = context.table->requests;
  switch (error.code()) {
    case ErrorCode::kConditionalCheckFailed: return AddOne(&counts.failed_conditions);
    case ErrorCode::kTransactionConflict: return AddOne(&counts.conflicts);
    // What a table or index has no capacity for was counted there; this is a bound of the server's own.
    case ErrorCode::kThrottling:
      if (error.detail() == nullptr) AddOne(&context.table->consumption.throttled_writes);
      return;
    default: break;
  }
  Fault fault = FaultOf(error);
  if (fault == Fault::kUser) AddOne(&counts.user_errors);
  if (fault == Fault::kServer) AddOne(&counts.system_errors);
}

}  // namespace holdfast::ops
