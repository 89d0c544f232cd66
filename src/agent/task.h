// Coroutines for what waits for the store: a function that returns Task<T> may co_await others and the
// store's answers, and reads as if it blocked. Everything runs on the runtime's loop, so what stands between
// two co_awaits is never interrupted.
//
//   Task<Result<int64_t>> Core::TailOf(std::string session) {
//     HF_CO_TRY(Head head, co_await LoadHead(session));
//     co_return head.tail;
//   }
//
// Take arguments by value: a reference may be gone after the first co_await. Give what is made on the spot
// (an aggregate in braces, a function from a lambda) a name before it is an argument of what is awaited: GCC
// 12 destroys such temporaries twice.
//
// An exception ends the coroutine that it leaves, and no other: T is a Result or a Status, and holds it as an
// error.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "base/thread.h"

namespace holdfast::agent {

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> awaiter;

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        return self.promise().awaiter;
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(T result) { value.emplace(std::move(result)); }
    // The awaiting coroutine gets an error, as from any step that failed.
    void unhandled_exception() noexcept {
      value.emplace(base::ContainedException(base::FallbackLog(), "agent runtime"));
    }
  };

  Task(Task&& other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (self_) self_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
    self_.promise().awaiter = awaiter;
    return self_;
  }
  T await_resume() { return *std::move(self_.promise().value); }

 private:
  explicit Task(std::coroutine_handle<promise_type> self) : self_(self) {}
  std::coroutine_handle<promise_type> self_;
};

// A coroutine that nobody waits for; it begins at once and destroys itself.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept {
      static_cast<void>(base::ContainedException(base::FallbackLog(), "agent runtime"));
    }
  };
};

// Lets one coroutine in at a time, in the order in which they came.
class Turnstile {
 public:
  class [[nodiscard]] Pass {
   public:
    explicit Pass(Turnstile* turnstile) : turnstile_(turnstile) {}
    Pass(Pass&& other) noexcept : turnstile_(std::exchange(other.turnstile_, nullptr)) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() { Leave(); }
    void Leave() {
      if (turnstile_ != nullptr) std::exchange(turnstile_, nullptr)->Next();
    }

   private:
    Turnstile* turnstile_;
  };

  // `post` resumes the next one later, so that a long queue does not become a deep stack.
  explicit Turnstile(std::function<void(std::coroutine_handle<>)> post) : post_(std::move(post)) {}

  auto Enter() {
    struct Awaiter {
      Turnstile* turnstile;
      bool await_ready() const noexcept { return !std::exchange(turnstile->taken_, true); }
      void await_suspend(std::coroutine_handle<> waiter) { turnstile->waiting_.push_back(waiter); }
      Pass await_resume() noexcept { return Pass(turnstile); }
    };
    return Awaiter{this};
  }
  bool idle() const { return !taken_; }

 private:
  void Next() {
    if (waiting_.empty()) {
      taken_ = false;
      return;
    }
    std::coroutine_handle<> next = waiting_.front();
    waiting_.pop_front();
    post_(next);
  }

  const std::function<void(std::coroutine_handle<>)> post_;
  std::deque<std::coroutine_handle<>> waiting_;
  bool taken_ = false;
};

#define HF_CO_TRY_INNER(result, declaration, ...) \
  auto result = __VA_ARGS__;                      \
  if (!result) [[unlikely]]                       \
    co_return std::move(result).error();          \
  declaration = *std::move(result)
#define HF_CO_TRY(declaration, ...) HF_CO_TRY_INNER(HF_CONCAT(hf_result_, __LINE__), declaration, __VA_ARGS__)
#define HF_CO_CHECK_OK(...)                   \
  do {                                        \
    auto hf_status = __VA_ARGS__;             \
    if (!hf_status) [[unlikely]]              \
      co_return std::move(hf_status).error(); \
  } while (false)

}  // namespace holdfast::agent
