// The search of policies (TRIP-A-01) and what stands around it: thresholds, live generations, texts, batches.

#include <atomic>
#include <cmath>
#include <thread>

#include "models/test_app.h"

namespace holdfast {
namespace {

using testing::Must;
using testing::Refusal;
using testing::TestApp;

const Caller kAdmin = Caller::Administrator();

// Zero but for the first two, which make a unit vector at this cosine to the axis that is searched for.
AttributeValue Direction(double cosine) {
  std::vector<AttributeValue> numbers(1024, 0);
  numbers[0] = AttributeValue(cosine);
  numbers[1] = AttributeValue(std::sqrt(1 - cosine * cosine));
  return AttributeValue::List(std::move(numbers));
}

class SearchTest : public ::testing::Test {
 protected:
  std::string Policy(const std::string& id, std::optional<int> generation) {
    AttributeMap fields{{"id", id}, {"status", "ready"}};
    if (generation) fields["active_generation"] = *generation;
    app_.Plant(app_.entity("Policy"), fields);
    return id;
  }
  static AttributeValue Chunk(const std::string& policy, const std::string& id, int generation,
                              double cosine) {
    return AttributeValue::Map({{"policy_id", policy},
                                {"id", id},
                                {"content_type", "text"},
                                {"content_text", policy + " generation " + std::to_string(generation)},
                                {"generation", generation},
                                {"embedding", Direction(cosine)}});
  }
  void PutAll(std::vector<AttributeValue> chunks) {
    Must(app_->Ask(kAdmin, "TRIP-A-03", {{"items", AttributeValue::List(std::move(chunks))}}, {}));
  }
  Result<Answer> Ask(Item parameters) {
    if (!parameters.Has("text")) parameters.Set("vector", Direction(1));
    return app_->Ask(kAdmin, "TRIP-A-01", parameters, {});
  }
  std::vector<std::string> Ids(const Item& parameters = {}) {
    std::vector<std::string> ids;
    for (const Record& record : Must(Ask(parameters)).records)
      ids.push_back(record.stored().Get("id")->AsText());
    return ids;
  }

