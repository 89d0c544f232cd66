#include "wire/http_parser.h"

#include <gtest/gtest.h>
#include <malloc.h>

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
                  "GET * HTTP/1.1\r\n\r\n"
                  "GET http://host/p?q HTTP/1.0\r\n\r\nGET"),
            "POST /a?b=c keep Host=h Content-Length=3 [xyz]\n"
            "GET *? keep []\n"
            "GET /p?q close []\n");
}

TEST(HttpParser, ChunksAreJoinedAndTrailersLeftOut) {
  EXPECT_EQ(Parse("POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"
                  "3\r\nabc\r\nA;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
                  "GET / HTTP/1.1\r\n\r\n"),
            "POST /? keep Transfer-Encoding=Chunked [abc0123456789]\nGET /? keep []\n");
}

// The JSON parser reads ahead: a body that ended with its allocation could end with a page.
TEST(HttpParser, ThereIsRoomAfterTheBodyOfAChunkedRequest) {
  HttpParser parser(kBodyMax);
  size_t consumed = 0;
  std::string stream = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" +
                       std::string(1000, 'x') + "\r\n0\r\n\r\n";
  ASSERT_EQ(parser.Parse(stream, &consumed), Outcome::kRequest);
  std::string_view body = parser.request().body;
  EXPECT_EQ(body.size(), 1000u);
  EXPECT_GE(malloc_usable_size(const_cast<char*>(body.data())), body.size() + kBodyPaddingBytes);
}

TEST(HttpParser, TheClientDecidesHowLongTheConnectionLives) {
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"), "GET /? close Connection=Close []\n");
  EXPECT_EQ(Parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            "GET /? keep Connection=keep-alive []\n");
}

TEST(HttpParser, AClientThatWaitsIsToldOnceToGoOn) {
  std::string head = "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  HttpParser parser(kBodyMax);
  size_t consumed = 0;
  EXPECT_EQ(parser.Parse(head, &consumed), Outcome::kContinue);
  EXPECT_EQ(parser.Parse(head, &consumed), Outcome::kMore);
  EXPECT_EQ(parser.expected_bytes(), head.size() + 2);
  EXPECT_EQ(parser.Parse(head + "xy", &consumed), Outcome::kRequest);
  EXPECT_EQ(consumed, head.size() + 2);
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
        "GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nName : x\r\n\r\n",
        "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1,1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: \r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "\r\n\r\n"}) {
    EXPECT_EQ(Parse(head), "bad request") << head;
  }
  EXPECT_EQ(Parse(std::string_view("GET / HTTP/1.1\r\nA: \0\r\n\r\n", 24)), "bad request");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), "not supported");
}

TEST(HttpParser, HeadAndBodyHaveBounds) {
  auto head = [](size_t bytes) {
    std::string text = "GET / HTTP/1.1\r\nA: ";
    return text + std::string(bytes - text.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_TRUE(Parse(head(limits::kHttpHeaderBytesMax)).starts_with("GET"));
  EXPECT_EQ(Parse(head(limits::kHttpHeaderBytesMax + 1)), "too large head");
  EXPECT_EQ(Parse(std::string(limits::kHttpHeaderBytesMax + 1, 'G')), "too large head");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"), "too large body");
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3E9\r\n"), "too large body");
  std::string chunks = "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 101; ++i) chunks += "a\r\n0123456789\r\n";
  EXPECT_EQ(Parse(chunks), "too large body");
}

// Bytes arrive as the network cuts them; the cut must not change what they mean.
TEST(HttpParser, TheSizeOfThePiecesChangesNothing) {
  const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string streams[] = {
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789GET / "
      "HTTP/1.1\r\n\r\n",
      "POST /a HTTP/1.0\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n012GET /b HTTP/1.1\r\n\r\n",
      chunked + "3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
      chunked + "1\r\na\r\n0\r\nA: b\r\nC: d\r\n\r\nGET / HTTP/1.1\r\n\r\n",
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
