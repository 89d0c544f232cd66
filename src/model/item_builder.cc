#include "model/item_builder.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "json/plain.h"
#include "model/instant.h"

namespace holdfast::model {
namespace {

using value::MapView;
using value::Type;
using value::ValueView;

std::string KeyProblem(std::string_view text) {
  if (text.empty()) return "is part of a key and may not be empty";
  return "is part of a key and may not hold '#'";
}

// Appends what a value is in a key. Fails for what a key cannot hold.
Status AppendKeyText(const Template::Part& part, ValueView value, std::string* out) {
  switch (value.type()) {
    case Type::kString: {
      std::string_view text = value.payload();
      if (text.empty() || text.find('#') != std::string_view::npos)
        return RefuseField(part.name, KeyProblem(text), Shown(value));
      if (part.as_date) {
        auto millis = ParseInstant(text);
        if (!millis) return RefuseField(part.name, "should be an instant", Shown(value));
        out->append(FormatDate(*millis));
      } else if (part.plus != 0 && text.ends_with('>')) {  // of a plan: <after>
        out->append(text.substr(0, text.size() - 1)).append("+" + std::to_string(part.plus) + ">");
      } else {
        out->append(text);
      }
      return Ok{};
    }
    case Type::kNumber: {
      if (part.width == 0 && part.plus == 0) {
        value::AppendNumberText(value.payload(), out);
        return Ok{};
      }
      int64_t number = 0;
      if (!value.number().ToInt64(&number) || number < 0)
        return RefuseField(part.name, "is part of a key and should be a whole number", Shown(value));
      std::string digits = std::to_string(number + part.plus);
      auto width = static_cast<size_t>(part.width);
      out->append(digits.size() < width ? width - digits.size() : 0, '0').append(digits);
      return Ok{};
    }
    default: return RefuseField(part.name, "cannot be part of a key", Shown(value));
  }
}

bool IsMissing(const std::optional<ValueView>& value) {
  return !value || value->type() == Type::kNull;
}

// Whether a key's text is what the template makes of the item, instants in either spelling.
bool Agrees(const Entity& entity, const Template& pattern, std::string_view key, MapView item) {
  auto parts = Match(pattern, key);
  return parts && std::all_of(parts->begin(), parts->end(), [&](const auto& part) {
           auto own = item.Find(part.first);
           if (IsMissing(own) || !entity.Find(part.first)->stored) return true;
           std::string is = ReadableValue(value::ToAttributeValue(*own));
           auto own_time = ParseInstant(is);
           return is == part.second || (own_time && own_time == ParseInstant(part.second));
         });
}

// Requires: not from an attribute.
AttributeValue MadeFromNothing(Kind kind, const Computed& computed, const Sources& sources) {
  switch (computed.source) {
    case Computed::Source::kUuid: return AttributeValue(sources.random->Uuid());
    case Computed::Source::kUlid: return AttributeValue(sources.ulids->Next());
    default: return TimeValue(kind, sources.now_millis + computed.shift_seconds * 1000);
  }
}

// The attributes of one item while it is put together.
class Draft {
 public:
  Draft(const Model& model, const Entity& entity, const Sources& sources)
      : entity_(entity),
        sources_(sources),
        check(model, ValueCheck::Mode::kWrite),
        values_(entity.attributes.size()) {}

  std::optional<ValueView> Find(std::string_view name) const {
    const Attribute* attribute = entity_.Find(name);
    return attribute == nullptr ? std::nullopt : values_[Index(attribute)];
  }
  std::optional<ValueView>& At(const Attribute& attribute) { return values_[Index(&attribute)]; }

  // A caller's value in its written form.
  void Take(const Attribute& attribute, ValueView in, MapView siblings) {
    At(attribute) = check.Accept(attribute, in, attribute.name, siblings);
  }

  void TakeDefault(const Attribute& attribute) {
    if (attribute.default_value) {
      // Defaults pass the same checks: a map's fields have defaults of their own.
      Item nothing;
      At(attribute) =
          check.Accept(attribute, check.Keep(*attribute.default_value), attribute.name, MapView(nothing));
    } else if (attribute.default_from) {
      At(attribute) = Made(attribute, *attribute.default_from);
    }
  }

  void Compute(const Attribute& attribute) {
    if (auto made = Made(attribute, *attribute.always)) At(attribute) = made;
  }

