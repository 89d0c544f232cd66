// Cursors: where the next page of a pattern begins, in a form that callers can keep but not make.
//
// A cursor is bound to the pattern and the parameters it came from: base64url of the position and an HMAC
// over it and what it is bound to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/value.h"

struct evp_md_ctx_st;  // of OpenSSL

namespace holdfast::model {

struct Position {
  int64_t step = 0;           // of a union
  std::optional<Item> start;  // ExclusiveStartKey
  // Of results in order of time: the last one given, and where its second began.
  std::optional<int64_t> after_millis;
  std::string after_key;
  std::string after_item;  // its primary key: in an index several items may share a sort key
  // Of results that are sorted in memory: `after_item` is the rank of the last one given, and this says how
  // many of that rank were. Of what C++ gives: how many were given.
  int64_t skip = 0;
};

class CursorCodec {
 public:
  // An empty key means a random one.
  explicit CursorCodec(std::string key);
  ~CursorCodec();
  CursorCodec(const CursorCodec&) = delete;
  CursorCodec& operator=(const CursorCodec&) = delete;
  std::string Encode(const Position& position, std::string_view bound_to) const;
  // InvalidCursor for anything that Encode did not give for the same `bound_to`.
  Result<Position> Decode(std::string_view cursor, std::string_view bound_to) const;

 private:
  std::string Signature(std::string_view payload, std::string_view bound_to) const;
  // HMAC-SHA-256 with the key taken in once: a cursor is made for nearly every page.
  evp_md_ctx_st* const inner_;
  evp_md_ctx_st* const outer_;
};

}  // namespace holdfast::model
