// A load on the REST surface, and the same work through the DynamoDB endpoint to hold it against.
//
//   holdfast serve --port 8000 --data DIR --apply &
//   T=$(holdfast token --data DIR --subject bench --role admin)
//   holdfast_surface_load --port 8000 --token $T --workload prepare
//   holdfast_surface_load --port 8000 --token $T --workload pattern --connections 16 --pid PID
//
// Workloads, each beside the plain operations that it comes to:
//   pattern    PM-A-04, 50 events of a project           query      the same Query
//   artefact   artefact.put, alternating contents        transact-artefact  its four writes
//   booking    booking.request, an employee each          transact-booking   its three writes
// Prints one JSON object per run.

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "closed_loop.h"

namespace holdfast::bench {
namespace {

constexpr int kProjects = 64;
constexpr int kEvents = 50;

struct Options {
  LoopOptions loop;
  std::string workload = "pattern";
  std::string token;
};

std::string ProjectId(int n) {
  char text[40];
  std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012d", n);
  return text;
}

// Two contents that differ.
std::string Content(uint64_t n) {
  return R"({"overall_status":"green","status_summary":"All is well","current_sprint":{"name":"S1","start_date":)"
         R"("2026-02-02T00:00:00.000Z","end_date":"2026-02-16T00:00:00.000Z","goal":"Sail","progress":{"total_points":1000000000,)"
         R"("completed_points":)" +
         std::to_string(n % 900'000'000) +
         R"(,"in_progress_points":1,"blocked_points":0}},"milestones":[],"blockers":[],"key_metrics":{"velocity_trend":"stable",)"
         R"("avg_cycle_time_days":3,"open_blockers":0,"active_risks":0},"next_actions":["Set sail"]})";
}

class Maker final : public Source {
 public:
  explicit Maker(const Options& options) : options_(options), random_(std::random_device()()) {}

  std::string Next(size_t*) override {
    const std::string& w = options_.workload;
    uint64_t n = next_++;
    if (w == "pattern") return Get("/v1/pm/patterns/PM-A-04?projectId=" + Project(n));
    if (w == "query") return Query(Project(n));
    if (w == "artefact") {
      return Post("/v1/pm/commands/artefact.put", R"({"projectId":")" + Project(n) +
                                                      R"(","type":"delivery_state","content":)" +
                                                      Content(random_()) + "}");
    }
    if (w == "transact-artefact") return TransactArtefact(Project(n));
    if (w == "booking") {
      return Post("/v1/trip/commands/booking.request",
                  R"({"employeeId":")" + Employee() + R"(","userRequest":"A seat to Port Alder"})");
    }
    if (w == "transact-booking") return TransactBooking(Employee());
    if (w == "prepare") return Prepare(n);
    Die("no such workload: " + w);
  }
  bool Accept(size_t, const std::string& answer) override {
    return answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 201");
  }

 private:
  static std::string Project(uint64_t n) { return ProjectId(static_cast<int>(n % kProjects)); }
  std::string Employee() { return "emp-" + std::to_string(random_()); }