  void RequireAll() {
    for (const Attribute& attribute : entity_.attributes) {
      if (attribute.required && IsMissing(At(attribute))) check.Violate(attribute.name, "is required");
    }
  }

  // A stored item, with what it lacks and can be made: from its key, by default, by computation.
  void Complete(const Item& stored, const std::map<std::string, std::string>& in_key) {
    MapView old(stored);
    for (const Attribute& attribute : entity_.attributes) {
      auto before = old.Find(attribute.name);
      auto text = in_key.find(attribute.name);
      if (!IsMissing(before))
        At(attribute) = before;
      else if (text != in_key.end() && StoredType(attribute.kind) == "S")
        At(attribute) = check.Keep(AttributeValue(text->second));
      else if (attribute.required)
        TakeDefault(attribute);
    }
    for (const Attribute& attribute : entity_.attributes) {
      if (!attribute.always) continue;
      auto before = At(attribute);
      bool derives = attribute.always->source == Computed::Source::kAttribute;
      if (derives || IsMissing(before)) Compute(attribute);
      if (!IsMissing(before) && MillisOf(*before) && MillisOf(*before) == MillisOf(*At(attribute)))
        At(attribute) = before;  // the same time in another spelling
    }
  }

  // Vectors from texts, envelopes from plaintexts: what costs, and therefore comes when all else is sound.
  Status FinishValues(const std::set<std::string>* only) {
    for (const Attribute& attribute : entity_.attributes) {
      if (only != nullptr && only->count(attribute.name) == 0) continue;
      if (attribute.kind == Kind::kEncrypted && !IsMissing(At(attribute))) HF_CHECK_OK(Seal(attribute));
    }
    return Ok{};
  }

  Status EmbedTexts(const std::set<std::string>* changed) {
    for (const Attribute& attribute : entity_.attributes) {
      if (attribute.embed_from.empty()) continue;
      bool stale = changed != nullptr && changed->count(attribute.embed_from) > 0 &&
                   changed->count(attribute.name) == 0;
      if (!IsMissing(At(attribute)) && !stale) continue;
      auto text = Find(attribute.embed_from);
      if (IsMissing(text) || text->type() != Type::kString) continue;
      if (!sources_.embed) return Refuse("NotConfigured", "no embedder is configured");
      HF_TRY(std::vector<float> vector, sources_.embed(attribute, text->payload()));
      value::FlatWriter writer;
      writer.BeginList();
      for (float number : vector) writer.Number(value::Number::FromFloat(number));
      writer.EndList();
      At(attribute) = check.Keep(writer.TakeValue());
    }
    return Ok{};
  }

  Known known() const {
    return [this](std::string_view name) {
      auto value = Find(name);
      return IsMissing(value) ? std::nullopt : value;
    };
  }

  // One key attribute, or nothing when it cannot be made.
  Result<std::optional<ValueView>> Key(const KeyPart& part) {
    for (const Template& pattern : part.templates) {
      if (part.attribute.type != 'S') {
        auto value = Find(pattern.parts[0].name);
        if (IsMissing(value)) return std::optional<ValueView>();
        return std::optional<ValueView>(value);
      }
      HF_TRY(std::optional<std::string> text, Render(pattern, known()));
      if (text) return std::optional<ValueView>(check.Keep(AttributeValue(*std::move(text))));
    }
    return std::optional<ValueView>();
  }

 private:
  size_t Index(const Attribute* attribute) const {
    return static_cast<size_t>(attribute - entity_.attributes.data());
  }

  std::optional<ValueView> Made(const Attribute& attribute, const Computed& computed) {
    if (computed.source != Computed::Source::kAttribute)
      return check.Keep(MadeFromNothing(attribute.kind, computed, sources_));
    auto source = Find(computed.attribute);
    if (IsMissing(source)) return std::nullopt;
    bool time =
        attribute.kind == Kind::kInstant || attribute.kind == Kind::kDate || attribute.kind == Kind::kEpoch;
    if (!time) return source;
    auto millis = MillisOf(*source);
    if (!millis) return std::nullopt;  // the source itself is refused
    return check.Keep(TimeValue(attribute.kind, *millis + computed.shift_seconds * 1000));
  }

