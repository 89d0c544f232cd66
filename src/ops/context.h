// What an operation is given besides its request.
#pragma once

#include "base/work_meter.h"
#include "engine/engine.h"
#include "storage/kv.h"

namespace holdfast::ops {

struct Context {
  engine::Engine* engine;
  // With kNever the operation answers kWouldBlock instead of waiting, having changed nothing, and is run
  // again with kMayBlock elsewhere.
  storage::Wait wait = storage::Wait::kMayBlock;
  // What the request has cost so far. Code that evaluates an expression spends here, and calls Check()
  // before it answers.
  base::WorkMeter work{wait == storage::Wait::kNever ? base::WorkMeter::Bound::kInline
                                                     : base::WorkMeter::Bound::kRequest};
  // The constraints of the field list were checked already, because permissions come after them.
  bool constraints_checked = false;
  // Set by the operation: the answer rests on writes that are not yet durable. Nobody may be told before
  // engine->committer().WhenDurable says so.
  bool await_durability = false;
  // Where the client reached us, as host:port; empty in a program that embeds the database.
  std::string_view endpoint = {};
  // Set by the operation: the first table that it opened, which its errors and its time are counted for.
  engine::TablePtr table = nullptr;
};

}  // namespace holdfast::ops
