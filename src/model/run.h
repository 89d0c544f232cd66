// One command on its way: what it reads, when it is refused, what it writes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/command.h"
#include "model/idempotency.h"
#include "model/runtime.h"
#include "model/transaction.h"

namespace holdfast::model {

class Running {
 public:
  Running(Runtime* runtime, Application* application, const Caller& caller, const Command& command)
      : runtime_(*runtime), application_(*application), caller_(caller), command_(command) {}

  Result<CommandAnswer> Run(const Item& given, const RunOptions& options);

 private:
  struct Found {
    const CommandRead* read = nullptr;
    std::optional<Item> stored;
    std::optional<Item> absent_key;  // where nothing stood
  };

  Result<CommandAnswer> RunClaimed(const IdempotencyRecord& record);
  // `request_id` is empty for a request without a key.
  Result<CommandAnswer> RunHandler(const std::string& request_id);
  // One try, from the reads to the commit.
  Result<CommandAnswer> Attempt(const std::optional<IdempotencyRecord>& record,
                                Transaction::Failure* failure);
  Status ReadAll(Scope* scope);
  Status Compute(Scope* scope);
  Status CheckRefusals(Scope* scope);
  static Status SetLet(const Fields& let, Scope* scope);

  Status Write(const std::vector<WriteStep>& steps, Scope* scope);
  Status WriteOne(const WriteStep& step, Scope* scope);
  Status WritePut(const WriteStep& step, const Entity& entity, const Item& fields, Scope* scope);
  Status WriteChange(const WriteStep& step, const Found& found, Scope* scope);
  Status WriteSave(const WriteStep& step, Scope* scope);
  Status WriteDelete(const WriteStep& step, Scope* scope);
  Status WriteFunction(const WriteStep& step, Scope* scope);
  // What `from` and `set` give, of an item that is there or is not.
  Result<Item> FieldsOf(const WriteStep& step, const Entity& entity, bool exists, Scope* scope);
  Result<Expected> ExpectedOf(const WriteStep& step, Scope* scope);
  void NoteFirst(const Entity& entity, const Item& key, bool created);

  Result<Item> ResultOf(Scope* scope);
  // Of what was found, that which the steps would patch or save first.
  const Found* FirstToChange(const std::vector<WriteStep>& steps) const;
  Status Tell(Scope* scope, CommandAnswer* answer);

  Runtime& runtime_;
  Application& application_;
  const Caller& caller_;
  const Command& command_;
  Item input_;
  std::vector<ModelWarning> warnings_;
  int64_t bump_millis_ = 0;

  // Of the present attempt.
  Sources sources_;
  std::map<std::string, Found, std::less<>> found_;
  std::optional<Transaction> transaction_;
  struct First {
    const Entity* entity = nullptr;
    Item key;
    bool created = false;
  };
  std::optional<First> first_;  // what the command wrote first
};

}  // namespace holdfast::model
