// A store that holds those on whose behalf it is asked to their policies.
//
//   auto guarded = GuardedStore(store, KeysOf(engine), kIdempotencyTable);
//   ActingFor acting(principal);          // for one request, on its thread
//   application->Run(…);                  // whatever it asks of `guarded` is checked, and denied or passed
//   on
//
// A thread that acts for nobody is the program itself, which may do everything. Applications ask the store on
// the thread that they were called on, so that one ActingFor around a request covers all that it does.
#pragma once

#include <memory>
#include <string>

#include "holdfast/store.h"
#include "store/access.h"
#include "store/acting_for.h"

namespace holdfast::store {

// `own_table` is the program's own (AccessContext). The store must outlive it.
std::unique_ptr<Store> GuardedStore(Store* store, TableKeys keys, std::string own_table);

}  // namespace holdfast::store
