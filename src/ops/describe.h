// A table as the API describes it.
#pragma once

#include "engine/catalog/catalog.h"
#include "holdfast/ops/table.h"
#include "ops/context.h"

namespace holdfast::ops {

TableDescription Describe(Context& context, engine::Table& table);

std::vector<KeySchemaElement> KeysOf(const engine::TableSchema& table);
std::vector<KeySchemaElement> KeysOf(const engine::IndexSchema& index);
Projection ProjectionOf(const engine::IndexSchema& index);
// Nothing where there are none.
std::optional<OnDemandThroughput> MaximaOf(const OnDemandThroughput& maxima);

}  // namespace holdfast::ops
