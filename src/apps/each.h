// All that a pattern gives, page by page.
#pragma once

#include <functional>
#include <string_view>

#include "holdfast/model.h"

namespace holdfast::apps {

inline Status ForEach(Application* application, std::string_view pattern, const Item& parameters,
                      const std::function<Status(const Record& record)>& visit) {
  PageRequest page;
  page.limit = 1000;
  do {
    HF_TRY(Answer answer, application->Ask(Caller::Administrator(), pattern, parameters, page));
    for (const Record& record : answer.records) HF_CHECK_OK(visit(record));
    page.cursor = answer.cursor;
  } while (!page.cursor.empty());
  return Ok{};
}

}  // namespace holdfast::apps
