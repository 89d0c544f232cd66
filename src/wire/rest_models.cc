// What there is: the models, as far as the caller may use them.

#include "model/generate/catalogue.h"
#include "wire/caller.h"
#include "wire/rest_call.h"

namespace holdfast::wire {
namespace {

using model::generate::Node;

void Spell(const Node& node, std::string* out) {
  out->append(node.Spell(Node::Style::kJson));
}

}  // namespace

Status ListModels(Call* call) {
  Node models = Node::List();
  for (const Application* application : call->options.applications) {
    Result<Caller> caller = CallerOf(call->identity, application->model());
    if (caller) models.Add(model::generate::Catalogue(application->model(), *caller));
  }
  Spell(Node::Map().Set("models", std::move(models)), &call->response.body);
  return Ok{};
}

Status DescribeModel(Call* call) {
  Spell(model::generate::Catalogue(call->model(), call->caller), &call->response.body);
  return Ok{};
}

}  // namespace holdfast::wire
