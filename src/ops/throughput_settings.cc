#include "ops/throughput_settings.h"

#include "base/limits.h"
#include "holdfast/ops/describe_limits.h"
#include "ops/table_schema.h"

namespace holdfast::ops {
namespace {

using When = SettingsOf::When;

constexpr int64_t kUnitsMax = 1'000'000'000'000;

Status SetMaximum(const SettingsOf& what, const std::string& name, std::optional<int64_t> given,
                  std::optional<int64_t>* maximum) {
  if (!given) return Ok{};
  bool removes = *given == -1 && what.when == When::kUpdate;
  if (!removes && (*given < 1 || *given > kUnitsMax)) {
    return Invalid("Requested " + name + " for OnDemandThroughput for " +
                   (what.index == nullptr ? "table" : "index : " + *what.index) +
                   " is outside of valid range");
  }
  *maximum = removes ? std::nullopt : given;
  return Ok{};
}

Status SetLeast(const SettingsOf& what, const std::string& name, std::optional<int64_t> given, int64_t least,
                const std::string& least_is, int64_t* warm) {
  if (!given) return Ok{};
  std::string start = "Requested " + name + " for WarmThroughput for " +
                      (what.index == nullptr ? "table" : "index " + *what.index);
  if (*given < least) return Invalid(start + " is lower than " + least_is);
  if (*given > kUnitsMax) return Invalid(start + " is outside of valid range");
  *warm = *given;
  return Ok{};
}

}  // namespace

bool SaysAnything(const std::optional<OnDemandThroughput>& given) {
  return given && (given->max_read_request_units || given->max_write_request_units);
}

bool SaysAnything(const std::optional<WarmThroughput>& given) {
  return given && (given->read_units_per_second || given->write_units_per_second);
}

Status SetOnDemand(const SettingsOf& what, const std::optional<OnDemandThroughput>& given,
                   OnDemandThroughput* maxima) {
  if (!SaysAnything(given)) return Ok{};
  if (what.billing == BillingMode::kProvisioned) {
    std::string first = given->max_read_request_units ? "MaxReadRequestUnits" : "MaxWriteRequestUnits";
    return Invalid(first + " for OnDemandThroughput" +
                   (what.index == nullptr ? "" : " for index: " + *what.index) +
                   " cannot be specified when " +
                   (what.when == When::kCreate ? "table BillingMode is PROVISIONED."
                                               : "the table BillingMode is PROVISIONED"));
  }
  HF_CHECK_OK(SetMaximum(what, "MaxReadRequestUnits", given->max_read_request_units,
                         &maxima->max_read_request_units));
  return SetMaximum(what, "MaxWriteRequestUnits", given->max_write_request_units,
                    &maxima->max_write_request_units);
}

Status SetWarm(const SettingsOf& what, const std::optional<WarmThroughput>& given,
               const ProvisionedThroughput& units, ProvisionedThroughput* warm) {
  if (!SaysAnything(given)) return Ok{};
  bool creates = what.when == When::kCreate;
  bool provisioned = what.billing == BillingMode::kProvisioned;
  ProvisionedThroughput least = *warm;
  std::string current = "current WarmThroughput, decreasing WarmThroughput is not supported";
  if (creates && provisioned) least = units;
  if (creates && !provisioned) {
    least = {limits::kWarmReadUnits, limits::kWarmWriteUnits};
    current = "initial throughput for OnDemand";
    if (what.index == nullptr)
      current +=
          ". See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
          "on-demand-capacity-mode.html#on-demand-capacity-mode-initial";
  }
  auto of = [&](const char* name) {
    return creates && provisioned ? std::string(name) + " of ProvisionedThroughput" : current;
  };
  HF_CHECK_OK(SetLeast(what, "ReadUnitsPerSecond", given->read_units_per_second, least.read_capacity_units,
                       of("ReadCapacityUnits"), &warm->read_capacity_units));
  return SetLeast(what, "WriteUnitsPerSecond", given->write_units_per_second, least.write_capacity_units,
                  of("WriteCapacityUnits"), &warm->write_capacity_units);
}

namespace {

// One number of a table or an index, and the most that it may be.
struct Units {
  const char* name;
  int64_t wanted, before;
  int64_t max;
  const char* max_name;  // of DescribeLimits

