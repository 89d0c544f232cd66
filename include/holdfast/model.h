// Models: an application's data described in one YAML file (docs/models.md), used from C++.
//
//   auto model = holdfast::LoadModel("models/pm.yaml");
//   if (!model) return Fail(model.error());                    // file, line, path
//   auto store = holdfast::EmbeddedStore(database.get());      // or OpenRemoteStore: the same from here on
//   auto app = holdfast::Application::Open(store.get(), *model, {});
//   (*app)->Apply();                                           // makes the tables
//   auto project = (*app)->Create(holdfast::Caller::Administrator(), "Project", {{"name", "Lantern Quay"},
//   {"source", "jira"}, …}); auto page = (*app)->Ask(holdfast::Caller::Administrator(), "PM-A-13", {}, {});
//   for (const holdfast::Record& record : page->records) Use(record.Fields());
//
// The model builds the keys, checks and completes the values, and enforces versions and state machines inside
// the write. What it refuses is an Error of code kRefused whose detail()->refusal carries one of the
// catalogue's names (NotFound, AlreadyExists, IllegalTransition, VersionConflict, ValidationError,
// SchemaInvalid, …), and nothing was changed.
//
// Thread safety: an Application may be used from any thread; calls block. It needs its Store to outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/result.h"
#include "holdfast/store.h"
#include "holdfast/value.h"

namespace holdfast {

namespace model {
struct Model;
struct Entity;
class Runtime;
}  // namespace model

struct ModelOptions {
  std::string stage = "dev";            // for {stage} in the names of tables
  std::map<std::string, bool> options;  // over the file's own
};

// Immutable; copies share it.
using ModelPtr = std::shared_ptr<const model::Model>;
// Fails with all that is wrong with the file, a line each.
HOLDFAST_EXPORT Result<ModelPtr> LoadModel(const std::string& path, const ModelOptions& options = {});

// On whose behalf a call is made. As it stands: nobody, who may do nothing (Forbidden).
struct Caller {
  // Whose data it is. With a tenant, everybody else's is as if it were not there.
  std::string tenant;
  // May write `command_only` entities and do what no role allows.
  bool administrator = false;
  // One of the model's roles. Empty: nothing but tenancy limits the caller.
  std::string role;
  // Who it is: a person or a program, for records of who did what.
  std::string subject;
  // What else tells callers apart, as the issuer and the tenant of a token: they share no idempotency keys.
  std::string realm = {};

  // The program itself, which may do everything the model allows.
  static Caller Administrator() { return {{}, true, {}, {}}; }
  static Caller Tenant(std::string name) { return {std::move(name), false, {}, {}}; }

  bool IsNobody() const { return !administrator && tenant.empty() && role.empty() && subject.empty(); }
};

// Something accepted that its writer should look at.
struct ModelWarning {
  std::string path;
  std::string message;
};

// An item as the model knows it.
class HOLDFAST_EXPORT Record {
 public:
  Record(const model::Entity* entity, Item stored) : entity_(entity), stored_(std::move(stored)) {}

  // Null when the model knows no such entity; Fields() is then the item as it stands.
  const model::Entity* entity() const { return entity_; }
  // As the table holds it.
  const Item& stored() const { return stored_; }
  // As callers write and read it: without derived keys, with defaults for what older items lack, and of
  // encrypted attributes only whether they are set. Made anew by each call.
  Item Fields() const;

 private:
  const model::Entity* entity_;
  Item stored_;
};

struct Written {
  Record record;
  std::vector<ModelWarning> warnings;
  bool created = false;   // nothing was there before
  bool replayed = false;  // what the same idempotency key got before
};

// What a change expects of the item it changes.
struct Expected {
  // The version attribute: a number, or for entities versioned by time an instant.
  std::optional<AttributeValue> version;
};

struct PageRequest {
  std::optional<int64_t> limit;  // 1 to 1000; the pattern's own unless told
  std::string cursor;            // of the page before
};

struct AnswerPart;

struct Answer {
  std::vector<Record> records;
  // Of searches: how similar each record is, in the same order.
  std::vector<double> similarities;
  // Empty at the end.
  std::string cursor;
  // The parts of a bundle.
  std::vector<AnswerPart> parts;
  std::vector<ModelWarning> warnings;
};

struct AnswerPart {
  std::string name;
  Answer answer;
};

// --- commands ---

// Something a command tells after its commit.
struct Emitted {
  std::string name;
  std::string to;  // a connection; empty: whoever listens for the name
  Item body;
};

struct CommandAnswer {
  Item result;
  bool created = false;   // its first write made a new item
  bool changed = false;   // something was written
  bool replayed = false;  // the answer that the same idempotency key got before
  std::vector<Emitted> emitted;
  std::vector<ModelWarning> warnings;
};

struct RunOptions {
  // The same key with the same input gives the first answer for ten minutes, and writes nothing again; with
  // another input it is refused (IdempotencyMismatch).
  std::string idempotency_key;
};

// One entry of Application::Transact.
struct Entry {
  enum class Kind : uint8_t { kPut, kPatch, kDelete, kCheck };
  Kind kind = Kind::kPut;
  std::string entity;
  Item key;     // of kPatch, kDelete and kCheck
  Item fields;  // of kPut and kPatch
  Expected expected;
  std::string that;  // of kPatch, kDelete and kCheck: a condition that the stored item must fulfil
};

class Application;

// What a command's C++ gets to see.
struct CommandContext {
  Application& application;
  const Caller& caller;
  std::string_view command;
  const Item& input;
  // What was read, by name; what was not found is not there.
  const std::map<std::string, Item>& reads;
  int64_t now_millis = 0;
  // Of a whole command in C++ whose request had an idempotency key: the same for each repetition of the
  // request, and for no other request. A program that is killed in the middle of a command carries it out
  // again when it is asked again: give this, with a name for the step, as the idempotency key of commands
  // that must not happen twice. Empty: the request had no key.
  std::string request_id = {};

