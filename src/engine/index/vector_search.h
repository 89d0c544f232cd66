// What a search of a vector index asks and gets.
#pragma once

#include <string>
#include <vector>

#include "holdfast/value.h"

namespace holdfast::engine {

struct VectorQuery {
  std::vector<float> vector;  // as many elements as the index has dimensions
  size_t top_k = 1;
  // The value of the HASH attribute, for an index that has one: an encoded value, with its tag.
  std::string partition;
  // Values that results must have: the position in VectorSchema::filters, and an encoded value with its tag.
  struct Filter {
    size_t position;
    std::string value;
  };
  std::vector<Filter> filters;
  bool with_vectors = false;  // hits bring their vectors along
};

struct VectorHit {
  Item item;                  // as the index projects it, without the vector
  std::vector<float> vector;  // as the index holds it; empty unless asked for
  double score = 0;           // finite; rounded through a float
};

}  // namespace holdfast::engine
