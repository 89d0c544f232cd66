#include <algorithm>

#include "model/cloudformation/write.h"
#include "model/generate/generate.h"
#include "model/generate/shape.h"
#include "model/generate/text.h"
#include "model/table_requests.h"

namespace holdfast::model::generate {
namespace {

cloudformation::TableProperties PropertiesOf(const Table& table) {
  CreateTableRequest request = CreateRequest(table);
  cloudformation::TableProperties properties;
  properties.table_name = request.table_name;
  properties.billing_mode = request.billing_mode;
  properties.attribute_definitions = std::move(request.attribute_definitions);
  properties.key_schema = std::move(request.key_schema);
  properties.global_secondary_indexes = std::move(request.global_secondary_indexes);
  properties.vector_indexes = std::move(request.vector_indexes);
  if (!table.ttl.empty()) properties.time_to_live = TimeToLiveSpecification{table.ttl, true};
  if (table.point_in_time_recovery)
    properties.point_in_time_recovery = PointInTimeRecoverySpecification{true, {}};
  if (table.encryption) properties.encryption = {true, {}, {}};
  properties.tags = std::move(request.tags);
  return properties;
}

}  // namespace

std::string CloudFormationTemplate(const Model& model) {
  cloudformation::WrittenTemplate written;
  written.remarks = Cat("# ", Notice(model), "\n");
  written.description = model.title.empty() ? model.name : model.title;
  for (const auto& table : model.tables) {
    written.tables.push_back({PascalName(table->id) + "Table",
                              model.tables.size() == 1 ? "" : PascalName(table->id), PropertiesOf(*table)});
    // CloudFormation has no place for the region of a stack.
    if (!table->region.empty())
      written.remarks += Cat("# ", table->name, " is meant for the region ", table->region, ".\n");
  }
  return WriteTemplate(written);
}

}  // namespace holdfast::model::generate
