// A model file of unknown origin: refused with its place, or a model whose every part can be used. Whatever
// is made of its templates is read back by them.
#include "model/load.h"

#include "model/item_builder.h"
#include "tests/fuzz/fuzz.h"

using namespace holdfast;

FUZZ(bytes) {
  auto loaded = model::LoadModel(bytes, "m.yaml", {});
  if (!loaded) {
    HF_ASSERT(loaded.error().message().starts_with("m.yaml:"));
    return;
  }
  const model::Model& model = **loaded;
  for (const auto& entity : model.entities) {
    HF_ASSERT(entity->table != nullptr && !entity->key.empty());
    for (const std::string& name : entity->KeyInputs()) HF_ASSERT(entity->Find(name) != nullptr);
    Item item;
    for (const model::KeyPart& part : entity->key) item.Set(part.attribute.name, "A#B");
    if (const model::Entity* found = model.EntityOf(*entity->table, item)) model::Judge(model, *found, item);
  }
  for (const auto& machine : model.machines) {
    for (const auto& [from, moves] : machine->moves) {
      for (const std::string& to : moves) HF_ASSERT(machine->Allows(from, to));
    }
  }
  for (const auto& pattern : model.patterns) HF_ASSERT(model.FindPattern(pattern->id) != nullptr);
}