  Status Seal(const Attribute& attribute) {
    ValueView value = *At(attribute);
    std::string plaintext;
    if (value.type() == Type::kString)
      plaintext = value.payload();
    else
      json::AppendPlain(value, &plaintext);
    HF_TRY(std::string context, SealContext(entity_, attribute, known()));
    if (!sources_.seal) {
      return Refuse("NotConfigured", attribute.name +
                                         " is encrypted, and no master key is configured: make one with "
                                         "`holdfast keys create FILE` and pass --key-file FILE");
    }
    HF_TRY(std::string sealed, sources_.seal(plaintext, context));
    At(attribute) = check.Keep(AttributeValue(std::move(sealed)));
    return Ok{};
  }

  const Entity& entity_;
  const Sources& sources_;

 public:
  ValueCheck check;

 private:
  std::vector<std::optional<ValueView>> values_;
};

std::vector<ModelWarning> WarningsOf(const ValueCheck& check) {
  std::vector<ModelWarning> warnings;
  for (const Warning& warning : check.warnings) warnings.push_back({warning.path, warning.message});
  return warnings;
}

// Whether callers leave this attribute to the model.
bool IsManaged(const Entity& entity, const Attribute& attribute) {
  return attribute.always.has_value() ||
         (attribute.name == entity.version && attribute.kind == Kind::kNumber);
}

void RefuseUnknown(const Entity& entity, MapView fields, ValueCheck* check) {
  for (uint32_t i = 0; i < fields.size(); ++i) {
    std::string name(fields.At(i).name);
    if (entity.Find(name) != nullptr) continue;
    check->Violate(name, IsDerived(entity, name) ? "is derived by the model and cannot be set"
                                                 : "is no field of " + entity.name);
  }
}

Status CheckKeySize(const KeyPart& part, bool partition, ValueView value) {
  size_t most = partition ? limits::kPartitionKeyBytesMax : limits::kSortKeyBytesMax;
  if (value.payload().size() <= most) return Ok{};
  return RefuseField(part.attribute.name, "the key is longer than " + std::to_string(most) + " bytes");
}

// Writes all keys that can be made; the primary one must.
Status WriteKeys(const Entity& entity, Draft* draft, value::FlatWriter* writer) {
  for (const KeyPart& part : entity.key) {
    HF_TRY(std::optional<ValueView> value, draft->Key(part));
    if (!value) return RefuseField(part.attribute.name, "the key cannot be made from what is given");
    HF_CHECK_OK(CheckKeySize(part, &part == &entity.key.front(), *value));
    writer->Name(part.attribute.name);
    writer->Copy(*value);
  }
  for (const IndexKey& index : entity.indexes) {
    std::vector<std::optional<ValueView>> values;
    for (const KeyPart& part : index.parts) {
      HF_TRY(std::optional<ValueView> value, draft->Key(part));
      values.push_back(value);
    }
    // An item is in an index with all of its key or not at all; keys that are attributes stand there anyway.
    if (std::any_of(values.begin(), values.end(), [](const auto& value) { return !value; })) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      if (entity.Find(index.parts[i].attribute.name) != nullptr) continue;
      writer->Name(index.parts[i].attribute.name);
      writer->Copy(*values[i]);
    }
  }
  return Ok{};
}

Item Assemble(const Entity& entity, Draft* draft, value::FlatWriter* writer) {
  for (const Attribute& attribute : entity.attributes) {
    const auto& value = draft->At(attribute);
    if (!attribute.stored || IsMissing(value)) continue;
    writer->Name(attribute.name);
    writer->Copy(*value);
  }
  if (!entity.table->type_attribute.empty()) {
    writer->Name(entity.table->type_attribute);
    writer->String(entity.type);
  }
  writer->EndMap();
  return Item::FromFlat(writer->TakeMap());
}

}  // namespace

std::optional<int64_t> MillisOf(ValueView value) {
  if (value.type() == Type::kNumber) {
    int64_t seconds = 0;
    int64_t millis = 0;
    if (!value.number().ToInt64(&seconds) || __builtin_mul_overflow(seconds, 1000, &millis))
      return std::nullopt;
    return millis;
  }
  if (value.type() != Type::kString) return std::nullopt;
  auto instant = ParseInstant(value.payload());
  return instant ? instant : ParseDate(value.payload());
}

