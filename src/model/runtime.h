// A model at work on a store: what holdfast::Application does.
//
// entities.cc has the writes and reads of single entities, ask.cc the patterns, run.cc the commands, apply.cc
// the tables.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/ulid.h"
#include "holdfast/model.h"
#include "model/command.h"
#include "model/cursor.h"
#include "model/item_builder.h"
#include "model/memories.h"
#include "model/model.h"

namespace holdfast::model {

class Embedder;
class Transaction;

// How often what was lost to contention is tried.
inline constexpr int kAttemptsMax = 5;

class Runtime {
 public:
  Runtime(Store* store, ModelPtr model, ApplicationOptions options);

  const Model& model() const { return *model_; }
  Status CheckAbilities() const;

  Result<std::vector<TableReport>> Apply();
  Result<std::vector<TableReport>> Compare();
  Result<size_t> WriteDefaults();

  Result<Written> Create(const Caller& caller, std::string_view entity, const Item& fields, Origin origin);
  Result<Written> Put(const Caller& caller, std::string_view entity, const Item& fields,
                      const Expected& expected);
  Result<Written> Patch(const Caller& caller, const Entity& entity, const Item& key, const Item& changes,
                        bool replace, const Expected& expected, const std::vector<Condition>& where,
                        const ParamValues& params);
  Result<Record> Get(const Caller& caller, const Entity& entity, const Item& key);
  // With `idempotent`, deleting what is not there succeeds.
  Status Delete(const Caller& caller, const Entity& entity, const Item& key, const Expected& expected,
                bool idempotent);
  Result<Answer> List(const Caller& caller, const Entity& entity, const Item& known, const PageRequest& page);
  Result<Answer> Ask(const Caller& caller, std::string_view pattern, const Item& parameters,
                     const PageRequest& page);
  Result<std::vector<std::string>> Explain(const Caller& caller, std::string_view pattern,
                                           const Item& parameters);
  Result<CommandAnswer> Run(Application* application, const Caller& caller, std::string_view command,
                            const Item& input, const RunOptions& options);
  Result<std::vector<Written>> Transact(const Caller& caller, const std::vector<Entry>& entries,
                                        const RunOptions& options);
  Result<AttributeValue> Reveal(const Record& record, std::string_view attribute, std::string_view role);

  // What the caller's role allows; Forbidden otherwise.
  Status MayRun(const Caller& caller, const Command& command) const;
  Status MayRead(const Caller& caller, const Entity& entity) const;

  Result<const Entity*> EntityNamed(std::string_view name) const;
  int64_t NowMillis() const { return clock_.NowMillis(); }

 private:
  // The clock that the options give, or the system's.
  class ModelClock final : public base::Clock {
   public:
    explicit ModelClock(std::function<int64_t()> now) : now_(std::move(now)) {}
    int64_t NowMillis() const override { return now_ ? now_() : system_.NowMillis(); }

   private:
    const std::function<int64_t()> now_;
    const base::SystemClock system_;
  };

  std::vector<const Table*> Tables() const;

  // --- entities.cc ---

