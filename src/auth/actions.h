// The actions that policies name: those of DynamoDB, whether this server has the operation yet or not, so
// that a policy written for AWS loads, and one with a misspelt action does not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace holdfast::auth {

// In order of name; an action's number is its place here, and means nothing beyond the process.
inline constexpr std::string_view kActions[] = {
    "AssociateTableReplica",
    "BatchGetItem",
    "BatchWriteItem",
    "CancelBulkOperation",
    "ConditionCheckItem",
    "CreateBackup",
    "CreateGlobalTable",
    "CreateTable",
    "CreateTableReplica",
    "DeleteBackup",
    "DeleteItem",
    "DeleteResourcePolicy",
    "DeleteTable",
    "DeleteTableReplica",
    "DescribeBackup",
    "DescribeBulkOperation",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeEndpoints",
    "DescribeExport",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeImport",
    "DescribeKinesisStreamingDestination",
    "DescribeLimits",
    "DescribeReservedCapacity",
    "DescribeReservedCapacityOfferings",
    "DescribeStream",
    "DescribeTable",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "GetAbacStatus",
    "GetItem",
    "GetRecords",
    "GetResourcePolicy",
    "GetShardIterator",
    "ImportTable",
    "InjectError",
    "ListBackups",
    "ListBulkOperations",
    "ListContributorInsights",
    "ListExports",
    "ListGlobalTables",
    "ListImports",
    "ListStreams",
    "ListTables",
    "ListTagsOfResource",
    "PartiQLDelete",
    "PartiQLInsert",
    "PartiQLSelect",
    "PartiQLUpdate",
    "PurchaseReservedCapacityOfferings",
    "PutItem",
    "PutResourcePolicy",
    "Query",
    "ReadDataForReplication",
    "ReplicateSettings",
    "RestoreTableFromAwsBackup",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "Scan",
    "SearchVectors",
    "StartAwsBackupJob",
    "StartBulkPutItems",
    "TagResource",
    "UntagResource",
    "UpdateAbacStatus",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateGlobalTableVersion",
    "UpdateItem",
    "UpdateKinesisStreamingDestination",
    "UpdateTable",
    "UpdateTableReplicaAutoScaling",
    "UpdateTimeToLive",
    "WriteDataForReplication",
};
inline constexpr size_t kActionCount = std::size(kActions);
static_assert(std::is_sorted(std::begin(kActions), std::end(kActions)));

enum class Action : uint8_t {};

constexpr size_t NumberOf(Action action) {
  return static_cast<size_t>(action);
}
constexpr std::string_view NameOf(Action action) {
  return kActions[NumberOf(action)];
}

// kActionCount when there is none of that name.
constexpr size_t FindAction(std::string_view name) {
  const auto* at = std::lower_bound(std::begin(kActions), std::end(kActions), name);
  return at != std::end(kActions) && *at == name ? static_cast<size_t>(at - kActions) : kActionCount;
}

// ActionOf("PutItem"); a name that is no action does not compile.
consteval Action ActionOf(std::string_view name) {
  size_t number = FindAction(name);
  if (number == kActionCount) throw "no action of DynamoDB has this name";
  return static_cast<Action>(number);
}

}  // namespace holdfast::auth
