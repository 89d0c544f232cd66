#include "net/frame.h"

#include <gtest/gtest.h>

#include <cstring>

#include "net/frame_testing.h"

namespace holdfast::net {
namespace {

using testing::ClientFrame;
constexpr size_t kMax = 70'000;

std::string Read(std::string_view stream) {
  return testing::FeedFrames(stream, kMax, [&] { return stream.size(); });
}
std::string Text(std::string_view payload, bool fin = true) {
  return ClientFrame(Opcode::kText, payload, fin);
}
std::string More(std::string_view payload, bool fin) {
  return ClientFrame(Opcode::kContinuation, payload, fin);
}

// The network cuts where it likes, and never where a frame ends.
TEST(FrameParser, MessagesComeOutHoweverTheyAreCut) {
  std::string stream = Text("hi") + Text("") + ClientFrame(Opcode::kBinary, std::string(300, 'b')) +
                       ClientFrame(Opcode::kPing, "p") + Text(std::string(66'000, 'x')) +
                       ClientFrame(Opcode::kPong, "") +
                       ClientFrame(Opcode::kClose,
                                   "\x03\xe8"
                                   "bye");
  std::string expected = "text(hi) text() binary(" + std::string(300, 'b') + ") ping(p) text(" +
                         std::string(66'000, 'x') + ") pong() close(bye) 1000";
  EXPECT_EQ(Read(stream), expected);
  EXPECT_EQ(testing::FeedFrames(stream, kMax, [] { return 1; }), expected);
}

TEST(FrameParser, ControlFramesComeBetweenTheFragmentsOfAMessage) {
  EXPECT_EQ(Read(Text("a", false) + ClientFrame(Opcode::kPing, "?") + More("b", false) + More("c", true) +
                 Text("d")),
            "ping(?) text(abc) text(d)");
}

TEST(FrameParser, ACharacterMayBeCutByAFragmentButNotBeWrong) {
  EXPECT_EQ(Read(Text("\xc3", false) + More("\xa9", true)), "text(\xc3\xa9)");
  EXPECT_EQ(Read(Text("\xc3", false) + More("x", true)), "broken 1007");
  EXPECT_EQ(Read(Text("\xed\xa0\x80")), "broken 1007") << "half a surrogate pair";
  EXPECT_EQ(Read(ClientFrame(Opcode::kBinary, "\xff")), "binary(\xff)");
}

TEST(FrameParser, WhatBreaksARuleEndsTheStream) {
  EXPECT_EQ(Read(EncodeFrame(Opcode::kText, "not masked")), "broken 1002");
  std::string reserved = Text("x");
  reserved[0] |= 0x40;
  EXPECT_EQ(Read(reserved), "broken 1002");
  EXPECT_EQ(Read(ClientFrame(static_cast<Opcode>(3), "")), "broken 1002");
  EXPECT_EQ(Read(ClientFrame(static_cast<Opcode>(11), "")), "broken 1002");
  EXPECT_EQ(Read(More("from nowhere", true)), "broken 1002");
  EXPECT_EQ(Read(Text("a", false) + Text("b")), "broken 1002");
  EXPECT_EQ(Read(ClientFrame(Opcode::kPing, "p", false)), "broken 1002");
  EXPECT_EQ(Read(ClientFrame(Opcode::kPing, std::string(126, 'p'))), "broken 1002");
  EXPECT_EQ(Read(std::string_view("\x81\xfe\x00\x7d\0\0\0\0", 8)), "broken 1002") << "a length too long";
  EXPECT_EQ(Read(std::string_view("\x81\xff\0\0\0\0\0\0\xff\xff\0\0\0\0", 14)), "broken 1002");
}

// One that announces too much is refused before it has sent it.
TEST(FrameParser, AMessageIsBoundedInAllItsFragments) {
  EXPECT_EQ(Read(Text(std::string(kMax, 'x'))).size(), kMax + 6);
  EXPECT_EQ(Read(Text(std::string(kMax + 1, 'x')).substr(0, 14)), "broken 1009");
  EXPECT_EQ(Read(std::string_view("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14)), "broken 1009");
  EXPECT_EQ(Read(Text(std::string(kMax, 'x'), false) + More("x", true)), "broken 1009");
  EXPECT_EQ(Read(Text(std::string(kMax, 'x')) + Text(std::string(kMax, 'x'))).size(), 2 * (kMax + 6) + 1);
}

TEST(FrameParser, TheReasonOfACloseIsJudgedToo) {
  auto close = [](std::string_view payload) { return Read(ClientFrame(Opcode::kClose, payload)); };
  EXPECT_EQ(close(""), "close() 1005");
  EXPECT_EQ(close("\x0f\xa0"), "close() 4000");
  EXPECT_EQ(close("\x03"), "broken 1002");
  EXPECT_EQ(close("\x03\xed"), "broken 1002") << "1005 stands for no code and is never sent";
  EXPECT_EQ(close("\x03\xe8\xff"), "broken 1007");
}

// Either side refuses what its own side would have sent: something in between reflects it.
TEST(FrameParser, FramesOfAServerAreNotMasked) {
  auto read = [](std::string_view stream) {
    return testing::FeedFrames(
        stream, kMax, [] { return 3; }, Side::kServer);
  };
  EXPECT_EQ(read(EncodeFrame(Opcode::kText, "hi") + EncodeFrame(Opcode::kBinary, std::string(300, 'b')) +
                 EncodeClose(kCloseTryLater, "later")),
            "text(hi) binary(" + std::string(300, 'b') + ") close(later) 1013");
  EXPECT_EQ(read(Text("masked")), "broken 1002");
}

TEST(FrameWriter, LengthsAreAsShortAsTheyCanBe) {
  EXPECT_EQ(EncodeFrame(Opcode::kText, "hi"), "\x81\x02hi");
  EXPECT_EQ(EncodeFrame(Opcode::kText, std::string(125, 'x')).size(), 127u);
  EXPECT_EQ(EncodeFrame(Opcode::kText, std::string(126, 'x')).substr(0, 4), std::string("\x81\x7e\0\x7e", 4));
  EXPECT_EQ(EncodeFrame(Opcode::kText, std::string(65'536, 'x')).substr(0, 10),
            std::string("\x81\x7f\0\0\0\0\0\1\0\0", 10));
  EXPECT_EQ(EncodeClose(kCloseNormal, std::string(122, 'x') + "\xc3\xa9").size(), 2 + 2 + 122u)
      << "no half character in a reason that is cut";
  EXPECT_EQ(EncodeClose(kCloseNoCode, "").size(), 2u);
}

// Written in place it must be the same frame, whatever the width of its length.
TEST(FrameWriter, TextsAreFramedInPlaceAlike) {
  for (size_t size : {0, 1, 125, 126, 65'535, 65'536}) {
    std::string text(size, 'x');
    EXPECT_EQ(*TakeTextFrame(std::string(kFrameRoom, '\0') + text), *TextFrame(text)) << size;
  }
}

// The example of RFC 6455, whose text is longer than the mask and no multiple of it.
TEST(FrameWriter, FramesOfAClientAreMasked) {
  uint32_t mask = 0;
  std::memcpy(&mask, "\x37\xfa\x21\x3d", 4);
  std::string out = "before ";
  AppendMaskedFrame(Opcode::kText, "Hello", mask, &out);
  EXPECT_EQ(out, "before \x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
}

// The key and its answer are the example of RFC 6455.
TEST(AcceptKey, IsTheHashThatTheStandardNames) {
  EXPECT_EQ(AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

}  // namespace
}  // namespace holdfast::net