  TestApp app_{"trip"};
};

using Names = std::vector<std::string>;

TEST_F(SearchTest, GivesTheNearestOfAllLivePolicies) {
  EXPECT_EQ(Ids(), Names());
  Policy("p", 1);
  Policy("q", 2);
  Policy("draft", std::nullopt);
  PutAll(
      {Chunk("p", "a", 1, 0.9), Chunk("p", "b", 1, 0.7), Chunk("p", "far", 1, 0.3), Chunk("p", "old", 2, 1)});
  PutAll({Chunk("q", "c", 2, 0.8), Chunk("q", "older", 1, 0.95), Chunk("draft", "d", 1, 1)});
  EXPECT_EQ(Ids(), (Names{"a", "c", "b"}));
  EXPECT_EQ(Ids({{"top_k", 2}}), (Names{"a", "c"}));
  EXPECT_EQ(Ids({{"threshold", 0.2}}), (Names{"a", "c", "b", "far"}));
  EXPECT_EQ(Ids({{"contentType", "table"}}), Names());
  Answer answer = Must(Ask({}));
  ASSERT_EQ(answer.similarities.size(), 3U);
  EXPECT_NEAR(answer.similarities[0], 0.9, 1e-6);
  EXPECT_FALSE(answer.records[0].stored().Has("embedding"));
}

TEST_F(SearchTest, TheThresholdIsIncluded) {
  Policy("p", 1);
  PutAll({Chunk("p", "a", 1, 0.75)});
  double similarity = Must(Ask({})).similarities.at(0);
  EXPECT_EQ(Ids({{"threshold", AttributeValue::Number(similarity)}}), Names{"a"});
  EXPECT_EQ(Ids({{"threshold", AttributeValue::Number(similarity + 1e-9)}}), Names());
}

TEST_F(SearchTest, RefusesBadQuestions) {
  EXPECT_EQ(Refusal(app_->Ask(kAdmin, "TRIP-A-01", {}, {})), "ValidationError");
  EXPECT_EQ(Refusal(app_->Ask(kAdmin, "TRIP-A-01", {{"vector", AttributeValue::List({1, 2})}}, {})),
            "ValidationError");
  EXPECT_EQ(Refusal(app_->Ask(kAdmin, "TRIP-A-01", {{"vector", "near"}}, {})), "ValidationError");
  for (const char* name : {"top_k", "threshold"}) {
    for (const AttributeValue& value : {AttributeValue(-2), AttributeValue(101), AttributeValue("many")})
      EXPECT_EQ(Refusal(Ask({{name, value}})), "ValidationError") << name;
  }
  EXPECT_EQ(Refusal(Ask({{"top_k", AttributeValue::Number(1.5)}})), "ValidationError");
}

TEST_F(SearchTest, ATextIsEmbedded) {
  Policy("p", 1);
  AttributeMap chunk{{"policy_id", "p"},
                     {"id", "a"},
                     {"content_type", "text"},
                     {"generation", 1},
                     {"content_text", "Economy class for flights below six hours"}};
  Must(app_->Create(kAdmin, "PolicyChunk", Item(chunk)));
  Item text{{"text", "Economy class for flights below six hours"}};
  EXPECT_EQ(Ids(text), Names{"a"});
  text.Set("text", "zzz qqq");
  EXPECT_EQ(Ids(text), Names());
  // A changed text is embedded anew.
  Must(app_->Patch(kAdmin, "PolicyChunk", {{"policy_id", "p"}, {"id", "a"}},
                   {{"content_text", "Hotels in town"}}));
  EXPECT_EQ(Ids({{"text", "Hotels in town"}}), Names{"a"});
}

TEST_F(SearchTest, WithoutAnEmbedderATextIsNotConfigured) {
  TestApp app(R"(model: shelf
tables: {main: {name: Shelf, key: {id: S}, vectors: {near: {attribute: v, dimensions: 4}}}}
entities:
  Book: {attributes: {id: S!, text: S, v: {type: vector(4), embed: {from: text}}}}
patterns:
  like: {search: {entity: Book, index: near, threshold: 0, top_k: 3, select: [id]}}
)");
  EXPECT_EQ(Refusal(app->Ask(kAdmin, "like", {{"text", "boats"}}, {})), "NotConfigured");
  EXPECT_EQ(Refusal(app->Create(kAdmin, "Book", {{"id", "b"}, {"text", "boats"}})), "NotConfigured");
  EXPECT_EQ(app.CountItems(), 0U);
}

TEST_F(SearchTest, ABatchIsCheckedBeforeAnythingIsWritten) {
  Policy("p", 1);
  std::vector<AttributeValue> chunks;
  for (int i = 0; i < 60; ++i) chunks.push_back(Chunk("p", "c" + std::to_string(i), 1, 0.5));
  auto add = [&](const AttributeValue& one) {
    std::vector<AttributeValue> all = chunks;
    all.push_back(one);
    return Refusal(app_->Ask(kAdmin, "TRIP-A-03", {{"items", AttributeValue::List(std::move(all))}}, {}));
  };
  EXPECT_EQ(add(Chunk("gone", "x", 1, 0.5)), "NotFound");
  EXPECT_EQ(add(Chunk("p", "x", 0, 0.5)), "ValidationError");
  EXPECT_EQ(add("text"), "ValidationError");
  EXPECT_EQ(add(Chunk("p", "c0", 1, 0.5)), "ValidationError") << "one key twice";
  EXPECT_EQ(app_.CountItems(), 1U);
  EXPECT_EQ(add(Chunk("p", "x", 1, 0.5)), "");
  EXPECT_EQ(app_.CountItems(), 62U);
  EXPECT_EQ(Must(app_->Ask(kAdmin, "TRIP-A-02", {{"policy_id", "p"}}, {})).records.size(), 61U);
  EXPECT_EQ(app_.CountItems(), 1U);
}

// TRIP-R-13: whoever searches while a policy gets a new set of chunks sees the old set or the new one.
TEST_F(SearchTest, GenerationsNeverMix) {
  constexpr int kGenerations = 12;
  auto set = [&](int generation) {
    std::vector<AttributeValue> chunks;
    for (int i = 0; i < 3; ++i)
      chunks.push_back(Chunk("p", std::to_string(generation) + "-" + std::to_string(i), generation, 0.9));
    return chunks;
  };
  Policy("p", 1);
  PutAll(set(1));
  std::atomic<bool> over = false;
  std::atomic<int> searches = 0;
  std::thread reader([&] {
    while (!over || searches < 3) {
      Result<Answer> answer = Ask({});
      ++searches;
      if (!answer) {
        EXPECT_EQ(Refusal(answer), "Conflict");
        continue;
      }
      std::set<std::string> seen;
      for (const Record& record : answer->records) seen.insert(record.stored().Get("content_text")->AsText());
      EXPECT_EQ(seen.size(), 1U) << "a mix, or a gap";
      EXPECT_EQ(answer->records.size(), 3U);
    }
  });
  for (int generation = 2; generation <= kGenerations; ++generation) {
    PutAll(set(generation));
    Must(app_->Patch(kAdmin, "Policy", {{"id", "p"}}, {{"active_generation", generation}}));
    for (int i = 0; i < 3; ++i)
      Must(app_->Delete(
          kAdmin, "PolicyChunk",
          {{"policy_id", "p"}, {"id", std::to_string(generation - 1) + "-" + std::to_string(i)}}));
  }
  over = true;
  reader.join();
  EXPECT_EQ(app_.CountItems(), 4U);
}

// TRIP-A-22: the order of reading, in pages.
TEST_F(SearchTest, ChunksComeInReadingOrder) {
  Policy("p", 1);
  std::vector<AttributeValue> chunks;
  for (int i = 0; i < 11; ++i) {
    AttributeMap chunk = Chunk("p", "c" + std::to_string(i), 1, 0.5).AsMap();
    if (i < 10) chunk["reading_order"] = (i * 7) % 10;
    chunks.push_back(AttributeValue::Map(std::move(chunk)));
  }
  PutAll(std::move(chunks));
  for (int64_t limit = 1; limit < 12; ++limit) {
    std::vector<int64_t> order;
    PageRequest page{limit, ""};
    do {
      Answer answer = Must(app_->Ask(kAdmin, "TRIP-A-22", {{"policy_id", "p"}}, page));
      for (const Record& record : answer.records) {
        auto at = record.stored().Get("reading_order");
        order.push_back(at ? *at->AsInt64() : 10);
      }
      page.cursor = answer.cursor;
    } while (!page.cursor.empty());
    EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) << limit;
  }
}

}  // namespace
}  // namespace holdfast