  // The options of a step of this command.
  RunOptions Step(std::string_view name) const {
    return {request_id.empty() ? std::string() : request_id + "." + std::string(name)};
  }
};

// What a pattern's C++ gets to see.
struct PatternContext {
  const Item& parameters;
  int64_t now_millis = 0;
  // All that another pattern gives, as the program itself would be answered. Only those may be asked that the
  // pattern is declared to go through: they are its plan. Refused where that is more than one request may
  // read.
  std::function<Result<std::vector<Record>>(std::string_view pattern, const Item& parameters)> ask;
  // One page of what it gives.
  std::function<Result<Answer>(std::string_view pattern, const Item& parameters, const PageRequest& page)>
      ask_page;
  // Patterns that may have much to read stop when this says so, and leave in `*rest` from where to go on. The
  // caller's next page begins there: `from` is that text then, and empty at the beginning.
  std::function<bool()> has_read_enough;
  std::string from = {};
  std::string* rest = nullptr;
};

// The parts of commands that models leave to C++, by "<model>.<name>": functions that `compute:` names, and
// whole commands marked `handler: true`; and the answers of patterns that go `through:` others.
struct CommandLibrary {
  std::map<std::string, std::function<Result<Item>(const CommandContext&)>, std::less<>> functions;
  std::map<std::string, std::function<Result<CommandAnswer>(const CommandContext&)>, std::less<>> handlers;
  // The records in the order in which they are shown. Others than the caller's are left out afterwards.
  std::map<std::string, std::function<Result<std::vector<Record>>(const PatternContext&)>, std::less<>>
      patterns;
};

// What `apply` did to, or `check` found of, one table.
struct TableReport {
  std::string table;
  std::string status;                // "created", "updated", "as it should be", "missing", "drifted"
  std::vector<std::string> details;  // what was changed, or differs
};

struct MasterKeys;  // holdfast/master_keys.h

struct ApplicationOptions {
  // Signs cursors. Those of another key are refused. Empty: a random one, so that cursors end with the
  // process.
  std::string cursor_key;
  // For `encrypted` attributes; without it writing one is refused.
  std::shared_ptr<const MasterKeys> master_keys;
  // Makes vectors of texts: "demo", or the URL of a webhook. Empty: what the model says.
  std::string embedder;
  // Milliseconds since 1970. Empty: the system's clock.
  std::function<int64_t()> now_millis;
  // Without it, commands that need C++ are refused by name.
  std::shared_ptr<const CommandLibrary> commands;
};

class HOLDFAST_EXPORT Application {
 public:
  // Refuses, by name, what the store cannot do and the model needs.
  static Result<std::unique_ptr<Application>> Open(Store* store, ModelPtr model, ApplicationOptions options);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  const model::Model& model() const;

  // --- tables ---

  // Makes the tables and indexes that are missing and waits until they are active. Doing it again changes
  // nothing.
  Result<std::vector<TableReport>> Apply();
  // Compares and changes nothing.
  Result<std::vector<TableReport>> Compare();
  // Writes the items that the model's `defaults` name where they are absent; says how many were.
  Result<size_t> WriteDefaults();

  // --- entities ---

  // Fails with AlreadyExists.
  Result<Written> Create(const Caller& caller, std::string_view entity, const Item& fields);
  // Data from elsewhere: in any state, with its own times and versions. For administrators.
  Result<Written> Import(std::string_view entity, const Item& fields);
  // Creates it, or replaces all fields that a caller may set.
  Result<Written> Put(const Caller& caller, std::string_view entity, const Item& fields,
                      const Expected& expected = {});
  // Changes the given fields; NULL removes one. `key` holds the attributes of the key.
  Result<Written> Patch(const Caller& caller, std::string_view entity, const Item& key, const Item& changes,
                        const Expected& expected = {});
  Result<Record> Get(const Caller& caller, std::string_view entity, const Item& key);
  Status Delete(const Caller& caller, std::string_view entity, const Item& key,
                const Expected& expected = {});
  // Those whose partition `known` says, in the table or in an index.
  Result<Answer> List(const Caller& caller, std::string_view entity, const Item& known,
                      const PageRequest& page);

  // --- patterns ---

  Result<Answer> Ask(const Caller& caller, std::string_view pattern, const Item& parameters,
                     const PageRequest& page);
  // What Ask would do: a line per operation.
  Result<std::vector<std::string>> Explain(const Caller& caller, std::string_view pattern,
                                           const Item& parameters);

  // --- commands ---

  // Everything the command writes happens in one transaction, or nothing does. What it read and relied on
  // still held when it committed; contention is tried again up to five times, then it is a Conflict.
  Result<CommandAnswer> Run(const Caller& caller, std::string_view command, const Item& input,
                            const RunOptions& options = {});
  // Up to 100 writes of single entities together, under their entities' own rules. What refuses one refuses
  // all; the refusal's details hold its `index`. An answer per entry; of deletes and checks it is what was
  // there.
  Result<std::vector<Written>> Transact(const Caller& caller, const std::vector<Entry>& entries,
                                        const RunOptions& options = {});

  // Whether the caller's role may read an entity; Forbidden otherwise.
  Status MayRead(const Caller& caller, std::string_view entity) const;

  // --- encrypted attributes ---

  // What an encrypted attribute holds, for programs in the role that the model names.
  Result<AttributeValue> Reveal(const Record& record, std::string_view attribute, std::string_view role);

 private:
  explicit Application(std::unique_ptr<model::Runtime> runtime);
  std::unique_ptr<model::Runtime> runtime_;
};

}  // namespace holdfast
