// Any two lines of text: what parses has one canonical text, one encoding in numeric order, and exact sums.
#include "value/number.h"

#include "tests/fuzz/fuzz.h"

using holdfast::Result;
using holdfast::value::Number;

static std::string Encoded(const Number& number) {
  std::string bytes;
  number.Encode(&bytes);
  HF_ASSERT(holdfast::value::IsEncodedNumber(bytes));
  HF_ASSERT(Number::Decode(bytes).ToString() == number.ToString());
  return bytes;
}

FUZZ(bytes) {
  if (holdfast::value::IsEncodedNumber(bytes)) HF_ASSERT(Encoded(Number::Decode(bytes)) == bytes);
  Result<Number> a = Number::Parse(TakeLine(&bytes)), b = Number::Parse(bytes);
  if (!a || !b) return;
  HF_ASSERT(Encoded(Number::Parse(a->ToString()).value()) == Encoded(*a));
  int64_t integer = 0;
  if (a->ToInt64(&integer)) HF_ASSERT(Number::FromInt(integer).ToString() == a->ToString());
  Result<Number> sum = Number::Add(*a, *b), difference = Number::Subtract(*a, *b);
  if (sum) {
    Result<Number> back = Number::Subtract(*sum, *b);
    HF_ASSERT(back && back->ToString() == a->ToString());
  }
  if (difference) {
    bool less = difference->ToString()[0] == '-';
    HF_ASSERT(less == (Encoded(*a) < Encoded(*b)));
    HF_ASSERT(difference->is_zero() == (Encoded(*a) == Encoded(*b)));
  }
}
