// What CreateTable and UpdateTable say of throughput besides ProvisionedThroughput: the maxima of tables on
// demand, and how warm a table is to be; and how much of each there may be at most. The messages are the
// service's, as others have recorded them.
#pragma once

#include <optional>
#include <string>

#include "engine/catalog/schema.h"
#include "holdfast/ops/table.h"
#include "holdfast/result.h"
#include "ops/context.h"

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

// Holds the table and its indexes to what DescribeLimits says one may have, where they are to have more than
// they had. Comes after all that is wrong with the request itself.
Status CheckMaxima(Context& context, const engine::TableSchema& wanted, const engine::TableSchema& before);

}  // namespace holdfast::ops
