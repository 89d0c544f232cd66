#include "base/thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::base {

void NameThread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}

void LowerThreadPriority() {
  // On Linux a nice value belongs to a thread.
  auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(::setpriority(PRIO_PROCESS, thread, 5));
}

}  // namespace holdfast::base