AttributeValue TimeValue(Kind kind, int64_t millis) {
  if (kind == Kind::kEpoch) return (millis - ((millis % 1000) + 1000) % 1000) / 1000;
  return kind == Kind::kDate ? FormatDate(millis) : FormatInstant(millis);
}

Result<std::optional<std::string>> Render(const Template& pattern, const Known& known) {
  std::string text;
  for (const Template::Part& part : pattern.parts) {
    text += part.text;
    if (part.name.empty()) continue;
    auto value = known(part.name);
    if (!value) return std::optional<std::string>();
    HF_CHECK_OK(AppendKeyText(part, *value, &text));
  }
  return std::optional<std::string>(std::move(text));
}

Result<std::string> SealContext(const Entity& entity, const Attribute& attribute, const Known& known) {
  std::string context;
  for (const std::string& name : attribute.context) {
    auto part = known(name);
    if (!part) return RefuseField(name, "is required, because " + attribute.name + " is bound to it");
    context += name + "=" + ReadableValue(value::ToAttributeValue(*part)) + "\n";
  }
  if (!attribute.context.empty()) return context;
  context = entity.table->name + "\n";
  for (const KeyPart& part : entity.key) {
    for (const Template& pattern : part.templates) {
      HF_TRY(std::optional<std::string> text, Render(pattern, known));
      if (!text) continue;
      context += part.attribute.name + "=" + *text + "\n";
      break;
    }
  }
  return context;
}

Result<std::string> SealContext(const Entity& entity, const Attribute& attribute, const Item& stored) {
  Item fields = Record(&entity, stored).Fields();
  return SealContext(entity, attribute, [&](std::string_view name) { return MapView(fields).Find(name); });
}

std::string StateOf(const Machine& machine, const Item& item) {
  if (!machine.field.empty()) {
    auto value = MapView(item).Find(machine.field);
    if (value && value->type() == Type::kString) return std::string(value->payload());
    // An older item is in the state that it reads as.
    const auto& fallback = machine.entity->Find(machine.field)->default_value;
    return IsMissing(value) && fallback ? fallback->AsText() : std::string();
  }
  static const ParamValues kNone = [](std::string_view) { return std::nullopt; };
  for (const State& state : machine.states) {
    if (!state.when || Holds(*state.when, item.flat(), kNone, Absent::kFails)) return state.name;
  }
  return {};
}

Result<BuiltItem> BuildNew(const Model& model, const Entity& entity, const Item& fields, Origin origin,
                           const Sources& sources) {
  MapView given(fields);
  Draft draft(model, entity, sources);
  const Machine* machine = entity.machine;
  for (const Attribute& attribute : entity.attributes) {
    auto value = given.Find(attribute.name);
    if (IsMissing(value)) {
      draft.TakeDefault(attribute);
      continue;
    }
    if (IsManaged(entity, attribute) && origin == Origin::kCaller) {
      draft.check.Violate(attribute.name, "is set by the model");
      draft.TakeDefault(attribute);
      continue;
    }
    draft.Take(attribute, *value, given);
  }
  if (machine != nullptr && !machine->field.empty()) {
    auto& state = draft.At(*entity.Find(machine->field));
    if (IsMissing(state)) state = draft.check.Keep(AttributeValue(machine->initial[0]));
  }
  HF_CHECK_OK(draft.EmbedTexts(nullptr));
  for (const Attribute& attribute : entity.attributes) {
    if (attribute.always && IsMissing(draft.At(attribute))) draft.Compute(attribute);
  }
  draft.RequireAll();
  RefuseUnknown(entity, given, &draft.check);
  if (!draft.check.violations.empty()) return RefuseInput(draft.check.violations);
  HF_CHECK_OK(draft.FinishValues(nullptr));

  value::FlatWriter writer;
  writer.BeginMap();
  HF_CHECK_OK(WriteKeys(entity, &draft, &writer));
  BuiltItem built{Assemble(entity, &draft, &writer), {}};
  if (machine != nullptr && origin == Origin::kCaller) {
    std::string state = StateOf(*machine, built.item);
    if (std::find(machine->initial.begin(), machine->initial.end(), state) == machine->initial.end())
      return RefuseMove(*machine, IdOf(entity, fields), "", state);
  }
  draft.check.CheckConditions(entity.checks, MapView(built.item), "");
  if (!draft.check.violations.empty()) return RefuseInput(draft.check.violations);
  built.warnings = WarningsOf(draft.check);
  return built;
}

