#include "store/guarded_store.h"

namespace holdfast::store {
namespace {

class Guarded final : public Store {
 public:
  Guarded(Store* store, PartitionKeys partition_keys, std::string own_table)
      : store_(*store), partition_keys_(std::move(partition_keys)), own_table_(std::move(own_table)) {}

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
  template <class Request, class Response>
  void Pass(const Request& request, Completion<Response> done) {
    if (const auth::Principal* principal = ActingFor::Current()) {
      Status allowed = CheckAccess({*principal, partition_keys_, own_table_}, request);
      if (!allowed) return done(allowed.error());
    }
    store_.Execute(request, std::move(done));
  }

  Store& store_;
  const PartitionKeys partition_keys_;
  const std::string own_table_;
};

}  // namespace

thread_local const auth::Principal* ActingFor::current_ = nullptr;

std::unique_ptr<Store> GuardedStore(Store* store, PartitionKeys partition_keys, std::string own_table) {
  return std::make_unique<Guarded>(store, std::move(partition_keys), std::move(own_table));
}

}  // namespace holdfast::store
