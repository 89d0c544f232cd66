#include "base/field_path.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

// Clients match these texts: DynamoDB spells members in camel case and counts elements from one.
TEST(FieldPath, NamesAValueAsAwsDoes) {
  FieldPath path;
  path.Push(2, "KeySchema");
  path.PushElement(0);
  path.Push(1, "KeyType");
  Violation violation = path.NotKept("'X'", {}, "Member must satisfy enum value set: [HASH, RANGE]");
  EXPECT_EQ(violation.text,
            "Value 'X' at 'keySchema.1.member.keyType' failed to satisfy constraint: Member must satisfy "
            "enum value set: [HASH, RANGE]");
  EXPECT_EQ(violation.order, (std::vector<int>{2, 0, 1}));
  path.Pop();
  path.Pop();
  EXPECT_EQ(path.Missing({}).text,
            "Value null at 'keySchema' failed to satisfy constraint: Member must not be null");
}

TEST(FieldPath, NamesTheEntriesOfAMapByTheirKeys) {
  FieldPath path;
  path.Push(0, "RequestItems");
  path.PushEntry(0, "Music");
  path.Push(0, "Keys");
  EXPECT_EQ(path.NotKept("'[]'", {}, "c").text,
            "Value '[]' at 'requestItems.Music.member.keys' failed to satisfy constraint: c");
}

TEST(FieldPath, TerseRulesLeaveTheValueOut) {
  FieldPath path;
  path.Push(0, "TableName");
  EXPECT_EQ(path.NotKept("'a'", {.terse = true}, "c").text,
            "Value at 'TableName' failed to satisfy constraint: c");
  EXPECT_EQ(path.Missing({.table_name = TableNameRule::kOfTable}).text,
            "The parameter 'TableName' is required but was not present in the request");
}

}  // namespace
}  // namespace holdfast
