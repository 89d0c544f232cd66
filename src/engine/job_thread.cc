#include "engine/job_thread.h"

#include "base/thread.h"

namespace holdfast::engine {

JobThread::JobThread(const char* name) : thread_([this, name] { Run(name); }) {}

JobThread::~JobThread() {
  Stop();
}

void JobThread::Stop() {
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void JobThread::Add(Job job) {
  base::MutexLock lock(&mu_);
  jobs_.push_back(std::move(job));
  changed_.NotifyAll();
}

void JobThread::WaitIdle() {
  base::MutexLock lock(&mu_);
  while (!jobs_.empty() && !stop_) changed_.Wait(&mu_);
}

bool JobThread::stopping() const {
  base::MutexLock lock(&mu_);
  return stop_;
}

void JobThread::Sleep(std::chrono::milliseconds duration) {
  auto deadline = std::chrono::steady_clock::now() + duration;
  base::MutexLock lock(&mu_);
  while (!stop_ && changed_.WaitUntil(&mu_, deadline)) {
  }
}

void JobThread::Run(const char* name) {
  base::NameThread(name);
  base::LowerThreadPriority();
  while (true) {
    Job job;
    {
      base::MutexLock lock(&mu_);
      while (jobs_.empty() && !stop_) changed_.Wait(&mu_);
      if (stop_) return;
      job = std::move(jobs_.front());
    }
    base::RunContained(base::FallbackLog(), name, job);
    job = nullptr;  // what it holds goes before anybody is told that it is done
    base::MutexLock lock(&mu_);
    jobs_.pop_front();
    changed_.NotifyAll();
  }
}

}  // namespace holdfast::engine
