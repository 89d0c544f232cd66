#include "auth/sigv4.h"

#include <gtest/gtest.h>

namespace holdfast::auth {
namespace {

constexpr std::string_view kAccessKey = "AKIDEXAMPLE";
constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr std::string_view kTimestamp = "20150830T123600Z";
constexpr int64_t kSignedAtMillis = 1440938160000;  // the same moment

// A request that owns its headers.
struct Request {
  std::string_view method = "GET";
  std::string_view query = "";
  std::vector<HeaderView> extra = {};
  std::string_view body = "";
  std::string_view path = "/";
  std::vector<HeaderView> headers = {};
  bool dated = true;  // by a header

  SignedRequest View() {
    headers = {{"Host", "example.amazonaws.com"}};
    if (dated) headers.push_back({"X-Amz-Date", kTimestamp});
    headers.insert(headers.end(), extra.begin(), extra.end());
    return {method, path, query, headers.data(), headers.size(), body};
  }
};

std::string SignatureOf(Request request, std::string_view signed_headers = "host;x-amz-date",
                        std::string_view service = "service") {
  std::string header =
      Sign(request.View(), kAccessKey, kSecret, "us-east-1", service, kTimestamp, signed_headers);
  return header.substr(header.find("Signature=") + 10);
}

Credentials Known() {
  Credentials credentials;
  credentials.Add(std::string(kAccessKey), {std::string(kSecret), "alice"});
  return credentials;
}

// Who signed, or why nobody did.
std::string Verified(const SignedRequest& request, int64_t now_millis = kSignedAtMillis,
                     std::string_view region = "us-east-1") {
  Result<std::string> principal = Verify(request, Known(), region, base::ManualClock(now_millis));
  return principal ? *principal : principal.error().ToString();
}

// AWS's published vectors (aws-sig-v4-test-suite): get-vanilla, post-vanilla, get-vanilla-query-order-*,
// post-header-key-sort.
TEST(SigV4, SignsAsThePublishedVectorsSay) {
  EXPECT_EQ(SignatureOf({}), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(SignatureOf({.method = "POST"}),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(SignatureOf({.query = "Param2=value2&Param1=value1"}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(SignatureOf({.query = "Param1=value2&Param1=Value1"}),
            "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1");
  EXPECT_EQ(
      SignatureOf({.method = "POST", .extra = {{"My-Header1", "value1"}}}, "host;my-header1;x-amz-date"),
      "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c");
}

// Computed with botocore, which agrees with the published vectors above.
TEST(SigV4, SignsAsBotocoreDoes) {
  EXPECT_EQ(SignatureOf({.extra = {{"My-Header1", " a   b   c "}}}, "host;my-header1;x-amz-date"),
            "6ff6bc3cebca8811504dc903f3a072c310d9f48f8ee5c0b08115052209439e1b");
  EXPECT_EQ(SignatureOf({.method = "POST",
                         .extra = {{"X-Amz-Target", "DynamoDB_20120810.ListTables"},
                                   {"Content-Type", "application/x-amz-json-1.0"}},
                         .body = "{}"},
                        "content-type;host;x-amz-date;x-amz-target", "dynamodb"),
            "8b756078226eefc8b650066db79693179e91a1da4aa4676af34fa08414937706");
}

// Parameters sort by name before value: "Param" comes before "Param-1" although '-' comes before '='.
TEST(SigV4, AParameterWhoseNameBeginsAnotherComesFirst) {
  EXPECT_EQ(SignatureOf({.query = "Param-1=b&Param=a"}),
            "bc27f562f705062baec71c926980bcb84dff11ebce3ae9cbb561c63c5a83bb10");
}

TEST(SigV4, AcceptsWhatWasSignedAndNothingElse) {
  Request request{
      .method = "POST", .extra = {{"X-Amz-Target", "DynamoDB_20120810.ListTables"}}, .body = "{}"};
  std::string authorization = Sign(request.View(), kAccessKey, kSecret, "us-east-1", "dynamodb", kTimestamp,
                                   "host;x-amz-date;x-amz-target");
  request.extra.push_back({"Authorization", authorization});
  EXPECT_EQ(Verified(request.View()), "alice");

  auto tampered = [&](auto change) {
    Request other = request;
    change(&other);
    return Verified(other.View());
  };
  const std::string mismatch =
      "UnrecognizedClientException: The request signature we calculated does not match the signature you "
      "provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for "
      "details.";
  EXPECT_EQ(tampered([](Request* r) { r->body = "{ }"; }), mismatch);
  EXPECT_EQ(tampered([](Request* r) { r->method = "PUT"; }), mismatch);
  EXPECT_EQ(tampered([](Request* r) { r->path = "/x"; }), mismatch);
  EXPECT_EQ(tampered([](Request* r) { r->query = "a=b"; }), mismatch);
  EXPECT_EQ(tampered([](Request* r) { r->extra[0].value = "DynamoDB_20120810.DeleteTable"; }), mismatch);
  EXPECT_EQ(tampered([](Request* r) {
              r->extra.push_back({"X-Amz-Target", "DynamoDB_20120810.DeleteTable"});
            }),
            mismatch)
      << "a second header of a signed name";
  std::string other_key = authorization;
  other_key.replace(other_key.find("AKID"), 4, "XXXX");
  EXPECT_EQ(tampered([&](Request* r) { r->extra[1].value = other_key; }),
            "UnrecognizedClientException: The security token included in the request is invalid.");
  std::string cut = authorization.substr(0, authorization.size() - 1);
  EXPECT_EQ(tampered([&](Request* r) { r->extra[1].value = cut; }), mismatch);
}

TEST(SigV4, ASignatureHoldsForAQuarterOfAnHourEitherWay) {
  Request request;
  std::string authorization =
      Sign(request.View(), kAccessKey, kSecret, "us-east-1", "dynamodb", kTimestamp, "host;x-amz-date");
  request.extra.push_back({"Authorization", authorization});
  auto at = [&](int64_t seconds) { return Verified(request.View(), kSignedAtMillis + seconds * 1000); };
  EXPECT_EQ(at(900), "alice");
  EXPECT_EQ(at(-900), "alice");
  EXPECT_EQ(at(901),
            "InvalidSignatureException: Signature expired: 20150830T123600Z is now earlier than "
            "20150830T123601Z (20150830T125101Z - 15 min.)");
  EXPECT_EQ(at(-901),
            "InvalidSignatureException: Signature not yet current: 20150830T123600Z is still later "
            "than 20150830T123559Z (20150830T122059Z + 15 min.)");
}

TEST(SigV4, AScopeForSomethingElseIsRefused) {
  auto with = [](std::string_view region, std::string_view service, std::string_view signed_headers) {
    Request request;
    std::string authorization =
        Sign(request.View(), kAccessKey, kSecret, region, service, kTimestamp, signed_headers);
    request.extra.push_back({"Authorization", authorization});
    return Verified(request.View());
  };
  EXPECT_EQ(with("us-east-1", "dynamodb", "host;x-amz-date"), "alice");
  EXPECT_EQ(with("eu-west-1", "dynamodb", "host;x-amz-date"),
            "InvalidSignatureException: Credential should be scoped to a valid region, not 'eu-west-1'. ");
  Request elsewhere;
  std::string authorization =
      Sign(elsewhere.View(), kAccessKey, kSecret, "eu-west-1", "dynamodb", kTimestamp, "host;x-amz-date");
  elsewhere.extra.push_back({"Authorization", authorization});
  EXPECT_EQ(Verified(elsewhere.View(), kSignedAtMillis, /*region=*/""), "alice");
  EXPECT_EQ(with("us-east-1", "s3", "host;x-amz-date"),
            "InvalidSignatureException: Credential should be scoped to correct service: 'dynamodb'. ");
  EXPECT_EQ(with("us-east-1", "dynamodb", "x-amz-date"),
            "InvalidSignatureException: 'Host' must be a 'SignedHeader' in the AWS Authorization.");
}

// Under a signature that leaves them out, the operation could be another one, or the date a later one.
TEST(SigV4, HeadersThatSayWhatIsAskedMustBeSigned) {
  auto with = [](std::vector<HeaderView> extra, std::string_view signed_headers) {
    Request request{.extra = std::move(extra)};
    std::string authorization =
        Sign(request.View(), kAccessKey, kSecret, "us-east-1", "dynamodb", kTimestamp, signed_headers);
    request.extra.push_back({"Authorization", authorization});
    return Verified(request.View());
  };
  const HeaderView target = {"x-amz-target", "DynamoDB_20120810.ListTables"};
  EXPECT_EQ(with({target}, "host;x-amz-date;x-amz-target"), "alice");
  EXPECT_EQ(with({target}, "host;x-amz-date"),
            "InvalidSignatureException: 'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.");
  EXPECT_EQ(with({}, "host"),
            "InvalidSignatureException: 'X-Amz-Date' must be a 'SignedHeader' in the AWS Authorization.");
  const HeaderView token = {"X-Amz-Security-Token", "garbage"};
  EXPECT_EQ(with({token}, "host;x-amz-date"),
            "InvalidSignatureException: 'X-Amz-Security-Token' must be a 'SignedHeader' in the AWS "
            "Authorization.");
  EXPECT_EQ(with({token}, "host;x-amz-date;x-amz-security-token"),
            "UnrecognizedClientException: The security token included in the request is invalid.");
}

// A header of 7 KB that was named 4,000 times came to 31 MB to be hashed.
TEST(SigV4, ASignedHeaderStandsOnceAndInOrder) {
  auto with = [](std::string_view signed_headers) {
    Request request;
    std::string authorization =
        Sign(request.View(), kAccessKey, kSecret, "us-east-1", "dynamodb", kTimestamp, signed_headers);
    request.extra.push_back({"Authorization", authorization});
    return Verified(request.View());
  };
  constexpr std::string_view kRefused =
      "InvalidSignatureException: 'SignedHeaders' must be sorted, and each header must stand there once.";
  EXPECT_EQ(with("host;x-amz-date"), "alice");
  EXPECT_EQ(with("x-amz-date;host"), kRefused);
  EXPECT_EQ(with("host;x-amz-date;x-amz-date"), kRefused);
  EXPECT_EQ(with("host;Host;x-amz-date"), kRefused);
}

TEST(SigV4, PartsThatAreMissingAreNamed) {
  auto with = [](std::string_view authorization) {
    Request request{.extra = {{"Authorization", authorization}}};
    Status shape = CheckSignatureShape(request.View());
    return shape ? "ok" : shape.error().ToString();
  };
  EXPECT_EQ(with(""), "MissingAuthenticationTokenException: Request is missing Authentication Token");
  EXPECT_EQ(with("Basic dXNlcg=="),
            "MissingAuthenticationTokenException: Request is missing Authentication Token");
  EXPECT_EQ(with("AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=f"), "ok");
  EXPECT_EQ(with("AWS4-HMAC-SHA256 Credential=a, Signature=f"),
            "IncompleteSignatureException: Authorization header requires 'SignedHeaders' parameter. "
            "Authorization=AWS4-HMAC-SHA256 Credential=a, Signature=f");
  EXPECT_EQ(
      with("AWS4-HMAC-SHA256"),
      "IncompleteSignatureException: Authorization header requires 'Credential' parameter. Authorization "
      "header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. "
      "Authorization=AWS4-HMAC-SHA256");
}

// As botocore presigns it, for an hour.
constexpr std::string_view kPresigned =
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fdynamodb%2F"
    "aws4_request&X-Amz-Date=20150830T123600Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature="
    "7acf116eca34dc40aa29b2257512753108dfdadf5cc09048afca96429474458b";

TEST(SigV4, APresignedQueryIsUnderstoodUntilItExpires) {
  Request request{.query = kPresigned, .dated = false};
  EXPECT_EQ(Verified(request.View()), "alice");
  EXPECT_EQ(Verified(request.View(), kSignedAtMillis + 3600'000), "alice");
  EXPECT_TRUE(Verified(request.View(), kSignedAtMillis + 3601'000)
                  .starts_with("InvalidSignatureException: Signature expired"));
  std::string longer(kPresigned);
  longer.replace(longer.find("3600&"), 4, "7200");
  request.query = longer;
  EXPECT_TRUE(Verified(request.View()).starts_with("UnrecognizedClientException: The request signature"));
  request.query = kPresigned;
  request.extra = {{"X-Amz-Target", "DynamoDB_20120810.DeleteTable"}};
  EXPECT_EQ(Verified(request.View()),
            "InvalidSignatureException: 'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.");
  request.extra = {{"Authorization", "AWS4-HMAC-SHA256 x"}};
  EXPECT_TRUE(Verified(request.View()).starts_with("InvalidSignatureException: Found both"));
  request.extra.clear();
  std::string with_token = std::string(kPresigned) + "&X-Amz-Security-Token=garbage";
  request.query = with_token;
  EXPECT_EQ(Verified(request.View()),
            "UnrecognizedClientException: The security token included in the request is invalid.");
}

TEST(SigV4, APresignedQueryLivesASecondAtLeastAndAWeekAtMost) {
  auto with = [](std::string_view lifetime, int64_t after_seconds) {
    std::string query(kPresigned);
    query.replace(query.find("3600&"), 4, lifetime);
    Request request{.query = query, .dated = false};
    return Verified(request.View(), kSignedAtMillis + after_seconds * 1000);
  };
  for (std::string_view lifetime :
       {"0", "-1", "604801", "9223372036854775807", "99999999999999999999999", "1h", "x"}) {
    EXPECT_TRUE(with(lifetime, 0).starts_with("InvalidSignatureException: X-Amz-Expires must be a number"))
        << lifetime;
  }
  EXPECT_TRUE(with("604800", 604800).starts_with("UnrecognizedClientException: The request signature"))
      << "of age, but not what was signed";
  EXPECT_TRUE(with("604800", 604801).starts_with("InvalidSignatureException: Signature expired"));
}

TEST(Credentials, AreReadFromTheirFileOrRefused) {
  auto parse = [](std::string_view json) {
    Result<Credentials> read = Credentials::Parse(json, "file");
    return read ? std::string("ok") : read.error().message();
  };
  Result<Credentials> read =
      Credentials::Parse(R"({"accessKeys":{"A":{"secret":"s","principal":"p"},"B":{"secret":"t"}}})", "file");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->Find("A")->principal, "p");
  EXPECT_EQ(read->Find("B")->principal, "B");
  EXPECT_EQ(read->Find("C"), nullptr);
  EXPECT_TRUE(parse("{").starts_with("file: is not JSON"));
  EXPECT_TRUE(parse("{}").starts_with("file: has no \"accessKeys\""));
  EXPECT_TRUE(parse(R"({"accessKeys":{}})").starts_with("file: names no access key"));
  EXPECT_TRUE(parse(R"({"accessKeys":{"A":{}}})").starts_with("file: access key A has no \"secret\""));
  EXPECT_TRUE(parse(R"({"accessKeys":{"A":1}})").starts_with("file: access key A has no \"secret\""));
  EXPECT_TRUE(parse(R"({"accessKeys":{"A":{"secret":"s","principle":"p"}}})")
                  .starts_with("file: access key A has an unknown \"principle\""));
  EXPECT_EQ(parse(R"({"accessKeys":{"A":{"secret":"s"},"A":{"secret":"t"}}})"),
            "file: accessKeys.A: stands there twice");
  EXPECT_EQ(parse(R"({"accessKeys":{"A":{"secret":"s","principal":"p","principal":"q"}}})"),
            "file: access key A.principal: stands there twice");
  for (const char* principal : {"42", "null", "\"\"", "[\"p\"]"}) {
    EXPECT_TRUE(parse(R"({"accessKeys":{"A":{"secret":"s","principal":)" + std::string(principal) + "}}}")
                    .starts_with("file: access key A has a \"principal\" that is no text"))
        << principal;
  }
}

}  // namespace
}  // namespace holdfast::auth
