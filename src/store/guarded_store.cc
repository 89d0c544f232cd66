#include "store/guarded_store.h"

#include <algorithm>

namespace holdfast::store {
namespace {

class Guarded final : public Store {
 public:
  Guarded(Store* store, TableKeys keys, std::string own_table)
      : store_(*store), keys_(std::move(keys)), own_table_(std::move(own_table)) {}

#define HF_OPERATION(name)                                                               \
  void Execute(const name##Request& request, Completion<name##Response> done) override { \
    Pass(request, std::move(done));                                                      \
  }
  HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION

  Result<std::unique_ptr<TableWatch>> Watch(const std::string& table,
                                            const std::optional<std::string>& from) override {
    if (const auth::Principal* principal = ActingFor::Current()) HF_CHECK_OK(CheckFeed(*principal, table));
    return store_.Watch(table, from);
  }

  void BeginTogether() override {
    store_.BeginTogether();
  }
  void EndTogether(bool nothing_else) override {
    store_.EndTogether(nothing_else);
  }
  StoreAbilities abilities() const override {
    return store_.abilities();
  }
  std::string name() const override {
    return store_.name();
  }

 private:
  // A model's checks of what its caller may not check are left out: how they end would tell of items.
  void Pass(const TransactWriteItemsRequest& request, Completion<TransactWriteItemsResponse> done) {
    std::vector<size_t> hidden = HiddenFrom(ActingFor::Current(), request);
    if (hidden.empty())
      return Pass<TransactWriteItemsRequest, TransactWriteItemsResponse>(request, std::move(done));
    TransactWriteItemsRequest rest = request;
    rest.transact_items.clear();
    for (size_t i = 0; i < request.transact_items.size(); ++i) {
      if (!std::binary_search(hidden.begin(), hidden.end(), i))
        rest.transact_items.push_back(request.transact_items[i]);
    }
    Pass<TransactWriteItemsRequest, TransactWriteItemsResponse>(
        rest, [hidden, done = std::move(done)](Result<TransactWriteItemsResponse> answer) {
          if (!answer && answer.error().detail() != nullptr) return done(WithHidden(answer.error(), hidden));
          done(std::move(answer));
        });
  }

  std::vector<size_t> HiddenFrom(const auth::Principal* principal,
                                 const TransactWriteItemsRequest& request) const {
    std::vector<size_t> hidden;
    for (size_t i = 0; principal != nullptr && i < request.transact_items.size(); ++i) {
      const auto& check = request.transact_items[i].condition_check;
      if (check && check->of_model && !MayCheck({*principal, keys_, own_table_}, *check)) hidden.push_back(i);
    }
    return hidden;
  }
  // The reasons have the places of the actions that were asked for.
  static Error WithHidden(const Error& error, const std::vector<size_t>& hidden) {
    auto detail = std::make_shared<ErrorDetail>(*error.detail());
    auto& reasons = detail->reasons;
    if (reasons.empty()) return error;
    for (size_t at : hidden)
      reasons.insert(reasons.begin() + static_cast<std::ptrdiff_t>(at), CancellationReason{.code = "None"});
    return Error(error.code(), error.message(), std::move(detail));
  }

  template <class Request, class Response>
  void Pass(const Request& request, Completion<Response> done) {
    if (const auth::Principal* principal = ActingFor::Current()) {
      Status allowed = CheckAccess({*principal, keys_, own_table_}, request);
      if (!allowed) return done(allowed.error());
    }
    store_.Execute(request, std::move(done));
  }

  Store& store_;
  const TableKeys keys_;
  const std::string own_table_;
};

}  // namespace

thread_local const auth::Principal* ActingFor::current_ = nullptr;

std::unique_ptr<Store> GuardedStore(Store* store, TableKeys keys, std::string own_table) {
  return std::make_unique<Guarded>(store, std::move(keys), std::move(own_table));
}

}  // namespace holdfast::store
