#include "model/text_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::model {
namespace {

bool Matches(std::string_view pattern, std::string_view text) {
  auto compiled = TextPattern::Compile(pattern);
  EXPECT_TRUE(compiled.has_value()) << pattern << ": " << compiled.error().message();
  return compiled && compiled->Matches(text);
}

std::string PatternProblem(std::string_view pattern) {
  auto compiled = TextPattern::Compile(pattern);
  return compiled ? "" : compiled.error().message();
}

// A pattern is exported as ^(?:pattern)$ to readers that know ECMAScript: what is refused here must be
// refused there, or a client's check and the server's contradict each other.
TEST(TextPatternTest, MeansWhatEcmaScriptMeans) {
  struct {
    std::string_view pattern;
    std::string_view text;
    bool matches;
  } cases[] = {
      {"[A-Z]{3}", "LHR", true},
      {"[A-Z]{3}", "LHRX", false},  // of the whole text
      {"[A-Z]{3}", "LHR\n", false},
      {"a|ab", "ab", true},  // whichever alternative makes it whole
      {"^a$", "a", true},
      {"^a$", "a\n", false},
      {"a$\\nb", "a\nb", false},  // $ is the end of the text, not of a line
      {"[^#]*", "", true},
      {"[^#]*", "a\nb", true},
      {"[^#]+", "a#b", false},
      {".", "é", true},  // one character, of two bytes
      {".{2}", "é", false},
      {"[àé]", "é", true},
      {".", "\n", false},
      {".", "\r", false},
      {".", "\u2028", false},
      {"\\s", "\v", true},
      {"\\s", "\u00a0", true},
      {"\\S", "\u00a0", false},
      {"[\\s\\S]*", "a\n\u00a0é", true},
      {"[^\\S]", "\u3000", true},
      {"\\d", "\u0663", false},  // ASCII's digits alone
      {"\\w+", "é", false},
      {"[[:alpha:]]", "a]", true},  // a class of [:alph, then ]
      {"[[:alpha:]]", "b", false},
      {"\\u00e9\\x41", "éA", true},
      {"[\\b]", "\b", true},
      {"\\bcat\\b", "cat", true},
      {"a\\/b\\-c", "a/b-c", true},
      {"[a-zA-Z0-9_-]+:[a-zA-Z0-9_-]+", "user_1:chat-2", true},
      {"([01][0-9]|2[0-3]):[0-5][0-9]", "24:00", false},
      {"[A-Za-z]+(/[A-Za-z0-9_+-]+)*", "America/Argentina/Buenos_Aires", true},
  };
  for (const auto& one : cases)
    EXPECT_EQ(Matches(one.pattern, one.text), one.matches) << one.pattern << " on " << one.text;
}

// A model is a stranger's: what the matcher cannot do must be said when the model is loaded, where it stands.
TEST(TextPatternTest, SaysWhatItDoesNotSupport) {
  EXPECT_EQ(PatternProblem("(a)\\1"),
            "no regular expression: at character 4: backreferences are not supported, because no matcher of "
            "them takes a bounded time");
  for (const char* lookaround : {"x(?=a)", "x(?!a)", "x(?<=a)", "x(?<!a)"})
    EXPECT_NE(PatternProblem(lookaround).find("at character 2: "), std::string::npos)
        << PatternProblem(lookaround);
  // What RE2 alone knows would mean something else, or nothing, to whoever reads the exported pattern.
  for (const char* pattern :
       {"(?i)a", "(?P<n>a)", "\\pL", "\\Aa\\z", "\\Qa.b\\E", "[]", "[^]", "a\\", "(?<n>a)"})
    EXPECT_NE(PatternProblem(pattern), "") << pattern;
  for (const char* pattern : {"[a-", "(a", "a)", "*a", "a**", "a++", "[z-a]", "\xff"})
    EXPECT_NE(PatternProblem(pattern).find("no regular expression: "), std::string::npos) << pattern;
}

// The matcher before tried every way to divide the text, twice as many for each character more: this text
// took it longer than anybody waits. It also ended the process by its recursion on a long one.
TEST(TextPatternTest, TakesTimeThatGrowsWithTheTextAlone) {
  EXPECT_FALSE(Matches("(a|a)*b", std::string(4000, 'a')));
  EXPECT_FALSE(Matches("(([a-z])+.)+[A-Z]([a-z])+$", std::string(4000, 'a')));
  EXPECT_TRUE(Matches("(a|b|ab)*", std::string(1'000'000, 'a')));
}

// A few characters can ask for a program of any size.
TEST(TextPatternTest, BoundsTheProgram) {
  EXPECT_EQ(PatternProblem("[a-z]{1,128}"), "");
  std::string long_one;
  for (int i = 10; i < 70; ++i) long_one += "|" + std::to_string(i) + ".{1000}";
  for (const std::string& pattern : {std::string("a{1001}"), std::string("((a{100}){100}){100}"), long_one})
    EXPECT_NE(PatternProblem(pattern).find("repeats too much"), std::string::npos) << PatternProblem(pattern);
  EXPECT_NE(PatternProblem(std::string(2000, 'a')).find("longer than"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::model
