#include "holdfast/master_keys.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>

#include <simdjson.h>

#include "base/base64.h"
#include "base/file.h"
#include "crypt/box.h"

namespace holdfast {
namespace {

constexpr int64_t kFileFormat = 1;
constexpr size_t kFileBytesMax = 1 << 20;
constexpr size_t kIdBytes = 8;
constexpr size_t kIdTextMax = 64;

// What stands between quotes as it is.
bool IsPlainText(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

Result<std::string> RandomId() {
  HF_TRY(SecretKey random, crypt::RandomKey());
  std::string id;
  for (size_t i = 0; i < kIdBytes; ++i) {
    id += "0123456789abcdef"[random.bytes[i] >> 4];
    id += "0123456789abcdef"[random.bytes[i] & 15];
  }
  return id;
}

Status AddVersion(MasterKeys* keys) {
  MasterKeys::Version version;
  HF_TRY(version.key, crypt::RandomKey());
  keys->versions.push_back(version);
  keys->current = static_cast<int>(keys->versions.size());
  return Ok{};
}

// Wipes the text behind a view of the parser's own, writable, memory.
void Wipe(std::string_view text) {
  OPENSSL_cleanse(const_cast<char*>(text.data()), text.size());
}

std::optional<MasterKeys::Version> ReadVersion(simdjson::dom::element entry, size_t number) {
  int64_t stated = 0;
  std::string_view key;
  MasterKeys::Version version;
  if (entry["version"].get(stated) != simdjson::SUCCESS || stated != static_cast<int64_t>(number)) return {};
  if (entry["disabled"].get(version.disabled) != simdjson::SUCCESS) return {};
  if (entry["key"].get(key) != simdjson::SUCCESS) return {};
  std::string bytes;
  bool whole = base::DecodeBase64(key, &bytes) && bytes.size() == version.key.bytes.size();
  if (whole) std::copy(bytes.begin(), bytes.end(), version.key.bytes.begin());
  Wipe(bytes);
  Wipe(key);
  return whole ? std::optional(version) : std::nullopt;
}

Result<MasterKeys> Parse(const simdjson::padded_string& text, const std::string& path) {
  auto damaged = [&](const std::string& why) {
    return Error(ErrorCode::kCorruption, "the key file " + path + " is damaged: " + why);
  };
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(text).get(document) != simdjson::SUCCESS) return damaged("it is not JSON");
  int64_t format = 0, current = 0;
  if (document["format"].get(format) != simdjson::SUCCESS || format < 1) return damaged("it names no format");
  if (format > kFileFormat) {
    return Error(ErrorCode::kNewerFormat,
                 "the key file " + path + " was written by a later version of holdfast");
  }
  MasterKeys keys;
  std::string_view id;
  simdjson::dom::array versions;
  if (document["keyId"].get(id) != simdjson::SUCCESS || id.empty() || id.size() > kIdTextMax ||
      !IsPlainText(id)) {
    return damaged("it has no \"keyId\"");
  }
  keys.id = id;
  if (document["versions"].get(versions) != simdjson::SUCCESS) return damaged("it has no \"versions\"");
  for (simdjson::dom::element entry : versions) {
    size_t number = keys.versions.size() + 1;
    auto version = ReadVersion(entry, number);
    if (!version) return damaged("version " + std::to_string(number) + " is not as it should be");
    keys.versions.push_back(*version);
  }
  bool in_range = document["current"].get(current) == simdjson::SUCCESS && current > 0 &&
                  current <= static_cast<int64_t>(keys.versions.size());
  keys.current = in_range ? static_cast<int>(current) : 0;
  if (keys.Find(keys.current) == nullptr) return damaged("\"current\" names no usable version");
  return keys;
}

Status Save(const MasterKeys& keys, const std::string& path) {
  std::string text;
  text.reserve(256 + 128 * keys.versions.size());  // growing would leave copies in memory
  text += "{\n  \"format\": " + std::to_string(kFileFormat) + ",\n  \"keyId\": \"" + keys.id +
          "\",\n  \"current\": " + std::to_string(keys.current) + ",\n  \"versions\": [";
  for (size_t i = 0; i < keys.versions.size(); ++i) {
    const auto& [key, disabled] = keys.versions[i];
    text += (i == 0 ? "" : ",") + ("\n    {\"version\": " + std::to_string(i + 1)) +
            ", \"disabled\": " + (disabled ? "true" : "false") + ", \"key\": \"";
    base::AppendBase64({reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()}, &text);
    text += "\"}";
  }
  text += "\n  ]\n}\n";
  Status saved = text.size() <= kFileBytesMax
                     ? base::ReplaceFile(path, text, 0600)
                     : Error(ErrorCode::kLimitExceeded, "too many versions in " + path);
  Wipe(text);
  return saved;
}

// Read, change and write as one, whoever else is changing a key file there.
Result<MasterKeys> Change(const std::string& path, const std::function<Result<MasterKeys>()>& read,
                          const std::function<Status(MasterKeys*)>& change) {
  HF_TRY(base::FileDescriptor directory, base::LockDirectoryOf(path));
  HF_TRY(MasterKeys keys, read());
  HF_CHECK_OK(change(&keys));
  HF_CHECK_OK(Save(keys, path));
  return keys;
}

}  // namespace

SecretKey::~SecretKey() {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

const SecretKey* MasterKeys::Find(int version) const {
  if (version < 1 || static_cast<size_t>(version) > versions.size()) return nullptr;
  const Version& found = versions[static_cast<size_t>(version) - 1];
  return found.disabled ? nullptr : &found.key;
}

Result<MasterKeys> MasterKeys::Create(const std::string& path) {
  auto fresh = [&]() -> Result<MasterKeys> {
    if (::access(path.c_str(), F_OK) == 0) return Error(ErrorCode::kResourceInUse, path + " exists already");
    MasterKeys keys;
    HF_TRY(keys.id, RandomId());
    return keys;
  };
  return Change(path, fresh, AddVersion);
}

Result<MasterKeys> MasterKeys::Load(const std::string& path) {
  HF_TRY(std::string file, base::ReadPrivateFile(path, kFileBytesMax));
  simdjson::padded_string text(file);
  Wipe(file);
  Result<MasterKeys> keys = Parse(text, path);
  Wipe(text);
  return keys;
}

Result<MasterKeys> MasterKeys::Rotate(const std::string& path) {
  return Change(
      path, [&] { return Load(path); }, AddVersion);
}

Result<MasterKeys> MasterKeys::Disable(const std::string& path, int version) {
  return Change(
      path, [&] { return Load(path); },
      [&](MasterKeys* keys) -> Status {
        if (version < 1 || static_cast<size_t>(version) > keys->versions.size()) {
          return ValidationError("the key file has no version " + std::to_string(version));
        }
        if (version == keys->current) {
          return ValidationError("version " + std::to_string(version) + " is the current one; rotate first");
        }
        keys->versions[static_cast<size_t>(version) - 1].disabled = true;
        return Ok{};
      });
}

}  // namespace holdfast
