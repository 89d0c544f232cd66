// A sealed text of unknown origin, as text and as the bytes behind it: refused, unless it is the one of the
// seeds. What was sealed here opens, and does not once it was changed.
#include "model/seal.h"

#include "base/base64.h"
#include "tests/fuzz/fuzz.h"

using namespace holdfast;

FUZZ(bytes) {
  constexpr std::string_view kContext = "integration=jira";
  MasterKeys keys{"golden", std::vector<MasterKeys::Version>(1), 1};
  for (size_t i = 0; i < 32; ++i) keys.versions[0].key.bytes[i] = static_cast<unsigned char>(i);
  for (const std::string& text : {std::string(bytes), base::Base64(bytes)}) {
    auto opened = model::Unseal(keys, text, kContext);
    HF_ASSERT(!opened || *opened == "kept for ever");
    HF_ASSERT(!model::Unseal(keys, text, "integration=asana"));
    HF_ASSERT(!opened || model::SealedVersion(text).value() == 1);
  }

  std::string sealed = model::Seal(keys, bytes, kContext).value(), raw;
  HF_ASSERT(model::Unseal(keys, sealed, kContext).value() == bytes);
  HF_ASSERT(base::DecodeBase64(sealed, &raw));
  size_t at = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]) * raw.size() / 256;
  raw[at] ^= static_cast<char>(1 << bytes.size() % 8);
  HF_ASSERT(!model::Unseal(keys, base::Base64(raw), kContext));
}
