#include "storage/encryption/file_header.h"

#include <algorithm>

#include "crypt/box.h"

namespace holdfast::storage {
namespace {

// Stored on disk: never change.
constexpr std::string_view kMagic = "holdfast sealed\x01";
constexpr char kMarked = 1;
constexpr size_t kIdAt = kMagic.size() + 2;  // after the flags and the length of the id
constexpr size_t kVersionBytes = 4;
constexpr size_t kWrappedBytes = sizeof(SecretKey::bytes) + crypt::kBoxBytes;
constexpr size_t kIdBytesMax = 64;
static_assert(kIdAt + kIdBytesMax + kVersionBytes + kWrappedBytes <= kHeaderReadBytes);

Error Refuse(const std::string& path, const std::string& why) {
  return Error(ErrorCode::kAccessDenied, path + " " + why);
}

}  // namespace

Result<NewHeader> MakeHeader(const MasterKeys& keys, bool marked) {
  const SecretKey* master = keys.Find(keys.current);
  if (master == nullptr || keys.id.size() > kIdBytesMax)
    return Error(ErrorCode::kInternal, "there is no current master key");
  HF_TRY(SecretKey file_key, crypt::RandomKey());
  NewHeader header;
  header.bytes = kMagic;
  header.bytes.push_back(marked ? kMarked : '\0');
  header.bytes.push_back(static_cast<char>(keys.id.size()));
  header.bytes += keys.id;
  base::AppendBigEndian(&header.bytes, static_cast<uint64_t>(keys.current), kVersionBytes);
  HF_CHECK_OK(crypt::Lock(*master, crypt::View(file_key), std::string(header.bytes), &header.bytes));
  header.bytes.resize(kHeaderBytes, '\0');
  header.stream = std::make_shared<const crypt::Stream>(file_key);
  return header;
}

Result<FileHeader> ReadHeader(ByteView begin, const std::string& path, const MasterKeys* keys) {
  ByteView magic = begin.substr(0, kMagic.size());
  FileHeader header;
  if (std::all_of(magic.begin(), magic.end(), [](char byte) { return byte == 0; }) ||
      (magic.size() < kMagic.size() && kMagic.starts_with(magic))) {
    header.kind = FileHeader::Kind::kEmpty;
    return header;
  }
  if (magic != kMagic) return header;
  header.kind = FileHeader::Kind::kEmpty;
  if (begin.size() < kIdAt) return header;
  size_t id_bytes = static_cast<unsigned char>(begin[kIdAt - 1]);
  size_t version_at = kIdAt + id_bytes, wrapped_at = version_at + kVersionBytes;
  if (id_bytes > kIdBytesMax) return Error(ErrorCode::kCorruption, path + " has a damaged header");
  if (begin.size() < wrapped_at + kWrappedBytes) return header;

  ByteView id = begin.substr(kIdAt, id_bytes);
  uint64_t version = base::ReadBigEndian(begin.substr(version_at), kVersionBytes);
  std::string under =
      "is encrypted under version " + std::to_string(version) + " of the master key " + std::string(id);
  if (keys == nullptr) return Refuse(path, under + ": name its key file by --key-file");
  if (id != keys->id)
    return Refuse(path,
                  under + ", and the key file is of " + keys->id + ": name the right one by --key-file");
  const SecretKey* master = version > INT32_MAX ? nullptr : keys->Find(static_cast<int>(version));
  if (master == nullptr) {
    return Refuse(path, under +
                            ", which the key file does not have or has disabled: name the newest copy of the "
                            "key file by --key-file");
  }
  SecretKey file_key;
  if (!crypt::Unlock(*master, begin.substr(wrapped_at, kWrappedBytes), begin.substr(0, wrapped_at),
                     file_key.bytes.data())) {
    return Refuse(path,
                  under + ", and that key does not open it: the file or the key file is not what it was");
  }
  header.kind = FileHeader::Kind::kEncrypted;
  header.version = static_cast<int>(version);
  header.marked = (begin[kMagic.size()] & kMarked) != 0;
  header.stream = std::make_shared<const crypt::Stream>(file_key);
  return header;
}

}  // namespace holdfast::storage
