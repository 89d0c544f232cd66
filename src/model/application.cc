#include "holdfast/model.h"

#include "model/load.h"
#include "model/refusal.h"
#include "model/runtime.h"

namespace holdfast {

namespace {
const model::ParamValues kNone = [](std::string_view) { return std::nullopt; };

// A caller that nobody filled in is a mistake of the program, and must not be everybody.
Status CheckIsSomebody(const Caller& caller) {
  if (!caller.IsNobody()) return Ok{};
  return model::Refuse("Forbidden",
                       "the call says on whose behalf it is made by nothing: Caller::Tenant, "
                       "Caller::Administrator, or a role and a subject");
}
}  // namespace

Result<ModelPtr> LoadModel(const std::string& path, const ModelOptions& options) {
  return model::LoadModelFile(path, {options.stage, options.options});
}

Application::Application(std::unique_ptr<model::Runtime> runtime) : runtime_(std::move(runtime)) {}
Application::~Application() = default;

Result<std::unique_ptr<Application>> Application::Open(Store* store, ModelPtr model,
                                                       ApplicationOptions options) {
  auto runtime = std::make_unique<model::Runtime>(store, std::move(model), std::move(options));
  HF_CHECK_OK(runtime->CheckAbilities());
  return std::unique_ptr<Application>(new Application(std::move(runtime)));
}

const model::Model& Application::model() const {
  return runtime_->model();
}
Result<std::vector<TableReport>> Application::Apply() {
  return runtime_->Apply();
}
Result<std::vector<TableReport>> Application::Compare() {
  return runtime_->Compare();
}
Result<size_t> Application::WriteDefaults() {
  return runtime_->WriteDefaults();
}
Result<Written> Application::Create(const Caller& caller, std::string_view entity, const Item& fields) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  return runtime_->Create(caller, entity, fields, model::Origin::kCaller);
}
Result<Written> Application::Import(std::string_view entity, const Item& fields) {
  return runtime_->Create(Caller::Administrator(), entity, fields, model::Origin::kImport);
}
Result<Written> Application::Put(const Caller& caller, std::string_view entity, const Item& fields,
                                 const Expected& expected) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  return runtime_->Put(caller, entity, fields, expected);
}
Result<Written> Application::Patch(const Caller& caller, std::string_view entity, const Item& key,
                                   const Item& changes, const Expected& expected) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  HF_TRY(const model::Entity* found, runtime_->EntityNamed(entity));
  return runtime_->Patch(caller, *found, key, changes, /*replace=*/false, expected, {}, kNone);
}
Result<Record> Application::Get(const Caller& caller, std::string_view entity, const Item& key) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  HF_TRY(const model::Entity* found, runtime_->EntityNamed(entity));
  return runtime_->Get(caller, *found, key);
}
Status Application::Delete(const Caller& caller, std::string_view entity, const Item& key,
                           const Expected& expected) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  HF_TRY(const model::Entity* found, runtime_->EntityNamed(entity));
  return runtime_->Delete(caller, *found, key, expected, /*idempotent=*/false);
}
Result<Answer> Application::List(const Caller& caller, std::string_view entity, const Item& known,
                                 const PageRequest& page) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  HF_TRY(const model::Entity* found, runtime_->EntityNamed(entity));
  return runtime_->List(caller, *found, known, page);
}
Result<Answer> Application::Ask(const Caller& caller, std::string_view pattern, const Item& parameters,
                                const PageRequest& page) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  return runtime_->Ask(caller, pattern, parameters, page);
}
Result<std::vector<std::string>> Application::Explain(const Caller& caller, std::string_view pattern,
                                                      const Item& parameters) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  return runtime_->Explain(caller, pattern, parameters);
}
Result<CommandAnswer> Application::Run(const Caller& caller, std::string_view command, const Item& input,
                                       const RunOptions& options) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  return runtime_->Run(this, caller, command, input, options);
}
Result<std::vector<Written>> Application::Transact(const Caller& caller, const std::vector<Entry>& entries,
                                                   const RunOptions& options) {
  HF_CHECK_OK(CheckIsSomebody(caller));
  return runtime_->Transact(caller, entries, options);
}
Status Application::MayRead(const Caller& caller, std::string_view entity) const {
  HF_CHECK_OK(CheckIsSomebody(caller));
  HF_TRY(const model::Entity* found, runtime_->EntityNamed(entity));
  return runtime_->MayRead(caller, *found);
}
Result<AttributeValue> Application::Reveal(const Record& record, std::string_view attribute,
                                           std::string_view role) {
  return runtime_->Reveal(record, attribute, role);
}

}  // namespace holdfast
