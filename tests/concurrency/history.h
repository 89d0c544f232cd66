// What clients did and saw, and whether any order of it makes sense.
//
// Every operation is recorded with the moments of its call and its return; the checkers look for an order of
// the operations that keeps those moments and explains every answer. Both are exact: a history they refuse
// has no such order.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast {

// Moments: a counter that every call and every return moves on.
class Moments {
 public:
  int64_t Next() { return next_.fetch_add(1); }

 private:
  std::atomic<int64_t> next_{1};
};

// --- one register: put, compare-and-set, read ---

struct RegisterOp {
  enum class Kind : uint8_t { kPut, kCompareAndSet, kRead };
  Kind kind;
  int64_t expected = 0;  // compare-and-set
  int64_t value = 0;     // what was written, or read
  bool succeeded = true;
  int64_t called = 0, returned = 0;
};

// Whether some order explains the history of a register that began at 0 (Wing and Gong's search, with Lowe's
// memory of the states it has been in).
bool IsLinearizable(const std::vector<RegisterOp>& history);

// --- lists: transactions that append to some and read others ---

struct ListTransaction {
  std::map<std::string, int64_t> appends;             // list → the element, unique in the history
  std::map<std::string, std::vector<int64_t>> reads;  // list → all it held
  int64_t called = 0, returned = 0;
};

// Whether the transactions are strictly serializable: `finals` holds what each list held at the end. Since
// elements are unique and lists only grow, every order of writes can be read off; what is wrong comes back,
// empty when nothing is. (The method of Elle, Kingsbury and Alvaro 2020.)
std::string FindAnomaly(const std::vector<ListTransaction>& history,
                        const std::map<std::string, std::vector<int64_t>>& finals);

}  // namespace holdfast
