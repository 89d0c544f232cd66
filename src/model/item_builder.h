// From a caller's fields to the item that is stored, and back: values in their written form, what the model
// computes, keys and index keys.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/ulid.h"
#include "holdfast/model.h"
#include "model/check_value.h"
#include "model/model.h"

namespace holdfast::model {

// Where values come from that nobody gives.
struct Sources {
  int64_t now_millis = 0;
  base::Random* random = nullptr;
  base::UlidSource* ulids = nullptr;
  // The envelope of an encrypted attribute's plaintext, bound to `context`.
  std::function<Result<std::string>(std::string_view plaintext, std::string_view context)> seal;
  // The vector of a text.
  std::function<Result<std::vector<float>>(const Attribute& attribute, std::string_view text)> embed;
};

// What may be given that the model otherwise decides itself.
enum class Origin : uint8_t {
  kCaller,
  kImport,  // data from elsewhere: any state, its own times and versions
};

struct BuiltItem {
  Item item;  // complete, with keys
  std::vector<ModelWarning> warnings;
};

Result<BuiltItem> BuildNew(const Model& model, const Entity& entity, const Item& fields, Origin origin,
                           const Sources& sources);

// A stored item with changes, and what differs. `changes` with NULL remove. With `replace` whatever a caller
// may set and is not among `changes` is removed or gets its default again. With `any_state` the state machine
// is not asked.
struct BuiltChange {
  Item item;
  std::vector<std::string> set;  // attributes of `item` to write
  std::vector<std::string> removed;
  // Attributes whose stored values the new index keys were made from: they must not have changed meanwhile.
  std::vector<std::string> relied_on;
  std::vector<ModelWarning> warnings;
  std::string from_state;  // empty: no state machine, or its state stays
  std::string to_state;
};
Result<BuiltChange> BuildChange(const Model& model, const Entity& entity, const Item& stored,
                                const Item& changes, bool replace, const Sources& sources,
                                bool any_state = false);

// What a caller gives to a command: checked, in its written form, with defaults. NULL stays where a field may
// be absent.
Result<BuiltItem> BuildInput(const Model& model, const std::vector<Attribute>& inputs, const Item& given,
                             const Sources& sources);

// What an item lacks that the model would have written: the type, required attributes that have a default or
// stand in the key, computed values, index keys. What others wrote rightly in another spelling stays.
Result<BuiltChange> BuildBackfill(const Model& model, const Entity& entity, const Item& stored,
                                  const Sources& sources);
// The item that these attributes make, with its keys: those of the entity as they are stored, whatever else
// there is beside them.
Result<Item> BuildMoved(const Model& model, const Entity& entity, const Item& attributes,
                        const Sources& sources);
// Whether the model makes the attribute rather than a caller: a key, an index key, the type.
bool IsDerived(const Entity& entity, std::string_view name);
// What the key of a stored item says of its attributes.
std::map<std::string, std::string> PartsOfKey(const Entity& entity, const Item& stored);

// The keys that an item with these attributes may have: one, or two when an instant without milliseconds is
// part of it. The first is the one holdfast writes. Only the table's key attributes.
Result<std::vector<Item>> KeysOf(const Entity& entity, const Item& known);
Item KeyOf(const Table& table, const Item& stored);
// Those attributes of an item that are there.
Item Attributes(const Item& stored, std::initializer_list<const std::vector<KeyAttribute>*> wanted);
// What tells it from others of its kind: the attributes in its key, as in "5f0c…" or "5f0c…/raid_log".
std::string IdOf(const Entity& entity, const Item& known);

// What the envelope of an encrypted attribute is bound to: the attributes that the model names, else table
// and key.
Result<std::string> SealContext(const Entity& entity, const Attribute& attribute, const Known& known);
Result<std::string> SealContext(const Entity& entity, const Attribute& attribute, const Item& stored);

std::string StateOf(const Machine& machine, const Item& item);

// A template with the values of `known`; empty when one is missing. Refuses values that a key cannot hold.
Result<std::optional<std::string>> Render(const Template& pattern, const Known& known);

// Judges a stored item by its entity: keys, types, required, enums, schemas, checks.
struct Judgement {
  std::vector<Violation> violations;
  std::vector<Warning> warnings;
};
Judgement Judge(const Model& model, const Entity& entity, const Item& stored);

// Time as attributes of the kinds ts, date and epoch hold it.
std::optional<int64_t> MillisOf(value::ValueView value);
AttributeValue TimeValue(Kind kind, int64_t millis);

}  // namespace holdfast::model
