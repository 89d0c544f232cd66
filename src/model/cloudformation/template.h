// Reads a CloudFormation or SAM template, in YAML or JSON, and says which tables it describes. Knows no
// store: the names and ARNs of tables follow from the template and its parameters.
//
//   HF_TRY(Template read, ReadTemplate(text, "template.yaml", options));
//   for (const TableResource& table : read.tables) …          // in the order in which to make them
//
// All that is wrong is reported at once, each with its line and path:
//
//   template.yaml:12: Resources.Orders.Properties.TableKlass: no property of AWS::DynamoDB::Table
//
// A template is a stranger's bytes: size, depth, the number of nodes and what functions make are bounded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "model/cloudformation/properties.h"
#include "model/model.h"

namespace holdfast::model::cloudformation {

struct ReadOptions {
  std::map<std::string, std::string> parameters;  // over the template's defaults
  // What !Ref AWS::Region and its like give.
  std::string region = "us-east-1";
  std::string account = "123456789012";
  std::string stack_name;  // empty: "holdfast", and tables without a TableName are called as their resources
  // Leave out what is no table, instead of refusing it.
  bool tables_only = false;
  // What !GetAtt gives, where a store said so: {"Orders", "StreamArn"}.
  std::map<std::pair<std::string, std::string>, std::string> attributes;
};

struct TableResource {
  std::string id;    // in the template
  std::string type;  // "AWS::DynamoDB::Table"
  Place place;
  TableProperties properties;  // with a name
};

struct Template {
  struct Output {
    std::string name;
    std::string value;
  };
  struct Skipped {
    std::string path;  // "Resources.Api", "Outputs.ApiUrl"
    std::string why;
  };
  std::vector<TableResource> tables;
  std::vector<Output> outputs;
  std::vector<Skipped> skipped;
};

// `file` is for messages.
Result<Template> ReadTemplate(std::string_view text, const std::string& file, const ReadOptions& options);

}  // namespace holdfast::model::cloudformation
