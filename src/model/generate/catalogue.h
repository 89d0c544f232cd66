// What a model offers to a caller: the entities it may see, the patterns it may ask, the commands it may run.
#pragma once

#include "holdfast/model.h"
#include "model/generate/text.h"
#include "model/model.h"

namespace holdfast::model::generate {

// {"name","title","version","entities":[…],"patterns":[…],"commands":[…]}, as docs/rest.md describes it.
Node Catalogue(const Model& model, const Caller& caller);

}  // namespace holdfast::model::generate
