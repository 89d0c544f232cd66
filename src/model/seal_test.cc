#include "model/seal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

constexpr std::string_view kSecret = "a token nobody else may see", kContext = "integration=jira";

std::string Outcome(const auto& result) {
  return result ? "opened" : std::string(RefusalName(result.error()));
}

// A key file in a directory of its own.
class SealTest : public testing::Test {
 protected:
  SealTest() { std::filesystem::create_directory(directory_); }
  ~SealTest() override { std::filesystem::remove_all(directory_); }

  std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  const std::filesystem::path directory_ = testing::TempDir() + "seal_test." + std::to_string(::getpid());
  const std::string path_ = directory_ / "keys";
};

TEST_F(SealTest, OpensWhatWasSealedAndShowsNothingOfIt) {
  MasterKeys keys = MasterKeys::Create(path_).value();
  for (const std::string& plaintext : {std::string(), std::string(kSecret), std::string(100'000, '\0')}) {
    std::string sealed = Seal(keys, plaintext, kContext).value(), bytes;
    EXPECT_EQ(Unseal(keys, sealed, kContext).value(), plaintext);
    ASSERT_TRUE(base::DecodeBase64(sealed, &bytes));
    EXPECT_EQ(bytes.find(kSecret), std::string::npos);
  }
  EXPECT_NE(Seal(keys, kSecret, kContext).value(), Seal(keys, kSecret, kContext).value());
}

// Authentication covers all of it: no bit of the stored text is without meaning, in the text or in what it
// encodes.
TEST_F(SealTest, RefusesEverySingleBitFlip) {
  MasterKeys keys = MasterKeys::Create(path_).value();
  keys = MasterKeys::Rotate(path_).value();  // so that a flip in the version can name another one
  std::string sealed = Seal(keys, kSecret, kContext).value(), bytes;
  ASSERT_TRUE(base::DecodeBase64(sealed, &bytes));
  auto refuses_flips = [&](std::string text, auto encode) {
    for (size_t bit = 0; bit < text.size() * 8; ++bit) {
      text[bit / 8] ^= static_cast<char>(1 << bit % 8);
      auto opened = Unseal(keys, encode(text), kContext);
      ASSERT_EQ(Outcome(opened), "DecryptFailed") << "bit " << bit;
      EXPECT_THAT(opened.error().message(), testing::Not(testing::HasSubstr("token")));
      text[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
  };
  refuses_flips(sealed, [](const std::string& text) { return text; });
  refuses_flips(bytes, [](const std::string& text) { return base::Base64(text); });
}

TEST_F(SealTest, RefusesWhatIsCutOrTooLong) {
  MasterKeys keys = MasterKeys::Create(path_).value();
  std::string sealed = Seal(keys, kSecret, kContext).value();
  for (size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_EQ(Outcome(Unseal(keys, sealed.substr(0, size), kContext)), "DecryptFailed") << size;
  }
  EXPECT_EQ(Outcome(Unseal(keys, std::string(1 << 20, 'A'), kContext)), "DecryptFailed");
  EXPECT_EQ(Outcome(Seal(keys, std::string(400'000, 'x'), kContext)), "ItemTooLarge");
}

// A text moved to another item must not open there.
TEST_F(SealTest, RefusesAnotherContextAndAnotherKey) {
  MasterKeys keys = MasterKeys::Create(path_).value(), other = MasterKeys::Create(path_ + "2").value();
  std::string sealed = Seal(keys, kSecret, kContext).value();
  for (std::string_view context : {"integration=asana", "integration=jir", "integration=jira ", ""}) {
    EXPECT_EQ(Outcome(Unseal(keys, sealed, context)), "DecryptFailed") << context;
  }
  EXPECT_EQ(Outcome(Unseal(other, sealed, kContext)), "DecryptFailed");
  other.id = keys.id;
  EXPECT_EQ(Outcome(Unseal(other, sealed, kContext)), "DecryptFailed");
  EXPECT_EQ(Outcome(Seal(MasterKeys(), kSecret, kContext)), "NotConfigured");
}

TEST_F(SealTest, OldVersionsOpenUntilTheyAreDisabled) {
  std::string old = Seal(MasterKeys::Create(path_).value(), kSecret, kContext).value();
  MasterKeys keys = MasterKeys::Rotate(path_).value();
  std::string fresh = Seal(keys, kSecret, kContext).value();
  EXPECT_EQ(SealedVersion(old).value(), 1);
  EXPECT_EQ(SealedVersion(fresh).value(), 2);
  EXPECT_EQ(Unseal(keys, old, kContext).value(), kSecret);

  keys = MasterKeys::Disable(path_, 1).value();
  EXPECT_EQ(Outcome(Unseal(keys, old, kContext)), "DecryptFailed");
  EXPECT_EQ(Outcome(Rewrap(keys, old, kContext)), "DecryptFailed");
  EXPECT_EQ(Unseal(keys, fresh, kContext).value(), kSecret);
  EXPECT_FALSE(MasterKeys::Disable(path_, 2));  // nothing could be sealed any more
  EXPECT_FALSE(MasterKeys::Disable(path_, 3));
}

// After a rewrap the old version can be disabled, and the payload has not been through the program's hands.
TEST_F(SealTest, RewrapsTheDataKeyAlone) {
  std::string old = Seal(MasterKeys::Create(path_).value(), kSecret, kContext).value();
  MasterKeys keys = MasterKeys::Rotate(path_).value();
  std::string rewrapped = Rewrap(keys, old, kContext).value(), before, after;
  EXPECT_EQ(SealedVersion(rewrapped).value(), 2);
  EXPECT_EQ(Rewrap(keys, rewrapped, kContext).value(), rewrapped);
  EXPECT_EQ(Outcome(Rewrap(keys, old, "integration=asana")), "DecryptFailed");
  ASSERT_TRUE(base::DecodeBase64(old, &before) && base::DecodeBase64(rewrapped, &after));
  size_t payload = 12 + kSecret.size() + 16;
  EXPECT_EQ(before.substr(before.size() - payload), after.substr(after.size() - payload));
  keys = MasterKeys::Disable(path_, 1).value();
  EXPECT_EQ(Unseal(keys, rewrapped, kContext).value(), kSecret);
}

// Stored texts must open in every later version of the program.
TEST(SealFormatTest, OpensATextOfVersionOne) {
  MasterKeys keys{"golden", std::vector<MasterKeys::Version>(1), 1};
  for (size_t i = 0; i < 32; ++i) keys.versions[0].key.bytes[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(Unseal(keys,
                   "SEZTAQZnb2xkZW4AAAABk8cqctqhfW8KufjZoc9vUdNoqZkX1+EPGp7Az/"
                   "ORRDEBwm0A7pziIXj6VyMzqFi2j2VpzMcUPor5Thp/"
                   "oA0sVsy04sOGY1p77XDGvvtAkS6JATsvuUoi6CbMLenaoZ9EMl8qp3k=",
                   "integration=jira")
                .value(),
            "kept for ever");
}

TEST_F(SealTest, KeyFilesArePrivateAndNeverOverwritten) {
  MasterKeys made = MasterKeys::Create(path_).value();
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(MasterKeys::Create(path_).error().code(), ErrorCode::kResourceInUse);
  MasterKeys loaded = MasterKeys::Load(path_).value();
  EXPECT_EQ(loaded.id, made.id);
  EXPECT_EQ(loaded.Find(1)->bytes, made.Find(1)->bytes);
  for (mode_t mode : {0640, 0604, 0620}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    Error refused = MasterKeys::Load(path_).error();
    EXPECT_EQ(refused.code(), ErrorCode::kAccessDenied);
    EXPECT_THAT(refused.message(), testing::HasSubstr("chmod 600"));
    EXPECT_FALSE(MasterKeys::Rotate(path_));
  }
  EXPECT_EQ(MasterKeys::Load(directory_ / "none").error().code(), ErrorCode::kIo);
  EXPECT_EQ(MasterKeys::Load(directory_).error().code(), ErrorCode::kIo);
}

// A damaged file is named as such, without showing keys, and is left as it is for somebody to mend.
TEST_F(SealTest, DamagedKeyFilesAreRefused) {
  ASSERT_TRUE(MasterKeys::Create(path_));
  ASSERT_TRUE(MasterKeys::Rotate(path_));
  const std::string whole = Text();
  auto with = [&](const std::string& part, const std::string& instead) {
    std::string text = whole;
    return text.replace(text.find(part), part.size(), instead);
  };
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), with("\"current\": 2", "\"current\": 3"),
        with("\"current\": 2", "\"current\": 0"), with("\"version\": 2", "\"version\": 1"),
        with("\"keyId\"", "\"id\""), with("\"key\": \"", "\"key\": \"AAAA"),
        with("2, \"disabled\": false", "2, \"disabled\": true"), with("\"format\": 1", "\"format\": 0")}) {
    Write(text);
    EXPECT_EQ(MasterKeys::Load(path_).error().code(), ErrorCode::kCorruption) << text;
    EXPECT_FALSE(MasterKeys::Rotate(path_));
    EXPECT_EQ(Text(), text);
  }
  Write(with("\"format\": 1", "\"format\": 2"));
  EXPECT_EQ(MasterKeys::Load(path_).error().code(), ErrorCode::kNewerFormat);
  Write(whole);
  EXPECT_EQ(MasterKeys::Load(path_).value().current, 2);
}

// Each rotation must count: a version that another process overwrote would take what it sealed with it.
TEST_F(SealTest, RotationsAtOnceAllCount) {
  ASSERT_TRUE(MasterKeys::Create(path_));
  std::vector<std::thread> threads;
  std::vector<MasterKeys> made(8);
  for (MasterKeys& keys : made) threads.emplace_back([&] { keys = MasterKeys::Rotate(path_).value(); });
  for (std::thread& thread : threads) thread.join();
  MasterKeys last = MasterKeys::Load(path_).value();
  EXPECT_EQ(last.versions.size(), 9u);
  for (const MasterKeys& keys : made)
    EXPECT_EQ(last.Find(keys.current)->bytes, keys.Find(keys.current)->bytes);
}

}  // namespace
}  // namespace holdfast::model
