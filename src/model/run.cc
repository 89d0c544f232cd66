// Commands.

#include "model/runtime.h"

namespace holdfast::model {

Result<CommandAnswer> Runtime::Run(Application*, const Caller&, std::string_view, const Item&,
                                   const RunOptions&) {
  return Refuse("Unavailable", "commands are not there yet");
}
Result<std::vector<Written>> Runtime::Transact(const Caller&, const std::vector<Entry>&, const RunOptions&) {
  return Refuse("Unavailable", "commands are not there yet");
}

}  // namespace holdfast::model
