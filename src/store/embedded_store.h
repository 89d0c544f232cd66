// A Store on the engine of this process, for the layers of the server; programs that embed holdfast call
// EmbeddedStore(Database*) of holdfast/store.h.
//
// An operation runs on the thread that calls Execute, and may wait there as a call of Database does: for a
// lock, for the disk to be read. It does not wait for the sync: an answer that rests on a write is given by
// the commit thread, so that one caller can have many writes under way and they share a sync; for calls that
// are made Together, by their thread if it has nothing else to do.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "holdfast/store.h"

namespace holdfast::store {

// The engine must outlive the store.
std::unique_ptr<Store> EmbeddedStore(engine::Engine* engine);

}  // namespace holdfast::store
