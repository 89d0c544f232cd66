#include "storage/encryption/encrypted_file_system.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "crypt/box.h"
#include "storage/encryption/vault.h"
#include "storage/rocksdb/log_files.h"

namespace holdfast::storage {
namespace {

namespace fs = std::filesystem;
using rocksdb::IOStatus;
using rocksdb::Slice;
using Writes = EncryptedFileSystem::Writes;
using Rewritten = EncryptedFileSystem::Rewritten;

std::shared_ptr<MasterKeys> NewKeys(int versions = 1) {
  auto keys = std::make_shared<MasterKeys>();
  keys->id = "test";
  for (int i = 0; i < versions; ++i) keys->versions.push_back({*crypt::RandomKey(), false});
  keys->current = versions;
  return keys;
}

std::string RawBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string RandomText(std::mt19937* random, size_t size) {
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>((*random)());
  return text;
}

class Encrypted : public testing::Test {
 protected:
  Encrypted() {
    directory_ = fs::temp_directory_path() / ("holdfast-encrypted-" + std::to_string(::getpid()));
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    Open(Writes::kEncrypted);
  }
  ~Encrypted() override { fs::remove_all(directory_); }

  void Open(Writes writes) {
    files_ = std::make_shared<EncryptedFileSystem>(rocksdb::FileSystem::Default(), keys_, writes);
  }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  std::unique_ptr<rocksdb::FSWritableFile> Create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(files_->NewWritableFile(Path(name), {}, &file, nullptr).ok());
    return file;
  }
  void Write(const std::string& name, const std::string& text) {
    auto file = Create(name);
    EXPECT_TRUE(file->Append(text, {}, nullptr).ok());
    EXPECT_TRUE(file->Close({}, nullptr).ok());
  }
  std::unique_ptr<rocksdb::FSRandomAccessFile> OpenRandom(const std::string& name) {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    EXPECT_TRUE(files_->NewRandomAccessFile(Path(name), {}, &file, nullptr).ok());
    return file;
  }
  static std::string ReadAt(const rocksdb::FSRandomAccessFile& file, uint64_t offset, size_t size) {
    std::string scratch(size, '\0');
    Slice got;
    EXPECT_TRUE(file.Read(offset, size, {}, &got, scratch.data(), nullptr).ok());
    return got.ToString();
  }
  std::string Read(const std::string& name) {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    IOStatus status = files_->NewSequentialFile(Path(name), {}, &file, nullptr);
    if (!status.ok()) return "(" + status.ToString() + ")";
    std::string all, scratch(1000, '\0');
    for (Slice got;;) {
      EXPECT_TRUE(file->Read(scratch.size(), {}, &got, scratch.data(), nullptr).ok());
      if (got.empty()) return all;
      all += got.ToString();
    }
  }
  uint64_t Size(const std::string& name) {
    uint64_t size = 0;
    EXPECT_TRUE(files_->GetFileSize(Path(name), {}, &size, nullptr).ok());
    return size;
  }

