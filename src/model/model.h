// A model as the loader gives it: checked, resolved, read-only. docs/models.md describes the file it comes
// from.
//
// Everything that runs on a model (keys, checks, patterns, generated types) reads these structs and nothing
// else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/value.h"
#include "model/condition.h"
#include "model/key_template.h"
#include "model/text_pattern.h"

namespace holdfast::model {

// Where in its file something stands.
struct Place {
  int line = 0;
  std::string path;  // entities.Project.key.PK
};

// --- attributes ---

enum class Kind : uint8_t {
  kString,
  kNumber,
  kBool,
  kBinary,
  kMap,
  kList,
  kStringSet,
  kNumberSet,
  kAny,
  kUuid,
  kUlid,
  kInstant,
  kDate,
  kEpoch,
  kVector,
  kEncrypted,
};
std::string_view KindName(Kind kind);
// What DynamoDB stores a value of this kind as: "S", "N", …; empty for kAny.
std::string_view StoredType(Kind kind);

// A value that is made rather than given: now(), uuid(), ulid(), another attribute; times may be shifted.
struct Computed {
  enum class Source : uint8_t { kNow, kUuid, kUlid, kAttribute };
  Source source = Source::kNow;
  std::string attribute;      // of kAttribute
  int64_t shift_seconds = 0;  // of kNow and of attributes that are times
  bool as_date = false;       // of `let`: only the day
};

// A condition that an item must fulfil, or about which it warns. Paths begin at the map it belongs to.
struct Check {
  Condition condition;
  bool only_warns = false;
};

struct Attribute {
  std::string name;
  std::string description;
  Kind kind = Kind::kString;
  bool required = false;
  std::optional<AttributeValue> default_value;
  std::optional<Computed> default_from;
  std::optional<Computed> always;

  std::vector<std::string> choices;
  bool open_choices = false;
  std::optional<double> min;
  std::optional<double> max;
  std::string pattern;                  // as written
  std::optional<TextPattern> compiled;  // none without one

  std::vector<Attribute> fields;           // of a map; in order of name
  bool has_fields = false;                 // a map of which nothing is said takes anything
  std::shared_ptr<const Attribute> items;  // of a list; null: anything
  std::string schema;                      // name of an embedded schema
  std::string schema_by;                   // the attribute whose value is that name; no such schema: anything
  std::string schema_field;                // perhaps only this field of it
  std::vector<Check> checks;               // of a map with fields

  bool common = false;  // one that every entity has
  bool stored = true;
  bool immutable = false;
  std::vector<std::string> context;  // of kEncrypted
  std::string revealed_to;           // of kEncrypted: the role that may read it
  int dimensions = 0;                // of kVector
  std::string embed_from;  // of kVector: the attribute that holds the text; empty: not made from text
  std::string embed_via;   // "demo", a URL, or empty: configured when the program starts
  Place place;
};
const Attribute* FindAttribute(const std::vector<Attribute>& attributes, std::string_view name);

struct Schema {
  std::string name;
  std::string id;
  std::vector<Attribute> fields;  // in order of name
  std::vector<Check> checks;
  Place place;
};

// --- tables ---

struct KeyAttribute {
  std::string name;
  char type = 'S';  // S, N or B
};

struct Index {
  std::string name;
  std::vector<KeyAttribute> hash;
  std::vector<KeyAttribute> range;
  std::string projection = "ALL";    // ALL, KEYS_ONLY or INCLUDE
  std::vector<std::string> include;  // of INCLUDE
  std::string scopes;                // the index that this one answers for one tenant
  Place place;
};

struct VectorIndex {
  std::string name;
  std::string attribute;
  int dimensions = 0;
  std::string distance = "COSINE";
  std::optional<int64_t> m;
  std::optional<int64_t> ef_construction;
  std::vector<KeyAttribute> filters;
  Place place;
};

enum class Enforce : uint8_t { kOff, kWarn, kStrict };

struct Table {
  std::string id;                 // what the model calls it
  std::string name;               // with the stage filled in
  std::vector<KeyAttribute> key;  // partition key, then perhaps the sort key
  std::string type_attribute;     // empty: told apart by keys alone
  std::string ttl;                // empty: nothing expires
  std::vector<Index> indexes;
  std::vector<VectorIndex> vector_indexes;
  Enforce enforce = Enforce::kOff;
  bool point_in_time_recovery = false;
  bool encryption = false;
  std::map<std::string, std::string> tags;
  std::string region;  // of the CloudFormation template
  Place place;

  const Index* FindIndex(std::string_view name) const;
};

// --- entities ---

// A key attribute with the template that makes it.
struct KeyPart {
  KeyAttribute attribute;
  Templates templates;
};

struct IndexKey {
  const Index* index = nullptr;
  std::vector<KeyPart> parts;  // hash parts, then range parts
};

struct Machine;

struct Parent {
  std::string entity;
  std::map<std::string, std::string> bind;  // attribute of the parent's key → own attribute
};

struct Entity {
  std::string name;
  std::string id;
  std::string title;
  const Table* table = nullptr;
  std::string type;                   // value of the table's type attribute
  std::vector<Attribute> attributes;  // in order of name, the model's common ones among them
  std::vector<KeyPart> key;
  std::vector<IndexKey> indexes;
  std::vector<Parent> parents;  // the first is whose ownership readers are judged by
  std::string version;          // empty: none
  bool append_only = false;
  bool command_only = false;
  std::vector<Check> checks;
  std::vector<AttributeMap> defaults;  // items that `model apply` writes where they are absent
  const Machine* machine = nullptr;
  Place place;

