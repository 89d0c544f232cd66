// Bytes of unknown origin: what passes the check can be walked, and has no other spelling.
#include "tests/fuzz/fuzz.h"
#include "value/flat.h"

FUZZ(bytes) {
  using namespace holdfast;
  if (!value::IsWellFormedItem(bytes)) return;
  Item item = Item::FromFlat(std::string(bytes));
  static_cast<void>(item.SizeBytes());
  Item rebuilt(item.ToMap());
  if (rebuilt.defect() != nullptr) {  // the check allows one level more than a document may have
    HF_ASSERT(rebuilt.defect()->message() == value::NestingTooDeep().message());
    return;
  }
  HF_ASSERT(rebuilt.flat() == bytes);
  value::MapView map(item);
  for (uint32_t i = 0; i < map.size(); ++i) HF_ASSERT(map.IndexOf(map.At(i).name) == i);
}
