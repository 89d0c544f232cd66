// Encryption at rest as the engine keeps it: what switches it on, what it refuses, what a copy of the store
// is.
#include "engine/sealer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/store_directory.h"
#include "holdfast/master_keys.h"
#include "storage/encryption/encrypted_file_system.h"

namespace holdfast::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlanted = "PlantedTable";

class SealerTest : public testing::Test {
 protected:
  SealerTest() {
    root_ = fs::temp_directory_path() / ("holdfast-sealer-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    options_.options.directory = root_ + "/data";
    options_.options.key_file = root_ + "/key";
    EXPECT_TRUE(MasterKeys::Create(options_.options.key_file));
    options_.manual_housekeeping = true;
  }
  ~SealerTest() override {
    engine_.reset();
    fs::remove_all(root_);
  }

  Status Open() {
    engine_.reset();
    HF_TRY(engine_, Engine::Open(options_));
    return Ok{};
  }
  Result<TablePtr> CreateTable(const std::string& name, const std::string& key_arn = "") {
    TableSchema schema;
    schema.name = name;
    schema.partition = {"p", value::Type::kString};
    schema.attributes = {{"p", ScalarAttributeType::kString}};
    schema.sse_key_arn = key_arn;
    return engine_->CreateTable(std::move(schema));
  }
  static std::vector<std::string> FilesWith(const std::string& text, const std::string& directory) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(file), {}};
      if (bytes.find(text) != std::string::npos) found.push_back(entry.path().filename());
    }
    return found;
  }

  std::string root_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(SealerTest, ATableThatWantsItSwitchesItOnForGood) {
  ASSERT_TRUE(Open());
  EXPECT_EQ(engine_->encryption(), Encryption::kOff);
  ASSERT_TRUE(CreateTable(kPlanted));
  ASSERT_TRUE(engine_->committer().WaitDurable());
  EXPECT_FALSE(FilesWith(kPlanted, options_.options.directory).empty());
  ASSERT_TRUE(CreateTable("wants", "arn"));
  EXPECT_NE(engine_->encryption(), Encryption::kOff);
  ASSERT_TRUE(engine_->WaitForEncryption());
  EXPECT_EQ(engine_->encryption(), Encryption::kOn);
  EXPECT_EQ(engine_->files_to_encrypt(), 0u);
  EXPECT_TRUE(FilesWith(kPlanted, options_.options.directory).empty());

  ASSERT_TRUE(Open());
  EXPECT_EQ(engine_->encryption(), Encryption::kOn);
  EXPECT_EQ(engine_->catalog().Find("wants")->schema()->sse_key_arn, "arn");
  options_.options.key_file.clear();
  EXPECT_FALSE(Open());
}

TEST_F(SealerTest, WithoutKeysATableThatWantsItIsRefusedAndNothingChanges) {
  options_.options.key_file.clear();
  ASSERT_TRUE(Open());
  auto refused = CreateTable("wants", "arn");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kValidation);
  EXPECT_EQ(engine_->catalog().Find("wants"), nullptr);
  EXPECT_EQ(engine_->encryption(), Encryption::kOff);
  EXPECT_FALSE(fs::exists(options_.options.directory + "/ENCRYPTION"));
  options_.options.directory.clear();  // in memory nothing is at rest
  ASSERT_TRUE(Open());
  EXPECT_TRUE(CreateTable("wants", "arn"));
  EXPECT_EQ(engine_->encryption(), Encryption::kOn);
}

TEST_F(SealerTest, DB_X_01_ACheckpointIsEncryptedAndOpensWithTheSameKey) {
  options_.options.encrypt = true;
  ASSERT_TRUE(Open());
  EXPECT_EQ(engine_->encryption(), Encryption::kOn) << "there is nothing to rewrite in a new store";
  ASSERT_TRUE(CreateTable(kPlanted));
  ASSERT_TRUE(engine_->committer().WaitDurable());
  std::string copy = root_ + "/copy";
  ASSERT_TRUE(engine_->kv().Checkpoint(copy));
  ASSERT_TRUE(MarkStoreDirectory(copy));
  EXPECT_TRUE(FilesWith(kPlanted, root_).empty());

  options_.options.directory = copy;
  options_.options.encrypt = false;
  ASSERT_TRUE(Open());
  EXPECT_EQ(engine_->encryption(), Encryption::kOn);
  EXPECT_NE(engine_->catalog().Find(kPlanted), nullptr);
  options_.options.key_file.clear();
  EXPECT_FALSE(Open());
}

TEST_F(SealerTest, ANewVersionIsTakenUpWhileTheStoreIsOpen) {
  options_.options.encrypt = true;
  ASSERT_TRUE(Open());
  ASSERT_TRUE(CreateTable(kPlanted));
  ASSERT_TRUE(MasterKeys::Rotate(options_.options.key_file));
  // Once every file is under version 2 the store opens without version 1.
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto opens_without_the_old = [&] {
    auto keys = MasterKeys::Load(options_.options.key_file);
    keys->versions[0].disabled = true;
    storage::EncryptedFileSystem files(rocksdb::FileSystem::Default(),
                                       std::make_shared<const MasterKeys>(*std::move(keys)),
                                       storage::EncryptedFileSystem::Writes::kPlain);
    return files.FilesToRewrite(options_.options.directory).has_value();
  };
  while (!opens_without_the_old()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_TRUE(MasterKeys::Disable(options_.options.key_file, 1));
  ASSERT_TRUE(Open());
  EXPECT_NE(engine_->catalog().Find(kPlanted), nullptr);
}

}  // namespace
}  // namespace holdfast::engine
