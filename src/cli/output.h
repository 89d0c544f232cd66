// What commands print: tables for people, one JSON document for programs, errors on stderr, and the exit code
// that goes with each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/model.h"
#include "holdfast/result.h"
#include "model/generate/text.h"
#include "value/flat.h"

namespace holdfast::cli {

using model::generate::Node;

// The exit codes of every command that works on models.
enum Exit : int { kDone = 0, kUsage = 2, kNotFound = 3, kConflict = 4, kInvalid = 5, kUnavailable = 6 };

// The command line itself is wrong.
Error UsageError(std::string message);
int ExitCodeOf(const Error& error);
// Prints the error on stderr, as {"error","message","details"} when JSON was asked for; returns its exit
// code.
int Report(const Error& error, bool json);

void Print(std::string_view text);  // with an end of line where there is none
void PrintJson(const Node& node);
// A text that is no JSON itself is given to programs as {"text": …}.
Exit PrintText(const std::string& text, bool json);

// Rows of equal columns; the first is the header.
using Rows = std::vector<std::vector<std::string>>;
void PrintRows(const Rows& rows);
// A value in one line of bounded width.
std::string CellText(value::ValueView value);
// One row per item and one column per attribute, those of `first` at the front. `lead` may hold a column to
// stand before them, with its header.
Rows RowsOf(const std::vector<Item>& items, const std::vector<std::string>& first = {},
            const std::vector<std::string>& lead = {});

// A line per attribute.
void PrintFields(const Item& item);

Node NodeOf(const Item& item);
Node NodeOf(const std::vector<ModelWarning>& warnings);
// What became of a table, or would.
Node NodeOf(const TableReport& report);
void Print(const TableReport& report);
// Warnings go to stderr, so that they do not mix with results.
void PrintWarnings(const std::vector<ModelWarning>& warnings);

}  // namespace holdfast::cli