Result<BuiltChange> BuildChange(const Model& model, const Entity& entity, const Item& stored,
                                const Item& changes, bool replace, const Sources& sources, bool any_state) {
  MapView old(stored);
  MapView given(changes);
  Draft draft(model, entity, sources);
  std::vector<std::string> key_inputs = entity.KeyInputs();
  std::set<std::string> touched;
  for (const Attribute& attribute : entity.attributes) {
    auto before = old.Find(attribute.name);
    auto change = given.Find(attribute.name);
    bool in_key = std::find(key_inputs.begin(), key_inputs.end(), attribute.name) != key_inputs.end();
    if (before && !IsMissing(before)) draft.At(attribute) = before;
    if (attribute.always) {
      if (change) draft.check.Violate(attribute.name, "is set by the model");
      continue;
    }
    if (attribute.name == entity.version && attribute.kind == Kind::kNumber) {
      if (change && !replace) draft.check.Violate(attribute.name, "is set by the model");
      int64_t count = 0;
      if (before && before->type() == Type::kNumber) before->number().ToInt64(&count);
      draft.At(attribute) = draft.check.Keep(AttributeValue(count + 1));
      touched.insert(attribute.name);
      continue;
    }
    if (in_key || attribute.immutable) {
      // Saying again what is so changes nothing.
      if (change && !IsMissing(change) && !replace && (!attribute.stored || (before && *before == *change)))
        continue;
      if (change && !replace)
        draft.check.Violate(attribute.name,
                            in_key ? "is part of the key and cannot change" : "cannot change");
      continue;
    }
    // What a schema is named by may change only with content that fits.
    if (!change && !replace && !attribute.schema_by.empty() && given.Find(attribute.schema_by) &&
        !IsMissing(before)) {
      draft.check.Accept(attribute, *before, attribute.name, given);
      continue;
    }
    bool drop = change ? change->type() == Type::kNull : replace;
    if (change && !drop)
      draft.Take(attribute, *change, given.Find(attribute.schema_by) ? given : old);
    else if (drop) {
      // An id that was made stays the item's.
      if (replace && attribute.default_from && before) continue;
      draft.At(attribute).reset();
      if (replace) draft.TakeDefault(attribute);
    } else
      continue;
    touched.insert(attribute.name);
  }
  RefuseUnknown(entity, given, &draft.check);
  HF_CHECK_OK(draft.EmbedTexts(&touched));
  for (const Attribute& attribute : entity.attributes) {
    if (attribute.always) draft.Compute(attribute);
    if (attribute.name == entity.version && attribute.kind == Kind::kInstant) {
      // Two changes are two versions, also within one millisecond.
      auto before = old.Find(attribute.name);
      auto last = before ? MillisOf(*before) : std::nullopt;
      auto now = IsMissing(draft.At(attribute)) ? std::nullopt : MillisOf(*draft.At(attribute));
      if (last && now && *now <= *last)
        draft.At(attribute) = draft.check.Keep(TimeValue(Kind::kInstant, *last + 1));
    }
    // Only what the change touches must be sound: an older item may lack what the model asks for today.
    if (attribute.required && touched.count(attribute.name) > 0 && IsMissing(draft.At(attribute)))
      draft.check.Violate(attribute.name, "is required");
  }
  if (!draft.check.violations.empty()) return RefuseInput(draft.check.violations);
  HF_CHECK_OK(draft.FinishValues(&touched));

  BuiltChange built;
  AttributeMap result = stored.ToMap();
  auto put = [&](const std::string& name, std::optional<ValueView> value) {
    auto before = old.Find(name);
    if (IsMissing(value)) {
      if (!before) return;
      built.removed.push_back(name);
      result.erase(name);
    } else if (!before || !(*before == *value)) {
      built.set.push_back(name);
      result[name] = value::ToAttributeValue(*value);
    }
  };
  std::set<std::string> changed;
  for (const Attribute& attribute : entity.attributes) {
    if (!attribute.stored) continue;
    size_t count = built.set.size() + built.removed.size();
    put(attribute.name, draft.At(attribute));
    if (built.set.size() + built.removed.size() != count) changed.insert(attribute.name);
  }
  for (const IndexKey& index : entity.indexes) {
    std::vector<std::pair<const KeyPart*, std::optional<ValueView>>> parts;
    std::vector<std::string> inputs;
    bool affected = false;
    bool complete = true;
    for (const KeyPart& part : index.parts) {
      bool part_affected = false;
      for (const Template& pattern : part.templates) {
        for (std::string& name : pattern.Names()) {
          part_affected = part_affected || changed.count(name) > 0;
          inputs.push_back(std::move(name));
        }
      }
      affected = affected || part_affected;
      // An item written elsewhere keeps its spelling.
      std::optional<ValueView> value = old.Find(part.attribute.name);
      if (part_affected || IsMissing(value)) {
        HF_TRY(value, draft.Key(part));
      }
      complete = complete && value;
      if (entity.Find(part.attribute.name) == nullptr) parts.emplace_back(&part, value);
    }
    if (!affected) continue;
    // In the index with all of its key, or not at all.
    for (const auto& [part, value] : parts) put(part->attribute.name, complete ? value : std::nullopt);
    for (std::string& name : inputs) {
      const Attribute* attribute = entity.Find(name);
      bool fixed =
          attribute->immutable || std::find(key_inputs.begin(), key_inputs.end(), name) != key_inputs.end();
      if (changed.count(name) == 0 && !fixed) built.relied_on.push_back(std::move(name));
    }
  }
  built.item = Item(result);
  if (const Machine* machine = entity.machine) {
    std::string from = StateOf(*machine, stored);
    std::string to = StateOf(*machine, built.item);
    bool asked = !machine->field.empty() && touched.count(machine->field) > 0 && (!replace || from != to);
    if (asked || from != to) {
      if (!any_state && !machine->Allows(from, to))
        return RefuseMove(*machine, IdOf(entity, stored), from, to);
      built.from_state = std::move(from);
      built.to_state = std::move(to);
    }
  }
  draft.check.CheckConditions(entity.checks, MapView(built.item), "");
  if (!draft.check.violations.empty()) return RefuseInput(draft.check.violations);
  built.warnings = WarningsOf(draft.check);
  return built;
}

