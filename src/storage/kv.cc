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

Result<std::unique_ptr<LogFollower>> Kv::Follow(uint64_t) {
  return Error(ErrorCode::kNotSupported, "this storage has no log to follow");
}

Result<bool> Kv::Replay(const std::vector<ByteView>&, int64_t) {
  return Error(ErrorCode::kNotSupported, "this storage takes no records of a log");
}

}  // namespace holdfast::storage
