// KeyConditionExpression: which partition, and which stretch of it.
//
// Parsing knows no table: it yields one condition per attribute, and the query matches them with a key
// schema. Immutable; refers to the values of its request, which must outlive it. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expression/bind.h"

namespace holdfast::expression {

struct KeyCondition {
  enum class Kind : uint8_t {
    kEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kBetween,
    kBeginsWith,
    kNotIndexable
  };
  std::string attribute;
  Kind kind;
  ByteView operand;        // flat value; the lower bound of kBetween
  ByteView upper_operand;  // kBetween
};

// The expression as a condition, names and values bound.
Result<Tree> ParseKeyConditionTree(std::string_view text, Scope* scope);
// Its conditions one by one, in the order of the text. Fails for what is no condition on a key.
Result<std::vector<KeyCondition>> CollectKeyConditions(const Tree& tree);

}  // namespace holdfast::expression
