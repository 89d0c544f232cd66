// Storage keys: a field that can be read is the only encoding of its payload, and fields order as payloads
// do.
#include "value/key_codec.h"

#include "tests/fuzz/fuzz.h"

FUZZ(bytes) {
  using namespace holdfast;
  ByteView rest = bytes;
  std::string payload, encoded;
  if (value::ReadKeyField(&rest, &payload)) {
    value::AppendKeyField(payload, &encoded);
    HF_ASSERT(encoded == bytes.substr(0, bytes.size() - rest.size()));
  }
  size_t half = bytes.size() / 2;
  ByteView a = bytes.substr(0, half), b = bytes.substr(half);
  std::string field_a, field_b, prefix;
  value::AppendKeyField(a, &field_a);
  value::AppendKeyField(b, &field_b);
  HF_ASSERT((field_a < field_b) == (a < b));
  value::AppendKeyPrefix(a, &prefix);
  std::string bound = value::PrefixSuccessor(prefix);
  bool between = field_b >= prefix && (bound.empty() || field_b < bound);
  HF_ASSERT(between == b.starts_with(a));
}
