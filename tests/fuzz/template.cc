// Any text as a template: refused with the place of what is wrong, or read; what was read is written, and
// reads as the same again.
#include "model/cloudformation/template.h"

#include "model/cloudformation/write.h"
#include "tests/fuzz/fuzz.h"

using namespace holdfast;
namespace cloudformation = model::cloudformation;

static std::string Written(const cloudformation::Template& read) {
  cloudformation::WrittenTemplate written;
  written.description = "fuzz";
  for (const cloudformation::TableResource& table : read.tables) {
    std::string id = "T" + std::to_string(written.tables.size());
    written.tables.push_back({id, id, table.properties});
  }
  return cloudformation::WriteTemplate(written);
}

FUZZ(bytes) {
  cloudformation::ReadOptions options;
  options.tables_only = bytes.size() % 2 == 0;
  auto read = cloudformation::ReadTemplate(bytes, "t", options);
  if (!read) {
    HF_ASSERT(read.error().message().starts_with("t:"));
    return;
  }
  for (const cloudformation::TableResource& table : read->tables)
    HF_ASSERT(!table.properties.table_name->empty());
  if (read->tables.empty()) return;
  std::string text = Written(*read);
  auto again = cloudformation::ReadTemplate(text, "t", {});
  HF_ASSERT(again.has_value() && Written(*again) == text);
}
