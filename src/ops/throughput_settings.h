// What CreateTable and UpdateTable say of throughput besides ProvisionedThroughput: the maxima of tables on
// demand, and how warm a table is to be. The messages are the service's, as others have recorded them.
#pragma once

#include <optional>
#include <string>

#include "engine/catalog/schema.h"
#include "holdfast/ops/table.h"
#include "holdfast/result.h"

namespace holdfast::ops {

// Whose settings they are, and when.
struct SettingsOf {
  enum class When : uint8_t { kCreate, kUpdate } when;
  BillingMode billing;
  const std::string* index = nullptr;  // null: the table's
};

bool SaysAnything(const std::optional<OnDemandThroughput>& given);
bool SaysAnything(const std::optional<WarmThroughput>& given);

// A maximum that is not given stays; -1 takes it away, where there can be one to take.
Status SetOnDemand(const SettingsOf& what, const std::optional<OnDemandThroughput>& given,
                   OnDemandThroughput* maxima);
// `units` are those that are provisioned.
Status SetWarm(const SettingsOf& what, const std::optional<WarmThroughput>& given,
               const ProvisionedThroughput& units, ProvisionedThroughput* warm);

}  // namespace holdfast::ops
