// On whose behalf this thread asks a guarded store (store/guarded_store.h).
#pragma once

#include "auth/policy.h"

namespace holdfast::store {

class ActingFor {
 public:
  // Null: the program. The principal must outlive this.
  explicit ActingFor(const auth::Principal* principal) : before_(current_) { current_ = principal; }
  ~ActingFor() { current_ = before_; }
  ActingFor(const ActingFor&) = delete;
  ActingFor& operator=(const ActingFor&) = delete;

  // Null: this thread acts for the program.
  static const auth::Principal* Current() { return current_; }

 private:
  static thread_local const auth::Principal* current_;
  const auth::Principal* const before_;
};

}  // namespace holdfast::store
