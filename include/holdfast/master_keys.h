// The keys under which a model's `encrypted` attributes are sealed (docs/models.md, docs/format.md).
//
//   auto keys = holdfast::MasterKeys::Load("holdfast.keys");
//   options.master_keys = std::make_shared<const holdfast::MasterKeys>(*std::move(keys));
//
// They live in one JSON file that its owner alone may read. Every attribute has a key of its own, wrapped by
// the master key's current version; older versions go on opening what they sealed until they are disabled.
// Whoever loses the file loses the attributes: keep a copy, apart from the backups of the data.
//
// Thread safety: immutable after construction. The functions that change a file may run in several processes
// at once.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/result.h"

namespace holdfast {

// 256 bits, wiped when they are done with.
struct HOLDFAST_EXPORT SecretKey {
  SecretKey() = default;
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();

  std::array<unsigned char, 32> bytes{};
};

struct HOLDFAST_EXPORT MasterKeys {
  struct Version {
    SecretKey key;
    bool disabled = false;  // opens and seals nothing
  };

  std::string id;                 // of the master key, in all its versions
  std::vector<Version> versions;  // the first is version 1
  int current = 0;                // seals

  // Null when there is no such version, or it is disabled.
  const SecretKey* Find(int version) const;

  // Makes a file with one random version. Refuses to overwrite one.
  static Result<MasterKeys> Create(const std::string& path);
  // Refuses a file that anybody but its owner may read or write.
  static Result<MasterKeys> Load(const std::string& path);
  // Adds a random version, which is the current one from then on.
  static Result<MasterKeys> Rotate(const std::string& path);
  // Refuses the current version. What is still sealed under `version` cannot be opened any more: rewrap it
  // before.
  static Result<MasterKeys> Disable(const std::string& path, int version);
};

}  // namespace holdfast
