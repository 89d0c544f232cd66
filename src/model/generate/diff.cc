#include "model/generate/diff.h"

#include <algorithm>
#include <set>

#include "model/generate/describe.h"
#include "model/generate/text.h"

namespace holdfast::model::generate {
namespace {

std::string IndexText(const Index& index) {
  return Cat(KeysText(index.hash), " / ", KeysText(index.range), ", ", index.projection, " ",
             Join(index.include, " "));
}

std::string VectorText(const VectorIndex& index) {
  return Cat(index.attribute, "(", std::to_string(index.dimensions), ") ", index.distance, ", filters ",
             KeysText(index.filters));
}

std::string BoundText(const std::optional<double>& bound) {
  return bound ? NumberText(*bound) : "none";
}

std::string RuleText(const std::optional<Computed>& computed) {
  return computed ? ComputedText(*computed) : "";
}

template <class T>
auto NameOf(const T& one) -> decltype((one.name)) {
  return one.name;
}
template <class T>
const std::string& NameOf(const std::unique_ptr<T>& one) {
  if constexpr (requires { one->name; } && !std::is_same_v<T, Table>) {
    return one->name;
  } else {
    return one->id;
  }
}
template <class T>
const T& Deref(const T& one) {
  return one;
}
template <class T>
const T& Deref(const std::unique_ptr<T>& one) {
  return *one;
}

class Comparer {
 public:
  std::vector<Change> Compare(const Model& before, const Model& after) {
    Pair(before.tables, after.tables, "tables",
         [&](const auto& path, const Table& a, const Table& b) { CompareTable(path, a, b); },
         {Effort::kFree, "the table is new", "apply the model to make it"},
         {Effort::kMigration, "the table is gone",
          "its items must be moved or deleted first; applying a model deletes no table"});
    Pair(before.schemas, after.schemas, "schemas",
         [&](const auto& path, const Schema& a, const Schema& b) {
           CompareFields(path + ".fields", a.fields, b.fields);
           CompareChecks(path, a.checks, b.checks);
         },
         {Effort::kFree, "the schema is new", "nothing stored has it"},
         {Effort::kFree, "the schema is gone", "values that it described are no longer checked"});
    Pair(before.entities, after.entities, "entities",
         [&](const auto& path, const Entity& a, const Entity& b) { CompareEntity(path, a, b); },
         {Effort::kFree, "the entity is new", "nothing stored is one"},
         {Effort::kMigration, "the entity is gone",
          "its items would be of no known entity: delete them or write them as another"});
    Pair(before.machines, after.machines, "machines",
         [&](const auto& path, const Machine& a, const Machine& b) { CompareMachine(path, a, b); },
         {Effort::kFree, "the state machine is new", "it decides about later changes"},
         {Effort::kFree, "the state machine is gone", "any change of state is allowed from now on"});
    Pair(before.patterns, after.patterns, "patterns", [](const auto&, const Pattern&, const Pattern&) {},
         {Effort::kFree, "the pattern is new", "it reads what is there"},
         {Effort::kFree, "the pattern is gone", "callers that ask for it are refused"});
    if (before.name != after.name)
      Add(Effort::kRefused, "model", Turned("name", before.name, after.name), "these are two models");
    CheckVersion(before, after);
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const Change& a, const Change& b) { return a.effort > b.effort; });
    // A machine that several entities share is compared for each of them.
    std::set<std::pair<std::string, std::string>> seen;
    std::erase_if(changes_,
                  [&](const Change& change) { return !seen.emplace(change.path, change.what).second; });
    return std::move(changes_);
  }

 private:
  struct Verdict {
    Effort effort;
    std::string what;
    std::string reason;
  };

  static std::string Turned(std::string_view what, const std::string& before, const std::string& after) {
    return Cat("the ", what, " was ", before.empty() ? "none" : before, " and is ",
               after.empty() ? "none" : after);
  }

  void Add(Effort effort, std::string path, std::string what, std::string reason) {
    changes_.push_back({effort, std::move(path), std::move(what), std::move(reason)});
  }

  // Adds a change when the two texts differ.
  void Differ(Effort effort, const std::string& path, std::string_view what, const std::string& before,
              const std::string& after, std::string reason) {
    if (before != after) Add(effort, path, Turned(what, before, after), std::move(reason));
  }

