#include "crypt/stream.h"

#include <openssl/evp.h>

#include <algorithm>
#include <atomic>

#include "base/check.h"

namespace holdfast::crypt {
namespace {

constexpr uint64_t kBlock = 16;
constexpr size_t kCallMax = 1 << 30;  // OpenSSL counts in int

// Looking a cipher up costs as much as encrypting some kilobytes: once a thread.
struct ThreadCipher {
  ThreadCipher() : context(EVP_CIPHER_CTX_new()) {
    HF_ASSERT(context != nullptr);
    HF_ASSERT(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nullptr, nullptr, nullptr) == 1);
  }
  ~ThreadCipher() { EVP_CIPHER_CTX_free(context); }

  EVP_CIPHER_CTX* const context;
  uint64_t stream = 0;  // whose key it has
};

}  // namespace

Stream::Stream(const SecretKey& key)
    : key_(key), id_([] {
        static std::atomic<uint64_t> last{0};
        return ++last;
      }()) {}

void Stream::Apply(uint64_t position, const char* in, char* out, size_t size) const {
  thread_local ThreadCipher cipher;
  unsigned char counter[kBlock] = {};
  for (uint64_t i = 0, block = position / kBlock; i < 8; ++i, block >>= 8)
    counter[15 - i] = static_cast<unsigned char>(block);
  const unsigned char* key = cipher.stream == id_ ? nullptr : key_.bytes.data();
  HF_ASSERT(EVP_EncryptInit_ex(cipher.context, nullptr, nullptr, key, counter) == 1);
  cipher.stream = id_;
  int done = 0;
  if (uint64_t skipped = position % kBlock; skipped != 0) {
    unsigned char unused[kBlock] = {};
    HF_ASSERT(EVP_EncryptUpdate(cipher.context, unused, &done, unused, static_cast<int>(skipped)) == 1);
  }
  while (size > 0) {
    size_t some = std::min(size, kCallMax);
    HF_ASSERT(EVP_EncryptUpdate(cipher.context, reinterpret_cast<unsigned char*>(out), &done,
                                reinterpret_cast<const unsigned char*>(in), static_cast<int>(some)) == 1);
    in += some;
    out += some;
    size -= some;
  }
}

}  // namespace holdfast::crypt
