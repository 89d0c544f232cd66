// What a write wants of one item, as a pure function of the item it finds. The write path may call Apply more
// than once (a write that would have to wait is run again where it may), so an ItemMutation has no state to
// spoil.
#pragma once

#include <optional>

#include "holdfast/result.h"
#include "holdfast/value.h"
#include "value/flat.h"

namespace holdfast::engine {

struct Change {
  enum class Kind : uint8_t {
    kPut,              // `item` takes the old one's place
    kDelete,           // nothing takes its place
    kNone,             // it stays as it is
    kConditionFailed,  // it stays as it is, and the caller is told why
  };
  Kind kind = Kind::kNone;
  Item item;
};

class ItemMutation {
 public:
  virtual ~ItemMutation() = default;
  // `old` is null when there is no such item. An Error means that the item and the request do not fit
  // together.
  virtual Result<Change> Apply(const value::MapView* old) const = 0;
};

}  // namespace holdfast::engine
