// What workers and clients send to the agent runtime, out of its JSON. Strict: what is not known is refused,
// with its path. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "agent/runtime.h"
#include "holdfast/result.h"
#include "wire/members.h"

namespace holdfast::wire {

// The largest event that a user may append, as it is sent.
inline constexpr size_t kEventBytesMax = 256 << 10;

// What ids may have besides letters, digits, '-' and '_'.
inline constexpr std::string_view kEventIdCharacters = ".:";

// {"id"?,"type":"user_message","payload":{"text":…}}; what they may be is the runtime's to say.
Result<agent::AppendRequest> ReadEvent(Members* body);

// {"worker","req"?,"agents":[…],"max"?,"lease_ms"?,"wait_ms"?}
Result<agent::ClaimRequest> ReadClaim(Members* body);
// {"session","epoch","upto","token","checkpoint","effects"?,"usage"?,"then"?}; `request.release` is what an
// absent "then" means.
Result<agent::CommitRequest> ReadCommit(Members* body, bool release);
// {"leases":[{"session","epoch"},…]}
Result<std::vector<agent::Lease>> ReadLeases(Members* body);
// {"session","epoch","error"?,"retry_after_ms"?}
Result<agent::ReleaseRequest> ReadRelease(Members* body);
// {"worker","agents":[…],"credit"?,"lease_ms"?}
Result<agent::WorkerHello> ReadHello(Members* message);

}  // namespace holdfast::wire
