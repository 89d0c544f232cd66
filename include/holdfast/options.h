// How to open a database. The defaults are meant to be kept: give a directory, or nothing for a database in
// memory.
//
//   holdfast::Database::Open({.directory = "./data"});
//   holdfast::Database::Open({});
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast {

// What an acknowledged write survives.
enum class Durability : unsigned char {
  // Everything: the answer follows a sync of the log. Writes that arrive together share one sync.
  kSync,
  // A crash of the process. A power cut or a crash of the operating system may take the writes of the last
  // Options::sync_interval_millis, together with whatever was read of them.
  kInterval,
  // A clean shutdown only. For bulk loads and tests.
  kNone,
};

struct Options {
  // Where the data lives. Empty: in memory, gone with the Database.
  std::string directory;

  // Create a store in `directory` when there is none. Off: opening what does not exist is an error, which is
  // what a program wants that expects its data to be there.
  bool create_if_missing = true;

  // What is promised of a write when its call returns. The price of kSync is one sync of the disk per group
  // of concurrent writes; a program that writes from one thread pays it per write.
  Durability durability = Durability::kSync;
  int64_t sync_interval_millis = 1000;  // for kInterval

  // Memory for blocks of data read from disk, with their filters and indexes. A working set that fits is
  // served without touching the disk; beyond it each read of a cold item costs one disk read. Fixed while the
  // database is open: `holdfast serve` sizes its own by --memory, and adjusts it.
  size_t cache_bytes = 128 << 20;

  // Master keys (holdfast/master_keys.h, `holdfast init-key`), which an encrypted store cannot be opened
  // without. New versions are noticed while the store is open. Empty: none.
  std::string key_file;
  // Encrypt every file of the store, from now on and for good; those that are there are rewritten in the
  // background. A table with an SSESpecification does the same. Needs `key_file`.
  bool encrypt = false;

  // Where to ship checkpoints and the log as they are written, so that the store can be made anew as it was
  // at any second (docs/archive.md). On another disk, best on another machine's. Empty: nowhere.
  std::string archive_directory;
  int64_t archive_days = 35;  // for how long every second is kept

  // How often expired items are looked for. They vanish within about this time after their expiry.
  int64_t ttl_sweep_millis = 1000;

  // What appears in ARNs.
  std::string region = "us-east-1";
  std::string account = "123456789012";

  // Tables and indexes stay CREATING, UPDATING or DELETING this long before they settle, as they do on AWS,
  // for clients that should be tested against it. 0: they settle at once.
  int64_t transient_status_millis = 0;
};

}  // namespace holdfast
