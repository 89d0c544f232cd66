// Files by way of RocksDB's FileSystem.
#pragma once

#include <memory>
#include <string>

#include "storage/files.h"

namespace rocksdb {
class FileSystem;
}

namespace holdfast::storage {

// The directory is made when the first file is.
std::unique_ptr<Files> OpenRocksDbFiles(std::shared_ptr<rocksdb::FileSystem> file_system,
                                        const std::string& directory);

}  // namespace holdfast::storage