Result<BuiltItem> BuildInput(const Model& model, const std::vector<Attribute>& inputs, const Item& given,
                             const Sources& sources) {
  ValueCheck check(model, ValueCheck::Mode::kWrite);
  MapView fields(given);
  value::FlatWriter writer;
  writer.BeginMap();
  for (const Attribute& input : inputs) {
    auto value = fields.Find(input.name);
    bool cleared = value && value->type() == Type::kNull;
    if (IsMissing(value)) {
      if (input.default_value) {
        value = check.Accept(input, check.Keep(*input.default_value), input.name, fields);
      } else if (input.default_from) {
        value = check.Keep(MadeFromNothing(input.kind, *input.default_from, sources));
      } else if (input.required) {
        check.Violate(input.name, "is required");
        continue;
      } else if (!cleared) {
        continue;
      }
    } else {
      value = check.Accept(input, *value, input.name, fields);
    }
    writer.Name(input.name);
    writer.Copy(*value);
  }
  for (uint32_t i = 0; i < fields.size(); ++i) {
    std::string name(fields.At(i).name);
    if (FindAttribute(inputs, name) == nullptr) check.Violate(name, "is no input of this command");
  }
  if (!check.violations.empty()) return RefuseInput(check.violations);
  writer.EndMap();
  return BuiltItem{Item::FromFlat(writer.TakeMap()), WarningsOf(check)};
}

bool IsDerived(const Entity& entity, std::string_view name) {
  auto makes = [&](const KeyPart& part) { return part.attribute.name == name; };
  return name == entity.table->type_attribute || std::any_of(entity.key.begin(), entity.key.end(), makes) ||
         std::any_of(entity.indexes.begin(), entity.indexes.end(), [&](const IndexKey& index) {
           return std::any_of(index.parts.begin(), index.parts.end(), makes);
         });
}

std::map<std::string, std::string> PartsOfKey(const Entity& entity, const Item& stored) {
  std::map<std::string, std::string> found;
  for (const KeyPart& part : entity.key) {
    auto text = MapView(stored).Find(part.attribute.name);
    if (!text || text->type() != Type::kString) continue;
    for (const Template& pattern : part.templates) {
      if (auto parts = Match(pattern, text->payload())) {
        found.merge(*parts);
        break;
      }
    }
  }
  return found;
}

