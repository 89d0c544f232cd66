// Files of a store in memory: gone with the process.
//
// Thread-safe.
#pragma once

#include <map>

#include "base/mutex.h"
#include "storage/files.h"

namespace holdfast::storage {

class MemoryFiles final : public Files {
 public:
  Result<std::unique_ptr<FileWriter>> Create(const std::string& name) override;
  Result<std::unique_ptr<FileReader>> Open(const std::string& name) override;
  Status Delete(const std::string& name) override;
  Result<std::vector<std::string>> List() override;

 private:
  class Writer;
  class Reader;

  base::Mutex mu_;
  std::map<std::string, std::shared_ptr<const std::string>> files_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::storage
