// A file of policies of unknown origin: read, and then decided by, or refused with its place.
#include "auth/permissions.h"

#include "tests/fuzz/fuzz.h"

using namespace holdfast;

namespace {

class Given final : public auth::FactSource {
 public:
  explicit Given(std::string_view line) : line_(line) {}
  void Gather(auth::Facts* facts) const override {
    (*facts)[auth::Fact::kLeadingKeys].values = {line_, "ann"};
    (*facts)[auth::Fact::kAttributes].all = line_.size() % 2 == 0;
  }

 private:
  const std::string line_;
};

}  // namespace

// The first line is the resource and the key that are asked for, the rest the file.
FUZZ(bytes) {
  std::string_view line = TakeLine(&bytes);
  auto permissions = auth::Permissions::Parse(bytes, "file", {});
  if (!permissions) {
    HF_ASSERT(permissions.error().message().starts_with("file: "));
    return;
  }
  Given given(line);
  for (const auth::PrincipalPtr& bearer :
       {(*permissions)->Of({.subject = "ann", .role = "r", .tenant = "t"})}) {
    if (!bearer) continue;
    for (size_t i = 0; i < auth::kActionCount; ++i) {
      auto action = static_cast<auth::Action>(i);
      auth::Decision decision = bearer->Decide(action, line, &given);
      HF_ASSERT(decision.allowed() == bearer->Check(action, line, &given).has_value());
      HF_ASSERT(decision.place.empty() == (decision.kind == auth::Decision::Kind::kNotAllowed));
    }
  }
  // Whoever is listed under their own name alone, with no role, is given the same as by it.
  if (const auth::Principal* ann = (*permissions)->Named("ann"))
    static_cast<void>(ann->Decide(auth::ActionOf("PutItem"), line, nullptr));
}