  bool too_many() const { return wanted > max && wanted > before; }
};

constexpr DescribeLimitsResponse kLimits;

Units Reads(const char* name, int64_t wanted, int64_t before) {
  return {name, wanted, before, kLimits.table_max_read_capacity_units, "TableMaxReadCapacityUnits"};
}
Units Writes(const char* name, int64_t wanted, int64_t before) {
  return {name, wanted, before, kLimits.table_max_write_capacity_units, "TableMaxWriteCapacityUnits"};
}

// Of a table or an index.
struct Settings {
  ProvisionedThroughput units;
  OnDemandThroughput on_demand;
  ProvisionedThroughput warm;
};

Status CheckMaxima(const std::string& region, const std::string* index, const Settings& now,
                   const Settings& was) {
  std::string kind = index == nullptr ? "table" : "index";
  for (const Units& units :
       {Reads("ReadCapacityUnits", now.units.read_capacity_units, was.units.read_capacity_units),
        Writes("WriteCapacityUnits", now.units.write_capacity_units, was.units.write_capacity_units)}) {
    if (!units.too_many()) continue;
    return Error(ErrorCode::kLimitExceeded,
                 std::string("The requested ") + units.name +
                     (index == nullptr ? "" : " for index " + *index) + ", " + std::to_string(units.wanted) +
                     ", is above the per " + kind + " maximum for the account in " + region + ". Per " +
                     kind + " maximum: " + std::to_string(units.max) +
                     ". Refer to the Amazon DynamoDB Developer Guide for current limits and how to request "
                     "higher limits.");
  }
  auto exceeds = [&](const Units& units, const char* of, const char* before_name) {
    return Error(ErrorCode::kLimitExceeded, std::string("Subscriber limit exceeded: Requested ") +
                                                units.name + " for " + of + " for " + kind +
                                                (index == nullptr ? "" : before_name + *index) + " exceeds " +
                                                units.max_name + " of the account in region " + region);
  };
  const OnDemandThroughput &most = now.on_demand, &before = was.on_demand;
  for (const Units& units : {Reads("MaxReadRequestUnits", most.max_read_request_units.value_or(0),
                                   before.max_read_request_units.value_or(0)),
                             Writes("MaxWriteRequestUnits", most.max_write_request_units.value_or(0),
                                    before.max_write_request_units.value_or(0))}) {
    if (units.too_many()) return exceeds(units, "OnDemandThroughput", " : ");
  }
  for (const Units& units :
       {Reads("ReadUnitsPerSecond", now.warm.read_capacity_units, was.warm.read_capacity_units),
        Writes("WriteUnitsPerSecond", now.warm.write_capacity_units, was.warm.write_capacity_units)}) {
    if (units.too_many()) return exceeds(units, "WarmThroughput", " ");
  }
  return Ok{};
}

Settings SettingsIn(const engine::IndexSchema& index) {
  return {index.throughput.value_or(ProvisionedThroughput{}), index.on_demand, index.warm};
}

}  // namespace

Status CheckMaxima(Context& context, const engine::TableSchema& wanted, const engine::TableSchema& before) {
  const std::string& region = context.engine->options().region;
  HF_CHECK_OK(CheckMaxima(region, nullptr, {wanted.throughput, wanted.on_demand, wanted.warm},
                          {before.throughput, before.on_demand, before.warm}));
  for (const engine::IndexSchema& index : wanted.indexes) {
    const engine::IndexSchema* was = before.FindIndex(index.name);
    HF_CHECK_OK(
        CheckMaxima(region, &index.name, SettingsIn(index), was == nullptr ? Settings{} : SettingsIn(*was)));
  }
  return Ok{};
}

}  // namespace holdfast::ops
