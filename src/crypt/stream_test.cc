#include "crypt/stream.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <random>
#include <string>
#include <thread>

#include "crypt/box.h"

namespace holdfast::crypt {
namespace {

SecretKey KeyOf(unsigned char first) {
  SecretKey key;
  for (size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = static_cast<unsigned char>(first + i);
  return key;
}

std::string Apply(const Stream& stream, uint64_t position, std::string text) {
  stream.Apply(position, text.data(), text.data(), text.size());
  return text;
}

// NIST SP 800-38A, F.5.5, has another counter: OpenSSL itself, in one go from a counter of zero, is the
// oracle.
std::string InOneGo(const SecretKey& key, const std::string& text) {
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                          &EVP_CIPHER_CTX_free);
  unsigned char zero[16] = {};
  std::string out(text.size(), '\0');
  int done = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, key.bytes.data(), zero), 1);
  EXPECT_EQ(
      EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(out.data()), &done,
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size())),
      1);
  return out;
}

TEST(Stream, AnyPartEqualsThatPartOfTheWhole) {
  std::mt19937 random(7);
  std::string text(100'000, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  SecretKey key = KeyOf(1);
  std::string whole = InOneGo(key, text);
  Stream stream(key);
  for (int i = 0; i < 500; ++i) {
    size_t from = random() % text.size(), size = random() % (text.size() - from);
    ASSERT_EQ(Apply(stream, from, text.substr(from, size)), whole.substr(from, size)) << from << " " << size;
  }
  EXPECT_EQ(Apply(stream, 0, whole), text);
}

TEST(Stream, PositionsBeyondFourGigabytesDiffer) {
  Stream stream(KeyOf(1));
  std::string zeros(64, '\0');
  std::string here = Apply(stream, 0, zeros), there = Apply(stream, uint64_t{1} << 40, zeros);
  EXPECT_NE(here, there);
  EXPECT_EQ(Apply(stream, (uint64_t{1} << 40) + 3, there.substr(3)), zeros.substr(3));
}

// A thread keeps one cipher for all streams.
TEST(Stream, StreamsTakeTurnsOnManyThreads) {
  SecretKey keys[] = {KeyOf(1), KeyOf(2)};
  std::string text(1000, 'x'), wholes[] = {InOneGo(keys[0], text), InOneGo(keys[1], text)};
  Stream streams[] = {Stream(keys[0]), Stream(keys[1])};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(Apply(streams[i % 2], 0, text), wholes[i % 2]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Box, OpensWithItsKeyAndWhatStandsBesideIt) {
  std::string box;
  ASSERT_TRUE(Lock(KeyOf(1), "secret", "beside", &box));
  ASSERT_EQ(box.size(), 6 + kBoxBytes);
  unsigned char out[6];
  EXPECT_TRUE(Unlock(KeyOf(1), box, "beside", out));
  EXPECT_EQ(std::string(out, out + 6), "secret");
  EXPECT_FALSE(Unlock(KeyOf(2), box, "beside", out));
  EXPECT_FALSE(Unlock(KeyOf(1), box, "besides", out));
  for (char& byte : box) {
    byte = static_cast<char>(byte ^ 1);
    EXPECT_FALSE(Unlock(KeyOf(1), box, "beside", out));
    byte = static_cast<char>(byte ^ 1);
  }
}

}  // namespace
}  // namespace holdfast::crypt
