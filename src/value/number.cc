#include "value/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/shown.h"

namespace holdfast::value {
namespace {

constexpr int kZeroHeader = 0x80;
constexpr int kExponentBias = 192;        // header byte of a positive number = base-100 exponent + bias
constexpr int kNegativeTerminator = 102;  // above every complemented digit pair, so that -1.5 sorts before -1
constexpr size_t kMantissaBytesMax = 20;

Error NotNumeric(std::string_view text) {
  std::string message = "The parameter cannot be converted to a numeric value";
  if (!text.empty()) message.append(": ").append(base::Shown(text));
  return Error(ErrorCode::kValidation, std::move(message));
}

Error Overflow() {
  return Error(ErrorCode::kValidation,
               "Number overflow. Attempting to store a number with magnitude larger than supported range");
}

Error Underflow() {
  return Error(ErrorCode::kValidation,
               "Number underflow. Attempting to store a number with magnitude smaller than supported range");
}

Error TooPrecise() {
  return Error(ErrorCode::kValidation, "Attempting to store more than 38 significant digits in a Number");
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Number Number::FromInt(int64_t value) {
  auto parsed = Parse(std::to_string(value));
  HF_ASSERT(parsed.has_value());  // 19 digits always fit
  return *parsed;
}

Number Number::FromFloat(float value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  Result<Number> number = Parse({text, static_cast<size_t>(end - text)});
  HF_ASSERT(number.has_value());
  return *number;
}

Result<Number> Number::Parse(std::string_view text) {
  Number number;
  size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) number.negative_ = text[at++] == '-';

  // Zeros are held back until a later digit shows that they were significant.
  int held_zeros = 0;
  int integer_digits = 0;  // counted from the first digit that is not zero; negative: zeros after the point
  bool any_digit = false, seen_point = false, too_precise = false;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '.') {
      if (seen_point) return NotNumeric(text);
      seen_point = true;
      continue;
    }
    if (!IsDigit(c)) break;
    any_digit = true;
    bool leading = number.count_ == 0 && c == '0';
    if (leading) {
      if (seen_point) --integer_digits;
      continue;
    }
    if (!seen_point) ++integer_digits;
    if (c == '0') {
      ++held_zeros;
      continue;
    }
    if (number.count_ + held_zeros >= limits::kNumberDigitsMax) {
      too_precise = true;
      continue;
    }
    for (; held_zeros > 0; --held_zeros) number.digits_[number.count_++] = 0;
    number.digits_[number.count_++] = static_cast<uint8_t>(c - '0');
  }
  if (!any_digit) return NotNumeric(text);

  int64_t exponent = 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    bool negative_exponent = false;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative_exponent = text[at++] == '-';
    size_t first = at;
    for (; at < text.size() && IsDigit(text[at]); ++at) {
      exponent = std::min<int64_t>(exponent * 10 + (text[at] - '0'), 100'000'000);
    }
    if (at == first) return NotNumeric(text);
    if (negative_exponent) exponent = -exponent;
  }
  if (at != text.size()) return NotNumeric(text);

  if (number.count_ == 0) {
    // DynamoDB looks at the exponent of a zero as well.
    if (exponent > limits::kNumberExponentMax) return Overflow();
    if (exponent < limits::kNumberExponentMin) return Underflow();
    return Number();
  }
  int64_t point = integer_digits + exponent;
  if (point - 1 > limits::kNumberExponentMax) return Overflow();
  if (point - 1 < limits::kNumberExponentMin) return Underflow();
  if (too_precise) return TooPrecise();
  number.point_ = static_cast<int16_t>(point);
  return number;
}

