#include "holdfast/similarity.h"

#include <gtest/gtest.h>

#include "holdfast/database.h"

namespace holdfast {
namespace {

AttributeValue VectorValue(std::initializer_list<double> values) {
  std::vector<AttributeValue> elements;
  for (double value : values) elements.emplace_back(value);
  return AttributeValue::List(std::move(elements));
}

// Vectors at known angles to (1, 0): 0.6, 0.8 and 0 are cosines that no float holds, or that one does.
class SimilarityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    db_ = std::move(Database::Open({}).value());
    auto index = [](const std::string& name, DistanceFunction distance) {
      VectorIndex made;
      made.index_name = name;
      made.vector_attribute.attribute_name = "v";
      made.dimensions = 2;
      made.distance_function = distance;
      made.projection.projection_type = ProjectionType::kAll;
      return made;
    };
    CreateTableRequest create;
    create.table_name = "docs";
    create.key_schema = {{"id", KeyType::kHash}};
    create.attribute_definitions = {{"id"}};
    create.billing_mode = BillingMode::kPayPerRequest;
    create.vector_indexes = {
        {index("cosine", DistanceFunction::kCosine), index("euclidean", DistanceFunction::kEuclidean)}};
    ASSERT_TRUE(db_->CreateTable(create));
    Put("same", {2, 0});
    Put("at-0.8", {0.8, 0.6});
    Put("at-0.6", {0.6, 0.8});
    Put("at-0", {0, 1});
    Put("opposite", {-1, 0});
  }

  void Put(const std::string& id, std::initializer_list<double> values) {
    PutItemRequest put;
    put.table_name = "docs";
    put.item = {{"id", id}, {"v", VectorValue(values)}};
    ASSERT_TRUE(db_->PutItem(put));
  }

  SimilaritySearchRequest Near(double threshold, int64_t top_k = 10) const {
    SimilaritySearchRequest request;
    request.table_name = "docs";
    request.index_name = "cosine";
    request.vector = {1, 0};
    request.threshold = threshold;
    request.top_k = top_k;
    return request;
  }

  // "same=1 at-0.8=0.8", or the message of the refusal.
  std::string Found(const SimilaritySearchRequest& request) {
    auto response = db_->SimilaritySearch(request);
    if (!response) return response.error().message();
    std::string text;
    for (const SimilarItem& result : response->results) {
      char number[32];
      std::snprintf(number, sizeof number, "=%.15g", result.similarity);
      text.append(text.empty() ? "" : " ").append(result.item.Get("id")->AsText()).append(number);
    }
    return text;
  }

  std::unique_ptr<Database> db_;
};

// A user who reads 0.6 and asks for 0.6 gets it, though neither is a float.
TEST_F(SimilarityTest, AThresholdIsInclusive) {
  EXPECT_EQ(Found(Near(0.8)), "same=1 at-0.8=0.8");
  EXPECT_EQ(Found(Near(0.6)), "same=1 at-0.8=0.8 at-0.6=0.6");
  EXPECT_EQ(Found(Near(static_cast<double>(0.6F))), "same=1 at-0.8=0.8 at-0.6=0.6");
  EXPECT_EQ(Found(Near(0.6000001)), "same=1 at-0.8=0.8");
  EXPECT_EQ(Found(Near(1)), "same=1");
  EXPECT_EQ(Found(Near(1.0000001)), "");
  EXPECT_EQ(Found(Near(0)), "same=1 at-0.8=0.8 at-0.6=0.6 at-0=0");
  EXPECT_EQ(Found(Near(-1)), "same=1 at-0.8=0.8 at-0.6=0.6 at-0=0 opposite=-1");
}

TEST_F(SimilarityTest, AtMostTopKAreFound) {
  EXPECT_EQ(Found(Near(-1, 2)), "same=1 at-0.8=0.8");
  EXPECT_EQ(Found(Near(0, 101)),
            "Provided TopK value '101' is out of valid range. The value must be between 1 and 100 inclusive");
}

TEST_F(SimilarityTest, WhatHasNoSimilarityIsRefused) {
  SimilaritySearchRequest request = Near(0.5);
  request.index_name = "euclidean";
  EXPECT_EQ(Found(request),
            "Similarity is defined for the distance function COSINE only; index euclidean has EUCLIDEAN");
  request.index_name = "none";
  EXPECT_EQ(Found(request), "The table does not have the specified index: none");
  EXPECT_EQ(Found(Near(std::numeric_limits<double>::quiet_NaN())), "The threshold must be a finite number");
}

// A C++ caller can hold what JSON cannot.
TEST_F(SimilarityTest, AVectorMustBeFinite) {
  SimilaritySearchRequest request = Near(0.5);
  request.vector = {1, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(Found(request).substr(0, 37), "Search vector contains invalid values");
}

}  // namespace
}  // namespace holdfast
