// What has to be done to a store so that it has the tables of a template, and the doing of it.
//
//   HF_TRY(std::vector<TablePlan> plans, PlanTables(store, read, "template.yaml"));
//   HF_TRY(std::vector<TableReport> reports, Execute(store, plans));
//
// A template is the whole truth about its tables: an index, a tag or a TTL that it no longer names is
// removed. What would need another table in the place of the one that is there is refused, by name, before
// anything is done.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/model.h"
#include "holdfast/store.h"
#include "model/cloudformation/template.h"

namespace holdfast::model::cloudformation {

// A table that is there, in the words of a template: only what differs from the defaults.
struct LiveTable {
  TableProperties properties;
  std::string arn;
  std::string table_id;    // empty: the store gives none
  std::string stream_arn;  // empty: it has no stream
};
// Nothing when there is no such table.
Result<std::optional<LiveTable>> ReadLive(Store* store, const std::string& table);

struct TablePlan {
  struct Step {
    std::string what;  // for people: "add the index GSI1"
    std::function<Status(Store* store)> run;
  };
  std::string id;  // in the template
  std::string table;
  bool exists = false;
  std::vector<Step> steps;
};

// Changes nothing. Fails with all that cannot be done, each with its place.
Result<std::vector<TablePlan>> PlanTables(Store* store, const Template& wanted, const std::string& file);
// Does it, in order, and waits until every table is active. What fails leaves what was done before it: doing
// it again goes on from there.
Result<std::vector<TableReport>> Execute(Store* store, const std::vector<TablePlan>& plans);

// The outputs, with what the store says the tables are.
Result<std::vector<Template::Output>> OutputsOf(Store* store, std::string_view text, const std::string& file,
                                                ReadOptions options, const Template& applied);

// Tables that are there as a template. Fails with kResourceNotFound.
Result<std::string> ExportTemplate(Store* store, const std::vector<std::string>& tables);

}  // namespace holdfast::model::cloudformation
