#include "cli/output.h"

#include <algorithm>
#include <cstdio>

#include "holdfast/ops/common.h"
#include "json/plain.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kUsageName = "Usage";

int ExitCodeOfStatus(int http_status) {
  switch (http_status) {
    case 404:
    case 410: return kNotFound;
    case 409:
    case 422:
    case 429: return kConflict;
    default: return http_status < 500 ? kInvalid : kUnavailable;
  }
}

std::string NameOfError(const Error& error) {
  return error.code() == ErrorCode::kRefused && error.detail() != nullptr
             ? error.detail()->refusal.name
             : std::string(ErrorName(error.code()));
}

}  // namespace

Error UsageError(std::string message) {
  auto detail = std::make_shared<ErrorDetail>();
  detail->refusal.name = kUsageName;
  return Error(ErrorCode::kRefused, std::move(message), std::move(detail));
}

int ExitCodeOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kRefused:
      return NameOfError(error) == kUsageName ? kUsage
                                              : ExitCodeOfStatus(error.detail()->refusal.http_status);
    case ErrorCode::kResourceNotFound: return kNotFound;
    case ErrorCode::kResourceInUse:
    case ErrorCode::kConditionalCheckFailed:
    case ErrorCode::kTransactionCanceled:
    case ErrorCode::kTransactionConflict:
    case ErrorCode::kTransactionInProgress:
    case ErrorCode::kIdempotentParameterMismatch:
    case ErrorCode::kProvisionedThroughputExceeded:
    case ErrorCode::kThrottling:
    case ErrorCode::kLimitExceeded: return kConflict;
    case ErrorCode::kInternal:
    case ErrorCode::kIo:
    case ErrorCode::kCorruption:
    case ErrorCode::kWouldBlock:
    case ErrorCode::kReadOnly:
    case ErrorCode::kLocked:
    case ErrorCode::kNewerFormat:
    case ErrorCode::kNotSupported: return kUnavailable;
    default: return kInvalid;
  }
}

int Report(const Error& error, bool json) {
  std::string name = NameOfError(error);
  if (json) {
    AttributeMap details;
    if (error.detail() != nullptr) details = error.detail()->refusal.details;
    Node node = Node::Map()
                    .Set("error", name)
                    .Set("message", error.message())
                    .Set("details", Node(AttributeValue::Map(std::move(details))));
    std::fprintf(stderr, "%s\n", node.Spell(Node::Style::kJson).c_str());
  } else {
    // What is wrong with a file or with the command line needs no name.
    bool named = error.code() == ErrorCode::kRefused && name != kUsageName;
    std::fprintf(stderr, "holdfast: %s%s%s\n", named ? name.c_str() : "", named ? ": " : "",
                 error.message().c_str());
  }
  return ExitCodeOf(error);
}

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!text.ends_with('\n')) std::fputc('\n', stdout);
}

void PrintJson(const Node& node) {
  Print(node.Spell(Node::Style::kJson));
}

Exit PrintText(const std::string& text, bool json) {
  if (json)
    PrintJson(Node::Map().Set("text", text));
  else
    Print(text);
  return kDone;
}

void PrintRows(const Rows& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    Print(line);
  }
}

std::string CellText(value::ValueView value) {
  constexpr size_t kWidthMax = 40;
  std::string text;
  if (value.type() == value::Type::kString)
    text = value.payload();
  else
    json::AppendPlain(value, &text);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  if (text.size() <= kWidthMax) return text;
  size_t cut = kWidthMax - 3;
  while (cut > 0 && (text[cut] & 0xc0) == 0x80) --cut;  // not within a character
  return text.substr(0, cut) + "...";
}

Rows RowsOf(const std::vector<Item>& items, const std::vector<std::string>& first,
            const std::vector<std::string>& lead) {
  std::vector<std::string> names = first;
  for (const Item& item : items) {
    value::MapView view(item);
    for (uint32_t i = 0; i < view.size(); ++i) {
      std::string name(view.At(i).name);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  Rows rows(items.size() + 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!lead.empty()) rows[i].push_back(lead[i]);
    for (const std::string& name : names) {
      if (i == 0) {
        rows[i].push_back(name);
        continue;
      }
      auto value = value::MapView(items[i - 1]).Find(name);
      rows[i].push_back(value ? CellText(*value) : "");
    }
  }
  return rows;
}

void PrintFields(const Item& item) {
  value::MapView view(item);
  for (uint32_t i = 0; i < view.size(); ++i) {
    std::string text;
    if (view.At(i).value.type() == value::Type::kString)
      text = view.At(i).value.payload();
    else
      json::AppendPlain(view.At(i).value, &text);
    Print(std::string(view.At(i).name) + ": " + text);
  }
}

Node NodeOf(const Item& item) {
  std::string text;
  json::AppendPlainItem(value::MapView(item), &text);
  return Node::Raw(text);
}

Node NodeOf(const std::vector<ModelWarning>& warnings) {
  Node list = Node::List();
  for (const ModelWarning& warning : warnings)
    list.Add(Node::Map().Set("path", warning.path).Set("message", warning.message));
  return list;
}

Node NodeOf(const TableReport& report) {
  return Node::Map()
      .Set("table", report.table)
      .Set("status", report.status)
      .Set("details", Node::List(report.details));
}

void Print(const TableReport& report) {
  Print(report.table + ": " + report.status);
  for (const std::string& detail : report.details) Print("  " + detail);
}

void PrintWarnings(const std::vector<ModelWarning>& warnings) {
  for (const ModelWarning& warning : warnings)
    std::fprintf(stderr, "warning: %s: %s\n", warning.path.c_str(), warning.message.c_str());
}

}  // namespace holdfast::cli