Result<Number> Number::Sum(const Number& a, const Number& b, bool b_negative) {
  if (b.is_zero()) return a;
  if (a.is_zero()) {
    Number result = b;
    result.negative_ = b_negative;
    return result;
  }
  // Schoolbook, on digits laid out from the highest place to the lowest; one extra place takes a carry.
  int top = std::max(a.point_, b.point_) + 1;
  int bottom = std::min(a.point_ - a.count_, b.point_ - b.count_);
  constexpr int kPlacesMax =
      limits::kNumberExponentMax - limits::kNumberExponentMin + limits::kNumberDigitsMax + 4;
  HF_ASSERT(top - bottom <= kPlacesMax);
  int places[kPlacesMax] = {};
  int used = top - bottom;
  auto accumulate = [&](const Number& n, int sign) {
    for (int i = 0; i < n.count_; ++i) places[top - n.point_ + i] += sign * n.digits_[i];
  };
  accumulate(a, a.negative_ ? -1 : 1);
  accumulate(b, b_negative ? -1 : 1);

  int first = 0;
  while (first < used && places[first] == 0) ++first;
  if (first == used) return Number();
  // The leading place decides the sign: where the operands' signs differ no place exceeds 9 in magnitude, so
  // the places below it cannot outweigh it.
  bool negative = places[first] < 0;
  if (negative) {
    for (int i = first; i < used; ++i) places[i] = -places[i];
  }
  int carry = 0;
  for (int i = used - 1; i >= 0; --i) {
    int sum = places[i] + carry;
    carry = sum < 0 ? -1 : sum / 10;
    places[i] = sum - carry * 10;
  }
  HF_ASSERT(carry == 0);

  first = 0;
  while (first < used && places[first] == 0) ++first;
  int last = used - 1;
  while (last > first && places[last] == 0) --last;
  HF_ASSERT(first < used);
  if (top - first - 1 > limits::kNumberExponentMax) return Overflow();
  if (top - first - 1 < limits::kNumberExponentMin) return Underflow();
  // A sum that would need more digits is refused, in the words that the live service has for it.
  if (last - first + 1 > limits::kNumberDigitsMax) return Overflow();

  Number result;
  result.negative_ = negative;
  result.point_ = static_cast<int16_t>(top - first);
  for (int i = first; i <= last; ++i) result.digits_[result.count_++] = static_cast<uint8_t>(places[i]);
  return result;
}

std::string Number::ToString() const {
  std::string text;
  AppendText(&text);
  return text;
}

void Number::AppendText(std::string* out) const {
  if (is_zero()) {
    out->push_back('0');
    return;
  }
  if (negative_) out->push_back('-');
  if (point_ <= 0) {
    out->append("0.").append(static_cast<size_t>(-point_), '0');
    for (int i = 0; i < count_; ++i) out->push_back(static_cast<char>('0' + digits_[i]));
    return;
  }
  for (int i = 0; i < count_; ++i) {
    if (i == point_) out->push_back('.');
    out->push_back(static_cast<char>('0' + digits_[i]));
  }
  if (point_ > count_) out->append(static_cast<size_t>(point_ - count_), '0');
}

void Number::Encode(std::string* out) const {
  if (is_zero()) {
    out->push_back(static_cast<char>(kZeroHeader));
    return;
  }
  char bytes[2 + kMantissaBytesMax];
  size_t size = 0;
  int shift = point_ & 1;  // an odd decimal point leaves half of the first pair empty
  int header = (point_ + shift) / 2 + kExponentBias;
  bytes[size++] = static_cast<char>(negative_ ? ~header : header);
  for (int i = -shift; i < count_; i += 2) {
    int high = i < 0 ? 0 : digits_[i];
    int low = i + 1 < count_ ? digits_[i + 1] : 0;
    int pair = high * 10 + low;
    bytes[size++] = static_cast<char>(negative_ ? 101 - pair : pair + 1);
  }
  if (negative_ && size - 1 < kMantissaBytesMax) bytes[size++] = kNegativeTerminator;
  out->append(bytes, size);
}

Number Number::Decode(ByteView bytes) {
  HF_DASSERT(IsEncodedNumber(bytes));
  Number number;
  if (bytes.size() == 1) return number;
  int header = static_cast<uint8_t>(bytes[0]);
  number.negative_ = header < kZeroHeader;
  if (number.negative_) header = ~header & 0xff;
  int point = (header - kExponentBias) * 2;
  for (size_t i = 1; i < bytes.size(); ++i) {
    int byte = static_cast<uint8_t>(bytes[i]);
    if (number.negative_ && byte == kNegativeTerminator) break;
    int pair = number.negative_ ? 101 - byte : byte - 1;
    if (i == 1 && pair < 10) {
      --point;
    } else {
      number.digits_[number.count_++] = static_cast<uint8_t>(pair / 10);
    }
    if (number.count_ < limits::kNumberDigitsMax)
      number.digits_[number.count_++] = static_cast<uint8_t>(pair % 10);
  }
  while (number.count_ > 0 && number.digits_[number.count_ - 1] == 0) --number.count_;
  number.point_ = static_cast<int16_t>(point);
  return number;
}

bool Number::ToInt64(int64_t* out) const {
  if (is_zero()) {
    *out = 0;
    return true;
  }
  if (point_ < count_ || point_ > 19) return false;
  uint64_t magnitude = 0;
  for (int i = 0; i < point_; ++i) {
    uint64_t digit = i < count_ ? digits_[i] : 0;
    if (magnitude > (UINT64_MAX - digit) / 10) return false;
    magnitude = magnitude * 10 + digit;
  }
  if (magnitude > static_cast<uint64_t>(INT64_MAX) + (negative_ ? 1 : 0)) return false;
  *out = static_cast<int64_t>(negative_ ? 0 - magnitude : magnitude);
  return true;
}

