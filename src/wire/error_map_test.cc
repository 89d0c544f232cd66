#include "wire/error_map.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include "holdfast/ops/common.h"

namespace holdfast::wire {
namespace {

// SDKs choose the exception to throw by __type, whose prefix and spelling differ from family to family.
TEST(ErrorMap, ErrorsLookAsTheyDoFromAws) {
  auto body = [](ErrorCode code) { return RenderError(Error(code, "why")).body; };
  EXPECT_EQ(body(ErrorCode::kValidation),
            R"({"__type":"com.amazon.coral.validate#ValidationException","message":"why"})");
  EXPECT_EQ(body(ErrorCode::kSerialization),
            R"({"__type":"com.amazon.coral.service#SerializationException","Message":"why"})");
  EXPECT_EQ(RenderError(Error(ErrorCode::kUnknownOperation, "")).body,
            R"({"__type":"com.amazon.coral.service#UnknownOperationException"})");
  EXPECT_EQ(body(ErrorCode::kResourceNotFound),
            R"({"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"why"})");
}

// What broke inside is for the log; a client that could read it might learn what it should not.
TEST(ErrorMap, FaultsOfTheMachineAre500AndSayNothing) {
  for (ErrorCode code : {ErrorCode::kInternal, ErrorCode::kIo, ErrorCode::kCorruption, ErrorCode::kWouldBlock,
                         ErrorCode::kLocked, ErrorCode::kNewerFormat, ErrorCode::kNotSupported}) {
    ErrorAnswer answer = RenderError(Error(code, "/secret/path"));
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.body, R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError",)"
                           R"("message":"Internal server error"})");
  }
  EXPECT_NE(RenderError(Error(ErrorCode::kReadOnly, "the disk failed")).body.find("the disk failed"),
            std::string::npos)
      << "but the operator must know";
}

TEST(ErrorMap, EveryErrorIsJsonAnd400Or500) {
  simdjson::dom::parser parser;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kRefused); ++code) {
    ErrorAnswer answer = RenderError(Error(static_cast<ErrorCode>(code), "\"\\\n\x01 é"));
    EXPECT_EQ(parser.parse(answer.body).error(), simdjson::SUCCESS) << answer.body;
    EXPECT_TRUE(answer.status == 400 || answer.status == 500);
  }
}

TEST(ErrorMap, DetailsGoWithTheirErrors) {
  auto detail = std::make_shared<ErrorDetail>();
  detail->item = Item{{"k", 1}};
  EXPECT_EQ(RenderError(Error(ErrorCode::kConditionalCheckFailed, "no", detail)).body,
            R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no",)"
            R"("Item":{"k":{"N":"1"}}})");
  detail = std::make_shared<ErrorDetail>();
  detail->reasons = {{}, {"ConditionalCheckFailed", "no", Item{{"k", 1}}}};
  EXPECT_EQ(RenderError(Error(ErrorCode::kTransactionCanceled, "no", detail)).body,
            R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"no",)"
            R"("CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"no",)"
            R"("Item":{"k":{"N":"1"}}}]})");
}

}  // namespace
}  // namespace holdfast::wire
