// Writes tables as a CloudFormation template in YAML: the one way in which models, and tables that are there,
// become templates.
#pragma once

#include <string>
#include <vector>

#include "model/cloudformation/properties.h"

namespace holdfast::model::cloudformation {

struct WrittenTable {
  std::string id;             // of the resource: letters and digits
  std::string output_prefix;  // of TableName, TableArn and StreamArn among the outputs
  TableProperties properties;
};

struct WrittenTemplate {
  std::string remarks;  // lines of comment before everything else
  std::string description;
  std::vector<WrittenTable> tables;
};

std::string WriteTemplate(const WrittenTemplate& written);

}  // namespace holdfast::model::cloudformation
