// Numbers for number_property_test.py: reads lines "parse a", "add a b", "subtract a b" and answers each with
// "ok <canonical text> <encoded bytes in hex>" or "error <kind>". Only tests link it.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "value/number.h"

namespace {

using holdfast::Result;
using holdfast::value::Number;

std::string Answer(const Result<Number>& number) {
  if (!number) {
    const std::string& message = number.error().message();
    if (message.find("cannot be converted") != std::string::npos) return "error syntax";
    for (const char* kind : {"overflow", "underflow", "38"}) {
      if (message.find(kind) != std::string::npos) return std::string("error ") + kind;
    }
    return "error unknown";
  }
  std::string encoded, hex;
  number->Encode(&encoded);
  for (unsigned char byte : encoded) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  bool round_trips = Number::Decode(encoded).ToString() == number->ToString();
  return (round_trips ? "ok " : "lost ") + number->ToString() + " " + hex;
}

Result<Number> Compute(const std::string& operation, const std::string& a, const std::string& b) {
  HF_TRY(Number left, Number::Parse(a));
  if (operation == "parse") return left;
  HF_TRY(Number right, Number::Parse(b));
  return operation == "add" ? Number::Add(left, right) : Number::Subtract(left, right);
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string operation, a, b;
    words >> operation >> a >> b;
    std::cout << Answer(Compute(operation, a, b)) << "\n";
  }
}