Result<BuiltChange> BuildBackfill(const Model& model, const Entity& entity, const Item& stored,
                                  const Sources& sources) {
  MapView old(stored);
  Draft draft(model, entity, sources);
  draft.Complete(stored, PartsOfKey(entity, stored));

  // What should stand there; a null value is one that should not.
  std::map<std::string, std::optional<ValueView>> wanted;
  BuiltChange built;
  for (const Attribute& attribute : entity.attributes) {
    if (!attribute.stored) continue;
    if (!IsMissing(draft.At(attribute))) wanted[attribute.name] = draft.At(attribute);
    if (attribute.always && attribute.always->source == Computed::Source::kAttribute)
      built.relied_on.push_back(attribute.always->attribute);
  }
  const std::string& type = entity.table->type_attribute;
  if (!type.empty() && entity.Find(type) == nullptr)
    wanted[type] = draft.check.Keep(AttributeValue(entity.type));
  // An index that the entity is in no longer, then those that it is in: they may share attributes.
  for (const Index& index : entity.table->indexes) {
    for (const auto* parts : {&index.hash, &index.range}) {
      for (const KeyAttribute& part : *parts) wanted.try_emplace(part.name, std::nullopt);
    }
  }
  for (const IndexKey& index : entity.indexes) {
    std::vector<std::optional<ValueView>> values;
    for (const KeyPart& part : index.parts) {
      HF_TRY(std::optional<ValueView> value, draft.Key(part));
      values.push_back(value);
      for (const Template& pattern : part.templates) {
        for (std::string& name : pattern.Names()) built.relied_on.push_back(std::move(name));
      }
    }
    if (std::any_of(values.begin(), values.end(), [](const auto& value) { return !value; })) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      const KeyPart& part = index.parts[i];
      auto is = old.Find(part.attribute.name);
      bool spelled_otherwise =
          is && is->type() == Type::kString && values[i]->type() == Type::kString &&
          std::any_of(part.templates.begin(), part.templates.end(), [&](const Template& pattern) {
            return Match(pattern, values[i]->payload()) && Agrees(entity, pattern, is->payload(), old);
          });
      wanted[part.attribute.name] = spelled_otherwise ? is : values[i];
    }
  }
  AttributeMap result = stored.ToMap();
  for (const auto& [name, value] : wanted) {
    bool in_key = std::any_of(entity.key.begin(), entity.key.end(),
                              [&name = name](const KeyPart& part) { return part.attribute.name == name; });
    auto before = old.Find(name);
    if (in_key || (value && before && *before == *value) || (!value && (!before || entity.Find(name))))
      continue;
    if (value)
      result[name] = value::ToAttributeValue(*value);
    else
      result.erase(name);
    (value ? built.set : built.removed).push_back(name);
  }
  built.item = Item(result);
  return built;
}

Result<Item> BuildMoved(const Model& model, const Entity& entity, const Item& attributes,
                        const Sources& sources) {
  MapView given(attributes);
  Draft draft(model, entity, sources);
  draft.Complete(attributes, {});
  value::FlatWriter writer;
  writer.BeginMap();
  HF_CHECK_OK(WriteKeys(entity, &draft, &writer));
  for (uint32_t i = 0; i < given.size(); ++i) {
    value::Attribute extra = given.At(i);
    if (entity.Find(extra.name) != nullptr || IsDerived(entity, extra.name)) continue;
    writer.Name(extra.name);
    writer.Copy(extra.value);
  }
  return Assemble(entity, &draft, &writer);
}

Item Attributes(const Item& stored, std::initializer_list<const std::vector<KeyAttribute>*> wanted) {
  MapView item(stored);
  value::FlatWriter writer;
  writer.BeginMap();
  for (const auto* attributes : wanted) {
    for (const KeyAttribute& attribute : *attributes) {
      auto value = item.Find(attribute.name);
      if (!value) continue;
      writer.Name(attribute.name);
      writer.Copy(*value);
    }
  }
  writer.EndMap();
  return Item::FromFlat(writer.TakeMap());
}

Item KeyOf(const Table& table, const Item& stored) {
  return Attributes(stored, {&table.key});
}

