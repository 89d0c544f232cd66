// Flags that take a number. Each says from where to where: what is beyond is refused with the flag, the value
// and the range, wherever it was set (flag, HOLDFAST_ variable, --config file), before anything is done with
// it.
//
//   AddNumber(app, "--port", &config->port, 0, 65'535, "Port to listen on; 0 takes any free one");
#pragma once

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>

namespace holdfast::cli {

template <class Number>
std::string NumberText(Number number) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  return std::string(text, end);
}

// For options that take numbers in another notation (1h, 64MB), after the transform.
template <class Number>
CLI::Validator NumberFrom(Number min, Number max) {
  std::string range = NumberText(min) + " to " + NumberText(max);
  auto check = [min, max, range](const std::string& text) {
    Number number{};
    auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool whole = fault == std::errc() && end == text.data() + text.size();
    // The flag's own reader takes 010 for eight.
    if (std::is_integral_v<Number>) whole = whole && NumberText(number) == text;
    if (whole && number >= min && number <= max) return std::string();
    return text + " is not " + (std::is_integral_v<Number> ? "a whole number" : "a number") + " from " +
           range;
  };
  return CLI::Validator(check, range);
}

template <class Number>
CLI::Option* AddNumber(CLI::App* app, const std::string& name, Number* value, std::common_type_t<Number> min,
                       std::common_type_t<Number> max, const std::string& description) {
  return app->add_option(name, *value, description)
      ->check(NumberFrom<Number>(min, max))
      ->capture_default_str();
}

// One that need not be given.
template <class Number>
CLI::Option* AddNumber(CLI::App* app, const std::string& name, std::optional<Number>* value,
                       std::common_type_t<Number> min, std::common_type_t<Number> max,
                       const std::string& description) {
  return app->add_option(name, *value, description)->check(NumberFrom<Number>(min, max));
}

}  // namespace holdfast::cli
