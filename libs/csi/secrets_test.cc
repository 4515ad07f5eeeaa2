#include "libs/csi/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "csi/v1/csi.pb.h"
#include "libs/csi/requests.h"

namespace splitlet::csi {
namespace {

::csi::v1::NodePublishVolumeRequest RequestWithSecrets() {
  ::csi::v1::NodePublishVolumeRequest request;
  request.set_volume_id("vol-1");
  (*request.mutable_secrets())["password"] = "hunter22";
  (*request.mutable_secrets())["empty"] = "";
  (*request.mutable_volume_context())["pool"] = "fast";
  (*request.mutable_volume_context())[std::string(kTokensKey)] =
      TokensJson({{"vault", {"token-1", WallTime{}}}, {"", {"token-2", WallTime{}}}});
  return request;
}

TEST(CsiSecrets, AreFoundInTheirFieldAndAmongTokens) {
  const auto secrets = SecretsIn(RequestWithSecrets());
  EXPECT_THAT(secrets, testing::IsSupersetOf({"hunter22", "token-1", "token-2"}));
  EXPECT_THAT(secrets, testing::Not(testing::Contains("fast")));
  EXPECT_THAT(secrets, testing::Not(testing::Contains("")));
  EXPECT_TRUE(SecretsIn(::csi::v1::NodeGetInfoRequest()).empty());
}

TEST(CsiSecrets, TokensInTheFieldOfSecretsAreFoundToo) {
  ::csi::v1::NodePublishVolumeRequest request;
  (*request.mutable_secrets())[std::string(kTokensKey)] =
      TokensJson({{"", {"token-2", WallTime{}}}});
  EXPECT_THAT(SecretsIn(request), testing::Contains("token-2"));
}

TEST(CsiSecrets, NoTextHasThem) {
  const struct {
    const char* name;
    std::string text;
    std::vector<std::string> secrets;
    std::string want;
  } kCases[] = {
      {"in the middle, twice",
       "mount -o pw=hunter22,hunter22 failed",
       {"hunter22"},
       "mount -o pw=***stripped***,***stripped*** failed"},
      {"inside a word", "xhunter22x", {"hunter22"}, "x***stripped***x"},
      {"one is a part of another",
       "abcdef abcd",
       {"abcd", "abcdef"},
       "***stripped*** ***stripped***"},
      {"a short one as a word", "user=a: bad", {"a"}, "user=***stripped***: bad"},
      {"a short one in words is no secret", "a bad mandate", {"and"}, "a bad mandate"},
      {"an empty one", "text", {""}, "text"},
      {"none", "text", {}, "text"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(WithoutSecrets(c.text, c.secrets), c.want);
  }
}

TEST(CsiSecrets, ARequestIsLoggedWithoutThem) {
  const std::string text = RequestText(RequestWithSecrets());
  EXPECT_THAT(text, testing::HasSubstr("volume_id: \"vol-1\""));
  EXPECT_THAT(text, testing::HasSubstr("value: \"fast\""));
  EXPECT_THAT(text, testing::HasSubstr("key: \"password\" value: \"***stripped***\""));
  for (const char* secret : {"hunter22", "token-1", "token-2", "\n"})
    EXPECT_THAT(text, testing::Not(testing::HasSubstr(secret)));
}

}  // namespace
}  // namespace splitlet::csi
