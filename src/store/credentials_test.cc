#include "store/credentials.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace holdfast::store {
namespace {

// A home directory with AWS's two files, and an environment that nothing else is in.
class CredentialsTest : public testing::Test {
 protected:
  void SetUp() override {
    home_ = testing::TempDir() + "holdfast-home-" + std::to_string(::getpid());
    std::filesystem::create_directories(home_ + "/.aws");
    Write(home_ + "/.aws/credentials", R"(
# a comment
[default]
aws_access_key_id = usual
aws_secret_access_key=secret of usual

[ work ]
aws_access_key_id = worker
aws_secret_access_key = secret = with equals
aws_session_token = token of worker
)");
    Write(home_ + "/.aws/config", R"(
[default]
region = eu-west-1
s3 =
  endpoint_url = http://not-ours
[profile work]
region = us-west-2
endpoint_url = http://localhost:4566
[profile away]
role_arn = arn:aws:iam::123456789012:role/away
)");
    environment_["HOME"] = home_;
  }
  void TearDown() override { std::filesystem::remove_all(home_); }

  static void Write(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

  Result<RemoteOptions> Completed(RemoteOptions options = {}) {
    return Complete(std::move(options), [this](const char* name) { return environment_[name]; });
  }
  std::string FailureOf(RemoteOptions options = {}) {
    auto completed = Completed(std::move(options));
    return completed ? "none" : completed.error().message();
  }
  // endpoint region key secret token
  std::string Summary(RemoteOptions options = {}) {
    auto completed = Completed(std::move(options));
    if (!completed) return completed.error().message();
    return completed->endpoint + "|" + completed->region + "|" + completed->access_key + "|" +
           completed->secret_key + "|" + completed->session_token;
  }

  std::string home_;
  std::map<std::string, std::string> environment_;
};

TEST_F(CredentialsTest, TheDefaultProfileServesWhereNothingIsSaid) {
  EXPECT_EQ(Summary(), "|eu-west-1|usual|secret of usual|");
}

TEST_F(CredentialsTest, AProfileIsNamedByTheOptionsOrTheEnvironment) {
  std::string work = "http://localhost:4566|us-west-2|worker|secret = with equals|token of worker";
  EXPECT_EQ(Summary({.profile = "work"}), work);
  environment_["AWS_PROFILE"] = "work";
  EXPECT_EQ(Summary(), work);
}

TEST_F(CredentialsTest, TheEnvironmentBeatsTheFiles) {
  environment_["AWS_ACCESS_KEY_ID"] = "env";
  environment_["AWS_SECRET_ACCESS_KEY"] = "hush";
  environment_["AWS_SESSION_TOKEN"] = "token";
  environment_["AWS_DEFAULT_REGION"] = "ap-south-1";
  environment_["AWS_ENDPOINT_URL"] = "http://all";
  EXPECT_EQ(Summary(), "http://all|ap-south-1|env|hush|token");
  environment_["AWS_REGION"] = "eu-north-1";
  environment_["AWS_ENDPOINT_URL_DYNAMODB"] = "http://dynamodb";
  EXPECT_EQ(Summary(), "http://dynamodb|eu-north-1|env|hush|token");
  // But a profile that the caller asks for by name is meant.
  EXPECT_EQ(Summary({.profile = "work"}),
            "http://dynamodb|eu-north-1|worker|secret = with equals|token of worker");
}

// Half of one pair of keys and half of another would be refused by the endpoint, with a puzzling message.
TEST_F(CredentialsTest, KeysAreNotMixed) {
  environment_["AWS_SESSION_TOKEN"] = "token of somebody else";
  EXPECT_EQ(Summary({.region = "r", .access_key = "given", .secret_key = "hush"}), "|r|given|hush|");
}

TEST_F(CredentialsTest, FilesMayBeElsewhere) {
  Write(home_ + "/other", "[default]\naws_access_key_id=other\naws_secret_access_key=hush\nregion=r\n");
  environment_["AWS_SHARED_CREDENTIALS_FILE"] = home_ + "/other";
  environment_["AWS_CONFIG_FILE"] = home_ + "/none";
  EXPECT_EQ(Summary(), "|r|other|hush|");
}

TEST_F(CredentialsTest, WhatIsMissingIsNamed) {
  EXPECT_NE(FailureOf({.profile = "nobody"}).find("there is no profile nobody in " + home_),
            std::string::npos);
  EXPECT_NE(FailureOf({.region = "r", .profile = "away"}).find("by role_arn"), std::string::npos);
  std::filesystem::remove_all(home_);
  EXPECT_NE(FailureOf().find("set AWS_REGION"), std::string::npos);
  EXPECT_NE(FailureOf({.endpoint = "http://here"}).find("set AWS_ACCESS_KEY_ID"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::store