  // Brings together what has the same name.
  template <class All, class Compare>
  void Pair(const All& before, const All& after, const std::string& path, Compare compare,
            const Verdict& added, const Verdict& removed) {
    auto find = [](const All& all, const std::string& name) {
      return std::find_if(all.begin(), all.end(), [&](const auto& one) { return NameOf(one) == name; });
    };
    for (const auto& old : before) {
      std::string at = Cat(path, ".", NameOf(old));
      auto match = find(after, NameOf(old));
      if (match == after.end()) {
        Add(removed.effort, at, removed.what, removed.reason);
      } else {
        compare(at, Deref(old), Deref(*match));
      }
    }
    for (const auto& fresh : after) {
      if (find(before, NameOf(fresh)) == before.end())
        Add(added.effort, Cat(path, ".", NameOf(fresh)), added.what, added.reason);
    }
  }

  void CompareTable(const std::string& path, const Table& a, const Table& b) {
    Differ(Effort::kMigration, path + ".name", "name", a.name, b.name,
           "a table cannot be renamed: copy its items into the new one");
    Differ(Effort::kMigration, path + ".key", "key", KeysText(a.key), KeysText(b.key),
           "the key of a table is fixed: make another table");
    Differ(Effort::kBackfill, path + ".type_attribute", "type attribute", a.type_attribute, b.type_attribute,
           "stored items carry the other attribute");
    Differ(Effort::kBackfill, path + ".ttl", "TTL attribute", a.ttl, b.ttl,
           "items expire by the attribute that they carry");
    Pair(a.indexes, b.indexes, path + ".indexes",
         [&](const std::string& at, const Index& x, const Index& y) {
           Differ(Effort::kMigration, at, "index", IndexText(x), IndexText(y),
                  "an index cannot be changed: add one of another name, then drop this one");
         },
         {Effort::kBackfill, "the index is new",
          "it is filled while the table serves; then stored items need its key attributes"},
         {Effort::kFree, "the index is gone", "drop it when no pattern of a running program needs it"});
    Pair(a.vector_indexes, b.vector_indexes, path + ".vectors",
         [&](const std::string& at, const VectorIndex& x, const VectorIndex& y) {
           Differ(Effort::kMigration, at, "vector index", VectorText(x), VectorText(y),
                  "an index cannot be changed: add one of another name, then drop this one");
         },
         {Effort::kBackfill, "the vector index is new", "it is filled from the vectors that are stored"},
         {Effort::kFree, "the vector index is gone", "drop it when nothing searches it any more"});
    if (a.enforce < b.enforce) {
      Add(Effort::kBackfill, path + ".enforce", "raw writes are checked more strictly",
          "check the stored items first");
    } else if (a.enforce > b.enforce) {
      Add(Effort::kFree, path + ".enforce", "raw writes are checked less strictly",
          "stored items stay as they are");
    }
  }

  void CompareEntity(const std::string& path, const Entity& a, const Entity& b) {
    Differ(Effort::kMigration, path + ".table", "table", a.table->id, b.table->id,
           "items must be copied into the other table");
    Differ(Effort::kMigration, path + ".key", "key", PartsText(a.key), PartsText(b.key),
           "a key is never changed in place: write new items, write both for a while, then delete the old");
    Differ(Effort::kBackfill, path + ".type", "type", a.type, b.type, "stored items carry the other type");
    auto index_name = [](const IndexKey& key) { return key.index->name; };
    for (const IndexKey& fresh : b.indexes) {
      auto old = std::find_if(a.indexes.begin(), a.indexes.end(),
                              [&](const IndexKey& k) { return index_name(k) == index_name(fresh); });
      Differ(Effort::kBackfill, Cat(path, ".indexes.", index_name(fresh)), "index key",
             old == a.indexes.end() ? "" : PartsText(old->parts), PartsText(fresh.parts),
             "stored items need their index keys written");
    }
    for (const IndexKey& old : a.indexes) {
      bool kept = std::any_of(b.indexes.begin(), b.indexes.end(),
                              [&](const IndexKey& k) { return index_name(k) == index_name(old); });
      if (!kept)
        Differ(Effort::kBackfill, Cat(path, ".indexes.", index_name(old)), "index key", PartsText(old.parts),
               "", "stored items stay in the index until their index keys are removed");
    }
    Differ(Effort::kBackfill, path + ".version", "version attribute", a.version, b.version,
           "stored items need it before they can be guarded");
    if (a.append_only != b.append_only || a.command_only != b.command_only) {
      Add(Effort::kFree, path + ".flags", "who may write changed", "stored items stay as they are");
    }
    CompareFields(path + ".attributes", a.attributes, b.attributes);
    CompareChecks(path, a.checks, b.checks);
  }

