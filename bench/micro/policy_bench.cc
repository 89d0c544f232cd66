// What a check of a request against policies costs: the whole of it, from the request to the decision.
#include <benchmark/benchmark.h>

#include "auth/permissions.h"
#include "store/access.h"

namespace holdfast::store {
namespace {

constexpr std::string_view kFile = R"({
  "policies": {
    "write-log": {"Statement": {"Effect": "Allow", "Action": "dynamodb:PutItem",
                                "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/TripCortexAuditLog"}},
    "wildcards": {"Statement": [
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:*:*:table/Trip*Log"},
      {"Effect": "Deny", "Action": "dynamodb:Delete*", "Resource": "*"},
      {"Effect": "Deny", "NotAction": ["dynamodb:Get*", "dynamodb:PutItem"], "NotResource": "arn:aws:dynamodb:*:*:table/Trip*"}]},
    "ten": {"Statement": [
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/A*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/B*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/C*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/D*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/E*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/F*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/G*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/H*"},
      {"Effect": "Deny", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/I*"},
      {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/T*"}]},
    "own-keys": {"Version": "2012-10-17", "Statement": {
      "Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:*:*:table/Trip*",
      "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:username}"}}}},
    "columns": {"Statement": {
      "Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:*:*:table/Trip*",
      "Condition": {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["bookingId", "auditId", "step", "event"]}}}}
  },
  "principals": {
    "write-log": {"policies": ["write-log"]}, "wildcards": {"policies": ["wildcards"]}, "ten": {"policies": ["ten"]},
    "own-keys": {"policies": ["own-keys"]}, "columns": {"policies": ["columns"]}
  }
})";

void CheckPut(benchmark::State& state, const char* who) {
  auto permissions = auth::Permissions::Parse(kFile, "bench", {});
  if (!permissions) std::abort();
  PutItemRequest request;
  request.table_name = "TripCortexAuditLog";
  request.item = {
      {"bookingId", who}, {"auditId", "01J00000000000000000000000"}, {"step", "search"}, {"event", "x"}};
  TableKeys keys = [](const std::string&, std::string_view) { return KeyNames{{"bookingId"}}; };
  AccessContext context{*(*permissions)->Named(who), keys};
  for (auto _ : state) {
    Status allowed = CheckAccess(context, request);
    if (!allowed) std::abort();
    benchmark::DoNotOptimize(allowed);
  }
}
BENCHMARK_CAPTURE(CheckPut, one_statement, "write-log");
BENCHMARK_CAPTURE(CheckPut, wildcards_and_denials, "wildcards");
BENCHMARK_CAPTURE(CheckPut, ten_statements, "ten");
BENCHMARK_CAPTURE(CheckPut, leading_keys, "own-keys");
BENCHMARK_CAPTURE(CheckPut, attributes, "columns");

}  // namespace
}  // namespace holdfast::store

BENCHMARK_MAIN();
