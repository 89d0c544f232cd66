// Writes on several entities that happen together or not at all, under the rules of their entities.
//
//   Transaction transaction(runtime, caller, &sources);
//   transaction.Expect(project, stored, {"status"});                // must still be so
//   HF_TRY(Record event, transaction.Put(event_entity, fields, Origin::kCaller));
//   HF_CHECK_OK(transaction.Change(artefact, stored, changes, {}));
//   HF_CHECK_OK(transaction.Build(nullptr));
//   Transaction::Failure failure;
//   Status done = transaction.Commit(&failure);                     // failure.try_again: from the reads on
//
// Everything about one item becomes one action. What a caller read and relied on is a condition: when it no
// longer holds, Commit asks to be tried again from the reads on, so that every refusal tells of what is
// stored now. Not thread-safe.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/runtime.h"

namespace holdfast::model {

class Transaction {
 public:
  Transaction(Runtime* runtime, const Caller& caller, const Sources* sources)
      : runtime_(*runtime), caller_(caller), sources_(*sources) {}

  struct ChangeRules {
    Expected expected;
    std::vector<std::string> states;  // in one of which the item must be; none: any
    bool any_state = false;           // whatever the machine allows
    bool replace = false;
  };

  // Those attributes of the stored item, and that there is one, must stay as they are.
  void Expect(const Entity& entity, const Item& stored, const std::set<std::string>& attributes);
  // And it is, and stays, in one of these states; none: any.
  Status ExpectState(const Entity& entity, const Item& stored, const std::vector<std::string>& states);
  // There must stay none.
  void ExpectNone(const Entity& entity, const Item& key);
  // That what stands there is still not for the caller, to whom it is as if nothing stood there.
  void ExpectHidden(const Entity& entity, const Item& stored);

  // A new item. With `bumps` the caller will try another key when this one is taken.
  Result<Record> Put(const Entity& entity, const Item& fields, Origin origin, bool bumps = false);
  // What several changes say of one item comes together.
  Status Change(const Entity& entity, const Item& stored, const Item& changes, const ChangeRules& rules);
  Status Delete(const Entity& entity, const Item& stored, const Expected& expected);
  // Another item in the same transaction, of no model.
  void Add(TransactWriteItem action) { extra_.push_back(std::move(action)); }

  bool empty() const;
  // How many items it is about.
  size_t size() const { return slots_.size(); }
  // Builds what was changed: to be called once, before Commit. Refuses what the entities refuse; `failed` is
  // then which of the items it was.
  Status Build(size_t* failed);
  // After Build: what an item becomes, or nothing when it was not written.
  const Record* Find(const Entity& entity, const Item& key) const;
  // Of one of the items: what it becomes, or else is.
  Record RecordAt(size_t slot) const;
  const std::vector<ModelWarning>& warnings() const { return warnings_; }

  // How a commit ended that changed nothing.
  struct Failure {
    bool try_again = false;  // from the reads on
    bool extra = false;      // because of what Add added
    bool taken = false;      // a place that Put wanted is taken
    bool bumps = false;      // and the caller would try another
    size_t slot = 0;         // which of the items, in the order in which they were named
  };
  Status Commit(Failure* failure);

 private:
  // All that happens to one item.
  struct Slot {
    enum class Kind : uint8_t { kExpect, kExpectNone, kPut, kChange, kDelete };
    Kind kind = Kind::kExpect;
    const Entity* entity = nullptr;
    Item key;
    Item stored;
    Item changes;
    ChangeRules rules;
    std::set<std::string> unchanged;
    std::unique_ptr<Record> record;  // what it becomes
    BuiltChange change;
    bool hidden = false;         // of kExpect: not for the caller
    bool expected_none = false;  // of kPut
    bool bumps = false;          // of kPut
  };
  enum class Means : uint8_t { kRead, kNew, kParent, kExtra };

  Slot* SlotOf(const Entity& entity, const Item& key);
  Slot& NewSlot(Slot::Kind kind, const Entity& entity, Item key);
  Error Twice(const Entity& entity, const Item& key) const;
  static Status CheckState(Slot* slot, const std::vector<std::string>& states);
  Status BuildChanged(Slot* slot);
  Status AddAction(const Slot& slot);
  void AddCheck(const Slot& slot, bool exists);

  Runtime& runtime_;
  const Caller& caller_;
  const Sources& sources_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<TransactWriteItem> extra_;
  std::vector<ModelWarning> warnings_;
  std::vector<TransactWriteItem> actions_;
  std::vector<std::pair<Means, const Slot*>> meanings_;  // of each action
};

}  // namespace holdfast::model
