#include "ops/throughput_settings.h"

#include "base/limits.h"
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

}  // namespace holdfast::ops
