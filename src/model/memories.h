// What `memory` patterns answer from: the items of an entity in this process, found by the value of an
// attribute.
//
// A map is filled by its source, a scan, when it is first asked, and follows the table from before that scan
// on, so that nothing is missed that is written meanwhile. How:
//   - Where the store tells of each change before it answers the write (a database in this process), from its
//     change log: all writes are seen, raw ones and removals by TTL too. Pending changes are applied before
//     each answer. A thread applies them once a second besides, since the log keeps them until then, and
//     forgets a map that was not asked for ten minutes.
//   - Elsewhere from the writes that pass through this process (Note); what others write is seen when the map
//     is filled anew, after a minute.
//
// Thread-safe. Neither store nor model is owned.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "holdfast/model.h"
#include "holdfast/store.h"
#include "model/model.h"

namespace holdfast::model {

class Memories {
 public:
  // Gives each record of a `memory` pattern's source to `visit`.
  using Visit = std::function<void(const Record& record)>;
  using Source = std::function<Status(const Visit& visit)>;

  Memories(Store* store, const Model* model);
  ~Memories();

  // The records whose attribute has the value, in the order of their keys. Blocks.
  Result<std::vector<Record>> Find(const Pattern& pattern, const AttributeValue& value, const Source& source);
  // Something was written through this process. Does nothing where the store itself tells.
  void Note(const Entity& entity, const Item& stored, bool deleted);

 private:
  class Map;

  Status Ready(Map* map, const Source& source);
  void KeepUp();

  Store* const store_;
  const base::Log log_{base::LogLevel::kWarning};
  std::map<std::string, std::unique_ptr<Map>> maps_;  // by the pattern's ID; constant after construction

  base::Mutex mu_;
  base::CondVar stopped_;
  bool stop_ HF_GUARDED_BY(mu_) = false;
  std::thread keeper_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::model
