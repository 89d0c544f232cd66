// The members of an object of JSON, read strictly: each by its name and in its form, and none besides.
//
//   Members members(value::MapView(body));
//   members.Text("worker", &claim.worker, Need::kRequired);
//   members.Whole("max", &claim.max, {1, 64});
//   HF_CHECK_OK(members.End());
//
// The first thing that is wrong is what End() refuses, with its path. NULL stands for a member that is not
// there. Views into what is read: it must outlive this.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/value.h"
#include "value/flat.h"

namespace holdfast::wire {

enum class Need : uint8_t { kOptional, kRequired };

struct Bounds {
  int64_t min = 0;
  int64_t max = INT64_MAX;
};

class Members {
 public:
  // `path` leads to the object: effects[2].
  explicit Members(value::MapView map, std::string path = {}) : map_(map), path_(std::move(path)) {}

  // Counts as read.
  std::optional<value::ValueView> Take(std::string_view name);

  void Text(std::string_view name, std::string* out, Need need = Need::kOptional, size_t bytes_max = 1024);
  // One to `bytes_max` letters, digits, '-', '_' or one of `more`.
  void Name(std::string_view name, std::string* out, Need need, std::string_view more = {},
            size_t bytes_max = 128);
  void Whole(std::string_view name, int64_t* out, Bounds bounds, Need need = Need::kOptional);
  void Whole(std::string_view name, int* out, Bounds bounds);
  void Flag(std::string_view name, bool* out, Need need = Need::kOptional);
  void Map(std::string_view name, Item* out, Need need = Need::kOptional);
  // Whether it is the second of two words; the first unless told.
  void Either(std::string_view name, std::string_view first, std::string_view second, bool* is_second);
  // The elements of a list, at most so many.
  std::vector<value::ValueView> List(std::string_view name, size_t max, Need need = Need::kOptional);
  std::vector<std::string> Names(std::string_view name, size_t max, Need need);

  // All that was not read yet, which counts as read.
  Item Rest();

  std::string PathOf(std::string_view name) const;
  void Refuse(std::string_view name, std::string rule);
  // Refuses what nobody asked for.
  Status End();

 private:
  // The value when it is there; refuses its absence when it is needed.
  std::optional<value::ValueView> Find(std::string_view name, Need need);

  const value::MapView map_;
  const std::string path_;
  std::vector<bool> read_ = std::vector<bool>(map_.size());
  std::optional<Error> error_;
};

// Whether a text consists of 1 to `bytes_max` letters, digits, '-', '_' or characters of `more`.
bool IsName(std::string_view text, size_t bytes_max, std::string_view more = {});

}  // namespace holdfast::wire
