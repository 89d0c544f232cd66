// When an item expires, and the entries that find it then.
#pragma once

#include <optional>

#include "engine/catalog/schema.h"
#include "storage/kv.h"

namespace holdfast::engine {

// The expiry time an item carries in `attribute`: a whole or fractional number of seconds since 1970. Empty
// when there is none, or none that means anything.
std::optional<int64_t> ExpirySeconds(value::MapView item, std::string_view attribute);

// Whether an expiry time has passed and is not so old that DynamoDB takes it for a mistake (over five years).
bool IsExpired(int64_t expiry_seconds, int64_t now_seconds);

// table id ‖ expiry second ‖ rest of the item's storage key.
std::string ExpiryKey(ObjectId table, int64_t expiry_seconds, ByteView item_key);
struct ExpiryEntry {
  int64_t expiry_seconds;
  std::string item_key;
};
ExpiryEntry ReadExpiryKey(ByteView key);
// The entries of `table` with an expiry in (`after_seconds`, `until_seconds`].
storage::Range ExpiryRange(ObjectId table, int64_t after_seconds, int64_t until_seconds);

}  // namespace holdfast::engine
