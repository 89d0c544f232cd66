#include "storage/kv.h"

namespace holdfast::storage {

std::string_view SpaceName(Space space) {
  switch (space) {
    case Space::kCatalog: return "catalog";
    case Space::kItems: return "items";
    case Space::kIndexes: return "indexes";
    case Space::kChanges: return "changes";
    case Space::kTtl: return "ttl";
  }
  return "?";
}

}  // namespace holdfast::storage
