// The first page of an encrypted file (docs/format.md): which master key opens it, and the file's own key,
// wrapped by that one. The tag of the wrapping covers the whole header.
//
// A header that is all zeros, or cut off, is what a power cut leaves of a file that nobody had synced: such a
// file has no content.
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "crypt/stream.h"
#include "holdfast/master_keys.h"
#include "holdfast/result.h"

namespace holdfast::storage {

// A page, so that the pages of a file and of what is in it are the same.
inline constexpr uint64_t kHeaderBytes = 4096;
// As much of it as says something, at most.
inline constexpr size_t kHeaderReadBytes = 256;

struct FileHeader {
  enum class Kind : uint8_t {
    kPlain,  // not encrypted: there is no header
    kEmpty,  // nothing was ever synced
    kEncrypted,
  };

  Kind kind = Kind::kPlain;
  int version = 0;  // of the master key; 0: not encrypted
  // The content ends at an end mark, not with the file.
  bool marked = false;
  std::shared_ptr<const crypt::Stream> stream;  // of kEncrypted
};

// A header for a new file, under a new key and the current version of the master key.
struct NewHeader {
  std::string bytes;  // kHeaderBytes of them
  std::shared_ptr<const crypt::Stream> stream;
};
Result<NewHeader> MakeHeader(const MasterKeys& keys, bool marked);

// What the first bytes of `path`, all of them or kHeaderReadBytes, say. `keys` may be null: then an encrypted
// file is refused, as it is when the keys do not open it; the message says what to do.
Result<FileHeader> ReadHeader(ByteView begin, const std::string& path, const MasterKeys* keys);

// Stands behind the content of a marked file, in the clear, and is overwritten by what is appended. No byte
// of it is zero, so zeros behind it are told from it.
inline constexpr std::string_view kEndMark =
    "\x9d\x4e\xc7\x51\xe3\x2b\xf8\x66\xb5\x1d\x8a\x73\xd2\x3c\x97\xa9";

}  // namespace holdfast::storage
