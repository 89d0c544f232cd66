#include "holdfast/database.h"

#include "engine/engine.h"
#include "ops/operations.h"
#include "ops/similarity.h"

namespace holdfast {

class Database::Impl {
 public:
  explicit Impl(std::unique_ptr<engine::Engine> engine) : engine(std::move(engine)) {}
  const std::unique_ptr<engine::Engine> engine;
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

engine::Engine* Database::GetEngine() const {
  return impl_->engine.get();
}

Result<std::unique_ptr<Database>> Database::Open(const Options& options) {
  engine::EngineOptions engine_options;
  engine_options.options = options;
  HF_TRY(std::unique_ptr<engine::Engine> engine, engine::Engine::Open(engine_options));
  return std::unique_ptr<Database>(new Database(std::make_unique<Impl>(std::move(engine))));
}

#define HF_OPERATION(name, where)                                       \
  Result<name##Response> Database::name(const name##Request& request) { \
    return ops::Run(impl_->engine.get(), request);                      \
  }
#include "ops/operations.inc"
#undef HF_OPERATION

Result<SimilaritySearchResponse> Database::SimilaritySearch(const SimilaritySearchRequest& request) {
  return ops::SearchBySimilarity(impl_->engine.get(), request);
}

}  // namespace holdfast
