// Files beside the key-value store, in directories of their own: large things that are written whole, read
// from start to end and thrown away, such as backups and snapshots of what can be made again.
//
//   HF_TRY(std::unique_ptr<FileWriter> file, files->Create("7-1.graph"));
//   HF_CHECK_OK(file->Append(bytes));
//   HF_CHECK_OK(file->Finish());              // now the file survives a power cut, and so does its name
//
// They lie on the same file system as the store, so that whatever is beneath it (encryption, a test's
// misbehaving disk) is beneath them too. A name is a plain file name.
//
// Thread-safe; a writer or reader belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "holdfast/result.h"

namespace holdfast::storage {

// What files are for: each kind has a directory, and names of its own.
enum class FileKind : uint8_t {
  kVectors,   // snapshots of vector indexes; can be made again
  kSegments,  // backups, and what point-in-time recovery starts from
};

// Ends the name of a file that is being written. A crash leaves it behind.
inline constexpr std::string_view kPartialFile = ".partial";

class FileWriter {
 public:
  // What was not finished is thrown away.
  virtual ~FileWriter() = default;
  virtual Status Append(ByteView bytes) = 0;
  // The file has its name from here on: whoever sees the name sees all of it.
  virtual Status Finish() = 0;
};

class FileReader {
 public:
  virtual ~FileReader() = default;
  // The next `bytes` bytes; an error when the file ends before.
  virtual Status Read(size_t bytes, char* out) = 0;
};

class Files {
 public:
  virtual ~Files() = default;
  // Replaces a file of that name.
  virtual Result<std::unique_ptr<FileWriter>> Create(const std::string& name) = 0;
  virtual Result<std::unique_ptr<FileReader>> Open(const std::string& name) = 0;
  virtual Status Delete(const std::string& name) = 0;
  virtual Result<std::vector<std::string>> List() = 0;
};

}  // namespace holdfast::storage