double Number::ToDouble() const {
  // By from_chars, as strtod heeds the locale of the program that embeds us.
  std::string text = ToString();
  double nearest = 0;
  std::from_chars(text.data(), text.data() + text.size(), nearest);
  return nearest;
}

bool IsEncodedNumber(ByteView bytes) {
  if (bytes.empty() || bytes.size() > 1 + kMantissaBytesMax + 1) return false;
  int header = static_cast<uint8_t>(bytes[0]);
  if (bytes.size() == 1) return header == kZeroHeader;
  bool negative = header < kZeroHeader;
  size_t mantissa = bytes.size() - 1;
  if (negative && static_cast<uint8_t>(bytes.back()) == kNegativeTerminator) {
    --mantissa;
    if (mantissa >= kMantissaBytesMax) return false;
  } else if (negative && mantissa < kMantissaBytesMax) {
    return false;
  }
  if (mantissa == 0 || mantissa > kMantissaBytesMax) return false;
  size_t digits = 0;
  for (size_t i = 1; i <= mantissa; ++i) {
    int byte = static_cast<uint8_t>(bytes[i]);
    int pair = negative ? 101 - byte : byte - 1;
    if (pair < 0 || pair > 99) return false;
    if (pair == 0 && (i == 1 || i == mantissa)) return false;
    digits += i == 1 && pair < 10 ? 1 : 2;
    if (i == mantissa && pair % 10 == 0) --digits;
  }
  return digits <= static_cast<size_t>(limits::kNumberDigitsMax);
}

namespace {

// By way of the text, which from_chars rounds correctly.
float NearestFloatSlowly(ByteView encoded) {
  std::string text = Number::Decode(encoded).ToString();
  float nearest = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), nearest);
  if (fault != std::errc::result_out_of_range) return nearest;
  // Nothing is said about the value then: it is too large, or too small.
  bool too_large = text.find_first_of("123456789") < text.find('.');
  float magnitude = too_large ? std::numeric_limits<float>::infinity() : 0;
  return text[0] == '-' ? -magnitude : magnitude;
}

}  // namespace

float NearestFloat(ByteView encoded) {
  if (encoded.size() == 1) return 0;
  int header = static_cast<uint8_t>(encoded[0]);
  bool negative = header < kZeroHeader;
  if (negative) header = ~header & 0xff;
  size_t pairs = encoded.size() - 1;
  if (negative && static_cast<uint8_t>(encoded.back()) == kNegativeTerminator) --pairs;
  // Nine pairs say more than a double holds; what is cut off is below its precision.
  size_t taken = std::min<size_t>(pairs, 9);
  uint64_t mantissa = 0;
  for (size_t i = 1; i <= taken; ++i) {
    int byte = static_cast<uint8_t>(encoded[i]);
    mantissa = mantissa * 100 + static_cast<uint64_t>(negative ? 101 - byte : byte - 1);
  }
  static constexpr double kPowers[] = {1e0,  1e2,  1e4,  1e6,  1e8,  1e10, 1e12, 1e14,
                                       1e16, 1e18, 1e20, 1e22, 1e24, 1e26, 1e28, 1e30};
  int exponent = header - kExponentBias - static_cast<int>(taken);  // of 100
  if (exponent <= -16 || exponent >= 16) return NearestFloatSlowly(encoded);
  auto near = static_cast<double>(mantissa);
  near = exponent < 0 ? near / kPowers[-exponent] : near * kPowers[exponent];
  // A few units in the last place of a double may be wrong: that decides nothing unless a float's two
  // neighbours are equally near, or the float has fewer digits than usual.
  uint64_t bits = 0;
  std::memcpy(&bits, &near, sizeof(bits));
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1, kHalf = uint64_t{1} << 28;
  uint64_t dropped = bits & kDropped;
  bool close_call = dropped > kHalf - 8 && dropped < kHalf + 8;
  if (close_call || near < 1e-37 || near > 1e38) return NearestFloatSlowly(encoded);
  auto nearest = static_cast<float>(near);
  return negative ? -nearest : nearest;
}

bool FitsFloatBarely(ByteView encoded) {
  return std::isfinite(NearestFloat(encoded));
}

void AppendNumberText(ByteView encoded, std::string* out) {
  Number::Decode(encoded).AppendText(out);
}

}  // namespace holdfast::value
