// A state of a store on its way into an archive: held first, by hard links, and then copied at leisure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "storage/archive/archive.h"
#include "storage/kv.h"

namespace holdfast::storage {

// Where a store is.
struct StorePlace {
  FileSystemPtr file_system;  // never null
  std::string directory;
};

struct HeldState {
  // Without its number, segment and files.
  ArchivedCheckpoint checkpoint;
  struct File {
    std::string path;    // as it is to stand in the store
    std::string source;  // where it is now
  };
  std::vector<File> files;
};

// Everything that is durable now is in it, and nothing that a power cut could still take. One at a time of
// each name; LetGo() ends it, and what a crash left behind is cleared away first.
Result<HeldState> HoldState(Kv* kv, const StorePlace& store, const std::string& name,
                            const base::Clock& clock);
Status LetGo(const StorePlace& store, const std::string& name);
// Lets go whatever comes in between: what is held takes up room, and may be in plain text.
class HeldUntilEnd {
 public:
  HeldUntilEnd(const StorePlace& store, std::string name) : store_(store), name_(std::move(name)) {}
  ~HeldUntilEnd() { static_cast<void>(LetGo(store_, name_)); }  // or else before the next one is held
  HeldUntilEnd(const HeldUntilEnd&) = delete;
  HeldUntilEnd& operator=(const HeldUntilEnd&) = delete;

 private:
  const StorePlace& store_;
  const std::string name_;
};
// All of them: what a crash left takes up space. Requires: none is in use.
Status LetGo(const StorePlace& store);

// Where states are held: in directories of the store, so that links work, whose names begin so.
inline constexpr std::string_view kHeldPrefix = "shipping-";

// Copies the files of `held`, except those that are among `known` objects already, into `*checkpoint`, whose
// number is set. Its list is not written yet.
using KnownObjects = std::map<std::string, ArchivedFile>;
Status ShipFiles(const HeldState& held, const StorePlace& store, const KnownObjects& known, Archive* archive,
                 const Between& between, ArchivedCheckpoint* checkpoint, uint64_t* bytes);

// Whether a file of that name is all there; others are in the making.
bool IsFinished(std::string_view name);
// Paths of the files in the directories beside the store's own files, such as vectors/.
Result<std::vector<std::string>> FilesBeside(const StorePlace& store);
// The name in files/ of such a file, which changes when the file does.
Result<std::string> ObjectOf(rocksdb::FileSystem* file_system, const std::string& path,
                             const std::string& source);

// A whole-store backup: an archive of one checkpoint, in a directory that does not exist yet and that appears
// when everything in it is durable. Returns its bytes. One at a time for each store.
Result<uint64_t> BackUp(Kv* kv, const StorePlace& store, const FileSystemPtr& file_system,
                        const std::string& directory, const base::Clock& clock);

}  // namespace holdfast::storage
