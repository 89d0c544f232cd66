#include "storage/encryption/vault.h"

#include <rocksdb/file_system.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/file.h"
#include "storage/encryption/encrypted_file_system.h"
#include "storage/rocksdb/disk_files.h"

namespace holdfast::storage {
namespace {

namespace fs = std::filesystem;
using Writes = EncryptedFileSystem::Writes;
using Rewritten = EncryptedFileSystem::Rewritten;

constexpr std::string_view kPrefix = "holdfast encryption, master key ";

Error RefuseStore(const std::string& directory, const std::string& why) {
  return Error(ErrorCode::kAccessDenied, directory + " " + why);
}

// The master key of an encrypted store.
Result<std::optional<std::string>> ReadMark(const std::string& directory) {
  fs::path path = fs::path(directory) / kEncryptionFile;
  std::ifstream in(path);
  if (!in) {
    std::error_code failed;
    if (fs::exists(path, failed)) return Error(ErrorCode::kIo, "cannot read " + path.string());
    return std::optional<std::string>();
  }
  std::string line;
  std::getline(in, line);
  if (!line.starts_with(kPrefix) || line.size() == kPrefix.size())
    return Error(ErrorCode::kCorruption, path.string() + " is damaged: it should name a master key");
  return std::optional(line.substr(kPrefix.size()));
}

Status WriteMark(const std::string& directory, const std::string& key_id) {
  return base::ReplaceFile(fs::path(directory) / kEncryptionFile, std::string(kPrefix) + key_id + "\n", 0644);
}

// Whether the store's first file is encrypted, though nothing else says so.
Result<bool> IsEncrypted(const std::string& directory, const MasterKeys* keys) {
  std::string path = fs::path(directory) / "CURRENT";
  std::ifstream in(path, std::ios::binary);
  std::string begin(kHeaderReadBytes, '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(in.gcount()));
  HF_TRY(FileHeader header, ReadHeader(begin, path, keys));
  return header.kind == FileHeader::Kind::kEncrypted;
}

}  // namespace

Result<std::shared_ptr<const MasterKeys>> LoadKeys(const std::string& key_file) {
  if (key_file.empty()) return std::shared_ptr<const MasterKeys>();
  HF_TRY(MasterKeys keys, MasterKeys::Load(key_file));
  return std::make_shared<const MasterKeys>(std::move(keys));
}

std::shared_ptr<rocksdb::FileSystem> ReadingFileSystem(std::shared_ptr<rocksdb::FileSystem> beneath,
                                                       std::shared_ptr<const MasterKeys> keys) {
  if (beneath == nullptr) beneath = DiskFileSystem();
  if (keys == nullptr) return beneath;
  return std::make_shared<EncryptedFileSystem>(beneath, std::move(keys), Writes::kPlain);
}

Vault::Vault(std::string directory, std::shared_ptr<rocksdb::FileSystem> plain,
             std::shared_ptr<EncryptedFileSystem> encrypted)
    : directory_(std::move(directory)),
      plain_(std::move(plain)),
      encrypted_(std::move(encrypted)),
      elsewhere_(encrypted_ == nullptr
                     ? nullptr
                     : std::make_shared<EncryptedFileSystem>(
                           plain_, encrypted_->keys(),
                           encrypted_->encrypting() ? Writes::kEncrypted : Writes::kPlain)) {}

Result<std::shared_ptr<Vault>> Vault::Open(const VaultOptions& options) {
  HF_TRY(std::optional<std::string> marked, ReadMark(options.directory));
  auto beneath = options.file_system != nullptr ? options.file_system : DiskFileSystem();
  if (options.keys == nullptr) {
    if (marked)
      return RefuseStore(options.directory,
                         "is encrypted with the master key " + *marked + ": name its key file by --key-file");
    if (options.encrypt) {
      return ValidationError(
          "to encrypt, a store needs a master key: make one by `holdfast init-key FILE`, then name it by "
          "--key-file FILE");
    }
    HF_TRY([[maybe_unused]] bool encrypted, IsEncrypted(options.directory, nullptr));
    return std::shared_ptr<Vault>(new Vault(options.directory, beneath, nullptr));
  }
  if (marked && *marked != options.keys->id) {
    return RefuseStore(options.directory, "is encrypted with the master key " + *marked +
                                              ", and the key file is of " + options.keys->id +
                                              ": name the right one by --key-file");
  }
  auto encrypted = std::make_shared<EncryptedFileSystem>(beneath, options.keys,
                                                         marked ? Writes::kEncrypted : Writes::kPlain);
  std::shared_ptr<Vault> vault(new Vault(options.directory, beneath, encrypted));
  HF_CHECK_OK(encrypted->DeleteLeftovers(options.directory));
  // Looks at every file, so that a key that is missing is missed now and not in the middle of something.
  HF_TRY([[maybe_unused]] auto files, encrypted->FilesToRewrite(options.directory));
  HF_TRY(bool already, IsEncrypted(options.directory, options.keys.get()));
  if (options.encrypt || already) HF_CHECK_OK(vault->StartEncrypting());
  return vault;
}

std::shared_ptr<rocksdb::FileSystem> Vault::file_system() const {
  if (encrypted_ != nullptr) return encrypted_;
  return plain_;
}

std::shared_ptr<rocksdb::FileSystem> Vault::file_system_elsewhere() const {
  if (elsewhere_ != nullptr) return elsewhere_;
  return plain_;
}

bool Vault::encrypting() const {
  return encrypted_ != nullptr && encrypted_->encrypting();
}

std::string Vault::key_id() const {
  return encrypted_->keys()->id;
}

int Vault::key_version() const {
  return encrypting() ? encrypted_->keys()->current : 0;
}

Status Vault::StartEncrypting() {
  if (encrypting()) return Ok{};
  HF_CHECK_OK(WriteMark(directory_, key_id()));
  encrypted_->StartEncrypting();
  elsewhere_->StartEncrypting();
  return Ok{};
}

Status Vault::UseKeys(const MasterKeys& keys) {
  std::shared_ptr<const MasterKeys> old = encrypted_->keys();
  if (keys.id != old->id) return ValidationError("the key file is of another master key, " + keys.id);
  if (keys.versions.size() < old->versions.size())
    return ValidationError("the key file has fewer versions than it had");
  MasterKeys merged = keys;
  for (size_t i = 0; i < old->versions.size(); ++i)
    merged.versions[i].disabled = merged.versions[i].disabled && old->versions[i].disabled;
  auto shared = std::make_shared<const MasterKeys>(std::move(merged));
  encrypted_->UseKeys(shared);
  elsewhere_->UseKeys(shared);
  return Ok{};
}

Result<std::vector<std::string>> Vault::FilesToRewrite() {
  if (!encrypting()) return std::vector<std::string>();
  return encrypted_->FilesToRewrite(directory_);
}

Result<bool> Vault::Rewrite(const std::string& path) {
  HF_TRY(Rewritten rewritten, encrypted_->Rewrite(path));
  return rewritten != Rewritten::kBusy;
}

Result<std::vector<std::string>> Vault::FilesToRewriteElsewhere(const std::string& directory) {
  if (!encrypting()) return std::vector<std::string>();
  return elsewhere_->FilesToRewrite(directory, EncryptedFileSystem::Holds::kOurFiles);
}

Result<bool> Vault::RewriteElsewhere(const std::string& path) {
  HF_TRY(Rewritten rewritten, elsewhere_->Rewrite(path));
  return rewritten != Rewritten::kBusy;
}

Status Vault::DeleteLeftoversElsewhere(const std::string& directory) {
  return encrypting() ? elsewhere_->DeleteLeftovers(directory) : Ok{};
}

Status Vault::MarkCopy(const std::string& directory) const {
  return encrypting() ? WriteMark(directory, key_id()) : Ok{};
}

}  // namespace holdfast::storage
