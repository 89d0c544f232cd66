#include "store/embedded_store.h"

#include "base/mutex.h"
#include "ops/operations.h"

namespace holdfast::store {
namespace {

// The calls whose completions have not returned.
class Pending {
 public:
  ~Pending() {
    base::MutexLock lock(&mu_);
    while (count_ > 0) none_.Wait(&mu_);
  }
  void Add() {
    base::MutexLock lock(&mu_);
    ++count_;
  }
  void Remove() {
    base::MutexLock lock(&mu_);
    if (--count_ == 0) none_.NotifyAll();
  }

 private:
  base::Mutex mu_;
  base::CondVar none_;
  size_t count_ HF_GUARDED_BY(mu_) = 0;
};

// An answer on its way through the committer; owns itself.
template <class Response>
class Delivery final : public engine::DurabilityWaiter {
 public:
  Delivery(Result<Response> answer, Completion<Response> done, Pending* pending)
      : answer_(std::move(answer)), done_(std::move(done)), pending_(pending) {
    pending_->Add();
  }

  void Done(const Status& durable) override {
    if (!durable) answer_ = durable.error();
    done_(std::move(answer_));
    Pending* pending = pending_;
    delete this;
    pending->Remove();
  }

 private:
  Result<Response> answer_;
  Completion<Response> done_;
  Pending* const pending_;
};

class Embedded final : public Store {
 public:
  explicit Embedded(engine::Engine* engine) : engine_(engine) {}

#define HF_OPERATION(name)                                                               \
  void Execute(const name##Request& request, Completion<name##Response> done) override { \
    Perform(request, std::move(done));                                                   \
  }
  HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION

  StoreAbilities abilities() const override {
    return {};
  }
  std::string name() const override {
    const std::string& directory = engine_->options().directory;
    return directory.empty() ? "the store in memory" : "the store in " + directory;
  }

 private:
  template <class Request, class Response>
  void Perform(const Request& request, Completion<Response> done) {
    ops::Context context{engine_};
    Result<Response> answer = ops::Execute(context, request, {});
    if (!context.await_durability || engine_->committer().IsPublished()) return done(std::move(answer));
    engine_->committer().WhenDurable(new Delivery<Response>(std::move(answer), std::move(done), &pending_));
  }

  engine::Engine* const engine_;
  Pending pending_;
};

}  // namespace

std::unique_ptr<Store> EmbeddedStore(engine::Engine* engine) {
  return std::make_unique<Embedded>(engine);
}

}  // namespace holdfast::store

namespace holdfast {

std::unique_ptr<Store> EmbeddedStore(Database* database) {
  return store::EmbeddedStore(database->GetEngine());
}

}  // namespace holdfast
