// Whether values are what a model says, and what they are written as.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/refusal.h"
#include "value/flat.h"

namespace holdfast::model {

// Something accepted that its writer should look at.
struct Warning {
  std::string path;
  std::string message;
};

// Collects what is wrong with one input and holds the values that were made on the way.
class ValueCheck {
 public:
  enum class Mode : uint8_t {
    kWrite,  // a caller's input: brought to its written form, defaults filled in
    kJudge,  // a stored item: looked at only
  };
  ValueCheck(const Model& model, Mode mode) : model_(model), mode_(mode) {}

  // The value to be written for `in`. With violations it is whatever was given. `siblings` is the map around
  // it.
  value::ValueView Accept(const Attribute& attribute, value::ValueView in, const std::string& path,
                          value::MapView siblings);
  void CheckConditions(const std::vector<Check>& checks, value::MapView map, const std::string& path);

  void Violate(const std::string& path, std::string rule, std::string got = {});
  void Warn(const std::string& path, std::string message);
  // Keeps a value that was made, for as long as this object lives.
  value::ValueView Keep(std::string flat_value);
  value::ValueView Keep(const AttributeValue& value);

  std::vector<Violation> violations;
  std::vector<Warning> warnings;

 private:
  value::ValueView Text(const Attribute& attribute, value::ValueView in, const std::string& path);
  value::ValueView Instant(const Attribute& attribute, value::ValueView in, const std::string& path);
  value::ValueView Number(const Attribute& attribute, value::ValueView in, const std::string& path);
  value::ValueView List(const Attribute& attribute, value::ValueView in, const std::string& path);
  value::ValueView Vector(const Attribute& attribute, value::ValueView in, const std::string& path);
  value::ValueView Map(const std::vector<Attribute>& fields, const std::vector<Check>& checks,
                       value::ValueView in, const std::string& path);
  void CheckBounds(const Attribute& attribute, double size, std::string_view what, const std::string& path);
  // The schema of the attribute, if it has one: fields and checks.
  struct Shape {
    const std::vector<Attribute>* fields = nullptr;
    const std::vector<model::Check>* checks = nullptr;
    const Attribute* whole = nullptr;  // when a field of a schema is meant that is no map
  };
  Shape ShapeOf(const Attribute& attribute, value::MapView siblings) const;

  const Model& model_;
  const Mode mode_;
  int schema_depth_ = 0;
  std::deque<std::string> kept_;
};

// The flat form of a value that can be stored; NULL for what cannot.
std::string FlatValue(const AttributeValue& value);

// "abc…", for messages.
std::string Shown(value::ValueView value);

}  // namespace holdfast::model
