// Whether a store is encrypted, and the file system that makes it so.
//
//   HF_TRY(auto vault, Vault::Open({.directory = "./data", .keys = keys}));
//   options.vault = vault;                              // beneath RocksDB and every file of ours
//   HF_CHECK_OK(vault->StartEncrypting());              // from now on, for good
//
// A plain file ENCRYPTION beside FORMAT says that a store is encrypted, and with which master key; it is
// written before the first encrypted file. Files that are not encrypted under the key's current version are
// rewritten one at a time by whoever calls FilesToRewrite() and Rewrite(). Nothing else is remembered: a
// process that dies in between leaves files that the next one finds.
//
// Thread-safe; Rewrite() is for one caller at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/master_keys.h"
#include "holdfast/result.h"

namespace rocksdb {
class FileSystem;
}

namespace holdfast::storage {

class EncryptedFileSystem;

struct VaultOptions {
  std::string directory;
  std::shared_ptr<const MasterKeys> keys;            // null: none
  bool encrypt = false;                              // StartEncrypting() at once
  std::shared_ptr<rocksdb::FileSystem> file_system;  // beneath; null: the operating system's
};

class Vault {
 public:
  // Refuses, saying what to do: an encrypted store without its keys, or with others; a file that the keys do
  // not open; `encrypt` without keys.
  static Result<std::shared_ptr<Vault>> Open(const VaultOptions& options);

  // What RocksDB and all other files of the store are to stand on.
  std::shared_ptr<rocksdb::FileSystem> file_system() const;
  // The same for directories elsewhere, such as an archive: a disk that does not answer there holds up nobody
  // who uses the store.
  std::shared_ptr<rocksdb::FileSystem> file_system_elsewhere() const;
  bool has_keys() const { return encrypted_ != nullptr; }
  bool encrypting() const;
  // The id of the master key. Requires: has_keys().
  std::string key_id() const;
  // The version under which new files are; 0: they are plain.
  int key_version() const;

  // Requires: has_keys().
  Status StartEncrypting();
  // Newer versions of the same key. What could be opened still can, whatever they disable.
  Status UseKeys(const MasterKeys& keys);

  // Paths; empty when every file is encrypted under the current version, and unless encrypting().
  Result<std::vector<std::string>> FilesToRewrite();
  // Returns false when the file is in use and has to wait. A log cannot be rewritten: roll it.
  Result<bool> Rewrite(const std::string& path);

  // The same for a directory elsewhere, in which every file counts and any can be rewritten.
  Result<std::vector<std::string>> FilesToRewriteElsewhere(const std::string& directory);
  Result<bool> RewriteElsewhere(const std::string& path);
  // What an interrupted RewriteElsewhere() left goes. Requires: none is under way.
  Status DeleteLeftoversElsewhere(const std::string& directory);

  // Makes the directory of a copy say what this one's does. The copy has no ENCRYPTION when the store has
  // none.
  Status MarkCopy(const std::string& directory) const;

 private:
  Vault(std::string directory, std::shared_ptr<rocksdb::FileSystem> plain,
        std::shared_ptr<EncryptedFileSystem> encrypted);

  const std::string directory_;
  const std::shared_ptr<rocksdb::FileSystem> plain_;
  const std::shared_ptr<EncryptedFileSystem> encrypted_;  // null: without keys
  const std::shared_ptr<EncryptedFileSystem> elsewhere_;  // likewise
};

// The master keys in a file; null when none is named.
Result<std::shared_ptr<const MasterKeys>> LoadKeys(const std::string& key_file);
// To read what lies elsewhere, such as an archive, encrypted or not: `beneath` (null: the operating system's)
// with the keys, which may be null.
std::shared_ptr<rocksdb::FileSystem> ReadingFileSystem(std::shared_ptr<rocksdb::FileSystem> beneath,
                                                       std::shared_ptr<const MasterKeys> keys);

// The file that says that a store is encrypted.
inline constexpr const char* kEncryptionFile = "ENCRYPTION";

}  // namespace holdfast::storage
