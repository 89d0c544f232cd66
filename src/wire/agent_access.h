// Who may touch which session, and in what way. Pure functions.
//
// A session's key is <user>:<agent>:<thread>. An `admin` may everything. A `worker` works on the sessions of
// the agents that its token names, and reads them. Everybody else is a client: of the sessions whose user is
// the token's tenant, and of no other, which are as if they were not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/identity.h"
#include "holdfast/result.h"

namespace holdfast::wire {

enum class Access : uint8_t {
  kRead,
  kUse,   // what the user does: to speak, to stop, to delete
  kWork,  // what the agent does
};

bool IsAdmin(const auth::Identity& identity);
// Whether the bearer may serve the agent.
bool MayServe(const auth::Identity& identity, std::string_view agent);
// `reserved_users` have sessions that neither clients nor workers get to see.
Status AuthorizeSession(const auth::Identity& identity, std::string_view session, Access access,
                        const std::vector<std::string>& reserved_users);
// Of all these agents; at least of being a worker.
Status AuthorizeWorker(const auth::Identity& identity, const std::vector<std::string>& agents);
Status AuthorizeAdmin(const auth::Identity& identity);

}  // namespace holdfast::wire
