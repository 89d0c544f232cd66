// Parts of a model in words, for pages and messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace holdfast::model::generate {

// What is put around names and templates, such as Markdown's backquotes.
using Mark = std::string (*)(std::string_view);
std::string Unmarked(std::string_view text);

// PROJECT#{id} or GLOBAL
std::string TemplatesText(const Templates& templates, Mark mark = &Unmarked);
// PK = PROJECT#{id}, SK = METADATA
std::string PartsText(const std::vector<KeyPart>& parts, Mark mark = &Unmarked);
// PK S, SK S
std::string KeysText(const std::vector<KeyAttribute>& keys, Mark mark = &Unmarked);
// createdAt + 30d
std::string ComputedText(const Computed& computed);
// S, vector(8), L[S], M details
std::string TypeText(const Attribute& attribute);
// "one of a, b", "default 1", "at least 1": what there is to say beyond the type.
std::vector<std::string> Remarks(const Attribute& attribute);

}  // namespace holdfast::model::generate