  const Attribute* Find(std::string_view name) const { return FindAttribute(attributes, name); }
  // The attributes that the key is made of, in order of appearance.
  std::vector<std::string> KeyInputs() const;
};

// --- state machines ---

struct State {
  std::string name;
  std::optional<Condition> when;  // of derived states
};

struct Machine {
  std::string name;
  const Entity* entity = nullptr;
  std::string field;          // empty: derived
  std::vector<State> states;  // of derived ones in the order of asking
  std::vector<std::string> initial;
  std::map<std::string, std::vector<std::string>> moves;
  Place place;

  bool Allows(std::string_view from, std::string_view to) const;
  // Empty for a final state.
  const std::vector<std::string>& From(std::string_view state) const;
};

// --- patterns ---

struct SortCondition {
  enum class Op : uint8_t {
    kNone,
    kEqual,
    kBeginsWith,
    kBetween,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual
  };
  Op op = Op::kNone;
  Template low;   // or the only operand
  Template high;  // of kBetween
};

struct Pattern;

struct Search {
  const Entity* entity = nullptr;
  const VectorIndex* index = nullptr;
  std::string each_pattern;  // empty: one search
  std::vector<Condition> each_where;
  // Filter attribute → template; "{each.x}" names an attribute of the item searched for.
  std::vector<std::pair<std::string, Template>> match;
  double threshold = 0;
  int64_t top_k = 10;
  std::vector<std::string> select;
};

// One write of a `transact` pattern.
struct PatternWrite {
  const Entity* entity = nullptr;
  std::vector<std::pair<std::string, Template>> set;
};

// One step of a pattern: what a single form says.
struct Step {
  enum class Form : uint8_t {
    kGet,
    kQuery,
    kBatchGet,
    kScan,
    kSearch,
    kPut,
    kPutAll,
    kUpdate,
    kDelete,
    kDeleteAll,
    kTransact,
    kMemory,
    kThrough,
  };
  Form form = Form::kGet;
  const Table* table = nullptr;
  const Index* index = nullptr;  // null: the table itself
  std::vector<const Entity*> returns;
  std::vector<std::pair<KeyAttribute, Template>> partition;  // of kQuery: several with a multi-attribute key
  KeyAttribute sort_key;
  SortCondition sort;
  std::vector<Condition> filter;
  std::vector<Condition> keep;
  std::vector<Condition> where;  // of kUpdate: what must hold of the stored item
  bool descending = false;
  bool consistent = false;
  // kBatchGet: values of the parameter, or the pattern whose results give them.
  std::vector<std::pair<std::string, std::vector<std::string>>> for_values;
  std::string for_each;
  std::map<std::string, std::string> bind;
  std::string keys;  // or the parameter that lists them
  std::optional<Search> search;
  std::vector<PatternWrite> writes;
  std::string memory_from;
  std::string memory_by;
  std::vector<std::string> through;  // of kThrough: the patterns that C++ answers it from
};

// The steps to take when the parameters fit.
struct Case {
  std::map<std::string, std::string> when;  // parameter → value
  std::vector<std::string> given;
  std::vector<Step> steps;                                  // more than one: a union
  std::vector<std::pair<std::string, std::string>> bundle;  // name → pattern
};

struct Pattern {
  std::string id;
  std::string title;
  std::vector<Case> cases;
  std::vector<Attribute> params;  // in order of name
  std::vector<std::pair<std::string, Computed>> let;
  std::string sort;
  int64_t limit = 50;
  Place place;

  bool writes() const;
};

// --- the whole ---

// model/command.h
struct Command;
struct CommandFunction;
struct Role;

struct Model {
  Model();
  ~Model();

  std::string file;
  std::string name;
  int64_t version = 1;
  std::string title;
  std::string stage;
  std::map<std::string, bool> options;
  std::string tenant;        // the attribute that names whom an item belongs to; empty: no tenants
  std::string tenant_until;  // whose name ends where this begins; empty: all of it is the name
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<std::unique_ptr<Schema>> schemas;
  std::vector<std::unique_ptr<Entity>> entities;
  std::vector<std::unique_ptr<Machine>> machines;
  std::vector<std::unique_ptr<Pattern>> patterns;
  std::vector<std::unique_ptr<CommandFunction>> functions;
  std::vector<std::unique_ptr<Command>> commands;
  std::vector<std::unique_ptr<Role>> roles;  // none: every caller may do everything

  // Whom an item with this value of the tenancy attribute belongs to.
  std::string_view TenantOf(std::string_view value) const;
  // Whether a tenant's name is all that the attribute holds, so that who asks need not say it.
  bool FillsTenant() const { return !tenant.empty() && tenant_until.empty(); }
  const Table* FindTable(std::string_view id) const;
  const Schema* FindSchema(std::string_view name) const;
  const Entity* FindEntity(std::string_view name) const;
  const Pattern* FindPattern(std::string_view id) const;
  const Command* FindCommand(std::string_view name) const;
  const CommandFunction* FindFunction(std::string_view name) const;
  const Role* FindRole(std::string_view name) const;
  // The entity that a stored item is: by its type attribute, else by the form of its keys. Null when none is.
  const Entity* EntityOf(const Table& table, const Item& item) const;
  // The same when it is one of `wanted`, else null.
  const Entity* EntityOf(const Table& table, const Item& item,
                         const std::vector<const Entity*>& wanted) const;
  const Table* TableNamed(std::string_view name) const;
};

}  // namespace holdfast::model
