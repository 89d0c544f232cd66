#include "wire/http_parser.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "wire/testing.h"

namespace holdfast::wire {
namespace {

using Outcome = HttpParser::Outcome;
constexpr size_t kBodyMax = 1000;

std::string Feed(std::string_view stream, size_t step) {
  return testing::Feed(stream, kBodyMax, [step] { return step; });
}

std::string Parse(std::string_view stream) {
  return Feed(stream, stream.size());
}

TEST(HttpParser, RequestsComeOutOneAfterTheOther) {
  EXPECT_EQ(Parse("POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz"
                  "GET * HTTP/1.1\r\nHost: h\r\n\r\n"
                  "GET http://h/p?q HTTP/1.0\r\n\r\nGET"),
            "POST /a?b=c keep Host=h Content-Length=3 [xyz]\n"
            "GET *? keep Host=h []\n"
            "GET /p?q close []\n");
}

TEST(HttpParser, ChunksAreJoinedAndTrailersLeftOut) {
  EXPECT_EQ(Parse("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                  "3\r\nabc\r\nA;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
                  "GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
            "POST /? keep Host=h Transfer-Encoding=Chunked [abc0123456789]\nGET /? keep Host=h []\n");
}

// A body that was collected beside its chunks took twice its size, and chunks of one byte with long
// extensions took a thousand times it: what is in place is all that a body takes.
TEST(HttpParser, AChunkedBodyIsJoinedWhereItIs) {
  HttpParser parser(kBodyMax);
  std::string buffer = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  size_t head = buffer.size(), consumed = 0;
  for (int i = 0; i < 100; ++i) {
    buffer += "1;" + std::string(100, 'x') + "\r\n" + static_cast<char>('a' + i % 26) + "\r\n";
    ASSERT_EQ(parser.Parse(buffer, &consumed), Outcome::kMore);
    buffer.resize(buffer.size() - parser.dropped_bytes());
    ASSERT_EQ(buffer.size(), head + static_cast<size_t>(i) + 1);
  }
  buffer += "0\r\n\r\n";
  ASSERT_EQ(parser.Parse(buffer, &consumed), Outcome::kRequest);
  EXPECT_EQ(parser.request().body.size(), 100u);
  EXPECT_EQ(parser.request().body.data(), buffer.data() + head);
  EXPECT_EQ(consumed, buffer.size());
}

// Extensions are read by nobody: a body of them alone would never end.
TEST(HttpParser, ChunkExtensionsHaveABound) {
  std::string stream = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) stream += "1;" + std::string(500, 'x') + "\r\na\r\n";
  EXPECT_EQ(Parse(stream), "bad request");
}

TEST(HttpParser, TheClientDecidesHowLongTheConnectionLives) {
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n"),
            "GET /? close Host=h Connection=Close []\n");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: close, te\r\n\r\n"),
            "GET /? close Host=h Connection=close, te []\n");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"),
            "GET /? keep Host=h Connection=Upgrade, HTTP2-Settings Upgrade=h2c []\n");
  EXPECT_EQ(Parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            "GET /? keep Connection=keep-alive []\n");
}

TEST(HttpParser, AClientThatWaitsIsToldOnceToGoOn) {
  std::string head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  HttpParser parser(kBodyMax);
  size_t consumed = 0;
  EXPECT_EQ(parser.Parse(head, &consumed), Outcome::kContinue);
  EXPECT_EQ(parser.Parse(head, &consumed), Outcome::kMore);
  EXPECT_EQ(parser.expected_bytes(), head.size() + 2);
  std::string whole = head + "xy";
  EXPECT_EQ(parser.Parse(whole, &consumed), Outcome::kRequest);
  EXPECT_EQ(consumed, whole.size());
}

// Each of these has had two meanings somewhere, which is how requests are smuggled.
TEST(HttpParser, WhatCouldBeReadInTwoWaysIsRefused) {
  for (std::string_view head :
       {"GET / HTTP/1.1\nHost: h\n\n\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET / HTTP/2\r\n\r\n",
        "GET /\r\n\r\n",
        "G ET / HTTP/1.1\r\n\r\n",
        "G(T / HTTP/1.1\r\n\r\n",
        "GET no-slash HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nName : x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nA: b\nC: d\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1,1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: \r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: h\r\nHost: i\r\n\r\n",
        "GET http://other/ HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http:///p HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\na\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno field\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\nC: d\r\n\r\n",
        "\r\n\r\n"}) {
    EXPECT_EQ(Parse(head), "bad request") << head;
  }
  EXPECT_EQ(Parse(std::string_view("GET / HTTP/1.1\r\nHost: h\r\nA: \0\r\n\r\n", 33)), "bad request");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), "not supported");
}

TEST(HttpParser, HeadAndBodyHaveBounds) {
  auto head = [](size_t bytes) {
    std::string text = "GET / HTTP/1.1\r\nHost: h\r\nA: ";
    return text + std::string(bytes - text.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_TRUE(Parse(head(limits::kHttpHeaderBytesMax)).starts_with("GET"));
  EXPECT_EQ(Parse(head(limits::kHttpHeaderBytesMax + 1)), "too large head");
  EXPECT_EQ(Parse(std::string(limits::kHttpHeaderBytesMax + 1, 'G')), "too large head");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n"), "too large body");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3E9\r\n"),
            "too large body");
  std::string chunks = "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 101; ++i) chunks += "a\r\n0123456789\r\n";
  EXPECT_EQ(Parse(chunks), "too large body");
}

// Bytes arrive as the network cuts them; the cut must not change what they mean.
TEST(HttpParser, TheSizeOfThePiecesChangesNothing) {
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string streams[] = {
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789GET / "
      "HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST /a HTTP/1.0\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n012GET /b HTTP/1.1\r\nHost: "
      "h\r\n\r\n",
      chunked + "3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
      chunked + "1\r\na\r\n0\r\nA: b\r\nC: d\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
      chunked + "1;" + std::string(2000, 'x') + "\r\na\r\n0\r\n\r\n",
      chunked + "0\r\nA: " + std::string(limits::kHttpHeaderBytesMax, 'x') + "\r\n\r\n",
      chunked + "1\r\nab\r\n",
      "GET / HTTP/1.1\r\nbad\r\n\r\n"};
  for (const std::string& stream : streams) {
    for (size_t step : {1, 2, 3, 7, 16, 50, 1000}) {
      EXPECT_EQ(Feed(stream, step), Parse(stream)) << step << " bytes of " << stream.substr(0, 200);
    }
  }
}

}  // namespace
}  // namespace holdfast::wire
