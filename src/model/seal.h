// Envelope encryption: what an `encrypted` attribute holds, as text that may lie in any table, stream or
// backup.
//
//   HF_TRY(std::string stored, Seal(keys, "token", "integration=jira"));
//   HF_TRY(std::string token, Unseal(keys, stored, "integration=jira"));
//
// A random data key encrypts the text, and the current master key encrypts the data key, so that a rotation
// touches but the latter. `context` is not stored: it binds the text to its place, and to open it one must
// name it again. docs/format.md has the bytes.
//
// What cannot be opened is refused as DecryptFailed, in words that hold neither key nor plaintext. Whether
// the text or the context was changed is not told apart, because it cannot be.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/master_keys.h"
#include "holdfast/result.h"

namespace holdfast::model {

// Refused as ItemTooLarge when the sealed text would fit in no item.
Result<std::string> Seal(const MasterKeys& keys, std::string_view plaintext, std::string_view context);
Result<std::string> Unseal(const MasterKeys& keys, std::string_view sealed, std::string_view context);

// The same with its data key wrapped anew under the current version; unchanged when it is under that already.
// The encrypted text is carried over as it stands, without being opened.
Result<std::string> Rewrap(const MasterKeys& keys, std::string_view sealed, std::string_view context);

// The version of the master key that it is sealed under, as it states itself.
Result<int> SealedVersion(std::string_view sealed);

}  // namespace holdfast::model
