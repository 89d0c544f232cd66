// Assertions that stay on in every build.
//
// HF_ASSERT states what the code around it relies on and input can never break: arguments, results,
// invariants. When one fails the program is wrong, so it stops at once, before a wrong answer or a wrong byte
// leaves it. HF_DASSERT is for checks too costly for release builds; debug and sanitizer builds run them.
#pragma once

namespace holdfast::base {

[[noreturn]] void AssertFailed(const char* condition, const char* file, int line);

}  // namespace holdfast::base

#define HF_ASSERT(condition)                                          \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::holdfast::base::AssertFailed(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define HF_DASSERT(condition) \
  do {                        \
  } while (false)
#else
#define HF_DASSERT(condition) HF_ASSERT(condition)
#endif
