// Query, Authorization header and date of a stranger's request: understood or refused, and never accepted
// unless the secret was known.
#include "auth/sigv4.h"

#include "tests/fuzz/fuzz.h"

using namespace holdfast;

FUZZ(bytes) {
  std::string_view query = TakeLine(&bytes), authorization = TakeLine(&bytes), date = TakeLine(&bytes);
  auth::HeaderView headers[] = {
      {"Host", "localhost"}, {"X-Amz-Date", date}, {"Authorization", authorization}};
  auth::SignedRequest request{"POST", "/", query, headers, 3, bytes};
  auth::Credentials credentials;
  credentials.Add("AKID", {"secret", "alice"});
  base::ManualClock clock(1440938160000);
  if (auto signature = auth::ParseSignature(request)) {
    HF_ASSERT(auth::CheckSignatureShape(request));
    HF_ASSERT(!signature->signature.empty());
  }
  HF_ASSERT(!auth::Verify(request, credentials, "us-east-1", clock));

  auth::HeaderView own[] = {{"Host", "localhost"}, {"X-Amz-Date", "20150830T123600Z"}, {"Authorization", {}}};
  auth::SignedRequest signed_request{"POST", "/", query, own, 3, bytes};
  std::string header =
      auth::Sign(signed_request, "AKID", "secret", "us-east-1", "dynamodb", own[1].value, "host;x-amz-date");
  own[2].value = header;
  if (query.find("X-Amz-Algorithm") == std::string_view::npos) {
    HF_ASSERT(auth::Verify(signed_request, credentials, "us-east-1", clock).value() == "alice");
  }
}
