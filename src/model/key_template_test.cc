// Templates: what they make is read back, and what could come from two of them is noticed.
#include "model/key_template.h"

#include <gtest/gtest.h>

namespace holdfast::model {
namespace {

using Values = std::map<std::string, std::string>;

Template Of(std::string_view text) {
  return ParseTemplate(text).value();
}

TEST(KeyTemplate, ReadsBackWhatItMakes) {
  EXPECT_EQ(Match(Of("EVENT#{at}#{id}"), "EVENT#2026#x"), (Values{{"at", "2026"}, {"id", "x"}}));
  EXPECT_EQ(Match(Of("{a}-{b}"), "x-y"), (Values{{"a", "x"}, {"b", "y"}}));
  EXPECT_EQ(Match(Of("{a}#{a}"), "x#x"), (Values{{"a", "x"}}));
  EXPECT_EQ(Match(Of("D#{at:date}"), "D#2026-02-04"), Values());
  EXPECT_EQ(Match(Of("E#{seq:12}#{i:2}"), "E#000000000042#00"), (Values{{"seq", "42"}, {"i", "0"}}));
  EXPECT_EQ(Match(Of("META"), "META"), Values());
  for (const auto& [pattern, text] :
       {std::pair("EVENT#{id}", "EVENT#"), std::pair("EVENT#{id}", "EVENT#a#b"),
        std::pair("EVENT#{id}", "event#a"), std::pair("{a}#{a}", "x#y"), std::pair("META", "METADATA"),
        std::pair("{a}-{b}", "xy"), std::pair("EVENT#{id}", ""), std::pair("{a}", "x#y")})
    EXPECT_FALSE(Match(Of(pattern), text)) << pattern << " " << text;
}

TEST(KeyTemplate, IsWrittenAsItWasRead) {
  for (const char* text :
       {"EVENT#{at}#{id}", "META", "{a}", "{a:date}~", "", "A#{b}C", "{a:12}", "{a+1:12}", "{a+1}"})
    EXPECT_EQ(Of(text).ToText(), text);
  for (const char* text : {"{", "a}", "{}", "{a b}", "{a", "{{a}}", "{:date}", "{a:}", "{a:0}", "{a:19}",
                           "{a:x}", "{a+}", "{a+b}", "{+1}"})
    EXPECT_FALSE(ParseTemplate(text)) << text;
  EXPECT_TRUE(Of("META").is_constant());
  EXPECT_FALSE(Of("{a}").is_constant());
}

TEST(KeyTemplate, NoticesCollisions) {
  for (const auto& [a, b, collide] :
       {std::tuple("A#{x}", "A#{y}", true), std::tuple("A#{x}", "B#{x}", false),
        std::tuple("A#{x}", "A#B", true), std::tuple("A#{x}", "A#", false), std::tuple("{x}", "A#{x}", false),
        std::tuple("{x}", "LOCK", true), std::tuple("A{x}", "AB{x}", true), std::tuple("{x}A", "{x}B", false),
        std::tuple("A", "A", true), std::tuple("A", "B", false), std::tuple("A{x}C", "AC", false),
        std::tuple("A{x}C", "ABC", true), std::tuple("A#{x}#{y}", "A#{x}", false)}) {
    EXPECT_EQ(CanCollide(Of(a), Of(b)), collide) << a << " " << b;
    EXPECT_EQ(CanCollide(Of(b), Of(a)), collide) << b << " " << a;
  }
}

}  // namespace
}  // namespace holdfast::model
