#include "model/key_template.h"

#include <algorithm>
#include <charconv>

namespace holdfast::model {
namespace {

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  });
}

// Reads the number at the end of `text` behind `sign` and takes both away. False when there is something
// else.
template <class Number>
bool TakeNumber(std::string_view* text, char sign, Number* number) {
  size_t at = text->rfind(sign);
  if (at == std::string_view::npos) return true;
  auto [end, failed] = std::from_chars(text->data() + at + 1, text->data() + text->size(), *number);
  if (failed != std::errc() || end != text->data() + text->size() || *number <= 0) return false;
  text->remove_suffix(text->size() - at);
  return true;
}

// One stretch between two '#': the text before its first placeholder and after its last.
struct Stretch {
  std::string head;
  std::string tail;
  bool open = false;  // has a placeholder
};

std::vector<Stretch> Stretches(const Template& pattern) {
  std::vector<Stretch> stretches(1);
  for (const Template::Part& part : pattern.parts) {
    for (char c : part.text) {
      if (c == '#') {
        stretches.emplace_back();
        continue;
      }
      Stretch& last = stretches.back();
      (last.open ? last.tail : last.head).push_back(c);
    }
    if (part.name.empty()) continue;
    stretches.back().open = true;
    stretches.back().tail.clear();
  }
  return stretches;
}

bool CanCollide(const Stretch& a, const Stretch& b) {
  if (!a.open && !b.open) return a.head == b.head;
  auto starts_alike = [](std::string_view x, std::string_view y) {
    return x.starts_with(y) || y.starts_with(x);
  };
  auto ends_alike = [](std::string_view x, std::string_view y) { return x.ends_with(y) || y.ends_with(x); };
  if (!a.open)
    return a.head.size() > b.head.size() + b.tail.size() && a.head.starts_with(b.head) &&
           a.head.ends_with(b.tail);
  if (!b.open) return CanCollide(b, a);
  return starts_alike(a.head, b.head) && ends_alike(a.tail, b.tail);
}

}  // namespace

std::vector<std::string> Template::Names() const {
  std::vector<std::string> names;
  for (const Part& part : parts) {
    if (!part.name.empty()) names.push_back(part.name);
  }
  return names;
}

std::string Template::ToText() const {
  std::string text;
  for (const Part& part : parts) {
    text += part.text;
    if (part.name.empty()) continue;
    text += "{" + part.name;
    if (part.plus != 0) text += "+" + std::to_string(part.plus);
    if (part.width != 0) text += ":" + std::to_string(part.width);
    text += part.as_date ? ":date}" : "}";
  }
  return text;
}

Result<Template> ParseTemplate(std::string_view text) {
  Template parsed;
  while (true) {
    Template::Part part;
    size_t open = text.find('{');
    part.text = text.substr(0, open);
    if (part.text.find('}') != std::string::npos) return ValidationError("a '}' without its '{'");
    if (open == std::string_view::npos) {
      if (!part.text.empty() || parsed.parts.empty()) parsed.parts.push_back(std::move(part));
      return parsed;
    }
    size_t close = text.find('}', open);
    if (close == std::string_view::npos) return ValidationError("a '{' without its '}'");
    std::string_view name = text.substr(open + 1, close - open - 1);
    part.as_date = name.ends_with(":date");
    if (part.as_date) name.remove_suffix(5);
    bool number = part.as_date || (TakeNumber(&name, ':', &part.width) && TakeNumber(&name, '+', &part.plus));
    constexpr int kWidthMax = 18;
    if (!number || part.width > kWidthMax || !IsName(name))
      return ValidationError("no attribute's name in braces: {" + std::string(name) + "}");
    part.name = name;
    parsed.parts.push_back(std::move(part));
    text.remove_prefix(close + 1);
    if (text.empty()) return parsed;
  }
}

namespace {

// Calls `take(part, value)` for each placeholder, while it returns true. Returns whether `text` fits.
template <class Take>
bool Walk(const Template& pattern, std::string_view text, const Take& take) {
  for (size_t i = 0; i < pattern.parts.size(); ++i) {
    const Template::Part& part = pattern.parts[i];
    if (!text.starts_with(part.text)) return false;
    text.remove_prefix(part.text.size());
    if (part.name.empty()) continue;
    // A value ends where the next text begins; at a '#' in any case.
    std::string_view next;
    if (i + 1 < pattern.parts.size()) next = pattern.parts[i + 1].text;
    size_t end = std::min(next.empty() ? text.size() : text.find(next), text.find('#'));
    end = std::min(end, text.size());
    if (end == 0 || !take(part, text.substr(0, end))) return false;
    text.remove_prefix(end);
  }
  return text.empty();
}

}  // namespace

std::optional<std::map<std::string, std::string>> Match(const Template& pattern, std::string_view text) {
  std::map<std::string, std::string> values;
  bool fits = Walk(pattern, text, [&](const Template::Part& part, std::string_view value) {
    if (part.as_date) return true;
    while (part.width != 0 && value.size() > 1 && value.starts_with('0')) value.remove_prefix(1);
    auto [known, fresh] = values.emplace(part.name, value);
    return fresh || known->second == value;
  });
  if (!fits) return std::nullopt;
  return values;
}

bool Fits(const Template& pattern, std::string_view text) {
  return Walk(pattern, text, [](const Template::Part&, std::string_view) { return true; });
}

bool CanCollide(const Template& a, const Template& b) {
  std::vector<Stretch> left = Stretches(a);
  std::vector<Stretch> right = Stretches(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Stretch& x, const Stretch& y) { return CanCollide(x, y); });
}

}  // namespace holdfast::model
