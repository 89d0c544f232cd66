// Must fail: if the fuzzer does not find this, it would not find anything else either.
#include "tests/fuzz/fuzz.h"

FUZZ(bytes) {
  bool found = bytes.size() >= 3 && bytes[0] == 'n' && bytes[1] == 'o' && bytes[2] == '!';
  HF_ASSERT(!found);
}
