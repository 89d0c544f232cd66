#include "history.h"

#include <algorithm>
#include <functional>

namespace holdfast {
namespace {

// What the register holds after `op`, or nothing when the answer that `op` got could not be given by `value`.
std::optional<int64_t> Apply(const RegisterOp& op, int64_t value) {
  switch (op.kind) {
    case RegisterOp::Kind::kPut: return op.value;
    case RegisterOp::Kind::kRead: return op.value == value ? std::optional(value) : std::nullopt;
    case RegisterOp::Kind::kCompareAndSet:
      if (op.succeeded != (op.expected == value)) return std::nullopt;
      return op.succeeded ? op.value : value;
  }
  return std::nullopt;
}

}  // namespace

bool IsLinearizable(const std::vector<RegisterOp>& history) {
  std::vector<bool> done(history.size());
  std::set<std::pair<std::vector<bool>, int64_t>> visited;
  std::function<bool(size_t, int64_t)> search = [&](size_t left, int64_t value) {
    if (left == 0) return true;
    if (!visited.emplace(done, value).second) return false;
    int64_t first_return = INT64_MAX;
    for (size_t i = 0; i < history.size(); ++i) {
      if (!done[i]) first_return = std::min(first_return, history[i].returned);
    }
    for (size_t i = 0; i < history.size(); ++i) {
      if (done[i] || history[i].called > first_return) continue;
      std::optional<int64_t> next = Apply(history[i], value);
      if (!next) continue;
      done[i] = true;
      if (search(left - 1, *next)) return true;
      done[i] = false;
    }
    return false;
  };
  return search(history.size(), 0);
}

std::string FindAnomaly(const std::vector<ListTransaction>& history,
                        const std::map<std::string, std::vector<int64_t>>& finals) {
  std::map<int64_t, size_t> writer;  // element → the transaction that appended it
  for (size_t i = 0; i < history.size(); ++i) {
    for (const auto& [list, element] : history[i].appends) {
      writer[element] = i;
      const auto& final = finals.at(list);
      if (std::count(final.begin(), final.end(), element) != 1) {
        return "element " + std::to_string(element) + " was appended once and is not there once";
      }
    }
  }

  std::vector<std::set<size_t>> after(history.size());  // who must come later
  auto order = [&](size_t first, size_t second) {
    if (first != second) after[first].insert(second);
  };
  for (const auto& [list, elements] : finals) {
    for (size_t i = 0; i < elements.size(); ++i) {
      if (!writer.contains(elements[i]))
        return "element " + std::to_string(elements[i]) + " came from nowhere";
      if (i > 0) order(writer[elements[i - 1]], writer[elements[i]]);
    }
  }
  for (size_t reader = 0; reader < history.size(); ++reader) {
    for (const auto& [list, seen] : history[reader].reads) {
      const auto& final = finals.at(list);
      if (seen.size() > final.size() || !std::equal(seen.begin(), seen.end(), final.begin())) {
        return "a read of " + list + " is no prefix of its end";
      }
      if (!seen.empty()) order(writer[seen.back()], reader);
      if (seen.size() < final.size()) order(reader, writer[final[seen.size()]]);
    }
  }
  for (size_t i = 0; i < history.size(); ++i) {
    for (size_t j = 0; j < history.size(); ++j) {
      if (history[i].returned < history[j].called) after[i].insert(j);
    }
  }

  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(history.size(), Mark::kNew);
  std::function<bool(size_t)> has_cycle = [&](size_t at) {
    if (marks[at] == Mark::kOpen) return true;
    if (marks[at] == Mark::kDone) return false;
    marks[at] = Mark::kOpen;
    if (std::any_of(after[at].begin(), after[at].end(), has_cycle)) return true;
    marks[at] = Mark::kDone;
    return false;
  };
  for (size_t i = 0; i < history.size(); ++i) {
    if (has_cycle(i))
      return "no order of the transactions explains what they saw (cycle at " + std::to_string(i) + ")";
  }
  return {};
}

}  // namespace holdfast
