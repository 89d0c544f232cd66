// A Store on a DynamoDB endpoint, with what it needs from outside; programs call OpenRemoteStore of
// holdfast/store.h.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "holdfast/store.h"
#include "store/credentials.h"

namespace holdfast::store {

// Clock (of the signatures) and random (of the pauses and tokens) must outlive the store.
Result<std::unique_ptr<Store>> OpenRemoteStore(const RemoteOptions& options, const Environment& environment,
                                               const base::Clock* clock, base::Random* random);

}  // namespace holdfast::store
