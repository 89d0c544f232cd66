// A state of the store to read from, held for as long as somebody reads.
#pragma once

#include <memory>
#include <utility>

#include "engine/commit/committer.h"

namespace holdfast::engine {

class View {
 public:
  explicit View(std::shared_ptr<const Published> published) : published_(std::move(published)) {}
  const storage::Snapshot* snapshot() const { return published_->snapshot.get(); }
  // Which commits it has.
  const Published& commits() const { return *published_; }

 private:
  std::shared_ptr<const Published> published_;
};

}  // namespace holdfast::engine
