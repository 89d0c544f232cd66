// What the repositories of all languages have in common: which methods an entity gets, and the facts of the
// model that they need when they run, as data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/generate/text.h"
#include "model/model.h"

namespace holdfast::model::generate {

// Finds entities by the field of their state machine.
struct StateFinder {
  const Pattern* pattern = nullptr;
  std::vector<std::string> params;  // the field first
  Node query = Node::Map();
};

struct RepositoryPlan {
  const Entity* entity = nullptr;
  std::vector<std::string> key;        // attributes that name one item
  std::vector<std::string> defaulted;  // may be left out at creation though required
  std::vector<std::string> computed;   // never given
  std::vector<std::string> fixed;      // never changed
  bool creates = false;
  bool updates = false;
  std::optional<StateFinder> by_state;
  Node facts = Node::Map();
};

RepositoryPlan PlanRepository(const Model& model, const Entity& entity);
// The embedded schemas by name, as far as values need work before they are stored.
Node SchemaFacts(const Model& model);

}  // namespace holdfast::model::generate
