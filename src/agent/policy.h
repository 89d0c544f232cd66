// What an agent's sessions may do, and how its workers are treated. Stored per agent; all have defaults.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/result.h"
#include "holdfast/value.h"

namespace holdfast::agent {

// What becomes of an autonomous send that is refused.
enum class OnRefusal : uint8_t { kSuppress, kHold, kReject };
// What becomes of a running turn when the user says something.
enum class Interrupt : uint8_t { kEnqueue, kInterrupt, kMerge };

struct Policy {
  int64_t cap = 3;                   // autonomous messages in a row
  int64_t cooldown_millis = 15'000;  // between two of them
  OnRefusal on_cap = OnRefusal::kSuppress;
  OnRefusal on_cooldown = OnRefusal::kSuppress;
  OnRefusal on_superseded = OnRefusal::kSuppress;
  bool allow_equal = false;  // two equal effects of one commit are two
  int64_t debounce_millis = 0;
  Interrupt interrupt = Interrupt::kEnqueue;
  int64_t turn_max_millis = 600'000;
  bool skip_poison = false;  // an event that fails five times is passed over rather than blocks the session
  std::string schema;        // the workers' own: which checkpoints they understand

  friend bool operator==(const Policy&, const Policy&) = default;
};

// As JSON shows it: {"cap":3,"cooldown_ms":15000,"on_cap":"suppress","on_cooldown":"suppress",
// "on_superseded":"suppress","allow_equal":false,"debounce_ms":0,"interrupt":"enqueue","turn_max_ms":600000,
// "on_poison":"block","schema":""}. What is left out has its default; what is unknown is refused by name.
Result<Policy> ReadPolicy(const Item& item);
Item PolicyItem(const Policy& policy);

}  // namespace holdfast::agent
