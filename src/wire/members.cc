#include "wire/members.h"

#include <algorithm>

#include "model/refusal.h"

namespace holdfast::wire {

using value::Type;
using value::ValueView;

bool IsName(std::string_view text, size_t bytes_max, std::string_view more) {
  return !text.empty() && text.size() <= bytes_max && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || more.find(c) != std::string_view::npos;
  });
}

std::optional<ValueView> Members::Take(std::string_view name) {
  std::optional<uint32_t> position = map_.IndexOf(name);
  if (!position) return std::nullopt;
  read_[*position] = true;
  ValueView value = map_.At(*position).value;
  if (value.type() == Type::kNull) return std::nullopt;
  return value;
}

std::optional<ValueView> Members::Find(std::string_view name, Need need) {
  std::optional<ValueView> value = Take(name);
  if (!value && need == Need::kRequired) Refuse(name, "is needed");
  return value;
}

std::string Members::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Members::Refuse(std::string_view name, std::string rule) {
  if (!error_) error_ = model::RefuseField(PathOf(name), std::move(rule));
}

void Members::Text(std::string_view name, std::string* out, Need need, size_t bytes_max) {
  std::optional<ValueView> value = Find(name, need);
  if (!value) return;
  if (value->type() != Type::kString) return Refuse(name, "should be a text");
  if (value->payload().size() > bytes_max)
    return Refuse(name, "should have at most " + std::to_string(bytes_max) + " bytes");
  out->assign(value->payload());
}

void Members::Name(std::string_view name, std::string* out, Need need, std::string_view more,
                   size_t bytes_max) {
  std::optional<ValueView> value = Find(name, need);
  if (!value) return;
  if (value->type() != Type::kString || !IsName(value->payload(), bytes_max, more))
    return Refuse(name, "should have 1 to " + std::to_string(bytes_max) + " letters, digits or any of -_" +
                            std::string(more));
  out->assign(value->payload());
}

void Members::Whole(std::string_view name, int64_t* out, Bounds bounds, Need need) {
  std::optional<ValueView> value = Find(name, need);
  if (!value) return;
  int64_t number = 0;
  bool whole = value->type() == Type::kNumber && value->number().ToInt64(&number);
  if (!whole || number < bounds.min || number > bounds.max) {
    std::string rule = "should be a whole number from " + std::to_string(bounds.min);
    if (bounds.max != INT64_MAX) rule += " to " + std::to_string(bounds.max);
    return Refuse(name, std::move(rule));
  }
  *out = number;
}

void Members::Whole(std::string_view name, int* out, Bounds bounds) {
  int64_t number = *out;
  Whole(name, &number, bounds);
  *out = static_cast<int>(number);
}

void Members::Flag(std::string_view name, bool* out, Need need) {
  std::optional<ValueView> value = Find(name, need);
  if (!value) return;
  if (!value::IsBool(value->type())) return Refuse(name, "should be true or false");
  *out = value->type() == Type::kTrue;
}

void Members::Map(std::string_view name, Item* out, Need need) {
  std::optional<ValueView> value = Find(name, need);
  if (!value) return;
  if (value->type() != Type::kMap) return Refuse(name, "should be an object");
  *out = Item::FromFlat(std::string(value->payload()));
}

void Members::Either(std::string_view name, std::string_view first, std::string_view second,
                     bool* is_second) {
  std::optional<ValueView> value = Take(name);
  if (!value) return;
  bool text = value->type() == Type::kString;
  if (!text || (value->payload() != first && value->payload() != second))
    return Refuse(name, "should be " + std::string(first) + " or " + std::string(second));
  *is_second = value->payload() == second;
}

std::vector<ValueView> Members::List(std::string_view name, size_t max, Need need) {
  std::vector<ValueView> elements;
  std::optional<ValueView> value = Find(name, need);
  if (!value) return elements;
  if (value->type() != Type::kList) {
    Refuse(name, "should be a list");
  } else if (value->entries().size() > max) {
    Refuse(name, "should have at most " + std::to_string(max) + " elements");
  } else {
    for (uint32_t i = 0; i < value->entries().size(); ++i) elements.push_back(value->element(i));
  }
  return elements;
}

std::vector<std::string> Members::Names(std::string_view name, size_t max, Need need) {
  std::vector<std::string> names;
  for (ValueView element : List(name, max, need)) {
    if (element.type() != Type::kString || !IsName(element.payload(), 128)) {
      Refuse(name, "should be a list of names: letters, digits, - and _");
      break;
    }
    names.emplace_back(element.payload());
  }
  if (names.empty() && need == Need::kRequired) Refuse(name, "should have at least one element");
  return names;
}

Item Members::Rest() {
  value::FlatWriter writer;
  writer.BeginMap();
  for (uint32_t i = 0; i < map_.size(); ++i) {
    if (read_[i]) continue;
    value::Attribute member = map_.At(i);
    read_[i] = true;
    writer.Name(member.name);
    writer.Copy(member.value);
  }
  writer.EndMap();
  return Item::FromFlat(writer.TakeMap());
}

Status Members::End() {
  for (uint32_t i = 0; i < map_.size(); ++i) {
    if (!read_[i]) Refuse(map_.At(i).name, "is not known here");
  }
  if (error_) return *error_;
  return Ok{};
}

}  // namespace holdfast::wire
