// `enforce: warn|strict` of a model's tables: what raw writes are held to on the engine's write path.
//
//   HF_CHECK_OK(AddGuards(model, &log, &engine_options.guards));
#pragma once

#include "base/log.h"
#include "engine/item/guard.h"
#include "holdfast/model.h"

namespace holdfast::model {

// A guard for each table of the model that enforces it. Refused when another model guards the same table.
// `log` must outlive the guards.
Status AddGuards(const ModelPtr& model, const base::Log* log, engine::ItemGuards* guards);

}  // namespace holdfast::model
