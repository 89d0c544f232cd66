// What is worth another try, and when.
//
// Full jitter: the pause before try n+1 is anywhere in [0, min(longest, first · 2^n)], so that clients that
// were turned away together do not come back together.
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "holdfast/result.h"

namespace holdfast::store {

// Whether the same request may be answered otherwise in a moment: throttling, 5xx, a lost connection, or a
// transaction that lost against another writer and for no other reason.
bool MayPass(const Error& error);

// Requires: tries >= 1, of those made so far.
int64_t PauseMillis(int tries, int64_t first_millis, int64_t longest_millis, base::Random* random);

}  // namespace holdfast::store