  std::string directory_;
  std::shared_ptr<MasterKeys> keys_ = NewKeys();
  std::shared_ptr<EncryptedFileSystem> files_;
};

TEST_F(Encrypted, ReadsBackWhatWasAppendedInAnyPieces) {
  std::mt19937 random(11);
  std::string text;
  auto file = Create("a.sst");
  for (int i = 0; i < 50; ++i) {
    std::string piece = RandomText(&random, random() % 60'000);
    text += piece;
    ASSERT_TRUE(file->Append(piece, {}, nullptr).ok());
    EXPECT_EQ(file->GetFileSize({}, nullptr), text.size());
  }
  ASSERT_TRUE(file->Close({}, nullptr).ok());
  EXPECT_EQ(Size("a.sst"), text.size());
  EXPECT_EQ(Read("a.sst"), text);
  Open(Writes::kPlain);  // whatever is written now, this is read
  auto reader = OpenRandom("a.sst");
  for (int i = 0; i < 300; ++i) {
    uint64_t from = random() % text.size();
    size_t size = random() % 20'000;
    ASSERT_EQ(ReadAt(*reader, from, size), text.substr(from, size));
  }
  EXPECT_EQ(ReadAt(*reader, text.size(), 10), "");
  rocksdb::FSReadRequest requests[2];
  char scratch[2][100];
  for (int i = 0; i < 2; ++i) {
    requests[i].offset = static_cast<uint64_t>(i) * 777;
    requests[i].len = 100;
    requests[i].scratch = scratch[i];
  }
  ASSERT_TRUE(reader->MultiRead(requests, 2, {}, nullptr).ok());
  EXPECT_EQ(requests[1].result.ToString(), text.substr(777, 100));
}

TEST_F(Encrypted, HoldsNoPlaintextAndNoTwoFilesAlike) {
  std::string text(10'000, 'p');
  Write("a", text);
  Write("b", text);
  std::string a = RawBytes(Path("a")), b = RawBytes(Path("b"));
  EXPECT_EQ(a.size(), text.size() + kHeaderBytes);
  EXPECT_EQ(a.find("pppp"), std::string::npos);
  EXPECT_NE(a.substr(kHeaderBytes), b.substr(kHeaderBytes));
}

TEST_F(Encrypted, PlainFilesAreReadAsTheyAre) {
  Open(Writes::kPlain);
  Write("old", "plain text");
  EXPECT_EQ(RawBytes(Path("old")), "plain text");
  files_->StartEncrypting();
  EXPECT_EQ(Read("old"), "plain text");
  EXPECT_EQ(Size("old"), 10u);
  Write("new", "plain text");
  EXPECT_NE(RawBytes(Path("new")).find("holdfast sealed"), std::string::npos);
}

TEST_F(Encrypted, WithoutTheRightKeyNothingOpensAndTheReasonIsSaid) {
  Write("a", "text");
  keys_ = NewKeys();
  Open(Writes::kEncrypted);
  EXPECT_NE(Read("a").find("does not open it"), std::string::npos) << Read("a");
  keys_->id = "other";
  EXPECT_NE(Read("a").find("the key file is of other"), std::string::npos) << Read("a");
  keys_ = nullptr;
  Open(Writes::kPlain);
  EXPECT_NE(Read("a").find("--key-file"), std::string::npos) << Read("a");
}

TEST_F(Encrypted, AChangedHeaderIsNoticed) {
  Write("a", "text");
  std::string bytes = RawBytes(Path("a"));
  for (size_t at : {size_t{16}, size_t{18}, size_t{25}, size_t{60}}) {  // flags, id, version, wrapped key
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    std::ofstream(Path("a"), std::ios::binary) << changed;
    EXPECT_TRUE(Read("a").starts_with("(")) << at;
  }
}

// What a power cut leaves of a file that nobody had synced.
TEST_F(Encrypted, AFileWithoutAWholeHeaderIsEmpty) {
  Write("a", "text");
  std::string bytes = RawBytes(Path("a"));
  for (size_t size : {size_t{0}, size_t{5}, size_t{16}, size_t{17}, size_t{30}, size_t{100}}) {
    std::ofstream(Path("a"), std::ios::binary) << bytes.substr(0, size);
    EXPECT_EQ(Read("a"), "") << size;
    EXPECT_EQ(Size("a"), 0u);
  }
  std::fill_n(bytes.begin(), kHeaderBytes, '\0');
  std::ofstream(Path("a"), std::ios::binary) << bytes;
  EXPECT_EQ(Read("a"), "");
  EXPECT_EQ(Size("a"), 0u);
}

// A position that was encrypted is not encrypted again: two texts under one key stream would give each other
// away.
TEST_F(Encrypted, NoPositionIsWrittenTwice) {
  auto file = Create("a");
  ASSERT_TRUE(file->Append("text", {}, nullptr).ok());
  EXPECT_FALSE(file->Truncate(2, {}, nullptr).ok());
  ASSERT_TRUE(file->Close({}, nullptr).ok());
  std::unique_ptr<rocksdb::FSWritableFile> reopened;
  ASSERT_TRUE(files_->ReopenWritableFile(Path("a"), {}, &reopened, nullptr).ok());
  EXPECT_FALSE(reopened->Append("more", {}, nullptr).ok());
  EXPECT_TRUE(reopened->Truncate(4, {}, nullptr).ok());
  EXPECT_TRUE(reopened->Close({}, nullptr).ok());
  std::unique_ptr<rocksdb::FSRandomRWFile> anywhere;
  ASSERT_TRUE(files_->NewRandomRWFile(Path("a"), {}, &anywhere, nullptr).ok());
  EXPECT_FALSE(anywhere->Write(0, "more", {}, nullptr).ok());
  EXPECT_FALSE(anywhere->Write(4, "more", {}, nullptr).ok());
  EXPECT_EQ(Read("a"), "text");
}

// The log as RocksDB writes it, through the layer that puts zeros ahead.
class EncryptedLog : public Encrypted {
 protected:
  std::unique_ptr<rocksdb::FSWritableFile> CreateLog(const std::string& name) {
    logs_ = std::make_shared<LogFileSystem>(files_);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(logs_->NewWritableFile(Path(name), {}, &file, nullptr).ok());
    return file;
  }

  std::shared_ptr<LogFileSystem> logs_;
};

TEST_F(EncryptedLog, EndsWhereItsContentDoesThoughZerosFollow) {
  std::mt19937 random(3);
  auto log = CreateLog("1.log");
  std::string text;
  for (int i = 0; i < 200; ++i) {
    std::string piece = RandomText(&random, 1 + random() % (i % 20 == 0 ? 200'000 : 3000));
    if (i % 3 == 0) piece.back() = '\0';
    text += piece;
    ASSERT_TRUE(log->Append(piece, {}, nullptr).ok());
    if (i % 10 != 0) continue;
    ASSERT_EQ(Size("1.log"), text.size()) << i;
    ASSERT_EQ(Read("1.log"), text) << i;
  }
  ASSERT_TRUE(log->Close({}, nullptr).ok());
  EXPECT_EQ(Read("1.log"), text);
}

// Whoever sees the disk before and after a write over the zeros must not learn what was written: the zeros
// ahead are zeros there too, never the key stream.
TEST_F(EncryptedLog, TheZerosAheadAreZerosOnTheDisk) {
  auto log = CreateLog("1.log");
  ASSERT_TRUE(log->Append("first", {}, nullptr).ok());
  std::string before = RawBytes(Path("1.log"));
  ASSERT_GT(before.size(), 100'000u);
  size_t ahead = kHeaderBytes + 5 + kEndMark.size();
  EXPECT_EQ(before.find_first_not_of('\0', ahead), std::string::npos);
  std::string secret(1000, 's');
  ASSERT_TRUE(log->Append(secret, {}, nullptr).ok());
  std::string after = RawBytes(Path("1.log"));
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = kHeaderBytes; i + 16 < kHeaderBytes + 1005; ++i) {
    std::string difference;
    for (size_t k = i; k < i + 16; ++k) difference.push_back(static_cast<char>(before[k] ^ after[k]));
    ASSERT_NE(difference, std::string(16, 's')) << i;
  }
  EXPECT_EQ(Read("1.log"), "first" + secret);
}

// A cut may take the mark with what followed it, but nothing that was synced.
TEST_F(EncryptedLog, WithoutItsMarkALogShowsAllItHas) {
  auto log = CreateLog("1.log");
  std::string text(5000, 't');
  ASSERT_TRUE(log->Append(text, {}, nullptr).ok());
  ASSERT_TRUE(log->Close({}, nullptr).ok());
  std::string bytes = RawBytes(Path("1.log"));
  bytes.replace(kHeaderBytes + 5000, kEndMark.size(), kEndMark.size(), '\0');
  std::ofstream(Path("1.log"), std::ios::binary) << bytes;
  EXPECT_EQ(Read("1.log").substr(0, 5000), text);
  EXPECT_EQ(Size("1.log"), bytes.size() - kHeaderBytes);
}

class Rewriting : public Encrypted {
 protected:
  std::vector<std::string> Left() {
    auto files = files_->FilesToRewrite(directory_);
    EXPECT_TRUE(files.has_value());
    std::vector<std::string> names;
    for (const std::string& path : *files) names.push_back(fs::relative(path, directory_).string());
    return names;
  }
};

TEST_F(Rewriting, MakesEveryFileOfTheStoreEncrypted) {
  Open(Writes::kPlain);
  fs::create_directories(Path("vectors"));
  std::string text(3'000'000, 'p');
  Write("1.sst", text);
  Write("CURRENT", "MANIFEST-1\n");
  Write("vectors/1.graph", "graph");
  Write("FORMAT", "plain for good");
  auto reader = OpenRandom("1.sst");
  files_->StartEncrypting();
  EXPECT_EQ(Left(), (std::vector<std::string>{"1.sst", "CURRENT", "vectors/1.graph"}));
  for (const char* name : {"1.sst", "CURRENT", "vectors/1.graph"})
    EXPECT_EQ(*files_->Rewrite(Path(name)), Rewritten::kDone);
  EXPECT_TRUE(Left().empty());
  EXPECT_EQ(Read("1.sst"), text);
  EXPECT_EQ(Read("CURRENT"), "MANIFEST-1\n");
  EXPECT_EQ(RawBytes(Path("1.sst")).find("pppp"), std::string::npos);
  EXPECT_EQ(RawBytes(Path("FORMAT")), "plain for good");
  // Who had it open reads the new one: the old bytes are not kept on the disk.
  EXPECT_EQ(ReadAt(*reader, 1'000'000, 100), std::string(100, 'p'));
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    std::string target = fs::read_symlink(entry.path(), ignored).string();
    EXPECT_FALSE(target.starts_with(directory_) && target.ends_with("(deleted)")) << target;
  }
}

TEST_F(Rewriting, FollowsANewVersionOfTheKey) {
  Write("1.sst", "text");
  auto newer = std::make_shared<MasterKeys>(*keys_);
  newer->versions.push_back({*crypt::RandomKey(), false});
  newer->current = 2;
  files_->UseKeys(newer);
  EXPECT_EQ(Read("1.sst"), "text") << "older versions stay readable";
  EXPECT_EQ(Left(), (std::vector<std::string>{"1.sst"}));
  EXPECT_EQ(*files_->Rewrite(Path("1.sst")), Rewritten::kDone);
  EXPECT_TRUE(Left().empty());
  newer->versions[0].disabled = true;
  EXPECT_EQ(Read("1.sst"), "text") << "the older version is not needed any more";
}

TEST_F(Rewriting, AManifestGoesOnWhileItIsWritten) {
  Open(Writes::kPlain);
  auto manifest = Create("MANIFEST-1");
  ASSERT_TRUE(manifest->Append("first ", {}, nullptr).ok());
  files_->StartEncrypting();
  EXPECT_EQ(Left(), (std::vector<std::string>{"MANIFEST-1"}));
  EXPECT_EQ(*files_->Rewrite(Path("MANIFEST-1")), Rewritten::kDone);
  EXPECT_TRUE(Left().empty());
  ASSERT_TRUE(manifest->Append("second", {}, nullptr).ok());
  EXPECT_EQ(Read("MANIFEST-1"), "first second");
  EXPECT_EQ(RawBytes(Path("MANIFEST-1")).find("first"), std::string::npos);
  ASSERT_TRUE(manifest->Close({}, nullptr).ok());
}

TEST_F(Rewriting, WaitsForWhatIsBeingWritten) {
  Open(Writes::kPlain);
  auto table = Create("1.sst");
  ASSERT_TRUE(table->Append("text", {}, nullptr).ok());
  files_->StartEncrypting();
  EXPECT_EQ(Left(), (std::vector<std::string>{"1.sst"}));
  EXPECT_EQ(*files_->Rewrite(Path("1.sst")), Rewritten::kBusy);
  ASSERT_TRUE(table->Close({}, nullptr).ok());
  EXPECT_EQ(*files_->Rewrite(Path("1.sst")), Rewritten::kDone);
  EXPECT_EQ(*files_->Rewrite(Path("2.sst")), Rewritten::kGone);
  EXPECT_EQ(Read("1.sst"), "text");
}

TEST_F(Rewriting, LeftoversGoAtTheNextStart) {
  Write("1.sst", "text");
  Write("1.sst.sealing", "te");
  ASSERT_TRUE(files_->DeleteLeftovers(directory_));
  EXPECT_FALSE(fs::exists(Path("1.sst.sealing")));
  EXPECT_EQ(Read("1.sst"), "text");
}

TEST_F(Rewriting, AStoreSaysThatItIsEncryptedAndRefusesOtherKeys) {
  EXPECT_FALSE(Vault::Open({.directory = directory_, .encrypt = true}));
  EXPECT_TRUE(Vault::Open({.directory = directory_}));
  auto vault = Vault::Open({.directory = directory_, .keys = keys_});
  ASSERT_TRUE(vault);
  EXPECT_FALSE((*vault)->encrypting());
  ASSERT_TRUE((*vault)->StartEncrypting());
  EXPECT_TRUE((*Vault::Open({.directory = directory_, .keys = keys_}))->encrypting());
  auto refused = Vault::Open({.directory = directory_});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("master key test: name its key file by --key-file"),
            std::string::npos)
      << refused.error().message();
  auto other = NewKeys();
  other->id = "other";
  EXPECT_FALSE(Vault::Open({.directory = directory_, .keys = other}));
  // The same name, another key: the first file tells.
  Write("CURRENT", "MANIFEST-1\n");
  EXPECT_FALSE(Vault::Open({.directory = directory_, .keys = NewKeys()}));
  fs::remove(Path("ENCRYPTION"));
  EXPECT_FALSE(Vault::Open({.directory = directory_})) << "what is encrypted is not taken for damaged";
  EXPECT_TRUE((*Vault::Open({.directory = directory_, .keys = keys_}))->encrypting());
}

}  // namespace
}  // namespace holdfast::storage
