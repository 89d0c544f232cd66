// Builds expressions with their names and values, so that no attribute name needs care for reserved words.
//
//   ExpressionBuilder builder;
//   builder.Text("attribute_exists(").Path("status").Text(") AND ").Path("version").Text(" = ").Value(3);
//
// Several expressions of one request share a builder's names and values: Take() each text in turn. readable()
// is the same with names and values in place, for people.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/ops/common.h"
#include "holdfast/value.h"

namespace holdfast::model {

// How a value looks in a plan: PROJECT#7, 3, true.
std::string ReadableValue(const AttributeValue& value);

class ExpressionBuilder {
 public:
  ExpressionBuilder& Text(std::string_view text);
  // a.b[0].c
  ExpressionBuilder& Path(std::string_view path);
  // One attribute, whatever its name holds.
  ExpressionBuilder& Name(std::string_view name);
  ExpressionBuilder& Value(const AttributeValue& value);
  // " AND " unless this is the beginning.
  ExpressionBuilder& And();
  // "SET a = :v0, b = :v1 REMOVE c", with the values of `item`.
  ExpressionBuilder& Update(const Item& item, const std::vector<std::string>& set,
                            const std::vector<std::string>& removed);
  // And the attribute is what it was, or not there as it was not, when `read` was read.
  ExpressionBuilder& AndUnchanged(std::string_view name, const Item& read);

  bool empty() const { return text_.empty(); }
  const std::string& readable() const { return readable_; }
  // The expression so far; the next starts empty and shares names and values.
  std::string Take();

  // Moves names and values into any request that has them; the values of all requests are Items.
  template <class Request>
  void Finish(Request* request) {
    if (!names_.empty()) request->expression_attribute_names = std::move(names_);
    if (!values_.empty()) request->expression_attribute_values = ExpressionValues(Item(values_));
  }

 private:
  void AppendAlias(std::string_view name);

  std::string text_;
  std::string readable_;
  ExpressionNames names_;
  std::map<std::string, std::string, std::less<>> aliases_;  // attribute → #n
  AttributeMap values_;
};

}  // namespace holdfast::model
