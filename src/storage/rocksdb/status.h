// What RocksDB and its file systems answer, as the rest of the code has it.
#pragma once

#include <rocksdb/io_status.h>
#include <rocksdb/status.h>

#include "holdfast/result.h"

namespace holdfast::storage {

// Requires: not OK.
inline Error ToError(const rocksdb::Status& status) {
  ErrorCode code = status.IsIncomplete() || status.IsTryAgain() ? ErrorCode::kWouldBlock
                   : status.IsCorruption()                      ? ErrorCode::kCorruption
                   : status.IsNotSupported()                    ? ErrorCode::kNotSupported
                                                                : ErrorCode::kIo;
  return Error(code, status.ToString());
}

inline Status ToStatus(const rocksdb::Status& status) {
  if (status.ok()) return Ok{};
  return ToError(status);
}

// Whether it is only that there is no such file or directory.
inline bool IsMissing(const rocksdb::IOStatus& status) {
  return status.IsNotFound() || status.IsPathNotFound();
}

}  // namespace holdfast::storage
