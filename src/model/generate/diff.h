// What a changed model asks of the data that is there.
//
//   for (const Change& change : CompareModels(*before, *after)) std::cout << change.path << ": " <<
//   change.what;
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace holdfast::model::generate {

// In order of trouble.
enum class Effort : uint8_t {
  kFree,       // stored items stay as they are
  kBackfill,   // stored items need something written, or looked at, in place
  kMigration,  // stored items must be written anew under other keys or into another table
  kRefused,    // no job can do it
};
// "free", "needs backfill", "needs migration", "refused".
std::string_view EffortName(Effort effort);

struct Change {
  Effort effort = Effort::kFree;
  std::string path;  // entities.Project.attributes.status
  std::string what;
  std::string reason;  // why it is of that class, and what to do
};

// The hardest first. Empty when nothing changed that data or callers could notice.
std::vector<Change> CompareModels(const Model& before, const Model& after);

std::string DiffText(const std::vector<Change>& changes);
std::string DiffJson(const std::vector<Change>& changes);

}  // namespace holdfast::model::generate
