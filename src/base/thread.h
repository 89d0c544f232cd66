// Small things about threads that the standard library leaves out.
#pragma once

namespace holdfast::base {

// Shown by ps and gdb; at most 15 characters.
void NameThread(const char* name);
// Lets threads that answer requests go first. Best effort.
void LowerThreadPriority();

}  // namespace holdfast::base
