#include "storage/archive/archive.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::storage {
namespace {

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "holdfast-archive-" + std::to_string(::getpid());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    archive_ = std::make_unique<Archive>(rocksdb::FileSystem::Default(), directory_ + "/archive");
    ASSERT_TRUE(archive_->OpenForWriting("store", Missing::kIsMade));
  }
  void TearDown() override {
    archive_.reset();
    std::filesystem::remove_all(directory_);
  }

  // A file in files/, as it is named by a list of format 2 or by one of this program.
  ArchivedFile Shipped(const std::string& name, base::ChecksumKind kind) {
    std::string bytes = "the bytes of " + name;
    std::ofstream(directory_ + "/archive/files/" + name) << bytes;
    return {"path/of/" + name, name, bytes.size(), base::ChecksumOf(bytes, kind), kind};
  }

  std::string directory_;
  std::unique_ptr<Archive> archive_;
};

// A checkpoint goes on naming files that were shipped in format 2. They must be checked by the checksum that
// they were shipped with, after any number of further checkpoints.
TEST_F(ArchiveTest, FilesOfFormat2StayCheckedInListsOfToday) {
  ArchivedCheckpoint checkpoint{.number = 1, .sequence = 7, .time_millis = 8, .segment = 9};
  checkpoint.files = {Shipped("old.sst", base::ChecksumKind::kFormat2),
                      Shipped("new.sst", base::ChecksumKind::kXxh3)};
  for (uint64_t number = 1; number <= 3; ++number) {
    checkpoint.number = number;
    ASSERT_TRUE(archive_->WriteCheckpoint(checkpoint));
    checkpoint = archive_->ReadCheckpoint(number).value();
    ASSERT_EQ(checkpoint.files.size(), 2u);
    EXPECT_EQ(checkpoint.files[0].checked_by, base::ChecksumKind::kFormat2);
    EXPECT_EQ(checkpoint.files[1].checked_by, base::ChecksumKind::kXxh3);
    for (const ArchivedFile& file : checkpoint.files) {
      EXPECT_TRUE(archive_->Check(file, Depth::kBytes)) << file.object;
      EXPECT_TRUE(archive_->Fetch(file, archive_->file_system(), directory_ + "/fetched")) << file.object;
    }
  }
  for (const ArchivedFile& file : checkpoint.files) {
    std::fstream(directory_ + "/archive/files/" + file.object).seekp(4).put('X');
    EXPECT_EQ(archive_->Check(file, Depth::kBytes).error().code(), ErrorCode::kCorruption) << file.object;
    EXPECT_EQ(archive_->Fetch(file, archive_->file_system(), directory_ + "/fetched").error().code(),
              ErrorCode::kCorruption);
  }
}

}  // namespace
}  // namespace holdfast::storage