  void CompareFields(const std::string& path, const std::vector<Attribute>& before,
                     const std::vector<Attribute>& after) {
    for (const Attribute& fresh : after) {
      const Attribute* old = FindAttribute(before, fresh.name);
      std::string at = Cat(path, ".", fresh.name);
      if (old != nullptr) {
        CompareAttribute(at, *old, fresh);
      } else if (fresh.always) {
        Add(Effort::kBackfill, at, "a computed attribute is new",
            "stored items get it when they are next written");
      } else if (fresh.required && !fresh.default_value) {
        Add(Effort::kBackfill, at, "a required attribute without a default is new", "stored items lack it");
      } else {
        Add(Effort::kFree, at, "an attribute is new",
            "stored items are read with its default, or without it");
      }
    }
    for (const Attribute& old : before) {
      if (FindAttribute(after, old.name) != nullptr) continue;
      Add(Effort::kFree, Cat(path, ".", old.name), "the attribute is gone",
          Cat("it is no longer written; the purge job removes it from stored items: purge ", old.name));
    }
  }

  void CompareAttribute(const std::string& path, const Attribute& a, const Attribute& b) {
    CompareKind(path, a, b);
    if (!a.required && b.required) {
      Add(b.default_value ? Effort::kFree : Effort::kBackfill, path, "it is required now",
          b.default_value ? "stored items without it are read with its default" : "stored items may lack it");
    } else if (a.required && !b.required) {
      Add(Effort::kFree, path, "it is optional now", "stored items stay as they are");
    }
    CompareChoices(path, a, b);
    bool narrower = (b.min && (!a.min || *b.min > *a.min)) || (b.max && (!a.max || *b.max < *a.max));
    Differ(narrower ? Effort::kBackfill : Effort::kFree, path + ".min", "lower bound", BoundText(a.min),
           BoundText(b.min), narrower ? "stored values may lie outside" : "all stored values lie within");
    Differ(narrower ? Effort::kBackfill : Effort::kFree, path + ".max", "upper bound", BoundText(a.max),
           BoundText(b.max), narrower ? "stored values may lie outside" : "all stored values lie within");
    Differ(b.pattern.empty() ? Effort::kFree : Effort::kBackfill, path + ".pattern", "pattern", a.pattern,
           b.pattern, "stored values may not match");
    Differ(Effort::kBackfill, path + ".always", "rule", RuleText(a.always), RuleText(b.always),
           "stored items keep what the old rule gave until they are next written");
    if (a.default_value != b.default_value || RuleText(a.default_from) != RuleText(b.default_from)) {
      Add(Effort::kFree, path + ".default", "the default changed",
          "it counts for items written from now on and for items without a value");
    }
    if (a.stored != b.stored) {
      Add(Effort::kBackfill, path + ".stored", b.stored ? "it is stored now" : "it lives in the key only now",
          b.stored ? "stored items lack it until it is copied from their key"
                   : "stored items still carry it");
    }
    Differ(b.schema.empty() && b.schema_by.empty() ? Effort::kFree : Effort::kBackfill, path + ".schema",
           "schema", a.schema + a.schema_by, b.schema + b.schema_by, "stored values may not match");
    CompareFields(path, a.fields, b.fields);
    if (a.items && b.items) {
      CompareAttribute(path + "[]", *a.items, *b.items);
    } else if (b.items) {
      Add(Effort::kBackfill, path + "[]", "its elements have a type now",
          "stored elements may be of another");
    }
  }

  void CompareKind(const std::string& path, const Attribute& a, const Attribute& b) {
    if (a.kind == b.kind) {
      Differ(Effort::kRefused, path, "number of dimensions", std::to_string(a.dimensions),
             std::to_string(b.dimensions), "vectors cannot be converted: add another attribute");
      return;
    }
    std::string what = Turned("type", std::string(KindName(a.kind)), std::string(KindName(b.kind)));
    std::string_view from = StoredType(a.kind);
    std::string_view to = StoredType(b.kind);
    bool protects = a.kind == Kind::kEncrypted || b.kind == Kind::kEncrypted;
    if (b.kind == Kind::kAny || (from == to && b.kind == Kind::kString && !protects)) {
      Add(Effort::kFree, path, what, "every stored value is of the new type too");
    } else if (from == to) {
      Add(Effort::kBackfill, path, what,
          "stored values must be checked for the new form, or rewritten into it");
    } else if (a.kind == Kind::kAny) {
      Add(Effort::kBackfill, path, what, "stored values may be of other types");
    } else if (b.kind == Kind::kEpoch && a.kind == Kind::kInstant) {
      Add(Effort::kMigration, path, what, "each stored instant must be rewritten as a number");
    } else if ((from == "S" || from == "N") && (to == "S" || to == "N")) {
      Add(Effort::kMigration, path, what,
          "each stored value must be rewritten; programs of both versions cannot share it meanwhile");
    } else {
      Add(Effort::kRefused, path, what,
          "stored values cannot be converted: add an attribute of another name");
    }
  }

