// The part of a model file that says what can be done: `functions`, `commands` and `roles`.
#pragma once

#include <functional>
#include <vector>

#include "model/command.h"
#include "model/yaml_reader.h"

namespace holdfast::model {

// Adds them to `model`, whose entities and machines are read already. Problems go to `reader`.
void ReadCommands(YamlReader* reader, const At& top,
                  const std::function<std::vector<Attribute>(const At&)>& read_attributes, Model* model);

}  // namespace holdfast::model
