#include "wire/metrics.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "engine/backup/recovery.h"
#include "engine/backup/restorer.h"
#include "engine/index/live_vectors.h"
#include "storage/archive/archiver.h"

namespace holdfast::wire {
namespace {

void AppendType(std::string_view name, std::string_view type, std::string_view help, std::string* out) {
  out->append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  out->append(name).append(" ").append(type).append("\n");
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

void AppendSample(std::string_view name, std::string_view labels, double value, std::string* out) {
  out->append(name);
  if (!labels.empty()) out->append("{").append(labels).append("}");
  out->append(" ").append(Number(value)).append("\n");
}

std::string Label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + "\"";
}

}  // namespace

void Histogram::Add(int64_t micros) {
  auto units = static_cast<uint64_t>(micros < 0 ? 0 : micros) / 16;
  int bucket = std::min<int>(static_cast<int>(std::bit_width(units)), kBuckets - 1);
  counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  total_micros_.fetch_add(static_cast<uint64_t>(micros < 0 ? 0 : micros), std::memory_order_relaxed);
}

void Histogram::Append(std::string_view name, std::string_view labels, std::string* out) const {
  uint64_t count = 0;
  for (int i = 0; i < kBuckets; ++i) {
    count += counts_[static_cast<size_t>(i)].load(std::memory_order_relaxed);
    std::string bound = i + 1 == kBuckets ? "+Inf" : Number(16e-6 * static_cast<double>(uint64_t{1} << i));
    AppendSample(std::string(name) + "_bucket", std::string(labels) + "," + Label("le", bound),
                 static_cast<double>(count), out);
  }
  AppendSample(std::string(name) + "_sum", labels,
               static_cast<double>(total_micros_.load(std::memory_order_relaxed)) * 1e-6, out);
  AppendSample(std::string(name) + "_count", labels, static_cast<double>(count), out);
}

Metrics::Metrics(std::vector<std::string_view> operations)
    : names_(std::move(operations)), operations_(names_.size()) {}

size_t Metrics::AddOperations(const std::vector<std::string_view>& names) {
  size_t first = names_.size();
  for (std::string_view name : names) {
    names_.push_back(name);
    operations_.emplace_back();
  }
  return first;
}

void Metrics::CountRequest(size_t operation, int64_t micros, const Failure* error) {
  if (operation == kNoOperation) return;
  PerOperation& counted = operations_[operation];
  counted.requests.fetch_add(1, std::memory_order_relaxed);
  counted.latency.Add(micros);
  if (error != nullptr) counted.errors.Add(*error);
}

std::map<std::string, double> Metrics::Errors(ops::Fault fault) const {
  std::map<std::string, double> errors;
  auto add = [&](std::string_view operation, const ErrorCounts& counted) {
    uint64_t count = counted.by_fault[static_cast<size_t>(fault)].load(std::memory_order_relaxed);
    if (count > 0) errors[std::string(operation)] = static_cast<double>(count);
  };
  for (size_t i = 0; i < names_.size(); ++i) add(names_[i], operations_[i].errors);
  add("no operation", refused_);
  return errors;
}

void Metrics::CountBytes(size_t received, size_t sent) {
  received_bytes_.fetch_add(received, std::memory_order_relaxed);
  sent_bytes_.fetch_add(sent, std::memory_order_relaxed);
}

std::string Metrics::Render(engine::Engine* engine) const {
  std::string out;
  RenderRequests(&out);
  if (engine == nullptr) return out;
  RenderTables(engine, &out);
  RenderBackfills(engine, &out);
  RenderVectors(engine, &out);
  RenderRecovery(engine, &out);
  RenderStorage(engine, &out);
  return out;
}

void Metrics::RenderRequests(std::string* out) const {
  AppendType("holdfast_requests_total", "counter", "Requests answered, by operation.", out);
  for (size_t i = 0; i < names_.size(); ++i) {
    AppendSample("holdfast_requests_total", Label("operation", names_[i]),
                 static_cast<double>(operations_[i].requests.load(std::memory_order_relaxed)), out);
  }
  AppendType("holdfast_errors_total", "counter", "Requests answered with an error, by operation and type.",
             out);
  auto errors = [&](std::string_view operation, const ErrorCounts& counted) {
    for (size_t code = 0; code < kErrorCodes; ++code) {
      uint64_t count = counted.by_code[code].load(std::memory_order_relaxed);
      if (count == 0) continue;
      AppendSample(
          "holdfast_errors_total",
          Label("operation", operation) + "," + Label("type", ErrorName(static_cast<ErrorCode>(code))),
          static_cast<double>(count), out);
    }
  };
  for (size_t i = 0; i < names_.size(); ++i) errors(names_[i], operations_[i].errors);
  errors("", refused_);
  AppendType("holdfast_request_seconds", "histogram", "From the last byte of a request to its answer.", out);
  for (size_t i = 0; i < names_.size(); ++i) {
    if (operations_[i].requests.load(std::memory_order_relaxed) == 0) continue;
    operations_[i].latency.Append("holdfast_request_seconds", Label("operation", names_[i]), out);
  }
  AppendType("holdfast_received_bytes_total", "counter", "Bytes of requests.", out);
  AppendSample("holdfast_received_bytes_total", "", static_cast<double>(received_bytes_.load()), out);
  AppendType("holdfast_sent_bytes_total", "counter", "Bytes of answers.", out);
  AppendSample("holdfast_sent_bytes_total", "", static_cast<double>(sent_bytes_.load()), out);
  AppendType("holdfast_reruns_total", "counter",
             "Requests that would have waited on an I/O thread and were run again on the pool.", out);
  AppendSample("holdfast_reruns_total", "", static_cast<double>(reruns_.load()), out);
  AppendType("holdfast_connections", "gauge", "Open connections.", out);
  AppendSample("holdfast_connections", "", static_cast<double>(connections_.load()), out);
}

void Metrics::RenderTables(engine::Engine* engine, std::string* out) {
  struct Row {
    std::string labels;
    double reads, writes, items, bytes, throttled_reads, throttled_writes;
  };
  std::vector<Row> rows;
  auto add = [&](std::string labels, const engine::Consumption& used, const engine::Tally& tally) {
    rows.push_back({std::move(labels), static_cast<double>(used.read_halves.load()) / 2,
                    static_cast<double>(used.write_halves.load()) / 2,
                    static_cast<double>(tally.count.load()), static_cast<double>(tally.bytes.load()),
                    static_cast<double>(used.throttled_reads.load()),
                    static_cast<double>(used.throttled_writes.load())});
  };
  std::vector<engine::TablePtr> tables = engine->catalog().All();
  for (const engine::TablePtr& table : tables) {
    engine::SchemaPtr schema = table->schema();
    add(Label("table", schema->name) + "," + Label("index", ""), table->consumption, table->tally);
    for (const engine::IndexSchema& index : schema->indexes) {
      add(Label("table", schema->name) + "," + Label("index", index.name), *table->IndexConsumption(index.id),
          *table->IndexTally(index.id));
    }
  }
  auto family = [&](std::string_view name, std::string_view type, std::string_view help, double Row::*value) {
    AppendType(name, type, help, out);
    for (const Row& row : rows) AppendSample(name, row.labels, row.*value, out);
  };
  family("holdfast_consumed_read_units_total", "counter", "Read units consumed, by table and index.",
         &Row::reads);
  family("holdfast_consumed_write_units_total", "counter", "Write units consumed, by table and index.",
         &Row::writes);
  family("holdfast_items", "gauge", "Items, by table and index.", &Row::items);
  family("holdfast_item_bytes", "gauge", "Bytes of items by DynamoDB's size rule, by table and index.",
         &Row::bytes);
  family("holdfast_throttled_reads_total", "counter",
         "Reads beyond the throughput of a table or index, by table and index.", &Row::throttled_reads);
  family("holdfast_throttled_writes_total", "counter",
         "Writes beyond the throughput of a table or index, by table and index.", &Row::throttled_writes);
  auto by_table = [&](std::string_view name, std::string_view help,
                      std::atomic<uint64_t> engine::RequestCounts::*count) {
    AppendType(name, "counter", help, out);
    for (const engine::TablePtr& table : tables) {
      AppendSample(name, Label("table", table->schema()->name),
                   static_cast<double>((table->requests.*count).load(std::memory_order_relaxed)), out);
    }
  };
  using Counts = engine::RequestCounts;
  by_table("holdfast_table_user_errors_total", "Requests that were wrong, by the table that they named.",
           &Counts::user_errors);
  by_table("holdfast_table_system_errors_total", "Requests that failed by the server's own fault, by table.",
           &Counts::system_errors);
  by_table("holdfast_table_failed_conditions_total", "Conditions that did not hold, by table.",
           &Counts::failed_conditions);
  by_table("holdfast_table_transaction_conflicts_total",
           "Transactions that met another writer of an item, by table.", &Counts::conflicts);
  by_table("holdfast_table_expired_items_total",
           "Items removed because their time to live had passed, by table.", &Counts::expired_items);
  AppendType("holdfast_table_request_seconds", "summary",
             "From the last byte of a request to its answer, by the table that it named first.", out);
  for (const engine::TablePtr& table : tables) {
    std::string label = Label("table", table->schema()->name);
    AppendSample("holdfast_table_request_seconds_sum", label,
                 static_cast<double>(table->requests.total_micros.load()) * 1e-6, out);
    AppendSample("holdfast_table_request_seconds_count", label,
                 static_cast<double>(table->requests.answered.load()), out);
  }
  AppendType("holdfast_model_warnings_total", "counter",
             "Items written against their model, by table; of tables with `enforce: warn`.", out);
  for (const engine::TablePtr& table : tables) {
    if (table->guard == nullptr || table->guard->refuses()) continue;
    AppendSample("holdfast_model_warnings_total", Label("table", table->schema()->name),
                 static_cast<double>(table->guard->warnings()), out);
  }
}

// An index is CREATING, and TTL is ENABLING, until every item has been looked at.
void Metrics::RenderBackfills(engine::Engine* engine, std::string* out) {
  std::string expiries;
  AppendType("holdfast_index_backfill_progress", "gauge",
             "Indexes that are CREATING, and the share of the items that their backfill has passed, 0 to 1.",
             out);
  for (const engine::TablePtr& table : engine->catalog().All()) {
    engine::SchemaPtr schema = table->schema();
    for (const engine::IndexSchema& index : schema->indexes) {
      if (index.status != IndexStatus::kCreating) continue;
      AppendSample("holdfast_index_backfill_progress",
                   Label("table", schema->name) + "," + Label("index", index.name),
                   engine->BackfillProgress(index.id), out);
    }
    if (schema->ttl_status == TimeToLiveStatus::kEnabling) {
      AppendSample("holdfast_ttl_backfill_progress", Label("table", schema->name),
                   engine->BackfillProgress(schema->id), &expiries);
    }
  }
  AppendType("holdfast_ttl_backfill_progress", "gauge",
             "Tables whose TTL is ENABLING, and the share of the items that has been looked at, 0 to 1.",
             out);
  out->append(expiries);
}

void Metrics::RenderVectors(engine::Engine* engine, std::string* out) {
  struct Row {
    std::string labels;
    vector::IndexStats stats;
    size_t waiting;
    int64_t skipped;
  };
  std::vector<Row> rows;
  for (const engine::TablePtr& table : engine->catalog().All()) {
    engine::SchemaPtr schema = table->schema();
    for (const engine::IndexSchema& index : schema->indexes) {
      engine::LiveVectorsPtr live = table->LiveIndex(index.id);
      if (live == nullptr || !live->ready()) continue;
      int64_t skipped = table->tally.count.load() - table->IndexTally(index.id)->count.load();
      rows.push_back({Label("table", schema->name) + "," + Label("index", index.name), live->index().stats(),
                      live->backlog(), std::max<int64_t>(0, skipped)});
    }
  }
  auto family = [&](std::string_view name, std::string_view help, auto value) {
    AppendType(name, "gauge", help, out);
    for (const Row& row : rows) AppendSample(name, row.labels, static_cast<double>(value(row)), out);
  };
  family("holdfast_vectors", "Vectors, by table and index.",
         [](const Row& row) { return row.stats.vectors; });
  family("holdfast_vectors_waiting", "Vectors that wait for their place in a graph.",
         [](const Row& row) { return row.waiting; });
  family("holdfast_vectors_dead", "Vectors replaced or removed that still take up memory.",
         [](const Row& row) { return row.stats.dead; });
  family("holdfast_vector_memory_bytes", "Bytes of vectors and graphs in memory.",
         [](const Row& row) { return row.stats.memory_bytes; });
  family("holdfast_vector_graphs", "Partitions large enough for a graph.",
         [](const Row& row) { return row.stats.graphs; });
  family("holdfast_vector_skipped_items", "Items of the table that have no vector that the index takes.",
         [](const Row& row) { return row.skipped; });
}

void Metrics::RenderRecovery(engine::Engine* engine, std::string* out) {
  std::vector<engine::Restorer::Progress> restores = engine->restorer().progress();
  AppendType("holdfast_restore_progress", "gauge", "Tables being restored, and how far each is, 0 to 1.",
             out);
  for (const auto& restore : restores)
    AppendSample("holdfast_restore_progress", Label("table", restore.table), restore.share, out);
  AppendType("holdfast_restore_failed", "gauge",
             "1 for a table whose restore cannot go on: the log says why.", out);
  for (const auto& restore : restores) {
    AppendSample("holdfast_restore_failed", Label("table", restore.table), restore.fault.empty() ? 0 : 1,
                 out);
  }
  AppendType("holdfast_recovery_window_seconds", "gauge", "How far back a table can be restored.", out);
  for (const engine::TablePtr& table : engine->catalog().All()) {
    engine::SchemaPtr schema = table->schema();
    auto window = engine->recovery().WindowOf(*schema);
    if (!window) continue;
    AppendSample("holdfast_recovery_window_seconds", Label("table", schema->name),
                 static_cast<double>(window->latest_seconds - window->earliest_seconds), out);
  }
}

void Metrics::RenderStorage(engine::Engine* engine, std::string* out) {
  auto one = [&](std::string_view name, std::string_view type, std::string_view help, double value) {
    AppendType(name, type, help, out);
    AppendSample(name, "", value, out);
  };
  engine::CommitStats commit = engine->committer().stats();
  one("holdfast_commit_groups_total", "counter", "Syncs of the log, each answering a group of writes.",
      static_cast<double>(commit.groups));
  one("holdfast_commit_answers_total", "counter",
      "Answers given after a sync; divided by groups: the group size.", static_cast<double>(commit.answers));
  one("holdfast_commit_sync_seconds_total", "counter", "Time spent syncing the log.",
      static_cast<double>(commit.sync_micros) * 1e-6);
  one("holdfast_commit_queue", "gauge", "Answers waiting for a sync.", static_cast<double>(commit.queue));
  one("holdfast_written_items_total", "counter", "Items put or deleted.",
      static_cast<double>(engine->writer().written_items()));
  one("holdfast_expired_items_total", "counter", "Items removed because their time to live had passed.",
      static_cast<double>(engine->expired_items()));
  one("holdfast_encryption_enabled", "gauge", "Whether new files are encrypted.",
      engine->encryption() == engine::Encryption::kOff ? 0 : 1);
  one("holdfast_encryption_files_left", "gauge",
      "Files that are still to be encrypted under the current version of the key.",
      static_cast<double>(engine->files_to_encrypt()));
  if (const storage::Archiver* archiver = engine->archiver(); archiver != nullptr) {
    storage::ArchiverStats archive = archiver->stats();
    one("holdfast_archive_lag_seconds", "gauge", "Since when something durable is missing in the archive.",
        archive.lag_seconds);
    one("holdfast_archive_covered_until_seconds", "gauge",
        "The second until which the archive has everything, since 1970; 0: it has nothing yet.",
        static_cast<double>(archive.covered_millis / 1000));
    one("holdfast_archive_shipped_bytes_total", "counter", "Bytes of log and checkpoints that were archived.",
        static_cast<double>(archive.shipped_bytes));
    one("holdfast_archive_checkpoints_total", "counter", "Checkpoints that were archived.",
        static_cast<double>(archive.checkpoints));
    one("holdfast_archive_failures_total", "counter", "Attempts to write the archive that failed.",
        static_cast<double>(archive.failures));
    one("holdfast_archive_failing", "gauge", "1 while the archive cannot be written; the log says why.",
        archive.error.empty() ? 0 : 1);
  }
  storage::Stats storage = engine->kv().stats();
  one("holdfast_storage_disk_bytes", "gauge", "Bytes of files.", static_cast<double>(storage.disk_bytes));
  one("holdfast_storage_log_bytes", "gauge", "Bytes of the write-ahead log.",
      static_cast<double>(storage.log_bytes));
  one("holdfast_storage_memory_bytes", "gauge", "Bytes of write buffers and table readers.",
      static_cast<double>(storage.memory_bytes));
  one("holdfast_storage_cache_bytes", "gauge", "Bytes of the block cache in use.",
      static_cast<double>(storage.cache_bytes));
  one("holdfast_storage_compaction_pending_bytes", "gauge", "Bytes that compaction still has to rewrite.",
      static_cast<double>(storage.compaction_pending_bytes));
}

}  // namespace holdfast::wire
