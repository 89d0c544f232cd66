#include "base/checksum.h"

#include <xxhash.h>

#include "base/check.h"

namespace holdfast::base {

void Checksum::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

Checksum::Checksum(ChecksumKind kind) {
  if (kind == ChecksumKind::kFormat2) {
    format2_.emplace();
    return;
  }
  state_.reset(XXH3_createState());
  HF_ASSERT(state_ != nullptr && XXH3_64bits_reset(state_.get()) == XXH_OK);
}

Checksum::~Checksum() = default;

void Checksum::Update(ByteView bytes) {
  if (format2_) return format2_->Update(bytes);
  HF_ASSERT(XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()) == XXH_OK);
}

uint64_t Checksum::Value() const {
  return format2_ ? format2_->Value() : XXH3_64bits_digest(state_.get());
}

uint64_t ChecksumOf(ByteView bytes, ChecksumKind kind) {
  if (kind == ChecksumKind::kXxh3) return XXH3_64bits(bytes.data(), bytes.size());
  ChecksumFormat2 checksum;
  checksum.Update(bytes);
  return checksum.Value();
}

}  // namespace holdfast::base