  Sources MakeSources();
  Result<std::shared_ptr<Embedder>> EmbedderFor(const Attribute& attribute);
  // What the caller may not do to the entity at all.
  Status MayWrite(const Caller& caller, const Entity& entity, bool changes) const;
  // The tenant's name among the fields, or NotFound when another's is there.
  Result<Item> WithTenant(const Caller& caller, const Entity& entity, const Item& fields) const;
  // The stored item under one of the keys that `known` can mean, visible to the caller.
  // NotFound: `hidden` then is what stands there and is not for the caller, if anything.
  Result<Item> Load(const Caller& caller, const Entity& entity, const Item& known, bool consistent,
                    std::optional<Item>* hidden = nullptr);
  bool IsExpired(const Table& table, const Item& stored) const;
  bool IsVisible(const Caller& caller, const Entity& entity, const Item& stored) const;
  // A tenant sees children of own parents only, where the children's keys do not say whose they are.
  Status CheckOwner(const Caller& caller, const Entity& entity, const Item& known);
  Result<Item> ParentKey(const Parent& parent, const Item& item) const;
  // ConditionChecks that the parents of `item` exist, but for those that `written` holds.
  Status AddParentChecks(const Entity& entity, const Item& item, const std::vector<Item>& written,
                         std::vector<TransactWriteItem>* actions) const;
  Status AddChecksOfNew(const Entity& entity, const Item& item, const std::vector<Item>& written,
                        std::vector<TransactWriteItem>* actions) const;
  void AddPut(const Entity& entity, const Item& item, std::vector<TransactWriteItem>* actions) const;
  // That nothing stands there, or nothing that has not expired; for any request that has a condition.
  template <class Request>
  void RequireAbsent(const Table& table, Request* request) const {
    ExpressionBuilder builder;
    builder.Text("attribute_not_exists(").Path(table.key[0].name).Text(")");
    if (!table.ttl.empty())
      builder.Text(" OR ").Name(table.ttl).Text(" <= ").Value(AttributeValue(clock_.NowSeconds()));
    request->condition_expression = builder.Take();
    builder.Finish(request);
  }
  static Error AlreadyThere(const Entity& entity, const Item& item);
  static Error VersionConflict(const Entity& entity, const Item& current);
  static Status CheckVersion(const Entity& entity, const Item& stored, const Expected& expected);
  // The write of a change, on condition that what it rests on, `fixed` and `where` hold.
  Result<TransactUpdate> ChangeAction(const Entity& entity, const Item& stored, const BuiltChange& change,
                                      const Expected& expected, std::set<std::string> fixed,
                                      const std::vector<Condition>& where, const ParamValues& params) const;
  // Whether it makes the item a child of another parent.
  static bool MovesParent(const Entity& entity, const BuiltChange& change);
  Status WriteNew(const Entity& entity, const Item& item);
  Status WriteTransaction(TransactWriteItemsRequest request);
  Error WhyRefused(const TransactWriteItem& action) const;
  // Why a transaction was cancelled.
  Error CancelledBecause(const Error& error, const std::vector<TransactWriteItem>& actions) const;
  // Again, after a pause, while others hold the items.
  Status Patiently(const std::function<Status()>& write);
  Result<Written> PatchOnce(const Entity& entity, const Item& stored, const Item& changes, bool replace,
                            const Expected& expected, const std::vector<Condition>& where,
                            const ParamValues& params, bool* try_again);
  Status WriteChange(const Entity& entity, const Item& stored, const BuiltChange& change,
                     const Expected& expected, const std::vector<Condition>& where,
                     const ParamValues& params);
  void Pause(int attempt);
  void NoteWrite(const Entity& entity, const Item& stored, bool deleted) {
    memories_.Note(entity, stored, deleted);
  }

  // --- run.cc ---

  // Whether the caller may do such a thing to that entity at all.
  Status MayEnter(const Caller& caller, const Entry& entry) const;
  Status AddEntry(const Caller& caller, const Entry& entry, Transaction* transaction);

  // --- ask.cc ---

  friend class Asking;
  friend class Running;
  friend class Searching;
  friend class Transaction;
  Status WriteBatch(BatchWriteItemRequest request);
  Result<Answer> AskMemory(const Caller& caller, const Pattern& pattern, const Step& step,
                           const AttributeMap& params);

  Store* const store_;
  const ModelPtr model_;
  const ApplicationOptions options_;
  const ModelClock clock_;
  base::Random random_;
  base::UlidSource ulids_;
  const CursorCodec cursors_;
  base::Mutex embedders_mu_;
  std::map<std::string, std::shared_ptr<Embedder>> embedders_ HF_GUARDED_BY(embedders_mu_);
  Memories memories_;
};

}  // namespace holdfast::model
