#include "apps/apps.h"

namespace holdfast::apps {

std::shared_ptr<const CommandLibrary> ShippedCommands(PostToConnection post, OpenAgents agents) {
  auto library = std::make_shared<CommandLibrary>();
  AddPmCommands(library.get());
  AddTripCommands(std::move(post), library.get());
  AddAutoCommands(std::move(agents), library.get());
  AddAutoPatterns(library.get());
  return library;
}

}  // namespace holdfast::apps
