// The page is only whole when every file that it names is in the program, and it must stay quick to load.
#include "wire/web_assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

namespace holdfast::wire {
namespace {

TEST(WebAssets, EveryFileThatTheyNameIsThere) {
  const std::regex named(R"re((?:src|href)="(web/[^"]+)"|"\./([a-z]+\.js)")re");
  size_t names = 0;
  for (const EmbeddedFile& file : WebAssets()) {
    const std::string text(file.bytes);
    for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end; ++match, ++names) {
      const std::string path = (*match)[1].matched ? "/" + (*match)[1].str() : "/web/" + (*match)[2].str();
      EXPECT_NE(FindWebAsset(path), nullptr) << path << " is named by " << file.path;
    }
  }
  EXPECT_GT(names, WebAssets().size());
  EXPECT_EQ(FindWebAsset("/web/absent.js"), nullptr);
}

TEST(WebAssets, HaveTypesAndTagsOfTheirOwn) {
  std::set<std::string_view> tags;
  for (const EmbeddedFile& file : WebAssets()) {
    EXPECT_THAT(file.content_type,
                testing::AnyOf(testing::StartsWith("text/"), testing::StartsWith("image/")));
    EXPECT_TRUE(tags.insert(file.etag).second) << file.path;
    EXPECT_THAT(std::string(file.etag), testing::MatchesRegex("\"[0-9a-f]{16}\""));
  }
}

// kPagePolicy forbids what would not run anyway: inline script, inline style, markup made from text.
TEST(WebAssets, NeedNothingThatTheirPolicyForbids) {
  const std::regex forbidden(
      R"re(<style|<script>| style="| on[a-z]+="|innerHTML|outerHTML|insertAdjacentHTML|\beval\()re");
  for (const EmbeddedFile& file : WebAssets()) {
    EXPECT_FALSE(std::regex_search(std::string(file.bytes), forbidden)) << file.path;
  }
}

TEST(WebAssets, FirstPaintIsSmall) {
  size_t bytes = 0;
  for (const EmbeddedFile& file : WebAssets()) {
    // Loaded when looked at.
    const bool later = file.path == "/web/alarms.js" || file.path == "/web/chat.js" ||
                       file.path == "/web/pm.js" || file.path == "/web/trip.js";
    if (!later) bytes += file.bytes.size();
  }
  EXPECT_LE(bytes, 100'000u);
}

}  // namespace
}  // namespace holdfast::wire