  std::string Get(const std::string& path) const {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + options_.token +
           "\r\n\r\n";
  }
  std::string Post(const std::string& path, const std::string& body) const {
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + options_.token +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  std::string Prepare(uint64_t n) const {
    if (n < kProjects) {
      return Post(
          "/v1/pm/commands/project.create",
          R"({"id":")" + ProjectId(static_cast<int>(n)) +
              R"(","name":"Bench","source":"jira","sourceProjectKey":"B","autonomyLevel":"tactical"})");
    }
    n -= kProjects;
    if (n >= uint64_t{kProjects} * kEvents) return "";
    return Post(
        "/v1/pm/commands/event.record",
        R"({"projectId":")" + Project(n) +
            R"(","eventType":"signal_detected","severity":"info","summary":"A signal of some length, as they are",)"
            R"("detail":{"ticket":"B-31","source":"jira"}})");
  }

  static std::string Query(const std::string& project) {
    return Request("Query",
                   R"({"TableName":"AgenticPM","KeyConditionExpression":"PK = :p AND begins_with(SK, :s) ",)"
                   R"("ExpressionAttributeValues":{":p":{"S":"PROJECT#)" +
                       project + R"("},":s":{"S":"EVENT#"}},"ScanIndexForward":false,"Limit":50})");
  }

  std::string TransactBooking(const std::string& employee) {
    std::string id = std::to_string(random_());
    auto put = [](const std::string& table, const std::string& item, const char* key) {
      return R"({"Put":{"TableName":")" + table + R"(","Item":{)" + item +
             "},\"ConditionExpression\":\"attribute_not_exists(" + key + ")\"}}";
    };
    return Request(
        "TransactWriteItems",
        R"({"TransactItems":[)" +
            put("TripCortexBookings",
                R"("employeeId":{"S":")" + employee + R"("},"bookingId":{"S":")" + id +
                    R"("},"status":{"S":"initiated"},"userRequest":{"S":"A seat to Port Alder"},"flightOptions":{"L":[]},)"
                    R"("executionArn":{"S":"arn:aws:states:us-east-1:000000000000:execution:BookingWorkflow:)" +
                    id +
                    R"("},"createdAt":{"S":"2026-02-04T10:30:00.000Z"},"updatedAt":{"S":"2026-02-04T10:30:00.000Z"})",
                "employeeId") +
            "," +
            put("TripCortexBookings",
                R"("employeeId":{"S":"ACTIVE#)" + employee +
                    R"("},"bookingId":{"S":"LOCK"},"activeBookingId":{"S":")" + id +
                    R"("},"createdAt":{"S":"2026-02-04T10:30:00.000Z"})",
                "employeeId") +
            "," +
            put("TripCortexWorkflowRuns",
                R"("executionArn":{"S":"run:)" + id + R"("},"employeeId":{"S":")" + employee +
                    R"("},"bookingId":{"S":")" + id + R"("},"step":{"S":"EmbedAndRetrieve"})",
                "executionArn") +
            "]}");
  }

  std::string TransactArtefact(const std::string& project) {
    std::string id = std::to_string(random_());
    std::string event =
        R"("eventType":{"S":"artefact_updated"},"severity":{"S":"info"},"summary":{"S":"The delivery_state is at version 7"},)"
        R"("createdAt":{"S":"2026-02-04T10:30:00.000Z"},"TTL":{"N":"1972793000"},"projectId":{"S":")" +
        project + R"("})";
    return Request(
        "TransactWriteItems",
        R"({"TransactItems":[{"ConditionCheck":{"TableName":"AgenticPM","Key":{"PK":{"S":"PROJECT#)" +
            project +
            R"("},"SK":{"S":"METADATA"}},"ConditionExpression":"attribute_exists(PK) "}},)"
            R"({"Update":{"TableName":"AgenticPM","Key":{"PK":{"S":"PROJECT#)" +
            project +
            R"("},"SK":{"S":"ARTEFACT#delivery_state"}},"UpdateExpression":"SET content = :c, previousVersion = :c ADD version :one",)"
            R"("ConditionExpression":"attribute_exists(PK) ","ExpressionAttributeValues":{":one":{"N":"1"},":c":{"S":")" +
            std::string(700, 'c') + R"("}}}},)" +
            R"({"Put":{"TableName":"AgenticPM","Item":{"PK":{"S":"PROJECT#)" + project +
            R"("},"SK":{"S":"EVENT#2026-02-04T10:30:00.000Z#)" + id +
            R"("},"GSI1PK":{"S":"EVENT#2026-02-04"},"GSI1SK":{"S":")" + id + R"("},)" + event +
            R"(}}},{"Put":{"TableName":"AgenticPM","Item":{"PK":{"S":"GLOBAL"},"SK":{"S":"EVENT#)" + id +
            R"("},)" + event + R"(}}}]})");
  }

  const Options& options_;
  std::mt19937_64 random_;
  uint64_t next_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string flag = argv[i];
    std::string value = argv[i + 1];
    if (flag == "--workload")
      options.workload = value;
    else if (flag == "--token")
      options.token = value;
    else if (!TakeLoopFlag(flag, value, &options.loop))
      Die("no such flag: " + flag);
  }
  if (options.workload == "prepare") options.loop.seconds = options.loop.warmup_seconds = 0;
  Maker maker(options);
  Result result = RunClosedLoop(options.loop, &maker);
  std::printf("{\"workload\":\"%s\",\"connections\":%d,%s}\n", options.workload.c_str(),
              options.loop.connections, Figures(result, 1).c_str());
  return ExitCode(result);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  return holdfast::bench::Main(argc, argv);
}
