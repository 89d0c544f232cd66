// One transaction in the making, over the runtime's table.
//
//   Writes writes(table);
//   HeadChange head(session);
//   head.If("tail = :t", ":t", 4).Set("tail", ":tail", 5);
//   writes.Add(head);
//   writes.PutNew(EventItem(session, event));
//
// The names of values are literals: they are not copied until the change is taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/keys.h"
#include "agent/row_writer.h"
#include "holdfast/store.h"

namespace holdfast::agent {

// A conditional update of one row.
class RowChange {
 public:
  RowChange(std::string_view pk, std::string_view sk) : key_(RowKey(pk, sk)), sort_key_(sk) {}

  const std::string& sort_key() const { return sort_key_; }

  RowChange& Set(std::string_view name, std::string_view value_name, int64_t number) {
    Assign(name, value_name);
    values_.Number(value_name, number);
    return *this;
  }
  RowChange& Set(std::string_view name, std::string_view value_name, std::string_view text) {
    Assign(name, value_name);
    values_.Text(value_name, text);
    return *this;
  }
  RowChange& SetFlag(std::string_view name, std::string_view value_name, bool flag) {
    Assign(name, value_name);
    values_.Flag(value_name, flag);
    return *this;
  }
  RowChange& Remove(std::string_view name) {
    remove_.append(remove_.empty() ? "" : ", ").append(Alias(name));
    return *this;
  }
  // Conditions name what DynamoDB reserves as #owner and #status.
  RowChange& If(std::string_view condition) {
    if (condition.find("#owner") != std::string_view::npos) Alias("owner");
    if (condition.find("#status") != std::string_view::npos) Alias("status");
    condition_.append(condition_.empty() ? "" : " AND ").append(condition);
    return *this;
  }
  RowChange& If(std::string_view condition, std::string_view value_name, int64_t number) {
    values_.Number(value_name, number);
    has_values_ = true;
    return If(condition);
  }
  RowChange& If(std::string_view condition, std::string_view value_name, std::string_view text) {
    values_.Text(value_name, text);
    has_values_ = true;
    return If(condition);
  }
  RowChange& IfFlag(std::string_view condition, std::string_view value_name, bool flag) {
    values_.Flag(value_name, flag);
    has_values_ = true;
    return If(condition);
  }
  // Another value of a condition.
  RowChange& Value(std::string_view value_name, std::string_view text) {
    values_.Text(value_name, text);
    has_values_ = true;
    return *this;
  }
  RowChange& Value(std::string_view value_name, int64_t number) {
    values_.Number(value_name, number);
    has_values_ = true;
    return *this;
  }

  template <class Request>
  void Fill(const std::string& table, Request* request) {
    request->table_name = table;
    request->key = std::move(key_);
    std::string update;
    if (!set_.empty()) update.append("SET ").append(set_);
    if (!remove_.empty()) update.append(update.empty() ? "" : " ").append("REMOVE ").append(remove_);
    request->update_expression = std::move(update);
    if (!condition_.empty()) request->condition_expression = std::move(condition_);
    if (has_values_) request->expression_attribute_values = ExpressionValues(values_.Take());
    if (!names_.empty()) request->expression_attribute_names = std::move(names_);
  }

 private:
  void Assign(std::string_view name, std::string_view value_name) {
    has_values_ = true;
    set_.append(set_.empty() ? "" : ", ").append(Alias(name)).append("=").append(value_name);
  }
  // DynamoDB reserves these three of our names.
  std::string Alias(std::string_view name) {
    if (name != "owner" && name != "status" && name != "base") return std::string(name);
    std::string alias = "#" + std::string(name);
    names_.emplace(alias, name);
    return alias;
  }

  Item key_;
  std::string sort_key_;
  std::string set_, remove_, condition_;
  RowWriter values_;
  bool has_values_ = false;
  ExpressionNames names_;
};

inline RowChange HeadChange(std::string_view session) {
  return {SessionPartition(session), kHeadKey};
}

class Writes {
 public:
  explicit Writes(const std::string& table) : table_(table) { request_.transact_items.reserve(kUsual); }

  void Put(Item row) { Next().put = TransactPut{.table_name = table_, .item = std::move(row)}; }
  void PutNew(Item row) {
    Next().put = TransactPut{
        .table_name = table_, .item = std::move(row), .condition_expression = "attribute_not_exists(pk)"};
  }
  void Delete(std::string_view pk, std::string_view sk) {
    Next().delete_action = TransactDelete{.table_name = table_, .key = RowKey(pk, sk)};
  }
  void Add(RowChange change) {
    TransactUpdate update;
    change.Fill(table_, &update);
    Next().update = std::move(update);
  }
  void Check(std::string_view pk, std::string_view sk, std::string condition, Item values) {
    Next().condition_check =
        TransactConditionCheck{.table_name = table_,
                               .key = RowKey(pk, sk),
                               .condition_expression = std::move(condition),
                               .expression_attribute_values = ExpressionValues(std::move(values))};
  }
  size_t size() const { return request_.transact_items.size(); }
  TransactWriteItemsRequest Take() { return std::move(request_); }

 private:
  static constexpr size_t kUsual = 8;  // actions are large: moving them would cost
  TransactWriteItem& Next() { return request_.transact_items.emplace_back(); }

  const std::string& table_;
  TransactWriteItemsRequest request_;
};

// Which action of a cancelled transaction failed its condition; empty when it was something else.
std::optional<size_t> FailedAction(const Error& error);

}  // namespace holdfast::agent
