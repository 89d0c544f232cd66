// From the bearer of a token to the caller of a model.
#pragma once

#include "auth/identity.h"
#include "holdfast/model.h"
#include "holdfast/result.h"
#include "model/model.h"

namespace holdfast::wire {

// An `admin` may everything. Any other acts in its role, within its tenant unless the role reaches across
// them. Forbidden for a role that the model does not know; a model that names no roles takes all.
Result<Caller> CallerOf(const auth::Identity& identity, const model::Model& model);

}  // namespace holdfast::wire
