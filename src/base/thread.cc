#include "base/thread.h"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

namespace holdfast::base {
namespace {

// Made ahead: when it is needed there may be no memory for it.
const Error& out_of_memory = *new Error(ErrorCode::kInternal, "out of memory");

// "std::out_of_range: map::at", or the type alone of what is not a std::exception.
std::string Describe() {
  std::string text = "unknown exception";
  if (const std::type_info* type = abi::__cxa_current_exception_type(); type != nullptr) {
    int failed = 0;
    std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed), &std::free);
    text = name != nullptr ? name.get() : type->name();
  }
  try {
    throw;
  } catch (const std::exception& exception) {
    text.append(": ").append(exception.what());
  } catch (...) {
  }
  return text;
}

}  // namespace

void NameThread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}

void LowerThreadPriority() {
  // On Linux a nice value belongs to a thread.
  auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(::setpriority(PRIO_PROCESS, thread, 5));
}

const Log& FallbackLog() {
  static const Log& log = *new Log(LogLevel::kError);
  return log;
}

Error ContainedException(const Log& log, std::string_view what) noexcept {
  try {
    std::string description = Describe();
    HF_LOG(log, kError, "an exception was contained", {"in", what}, {"exception", description});
    return Error(ErrorCode::kInternal, std::string(what) + ": " + description);
  } catch (...) {
    // No memory to format anything.
    static constexpr std::string_view kLine = "error an exception was contained, and no memory to say more\n";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  }
  return out_of_memory;
}

}  // namespace holdfast::base
