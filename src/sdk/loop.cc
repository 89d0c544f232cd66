#include "sdk/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

namespace holdfast::sdk {
namespace {

int Control(int epoll, int operation, int fd, uint64_t id, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, operation, fd, &event);
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::Open() {
  std::unique_ptr<Loop> loop(
      new Loop(::epoll_create1(EPOLL_CLOEXEC), ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (loop->epoll_ < 0 || loop->wake_ < 0 ||
      Control(loop->epoll_, EPOLL_CTL_ADD, loop->wake_, 0, EPOLLIN | EPOLLET) != 0)
    return Error(ErrorCode::kIo, std::string("cannot wait for sockets: ") + std::strerror(errno));
  return loop;
}

Loop::~Loop() {
  if (wake_ >= 0) ::close(wake_);
  if (epoll_ >= 0) ::close(epoll_);
}

void Loop::Run() {
  thread_ = std::this_thread::get_id();
  constexpr int kEventsMax = 256;
  epoll_event events[kEventsMax];
  std::vector<std::function<void()>> tasks;
  while (!stop_) {
    int ready = ::epoll_wait(epoll_, events, kEventsMax, WaitMillis());
    {
      base::MutexLock lock(&mu_);
      tasks.swap(tasks_);
    }
    auto contain = [](const auto& work) { base::RunContained(base::FallbackLog(), "agent client", work); };
    for (auto& task : tasks) contain(task);
    tasks.clear();
    for (int i = 0; i < ready; ++i) {
      if (Handler* handler = Find(events[i].data.u64)) contain([&] { handler->OnReady(events[i].events); });
    }
    for (int64_t now = base::SteadyMicros(); !timers_.empty() && timers_.begin()->first.first <= now;)
      contain(timers_.extract(timers_.begin()).mapped());
    for (size_t i = 0; i < ending_.size(); ++i) {
      if (Handler* handler = Find(ending_[i])) contain([&] { handler->OnRoundEnd(); });
    }
    ending_.clear();
  }
  thread_ = std::thread::id();
}

void Loop::Stop() {
  stop_ = true;
  Wake();
}

void Loop::Post(std::function<void()> task) {
  base::MutexLock lock(&mu_);
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) Wake();
}

void Loop::PostAndWait(const std::function<void()>& task) {
  if (OnThread()) return task();
  // Shared: the one who waits may be gone before set_value has returned.
  auto done = std::make_shared<std::promise<void>>();
  Post([&task, done] {
    task();
    done->set_value();
  });
  done->get_future().wait();
}

void Loop::Wake() const {
  uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof one));
}

int Loop::WaitMillis() const {
  if (timers_.empty()) return -1;
  int64_t micros = timers_.begin()->first.first - base::SteadyMicros();
  return static_cast<int>(std::clamp<int64_t>((micros + 999) / 1000, 0, 60'000));
}

Loop::Handler* Loop::Find(WatchId id) const {
  auto found = handlers_.find(id);
  return found == handlers_.end() ? nullptr : found->second;
}

Loop::WatchId Loop::Watch(int fd, uint32_t events, Handler* handler) {
  WatchId id = next_id_++;
  handlers_.emplace(id, handler);
  HF_ASSERT(Control(epoll_, EPOLL_CTL_ADD, fd, id, events) == 0);
  return id;
}

void Loop::Rearm(int fd, WatchId id, uint32_t events) const {
  HF_ASSERT(Control(epoll_, EPOLL_CTL_MOD, fd, id, events) == 0);
}

void Loop::Forget(int fd, WatchId id) {
  handlers_.erase(id);
  Control(epoll_, EPOLL_CTL_DEL, fd, id, 0);
}

Loop::TimerId Loop::After(int64_t millis, std::function<void()> task) {
  TimerId timer(base::SteadyMicros() + millis * 1000, next_id_++);
  timers_.emplace(timer, std::move(task));
  return timer;
}

}  // namespace holdfast::sdk
