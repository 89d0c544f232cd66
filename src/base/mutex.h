// std::mutex and friends with the annotations that clang's -Wthread-safety checks (a bare libstdc++ mutex has
// none; under GCC the macros are empty). Members say who guards them: `int count_ HF_GUARDED_BY(mu_);`.
// The lock order of the program is in docs/invariants.md.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/check.h"

#if defined(__clang__)
#define HF_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define HF_THREAD_ATTRIBUTE(x)
#endif
#define HF_CAPABILITY HF_THREAD_ATTRIBUTE(capability("mutex"))
#define HF_SCOPED_CAPABILITY HF_THREAD_ATTRIBUTE(scoped_lockable)
#define HF_GUARDED_BY(x) HF_THREAD_ATTRIBUTE(guarded_by(x))
#define HF_REQUIRES(...) HF_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define HF_ACQUIRE(...) HF_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define HF_RELEASE(...) HF_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define HF_ACQUIRE_SHARED(...) HF_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define HF_RELEASE_SHARED(...) HF_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define HF_TRY_ACQUIRE(...) HF_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define HF_TRY_ACQUIRE_SHARED(...) HF_THREAD_ATTRIBUTE(try_acquire_shared_capability(__VA_ARGS__))
#define HF_EXCLUDES(...) HF_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define HF_NO_THREAD_SAFETY_ANALYSIS HF_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace holdfast::base {

class HF_CAPABILITY Mutex {
 public:
  void Lock() HF_ACQUIRE() { mu_.lock(); }
  void Unlock() HF_RELEASE() { mu_.unlock(); }
  bool TryLock() HF_TRY_ACQUIRE(true) { return mu_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class HF_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mu) HF_ACQUIRE(mu) : mu_(mu) { mu_->Lock(); }
  ~MutexLock() HF_RELEASE() { mu_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mu_;
};

// Waits give up the mutex and take it again before they return; they may return without a notification.
class CondVar {
 public:
  void Wait(Mutex* mu) HF_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // Returns false when the time has come.
  bool WaitUntil(Mutex* mu, std::chrono::steady_clock::time_point deadline) HF_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    bool in_time = cv_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

// Many readers or one writer. What std::shared_mutex is on Linux too, but that one always prefers readers:
// where they never stop coming a writer waits without end.
class HF_CAPABILITY SharedMutex {
 public:
  // kWriter: once a writer waits, readers that come later wait behind it, and TryLockShared() fails. For few
  // and important writers, since many of them could keep readers out. Either way a thread that reads must not
  // lock again.
  enum class First : uint8_t { kReader, kWriter };
  explicit SharedMutex(First first = First::kReader) {
    pthread_rwlockattr_t attributes;
    Check(::pthread_rwlockattr_init(&attributes));
    int kind = first == First::kWriter ? PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
                                       : PTHREAD_RWLOCK_PREFER_READER_NP;
    Check(::pthread_rwlockattr_setkind_np(&attributes, kind));
    Check(::pthread_rwlock_init(&mu_, &attributes));
    Check(::pthread_rwlockattr_destroy(&attributes));
  }
  ~SharedMutex() { ::pthread_rwlock_destroy(&mu_); }
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() HF_ACQUIRE() { Check(::pthread_rwlock_wrlock(&mu_)); }
  void Unlock() HF_RELEASE() { ::pthread_rwlock_unlock(&mu_); }
  void LockShared() HF_ACQUIRE_SHARED() { Check(::pthread_rwlock_rdlock(&mu_)); }
  void UnlockShared() HF_RELEASE_SHARED() { ::pthread_rwlock_unlock(&mu_); }
  bool TryLockShared() HF_TRY_ACQUIRE_SHARED(true) { return ::pthread_rwlock_tryrdlock(&mu_) == 0; }

 private:
  static void Check(int failed) { HF_ASSERT(failed == 0); }
  pthread_rwlock_t mu_;
};

class HF_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex* mu) HF_ACQUIRE(mu) : mu_(mu) { mu_->Lock(); }
  ~WriterLock() HF_RELEASE() { mu_->Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex* mu_;
};

class HF_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex* mu) HF_ACQUIRE_SHARED(mu) : mu_(mu) { mu_->LockShared(); }
  ~ReaderLock() HF_RELEASE() { mu_->UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex* mu_;
};

}  // namespace holdfast::base