Result<std::vector<Item>> KeysOf(const Entity& entity, const Item& known) {
  MapView given(known);
  // The spelling that plain SDK code would have used, for each instant.
  std::deque<std::string> spelled;
  std::vector<Item> keys;
  for (bool whole_seconds : {false, true}) {
    bool differs = false;
    auto lookup = [&](std::string_view name) -> std::optional<ValueView> {
      auto value = given.Find(name);
      if (IsMissing(value)) return std::nullopt;
      const Attribute* attribute = entity.Find(name);
      if (attribute == nullptr || attribute->kind != Kind::kInstant) return value;
      auto millis = MillisOf(*value);
      if (!millis) return value;
      bool whole = whole_seconds && *millis % 1000 == 0;
      differs = differs || whole;
      spelled.push_back(FlatValue(whole ? FormatWholeSecond(*millis) : FormatInstant(*millis)));
      return ValueView(spelled.back());
    };
    Item key;
    for (const KeyPart& part : entity.key) {
      std::optional<AttributeValue> value;
      for (const Template& pattern : part.templates) {
        if (part.attribute.type != 'S') {
          if (auto plain = lookup(pattern.parts[0].name)) value = value::ToAttributeValue(*plain);
          break;
        }
        HF_TRY(std::optional<std::string> text, Render(pattern, lookup));
        if (!text) continue;
        value = AttributeValue(*std::move(text));
        break;
      }
      if (!value) {
        std::string missing;
        for (const std::string& name : entity.KeyInputs()) {
          if (!lookup(name)) missing = name;
        }
        return RefuseField(missing, "is required: it is part of the key of " + entity.name);
      }
      key.Set(part.attribute.name, *value);
    }
    if (whole_seconds && !differs) break;
    keys.push_back(std::move(key));
  }
  return keys;
}

std::string IdOf(const Entity& entity, const Item& known) {
  std::string id;
  for (const std::string& name : entity.KeyInputs()) {
    auto value = known.Get(name);
    if (!value || value->is_null()) continue;
    id += (id.empty() ? "" : "/") + ReadableValue(*value);
  }
  return id;
}

Judgement Judge(const Model& model, const Entity& entity, const Item& stored) {
  ValueCheck check(model, ValueCheck::Mode::kJudge);
  MapView item(stored);
  const Item fields = Record(&entity, stored).Fields();
  for (const Attribute& attribute : entity.attributes) {
    if (!attribute.stored) {
      auto in_key = MapView(fields).Find(attribute.name);
      if (in_key) check.Accept(attribute, *in_key, attribute.name, item);
      continue;
    }
    auto value = item.Find(attribute.name);
    if (!IsMissing(value)) check.Accept(attribute, *value, attribute.name, item);
    if (!IsMissing(value) && attribute.always && attribute.always->source == Computed::Source::kAttribute) {
      auto source = item.Find(attribute.always->attribute);
      auto base = source ? MillisOf(*source) : std::nullopt;
      if (base && MillisOf(*value) != MillisOf(ValueView(FlatValue(TimeValue(
                                          attribute.kind, *base + attribute.always->shift_seconds * 1000)))))
        check.Warn(attribute.name, "is not what the model computes");
    }
    if (!IsMissing(value)) continue;
    // What the model fills in by itself, other writers may have left out.
    if (attribute.required &&
        (attribute.common || attribute.always || attribute.default_from || attribute.default_value))
      check.Warn(attribute.name, "is missing");
    else if (attribute.required)
      check.Violate(attribute.name, "is required");
  }
  auto judge_key = [&](const KeyPart& part, bool required) {
    auto value = item.Find(part.attribute.name);
    if (!value || value->type() != Type::kString) {
      if (required && part.attribute.type == 'S') check.Violate(part.attribute.name, "is required");
      return;
    }
    bool fits = false;
    for (const Template& pattern : part.templates) {
      fits = fits || Agrees(entity, pattern, value->payload(), item);
    }
    if (!fits)
      check.Violate(part.attribute.name, "is not what the model makes of the item's attributes",
                    Shown(*value));
  };
  for (const KeyPart& part : entity.key) judge_key(part, true);
  for (const IndexKey& index : entity.indexes) {
    for (const KeyPart& part : index.parts) {
      if (entity.Find(part.attribute.name) == nullptr) judge_key(part, false);
    }
  }
  check.CheckConditions(entity.checks, item, "");
  return {std::move(check.violations), std::move(check.warnings)};
}

}  // namespace holdfast::model
