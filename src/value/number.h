// DynamoDB's Number: up to 38 significant decimal digits, magnitude 1E-130 to 9.99…E+125, or zero.
//
//   HF_TRY(Number price, Number::Parse("12.50"));
//   HF_TRY(Number total, Number::Add(price, tax));   // exact, or an error: never rounded
//   price.ToString();                                 // "12.5", the one canonical spelling
//
// Encode() gives bytes whose memcmp order is numeric order and whose equality is numeric equality. They are
// also DynamoDB's own form: base 100, so that their count is what the number adds to an item's size, and they
// are what the partition hash reads. docs/format.md has the layout.
//
// Value type, immutable through this interface.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/limits.h"
#include "holdfast/result.h"

namespace holdfast::value {

class Number {
 public:
  Number() = default;  // zero
  static Number FromInt(int64_t value);
  // The shortest decimal that reads back as `value`, which must be finite.
  static Number FromFloat(float value);
  // The error messages are DynamoDB's.
  static Result<Number> Parse(std::string_view text);
  // Requires: `bytes` were made by Encode().
  static Number Decode(ByteView bytes);

  static Result<Number> Add(const Number& a, const Number& b) { return Sum(a, b, b.negative_); }
  static Result<Number> Subtract(const Number& a, const Number& b) { return Sum(a, b, !b.negative_); }

  bool is_zero() const { return count_ == 0; }
  // Plain decimal: no exponent, no leading or trailing zeros, no plus sign, no negative zero.
  std::string ToString() const;
  void AppendText(std::string* out) const;
  void Encode(std::string* out) const;
  // Whole seconds, milliseconds and the like. Empty when there is a fraction or it does not fit.
  bool ToInt64(int64_t* out) const;
  double ToDouble() const;

 private:
  static Result<Number> Sum(const Number& a, const Number& b, bool b_negative);

  // value = 0.d₁d₂…dₙ × 10^point_; d₁ and dₙ are not 0; zero has no digits.
  bool negative_ = false;
  uint8_t count_ = 0;
  int16_t point_ = 0;
  uint8_t digits_[limits::kNumberDigitsMax] = {};
};

// True when `bytes` could have come from Encode(): for checking bytes of unknown origin.
bool IsEncodedNumber(ByteView bytes);

// The float nearest to an encoded number; an infinity when it is too large for one.
float NearestFloat(ByteView encoded);
bool FitsFloatBarely(ByteView encoded);
// Whether that is finite.
inline bool FitsFloat(ByteView encoded) {
  // By the first byte, where that decides: the exponent, of which 19 means below 10^38.
  auto header = static_cast<uint8_t>(encoded[0]);
  return (header >= 255 - (192 + 19) && header <= 192 + 19) || FitsFloatBarely(encoded);
}

// An encoded number as canonical text, without building a Number first.
void AppendNumberText(ByteView encoded, std::string* out);

}  // namespace holdfast::value