  void CompareChoices(const std::string& path, const Attribute& a, const Attribute& b) {
    if (a.choices.empty() && b.choices.empty()) return;
    std::set<std::string> old(a.choices.begin(), a.choices.end());
    std::set<std::string> fresh(b.choices.begin(), b.choices.end());
    if (b.choices.empty()) {
      Add(Effort::kFree, path, "any value is allowed now", "stored items stay as they are");
      return;
    }
    bool closes = !b.open_choices && (a.choices.empty() || a.open_choices);
    if (closes)
      Add(Effort::kBackfill, path, "only listed values are allowed now", "look for stored items with others");
    for (const std::string& value : fresh) {
      if (!old.contains(value))
        Add(Effort::kFree, path, Cat("the value ", value, " is new"), "stored items stay as they are");
    }
    for (const std::string& value : old) {
      if (fresh.contains(value)) continue;
      Add(b.open_choices ? Effort::kFree : Effort::kBackfill, path, Cat("the value ", value, " is gone"),
          b.open_choices ? "stored items that have it are warned about"
                         : "look for stored items that have it");
    }
  }

  void CompareChecks(const std::string& path, const std::vector<Check>& before,
                     const std::vector<Check>& after) {
    auto texts = [](const std::vector<Check>& checks) {
      std::set<std::string> found;
      for (const Check& check : checks)
        found.insert(Cat(check.only_warns ? "warn: " : "", check.condition.text));
      return found;
    };
    std::set<std::string> old = texts(before);
    std::set<std::string> fresh = texts(after);
    for (const std::string& text : fresh) {
      if (old.contains(text)) continue;
      bool warns = text.starts_with("warn: ");
      Add(warns ? Effort::kFree : Effort::kBackfill, path + ".checks", Cat("a check is new: ", text),
          warns ? "it refuses nothing" : "look for stored items that fail it");
    }
    for (const std::string& text : old) {
      if (!fresh.contains(text))
        Add(Effort::kFree, path + ".checks", Cat("a check is gone: ", text), "stored items stay as they are");
    }
  }

  void CompareMachine(const std::string& path, const Machine& a, const Machine& b) {
    Differ(Effort::kMigration, path + ".field", "field", a.field, b.field,
           "stored items hold their state elsewhere");
    std::vector<std::string> names;
    for (const State& state : b.states) names.push_back(state.name);
    for (const State& state : a.states) {
      if (std::find(names.begin(), names.end(), state.name) == names.end()) {
        Add(Effort::kBackfill, Cat(path, ".states.", state.name), "the state is gone",
            "stored items in it could never leave it");
      }
    }
    auto compare = [&](const Machine& x, const Machine& y, std::string_view what, std::string_view reason) {
      for (const auto& [from, targets] : x.moves) {
        for (const std::string& to : targets) {
          if (!y.Allows(from, to))
            Add(Effort::kFree, Cat(path, ".moves.", from), Cat("the move ", from, " → ", to, what),
                std::string(reason));
        }
      }
    };
    compare(a, b, " is gone", "warning: callers that make it are refused from now on");
    compare(b, a, " is new", "stored items stay as they are");
    Differ(Effort::kFree, path + ".initial", "initial state", Join(a.initial, ", "), Join(b.initial, ", "),
           "it counts for items created from now on");
  }

  void CheckVersion(const Model& before, const Model& after) {
    std::string versions = Cat(std::to_string(before.version), " → ", std::to_string(after.version));
    if (after.version < before.version || (!changes_.empty() && after.version == before.version)) {
      Add(Effort::kRefused, "version", Cat("the version did not increase (", versions, ")"),
          "a model that changed needs a higher version, so that programs can tell the two apart");
    }
  }

  std::vector<Change> changes_;
};

}  // namespace

std::string_view EffortName(Effort effort) {
  static constexpr std::string_view kNames[] = {"free", "needs backfill", "needs migration", "refused"};
  return kNames[static_cast<size_t>(effort)];
}

std::vector<Change> CompareModels(const Model& before, const Model& after) {
  return Comparer().Compare(before, after);
}

std::string DiffText(const std::vector<Change>& changes) {
  if (changes.empty()) return "no difference\n";
  std::string text;
  for (const Change& change : changes) {
    text +=
        Cat(EffortName(change.effort), ": ", change.path, ": ", change.what, "\n    ", change.reason, "\n");
  }
  return text;
}

std::string DiffJson(const std::vector<Change>& changes) {
  Node list = Node::List();
  for (const Change& change : changes) {
    list.Add(Node::Map()
                 .Set("effort", EffortName(change.effort))
                 .Set("path", change.path)
                 .Set("what", change.what)
                 .Set("reason", change.reason));
  }
  return list.Spell(Node::Style::kJson) + "\n";
}

}  // namespace holdfast::model::generate
