#include "value/key_codec.h"

#include "base/md5.h"

namespace holdfast::value {
namespace {

constexpr char kEscaped = '\xff';
constexpr char kClose = '\x01';

}  // namespace

void AppendKeyPrefix(ByteView payload, std::string* out) {
  size_t begin = 0;
  for (size_t zero; (zero = payload.find('\0', begin)) != ByteView::npos; begin = zero + 1) {
    out->append(payload, begin, zero - begin);
    out->push_back('\0');
    out->push_back(kEscaped);
  }
  out->append(payload, begin);
}

void AppendKeyField(ByteView payload, std::string* out) {
  AppendKeyPrefix(payload, out);
  out->push_back('\0');
  out->push_back(kClose);
}

bool ReadKeyField(ByteView* bytes, std::string* payload) {
  size_t begin = 0;
  while (true) {
    size_t zero = bytes->find('\0', begin);
    if (zero == ByteView::npos || zero + 1 >= bytes->size()) return false;
    payload->append(*bytes, begin, zero - begin);
    char mark = (*bytes)[zero + 1];
    begin = zero + 2;
    if (mark == kClose) break;
    if (mark != kEscaped) return false;
    payload->push_back('\0');
  }
  bytes->remove_prefix(begin);
  return true;
}

std::string PrefixSuccessor(ByteView prefix) {
  std::string bound(prefix);
  while (!bound.empty() && bound.back() == '\xff') bound.pop_back();
  if (!bound.empty()) bound.back() = static_cast<char>(bound.back() + 1);
  return bound;
}

uint16_t PartitionHash(ByteView payload) {
  constexpr ByteView kSalt = "Outliers";
  char buffer[256];
  std::string large;
  char* message = buffer;
  if (kSalt.size() + payload.size() > sizeof buffer) {
    large.resize(kSalt.size() + payload.size());
    message = large.data();
  }
  std::memcpy(message, kSalt.data(), kSalt.size());
  if (!payload.empty()) std::memcpy(message + kSalt.size(), payload.data(), payload.size());
  auto digest = base::Md5({message, kSalt.size() + payload.size()});
  return static_cast<uint16_t>(digest[0] << 8 | digest[1]);
}

}  // namespace holdfast::value
