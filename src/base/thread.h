// Small things about threads that the standard library leaves out.
//
// Every thread catches what its work throws: an exception that leaves a thread's root ends the process, and a
// stored row or a request must not be able to do that. RunContained and CallContained are the only catch-alls
// of the tree. Put them around one round or one task, inside the thread's loop and inside its wait, so that
// the thread goes on and a round that always throws does not spin:
//
//   while (WaitForNextRound()) base::RunContained(*log_, "alarm round", [&] { Evaluate(); });
//
// Requires of `work`: locks are held by scope, and whoever waits for an answer gets it from the caller when
// the work throws.
#pragma once

#include <string_view>

#include "base/log.h"
#include "holdfast/result.h"

namespace holdfast::base {

// Shown by ps and gdb; at most 15 characters.
void NameThread(const char* name);
// Lets threads that answer requests go first. Best effort.
void LowerThreadPriority();

// For threads that were given no log: errors, on stderr.
const Log& FallbackLog();

// Requires: an exception is being handled. Logs it as an error in `what` and returns it as kInternal.
Error ContainedException(const Log& log, std::string_view what) noexcept;

// Runs `work`, which returns nothing. Returns false when it threw; the exception is logged.
template <class Work>
bool RunContained(const Log& log, std::string_view what, Work&& work) noexcept {
  try {
    work();
    return true;
  } catch (...) {
    static_cast<void>(ContainedException(log, what));
    return false;
  }
}

// Calls `work`, which returns a Result or a Status. An exception is logged and becomes kInternal.
template <class Work>
auto CallContained(const Log& log, std::string_view what, Work&& work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return ContainedException(log, what);
  }
}

}  // namespace holdfast::base
