// Key templates: "EVENT#{createdAt}#{id}". Text with attributes in braces, made into a key and read back from
// it.
//
// A value that goes into a template never holds '#', which is what makes reading back possible.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::model {

struct Template {
  struct Part {
    std::string text;      // in front of the placeholder
    std::string name;      // of the placeholder; empty at the end
    bool as_date = false;  // {createdAt:date}
    int width = 0;         // {seq:12}: a number with zeros before it, so that texts sort as numbers do
    int64_t plus = 0;      // {after+1:12}
  };
  std::vector<Part> parts;

  // The names in braces, in order.
  std::vector<std::string> Names() const;
  bool is_constant() const { return parts.size() == 1 && parts[0].name.empty(); }
  // As written.
  std::string ToText() const;
};
// The first whose names all have values counts.
using Templates = std::vector<Template>;

Result<Template> ParseTemplate(std::string_view text);

// The values in `text` by name, or nothing when it was not made from `pattern`. Days of instants are left
// out.
std::optional<std::map<std::string, std::string>> Match(const Template& pattern, std::string_view text);

// Whether it was.
bool Fits(const Template& pattern, std::string_view text);

// Whether some text could come from both.
bool CanCollide(const Template& a, const Template& b);

}  // namespace holdfast::model
